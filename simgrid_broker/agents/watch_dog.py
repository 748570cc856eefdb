"""JEDI's WatchDog: tasks on hold come back after a while.

Source: PanDA brokerage documentation (1 hour for production, 20 minutes for analysis).
"""

from simgrid_broker.agents.task_refiner import send_on
from simgrid_broker.fabric.commands import jobs_of
from simgrid_broker.names import ANALYSIS_LABELS, Cause, JobStatus, TaskStatus
from simgrid_broker.world.task_transitions import set_status

REASSIGNING_S = 300.0
"""A task that was taken from its nucleus goes on after this; source: lifecycle reference, 2.8."""
PAUSED_S = 600.0
"""Jobs of a paused task that are not yet activated are taken back after this; source: lifecycle reference, 2.12."""
DEFINED_TABLE = (JobStatus.PENDING, JobStatus.DEFINED, JobStatus.WAITING, JobStatus.ASSIGNED)


def watch_dog(control):
    """The process that reactivates pending tasks; those that have no nucleus the TaskBroker takes up again."""
    def reactivate():
        tasks = control.world.arrays.tasks
        rows = control.live_tasks.in_status(TaskStatus.PENDING)
        for row in rows[tasks["old_status"][rows] != TaskStatus.ASSIGNING].tolist():
            if control.now - tasks["modification_s"][row] >= patience(control, tasks[row]):
                set_status(control.world, row, TaskStatus(tasks["old_status"][row]), control.now)
        for row in control.live_tasks.in_status(TaskStatus.REASSIGNING).tolist():
            if control.now - tasks["modification_s"][row] > REASSIGNING_S:
                send_on(control, row)
        put_off_jobs_of_paused(control)
    yield control.every(control.periods.watch_dog, reactivate, "watchdog")


def put_off_jobs_of_paused(control) -> None:
    """Take the jobs of paused tasks back that are not yet activated; source: lifecycle reference, 2.8 and 2.12."""
    tasks = control.world.arrays.tasks
    rows = control.live_tasks.in_status(TaskStatus.PAUSED)
    rows = rows[control.now - tasks["modification_s"][rows] > PAUSED_S]
    if tasks["n_alive"][rows].any():
        jobs = jobs_of(control.world.arrays, rows, *DEFINED_TABLE)
        control.fabric.take_back(jobs, int(JobStatus.CLOSED), int(Cause.REASSIGNED), control.now)


def patience(control, task) -> float:
    """How long a task stays pending, s."""
    label = control.world.vocabularies["labels"][task["label"]]
    return control.periods.pending_analysis if label in ANALYSIS_LABELS else control.periods.pending_production
