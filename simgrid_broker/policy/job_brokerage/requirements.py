"""Criteria about what a job needs: memory, scratch disk and wall time against the limits of a queue.

What lives here: the comparisons. What does not: the estimates themselves (`estimates`).

Source of the order and of the tags: brokerage reference, section 2.3, P12, P14 and P17.
"""

import numpy as np

import simgrid_broker.policy.estimates as estimates  # not `from simgrid_broker.policy`, which imports this module
from simgrid_broker.policy.job_brokerage.case import JobCase
from simgrid_broker.policy.rule import criterion
from simgrid_broker.units import DAY

MEMORY_FIELDS = ("ramcount", "ramunit", "baseramcount", "is_merging")
WALLTIME_FIELDS = ("cputime", "n_events_per_job", "cpuefficiency", "basewalltime_s")
SCRATCH_FIELDS = ("input_bytes_per_job", "output_bytes_per_job", "workdisk_bytes")
REFERENCE_COREPOWER = 10
"""HS06 per core that the code's 24-hour rule supposes; source: brokerage reference, section 8.3 (D52)."""

DOCUMENTED = {"source": "PanDA brokerage documentation, production job brokerage, step 2", "editions": ("documented",)}
DEPLOYED = {"source": "brokerage reference, section 8", "editions": ("deployed",)}


@criterion("-lowmemory", panda="selection for memory", static=MEMORY_FIELDS, **DOCUMENTED)
def too_little_memory(case: JobCase) -> np.ndarray:
    """Refuse queues whose memory limit lies below the estimate; a task without a memory figure passes."""
    return _known(case.task.ramcount) & (estimates.memory_documented_mb(case.task, case.queues) > case.queues.maxrss_mb)


@criterion("-highmemory", panda="selection for memory", static=MEMORY_FIELDS, **DOCUMENTED)
def too_much_memory(case: JobCase) -> np.ndarray:
    """Refuse queues that are kept for jobs with more memory than the estimate."""
    return _known(case.task.ramcount) & (estimates.memory_documented_mb(case.task, case.queues) < case.queues.minrss_mb)


@criterion("-lowmemory", panda="selection for memory", static=MEMORY_FIELDS, **DEPLOYED)
def too_little_memory_deployed(case: JobCase) -> np.ndarray:
    """Refuse queues whose memory limit lies below the code's estimate (D49)."""
    return _known(case.task.ramcount) & (estimates.memory_deployed_mb(case.task, case.queues) > case.queues.maxrss_mb)


@criterion("-highmemory", panda="selection for memory", static=MEMORY_FIELDS, **DEPLOYED)
def too_much_memory_deployed(case: JobCase) -> np.ndarray:
    """Refuse queues that are kept for jobs with more memory than the code's estimate (D49)."""
    return _known(case.task.ramcount) & (estimates.memory_deployed_mb(case.task, case.queues) < case.queues.minrss_mb)


@criterion("-disk", panda="selection for scratch disk", static=SCRATCH_FIELDS, **DOCUMENTED)
def too_little_scratch(case: JobCase) -> np.ndarray:
    """Refuse queues whose maxwdir divided by their core count is not larger than the disk usage of a job (D50)."""
    limit_bytes = case.queues.maxwdir_mb * 1e6 / _slot_cores(case)
    return limit_bytes <= estimates.scratch_documented_bytes(case.task, case.queues)


@criterion("-disk", panda="selection for scratch disk", static=(*SCRATCH_FIELDS, "corecount", "is_merging"), **DEPLOYED)
def too_little_scratch_deployed(case: JobCase) -> np.ndarray:
    """Refuse queues whose maxwdir is below the disk usage; only single-core tasks get a part of it (D50)."""
    parts = _slot_cores(case) if case.task.corecount in (0, 1) else 1
    return estimates.scratch_deployed_mib(case.task, case.queues) > case.queues.maxwdir_mb / parts


