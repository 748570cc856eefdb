"""Job throttler: whether a work queue gets more jobs in this cycle, and how many.

What lives here: the limits of a work queue, resolved once, and the rule. What does not: counting jobs (world), the lift
for waiting tasks of higher priority, and the work queue `eventservice`.

Each work queue (share x resource type) aims at about two queued jobs for each running one. Sources: JEDI TWiki, job
throttling; Global Shares paper, section 2.3; lifecycle reference, section 2.4.
"""

import sys
from typing import NamedTuple

from simgrid_broker.views import Gdpconfig, WorkQueueCounts

MIN_BUNCH, MAX_BUNCH = 500, 600
"""Limits of the jobs that are lacking to twice the running ones; source: JEDI TWiki, job throttling."""
BUNCHES_PER_LIMIT = 4
"""Default of NQUEUELIMIT in bunches; source: lifecycle reference, section 2.4."""
CAP_PART = 5
"""With NQUEUECAP this part of it is the most that one cycle makes; source: JEDI TWiki, job throttling."""
LIMIT_PART = 20
"""With a lack of jobs this part of NQUEUELIMIT is the least; source: JEDI TWiki, job throttling."""
LACK_FRACTION = 0.9
"""Below this part of NQUEUELIMIT jobs are lacking; source: JEDI TWiki, job throttling."""
MIN_WALLTIME_S = 5e7
"""Queued work below this never stops generation in the code; source: lifecycle reference, section 2.4."""
DEFAULT_THRESHOLD = 2.0
UNLIMITED = sys.maxsize
LEVELS = ("resource type", "core type", "share")
"""Levels at which a limit compares counts: NQUEUELIMIT_<queue>_<rtype>, _MCORE* or _SCORE*, and <queue> itself."""

GDPCONFIG = ("THROTTLE_THRESHOLD", "THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE", "NQUEUELIMIT_<queue>[_<rtype>]",
             "NQUEUECAP_<queue>[_<rtype>]", "NRUNNINGCAP_<queue>[_<rtype>]")
"""Keys that the throttler reads in its component, besides core.WORK_SHORTAGE."""


class Throttle(NamedTuple):
    """The decision: skip = no new jobs in this cycle; max_jobs: most jobs to make; reason: in words."""

    skip: bool
    max_jobs: int
    reason: str


class Limit(NamedTuple):
    """A limit in jobs and the index in LEVELS of the counts that it is compared with; None = not set."""

    jobs: int | None = None
    level: int = 0


class ThrottleLimits(NamedTuple):
    """Limits of one work queue; `throttled` is False for shares that PanDA exempts."""

    threshold: float = DEFAULT_THRESHOLD
    queue_limit: Limit = Limit()
    queue_cap: Limit = Limit()
    running_cap: Limit = Limit()
    throttled: bool = True
    deployed: bool = False


def throttle_limits(cfg: Gdpconfig, gshare: str, resource_type: str, *, edition: str = "documented",
                    component: str = "prod_job_throttler", throttled: bool = True) -> ThrottleLimits:
    """The limits of one work queue from gdpconfig; resolve them again when gdpconfig changes."""
    shortage = cfg.values.get(("core", "WORK_SHORTAGE"))
    key = "THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE" if shortage else "THROTTLE_THRESHOLD"
    threshold = cfg.values.get((component, key))
    families = (_limit(cfg, component, family, gshare, resource_type)
                for family in ("NQUEUELIMIT", "NQUEUECAP", "NRUNNINGCAP"))
    return ThrottleLimits(DEFAULT_THRESHOLD if threshold is None else threshold, *families, throttled,
                          edition == "deployed")


