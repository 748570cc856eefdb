"""JEDI's TaskBroker: assigns nuclei; PanDA brokerage documentation, task brokerage; brokerage reference, 1.1."""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.own import records
from simgrid_broker.ledgers.hourly_sums import HourlySums
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks.selection import TERMS, by_priority
from simgrid_broker.schema import Column, Table
from simgrid_broker.turns.task_tables import TaskTables
from simgrid_broker.turns.turn import Outcome
from simgrid_broker.world.columns import return_to, set_reason, set_tasks
from simgrid_broker.world.tasks.transitions import set_statuses
from simgrid_broker.world.views.nuclei import Burden

ASSIGNING = int(TaskStatus.ASSIGNING)
HINTS = Table("hints", "the decisions of task brokerage in one hour in which no queue could run the jobs of the task, "
              "and one rule of job brokerage refused the last queue", (
    Column("time_s", "f8", "s", "simulator", "Begin of the hour"),
    Column("share", "i2", "", "JEDI_Tasks gshare", "Leaf share", codes="shares"),
    Column("resource_type", "i2", "", "JEDI_Tasks resource_type", "Resource type", codes="resource_types"),
    Column("rule", "i4", "", "brokerage reference, 1.2 (hint mode)", "Rule of job brokerage: its tag, with its name "
           "where several share the tag", codes="texts"),
    Column("decisions", "i8", "decisions", "simulator", "Decisions"),
))


@records(HINTS)
def task_broker(control: Control) -> Process:
    """Broker the tasks that are due, work queue by work queue, in each by priority and age."""
    tables, hints = TaskTables(control), control.books.hourly_sums(HINTS)

    def broker() -> None:
        _reactivate(control)
        tasks = control.arrays.tasks
        rows = control.books.live_tasks.in_status(TaskStatus.ASSIGNING)
        rows = rows[_is_due(control, rows)]
        if len(rows):
            _turn(control, tables, rows[by_priority(*(tasks[name][rows] for name in (
                "jeditaskid", "priority", "resource_type", "share")))], hints)
    yield from control.every(control.periods.task_broker, broker, "taskbroker", lambda: True)


def _turn(control: Control, tables: TaskTables, rows: np.ndarray, hints: HourlySums) -> None:
    """Broker the tasks in `rows`, the first ones first; without a candidate a task is brokered again later."""
    hand = tables.begin(rows, Burden(control.world, control.books.live_tasks.rows))
    while (outcome := tables.go_on(rows)) != Outcome.OVER:
        row = int(rows[hand["task"]])
        if outcome == Outcome.ASK:
            _let_wait(control, tables, hints)
            tables.answer(row)
        elif outcome == Outcome.LEARN:
            tables.learn(row)
        else:
            tables.look(row)
    _let_wait(control, tables, hints)
    set_statuses(control.world, tables.moved(), TaskStatus.READY, control.now)


def _is_due(control: Control, rows: np.ndarray) -> np.ndarray:
    """Which of the tasks were last modified long enough ago, (n_rows,)."""
    return control.now - control.arrays.tasks["modification_s"][rows] >= control.periods.task_broker_retry


def _let_wait(control: Control, tables: TaskTables, hints: HourlySums) -> None:
    """Let the tasks wait for which the compiled turn has found no nucleus."""
    for rows, text, behind in tables.put_off():
        _put_off(control, rows, text)
        if behind:
            tasks, rule = control.arrays.tasks, control.books.decisions.code(behind)
            for share, kind in zip(*(tasks[name][rows].tolist() for name in ("share", "resource_type")), strict=True):
                hints.add(control.now, (share, kind, rule), (1,))


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
    rows = rows[(tasks["old_status"][rows] == ASSIGNING) & _is_due(control, rows)]
    if len(rows):
        since = tasks["modification_s"][rows]
        set_statuses(control.world, rows, TaskStatus.ASSIGNING, control.now)
        set_tasks(control.world, rows, modification_s=since)
