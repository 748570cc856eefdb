"""Jumbo jobs: when they are made and closed, and JumboWatchDog, which enables and disables those of tasks, and gives
priority to tasks that are nearly done.

Source: JEDI TWiki, jumbo jobs and co-jumbo jobs, jumbo job switcher (edition documented); lifecycle reference, 6.3, 6.4
and 6.6 (edition deployed).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.names import TASK_ENDS, VERY_HIGH_PRIORITY, JobStatus, TaskStatus
from simgrid_broker.units import HOUR, MINUTE

T, J = TaskStatus, JobStatus
WAITING, RUNNING, PENDING, LACK, DISABLED = "W", "R", "P", "L", "D"
"""Values of useJumbo."""
WATCHED = (T.RUNNING, T.PENDING, T.SCOUTING, T.READY, T.SCOUTED)
ACTIVE = (J.DEFINED, J.ASSIGNED, J.ACTIVATED, J.SENT, J.STARTING, J.RUNNING, J.TRANSFERRING, J.HOLDING)
"""Statuses of jumbo jobs that count as active."""
NOT_MISSED = (J.TRANSFERRING, J.HOLDING)
"""Of these, the statuses in which the JobGenerator makes another one in their place."""
MOST_RUNNING = 50
"""Tasks of a work queue with flag R."""


class Terms(NamedTuple):
    """An edition: tasks of event service are enabled; statuses of co-jumbo jobs that are ended when their events are
    processed, after which time each is looked at again, s, how many of a table in one pass, and whether fake ones are;
    flags W, P and L alone make jumbo jobs; the watchdog also gives priority and notes that there are none."""

    enables: bool
    finished: tuple[JobStatus, ...]
    look_again_s: float
    most_in_pass: float
    finishes_fakes: bool
    by_flag: bool
    boosts: bool


TERMS = ByEdition(
    documented=Terms(True, (J.WAITING, J.ASSIGNED, J.ACTIVATED), HOUR, np.inf, True, False, False),
    deployed=Terms(False, (J.ASSIGNED, J.ACTIVATED), 30 * MINUTE, 1000, False, True, True))
"""QUIRKs of the code: a fake co-jumbo job in waiting cannot be archived, which leaves its input to a co-jumbo job; the
kill (51) of fake ones that have waited for 6 h or whose task is disabled fails itself, so that they wait on."""


class Limits(NamedTuple):
    """Keys of gdpconfig: JUMBO_MIN_EVENTS_DISABLE, ..._PROG_TO_BOOST in %, ..._MAX_FILES_TO_BOOST, ..._PRIO_DISABLED,
    and for the step that enables ..._MAX_TASKS, ..._MIN_EVENTS_ENABLE, ..._MAX_EVENTS, ..._MAX_CURR_PRIO, ..._PER_TASK
    and ..._PER_SITE."""

    least: float = 100000
    progress: float = 95
    files: float = 500
    disabled_priority: float = 500
    most_tasks: float = 1
    enabling: float = 1000000
    most_events: float = 500000
    most_priority: float = 500
    per_task: int = 1
    per_site: int = 1


class JumboTask(NamedTuple):
    """A task as the watchdog reads it.

    n_done: events of files that were used, and ranges finished, done or merged of those that are not finished (ranges,
    not events). n_active: jumbo jobs in one of the statuses ACTIVE.
    """

    status: TaskStatus
    use_jumbo: str
    priority: float
    is_preassigned: bool
    n_events: float
    n_done: float
    n_files: float
    n_files_done: float
    n_active: int

    @property
    def n_remaining(self) -> float:
        """Events that are left."""
        return self.n_events - self.n_done


class Actions(NamedTuple):
    """Actions on a task, in PanDA's order: disable its jumbo jobs, give it priorities, note that there are none (flag
    L), and give its input to co-jumbo jobs again."""

    disables: bool = False
    priorities: tuple[float, ...] = ()
    kicks: bool = False
    resets: bool = False


def watch(task: JumboTask, limits: Limits) -> Actions:
    """Actions on a task with jumbo jobs, all from what it was at the start of the pass.

    A task is boosted when less than JUMBO_PROG_TO_BOOST of its events *remain*, although the key is said to be about
    those processed (L72).
    """
    if not task.use_jumbo or task.status not in WATCHED:
        return Actions()
    is_disabled, priorities = task.use_jumbo == DISABLED, []
    if is_disabled and task.priority < limits.disabled_priority:
        priorities.append(limits.disabled_priority)
    if (task.n_events > 0 and task.n_remaining * 100 // task.n_events < limits.progress
            and task.priority < VERY_HIGH_PRIORITY and task.n_files - task.n_files_done < limits.files):
        priorities.append(VERY_HIGH_PRIORITY)
    return Actions(
        not is_disabled and not task.is_preassigned and task.n_remaining < limits.least, tuple(priorities),
        task.status in (T.PENDING, T.RUNNING) and task.use_jumbo in (PENDING, RUNNING) and not task.n_active,
        task.priority >= VERY_HIGH_PRIORITY)


def flag_after_kick(use_jumbo: str, is_locked: bool) -> str:
    """Flag of a task without active jumbo jobs: that of a locked task, or of one disabled meanwhile, stays."""
    return LACK if use_jumbo in (PENDING, RUNNING) and not is_locked else use_jumbo


def files_to_reset(jobs_of: Mapping[int, Iterable[int]], running: Iterable[int], living: Iterable[int]) -> list[int]:
    """Input files for which co-jumbo jobs are made again: those without a living job, with all running files of their
    oldest job.

    jobs_of: PandaIDs by file; running: files in status running; living: PandaIDs of jobs that are not archived.
    """
    alive, left = set(living), [*running]
    oldest = {min(jobs_of[file]) for file in left if jobs_of[file] and alive.isdisjoint(jobs_of[file])}
    return [file for file in left if not oldest.isdisjoint(jobs_of[file])]


def tasks_to_enable(with_jumbo: Iterable[JumboTask], others: Mapping[int, JumboTask], limits: Limits) -> list[int]:
    """Tasks whose jumbo jobs are enabled, the largest first; edition documented.

    with_jumbo: tasks with jumbo jobs; others: tasks of event service by identifier that could have them: in-file event
    numbers are known, and a queue with jumbo jobs has their release.
    """
    active = [task.n_remaining for task in with_jumbo if task.use_jumbo != DISABLED]
    eligible = {number: task.n_remaining for number, task in others.items()
                if task.n_remaining > limits.enabling and task.priority < limits.most_priority}
    chosen: list[int] = []
    for number in sorted(eligible, key=lambda number: -eligible[number]):
        if len(active) >= limits.most_tasks or sum(active) >= limits.most_events:
            break
        active.append(eligible[number])
        chosen.append(number)
    return chosen


def in_edition(actions: Actions, edition: str) -> Actions:
    """The actions of the watchdog that an edition has: as documented it only disables jumbo jobs."""
    return actions if TERMS[edition].boosts else Actions(disables=actions.disables)


def jobs_wanted(use_jumbo: str, n_jobs: int, statuses: Iterable[JobStatus], n_ready: int, edition: str) -> int:
    """Jumbo jobs that the JobGenerator makes of a task: nJumboJobs less the active ones, by the statuses of these.

    n_ready: ready ranges of the task with attempts left; without any no job is made.
    """
    may_make = use_jumbo in (WAITING, PENDING, LACK) or (use_jumbo == RUNNING and not TERMS[edition].by_flag)
    active = sum(status in ACTIVE and status not in NOT_MISSED for status in statuses)
    return max(n_jobs - active, 0) if may_make and n_ready > 0 else 0


def are_due(looked_s: np.ndarray, now: float, edition: str) -> np.ndarray:
    """Mask of the co-jumbo jobs at which add_sub looks again: at each every 30 min, or hourly (documented).

    looked_s: when it looked last, -inf = never.
    """
    return now - looked_s >= TERMS[edition].look_again_s


def in_pass(in_defined_table: np.ndarray, edition: str) -> np.ndarray:
    """Mask of the co-jumbo jobs that add_sub looks at in one pass: of those in order at most 1000 of each table."""
    number = np.where(in_defined_table, np.cumsum(in_defined_table), np.cumsum(~in_defined_table))
    return number <= TERMS[edition].most_in_pass


def next_flag(use_jumbo: str, is_all_used: bool, has_made: bool, n_running: int) -> str:
    """Flag of a task after a cycle of the JobGenerator.

    is_all_used: all of its input has jobs; has_made: jumbo jobs were made; n_running: tasks with flag R.
    """
    if use_jumbo == DISABLED or (use_jumbo in (WAITING, LACK) and not has_made):
        return use_jumbo
    if is_all_used:
        return RUNNING if use_jumbo == RUNNING or n_running < MOST_RUNNING else use_jumbo
    return LACK if use_jumbo == LACK else PENDING


def needs_no_more(status: TaskStatus, use_jumbo: str, n_files: int, n_over: int) -> bool:
    """True if jumbo jobs that do not run yet are closed: all input is over, or the task is, or is disabled (row 28)."""
    return status in TASK_ENDS or use_jumbo == DISABLED or n_over >= n_files
