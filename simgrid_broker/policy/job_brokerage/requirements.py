"""Criteria about what a job needs: memory, scratch disk and wall time against the limits of a queue.

What lives here: the comparisons. What does not: the estimates themselves (`estimates`).

Source of the order and of the tags: brokerage reference, section 2.3, P12, P14 and P17.
"""

import numpy as np

import simgrid_broker.policy.estimates as estimates  # not `from simgrid_broker.policy`, which imports this module
from simgrid_broker.policy.job_brokerage.case import JobCase
from simgrid_broker.policy.job_brokerage.preliminary import NAMED, is_single
from simgrid_broker.policy.rule import Answer, above, below, criterion
from simgrid_broker.units import DAY

MEMORY_FIELDS = ("ramcount", "ramunit", "baseramcount", "is_merging", "mergeramcount")
WALLTIME_FIELDS = ("cputime", "cputimeunit", "n_events_per_job", "cpuefficiency", "basewalltime_s",
                   "walltime_s_per_mib", "input_bytes_per_job", "n_files_per_job", "event_service", "job_cloning",
                   "n_es_consumers", "max_attempt_es", "dynamic_events", "min_granularity", "max_events_per_job")
SCRATCH_FIELDS = ("input_bytes_per_job", "output_bytes_per_job", "workdisk_bytes")
REFERENCE_COREPOWER = 10
"""HS06 per core that the code's 24-hour rule supposes; source: brokerage reference, section 8.3 (D52)."""

DOCUMENTED = {"source": "PanDA brokerage documentation, production job brokerage, step 2", "editions": ("documented",)}
DEPLOYED = {"source": "brokerage reference, section 8", "editions": ("deployed",)}


@criterion("-lowmemory", panda="selection for memory", static=MEMORY_FIELDS, **DOCUMENTED)
def too_little_memory(case: JobCase) -> Answer:
    """Refuse queues whose memory limit lies below the estimate; a task without a memory figure passes."""
    return above(estimates.memory_documented_mb(case.task, case.queues), case.queues.maxrss_mb, _memory_is_known(case))


@criterion("-highmemory", panda="selection for memory", static=MEMORY_FIELDS, **DOCUMENTED)
def too_much_memory(case: JobCase) -> Answer:
    """Refuse queues that are kept for jobs with more memory than the estimate."""
    return below(estimates.memory_documented_mb(case.task, case.queues), case.queues.minrss_mb, _memory_is_known(case))


@criterion("-lowmemory", panda="selection for memory", static=MEMORY_FIELDS, **DEPLOYED)
def too_little_memory_deployed(case: JobCase) -> Answer:
    """Refuse queues whose memory limit lies below the code's estimate (D49)."""
    return above(estimates.memory_deployed_mb(case.task, case.queues), case.queues.maxrss_mb, _memory_is_known(case))


@criterion("-highmemory", panda="selection for memory", static=MEMORY_FIELDS, **DEPLOYED)
def too_much_memory_deployed(case: JobCase) -> Answer:
    """Refuse queues that are kept for jobs with more memory than the code's estimate (D49)."""
    return below(estimates.memory_deployed_mb(case.task, case.queues), case.queues.minrss_mb, _memory_is_known(case))


@criterion("-disk", panda="selection for scratch disk", static=SCRATCH_FIELDS, **DOCUMENTED)
def too_little_scratch(case: JobCase) -> Answer:
    """Refuse queues whose maxwdir divided by their core count is not larger than the disk usage of a job (D50)."""
    limit_bytes = case.queues.maxwdir_mb * 1e6 / _slot_cores(case)
    need_bytes = estimates.scratch_documented_bytes(case.task, case.queues)
    return Answer(need_bytes >= limit_bytes, need_bytes, limit_bytes)


@criterion("-disk", panda="selection for scratch disk", **DEPLOYED,
           static=(*SCRATCH_FIELDS, "corecount", "is_merging", "event_service", "allowinputlan", "uselocalio"))
def too_little_scratch_deployed(case: JobCase) -> Answer:
    """Refuse queues whose maxwdir is below the disk usage; only single-core tasks get a part of it (D50).

    Event service tasks get all of it, whatever their cores.
    """
    single_core = case.task.corecount in (0, 1) and not case.task.event_service
    limit = case.queues.maxwdir_mb / (_slot_cores(case) if single_core else 1)
    return above(estimates.scratch_deployed_mib(case.task, case.queues), limit)


@criterion("-shortwalltime", panda="selection for walltime", static=WALLTIME_FIELDS, **DOCUMENTED)
def too_little_walltime(case: JobCase) -> Answer:
    """Refuse queues whose maxtime is below the estimated wall time; a task whose wall time is not known passes."""
    task, queues = case.task, case.queues
    need_s = estimates.walltime_s(task, queues, estimates.least_work(task, queues))
    return above(need_s, queues.maxtime_s, estimates.walltime_is_known(task))


