"""JEDI's TaskBroker: assigns nuclei; PanDA brokerage documentation, task brokerage; brokerage reference, 1.1."""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks.selection import TERMS, by_priority
from simgrid_broker.turns.task_tables import TaskTables
from simgrid_broker.turns.turn import Outcome
from simgrid_broker.world.columns import return_to, set_reason, set_tasks
from simgrid_broker.world.tasks.transitions import set_statuses
from simgrid_broker.world.views.nuclei import Burden


def task_broker(control: Control) -> Process:
    """Broker the tasks that are due, work queue by work queue, in each by priority and age."""
    tables = TaskTables(control)

    def broker() -> None:
        _reactivate(control)
        tasks = control.arrays.tasks
        rows = control.books.live_tasks.in_status(TaskStatus.ASSIGNING)
        rows = rows[_is_due(control, rows)]
        if len(rows):
            _turn(control, tables, rows[by_priority(*(tasks[name][rows] for name in (
                "jeditaskid", "priority", "resource_type", "share")))])
    yield from control.every(control.periods.task_broker, broker, "taskbroker")


def _turn(control: Control, tables: TaskTables, rows: np.ndarray) -> None:
    """Broker the tasks in `rows`, the first ones first; without a candidate a task is brokered again later."""
    hand = tables.begin(rows, Burden(control.world, control.books.live_tasks.rows))
    while (outcome := tables.go_on(rows)) != Outcome.OVER:
        row = int(rows[hand["task"]])
        if outcome == Outcome.ASK:
            _let_wait(control, tables)
            tables.answer(row)
        elif outcome == Outcome.LEARN:
            tables.learn(row)
        else:
            tables.look(row)
    _let_wait(control, tables)
    set_statuses(control.world, tables.moved(), TaskStatus.READY, control.now)


def _is_due(control: Control, rows: np.ndarray) -> np.ndarray:
    """Which of the tasks were last modified long enough ago, (n_rows,)."""
    return control.now - control.arrays.tasks["modification_s"][rows] >= control.periods.task_broker_retry


def _let_wait(control: Control, tables: TaskTables) -> None:
    """Let the tasks wait for which the compiled turn has found no nucleus."""
    for rows, text in tables.put_off():
        _put_off(control, rows, text)


def _put_off(control: Control, rows: np.ndarray, text: str) -> None:
    """Let tasks without a nucleus wait: as pending, or without a change of status (D5).

    text: what refused the last candidates of each.
    """
    set_tasks(control.world, rows, modification_s=control.now)
    set_reason(control.world, rows, text)
    if TERMS[control.edition].pends:
        return_to(control.world, rows, TaskStatus.ASSIGNING)
        set_statuses(control.world, rows, TaskStatus.PENDING, control.now)


def _reactivate(control: Control) -> None:
    """Return tasks that the task brokerage put on hold to assigning; they are due at once."""
    tasks = control.arrays.tasks
    rows = control.books.live_tasks.in_status(TaskStatus.PENDING)
    rows = rows[(tasks["old_status"][rows] == TaskStatus.ASSIGNING) & _is_due(control, rows)]
    since = tasks["modification_s"][rows]
    set_statuses(control.world, rows, TaskStatus.ASSIGNING, control.now)
    set_tasks(control.world, rows, modification_s=since)
