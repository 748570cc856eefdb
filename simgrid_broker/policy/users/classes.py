"""Classes of queues by how long analysis jobs wait there, and of analysis tasks by the slots of their user and their
progress, with the use of the shares that they belong to.

Source: brokerage reference, sections 11.2 and 11.3 (D65 to D68); lifecycle reference, section 2.11.
"""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import anal_jobbroker, analy_eval
from simgrid_broker.names import SiteClass, TaskClass, TaskStatus
from simgrid_broker.policy.shares.dispatch import targets, usage
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.views import Gdpconfig, ShareTree

EXPRESS_WALLTIME_S = HOUR
"""Longest wall time of jobs of a task that moved, if it says neither nFilesPerJob nor nEventsPerJob, s."""
BUSY_FROM = 0.85
"""Use over target from which a share is busy whatever waits."""


class Slots(NamedTuple):
    """Running slots of users, (n_users,) each: in queues of class hi, in those of class hi or mid; NaN = unknown."""

    in_hi: np.ndarray
    in_hi_or_mid: np.ndarray


class Progress(NamedTuple):
    """Progress of tasks, (n_tasks,) each: input files finished and failed, all input files, and jobs made so far."""

    n_finished: np.ndarray
    n_failed: np.ndarray
    n_files: np.ndarray
    n_jobs: np.ndarray


class Terms(NamedTuple):
    """Terms in which the editions differ.

    below: comparison of a user's slots with a threshold; by_progress: a task is nearly done from PROGRESS_TO_BOOST_A
    on, whatever its class and however many jobs remain (D66); upper_alone: queues are ranked by the upper wait alone,
    and must be below the limits of a class, otherwise at them; of_analysis: a queue is alive by its analysis jobs;
    of_running: users are known by their running jobs, otherwise by those in the active table at queues with a class.
    """

    below: Callable
    by_progress: bool
    upper_alone: bool
    of_analysis: bool
    of_running: bool


TERMS = ByEdition(
    documented=Terms(np.less_equal, by_progress=True, upper_alone=True, of_analysis=True, of_running=True),
    deployed=Terms(np.less, by_progress=False, upper_alone=False, of_analysis=False, of_running=False))


EVALUATED = (TaskStatus.SCOUTING, TaskStatus.SCOUTED, TaskStatus.RUNNING, TaskStatus.PENDING, TaskStatus.THROTTLED)
"""Statuses of tasks that get a class in the production code."""
EVALUATED_S = 30 * DAY
"""Age of the last change of a task from which it gets no class, s."""


class Users(NamedTuple):
    """Jobs of users in the shares User Analysis and Express Analysis, without merge jobs and functional tests.

    user: of each row of jobs, (n,); cores: running cores, n_active: jobs in the active table, (n, n_queues) each.
    """

    user: np.ndarray
    cores: np.ndarray
    n_active: np.ndarray


class Queues(NamedTuple):
    """Queues as the jobs of users count there, (n_queues,) each.

    site_class: `SiteClass`; is_grid: bool; has_class: whether their waits are known, bool.
    """

    site_class: np.ndarray
    is_grid: np.ndarray
    has_class: np.ndarray


def slots_of_users(users: Users, queues: Queues, n_users: int, edition: str) -> Slots:
    """Running slots of each user at queues of the grid.

    `documented`: NaN for users without a running job. `deployed`: only queues with a class count, and NaN is for users
    without a job in the active table there.
    """
    counted, seen = (queues.is_grid, users.cores) if TERMS[edition].of_running else (
        queues.is_grid & queues.has_class, users.n_active)
    known = np.bincount(users.user, seen[:, counted].any(axis=1), n_users) > 0
    cores = (users.cores[:, counted & chosen].sum(axis=1)
             for chosen in (queues.site_class == SiteClass.HI, queues.site_class >= SiteClass.MID))
    return Slots(*(np.where(known, np.bincount(users.user, of_row, n_users), np.nan) for of_row in cores))


def is_evaluated(status: np.ndarray, of_user: np.ndarray, is_test: np.ndarray, age_s: np.ndarray,
                 edition: str) -> np.ndarray:
    """Analysis tasks that get a class, (n,) bool.

    `documented`: those of User Analysis and Express Analysis; `deployed`: those of any share that are at work and have
    changed lately, without functional tests. status: TaskStatus; of_user: whether the share is one of the two; is_test:
    whether the user is that of functional tests; age_s: time since the last change, s.
    """
    if TERMS[edition].of_running:
        return of_user
    return np.isin(status, EVALUATED) & ~is_test & (age_s <= EVALUATED_S)


