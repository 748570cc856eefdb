"""Rows of tasks: where a block of tasks that arrives is placed; the recorded jobs of a trace by task, kind and hour."""

from collections.abc import Sequence

import numpy as np

from simgrid_broker.names import TaskStatus
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.work.tasklist import TaskList, new_rows, no_replicas
from simgrid_broker.schema import SPLITTING
from simgrid_broker.schema.tasks import AS_PRIORITY
from simgrid_broker.units import HOUR
from simgrid_broker.world.arrays import INPUT_LOSS, LIVE_JOBS, N_RAM_LEVELS, RAM_LEVEL, Arrays
from simgrid_broker.world.data.datasets import forget_inputs, hold_inputs
from simgrid_broker.world.rows import pop_retry
from simgrid_broker.world.world import World


def task_tables(scenario: Scenario, task_list: TaskList) -> dict[str, np.ndarray]:
    """The tables with a row for each task, as the tasks of a list are before they arrive, (n,) or (n, ...) each.

    Those of their input are filled by `data.datasets.hold_inputs`.
    """
    n = len(task_list.rows)
    return dict(
        tasks=_as_submitted(task_list), task_times=np.full((n, len(TaskStatus)), np.nan),
        live_jobs=np.full(n, np.array((0, -1), LIVE_JOBS)),
        live_types=np.zeros((n, len(scenario.resource_types)), np.int32),
        ram_levels=_ram_levels(n), scout_inputs=np.zeros(n, np.int32),
        waits_in=np.full((n, N_RAM_LEVELS), -1, np.int32), splitting=task_list.split(),
        input_loss=_input_loss(scenario, task_list))


def _as_submitted(task_list: TaskList) -> np.ndarray:
    """The tasks of a list at time 0, (n,) of TASKS: each was submitted with its priority, unless it says another.

    Recorded jobs become input of their tasks when they are submitted.
    """
    rows, tasks = task_list.rows, task_list.rows.copy()
    tasks["n_jobs"][task_list.trace["jeditaskid"] - 1] = 0
    tasks["taskpriority"] = np.where(rows["taskpriority"] == AS_PRIORITY, rows["priority"], rows["taskpriority"])
    return tasks


def _ram_levels(n_tasks: int) -> np.ndarray:
    """Nothing awaits another attempt, and no input was raised; (n_tasks, N_RAM_LEVELS)."""
    levels = np.zeros((n_tasks, N_RAM_LEVELS), RAM_LEVEL)
    levels["head"] = -1
    return levels


def _input_loss(scenario: Scenario, task_list: TaskList) -> np.ndarray:
    """Lost and broken parts of the input of each task, (n_tasks,) of INPUT_LOSS, as its stream says."""
    loss, names = np.zeros(len(task_list.rows), INPUT_LOSS), task_list.vocabularies["task_names"]
    for stream in (*scenario.workload.campaigns, *scenario.workload.users):
        if stream.name in names:
            loss[task_list.rows["name"] == names.index(stream.name)] = stream.lost_input, stream.broken_input
    return loss


def _blank(scenario: Scenario) -> dict[str, np.ndarray]:
    """One row of each table that no task uses: it has no status, number or replica."""
    none = TaskList(new_rows(1), *no_replicas(1), {"task_names": ()}, splitting=SPLITTING.empty(1))
    blank = task_tables(scenario, none)
    blank["tasks"][:] = np.zeros((), blank["tasks"].dtype)
    return blank


def place(world: World, task_list: TaskList) -> np.ndarray:
    """Put tasks that are about to arrive into free rows; returns these in order of arrival, (n,).

    Tables grow if there are too few; then arrays that agents keep for each row are too short (`renewed`).
    """
    n = len(task_list.rows)
    _make_room(world, n)
    rows = np.array([world.free_tasks.pop() for _ in range(n)], np.int64)
    for name, values in task_tables(world.scenario, task_list).items():
        getattr(world.arrays, name)[rows] = values
    hold_inputs(world, rows, task_list)
    world.row_of.update(zip(task_list.rows["jeditaskid"].tolist(), rows.tolist(), strict=True))
    return rows


