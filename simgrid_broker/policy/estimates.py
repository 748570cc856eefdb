"""What the brokers expect a job of a task to need at each candidate: memory, wall time, scratch disk.

What lives here: the estimates, one function for each quantity and edition. What does not: the comparison with a queue's
limits (`job_brokerage.requirements`).

Sources: PanDA brokerage documentation, production job brokerage; brokerage reference, section 8 (D49, D50, D54).
"""

import numpy as np

from simgrid_broker.policy.resource_types import COMPENSATION, PER_CORE_UNITS
from simgrid_broker.views import Queues, Task

MIB = 1024**2
MIN_OUTPUT_BYTES = 1.5e9
"""Least output that is counted; source: PanDA brokerage documentation, disk usage (1.5 GB)."""
MIN_WORKDISK_BYTES = 300e6
"""Least work space that is counted; source: the same (300 MB)."""
MIN_OUTPUT_MIB = 1500
"""Least output in the code; source: brokerage reference, section 8.2."""
WORKDISK_MARGIN_MIB = 300
"""What the code adds to the work space; source: brokerage reference, section 8.2."""


def cores(queues: Queues) -> np.ndarray:
    """Cores of a slot, (n,), at least 1."""
    return np.maximum(queues.corecount, 1)


def memory_documented_mb(task: Task, queues: Queues) -> np.ndarray:
    """(baseRamCount + ramCount x coreCount) x 0.9, (n,) MB; with unit MB the core count is left out."""
    per_job = task.ramcount * cores(queues) if task.ramunit in PER_CORE_UNITS else task.ramcount
    return COMPENSATION * (task.baseramcount + per_job + np.zeros(len(queues.corecount)))


def memory_deployed_mb(task: Task, queues: Queues) -> np.ndarray:
    """The code's estimate, (n,) whole MB: baseRamCount counts only with a unit per core (D49)."""
    per_core = task.ramunit in PER_CORE_UNITS and not task.is_merging
    need = task.ramcount * cores(queues) + task.baseramcount if per_core else np.full(len(queues.corecount),
                                                                                      task.ramcount)
    return np.floor(COMPENSATION * need)


def work_hs06s(task: Task) -> float:
    """CPU work of one job as the task claims it, HS06 s; 0 = unknown."""
    return task.cputime * task.n_events_per_job


def walltime_s(task: Task, queues: Queues) -> np.ndarray:
    """cpuTime x nEvents / (C x P x cpuEfficiency) + baseTime, (n,) s; cpuEfficiency 0 leaves only the base time.

    Source: PanDA brokerage documentation, production job brokerage; JEDI TWiki, HS06sPerEvent, for efficiency 0.
    """
    if not task.cpuefficiency:
        return np.full(len(queues.corecount), task.basewalltime_s)
    power = cores(queues) * queues.corepower * (task.cpuefficiency / 100)
    return work_hs06s(task) / power + task.basewalltime_s


def work_limit_hs06s(task: Task, queues: Queues, limit_s: np.ndarray) -> np.ndarray:
    """The code's scaled limit: whole HS06 s that fit into `limit_s` (n,) at each candidate; inf stays inf."""
    unlimited = np.isinf(limit_s)
    payload_s = np.where(unlimited, 0.0, limit_s) - task.basewalltime_s
    scaled = payload_s * cores(queues) * queues.corepower * task.cpuefficiency / 100
    return np.where(unlimited, np.inf, np.trunc(scaled))


def scratch_documented_bytes(task: Task, queues: Queues) -> np.ndarray:
    """Disk usage of a job, (n,) bytes: input unless read directly + max(1.5 GB, output) + max(300 MB, work space)."""
    own = max(MIN_OUTPUT_BYTES, task.output_bytes_per_job) + max(MIN_WORKDISK_BYTES, task.workdisk_bytes)
    return own + np.where(queues.direct_io, 0.0, task.input_bytes_per_job)


def scratch_deployed_mib(task: Task, queues: Queues) -> np.ndarray:
    """Disk usage of a job as the code has it, (n,) whole MiB; work space 0 counts as undefined (D50)."""
    work = task.workdisk_bytes + WORKDISK_MARGIN_MIB * MIB if task.workdisk_bytes else 0.0
    own = max(MIN_OUTPUT_MIB * MIB, task.output_bytes_per_job) + work
    direct = queues.direct_io & (not task.is_merging)
    return (own + np.where(direct, 0.0, task.input_bytes_per_job)) // MIB
