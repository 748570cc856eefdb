"""Criteria about what a job needs: memory, scratch disk and wall time against the limits of a queue.

What lives here: the comparisons. What does not: the estimates themselves (`estimates`).

Source of the order and of the tags: brokerage reference, section 2.3, P12, P14 and P17.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.job_brokerage import estimates
from simgrid_broker.policy.rule import criterion
from simgrid_broker.units import DAY

REFERENCE_COREPOWER = 10
"""HS06 per core that the code's 24-hour rule supposes; source: brokerage reference, section 8.3 (D52)."""

DOCUMENTED = {"source": "PanDA brokerage documentation, production job brokerage, step 2", "editions": ("documented",)}
DEPLOYED = {"source": "brokerage reference, section 8", "editions": ("deployed",)}


@criterion("-lowmemory", panda="selection for memory", **DOCUMENTED)
@compiled
def too_little_memory(ask, queue, load, link, store, n):
    """Refuse queues whose memory limit lies below the estimate; a task without a memory figure passes."""
    need = estimates.memory_mb(ask, queue)
    return ask["ram_mb"] != 0 and need > queue["maxrss_mb"], need, queue["maxrss_mb"]


@criterion("-highmemory", panda="selection for memory", **DOCUMENTED)
@compiled
def too_much_memory(ask, queue, load, link, store, n):
    """Refuse queues that are kept for jobs with more memory than the estimate."""
    need = estimates.memory_mb(ask, queue)
    return ask["ram_mb"] != 0 and need < queue["minrss_mb"], need, queue["minrss_mb"]


@criterion("-lowmemory", panda="selection for memory", **DEPLOYED)
@compiled
def too_little_memory_deployed(ask, queue, load, link, store, n):
    """Refuse queues whose memory limit lies below the code's estimate, in whole MB (D49)."""
    need = np.floor(estimates.memory_mb(ask, queue))
    return ask["ram_mb"] != 0 and need > queue["maxrss_mb"], need, queue["maxrss_mb"]


@criterion("-highmemory", panda="selection for memory", **DEPLOYED)
@compiled
def too_much_memory_deployed(ask, queue, load, link, store, n):
    """Refuse queues that are kept for jobs with more memory than the code's estimate, in whole MB (D49)."""
    need = np.floor(estimates.memory_mb(ask, queue))
    return ask["ram_mb"] != 0 and need < queue["minrss_mb"], need, queue["minrss_mb"]


@criterion("-disk", panda="selection for scratch disk", **DOCUMENTED)
@compiled
def too_little_scratch(ask, queue, load, link, store, n):
    """Refuse queues whose maxwdir divided by their core count is not larger than the disk usage of a job (D50)."""
    need_bytes = estimates.scratch_bytes(ask, queue)
    limit_bytes = queue["maxwdir_mb"] * 1e6 / estimates.slot_cores(queue)
    return need_bytes >= limit_bytes, need_bytes, limit_bytes


@criterion("-disk", panda="selection for scratch disk", **DEPLOYED)
@compiled
def too_little_scratch_deployed(ask, queue, load, link, store, n):
    """Refuse queues whose maxwdir is below the disk usage; only single-core tasks get a part of it (D50).

    Event service tasks get all of it, whatever their cores.
    """
    limit = queue["maxwdir_mb"] / (estimates.slot_cores(queue) if ask["single_core"] else 1)
    need = estimates.scratch_deployed_mib(ask, queue)
    return need > limit, need, limit


@criterion("-shortwalltime", panda="selection for walltime", **DOCUMENTED)
@compiled
def too_little_walltime(ask, queue, load, link, store, n):
    """Refuse queues whose maxtime is below the estimated wall time; a task whose wall time is not known passes."""
    need_s = estimates.walltime_s(ask, queue, estimates.least_work(ask, queue))
    return ask["walltime_is_known"] and need_s > queue["maxtime_s"], need_s, queue["maxtime_s"]


@criterion("-shortwalltime", panda="selection for walltime", **DEPLOYED)
@compiled
def too_little_walltime_deployed(ask, queue, load, link, store, n):
    """Refuse queues whose maxtime, scaled to whole HS06 s, is below the work of a job (D54)."""
    need, limit = estimates.least_work(ask, queue), estimates.work_limit(ask, queue, queue["maxtime_s"])
    return ask["walltime_is_known"] and need > limit, need, limit


@criterion("-scout_walltime", panda="selection for walltime of scouts", **DOCUMENTED)
@compiled
def too_short_for_scouts(ask, queue, load, link, store, n):
    """Refuse queues with less than 24 hours to scouts; one that a task of known wall time names is spared."""
    concerned = ask["is_scout"] and not (ask["single"] and ask["walltime_is_known"])
    return concerned and queue["maxtime_s"] < DAY, queue["maxtime_s"], float(DAY)


@criterion("-min_walltime", panda="selection for undefined walltime", **DOCUMENTED)
@compiled
def too_short_for_unknown(ask, queue, load, link, store, n):
    """Refuse queues with less than 24 hours to tasks whose wall time is not defined."""
    concerned = not ask["is_scout"] and not ask["walltime_is_known"]
    return concerned and queue["maxtime_s"] < DAY, queue["maxtime_s"], float(DAY)


@criterion("-scout_walltime", panda="selection for walltime of scouts", **DEPLOYED)
@compiled
def too_short_for_scouts_deployed(ask, queue, load, link, store, n):
    """Refuse queues whose scaled maxtime is below 24 h of a reference core to scouts (D52).

    Scouts at a single queue that the task names are spared, unless the rule for other jobs concerns them.
    """
    concerned = ask["is_scout"] and (not ask["single"] or ask["wants_a_day"])
    return below_reference_day(ask, queue, concerned)


@criterion("-min_walltime", panda="selection for undefined walltime", **DEPLOYED)
@compiled
def too_short_for_unknown_deployed(ask, queue, load, link, store, n):
    """Refuse queues whose scaled maxtime is below 24 h of a reference core to merging and unknown wall times (D53)."""
    return below_reference_day(ask, queue, not ask["is_scout"] and ask["wants_a_day"])


@compiled
def below_reference_day(ask, queue, concerned):
    """Whether the scaled maxtime, if there is one, is below a day of a reference core; with both figures."""
    scaled = estimates.work_limit(ask, queue, queue["maxtime_s"])
    limit = float(DAY * REFERENCE_COREPOWER * estimates.cores(queue))
    return concerned and scaled != 0 and scaled < limit, scaled, limit


@criterion("-longwalltime", panda="selection for walltime", **DOCUMENTED)
@compiled
def too_much_walltime(ask, queue, load, link, store, n):
    """Refuse queues whose mintime is above the estimated wall time."""
    need_s = estimates.walltime_s(ask, queue, estimates.most_work(ask, queue))
    return ask["walltime_is_known"] and need_s < queue["mintime_s"], need_s, queue["mintime_s"]


@criterion("-longwalltime", panda="selection for walltime", **DEPLOYED)
@compiled
def too_much_walltime_deployed(ask, queue, load, link, store, n):
    """Refuse queues with a mintime whose scaled value is above the work of a job, or whose work is not known (D54)."""
    need, limit = estimates.most_work(ask, queue), estimates.work_limit(ask, queue, queue["mintime_s"])
    return queue["mintime_s"] > 0 and not need >= limit, need, limit
