"""Limits of what users and groups have in the system: caps on running jobs with the boost of users with few jobs, which
only the deployed edition has, and JEDI's analysis watchdog, which throttles tasks of users with too many jobs or input.

Sources: JEDI TWiki, throttled jobs and tasks, which throttles jobs only; lifecycle reference, sections 2.10 and 3.6;
brokerage reference, section 11.4.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import anal_watchdog, prio_mgr
from simgrid_broker.names import JobStatus, TaskStatus, ThrottledBy
from simgrid_broker.units import DAY, GB, GIB, HOUR
from simgrid_broker.views import Gdpconfig

S = JobStatus

CAP_IF_UNSET = 10_000
"""Cap of the job throttle where none is set, which elsewhere means no limit; source: lifecycle reference, 3.6."""
RELEASE_FRACTION = 0.9
"""Throttled jobs are released below this fraction of both caps; source: lifecycle reference, section 3.6."""
LONG_JOB_S = 6 * HOUR
"""Wall time up to which jobs stay activated in the deployed edition, s; source: lifecycle reference, section 3.6."""
TOP_PRIORITY, JOBS_PER_POINT = 1000, 5
"""Priority that boosted jobs reach, and jobs of a user per point; source: lifecycle reference, 3.6."""
NO_PRIORITY = -2**31
"""Below any priority."""


class Caps(NamedTuple):
    """Most running jobs and cores of a user and of a group."""

    user_jobs: float
    user_cores: float
    group_jobs: float
    group_cores: float


class Boost(NamedTuple):
    """Boost at most `n_jobs` activated jobs of an owner at a queue."""

    owner: int
    queue: int
    n_jobs: int


class Capped(NamedTuple):
    """Jobs that are activated or throttled, (n,) each.

    task: of each; owner: -1 = caps do not concern it; status: JobStatus; relocation_flag: MOVABLE = the job may be
    throttled, HELD = a cap has throttled it; max_walltime_s: limit of wall time; is_merge: whether it merges.
    """

    task: np.ndarray
    owner: np.ndarray
    status: np.ndarray
    relocation_flag: np.ndarray
    max_walltime_s: np.ndarray
    is_merge: np.ndarray


MOVABLE, HELD = 1, 3
"""Values of PanDA's relocationFlag."""


class Terms(NamedTuple):
    """Terms in which the editions differ.

    exceeds: comparison with a cap of running jobs; moving_apart: input from tape and from disk have limits of their
    own, in whole GiB, and of working groups, otherwise one together for each user; boosts: users with few jobs are
    boosted, and short jobs stay activated; by_work: tasks of users with too many jobs are throttled.
    """

    exceeds: Callable
    moving_apart: bool
    boosts: bool
    by_work: bool


TERMS = ByEdition(documented=Terms(np.greater, moving_apart=False, boosts=False, by_work=False),
                  deployed=Terms(np.greater_equal, moving_apart=True, boosts=True, by_work=True))


def caps(cfg: Gdpconfig) -> Caps:
    """The caps under gdpconfig; 0 is a cap in `deployed`, and not set in `documented`."""
    keys = (prio_mgr.CAP_RUNNING_USER_JOBS, prio_mgr.CAP_RUNNING_USER_CORES, prio_mgr.CAP_RUNNING_GROUP_JOBS,
            prio_mgr.CAP_RUNNING_GROUP_CORES)
    return Caps(*(CAP_IF_UNSET if (cap := cfg.value(key)) is None else cap for key in keys))


def over_and_below(jobs: np.ndarray, cores: np.ndarray, is_group: np.ndarray, limits: Caps,
                   edition: str) -> tuple[np.ndarray, np.ndarray]:
    """Owners whose activated jobs are throttled, and owners whose throttled jobs are released, (n,) bool each.

    jobs, cores: running, starting and sent, (n,); is_group: whether an owner is a working group. A cap must be
    exceeded as documented ("more running jobs than"); in the deployed edition reaching it is enough.
    """
    most_jobs = np.where(is_group, limits.group_jobs, limits.user_jobs)
    most_cores = np.where(is_group, limits.group_cores, limits.user_cores)
    exceeds = TERMS[edition].exceeds
    over = exceeds(jobs, most_jobs) | exceeds(cores, most_cores)
    below = (jobs < RELEASE_FRACTION * most_jobs) & (cores < RELEASE_FRACTION * most_cores)
    return over, below


