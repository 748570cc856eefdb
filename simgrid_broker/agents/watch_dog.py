"""JEDI's WatchDog: tasks on hold come back after a while.

Source: PanDA brokerage documentation (1 hour for production, 20 minutes for analysis).
"""

from simgrid_broker.names import ANALYSIS_LABELS, TaskStatus
from simgrid_broker.world.task_transitions import set_status


def watch_dog(control):
    """The process that reactivates pending tasks; those that have no nucleus the TaskBroker takes up again."""
    def reactivate():
        tasks = control.world.arrays.tasks
        rows = control.live_tasks.in_status(TaskStatus.PENDING)
        for row in rows[tasks["old_status"][rows] != TaskStatus.ASSIGNING].tolist():
            if control.now - tasks["modification_s"][row] >= patience(control, tasks[row]):
                set_status(control.world, row, TaskStatus(tasks["old_status"][row]), control.now)
    yield control.every(control.periods.watch_dog, reactivate, "watchdog")


def patience(control, task) -> float:
    """How long a task stays pending, s."""
    label = control.world.vocabularies["labels"][task["label"]]
    return control.periods.pending_analysis if label in ANALYSIS_LABELS else control.periods.pending_production
