"""JEDI's watchdog of analysis: throttles tasks of users with too much work or input under way, moves nearly done tasks.

Source: brokerage reference, sections 11.3 and 11.4; lifecycle reference, 2.10 and 2.11; JEDI TWiki, throttled jobs and
tasks. In the documentation too much work of a user or group concerns job brokerage alone.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.fabric.jobs.effects import jobs_of
from simgrid_broker.names import (
    ANALYSIS_LABELS,
    EXPRESS_ANALYSIS,
    USER_ANALYSIS,
    JobStatus,
    TaskClass,
    TaskStatus,
    ThrottledBy,
)
from simgrid_broker.policy.users import classes as task_classes
from simgrid_broker.policy.users import limits as user_limits
from simgrid_broker.policy.users.limits import FOR_INPUT, FOR_WORK, Moving, UserTasks
from simgrid_broker.world.columns import limit_walltime
from simgrid_broker.world.data.locality import input_under_way
from simgrid_broker.world.tasks.transitions import set_status, throttle

T = TaskStatus
NO_ROWS = np.zeros(0, np.int64)
SERVED = (*user_limits.MAKES_JOBS, *user_limits.IS_HELD)
BOOST_S = 300.0
"""Least time between two looks for tasks that are nearly done, s; source: lifecycle reference, 2.12."""


def analysis_watch_dog(control: Control) -> Process:
    """Check analysis tasks, if there can be any."""
    if any(label in ANALYSIS_LABELS for label in control.world.vocabularies["labels"]):
        dog = AnalysisWatchDog(control)
        if control.world.user_output.accounts:
            control.fabric.watchers.append(dog.note_output)
        yield from control.every(control.periods.analysis_watch_dog, dog.cycle, "analysiswatchdog")


class AnalysisWatchDog:
    """Remembers when it last looked for tasks to boost, and which tasks it has throttled since when."""

    def __init__(self, control: Control):
        self.control = control
        words = control.world.vocabularies
        self.boosted_s = -np.inf
        self.bounds: tuple[object, object, list[user_limits.Limit]] = None, None, []    # gdpconfig, accounts, limits
        self.since_s: dict[int, float] = {}
        self.slow, self.express = (words["shares"].index(name) if name in words["shares"] else -1
                                   for name in (USER_ANALYSIS, EXPRESS_ANALYSIS))

    def note_output(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Count the output of jobs that have ended for the quotas of their owners."""
        self.control.world.user_output.add(self.control.arrays, rows, times)

    def cycle(self) -> None:
        """Release and throttle tasks by the work of their owners; move tasks of class S to Express Analysis."""
        control, by_work = self.control, user_limits.TERMS[self.control.edition].by_work
        control.world.user_output.refresh(control.now)
        present = control.world.statuses[control.books.live_tasks.rows] if by_work else NO_ROWS
        self._look_at_input()
        if by_work and (control.cfg.once(user_limits.limits_work) or self._holds_for(FOR_WORK)):
            self._look_at_work(present)
        if control.now - self.boosted_s >= BOOST_S and min(self.slow, self.express) >= 0:
            self.boosted_s = control.now
            self._boost()
        control.books.scouts.judge_running(ANALYSIS_LABELS, control.now)

    def _seen(self, rows: np.ndarray) -> UserTasks:
        """Tasks as their rules see them; agents of a run do not lock tasks."""
        tasks = self.control.arrays.tasks
        return UserTasks(tasks["status"][rows], tasks["old_status"][rows], tasks["throttled_by"][rows],
                         np.zeros(len(rows), bool))

    def _held(self) -> np.ndarray:
        """Rows of the tasks that this watchdog has throttled; those whose status has changed are forgotten."""
        if not self.since_s:
            return NO_ROWS
        rows = np.fromiter(self.since_s, np.int64, len(self.since_s))
        is_held = self.control.world.statuses[rows] == T.THROTTLED
        for row in rows[~is_held].tolist():
            del self.since_s[row]
        return rows[is_held]

    def _holds_for(self, causes: tuple[ThrottledBy, ...]) -> bool:
        """True if this watchdog has throttled a task for one of the causes."""
        throttled_by = self.control.arrays.tasks["throttled_by"][self._held()]
        return bool(user_limits.mask_of(causes)[throttled_by].any())

    def _release(self, rows: np.ndarray, goes_on: np.ndarray, causes: tuple[ThrottledBy, ...]) -> None:
        """Release tasks that may go on, and those that wait for one of the causes for two hours."""
        tasks, now = self.control.arrays.tasks, self.control.now
        since_s = np.array([self.since_s[row] for row in rows.tolist()])
        waited = user_limits.mask_of(causes)[tasks["throttled_by"][rows]] & (now - since_s >= user_limits.WAIT_S)
        for row in rows[goes_on | waited].tolist():
            del self.since_s[row]
            set_status(self.control.world, row, T(tasks["old_status"][row]), now)

    def _throttle(self, rows: np.ndarray, causes: np.ndarray) -> None:
        """Throttle tasks, which begin to wait, each for its cause."""
        for row, cause in zip(rows.tolist(), causes.tolist(), strict=True):
            self.since_s[row] = self.control.now
            throttle(self.control.world, row, ThrottledBy(cause), self.control.now)

    def _look_at_input(self) -> None:
        """Throttle running tasks with input under way of owners who have too much of it, until they have less."""
        control, tasks, held = self.control, self.control.arrays.tasks, self._held()
        rows, size = input_under_way(control.world, user_limits.counts_after(control.now, control.edition),
                                     user_limits.least_bytes(control.cfg))
        if not len(rows) and not len(held):
            return
        owners, n_owners = self._owners(rows), len(control.world.user_rows.is_group) + 1
        above = user_limits.moves_too_much(user_limits.by_owner(owners, size, n_owners), control.cfg, control.edition)
        if len(held):
            of_held = self._owners(held)
            self._release(held, user_limits.released_for_input(
                self._seen(held), Moving(*(over[of_held] for over in above))), FOR_INPUT)
        if not any(over.any() for over in above):
            return
        causes = np.full(len(tasks), ThrottledBy.NONE, np.int64)
        for cause, over, moved in reversed([*zip(FOR_INPUT, above, size.T, strict=True)]):
            causes[rows[over[owners] & (moved > 0)]] = cause                   # of two causes the first one counts
        running = control.books.live_tasks.in_status(T.RUNNING)
        concerned = running[causes[running] != ThrottledBy.NONE]
        chosen = concerned[user_limits.throttled_for_input(self._seen(concerned), np.ones(len(concerned), bool))]
        self._throttle(chosen, causes[chosen])

    def _owners(self, rows: np.ndarray) -> np.ndarray:
        """Whose input that of tasks is, (n,): a working group's or a user's, as documented always a user's; of no
        account: the number after the last one."""
        tasks, user_rows = self.control.arrays.tasks, self.control.world.user_rows
        apart = user_limits.TERMS[self.control.edition].moving_apart
        return user_rows.accounts(tasks, rows) % (len(user_rows.is_group) + 1) if apart else tasks["user"][rows]

    def _look_at_work(self, present: np.ndarray) -> None:
        """Throttle tasks of owners above a limit of jobs or cores, until they are far below all; present: as there."""
        control, held, user_rows = self.control, self._held(), self.control.world.user_rows
        tasks, n = control.arrays.tasks, len(user_rows.is_group) + 1           # the last one: of no account
        accounts, numbers = user_rows.work(control.arrays)
        if self.bounds[0] is not control.cfg or self.bounds[1] is not accounts:
            limits = user_limits.work_limits(user_rows.is_group[accounts], control.cfg)
            self.bounds = control.cfg, accounts, limits
        work, bounds = user_limits.Work(*numbers), self.bounds[2]
        if len(held):
            free = np.ones(n, bool)
            free[accounts] = user_limits.far_below(work, bounds)
            below = free[user_rows.accounts(tasks, held)]
            self._release(held, user_limits.released_for_work(self._seen(held), below), FOR_WORK)
        first = user_limits.exceeded(work, bounds)
        if (first >= 0).any():
            causes, exceeded = np.array([*FOR_WORK, ThrottledBy.NONE]), np.full(n, ThrottledBy.NONE, np.int64)
            exceeded[accounts] = causes[first]
            rows = control.books.live_tasks.in_status(*SERVED)
            over = exceeded[user_rows.accounts(tasks, rows)]
            chosen = user_limits.throttled_for_work(self._seen(rows), over != ThrottledBy.NONE,
                                                    self._merges(rows, over != ThrottledBy.NONE), present)
            self._throttle(rows[chosen], over[chosen])

    def _merges(self, rows: np.ndarray, concerned: np.ndarray) -> np.ndarray:
        """Which of the tasks have jobs in merging, (n,) bool, of those that are concerned."""
        arrays = self.control.arrays
        merging = concerned & (arrays.tasks["mergeoutput"][rows] != 0)
        if merging.any():
            jobs = jobs_of(arrays, rows[merging], JobStatus.MERGING)
            merging &= np.isin(rows, arrays.jobs["task"][jobs])
        return merging

    def _boost(self) -> None:
        """Move tasks of class S to Express Analysis; those that say nothing of the size of jobs get jobs of an hour."""
        control, arrays = self.control, self.control.arrays
        rows = control.books.live_tasks.rows
        rows = rows[arrays.tasks["share"][rows] == self.slow]
        boosted = [jeditaskid for jeditaskid, kind in control.world.analysis.task_class.items() if kind == TaskClass.S]
        rows = rows[np.isin(arrays.tasks["jeditaskid"][rows], boosted)]
        for row in rows.tolist():
            control.books.ledger.changes(row)
            control.fabric.set_share([row], self.express)
            limit_walltime(control.world, row, task_classes.EXPRESS_WALLTIME_S)
