"""Memory, wall time and scratch disk of a job: of the task, estimated once (`of_task`), and at each candidate; source:
PanDA brokerage documentation, production job brokerage; brokerage reference, section 8 (D49, D50, D54)."""

import math

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import ANY_CORES, COMPENSATION
from simgrid_broker.units import MIB
from simgrid_broker.views import Task

MIN_OUTPUT, MIN_OUTPUT_DEPLOYED = 1.5e9, 1500.0 * MIB
"""Least output that is counted, bytes; source: PanDA brokerage documentation, disk usage; brokerage reference, 8.2."""
MIN_WORKDISK_BYTES = 300e6
"""Least work space that is counted; source: PanDA brokerage documentation, disk usage (300 MB)."""
WORKDISK_MARGIN_BYTES = 300.0 * MIB
"""Added to the work space in the deployed edition; source: brokerage reference, section 8.2."""
MIN_MERGE_MB = 2000.0
"""Least memory of merge jobs whose mergeRamCount is known; source: brokerage reference, section 8.1."""
HS06_UNITS = ("HS06sPerEvent", "HS06sPerEventFixed", "mHS06sPerEvent", "mHS06sPerEventFixed")
"""Values of cpuTimeUnit with which cpuTime counts; here it is in HS06 s, whatever the prefix; source: section 8.3."""


# ---- of a task -----------------------------------------------------------------------------------------------------

@compiled
def of_task(task):
    """Fill in everything that the estimates read of a task, as its edition estimates it; task: of `question.TASK`."""
    task["ram_mb"], task["ram_per_core"] = memory_asked_mb(task), counts_per_core(task)
    task["base_ram_mb"] = 0.0 if task["deployed"] and not task["ram_per_core"] else task["baseramcount"]
    task["scratch_bytes"] = (max(MIN_OUTPUT_DEPLOYED if task["deployed"] else MIN_OUTPUT, task["output_bytes_per_job"])
                             + work_space_bytes(task["workdisk_bytes"], task["deployed"]))
    task["single_core"] = task["corecount"] in (ANY_CORES, 1) and not task["any_event_service"]
    task["walltime_is_known"] = walltime_is_known(task)
    task["wants_a_day"] = wants_a_day(task) if task["deployed"] else not task["walltime_is_known"]
    _work_of_jobs(task)


@compiled
def _work_of_jobs(task):
    """Fill in the work of a job as usual, and of the shortest and the longest where the number of events is chosen.

    The longest run of events is here that of one job, up to maxEventsPerJob. Source: brokerage reference, section 8.3.
    """
    least = most = task["n_events_per_job"]
    if task["counts_hs06"] and not math.isnan(task["min_granularity"]):
        least = task["min_granularity"]
        most = max(least, min(task["n_events_per_job"], task["max_events_per_job"]))
    task["usual_work"] = work(task, task["n_events_per_job"])
    task["least_work"], task["most_work"] = work(task, least), work(task, most)


@compiled
def memory_asked_mb(task):
    """Figure from which the memory of a job is estimated, MB, in ramUnit: mergeRamCount for merge jobs, else ramCount.

    NaN = unknown. Source: brokerage reference, section 8.1; the documentation does not speak of merge jobs.
    """
    if not task["is_merging"] or math.isnan(task["mergeramcount"]):
        return task["ramcount"]
    known = MIN_MERGE_MB if math.isnan(task["ramcount"]) else max(task["ramcount"], MIN_MERGE_MB)
    return max(task["mergeramcount"], known)


@compiled
def counts_per_core(task):
    """True if it is per core: mergeRamCount is of a whole job, in the deployed edition every figure of merge jobs."""
    of_job = task["is_merging"] and (task["deployed"] or not math.isnan(task["mergeramcount"]))
    return task["unit_per_core"] and not of_job


@compiled
def work_space_bytes(said, deployed):
    """Work space of a job: max(300 MB, work space), in the deployed edition with a margin if it is said (D50)."""
    if math.isnan(said):
        return 0.0 if deployed else MIN_WORKDISK_BYTES
    return said + WORKDISK_MARGIN_BYTES if deployed else max(MIN_WORKDISK_BYTES, said)


def counts_hs06(task: Task) -> bool:
    """True if cpuTime, not walltime, says how long a job takes."""
    return task.cputimeunit in HS06_UNITS


def reads_lan(task: Task) -> bool:
    """True if the task lets its jobs read input from the storage."""
    return task.allowinputlan != "" and not task.uselocalio


@compiled
def walltime_is_known(task):
    """True if the wall time of a job can be estimated."""
    return not math.isnan(task["cputime"] if task["counts_hs06"] else task["walltime_s_per_mib"])


