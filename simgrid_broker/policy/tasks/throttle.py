"""Job throttler: whether a work queue gets more jobs in this cycle, and how many: about two queued for each running
one.

Source: JEDI TWiki, job throttling; Global Shares paper, section 2.3; lifecycle reference, section 2.4. Total wall time,
the lift, defined and waiting jobs, standby slots and the two shares with longer bunches are in `deployed` only.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import GdpconfigKey, anal_job_throttler, core, jobgen, prod_job_throttler
from simgrid_broker.names import EVENT_SERVICE_QUEUE
from simgrid_broker.views import Gdpconfig, WorkQueueCounts

MIN_BUNCH, MAX_BUNCH = 500, 600
"""Least and most jobs of a bunch, which fills up to twice the running jobs; source: JEDI TWiki, job throttling."""
BUNCHES_PER_LIMIT = 4
"""Default of NQUEUELIMIT in bunches; source: lifecycle reference, section 2.4."""
CAP_PART, LIMIT_PART = 5, 20
"""A cycle makes at most 1/5 of NQUEUECAP, or 1/20 of NQUEUELIMIT if jobs lack; source: JEDI TWiki, job throttling."""
LACK_FRACTION = 0.9
"""Jobs are lacking below this fraction of NQUEUELIMIT; source: JEDI TWiki, job throttling."""
MIN_WALLTIME_S = 5e7
"""Queued wall time below which the deployed edition never stops generation, s; lifecycle reference, 2.4."""
FEW_URGENT = 500
"""Queued jobs of the highest priority below which tasks of that priority pass; lifecycle reference, 2.4."""
LONG_BUNCHES = ("Heavy Ion", "Reprocessing default")
"""Work queues whose bunches fill up to NQUEUELIMIT; source: lifecycle reference, section 2.4."""
UNLIMITED = sys.maxsize
MANY_JOBS, OVER_RUNNING = "queued > threshold x running and > NQUEUELIMIT", "running > NRUNNINGCAP"
MUCH_WORK = f"{MANY_JOBS}, of much wall time"
OVER_RATIO, OVER_QUEUED = "queued > threshold x running", "queued > NQUEUECAP"
LEVELS = ("resource type", "core type", "share")
"""Levels at which a limit compares counts: NQUEUELIMIT_<queue>_<rtype>, _MCORE* or _SCORE*, and <queue> itself."""


class Throttle(NamedTuple):
    """The decision of a cycle: skip = no new jobs but merge jobs; max_jobs: most jobs to make; reason: in words.

    lacking: several processes may fill the queue; soft: tasks of high priority pass a skip; by_walltime: the skip holds
    only if much wall time is queued; min_priority: lowest priority of tasks that get jobs, None = any; merging: merge
    jobs are made. max_jobs need not be whole, as in PanDA.
    """

    skip: bool
    max_jobs: float
    reason: str
    lacking: bool = True
    soft: bool = False
    by_walltime: bool = False
    min_priority: int | None = None
    merging: bool = True


class Standby(NamedTuple):
    """Standby slots of a work queue: a fixed number, and starting jobs that count as running; None = not set."""

    static: int | None = None
    starting: int | None = None

    @classmethod
    def of(cls, queues: Sequence[tuple[int, int]]) -> "Standby":
        """The sums over queues in standby, of slots and starting jobs each; with 0 slots its starting jobs count."""
        static = [slots for slots, _ in queues if slots]
        starting = [jobs for slots, jobs in queues if slots == 0]
        return cls(sum(static) if static else None, sum(starting) if starting else None)


class Limit(NamedTuple):
    """A limit in jobs, the index in LEVELS of the counts compared with it, and its key; None = not set."""

    jobs: int | None = None
    level: int = 0
    key: str = ""


class Terms(NamedTuple):
    """Terms in which the editions differ.

    whole: work queues whose ratios compare the numbers of all resource types (lifecycle reference, 1.6); by_bunches:
    without NQUEUELIMIT a number of bunches takes its place, and total wall time, defined and waiting jobs count (L8);
    standby: slots of queues in standby count as running.
    """

    whole: tuple[str, ...]
    by_bunches: bool
    standby: bool


TERMS = ByEdition(documented=Terms((), by_bunches=False, standby=False),
                  deployed=Terms((EVENT_SERVICE_QUEUE,), by_bunches=True, standby=True))


class ThrottleLimits(NamedTuple):
    """Limits of one work queue; `throttled` is False for shares that PanDA exempts; analysis: of analysis jobs."""

    threshold: float = prod_job_throttler.THROTTLE_THRESHOLD.default
    queue_limit: Limit = Limit()
    queue_cap: Limit = Limit()
    running_cap: Limit = Limit()
    throttled: bool = True
    terms: Terms = TERMS["documented"]
    name: str = ""
    analysis: bool = False
    threshold_key: str = prod_job_throttler.THROTTLE_THRESHOLD.key

    @property
    def whole(self) -> bool:
        """True if ratios compare the numbers of all resource types of the queue."""
        return self.name in self.terms.whole


class Bound(NamedTuple):
    """The limit that decided in a cycle: its keys of gdpconfig as written, the first one binds, and its jobs."""

    keys: tuple[str, ...]
    limit: float


SWITCHED_OFF = Throttle(True, 0, "jobs are not generated")
"""The decision for all work queues while JOB_SUBMISSION is false."""


def bound(decision: Throttle, limits: ThrottleLimits | None = None, counts: WorkQueueCounts | None = None) -> Bound:
    """The keys behind a decision, and its limit: of queued or running jobs for a skip, else of the jobs to make.

    Without limits jobs are not generated at all.
    """
    if limits is None or counts is None:
        return Bound((jobgen.JOB_SUBMISSION.key,), 0)
    lower, threshold = limits.queue_limit, limits.threshold_key
    if decision.reason == OVER_RUNNING:
        return Bound((limits.running_cap.key,), limits.running_cap.jobs or 0)
    if decision.reason == OVER_QUEUED:
        return Bound((limits.queue_cap.key,), limits.queue_cap.jobs or 0)
    if not decision.skip:
        by_lack = decision.lacking and lower.jobs is not None
        keys = (lower.key,) if by_lack else (limits.queue_cap.key,) if limits.queue_cap.jobs is not None else ()
        return Bound(keys, decision.max_jobs)
    most = max(lower.jobs or 0, limits.threshold * counts.running)
    return Bound((lower.key, threshold) if lower.jobs is not None else (threshold, lower.key), most)


def counted_by(decision: Throttle, limits: ThrottleLimits, counts: WorkQueueCounts,
               core_type: WorkQueueCounts | None = None, share: WorkQueueCounts | None = None) -> WorkQueueCounts:
    """Jobs that the condition of a decision counts: at the level of the cap that stops, else of the work queue."""
    if decision.reason not in (OVER_RUNNING, OVER_QUEUED):
        return counts
    cap = limits.running_cap if decision.reason == OVER_RUNNING else limits.queue_cap
    return (counts, core_type or counts, share or counts)[cap.level]


def throttle_limits(cfg: Gdpconfig, gshare: str, resource_type: str, *, edition: str = "documented",
                    analysis: bool = False, throttled: bool = True) -> ThrottleLimits:
    """Limits of one work queue from gdpconfig; resolve them again when gdpconfig changes.

    gshare: name of the share or other work queue; resource_type: empty = the queue is for all of them.
    """
    keys = anal_job_throttler if analysis else prod_job_throttler
    threshold = keys.THROTTLE_THRESHOLD
    if cfg.value(core.WORK_SHORTAGE):
        threshold = keys.THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE
    limit, cap, running = (_limit(cfg, key, gshare, resource_type)
                           for key in (keys.NQUEUELIMIT, keys.NQUEUECAP, keys.NRUNNINGCAP))
    return ThrottleLimits(cfg.value(threshold), limit, cap, running, throttled, TERMS[edition], gshare, analysis,
                          threshold.key)


def throttle(counts: WorkQueueCounts, limits: ThrottleLimits, core_type: WorkQueueCounts | None = None,
             share: WorkQueueCounts | None = None) -> Throttle:
    """True if to make jobs for a work queue, and how many at most.

    `core_type` (all SCORE or all MCORE types of the share) and `share` are needed only if a limit is set at their
    level, `share` also for a queue whose ratios are of all types; None means `counts`.
    """
    if not limits.throttled:
        return Throttle(False, UNLIMITED, "the share is exempt", False)
    levels = (counts, core_type or counts, share or counts)
    compared = levels[-1] if limits.whole else counts
    bunch = min(max(MIN_BUNCH, int(compared.running * limits.threshold - compared.not_running)), MAX_BUNCH)
    if not limits.terms.by_bunches:
        reason = _why(counts, limits, levels)
        return Throttle(True, _normal(limits, bunch), reason) if reason else _pass(counts, limits, levels, bunch)
    least = BUNCHES_PER_LIMIT * bunch if limits.queue_limit.jobs is None else limits.queue_limit.jobs
    missing = least - _queued(levels[limits.queue_limit.level])
    if limits.name in LONG_BUNCHES and missing > bunch:
        bunch = min(missing, MAX_BUNCH)
    reason, soft = _why_by_bunches(compared, counts, limits, levels, bunch, least)
    if reason:
        return Throttle(True, _normal(limits, bunch), reason, False, soft, reason == MUCH_WORK)
    return _pass(compared, limits, levels, bunch, least)


def lift(decision: Throttle, waiting: int | None, queued: int, n_highest: int) -> Throttle:
    """The decision after a look at priorities: a soft skip is lifted for tasks that wait with a high one.

    waiting: highest priority of the tasks that wait; None = unknown, when PanDA gives up; queued: highest of the queued
    jobs; n_highest: queued jobs of that priority. Only tasks of the priority `waiting` or above may have jobs then.
    Source: lifecycle reference, 2.4.
    """
    if decision.max_jobs == UNLIMITED:
        return decision
    if waiting is None:
        return decision._replace(skip=True, lacking=False, merging=False, reason="unknown waiting priority")
    if decision.skip and decision.soft and (waiting > queued or waiting == queued and n_highest < FEW_URGENT):
        return decision._replace(skip=False, min_priority=waiting)
    return decision


def with_standby(counts: WorkQueueCounts, standby: Standby, of_type: bool) -> WorkQueueCounts:
    """Numbers with standby slots counted as running; of_type: they are of one resource type.

    Of one type, the slots replace the running jobs instead of adding to them, as PanDA does. Source: lifecycle
    reference, 2.4.
    """
    given = [number for number in standby if number is not None]
    running = given[-1] if of_type and given else counts.running + sum(given)
    return counts._replace(running=running, not_running=counts.not_running - (standby.starting or 0))


def _why(counts: WorkQueueCounts, limits: ThrottleLimits, levels: tuple[WorkQueueCounts, ...]) -> str:
    """Why generation stops as documented: queued > 2 x running, above the lower limit, or above an upper limit."""
    lower = limits.queue_limit
    many = _queued(counts) > limits.threshold * counts.running
    if many and (lower.jobs is None or _queued(levels[lower.level]) > lower.jobs):
        return OVER_RATIO
    return _over_caps(limits, levels)


def _why_by_bunches(compared: WorkQueueCounts, counts: WorkQueueCounts, limits: ThrottleLimits,
                    levels: tuple[WorkQueueCounts, ...], bunch: int, least: int) -> tuple[str, bool]:
    """Why generation stops in the deployed edition, empty if it does not, and whether tasks of high priority pass.

    compared: numbers of which ratios are taken. Source: lifecycle reference, section 2.4, conditions 1 to 8. L8: queued
    > 2 x running is not enough.
    """
    lower = levels[limits.queue_limit.level]
    enough_work = limits.whole or counts.walltime_s is None or counts.walltime_s > MIN_WALLTIME_S
    many = compared.running == 0 or _queued(compared) / compared.running > limits.threshold
    if many and enough_work and _queued(lower) > least:
        return (MANY_JOBS if limits.whole else MUCH_WORK), not limits.analysis
    if lower.defined > least:
        return "defined > NQUEUELIMIT", not limits.analysis
    if counts.waiting > max(4 * counts.running, 2 * bunch):
        return "too many waiting jobs", not limits.analysis
    reason = _over_caps(limits, levels)
    return reason, reason != OVER_RUNNING and not limits.analysis


def _over_caps(limits: ThrottleLimits, levels: tuple[WorkQueueCounts, ...]) -> str:
    running, queued = limits.running_cap, limits.queue_cap
    if running.jobs is not None and levels[running.level].running > running.jobs:
        return OVER_RUNNING
    if queued.jobs is not None and _queued(levels[queued.level]) > queued.jobs:
        return OVER_QUEUED
    return ""


def _normal(limits: ThrottleLimits, bunch: int) -> int:
    """Most jobs of a cycle: half a bunch, or a fraction of the cap."""
    return bunch // 2 if limits.queue_cap.jobs is None else limits.queue_cap.jobs // CAP_PART


def _pass(counts: WorkQueueCounts, limits: ThrottleLimits, levels: tuple[WorkQueueCounts, ...], bunch: int,
          least: int | None = None) -> Throttle:
    """The decision to go on, with more jobs if they are lacking; least: the deployed NQUEUELIMIT in force."""
    normal = _normal(limits, bunch)
    least = limits.queue_limit.jobs if least is None else least
    if least is None:
        return Throttle(False, normal, "jobs are lacking")
    lacking = _queued(levels[limits.queue_limit.level]) < LACK_FRACTION * least
    if limits.terms.by_bunches:
        lacking = lacking or _queued(counts) < counts.running
    return Throttle(False, max(normal, least / LIMIT_PART) if lacking else normal, "jobs are lacking", lacking)


def _queued(counts: WorkQueueCounts) -> int:
    return counts.not_running + counts.defined


def _limit(cfg: Gdpconfig, key: GdpconfigKey, queue: str, resource_type: str) -> Limit:
    """The most specific limit of a family that is set, its level and key; without any the key of the whole queue."""
    core_type = "MCORE*" if resource_type.startswith("MCORE") else "SCORE*"
    members = ({"rtype": resource_type}, {"rtype": core_type}, {}) if resource_type else ({},)
    for level, member in enumerate(members, start=len(LEVELS) - len(members)):
        if (jobs := cfg.own(key, queue=queue, **member)) is not None:
            return Limit(jobs, level, key.names(queue=queue, **member)[0])
    return Limit(key=key.names(queue=queue)[0])
