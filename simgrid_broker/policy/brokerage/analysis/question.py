"""The question to analysis brokerage: the records that its compiled rules see, and the case of all others."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.gdpconfig import anal_jobbroker, analy_eval, prio_mgr
from simgrid_broker.names import EXPRESS_ANALYSIS, USER_ANALYSIS
from simgrid_broker.policy.brokerage.production import question as of_jobs
from simgrid_broker.policy.brokerage.production.estimates import input_mib, walltime_is_known, work_space_bytes
from simgrid_broker.units import HOUR
from simgrid_broker.views import Gdpconfig, Queues, Task, UserView

OF_JOBS = ("MAX_MISSING_INPUT_FILES", "MIN_INPUT_COMPLETENESS")
"""Keys of anal_jobbroker that the job broker has as well, under another column."""
OF_GATE = (prio_mgr.CAP_RUNNING_USER_JOBS, prio_mgr.CAP_RUNNING_GROUP_JOBS, prio_mgr.CAP_RUNNING_USER_CORES,
           prio_mgr.CAP_RUNNING_GROUP_CORES, analy_eval.USER_USAGE_THRESHOLD_A)
"""Keys of other components that the gate reads."""
OWN_KEYS = {f"anal_{entry.prefix}" if entry.key in OF_JOBS else entry.prefix: entry
            for entry in (*anal_jobbroker.entries(), *OF_GATE)}
KEYS = of_jobs.KEYS | OWN_KEYS
"""Keys of gdpconfig by their column of TASK, as in `job_brokerage.question`."""
TERMS = of_jobs.TERMS
"""Columns of TASK that an edition sets for good."""
FREE_PRIORITY = 2000
"""taskPriority from which the locality of the input may be ignored; source: step 3; brokerage reference, 3.2."""

TASK = np.dtype([
    *of_jobs.TASK.descr,
    *((name, "f8") for name in OWN_KEYS),
    ("by_class", "?"),               # its jobs go by classes of sites
    ("user_analysis", "?"),          # it is in the share whose tasks are throttled by class
    ("of_group", "?"),               # it is of a working group
    ("task_class", "i8"),            # as in `views.USER`
    ("taskpriority", "i8"), ("frozen_for_s", "f8"),
    ("n_jobs_to_submit", "f8"),      # jobs into which the input of the cycle is cut
    ("avoids_vp", "?"), ("may_use_vp", "?"), ("allows_incomplete", "?"),
    ("n_datasets", "i8"), ("unreadable", "i8"),          # the latter: a dataset that cannot be read, -1 = none
    ("has_input", "?"),
    ("with_locality", "?"),          # the loop asks where the input lies
    ("union", "?"),                  # no queue has all of it, so that those with a part count
    ("loses_patience", "?"),         # a first loop of problematic queues alone fails
    ("distributed", "?"), ("total_gb", "f8"),
    ("bytes_per_job", "f8"),         # most input of a job; NaN = not given
    ("output_per_mib", "f8"),        # bytes
    ("remote_source", "?"),          # other sites can read all input
    ("grand_ratio", "f8"),           # queued over running jobs of the share at all queues
    ("n_sites_per_job", "i8"), ("preassigned", "i8"),    # PanDA queue, -1 = none
    ("n_candidates", "i8"),
])
"""A task as rules see it: the record of production with what concerns analysis alone."""

DATA = np.dtype([
    ("listed", "?"),                 # it has input, so far as the loop with data locality asks for
    ("weight", "f8"),                # datasets there, those on tape as a thousandth; 0 = none
    ("real", "?"),                   # it has input that is not virtual placement
    ("disk_gb", "f8"),               # whole GB of input on its disk
    ("files", "?"), ("own_files", "?"),    # all files are there, or need not be, with and without data locality
    ("all", "?"), ("all_on_disk", "?"),    # it has every dataset
    ("some", "?"), ("some_on_disk", "?"), ("some_real", "?"),      # it has one
])
"""The input of a task at a PanDA queue; source: brokerage reference, 3.4 and 11.5."""

NUMBERS = np.dtype([
    ("queued", "f8"), ("running", "f8"),       # jobs of the share, the latter lifted by workers and slots
    ("rate", "f8"),                  # of the share's jobs that begin to run, 1/h
    ("longest", "f8"),               # jobs that the user may have queued
    ("left", "f8"),                  # how many more there may be
    ("weight", "f8"),
])
"""Numbers of a candidate; source: brokerage reference, 11.1 and 11.5."""


class Candidate(NamedTuple):
    """The arguments of every rule about one candidate.

    task: of TASK; queue, load: of `views.QUEUE`, `LOAD`; user: of `USER_AT`; store: of `ANALYSIS_STORE`; data: of DATA.
    The third and fourth of production are the way to a nucleus and its own numbers, which rules of both leave alone.
    """

    task: np.void
    queue: np.void
    load: np.void
    user: np.void
    store: np.void
    data: np.void


@dataclass(frozen=True)
class AnalysisCase:
    """The case that rules about all candidates see: pseudo-queues, a task and its user, under gdpconfig and an edition.

    failure: why the input cannot be read, empty = it can.
    """

    task: Task
    queues: Queues
    edition: str
    cfg: Gdpconfig | None = None
    user: UserView | None = None
    failure: str = ""

    @property
    def n_candidates(self) -> int:
        """Number of candidates, pseudo-queues."""
        return len(self.queues.queue)


def task_record(task: Task, queues: Queues, cfg: Gdpconfig, edition: str) -> np.ndarray:
    """The record of a task under gdpconfig, (1,) of TASK; user and input are filled in with every decision."""
    own = of_jobs.task_record(task, cfg, edition).tobytes()
    record = np.frombuffer(bytearray(own + cfg.once(_of_config)), TASK)
    row = record[0]
    row["by_class"] = task.gshare in (USER_ANALYSIS, EXPRESS_ANALYSIS)
    row["user_analysis"], row["of_group"] = task.gshare == USER_ANALYSIS, bool(task.workinggroup)
    row["taskpriority"] = task.currentpriority if task.taskpriority is None else task.taskpriority
    row["frozen_for_s"], row["allows_incomplete"] = task.frozen_for_s, task.allows_incomplete
    row["may_use_vp"] = not (task.is_merging or task.avoid_vp or task.is_scouting or task.uselocalio)
    row["avoids_vp"], row["bytes_per_job"] = task.avoid_vp or task.is_merging, task.bytes_per_job
    is_cloned = task.event_service or not row["deployed"]
    row["n_sites_per_job"], row["preassigned"] = task.n_sites_per_job if is_cloned else 1, preassigned_queue(task)
    row["single"] = row["deployed"] and row["preassigned"] >= 0
    row["n_candidates"] = len(queues.records)
    estimate(row)
    return record


def _of_config(cfg: Gdpconfig) -> bytes:
    """The columns behind those of production, of which only gdpconfig fills in its own."""
    record = np.zeros(1, TASK)
    for name, entry in OWN_KEYS.items():
        value = cfg.value(entry)
        record[name] = np.nan if value is None else value
    return record.tobytes()[of_jobs.TASK.itemsize:]


def preassigned_queue(task: Task) -> int:
    """The PanDA queue to which a task is pre-assigned, -1 = none."""
    return task.preassigned[0] if len(task.preassigned) == 1 else -1


@compiled
def estimate(task):
    """Fill in what analysis estimates otherwise than production.

    In the deployed edition baseRamCount never counts, merge jobs need no day, and event service is nothing special.
    Source: brokerage reference, section 8.
    """
    if task["deployed"]:
        task["base_ram_mb"] = 0.0
        says_nothing = np.isnan(task["walltime_s_per_mib"]) and not task["says_unit"]
        unusable = task["says_cputimeunit"] and not (task["counts_hs06"] and walltime_is_known(task))
        task["wants_a_day"] = says_nothing or unusable
    task["single_core"] = task["corecount"] <= 1
    size = input_mib(task)                      # 0 where the primary input counts no whole MiB
    task["output_per_mib"] = task["output_bytes_per_job"] / (size if size > 0 else 1.0)
    task["scratch_bytes"] = task["output_bytes_per_job"] + (
        work_space_bytes(task["workdisk_bytes"], True) if task["deployed"] else task["workdisk_bytes"])


@compiled
def ignores_locality(task):
    """True if the locality of the input may be ignored: for taskPriority, ioIntensity, or after a long wait.

    Source: PanDA brokerage documentation, analysis job brokerage, step 3; brokerage reference, 3.2.
    """
    cutoff, patience = task["IO_INTENSITY_CUTOFF_USER"], task["DATA_CHECK_TIMEOUT_USER"]
    light = cutoff != 0 and task["iointensity"] <= cutoff
    return (task["taskpriority"] >= FREE_PRIORITY or light
            or (patience != 0 and task["frozen_for_s"] > patience * HOUR))
