"""JEDI's TaskBroker: assigns nuclei; PanDA brokerage documentation, task brokerage; brokerage reference, 1.1."""

import numpy as np

import simgrid_broker.turns.task_cycle as task_cycle
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import DecisionKind, TaskStatus
from simgrid_broker.policy.tasks.selection import by_priority
from simgrid_broker.turns.broker_rules import reason
from simgrid_broker.turns.task_tables import TaskTables
from simgrid_broker.world.columns import give_nucleus_of, return_to, set_reason, set_tasks
from simgrid_broker.world.tasks.transitions import set_status, set_statuses
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
    burden, state = Burden(control.world, control.books.live_tasks.rows), tables.state[0]
    tables.begin(rows, burden)
    while (reason := tables.go_on(rows)) != task_cycle.OVER:
        row = int(rows[state["task"]])
        if reason == task_cycle.ASK:
            _let_wait(control, tables)
            _assign(control, row, burden)
            state["task"] += 1
        elif reason == task_cycle.SHOW:
            tables.show(row)
        elif reason == task_cycle.PREPARE:
            tables.prepare(row)
        else:
            control.books.decisions.add_candidates(
                DecisionKind.TASK_BROKERAGE, tables.verdict(row), tables.offset, tables.listed.groups[0])
    _let_wait(control, tables)
    set_statuses(control.world, tables.moved(), TaskStatus.READY, control.now)


def _is_due(control: Control, rows: np.ndarray) -> np.ndarray:
    """Which of the tasks were last modified long enough ago, (n_rows,)."""
    return control.now - control.arrays.tasks["modification_s"][rows] >= control.periods.task_broker_retry


def _assign(control: Control, row: int, burden: Burden) -> None:
    """Choose the nucleus of a task and add its work to it; without a candidate the task is brokered again later."""
    world, now = control.world, control.now
    task, seen, verdict = control.brokers.nucleus_for(row, burden)
    control.books.decisions.add(DecisionKind.TASK_BROKERAGE, now, task, verdict, 0,
                                len(world.vocabularies["pseudo_queues"]), seen.site)
    if not len(verdict.order):
        _put_off(control, np.array([row]), reason(control.policies, DecisionKind.TASK_BROKERAGE, verdict))
        return
    give_nucleus_of(world.arrays, row, int(seen.site[verdict.order[0]]))
    set_status(world, row, TaskStatus.READY, now)
    burden.add(row)


def _let_wait(control: Control, tables: TaskTables) -> None:
    """Let the tasks wait for which the compiled turn has found no nucleus."""
    for rows, text in tables.put_off():
        _put_off(control, rows, text)


def _put_off(control: Control, rows: np.ndarray, text: str) -> None:
    """Let tasks without a nucleus wait: as pending, or in the deployed edition without a change of status (D5).

    text: what refused the last candidates of each.
    """
    set_tasks(control.world, rows, modification_s=control.now)
    set_reason(control.world, rows, text)
    if control.edition == "documented":
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
