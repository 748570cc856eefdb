"""JEDI's watchdog of analysis: throttles tasks of users and groups with too much work, and moves nearly done tasks.

Source: brokerage reference, sections 11.3 and 11.4; lifecycle reference, 2.10 and 2.11. In the documentation the first
belongs to job brokerage alone.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import ANALYSIS_LABELS, EXPRESS_ANALYSIS, USER_ANALYSIS, TaskClass, TaskStatus
from simgrid_broker.policy import task_classes, user_throttle
from simgrid_broker.world.columns import limit_walltime
from simgrid_broker.world.task_transitions import set_status, throttle

T = TaskStatus
SERVED = (T.READY, T.RUNNING)
"""Statuses in which tasks are throttled."""
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
        if self.control.edition == "deployed":
            self._throttle()
        if self.control.now - self.boosted_s >= BOOST_S and min(self.slow, self.express) >= 0:
            self.boosted_s = self.control.now
            self._boost()

    def _throttle(self) -> None:
        """Throttle the tasks of owners above a limit; release those of owners below all, and after two hours."""
        control, tasks = self.control, self.control.arrays.tasks
        owners, numbers = control.world.user_rows.work(control.arrays)
        work = user_throttle.Work(*numbers)
        bounds = user_throttle.work_limits(owners[:, 1] >= 0, control.cfg)
        reasons, free = user_throttle.exceeded(work, bounds), user_throttle.far_below(work, bounds)
        place: dict[tuple[int, int] | None, int] = {
            (user, group): number for number, (user, group) in enumerate(owners.tolist())}
        for row, since_s in [*self.since_s.items()]:
            number = place.get(self._owner_of(row))
            if tasks["status"][row] != T.THROTTLED:
                del self.since_s[row]
            elif number is None or free[number] or control.now - since_s >= user_throttle.WAIT_S:
                del self.since_s[row]
                set_status(control.world, row, T(tasks["old_status"][row]), control.now)
        over = {owner: bounds[reasons[number]].cause for owner, number in place.items() if reasons[number] >= 0}
        if over:
            for row in control.books.live_tasks.in_status(*SERVED).tolist():
                if (reason := over.get(self._owner_of(row))) is not None:
                    self.since_s[row] = control.now
                    throttle(control.world, row, reason, control.now)

    def _owner_of(self, row: int) -> tuple[int, int] | None:
        """User and working group of an analysis task; only the group if it has one."""
        owner = self.control.world.user_rows.owner(self.control.arrays.tasks[row])
        return None if owner is None else owner.account

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