def _make_room(world: World, wanted: int) -> None:
    """Grow the tables until so many rows are free; lower rows are taken first."""
    old, missing = len(world.arrays.tasks), wanted - len(world.free_tasks)
    if missing > 0:
        world.lengthen_tasks(old + missing)
        new = np.arange(old, len(world.arrays.tasks))
        _clear(world, new)
        world.free_tasks[:0] = new[::-1].tolist()


def _clear(world: World, rows: np.ndarray) -> None:
    for name, values in _blank(world.scenario).items():
        getattr(world.arrays, name)[rows] = values
    forget_inputs(world, rows)


def give_back(world: World, rows: np.ndarray) -> None:
    """Free the rows of tasks that are over and of which no job is alive; input that awaits an attempt is dropped."""
    arrays = world.arrays
    for row in rows[arrays.tasks["n_retry"][rows] > 0].tolist():
        for level in np.flatnonzero(arrays.ram_levels["head"][row] >= 0).tolist():
            while arrays.ram_levels["head"][row, level] >= 0:
                pop_retry(arrays, row, level)
    for jeditaskid in arrays.tasks["jeditaskid"][rows].tolist():
        del world.row_of[jeditaskid]
    _clear(world, rows)
    world.free_tasks.extend(np.sort(rows)[::-1].tolist())


def by_arrival(arrays: Arrays, rows: np.ndarray) -> np.ndarray:
    """Rows of tasks in order of arrival, (n,)."""
    return rows[np.argsort(arrays.tasks["jeditaskid"][rows])]


def renewed(world: World, column: np.ndarray, rows: Sequence[int] | np.ndarray,
            blank: float | np.ndarray) -> np.ndarray:
    """An array with an element for each row of tasks, lengthened if need be, `blank` for the new tasks in `rows`."""
    short = len(world.arrays.tasks) - len(column)
    if short > 0:
        column = np.concatenate([column, np.full((short, *column.shape[1:]), blank, column.dtype)])
    column[rows] = blank
    return column


def in_order(arrays: Arrays) -> tuple[list[float], list[int]]:
    """Times of submission of all recorded jobs, s, ascending, and the row of the task of each."""
    order = np.argsort(arrays.trace["submitted_s"], kind="stable")
    return arrays.trace["submitted_s"][order].tolist(), (arrays.trace["jeditaskid"][order] - 1).tolist()


def recorded_of_tasks(arrays: Arrays) -> np.ndarray:
    """Number of recorded jobs of each task, (n_tasks,)."""
    return np.bincount(arrays.trace["jeditaskid"] - 1, minlength=len(arrays.tasks))


def kinds_of_tasks(arrays: Arrays, columns: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """A row of each kind of task with recorded jobs, and the kind of each task, (n_tasks,), -1 = it has none.

    Tasks are of one kind if they agree in all of `columns`.
    """
    rows, kind = np.flatnonzero(recorded_of_tasks(arrays)), np.full(len(arrays.tasks), -1)
    alike = np.zeros(len(rows), np.int64)
    for name in columns:                          # one after the other: NumPy takes ten times as long to sort records
        values, codes = np.unique(arrays.tasks[name][rows], return_inverse=True)
        _, first, alike = np.unique(alike * len(values) + codes, return_index=True, return_inverse=True)
    kind[rows] = alike
    return rows[first], kind


def busiest_hours(arrays: Arrays, of_tasks: np.ndarray) -> tuple[int, int]:
    """Most jobs, and most tasks with any, that are submitted in one hour; of_tasks: (n_tasks,) bool, at least one."""
    task, hour = arrays.trace["jeditaskid"] - 1, arrays.trace["submitted_s"] // HOUR
    counted = of_tasks[task]
    with_jobs = np.unique(np.stack([hour[counted], task[counted]]), axis=1)[0]
    return _most_frequent(hour[counted]), _most_frequent(with_jobs)


def _most_frequent(values: np.ndarray) -> int:
    """Occurrences of the most frequent value."""
    return int(np.unique(values, return_counts=True)[1].max())