def task_classes(slots: Slots, progress: Progress, is_express: np.ndarray, cfg: Gdpconfig, edition: str) -> np.ndarray:
    """Class of each task, `TaskClass`, (n_tasks,), NaN for tasks of users without known slots that are not express.

    slots: of the user of each task, (n_tasks,) each. In the documented edition a user with as many slots as a threshold
    is below it, and a task is of class S from PROGRESS_TO_BOOST_A on whatever its user has and however many jobs
    remain (D66).
    """
    most_a, most_b = cfg.value(analy_eval.USER_USAGE_THRESHOLD_A), cfg.value(analy_eval.USER_USAGE_THRESHOLD_B)
    below = TERMS[edition].below
    is_a, is_b = below(slots.in_hi, most_a), below(slots.in_hi_or_mid, most_b)
    found = np.where(is_a, TaskClass.A, np.where(is_b, TaskClass.B, TaskClass.C)).astype(np.float64)
    found[np.isnan(slots.in_hi)] = np.nan
    boosted = ~np.isnan(found) & _nearly_done(found, progress, cfg, edition)
    return np.where(is_express | boosted, TaskClass.S, found)


def _nearly_done(found: np.ndarray, progress: Progress, cfg: Gdpconfig, edition: str) -> np.ndarray:
    """Which tasks are nearly done, (n_tasks,) bool."""
    done_pct = 100 * progress.n_finished / np.maximum(progress.n_files, 1)
    if TERMS[edition].by_progress:
        return done_pct >= cfg.value(analy_eval.PROGRESS_TO_BOOST_A)
    to_do = progress.n_files - progress.n_finished - progress.n_failed
    left = progress.n_jobs * to_do // np.maximum(progress.n_files, 1)
    nearly = np.zeros(len(found), bool)
    for of_class, from_pct, most in ((TaskClass.A, analy_eval.PROGRESS_TO_BOOST_A, analy_eval.MAX_REM_JOBS_TO_BOOST_A),
                                     (TaskClass.B, analy_eval.PROGRESS_TO_BOOST_B, analy_eval.MAX_REM_JOBS_TO_BOOST_B)):
        nearly |= (found == of_class) & (done_pct >= cfg.value(from_pct)) & (left > 0) & (left <= cfg.value(most))
    return nearly


def equivalent_targets(tree: ShareTree, running: np.ndarray, queued: np.ndarray) -> np.ndarray:
    """Target of each node, HS06, (n_nodes,), where busy level-1 shares have got what idle ones leave.

    running, queued: HS06 by leaf, (n_leaves,) each. A level-1 share is idle if it uses less than 85 % of its target,
    and would use less than its target even if half of what is queued ran.
    """
    used, target = usage(tree, running), targets(tree, running)
    level = np.flatnonzero(tree.parent == 0)
    projected = np.minimum(target, np.maximum(used, usage(tree, queued) / 2))
    idle = level[(used[level] < BUSY_FROM * target[level]) & (projected[level] < target[level])]
    busy = np.setdiff1d(level, idle)
    left = (target[idle] - projected[idle]).sum()
    target[busy] += left * target[busy] / (target[busy].sum() + 1)
    return target


def window_of_ends_s(cfg: Gdpconfig) -> float:
    """Window in which ends of jobs count, s."""
    return cfg.value(anal_jobbroker.TW_DONE_JOB_STAT) * HOUR


def leaf_usage(tree: ShareTree, running: np.ndarray, leaf: int) -> float:
    """Use of a leaf share as a fraction of its target; NaN if nothing runs."""
    node = tree.leaves[leaf]
    return _fraction(usage(tree, running)[node], targets(tree, running)[node])


def equivalent_usage(tree: ShareTree, running: np.ndarray, queued: np.ndarray, leaf: int) -> float:
    """Use of the level-1 share of a leaf as a fraction of its `equivalent_targets`; NaN if nothing runs (D67)."""
    node = int(tree.leaves[leaf])
    while tree.parent[node] > 0:
        node = int(tree.parent[node])
    return _fraction(usage(tree, running)[node], equivalent_targets(tree, running, queued)[node])


def _fraction(used: float, target: float) -> float:
    """A use as a fraction of a target; infinite without a target, NaN if there is nothing of either."""
    return float(used / target) if target > 0 else np.inf if used > 0 else np.nan


WINDOW_S = 4 * DAY
"""Age of the oldest wait that counts, s."""
HALF_LIFE_S = ByEdition(6 * HOUR, 12 * HOUR)
"""Age at which a wait counts half, s, by edition (D65)."""
CONFIDENCE = 0.95
"""Probability of the upper limit of the wait."""
LONGEST_S = 999_999.0
"""Highest value of that limit, s."""
HI_S, LO_S = 3600.0, 10_800.0
"""Rank up to which a queue can always be hi, and up to which it is never lo, s."""
HI_QUANTILE, LO_QUANTILE = 0.333, 0.667
"""Quantiles of the ranks of all queues that divide the classes."""
FEW_LONG = 3
"""Number of jobs that may wait longer than the mean at a queue of class hi."""
ALIVE_S = DAY
"""Time within which a job must have started at a queue of class hi, s."""


