"""The tasks that have arrived and are not over: the rows that agents look through."""

from collections.abc import Iterable
from functools import cache

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import TaskStatus
from simgrid_broker.world.world import World

NEVER: tuple[list[int], np.ndarray] = [], np.zeros(0, np.int64)
"""A list that includes no changes."""


class LiveTasks:
    """Rows of the live tasks in order of arrival.

    changes: how often a task in each status was added or removed; lists: by statuses, with the changes that they
    include, those of status among them.
    """

    def __init__(self, world: World):
        self.world = world
        self.rows = np.zeros(0, np.int64)
        self.changes = [0] * len(TaskStatus)
        self.lists: dict[tuple[int, ...], tuple[list[int], np.ndarray]] = {}

    def add(self, rows: Iterable[int]) -> None:
        """Append tasks that arrive."""
        new = np.asarray(rows, np.int64)
        self.rows = np.concatenate([self.rows, new])
        self._note(new)

    def bring_back(self, row: int) -> None:
        """Put a task that was over back in its old place."""
        if row not in self.rows:
            self.rows = np.insert(self.rows, np.searchsorted(self.rows, row), row)
            self._note(np.array([row]))

    def remove(self, rows: Iterable[int]) -> None:
        """Remove tasks that are over."""
        gone = np.asarray(rows, np.int64)
        over = np.zeros(len(self.world.arrays.tasks), bool)
        over[gone] = True
        self.rows = self.rows[~over[self.rows]]
        self._note(gone)

    def _note(self, rows: np.ndarray) -> None:
        """Note that tasks were added or removed, which changes the lists of their statuses only."""
        for status in self.world.statuses[rows].tolist():
            self.changes[status] += 1

    def in_status(self, *statuses: int) -> np.ndarray:
        """Rows of the live tasks in any of these statuses; found again when a task has entered or left one of them."""
        moves, changes = self.world.status_changes, self.changes
        seen = [moves[status] + changes[status] for status in statuses]
        known, found = self.lists.get(statuses, NEVER)
        if known != seen:
            found = np.empty_like(self.rows)
            found = found[:find_in_status(self.world.statuses, self.rows, _wanted(statuses), found)]
            self.lists[statuses] = seen, found
        return found


@compiled
def find_in_status(statuses, rows, wanted, found):
    """Write the `rows` whose tasks are in a `wanted` status, (n_statuses,) bool, to `found`; returns their number.

    statuses: of the task in each row of the table, (n_tasks,).
    """
    n = 0
    for row in rows:
        found[n] = row
        n += wanted[statuses[row]]
    return n


@cache
def _wanted(statuses: tuple[int, ...]) -> np.ndarray:
    """Mask of statuses, (n_statuses,) bool, kept by their codes; np.isin takes ten times as long on few rows."""
    return np.isin(np.arange(len(TaskStatus)), statuses)
