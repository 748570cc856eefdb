"""JEDI's WatchDog: tasks on hold come back after a while or are exhausted, exhausted ones are finished.

Source: PanDA brokerage documentation (1 hour for production, 20 minutes for analysis); JEDI TWiki, task status;
lifecycle reference, 2.8, 2.9 and 2.12.
"""

import numpy as np

from simgrid_broker.agents.task_refiner import send_on
from simgrid_broker.fabric.commands import jobs_of
from simgrid_broker.names import ANALYSIS_LABELS, DEFINED_TABLE, TASK_ENDS, Cause, JobStatus, TaskStatus
from simgrid_broker.policy.task_watchdogs import EXHAUSTED_S, gives_up_pending, pending_for_s
from simgrid_broker.world.task_transitions import set_status

REASSIGNING_S = 300.0
"""A task that was taken from its nucleus goes on after this; source: lifecycle reference, 2.8."""
PAUSED_S = 600.0
"""Jobs of a paused task that are not yet activated are taken back after this; source: lifecycle reference, 2.12."""


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
    for label, own in by_label(control, rows[tasks["old_status"][rows] != TaskStatus.ASSIGNING]):
        waited_s = control.now - tasks["modification_s"][own]
        for row in own[waited_s >= patience(control, label, tasks["priority"][own])].tolist():
            set_status(control.world, row, TaskStatus(tasks["old_status"][row]), control.now)


def give_up_pending(control) -> None:
    """Exhaust tasks for which brokers have looked in vain for too long; a parent at work protects them."""
    tasks = control.world.arrays.tasks
    for label, own in by_label(control, control.live_tasks.in_status(TaskStatus.PENDING)):
        for row in own[gives_up_pending(label, control.now - tasks["frozen_s"][own], control.cfg)].tolist():
            parent = int(tasks["parent"][row]) - 1
            if parent < 0 or tasks["status"][parent] in TASK_ENDS:
                set_status(control.world, row, TaskStatus.EXHAUSTED, control.now)


def finish_exhausted(control) -> None:
    """Let tasks that nobody has cared for be finished."""
    tasks, limit = control.world.arrays.tasks, control.periods.exhausted
    rows = control.live_tasks.in_status(TaskStatus.EXHAUSTED)
    limit = EXHAUSTED_S[control.edition] if limit is None else limit
    rows = rows[control.now - tasks["modification_s"][rows] > limit]
    if len(rows):
        control.commands.give_unasked("finish", rows.tolist(), control.now)


def by_label(control, rows: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Tasks by their prodSourceLabel: the word and the rows."""
    labels = control.world.arrays.tasks["label"][rows]
    return [(control.world.vocabularies["labels"][code], rows[labels == code]) for code in np.unique(labels).tolist()]


def put_off_jobs_of_paused(control) -> None:
    """Take the jobs of paused tasks back that are not yet activated; source: lifecycle reference, 2.8 and 2.12."""
    tasks = control.world.arrays.tasks
    rows = control.live_tasks.in_status(TaskStatus.PAUSED)
    rows = rows[control.now - tasks["modification_s"][rows] > PAUSED_S]
    if tasks["n_alive"][rows].any():
        jobs = jobs_of(control.world.arrays, rows, *DEFINED_TABLE)
        control.fabric.take_back(jobs, int(JobStatus.CLOSED), int(Cause.REASSIGNED), control.now)


def patience(control, label: str, priority: np.ndarray) -> np.ndarray:
    """How long tasks of a prodSourceLabel and of some priorities stay pending, (n,), s."""
    usual = control.periods.pending_analysis if label in ANALYSIS_LABELS else control.periods.pending_production
    return pending_for_s(label, priority, usual)
