"""Jobs and claims of scouts that tests of policies change."""

from math import nan

import numpy as np
from policy_builders import cfg, task

from simgrid_broker.policy.tasks import measures
from simgrid_broker.policy.tasks.measures import JOB, Preset
from simgrid_broker.views import Task

UNSAID = Preset()
EDITIONS = ("documented", "deployed")
HOUR = 3600.0


def jobs(n=10, **said) -> np.ndarray:
    """Jobs of 8 cores with 1000 events, 2 h of wall time at 80 HS06, 8 GB and 80 % of the CPU, but for what is said."""
    plain = dict(walltime_s=2 * HOUR, cputime_s=0.8 * 8 * 2 * HOUR, corecount=8, hs06=80, n_events=1000,
                 maxpss_mb=8000, input_mib=1 / 1024, beside_bytes=0, output_bytes=0, largest_output_bytes=0,
                 disk_kb=nan, memory_leak=nan, memory_leak_x2=nan, workdir_mb=nan)
    made = np.zeros(n, JOB)
    for name, value in (plain | said).items():
        made[name] = value
    return made


def claims(**said) -> Task:
    """A task with input that claims 500 HS06 s an event and 1000 MB a core, without base time, but for what is said."""
    return task(**dict(cputime=500.0, ramcount=1000.0, input_bytes_per_job=1.0) | said)


def keys(**values):
    """gdpconfig with keys of scouts set."""
    return cfg(dbproxy=values)


def measure(edition, found=None, claimed=None, preset=UNSAID, **values):
    """What jobs tell of a task."""
    return measures.measure(jobs() if found is None else found, claimed or claims(), preset, keys(**values), edition)