@criterion("-shortwalltime", panda="selection for walltime", static=WALLTIME_FIELDS, **DEPLOYED)
def too_little_walltime_deployed(case: JobCase) -> Answer:
    """Refuse queues whose maxtime, scaled to whole HS06 s, is below the work of a job (D54)."""
    task, queues = case.task, case.queues
    limit = estimates.work_limit(task, queues, queues.maxtime_s)
    return above(estimates.least_work(task, queues), limit, estimates.walltime_is_known(task))


@criterion("-scout_walltime", panda="selection for walltime of scouts", **DOCUMENTED,
           static=(*NAMED, "is_scout", "cputime", "cputimeunit", "walltime_s_per_mib"))
def too_short_for_scouts(case: JobCase) -> Answer:
    """Refuse queues with less than 24 hours to scouts; one that a task of known wall time names is spared."""
    spared = is_single(case.task, case.queues) and estimates.walltime_is_known(case.task)
    return below(case.queues.maxtime_s, DAY, case.task.is_scout and not spared)


@criterion("-min_walltime", panda="selection for undefined walltime", **DOCUMENTED,
           static=("is_scout", "cputime", "cputimeunit", "walltime_s_per_mib"))
def too_short_for_unknown(case: JobCase) -> Answer:
    """Refuse queues with less than 24 hours to tasks whose wall time is not defined."""
    concerned = not case.task.is_scout and not estimates.walltime_is_known(case.task)
    return below(case.queues.maxtime_s, DAY, concerned)


DAY_FIELDS = (*NAMED, "is_scout", "is_merging", "walltimeunit", *WALLTIME_FIELDS)


@criterion("-scout_walltime", panda="selection for walltime of scouts", static=DAY_FIELDS, **DEPLOYED)
def too_short_for_scouts_deployed(case: JobCase) -> Answer:
    """Refuse queues whose scaled maxtime is below 24 h of a reference core to scouts (D52).

    Scouts at a single queue that the task names are spared, unless the rule for other jobs concerns them.
    """
    spared = is_single(case.task, case.queues) and not _wants_a_day(case)
    return _reference_day(case, case.task.is_scout and not spared)


@criterion("-min_walltime", panda="selection for undefined walltime", static=DAY_FIELDS, **DEPLOYED)
def too_short_for_unknown_deployed(case: JobCase) -> Answer:
    """Refuse queues whose scaled maxtime is below 24 h of a reference core to merging and unknown wall times (D53)."""
    return _reference_day(case, not case.task.is_scout and _wants_a_day(case))


@criterion("-longwalltime", panda="selection for walltime", static=WALLTIME_FIELDS, **DOCUMENTED)
def too_much_walltime(case: JobCase) -> Answer:
    """Refuse queues whose mintime is above the estimated wall time."""
    task, queues = case.task, case.queues
    need_s = estimates.walltime_s(task, queues, estimates.most_work(task, queues))
    return below(need_s, queues.mintime_s, estimates.walltime_is_known(task))


@criterion("-longwalltime", panda="selection for walltime", static=WALLTIME_FIELDS, **DEPLOYED)
def too_much_walltime_deployed(case: JobCase) -> Answer:
    """Refuse queues with a mintime whose scaled value is above the work of a job, or whose work is not known (D54)."""
    task, queues = case.task, case.queues
    limit, need = estimates.work_limit(task, queues, queues.mintime_s), estimates.most_work(task, queues)
    return Answer((queues.mintime_s > 0) & ~(need >= limit), need, limit)


def _memory_is_known(case: JobCase) -> bool:
    """Whether the task says how much memory its jobs need: 0 means that it does not."""
    return estimates.memory_asked_mb(case.task) != 0


def _slot_cores(case: JobCase) -> np.ndarray:
    """Cores of a slot of the PanDA queue itself, (n,), at least 1: of its widest pseudo-queue."""
    cores = case.queues.slot_corecount
    return np.maximum(case.queues.corecount if cores is None else cores, 1)


def _wants_a_day(case: JobCase) -> bool:
    """Whether the code asks for a day although the jobs are no scouts; source: brokerage reference, 8.3.

    So it does for merge jobs, for tasks that say nothing of wall time and units, and without a usable CPU time.
    """
    task = case.task
    says_nothing = not (task.walltime_s_per_mib or task.walltimeunit or task.cputimeunit)
    unusable = task.cputimeunit != "" and not (estimates.counts_hs06(task) and task.cputime)
    return task.is_merging or says_nothing or unusable


def _reference_day(case: JobCase, concerned: bool) -> Answer:
    """Refuse queues whose scaled maxtime, if there is one, is below a day of a reference core."""
    limit = estimates.work_limit(case.task, case.queues, case.queues.maxtime_s)
    return below(limit, DAY * REFERENCE_COREPOWER * estimates.cores(case.queues), (limit != 0) & concerned)
