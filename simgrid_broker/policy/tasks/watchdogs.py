"""Watchdogs of production tasks: boost, automatic pause, throttling, waits, and the task withholder, which
keeps tasks with heavy input waiting if all of it lies where they could not run now.

Withholder: lifecycle reference, 7.1; brokerage reference, 11.4; panda-server, AtlasTaskWithholderWatchDog.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import PAUSING, GdpconfigKey, jobbroker, task_withholder, watchdog
from simgrid_broker.names import JobStatus, TaskStatus
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.views import Gdpconfig

BOOST_PRIORITY = 900
"""Priority of a task that is nearly done; JEDI TWiki, automatic priority boosting; lifecycle reference, 2.11."""
BOOST_FROM, BOOST_JOBS = 0.95, 100
"""Fraction of the input that must be done, and jobs that may remain."""
PARENT_ENDS = (TaskStatus.DONE, TaskStatus.FINISHED)
"""Statuses of a parent that is complete; source: recorded decisions of do_task_progress_based_actions."""
EXPRESS = "Express"
"""Share that tasks which are nearly done move to."""
LOOK_AGAIN_S = 1200.0
"""Least time between two looks at a task for boost and pause, s; source: lifecycle reference, 2.12."""

ATTEMPTS_A_STEP = 5
"""Number of attempts between two throttling steps."""
WAIT_FOR_THROTTLED_S = 7200.0
"""First throttling, s; later ones grow with the square; JEDI TWiki, task status; lifecycle reference, 2.10."""

EXHAUSTED_S = ByEdition(documented=10 * DAY, deployed=48 * HOUR)
"""Time after which an exhausted task is finished (L16); source: JEDI TWiki, task status; lifecycle reference, 2.8."""
ACHIEVED_S = ByEdition(documented=np.inf, deployed=HOUR)
"""Time between two looks for tasks that have reached their goal, s, inf = none; source: lifecycle reference, 2.8."""
HURRY_S: ByEdition[tuple[tuple[int, float], ...]] = ByEdition(documented=(), deployed=((950, 600.0), (900, 1800.0)))
"""Longest time in pending of managed tasks from a priority on, (priority, s), by edition (D61).

