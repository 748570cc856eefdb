"""The tasks that have arrived and are not over: the rows that agents look through."""

from collections.abc import Iterable
from functools import cache

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import TaskStatus
from simgrid_broker.world.world import World


class LiveTasks:
    """Rows of the live tasks in order of arrival; lists: by statuses, with the changes of status that they include."""

    def __init__(self, world: World):
        self.world = world
        self.rows = np.zeros(0, np.int64)
        self.lists: dict[tuple[int, ...], tuple[np.ndarray, list[int], np.ndarray]] = {}

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
        """Rows of the live tasks in any of these statuses; found again when a task has entered or left one of them."""
        changes = [self.world.status_changes[status] for status in statuses]
        of_rows, known, found = self.lists.get(statuses, (None, changes, self.rows))
        if of_rows is not self.rows or known != changes:
            found = np.empty_like(self.rows)
            found = found[:find_in_status(self.world.statuses, self.rows, _wanted(statuses), found)]
            self.lists[statuses] = self.rows, changes, found
        return found


@compiled
def find_in_status(statuses, rows, wanted, found):
    """Write those of `rows` whose tasks are in a `wanted` status, (n_status,) bool, to `found`; returns how many.

    statuses: of the task in each row of the table, (n_tasks,).
    """
    n = 0
    for row in rows:
        found[n] = row
        n += wanted[statuses[row]]
    return n


@cache
def _wanted(statuses: tuple[int, ...]) -> np.ndarray:
    """Whether each status is one of some; np.isin takes ten times as long on few rows."""
    return np.isin(np.arange(len(TaskStatus)), statuses)