@compiled
def input_mib(task):
    """Input of a job, MiB; files of unknown size count 1 MiB each. Source: brokerage reference, 0.4 (A_eff)."""
    if not math.isnan(task["primary_mib"]):
        return task["primary_mib"]
    if task["input_bytes_per_job"] != 0:
        return task["input_bytes_per_job"] / MIB
    return float(max(task["n_files_per_job"], 1))


@compiled
def work(task, n_events):
    """CPU work of a job of `n_events` as the task claims it, HS06 s; without a CPU time in HS06 s wall time x cores, s.

    NaN = unknown. The events of an event service task are shared by its consumers, and tried several times.
    Source: brokerage reference, section 8.3.
    """
    need = task["cputime"] * n_events if task["counts_hs06"] else task["walltime_s_per_mib"] * input_mib(task)
    if task["event_service"]:
        need = need / (task["n_es_consumers"] * (task["max_attempt_es"] + 1))
    return need


@compiled
def wants_a_day(task):
    """True if the deployed edition requires a day although the jobs are no scouts; source: brokerage reference, 8.3.

    It does for merge jobs, for tasks without wall time and units, and without a usable CPU time.
    """
    says_nothing = math.isnan(task["walltime_s_per_mib"]) and not task["says_unit"]
    unusable = task["says_cputimeunit"] and not (task["counts_hs06"] and walltime_is_known(task))
    return task["is_merging"] or says_nothing or unusable


# ---- of a candidate ------------------------------------------------------------------------------------------------

@compiled
def cores(queue):
    """Cores of a slot, at least 1."""
    return max(queue["corecount"], 1)


@compiled
def slot_cores(queue):
    """Cores of a slot of the PanDA queue itself, at least 1: of its widest pseudo-queue."""
    return max(queue["slot_corecount"], 1)


@compiled
def memory_mb(task, queue):
    """(baseRamCount + ramCount x coreCount) x 0.9, MB; with unit MB the core count is left out.

    In the deployed edition it is whole MB, and baseRamCount counts only with a unit per core, never for merging (D49).
    """
    need = COMPENSATION * (task["base_ram_mb"] + task["ram_mb"] * (cores(queue) if task["ram_per_core"] else 1))
    return np.trunc(need) if task["whole_mb"] else need


@compiled
def scratch_bytes(task, queue):
    """Disk usage of a job, bytes: input unless read directly + max(1.5 GB, output) + max(300 MB, work space)."""
    return task["scratch_bytes"] + (0.0 if queue["direct_io"] else task["input_bytes_per_job"])


@compiled
def scratch_deployed_mib(task, queue):
    """Disk usage of a job in the deployed edition, whole MiB (D50)."""
    directly = is_read_directly(task["is_merging"], task["reads_lan"], queue)
    return (task["scratch_bytes"] + (0.0 if directly else task["input_bytes_per_job"])) // MIB


@compiled
def is_read_directly(is_merging, lan, queue):
    """True if jobs read input directly: always, or if the task allows it and the queue can; merge jobs never do.

    Source: brokerage reference, section 8.2.
    """
    return not is_merging and (queue["always_direct_io"] or (queue["direct_io"] and lan))


@compiled
def least_work(task, queue):
    """Work of the shortest job that a task can make for a candidate: it must not be too long for the queue.

    With a dynamic number of events, at queues with a mintime, a job has at least minGranularity events.
    """
    return task["least_work"] if queue["mintime_s"] > 0 else task["usual_work"]


@compiled
def most_work(task, queue):
    """Work of the longest job that a task can make for a candidate: it must not be too short for the queue.

    With a dynamic number of events it is the longest run of events.
    """
    return task["most_work"] if queue["mintime_s"] > 0 else task["usual_work"]


@compiled
def walltime_s(task, queue, need):
    """Wall time of a job with CPU work `need`: need / (C x P x cpuEfficiency) + baseTime, s.

    Without cpuEfficiency only the base time is left; without a CPU time in HS06 s it is need / C. Source: PanDA
    brokerage documentation, production job brokerage; JEDI TWiki, HS06sPerEvent; brokerage reference, section 8.3.
    """
    if not task["counts_hs06"]:
        return need / cores(queue)
    if np.isnan(task["cpuefficiency"]):
        return task["basewalltime_s"]
    return need / (cores(queue) * queue["corepower"] * (task["cpuefficiency"] / 100)) + task["basewalltime_s"]


@compiled
def work_limit(task, queue, limit_s):
    """Scaled limit of the deployed edition: work that fits into `limit_s` at a candidate; inf stays inf.

    Whole HS06 s, or wall time x cores, s, without a CPU time in HS06 s (D52, D54); 0 if
    cpuEfficiency is unknown.
    """
    if not task["counts_hs06"] or np.isinf(limit_s):
        return limit_s * cores(queue)
    if np.isnan(task["cpuefficiency"]):
        return 0.0
    time_s = limit_s - task["basewalltime_s"]
    return np.trunc(time_s * cores(queue) * queue["corepower"] * task["cpuefficiency"] / 100)
