"""The tasks that have arrived and are not over: the rows that agents look through."""

from collections.abc import Iterable
from functools import cache

import numpy as np

from simgrid_broker.names import TaskStatus
from simgrid_broker.world.world import World


class LiveTasks:
    """Rows of the live tasks in order of arrival."""

    def __init__(self, world: World):
        self.world = world
        self.rows = np.zeros(0, np.int64)

    def add(self, rows: Iterable[int]) -> None:
        """Append tasks that arrive."""
        self.rows = np.concatenate([self.rows, np.asarray(rows, np.int64)])

    def bring_back(self, row: int) -> None:
        """Put a task that was over back in its old place."""
        if row not in self.rows:
            self.rows = np.insert(self.rows, np.searchsorted(self.rows, row), row)

    def remove(self, rows: Iterable[int]) -> None:
        """Remove tasks that are over."""
        over = np.zeros(len(self.world.arrays.tasks), bool)
        over[np.asarray(rows, np.int64)] = True
        self.rows = self.rows[~over[self.rows]]

    def in_status(self, *statuses: int) -> np.ndarray:
        """Rows of the live tasks in any of these statuses."""
        return self.rows[_wanted(statuses)[self.world.arrays.tasks["status"][self.rows]]]


@cache
def _wanted(statuses: tuple[int, ...]) -> np.ndarray:
    """Whether each status is one of some; np.isin takes ten times as long on few rows."""
    return np.isin(np.arange(len(TaskStatus)), statuses)
