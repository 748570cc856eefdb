"""JEDI's WatchDog: reactivates or exhausts tasks on hold, and finishes exhausted ones.

Source: PanDA brokerage documentation (1 hour for production, 20 minutes for analysis); JEDI TWiki, task status;
lifecycle reference, 2.8, 2.9 and 2.12.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.jedi.task_refiner import send_on
from simgrid_broker.fabric.commands import jobs_of
from simgrid_broker.names import ANALYSIS_LABELS, DEFINED_TABLE, TASK_ENDS, Cause, JobStatus, TaskStatus
from simgrid_broker.policy.tasks.watchdogs import EXHAUSTED_S, gives_up_pending, pending_for_s
from simgrid_broker.world.tasks.transitions import set_status

REASSIGNING_S = 300.0
"""Delay after which a reassigned task continues, s; source: lifecycle reference, 2.8."""
PAUSED_S = 600.0
"""Delay after which jobs of a paused task that are not activated are withdrawn, s; lifecycle reference, 2.12."""


def watch_dog(control: Control) -> Process:
    """Reactivate pending tasks (tasks without a nucleus are left to the TaskBroker) and apply the time limits."""
    def look() -> None:
        give_up_pending(control)
        reactivate(control)
        finish_exhausted(control)
        tasks = control.arrays.tasks
        for row in control.books.live_tasks.in_status(TaskStatus.REASSIGNING).tolist():
            if control.now - tasks["modification_s"][row] > REASSIGNING_S:
                send_on(control, row)
        withdraw_jobs_of_paused(control)
    yield from control.every(control.periods.watch_dog, look, "watchdog")


def reactivate(control: Control) -> None:
    """Return tasks that were pending long enough to their old status."""
    tasks = control.arrays.tasks
    rows = control.books.live_tasks.in_status(TaskStatus.PENDING)
    if not len(rows):
        return
    for label, own in by_label(control, rows[tasks["old_status"][rows] != TaskStatus.ASSIGNING]):
        waited_s = control.now - tasks["modification_s"][own]
        for row in own[waited_s >= patience(control, label, tasks["priority"][own])].tolist():
            set_status(control.world, row, TaskStatus(tasks["old_status"][row]), control.now)


def give_up_pending(control: Control) -> None:
    """Mark tasks exhausted after PENDING_TIMEOUT without a candidate, unless their parent is still active."""
    tasks = control.arrays.tasks
    for label, own in by_label(control, control.books.live_tasks.in_status(TaskStatus.PENDING)):
        for row in own[gives_up_pending(label, control.now - tasks["frozen_s"][own], control.cfg)].tolist():
            parent = control.world.parent_of(row)
            if parent is None or tasks["status"][parent] in TASK_ENDS:
                set_status(control.world, row, TaskStatus.EXHAUSTED, control.now)


def finish_exhausted(control: Control) -> None:
    """Finish exhausted tasks that received no command within the time limit."""
    tasks, limit = control.arrays.tasks, control.periods.exhausted
    rows = control.books.live_tasks.in_status(TaskStatus.EXHAUSTED)
    limit = EXHAUSTED_S[control.edition] if limit is None else limit
    rows = rows[control.now - tasks["modification_s"][rows] > limit]
    if len(rows):
        control.books.commands.give_unasked("finish", rows.tolist(), control.now)


def by_label(control: Control, rows: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Rows of tasks by prodSourceLabel."""
    if not len(rows):
        return []
    labels = control.arrays.tasks["label"][rows]
    return [(control.world.vocabularies["labels"][code], rows[labels == code]) for code in np.unique(labels).tolist()]


def withdraw_jobs_of_paused(control: Control) -> None:
    """Withdraw the jobs of paused tasks that are not yet activated; source: lifecycle reference, 2.8 and 2.12."""
    tasks = control.arrays.tasks
    rows = control.books.live_tasks.in_status(TaskStatus.PAUSED)
    if not len(rows):
        return
    rows = rows[control.now - tasks["modification_s"][rows] > PAUSED_S]
    if tasks["n_alive"][rows].any():
        jobs = jobs_of(control.arrays, rows, *DEFINED_TABLE)
        control.fabric.take_back(jobs, int(JobStatus.CLOSED), int(Cause.REASSIGNED), control.now)


def patience(control: Control, label: str, priority: np.ndarray) -> np.ndarray:
    """Time that tasks of a prodSourceLabel stay pending, by priority, (n,), s."""
    usual = control.periods.pending_analysis if label in ANALYSIS_LABELS else control.periods.pending_production
    return pending_for_s(label, priority, usual, control.edition)