def held_by_cap(jobs: Capped, over: np.ndarray, edition: str) -> np.ndarray:
    """Jobs that become throttled, (n,) bool; over: owners of `over_and_below`.

    `documented`: all activated jobs of those owners but merge jobs. `deployed`: of tasks with a long activated job of
    theirs that is MOVABLE, all long activated jobs.
    """
    activated = jobs.status == S.ACTIVATED
    if not TERMS[edition].boosts:
        return activated & _of(jobs, over) & ~jobs.is_merge
    long = activated & (jobs.max_walltime_s > LONG_JOB_S)
    return long & np.isin(jobs.task, jobs.task[long & _of(jobs, over) & (jobs.relocation_flag == MOVABLE)])


def released_below_cap(jobs: Capped, below: np.ndarray, edition: str) -> np.ndarray:
    """Jobs that are activated again, (n,) bool; below: owners of `over_and_below`.

    `documented`: the throttled jobs of those owners that are HELD. `deployed`: of tasks with a throttled job of theirs
    that is HELD, all throttled jobs.
    """
    throttled = jobs.status == S.THROTTLED
    held = throttled & _of(jobs, below) & (jobs.relocation_flag == HELD)
    return throttled & np.isin(jobs.task, jobs.task[held]) if TERMS[edition].boosts else held


def _of(jobs: Capped, chosen: np.ndarray) -> np.ndarray:
    """Jobs whose owner is chosen, (n,) bool."""
    return (jobs.owner >= 0) & chosen[jobs.owner]


def boosts(done: np.ndarray, activated: np.ndarray, known: np.ndarray) -> list[Boost]:
    """Boosts of owners with fewer jobs than the mean, at queues where they got fewer than others.

    done: jobs that ran or ended recently; activated: waiting jobs; known: whether there was any job; (n_owners,
    n_queues) each. The means are over owners and queues with jobs.
    """
    owners = np.flatnonzero(known.any(axis=1))
    if not len(owners):
        return []
    of_owner = done.sum(axis=1)
    mean, at_queue = of_owner.sum() / len(owners), done.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    few = owners[of_owner[owners] < mean]
    lacks = (done[few] < at_queue) & (activated[few] > 0)
    n_queues = lacks.sum(axis=1)
    n_jobs = np.where(n_queues > 0, (mean - of_owner[few]) / np.maximum(n_queues, 1), 0).astype(np.int64)
    return [Boost(int(few[place]), queue, int(n_jobs[place])) for place in np.flatnonzero(n_jobs > 0).tolist()
            for queue in np.flatnonzero(lacks[place]).tolist()]


def owners(user: np.ndarray, group: np.ndarray, is_named: np.ndarray) -> np.ndarray:
    """Owner of each task: its user, and its working group or -1, (n_tasks, 2).

    user, group: of the tasks; is_named: whether a working group has a name, otherwise the user is the owner.
    """
    return np.stack([user.astype(np.int64), np.where(is_named[group], group.astype(np.int64), -1)], axis=1)


def may_matter(counts: np.ndarray, cores: np.ndarray, most_cores: int, limits: Caps) -> bool:
    """True if a user may be above a cap, or a job is throttled: a quick check before owners are counted.

    counts: jobs of users by status, (n_users, n_status); cores: of running jobs, (n_users,); most_cores: of a job.
    """
    soon = counts[:, (S.STARTING, S.SENT)].sum(axis=1)
    return (bool(counts[:, S.THROTTLED].any())
            or (counts[:, S.RUNNING] + soon).max(initial=0) > min(limits.user_jobs, limits.group_jobs)
            or (cores + soon * most_cores).max(initial=0) > min(limits.user_cores, limits.group_cores))


def boosted(wanted: list[Boost], jobs: Capped, queue: np.ndarray,
            priority: np.ndarray) -> Iterator[tuple[Boost, np.ndarray, int]]:
    """Each boost with the positions of its jobs, (k,), and the points by which they rise to TOP_PRIORITY.

    jobs: oldest first, of which those that are activated now count, and queue, priority: of them, (n,). The highest
    priority of the owner at the queue is that of other than merge jobs, but merge jobs rise as well.
    """
    activated = np.flatnonzero(jobs.status == S.ACTIVATED)
    key = jobs.owner[activated].astype(np.int64) << 32 | queue[activated]        # of the owner at the queue
    order = np.argsort(key, kind="stable")
    activated, key = activated[order], key[order]
    keys = np.array([boost.owner << 32 | boost.queue for boost in wanted], np.int64)
    begins, ends = (np.searchsorted(key, keys, side) for side in ("left", "right"))
    tops = highest(np.where(jobs.is_merge[activated], NO_PRIORITY, priority[activated]), begins, ends)
    rising = np.flatnonzero((tops > NO_PRIORITY) & (tops < TOP_PRIORITY))             # few of many
    for place, begin, end, top in zip(*(column.tolist() for column in (
            rising, begins[rising], ends[rising], tops[rising])), strict=True):
        own, n_jobs = activated[begin:end], wanted[place].n_jobs
        chosen = own[(priority[own] > top - n_jobs / JOBS_PER_POINT) & (priority[own] <= top)]
        yield wanted[place], chosen[:n_jobs], TOP_PRIORITY - top