class Waits(NamedTuple):
    """Waits of analysis jobs at the queues, from activated to running.

    mean_s, upper_s: weighted mean and upper limit, s, (n_queues,) each, NaN = no job started within the window;
    n_long, long_s: jobs that now wait longer than the mean, and their mean age, s, (n_queues,) each.
    """

    mean_s: np.ndarray
    upper_s: np.ndarray
    n_long: np.ndarray
    long_s: np.ndarray


def weights_of(age_s: np.ndarray, edition: str) -> np.ndarray:
    """Weight of each wait by the time since the job began to run, s, (n,); 0 outside the window."""
    return np.where(age_s <= WINDOW_S, 2.0 ** (-age_s / HALF_LIFE_S[edition]), 0.0)


def upper_limits(queue: np.ndarray, wait_s: np.ndarray, weight: np.ndarray,
                 n_queues: int) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and upper 95 % limit of the waits at each queue, s, (n_queues,) each, NaN without a wait.

    queue, wait_s, weight: of jobs that have started, (n,) each. The limit is that of Student's t distribution with as
    many degrees of freedom as the sum of the weights, with the mean as location and the standard deviation as scale.
    """
    degrees, first, second = (np.bincount(queue, weight * power, n_queues) for power in (1.0, wait_s, wait_s ** 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = first / degrees
        deviation = np.sqrt(np.maximum(second / degrees - mean ** 2, 0.0))
    upper, spread = mean.copy(), deviation > 0
    if spread.any():
        upper[spread] += deviation[spread] * _student()(degrees[spread], CONFIDENCE)
    return mean, np.where(degrees > 0, np.minimum(upper, LONGEST_S), np.nan)


def _student() -> Callable:
    """Quantiles of Student's t distribution, from SciPy, which takes longer to load than a small run to begin."""
    return import_module("scipy.special").stdtrit


def waits(started: tuple[np.ndarray, np.ndarray, np.ndarray], waiting: tuple[np.ndarray, np.ndarray],
          n_queues: int, edition: str) -> Waits:
    """Waits at each queue.

    started: queue, wait and time since the start, s, of jobs that have started, (n,) each; waiting: queue and age, s,
    of activated jobs, of sent ones, and of starting ones at push queues, (m,) each.
    """
    queue, wait_s, age_s = started
    mean, upper = upper_limits(queue, wait_s, weights_of(age_s, edition), n_queues)
    where, age_s = waiting
    long = age_s > mean[where]                                          # False where no mean is known
    n_long = np.bincount(where[long], minlength=n_queues)
    total_s = np.bincount(where[long], age_s[long], n_queues)
    return Waits(mean, upper, n_long, np.where(n_long > 0, total_s / np.maximum(n_long, 1), mean))


def with_recent_starts(queue: np.ndarray, age_s: np.ndarray, n_queues: int) -> np.ndarray:
    """Queues where an analysis job started within a day, (n_queues,) bool; arguments as of `waits`."""
    return np.bincount(queue[age_s <= ALIVE_S], minlength=n_queues) > 0


def has_class(found: Waits) -> np.ndarray:
    """Queues whose waits are known, (n_queues,) bool: the others are not classified, and brokers take them for mid."""
    return ~np.isnan(np.maximum(found.upper_s, found.long_s))


def site_classes(found: Waits, is_grid: np.ndarray, is_alive: np.ndarray, edition: str) -> np.ndarray:
    """Class of each queue, `SiteClass`, (n_queues,); mid where nothing is known.

    Without a queue of the grid that has a rank, the production code compares with what is no number: all are mid.

    is_grid: queues of the grid, whose ranks make the quantiles, (n_queues,) bool; is_alive: queues where a job started
    within 24 h (documented: an analysis job), (n_queues,) bool.
    """
    rank = np.maximum(found.upper_s, found.long_s)
    ranked = found.upper_s if TERMS[edition].upper_alone else rank
    among = ranked[is_grid & ~np.isnan(ranked)]
    if not len(among) and not TERMS[edition].upper_alone:
        return np.full(len(rank), SiteClass.MID)
    low, high = np.quantile(among, (HI_QUANTILE, LO_QUANTILE)) if len(among) else (0.0, 0.0)
    low, high = max(low, HI_S), max(high, LO_S)
    if TERMS[edition].upper_alone:
        hi = (rank < low) & (found.n_long < FEW_LONG)
    else:
        hi = (rank <= low) | ((found.upper_s <= low) & (found.n_long <= FEW_LONG))
    hi &= is_alive
    return np.where(hi, SiteClass.HI, np.where(rank > high, SiteClass.LO, SiteClass.MID))
