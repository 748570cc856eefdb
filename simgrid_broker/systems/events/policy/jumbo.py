"""JumboWatchDog: jumbo jobs of tasks are enabled and disabled, and tasks that are nearly done are given priority.

Source: JEDI TWiki, jumbo job switcher (edition documented); lifecycle reference, 6.4 and 6.6 (edition deployed).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from simgrid_broker.names import VERY_HIGH_PRIORITY, JobStatus, TaskStatus

T, J = TaskStatus, JobStatus
WAITING, RUNNING, PENDING, LACK, DISABLED = "W", "R", "P", "L", "D"
"""Values of useJumbo."""
WATCHED = (T.RUNNING, T.PENDING, T.SCOUTING, T.READY, T.SCOUTED)
ACTIVE = (J.DEFINED, J.ASSIGNED, J.ACTIVATED, J.SENT, J.STARTING, J.RUNNING, J.TRANSFERRING, J.HOLDING)
"""Statuses of jumbo jobs that count as active."""


class Limits(NamedTuple):
    """Keys of gdpconfig: JUMBO_MIN_EVENTS_DISABLE, ..._PROG_TO_BOOST in %, ..._MAX_FILES_TO_BOOST, ..._PRIO_DISABLED,
    and for the step that enables ..._MAX_TASKS, ..._MIN_EVENTS_ENABLE, ..._MAX_EVENTS and ..._MAX_CURR_PRIO."""

    least: float = 100000
    progress: float = 95
    files: float = 500
    disabled_priority: float = 500
    most_tasks: float = 1
    enabling: float = 1000000
    most_events: float = 500000
    most_priority: float = 500


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
