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
MIN_MERGE_MB = 2000
"""Least memory of merge jobs whose mergeRamCount is known; source: brokerage reference, section 8.1."""
HS06_UNITS = ("HS06sPerEvent", "HS06sPerEventFixed", "mHS06sPerEvent", "mHS06sPerEventFixed")
"""Values of cpuTimeUnit with which cpuTime counts; here it is in HS06 s, whatever the prefix; source: section 8.3."""
DEFAULT_ES_ATTEMPTS = 3
"""Attempts of an event if the task says nothing; source: brokerage reference, section 8.3."""


def cores(queues: Queues) -> np.ndarray:
    """Cores of a slot, (n,), at least 1."""
    return np.maximum(queues.corecount, 1)


def memory_asked_mb(task: Task) -> float:
    """What the memory of a job is reckoned from, MB, in ramUnit: mergeRamCount for merge jobs, else ramCount.

    0 = unknown. Source: brokerage reference, section 8.1; the documentation does not speak of merge jobs.
    """
    if task.is_merging and task.mergeramcount:
        return max(task.mergeramcount, task.ramcount, MIN_MERGE_MB)
    return task.ramcount


def memory_documented_mb(task: Task, queues: Queues) -> np.ndarray:
    """(baseRamCount + ramCount x coreCount) x 0.9, (n,) MB; with unit MB the core count is left out.

    So it is with mergeRamCount, which is memory of a whole job.
    """
    per_core = task.ramunit in PER_CORE_UNITS and not (task.is_merging and task.mergeramcount)
    per_job = memory_asked_mb(task) * (cores(queues) if per_core else np.ones(len(queues.corecount)))
    return COMPENSATION * (task.baseramcount + per_job)


def memory_deployed_mb(task: Task, queues: Queues) -> np.ndarray:
    """The code's estimate, (n,) whole MB: baseRamCount counts only with a unit per core, never for merging (D49)."""
    per_core = task.ramunit in PER_CORE_UNITS and not task.is_merging
    asked = memory_asked_mb(task)
    need = asked * cores(queues) + task.baseramcount if per_core else np.full(len(queues.corecount), asked)
    return np.floor(COMPENSATION * need)


def counts_hs06(task: Task) -> bool:
    """Whether cpuTime, not walltime, says how long a job takes."""
    return task.cputimeunit in HS06_UNITS


def input_mib(task: Task) -> float:
    """Input of a job, MiB; files of unknown size count 1 MiB each. Source: brokerage reference, 0.4 (A_eff)."""
    return task.input_bytes_per_job / MIB if task.input_bytes_per_job else float(max(task.n_files_per_job, 1))


def work(task: Task, n_events: np.ndarray | int) -> np.ndarray | float:
    """CPU work of a job of `n_events` as the task claims it, HS06 s; without a CPU time in HS06 s wall time x cores, s.

    0 or NaN = unknown. The events of an event service task are shared by its consumers, and tried several times.
    Source: brokerage reference, section 8.3.
    """
    if counts_hs06(task):
        need = task.cputime * n_events
    else:
        need = (task.walltime_s_per_mib * input_mib(task) if task.walltime_s_per_mib else np.nan) + 0.0 * n_events
    if task.event_service and not task.job_cloning:
        attempts = task.max_attempt_es + 1 if task.max_attempt_es else DEFAULT_ES_ATTEMPTS
        need = need / (task.n_es_consumers * attempts)
    return need


def least_work(task: Task, queues: Queues) -> np.ndarray:
    """Work of the shortest job that a task can make for each candidate, (n,): what must not be too long for it.

    With a dynamic number of events, at queues with a mintime, a job has at least minGranularity events.
    """
    return work(task, np.where(_sizes_by_queue(task, queues), task.min_granularity, task.n_events_per_job))


def most_work(task: Task, queues: Queues) -> np.ndarray:
    """Work of the longest job that a task can make for each candidate, (n,): what must not be too short for it.

    With a dynamic number of events it is the longest run of events, which here is that of one job, up to
    maxEventsPerJob.
    """
    run = min(task.n_events_per_job, task.max_events_per_job or np.inf)
    longest = max(task.min_granularity, run)
    return work(task, np.where(_sizes_by_queue(task, queues), longest, task.n_events_per_job))


def _sizes_by_queue(task: Task, queues: Queues) -> np.ndarray:
    """Candidates for which the number of events is chosen, (n,) bool; source: brokerage reference, section 8.3."""
    return (queues.mintime_s > 0) & (task.dynamic_events and counts_hs06(task))


def walltime_is_known(task: Task) -> bool:
    """Whether the wall time of a job can be estimated."""
    return bool(task.cputime if counts_hs06(task) else task.walltime_s_per_mib)


def walltime_s(task: Task, queues: Queues, need: np.ndarray) -> np.ndarray:
    """Wall time of a job with CPU work `need` (n,): need / (C x P x cpuEfficiency) + baseTime, (n,) s.

    cpuEfficiency 0 leaves only the base time; without a CPU time in HS06 s it is need / C. Source: PanDA brokerage
    documentation, production job brokerage; JEDI TWiki, HS06sPerEvent; brokerage reference, section 8.3.
    """
    if not counts_hs06(task):
        return need / cores(queues)
    if not task.cpuefficiency:
        return np.full(len(queues.corecount), task.basewalltime_s)
    power = cores(queues) * queues.corepower * (task.cpuefficiency / 100)
    return need / power + task.basewalltime_s


def work_limit(task: Task, queues: Queues, limit_s: np.ndarray) -> np.ndarray:
    """The code's scaled limit: work that fits into `limit_s` (n,) at each candidate; inf stays inf.

    Whole HS06 s, or wall time x cores, s, without a CPU time in HS06 s (D52, D54).
    """
    if not counts_hs06(task):
        return limit_s * cores(queues)
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
    return (own + np.where(reads_directly(task, queues), 0.0, task.input_bytes_per_job)) // MIB


def reads_directly(task: Task, queues: Queues) -> np.ndarray:
    """Candidates where the code reads input directly, (n,) bool: always, or if the task allows it and they can.

    Source: brokerage reference, section 8.2.
    """
    n = len(queues.corecount)
    if task.is_merging:
        return np.zeros(n, bool)
    always = np.zeros(n, bool) if queues.always_direct_io is None else queues.always_direct_io
    return always | (queues.direct_io & (bool(task.allowinputlan) and not task.uselocalio))
