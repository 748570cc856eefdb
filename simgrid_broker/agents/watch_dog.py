"""JEDI's WatchDog: tasks on hold come back after a while or are exhausted, exhausted ones are finished.

Source: PanDA brokerage documentation (1 hour for production, 20 minutes for analysis); JEDI TWiki, task status;
lifecycle reference, 2.8, 2.9 and 2.12.
"""

from simgrid_broker.agents.task_refiner import send_on
from simgrid_broker.fabric.commands import jobs_of
from simgrid_broker.names import ANALYSIS_LABELS, TASK_ENDS, Cause, JobStatus, TaskStatus
from simgrid_broker.policy.task_watchdogs import EXHAUSTED_S, gives_up_pending, pending_for_s
from simgrid_broker.world.task_transitions import set_status

REASSIGNING_S = 300.0
"""A task that was taken from its nucleus goes on after this; source: lifecycle reference, 2.8."""
PAUSED_S = 600.0
"""Jobs of a paused task that are not yet activated are taken back after this; source: lifecycle reference, 2.12."""
DEFINED_TABLE = (JobStatus.PENDING, JobStatus.DEFINED, JobStatus.WAITING, JobStatus.ASSIGNED)


def watch_dog(control):
    """The process that sends on what waits; tasks without a nucleus the TaskBroker takes up again."""
    def look():
        give_up_pending(control)
        reactivate(control)
        finish_exhausted(control)
        tasks = control.world.arrays.tasks
        for row in control.live_tasks.in_status(TaskStatus.REASSIGNING).tolist():
            if control.now - tasks["modification_s"][row] > REASSIGNING_S:
                send_on(control, row)
        put_off_jobs_of_paused(control)
    yield control.every(control.periods.watch_dog, look, "watchdog")


def reactivate(control) -> None:
    """Bring tasks that were on hold for long enough back to where they were."""
    tasks = control.world.arrays.tasks
    rows = control.live_tasks.in_status(TaskStatus.PENDING)
    for row in rows[tasks["old_status"][rows] != TaskStatus.ASSIGNING].tolist():
        if control.now - tasks["modification_s"][row] >= patience(control, tasks[row]):
            set_status(control.world, row, TaskStatus(tasks["old_status"][row]), control.now)


def give_up_pending(control) -> None:
    """Exhaust tasks for which brokers have looked in vain for too long; a parent at work protects them."""
    tasks = control.world.arrays.tasks
    for row in control.live_tasks.in_status(TaskStatus.PENDING).tolist():
        task = tasks[row]
        parent = int(task["parent"]) - 1
        if ((parent < 0 or tasks["status"][parent] in TASK_ENDS)
                and gives_up_pending(label_of(control, task), control.now - task["frozen_s"], control.cfg)):
            set_status(control.world, row, TaskStatus.EXHAUSTED, control.now)


def finish_exhausted(control) -> None:
    """Let tasks that nobody has cared for be finished."""
    tasks, limit = control.world.arrays.tasks, control.periods.exhausted
    rows = control.live_tasks.in_status(TaskStatus.EXHAUSTED)
    limit = EXHAUSTED_S[control.edition] if limit is None else limit
    rows = rows[control.now - tasks["modification_s"][rows] > limit]
    if len(rows):
        control.commands.give_unasked("finish", rows.tolist(), control.now)


def label_of(control, task) -> str:
    """prodSourceLabel of a task."""
    return control.world.vocabularies["labels"][task["label"]]


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
    label = label_of(control, task)
    usual = control.periods.pending_analysis if label in ANALYSIS_LABELS else control.periods.pending_production
    return pending_for_s(label, int(task["priority"]), usual)
