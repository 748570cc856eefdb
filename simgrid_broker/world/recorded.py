"""The recorded jobs of a trace as a whole: in what order, how densely, and for which kinds of tasks they come."""

from collections.abc import Sequence

import numpy as np

from simgrid_broker.units import HOUR
from simgrid_broker.world.arrays import Arrays


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
    rows = np.flatnonzero(recorded_of_tasks(arrays))
    _, first, alike = np.unique(arrays.tasks[rows][list(columns)], return_index=True, return_inverse=True)
    kind = np.full(len(arrays.tasks), -1)
    kind[rows] = alike.ravel()
    return rows[first], kind


def busiest_hours(arrays: Arrays, of_tasks: np.ndarray) -> tuple[int, int]:
    """Most jobs, and most tasks with any, that are submitted in one hour; of_tasks: (n_tasks,) bool, at least one."""
    task, hour = arrays.trace["jeditaskid"] - 1, arrays.trace["submitted_s"] // HOUR
    counted = of_tasks[task]
    with_jobs = np.unique(np.stack([hour[counted], task[counted]]), axis=1)[0]
    return _most_frequent(hour[counted]), _most_frequent(with_jobs)


def _most_frequent(values: np.ndarray) -> int:
    """How often the most frequent value occurs."""
    return int(np.unique(values, return_counts=True)[1].max())
