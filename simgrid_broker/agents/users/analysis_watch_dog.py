"""JEDI's watchdog of analysis: throttles tasks of users with too much work or input under way, moves nearly done tasks.

Source: brokerage reference, sections 11.3 and 11.4; lifecycle reference, 2.10 and 2.11; JEDI TWiki, throttled jobs and
tasks. In the documentation too much work of a user or group concerns job brokerage alone.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import ANALYSIS_LABELS, EXPRESS_ANALYSIS, USER_ANALYSIS, TaskClass, TaskStatus, ThrottledBy
from simgrid_broker.policy.users import classes as task_classes
from simgrid_broker.policy.users import limits as user_limits
from simgrid_broker.world.columns import limit_walltime
from simgrid_broker.world.data.locality import input_under_way
from simgrid_broker.world.tasks.transitions import set_status, throttle

T = TaskStatus
MAKES_JOBS, IS_HELD = (T.READY, T.RUNNING), (T.PENDING, T.THROTTLED)
"""Statuses in which tasks are throttled for the work of their owner, and those that count as the status before; for its
input only running ones are."""
FOR_INPUT = (ThrottledBy.PRESTAGING, ThrottledBy.TRANSFER)
FOR_WORK = (ThrottledBy.RUNNING_JOBS, ThrottledBy.QUEUED_JOBS, ThrottledBy.RUNNING_CORES, ThrottledBy.QUEUED_CORES)
BOOST_S = 300.0
"""Least time between two looks for tasks that are nearly done, s; source: lifecycle reference, 2.12."""


class Look(NamedTuple):
    """Result of a look at owners.

    causes: what the look is about; statuses: of the tasks that it throttles, none if it throttles none; reasons: of
    tasks, by their rows, (n,), why they are throttled, `ThrottledBy`, NONE = they are not; may_go_on: which tasks that
    it has throttled are released, by their rows, (n,) bool.
    """

    causes: tuple[ThrottledBy, ...]
    statuses: tuple[TaskStatus, ...]
    reasons: Callable[[np.ndarray], np.ndarray]
    may_go_on: Callable[[np.ndarray], np.ndarray]


NO_INPUT = Look(FOR_INPUT, (), np.zeros_like, lambda rows: np.ones(len(rows), bool))
"""No owner has too much input under way: nothing is throttled, and everything that was is released."""


def is_served(status: np.ndarray, old_status: np.ndarray) -> np.ndarray:
    """Tasks that are throttled for the work of their owner, (n,) bool; throttled ones begin to wait again.

    status, old_status: TaskStatus, (n,). Source: recorded decisions of PanDA, AtlasAnalWatchDog.doForPreStaging.
    """
    return np.isin(np.where(np.isin(status, IS_HELD), old_status, status), MAKES_JOBS)


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
        self.since_s: dict[int, float] = {}
        self.slow, self.express = (words["shares"].index(name) if name in words["shares"] else -1
                                   for name in (USER_ANALYSIS, EXPRESS_ANALYSIS))

    def note_output(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Count the output of jobs that have ended for the quotas of their owners."""
        control = self.control
        control.world.user_output.add(control.arrays, rows, times[np.arange(len(rows)), rows["status"]])

    def cycle(self) -> None:
        """Release and throttle tasks by the work of their owners; move tasks of class S to Express Analysis."""
        self.control.world.user_output.refresh(self.control.now)
        self._throttle(self._look_at_input())
        if user_limits.TERMS[self.control.edition].by_work:
            self._throttle(self._look_at_work())
        if self.control.now - self.boosted_s >= BOOST_S and min(self.slow, self.express) >= 0:
            self.boosted_s = self.control.now
            self._boost()

    def _throttle(self, look: Look) -> None:
        """Release tasks that the look has throttled if they may go on; throttle those of owners above a limit."""
        control, now = self.control, self.control.now
        if self.since_s:
            self._release(look)
        if not look.statuses:
            return
        rows, tasks = control.books.live_tasks.in_status(*look.statuses), control.arrays.tasks
        rows = rows[is_served(tasks["status"][rows], tasks["old_status"][rows])]
        reasons = look.reasons(rows)
        for k in np.flatnonzero(reasons != ThrottledBy.NONE).tolist():
            self.since_s[int(rows[k])] = now
            throttle(control.world, int(rows[k]), ThrottledBy(reasons[k]), now)

    def _release(self, look: Look) -> None:
        """Release throttled tasks whose cause is over, or after two hours; forget those that are not throttled."""
        control, tasks = self.control, self.control.arrays.tasks
        rows, since_s = (np.fromiter(part, kind, len(self.since_s)) for part, kind in (
            (self.since_s.keys(), np.int64), (self.since_s.values(), np.float64)))
        throttled = tasks["status"][rows] == T.THROTTLED
        goes_on = throttled & np.isin(tasks["throttled_by"][rows], look.causes)
        goes_on &= look.may_go_on(rows) | (control.now - since_s >= user_limits.WAIT_S)
        for row in rows[goes_on | ~throttled].tolist():
            del self.since_s[row]
        for row in rows[goes_on].tolist():
            set_status(control.world, row, T(tasks["old_status"][row]), control.now)

    def _look_at_input(self) -> Look:
        """Tasks with input under way of users who have too much of it; they go on when their user has less."""
        control = self.control
        rows, size = input_under_way(control.world, user_limits.least_bytes(control.cfg))
        if not len(rows):
            return NO_INPUT
        users, place, moving = user_limits.by_user(control.arrays.tasks["user"][rows], size)
        too_much = user_limits.moves_too_much(moving, control.cfg, control.edition)
        if not np.any(too_much):
            return NO_INPUT
        tasks = control.arrays.tasks
        over = np.zeros((len(control.world.vocabularies["users"]), len(ThrottledBy)), bool)
        reasons = np.full(len(tasks), ThrottledBy.NONE, np.int64)
        looks = [*zip(FOR_INPUT, too_much, size.T, strict=True)]
        for cause, above, moved in reversed(looks):                            # of two causes the first one counts
            over[users[above], cause] = True
            reasons[rows[above[place] & (moved > 0)]] = cause
        return Look(FOR_INPUT, (T.RUNNING,), reasons.__getitem__,
                    lambda throttled: ~over[tasks["user"][throttled], tasks["throttled_by"][throttled]])

    def _look_at_work(self) -> Look:
        """Tasks of owners above a limit of jobs or cores; they go on when their owner is below all limits."""
        control, user_rows = self.control, self.control.world.user_rows
        accounts, numbers = user_rows.work(control.arrays)
        work = user_limits.Work(*numbers)
        bounds = user_limits.work_limits(user_rows.is_group[accounts], control.cfg)
        causes = np.array([*(bound.cause for bound in bounds), ThrottledBy.NONE], np.int64)
        n = len(user_rows.is_group) + 1                                        # the last one: of no account
        reasons, free = np.full(n, ThrottledBy.NONE, np.int64), np.ones(n, bool)
        reasons[accounts] = causes[user_limits.exceeded(work, bounds)]
        free[accounts] = user_limits.far_below(work, bounds)
        tasks = control.arrays.tasks
        return Look(FOR_WORK, (*MAKES_JOBS, *IS_HELD) if reasons.any() else (),
                    lambda rows: reasons[user_rows.accounts(tasks, rows)],
                    lambda rows: free[user_rows.accounts(tasks, rows)])

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