@criterion("-shortwalltime", panda="selection for walltime", static=WALLTIME_FIELDS, **DOCUMENTED)
def too_little_walltime(case: JobCase) -> np.ndarray:
    """Refuse queues whose maxtime is below the estimated wall time; a task without CPU time passes."""
    return _known(case.task.cputime) & (estimates.walltime_s(case.task, case.queues) > case.queues.maxtime_s)


@criterion("-shortwalltime", panda="selection for walltime", static=WALLTIME_FIELDS, **DEPLOYED)
def too_little_walltime_deployed(case: JobCase) -> np.ndarray:
    """Refuse queues whose maxtime, scaled to whole HS06 s, is below the work of a job (D54)."""
    limit = estimates.work_limit_hs06s(case.task, case.queues, case.queues.maxtime_s)
    return _known(case.task.cputime) & (estimates.work_hs06s(case.task) > limit)


@criterion("-scout_walltime", panda="selection for walltime of scouts", static=("is_scout",), **DOCUMENTED)
def too_short_for_scouts(case: JobCase) -> np.ndarray:
    """Refuse queues with less than 24 hours to scouts."""
    return case.task.is_scout & (case.queues.maxtime_s < DAY)


@criterion("-min_walltime", panda="selection for undefined walltime", static=("is_scout", "cputime"), **DOCUMENTED)
def too_short_for_unknown(case: JobCase) -> np.ndarray:
    """Refuse queues with less than 24 hours to tasks whose wall time is not defined."""
    return (not case.task.is_scout and not case.task.cputime) & (case.queues.maxtime_s < DAY)


@criterion("-scout_walltime", panda="selection for walltime of scouts", static=("is_scout", *WALLTIME_FIELDS),
           **DEPLOYED)
def too_short_for_scouts_deployed(case: JobCase) -> np.ndarray:
    """Refuse queues whose scaled maxtime is below 24 h of a reference core to scouts (D52)."""
    return case.task.is_scout & _below_reference_day(case)


@criterion("-min_walltime", panda="selection for undefined walltime",
           static=("is_scout", "is_merging", *WALLTIME_FIELDS), **DEPLOYED)
def too_short_for_unknown_deployed(case: JobCase) -> np.ndarray:
    """Refuse queues whose scaled maxtime is below 24 h of a reference core to merge jobs and without CPU time (D53)."""
    concerned = not case.task.is_scout and (case.task.is_merging or not case.task.cputime)
    return concerned & _below_reference_day(case)


@criterion("-longwalltime", panda="selection for walltime", static=WALLTIME_FIELDS, **DOCUMENTED)
def too_much_walltime(case: JobCase) -> np.ndarray:
    """Refuse queues whose mintime is above the estimated wall time."""
    return _known(case.task.cputime) & (estimates.walltime_s(case.task, case.queues) < case.queues.mintime_s)


@criterion("-longwalltime", panda="selection for walltime", static=WALLTIME_FIELDS, **DEPLOYED)
def too_much_walltime_deployed(case: JobCase) -> np.ndarray:
    """Refuse queues with a mintime whose scaled value is above the work of a job (D54)."""
    limit = estimates.work_limit_hs06s(case.task, case.queues, case.queues.mintime_s)
    return (case.queues.mintime_s > 0) & (estimates.work_hs06s(case.task) < limit)


def _known(figure: float) -> bool:
    """Whether the task gives the figure: 0 means that it does not."""
    return figure != 0


def _slot_cores(case: JobCase) -> np.ndarray:
    """Cores of a slot of the PanDA queue itself, (n,), at least 1: of its widest pseudo-queue."""
    cores = case.queues.slot_corecount
    return np.maximum(case.queues.corecount if cores is None else cores, 1)


def _below_reference_day(case: JobCase) -> np.ndarray:
    limit = estimates.work_limit_hs06s(case.task, case.queues, case.queues.maxtime_s)
    return (limit != 0) & (limit < DAY * REFERENCE_COREPOWER * estimates.cores(case.queues))