Source: lifecycle reference, 2.9.
"""
NO_FAULT = ByEdition[frozenset[str]](frozenset(), frozenset(), {"1.0.4": frozenset(
    ("-cap_jobs", "-cap_queued_jobs", "-cap_cores", "-cap_queued_cores", "-share_throttle"))})
"""Tags of what stops a task by no fault of its own, so that it waits without a pending time: from release 1.0.4 on caps
of users and the throttle of classes (SC_WAITING)."""


class Terms(NamedTuple):
    """Terms in which the editions differ.

    few: most jobs that remain of a task which is boosted; rate_of_hours: key of the failed fraction of HEP-score hours
    that pauses a task, two names of one limit (L18); by_attempts: throttling counts the most attempts of a file, in
    steps of 5, otherwise the mean failures of the remaining files, one step at a time (L17); withholds: the withholder
    runs; pauses_with: only tasks with noAutoPause are paused, otherwise only those without.
    """

    few: int
    rate_of_hours: GdpconfigKey
    by_attempts: bool
    withholds: bool
    pauses_with: bool


TERMS = ByEdition(documented=Terms(BOOST_JOBS - 1, watchdog.MAX_FAILED_HEP_SCORE_RATE_TO_PAUSE, by_attempts=True,
                                   withholds=False, pauses_with=False),
                  deployed=Terms(BOOST_JOBS, watchdog.MAX_HEP_SCORE_FAILURE_RATE_TO_PAUSE, by_attempts=False,
                                 withholds=True, pauses_with=True))


def all_jobs(n_files, n_made, n_read, is_cut) -> np.ndarray:
    """Jobs of all files of tasks, (n,): one of each, or an estimate by the first jobs where jobs are cut from files.

    n_made: jobs made so far; n_read: files that they are made of.
    """
    return np.where(is_cut, n_files * n_made // np.maximum(n_read, 1), n_files)


def remaining_jobs(n_files, n_over, n_jobs) -> np.ndarray:
    """Remaining jobs of tasks, (n,): all jobs times the fraction of files that are not done."""
    return ((n_files - n_over) * n_jobs / np.maximum(n_files, 1)).astype(np.int64)


def nearly_done(n_files, n_over, n_jobs, edition: str) -> np.ndarray:
    """Which tasks are boosted, (n,) bool: 95 % done, and below 100 jobs left (documented) or at most 100 (deployed).

    n_files: input files; n_over: finished or given up; n_jobs: jobs of all files.
    """
    few = remaining_jobs(n_files, n_over, n_jobs) <= TERMS[edition].few
    return (n_over / np.maximum(n_files, 1) >= BOOST_FROM) & few


class Watched(NamedTuple):
    """A running production task of which the watchdog judges; queue: name of its share or special work queue.

    goes_to_express: whether its work queue is a share of its label; n_files, n_over, n_jobs: as for `nearly_done`;
    rates: failed fraction of the jobs that finished or failed, and of their HEP-score hours, NaN if there are none.
    """

    label: str
    queue: str
    priority: int
    goes_to_express: bool
    n_files: int
    n_over: int
    n_jobs: int
    no_auto_pause: bool
    requesttype: str
    rates: tuple[float, float]


def queue_places(special, share, resource_type, n_types: int) -> np.ndarray:
    """Place of the queue and resource type of tasks in JEDI's loop, (n,): queues that are no share come first.

    special: place of such a work queue, -1 = the task has none, and its share and resource type count.
    """
    first = -1 - np.max(special, initial=0)
    return np.where(special >= 0, special + first, share * n_types + resource_type)


def in_turn(queue: np.ndarray, jeditaskid: np.ndarray) -> np.ndarray:
    """Positions of tasks in the order in which they are looked at, (n,): queue by queue, older ones first."""
    return np.lexsort((jeditaskid, queue))


def is_watched(status: int, has_parent: bool, parent: int, edition: str) -> bool:
    """True if the watchdog looks at a task: it is running, and a parent that it has is complete.

    parent: TaskStatus, -1 = the parent is not known. In `documented` nothing is said of parents.
    """
    return status == TaskStatus.RUNNING and (
        not (has_parent and TERMS[edition].pauses_with) or parent in PARENT_ENDS)


class Actions(NamedTuple):
    """Deeds of the watchdog about a task; stops: the production code then stops with an error, and does no more."""

    boosts: bool = False
    moves: bool = False
    pauses: bool = False
    stops: bool = False


def actions(task: Watched, cfg: Gdpconfig, edition: str) -> Actions:
    """Deeds of the watchdog about a running task whose parent is complete.

    `documented`: noAutoPause spares a task. `deployed`: only tasks with it are paused, and a requestType then ends the
    cycle with an error, since the code reads the number of another task as its split rules.
    """
    if task.n_files <= 0:
        return Actions()
    numbers = np.array([task.n_files]), np.array([task.n_over]), np.array([task.n_jobs])
    nearly = bool(nearly_done(*numbers, edition)[0])
    jobs = task.n_jobs, int(remaining_jobs(*numbers)[0])
    paused = task.no_auto_pause is TERMS[edition].pauses_with and pauses(task.label, task.queue, jobs, task.rates, cfg,
                                                                        edition)
    return Actions(nearly and task.priority < BOOST_PRIORITY, nearly and task.goes_to_express, paused,
                   paused and TERMS[edition].pauses_with and bool(task.requesttype))


def pauses(label: str, queue: str, jobs: tuple[int, int], rates: tuple[float, float], cfg, edition: str) -> bool:
    """True if a task fails too often to go on.

    jobs: all and remaining; rates: as of `Watched`. Limits that are not set are off; in `deployed` those of 0 too, and
    one of 0 for the queue hides that of all; in `documented` one of 0 is that of any failure. Source: lifecycle
    reference, 2.11.
    """
    n_jobs, left = jobs
    if (n_jobs < cfg.value(watchdog.MIN_JOBS_TO_PAUSE, label=label)
            or left < cfg.value(watchdog.MIN_REMAINING_JOBS_TO_PAUSE, label=label)):
        return False
    limits = [cfg.value(key, label=label, queue=queue)
              for key in (watchdog.MAX_JOB_FAILURE_RATE_TO_PAUSE, TERMS[edition].rate_of_hours)]
    return any(limit is not None and 0 < rate >= limit and (limit > 0 or not TERMS[edition].pauses_with)
               for rate, limit in zip(rates, limits, strict=True))


def may_pause(cfg) -> bool:
    """True if any limit of the automatic pause is set."""
    return any(cfg.members(key) for key in PAUSING)


def may_be_throttled(max_attempt, n_made, n_read, is_cut) -> np.ndarray:
    """Which tasks had attempts enough for `throttle_step`, (n,) bool: a quick check; arguments as for `all_jobs`."""
    again = n_made - np.where(is_cut, 0, n_read)                                # a job cut from files has several
    return (max_attempt > ATTEMPTS_A_STEP) & (again >= ATTEMPTS_A_STEP - 1)


def failures_of_files(attempt: np.ndarray, failures: np.ndarray, n_new: int) -> tuple[int, float]:
    """Most finished attempts at a remaining file, and mean failures; attempt: current, (n,); n_new: other files."""
    return int(attempt.max(initial=1)) - 1, int(failures.sum()) / max(len(attempt) + n_new, 1)


def throttle_step(largest_attempt: int, mean_failures: float, n_throttled: int, edition: str) -> int:
    """Number of throttlings of a task including this one, 0 if it is not throttled now (L17).

    The documented edition counts the most attempts of a file, in steps of 5. The deployed edition counts the mean
    failures of the remaining files and always advances by one.
    """
    if TERMS[edition].by_attempts:
        step = largest_attempt // ATTEMPTS_A_STEP
        return step if step > n_throttled else 0
    return n_throttled + 1 if int(mean_failures / ATTEMPTS_A_STEP) > n_throttled else 0


def goes_on(late_s: float, inputs: Iterable[tuple[int, int, int]], edition: str) -> bool:
    """True if a task that was throttled for its attempts is released.

    late_s: time since the end of its throttling, s; inputs: of each master input the files, those to be used, and those
    that are over. In `deployed` a task is released early if those to be used of an input are over.
    """
    if TERMS[edition].by_attempts:
        return late_s >= 0
    used_up = [n_files > 0 and to_be_used == over for n_files, to_be_used, over in inputs]
    return bool(used_up) and (late_s > 0 or any(used_up))


def throttled_for_s(step: int) -> float:
    """Length of the `step`-th throttling of a task, s."""
    return WAIT_FOR_THROTTLED_S * step ** 2


def counts_as_pending(tag: str, edition: str) -> bool:
    """True if a task that a rule stopped has failed to find a queue, and PENDING_TIMEOUT runs."""
    return tag not in NO_FAULT[edition]


def pending_for_s(label: str, priority, usual_s: float, edition: str) -> np.ndarray:
    """Time in pending by priority, s, (n,); deployed: managed tasks of high priority return earlier (D61).

    Source: PanDA brokerage documentation, production job brokerage, last step, which names no exception.
    """
    hurry_s = HURRY_S[edition] if label == "managed" else ()
    waits_s = np.full(np.shape(priority), usual_s)
    for at_least, short_s in reversed(hurry_s):
        waits_s = np.where(priority >= at_least, min(short_s, usual_s), waits_s)
    return waits_s


def gives_up_pending(label: str, waited_s, cfg) -> np.ndarray:
    """True if tasks of a label are exhausted because brokers found no candidate for PENDING_TIMEOUT, (n,) bool.

    waited_s: since the first look without a candidate, NaN = there was none; source: lifecycle reference, 2.9.
    """
    return waited_s >= cfg.value(watchdog.PENDING_TIMEOUT, label=label) * HOUR


S, T = JobStatus, TaskStatus
QUEUED = (S.DEFINED, S.ASSIGNED, S.ACTIVATED, S.STARTING)
"""Statuses of the jobs that make a queue busy."""
WITHHELD = (T.READY, T.RUNNING, T.SCOUTING)
"""Statuses of the tasks that are looked at."""
LABELS = ("managed",)
"""prodSourceLabels of the tasks that are looked at."""
RUNNING_FACTOR = 2
"""Queued jobs for each running one above which a queue is busy."""


class Limits(NamedTuple):
    """ioIntensity from which, kB/s, and priority below which tasks may be withheld."""

    iointensity: float
    priority: int


def withheld_from(label: str, cfg: Gdpconfig) -> Limits:
    """Limits of the tasks of a label; without keys none is withheld."""
    return Limits(cfg.value(task_withholder.LIMIT_IOINTENSITY, label=label),
                  cfg.value(task_withholder.LIMIT_PRIORITY, label=label))


def concerned(iointensity: np.ndarray, priority: np.ndarray, bound: Limits) -> np.ndarray:
    """Tasks that may be withheld, (n,) bool: of at least the ioIntensity, kB/s, 0 = unknown, and below the priority."""
    return (iointensity >= bound.iointensity) & (priority < bound.priority)


def busy(queued: np.ndarray, running: np.ndarray, gshare: str, cfg: Gdpconfig) -> np.ndarray:
    """Queues with too many queued jobs of a share, (n_queues,) bool: above NQUEUELIMITSITE and twice the running ones.
    """
    return queued > np.maximum(cfg.value(jobbroker.NQUEUELIMITSITE, gshare=gshare), RUNNING_FACTOR * running)


def is_withheld(locations: set[int], closed: set[int]) -> bool:
    """True if a task waits: some endpoints are busy or closed, and all that have its input are among them."""
    return bool(closed) and locations <= closed