def throttle(counts: WorkQueueCounts, limits: ThrottleLimits, core_type: WorkQueueCounts | None = None,
             share: WorkQueueCounts | None = None) -> Throttle:
    """Whether to make jobs for a work queue, and how many at most.

    `core_type` (all SCORE or all MCORE types of the share) and `share` are needed only if a limit is set at their
    level; None stands for `counts`. Merge jobs may be made even when the answer is to skip.
    """
    if not limits.throttled:
        return Throttle(False, UNLIMITED, "the share is exempt")
    levels = (counts, core_type or counts, share or counts)
    bunch = min(max(MIN_BUNCH, int(counts.running * limits.threshold - counts.not_running)), MAX_BUNCH)
    reason = _why_deployed(counts, limits, levels, bunch) if limits.deployed else _why(counts, limits, levels)
    if reason:
        return Throttle(True, 0, reason)
    return Throttle(False, _max_jobs(counts, limits, levels, bunch), "jobs are lacking")


def _why(counts: WorkQueueCounts, limits: ThrottleLimits, levels: tuple[WorkQueueCounts, ...]) -> str:
    """Why generation stops as documented: queued > 2 x running, above the lower limit, or above an upper limit."""
    lower = limits.queue_limit
    many = _queued(counts) > limits.threshold * counts.running
    if many and (lower.jobs is None or _queued(levels[lower.level]) > lower.jobs):
        return "queued > threshold x running"
    return _over_caps(limits, levels)


def _why_deployed(counts: WorkQueueCounts, limits: ThrottleLimits, levels: tuple[WorkQueueCounts, ...],
                  bunch: int) -> str:
    """Why generation stops in the code; source: lifecycle reference, section 2.4, conditions 1, 3 and 5 to 8."""
    lower = limits.queue_limit
    least = BUNCHES_PER_LIMIT * bunch if lower.jobs is None else lower.jobs
    enough_work = counts.walltime_s is None or counts.walltime_s > MIN_WALLTIME_S
    many = counts.running == 0 or _queued(counts) > limits.threshold * counts.running
    if many and enough_work and _queued(levels[lower.level]) > least:
        return "queued > threshold x running and > NQUEUELIMIT"
    if levels[lower.level].defined > least:
        return "defined > NQUEUELIMIT"
    if counts.waiting > max(4 * counts.running, 2 * bunch):
        return "too many waiting jobs"
    return _over_caps(limits, levels)


def _over_caps(limits: ThrottleLimits, levels: tuple[WorkQueueCounts, ...]) -> str:
    running, queued = limits.running_cap, limits.queue_cap
    if running.jobs is not None and levels[running.level].running > running.jobs:
        return "running > NRUNNINGCAP"
    if queued.jobs is not None and _queued(levels[queued.level]) > queued.jobs:
        return "queued > NQUEUECAP"
    return ""


def _max_jobs(counts: WorkQueueCounts, limits: ThrottleLimits, levels: tuple[WorkQueueCounts, ...], bunch: int) -> int:
    """Most jobs of a cycle: half a bunch or a part of the cap, and more where jobs are lacking below the limit."""
    normal = bunch // 2 if limits.queue_cap.jobs is None else limits.queue_cap.jobs // CAP_PART
    least, level = limits.queue_limit
    if least is None:
        if not limits.deployed:
            return normal
        least = BUNCHES_PER_LIMIT * bunch
    lacking = _queued(levels[level]) < LACK_FRACTION * least
    if limits.deployed:
        lacking = lacking or _queued(counts) < counts.running
    return max(normal, int(least / LIMIT_PART)) if lacking else normal


def _queued(counts: WorkQueueCounts) -> int:
    return counts.not_running + counts.defined


def _limit(cfg: Gdpconfig, component: str, family: str, gshare: str, resource_type: str) -> Limit:
    """The first key of a family that is set and not 0, from the most to the least special, and its level."""
    core_type = "MCORE*" if resource_type.startswith("MCORE") else "SCORE*"
    for level, key in enumerate((f"{family}_{gshare}_{resource_type}", f"{family}_{gshare}_{core_type}",
                                 f"{family}_{gshare}")):
        if value := cfg.values.get((component, key)):
            return Limit(int(value), level)
    return Limit()