def highest(priority: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Highest priority in each of some parts of an array, (k,), NO_PRIORITY in empty ones."""
    borders = np.stack([begins, ends], axis=1).ravel()
    found = np.maximum.reduceat(np.append(priority, np.int32(NO_PRIORITY)), borders)[::2]
    return np.where(begins < ends, found, NO_PRIORITY)


C, T = ThrottledBy, TaskStatus

BEGIN, END = 0.95, 0.85
"""Fractions of a cap above which tasks are throttled, and up to which they are released."""
QUEUED_OVER_CAP = 2
"""Jobs or cores of an owner that may be queued, as a multiple of the cap of running ones."""
WAIT_S = 7200.0
"""Time after which a throttled task is looked at again whatever its owner has, s; source: lifecycle reference, 2.10."""
YOUNG_S = 14 * DAY
"""Age of the last change of a dispatch dataset from which its files do not count, s; source: the corrections there."""
MAKES_JOBS, IS_HELD = (T.READY, T.RUNNING), (T.PENDING, T.THROTTLED)
"""Statuses in which tasks are throttled for the work of their owner, and those that count as the status before; for its
input only running ones are."""
FOR_INPUT, FOR_WORK = (C.PRESTAGING, C.TRANSFER), (C.RUNNING_JOBS, C.QUEUED_JOBS, C.RUNNING_CORES, C.QUEUED_CORES)
"""Causes of the two looks, in the order of `Moving` and of `Work`."""


class Work(NamedTuple):
    """Jobs and cores of owners, (n,) each; queued: defined, assigned, activated, starting and throttled."""

    running_jobs: np.ndarray
    queued_jobs: np.ndarray
    running_cores: np.ndarray
    queued_cores: np.ndarray


class Moving(NamedTuple):
    """Input on its way to jobs of users, bytes, (n,) each: from tape, and from disk."""

    prestaging: np.ndarray
    transfer: np.ndarray


class Limit(NamedTuple):
    """A number of an owner with the value above which tasks are throttled and that up to which they are released."""

    cause: ThrottledBy
    throttles: np.ndarray
    releases: np.ndarray


def work_limits(is_group: np.ndarray, cfg: Gdpconfig) -> list[Limit]:
    """The limits of owners, users or groups, in the order of `Work`; infinite where a cap is unset.

    Running jobs of groups, and running cores of both, are compared with the cap itself, everything else with 95 % of
    it, as the production code does.
    """
    jobs, cores = (np.where(is_group, _cap(of_group, cfg), _cap(of_user, cfg)) for of_user, of_group in (
        (prio_mgr.CAP_RUNNING_USER_JOBS, prio_mgr.CAP_RUNNING_GROUP_JOBS),
        (prio_mgr.CAP_RUNNING_USER_CORES, prio_mgr.CAP_RUNNING_GROUP_CORES)))
    return [Limit(C.RUNNING_JOBS, np.where(is_group, jobs, BEGIN * jobs), END * jobs),
            Limit(C.QUEUED_JOBS, QUEUED_OVER_CAP * BEGIN * jobs, QUEUED_OVER_CAP * END * jobs),
            Limit(C.RUNNING_CORES, cores, END * cores),
            Limit(C.QUEUED_CORES, QUEUED_OVER_CAP * BEGIN * cores, QUEUED_OVER_CAP * END * cores)]


def limits_work(cfg: Gdpconfig) -> bool:
    """True if any cap is set, without which no owner exceeds a limit and all of them are far below."""
    return any((limit.throttles < np.inf).any() for limit in work_limits(np.array([False, True]), cfg))


def exceeded(work: Work, bounds: list[Limit]) -> np.ndarray:
    """Position of the first limit that each owner exceeds, (n,), -1 = none."""
    exceeds = np.array([number > limit.throttles for number, limit in zip(work, bounds, strict=True)])
    return np.where(exceeds.any(axis=0), exceeds.argmax(axis=0), -1)


def far_below(work: Work, bounds: list[Limit]) -> np.ndarray:
    """Which owners are far enough below all limits for their tasks to go on, (n,) bool."""
    return np.logical_and.reduce([number <= limit.releases for number, limit in zip(work, bounds, strict=True)])


def least_bytes(cfg: Gdpconfig) -> float:
    """Input on its way up to which no user has too much, in either edition."""
    return GB * min(cfg.value(anal_watchdog.USER_PRESTAGE_LIMIT), cfg.value(anal_watchdog.USER_TRANSFER_LIMIT))


def counts_after(now: float, edition: str) -> float:
    """Time after which a dispatch dataset must have been changed for its files to count, s; documented: any."""
    return now - YOUNG_S if TERMS[edition].moving_apart else -np.inf


def by_owner(owner: np.ndarray, size: np.ndarray, n_owners: int) -> Moving:
    """Input on its way to each owner; owner: of each part of it, (k,); size: its bytes from tape and disk, (k, 2)."""
    return Moving(*(np.bincount(owner, part, n_owners) for part in size.T))


def moves_too_much(moving: Moving, cfg: Gdpconfig, edition: str) -> Moving:
    """For which of the two owners have too much input on its way, (n,) bool each.

    The documentation compares tape and disk together with USER_PRESTAGE_LIMIT, and throttles for both; the deployed
    edition compares each with a limit of its own, in whole GiB. Source: JEDI TWiki, throttled jobs and tasks, whose
    PRESTAGE_LIMIT is the key's former name; lifecycle reference, section 2.10.
    """
    if not TERMS[edition].moving_apart:
        above = (moving.prestaging + moving.transfer) / GB > cfg.value(anal_watchdog.USER_PRESTAGE_LIMIT)
        return Moving(above, above)
    return Moving(moving.prestaging // GIB > cfg.value(anal_watchdog.USER_PRESTAGE_LIMIT),
                  moving.transfer // GIB > cfg.value(anal_watchdog.USER_TRANSFER_LIMIT))


class UserTasks(NamedTuple):
    """Tasks of users of which the watchdog of analysis judges, (n,) each.

    status, old_status: TaskStatus, the latter -1 = none; cause: why a throttled one is throttled, ThrottledBy, NONE =
    it was not noted; is_locked: another agent works on it.
    """

    status: np.ndarray
    old_status: np.ndarray
    cause: np.ndarray
    is_locked: np.ndarray

    def may_go_on(self, causes: tuple[ThrottledBy, ...]) -> np.ndarray:
        """Throttled tasks that can be released, if it is for one of these causes, (n,) bool."""
        return ((self.status == T.THROTTLED) & (self.old_status >= 0) & ~self.is_locked & mask_of(causes)[self.cause])


@cache
def mask_of(causes: tuple[ThrottledBy, ...]) -> np.ndarray:
    """Mask of some causes, (n_causes,) bool; not to be changed."""
    return np.isin(np.arange(len(ThrottledBy)), causes)


def throttled_for_input(tasks: UserTasks, waits: np.ndarray) -> np.ndarray:
    """Tasks that become throttled, (n,) bool; waits: whether jobs wait for input of an owner who moves too much."""
    return (tasks.status == T.RUNNING) & ~tasks.is_locked & waits


def released_for_input(tasks: UserTasks, too_much: Moving) -> np.ndarray:
    """Throttled tasks that go on, (n,) bool, by what their owner has too much of; without a cause it is prestaging."""
    still = np.where(tasks.cause == C.TRANSFER, too_much.transfer, too_much.prestaging)
    return tasks.may_go_on((*FOR_INPUT, C.NONE)) & ~still


def throttled_for_work(tasks: UserTasks, exceeds: np.ndarray, merges: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Tasks that become throttled, (n,) bool; those that are begin to wait again.

    exceeds: whether the owner exceeds a limit; merges: whether jobs are in merging; present: statuses that any task had
    when the cycle began: one that has just got another, when it was released, is left alone (deployed, an accident).
    Source: recorded decisions of PanDA, AtlasAnalWatchDog.doForPreStaging.
    """
    makes_jobs = np.isin(np.where(np.isin(tasks.status, IS_HELD), tasks.old_status, tasks.status), MAKES_JOBS)
    return exceeds & makes_jobs & ~tasks.is_locked & ~merges & np.isin(tasks.status, present)


def released_for_work(tasks: UserTasks, is_below: np.ndarray) -> np.ndarray:
    """Throttled tasks that go on, (n,) bool; is_below: whether the owner is far below all limits."""
    return tasks.may_go_on(FOR_WORK) & is_below


def _cap(key, cfg: Gdpconfig) -> float:
    """A cap under gdpconfig; infinite if it is unset."""
    return cfg.value(key) or np.inf
