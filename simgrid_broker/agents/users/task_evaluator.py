"""PanDA's task evaluator: classes of analysis tasks; brokerage reference, section 11.3; lifecycle reference, 2.11."""

from collections.abc import Mapping

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import ANALYSIS_LABELS, EXPRESS_ANALYSIS, USER_ANALYSIS, USER_OF_TESTS, TaskClass
from simgrid_broker.policy.users import classes
from simgrid_broker.schema.series import TASK_CLASSES
from simgrid_broker.world.views.users import OLDEST_SLOTS_S


def task_evaluator(control: Control) -> Process:
    """Classify tasks, if there can be tasks of User Analysis or Express Analysis."""
    words = control.world.vocabularies
    of_user = np.isin(words["shares"], (USER_ANALYSIS, EXPRESS_ANALYSIS))
    of_express = np.isin(words["shares"], (EXPRESS_ANALYSIS,))
    analysis, is_test = np.isin(words["labels"], ANALYSIS_LABELS), np.isin(words["users"], (USER_OF_TESTS,))

    def look() -> None:
        tasks, metrics = control.arrays.tasks, control.world.analysis
        rows = control.books.live_tasks.rows
        rows = rows[(tasks["share"][rows] >= 0) & analysis[tasks["label"][rows]]]
        rows = rows[classes.is_evaluated(
            tasks["status"][rows], of_user[tasks["share"][rows]], is_test[tasks["user"][rows]],
            control.now - tasks["modification_s"][rows], control.edition)]
        user = tasks["user"][rows]
        known = control.now - metrics.slots_at <= OLDEST_SLOTS_S
        slots = classes.Slots(*(np.where(known, number[user], np.nan)
                                for number in (metrics.in_hi, metrics.in_hi_or_mid)))
        found = classes.task_classes(slots, progress(control, rows), of_express[tasks["share"][rows]], control.cfg,
                                     control.edition)
        has_class = ~np.isnan(found)
        before, metrics.task_class = metrics.task_class, dict(zip(
            tasks["jeditaskid"][rows[has_class]].tolist(), found[has_class].astype(np.int64).tolist(), strict=True))
        metrics.tasks_at = control.now
        if control.world.scenario.record.series:
            control.recorder.write("task_classes", changes(before, metrics.task_class, control.now))
    if analysis.any() and of_user.any():
        yield from control.every(control.periods.task_evaluator, look, "task_evaluator")


def changes(before: Mapping[int, int], after: Mapping[int, int], now: float) -> np.ndarray:
    """Rows about tasks whose class has changed, (n,) of TASK_CLASSES; before, after: `TaskClass` by jeditaskid."""
    found = [(now, task, number - TaskClass.C) for task, number in after.items() if before.get(task) != number]
    found += [(now, task, -1) for task in before if task not in after]
    return np.array(found, TASK_CLASSES.dtype)


def progress(control: Control, rows: np.ndarray) -> classes.Progress:
    """Progress of tasks, as `task_classes.Progress`."""
    tasks = control.arrays.tasks
    return classes.Progress(*(tasks[name][rows] for name in ("n_finished", "n_failed", "n_jobs", "n_attempts")))
