"""`TableBuffer`: rows of one table collected into batches, each of which becomes a row group of its file."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from simgrid_broker.records.layout import Layout

EARLY = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Fractions at which the first batch is written before it is complete, so that a killed run keeps short tables."""


class Batch(NamedTuple):
    """Rows (n,) and times (n, n_times) of the batch `number`, from 0; a later one of this number holds them again."""

    number: int
    rows: np.ndarray
    times: np.ndarray


class TableBuffer:
    """The batch of a table that is being filled; rows that were handed out are not written to again."""

    def __init__(self, layout: Layout, batch_rows: int):
        self.layout = layout
        self.batch_rows = batch_rows
        self._number = 0
        self._early = [rows for f in EARLY if (rows := int(f * batch_rows)) > 0]
        self._begin()

    def add(self, rows: np.ndarray | Mapping[str, np.ndarray], times: np.ndarray | None) -> Iterator[Batch]:
        """Copy rows (n,) and times (n, n_times), and hand out the batches that are due, by numbers of rows alone.

        Raises ValueError for rows that do not fit the table.
        """
        rows, times = self._checked(rows, times)
        done = 0
        while done < len(rows):
            take = min(len(rows) - done, self.batch_rows - self._filled)
            self._copy(rows[done:done + take], times[done:done + take])
            done += take
            if self._filled == self.batch_rows:
                yield self._complete()
        yield from self._begun()

    def expect_the_end(self) -> None:
        """Hand out whole batches only, because the run is about to end."""
        self._early = []

    def rest(self) -> Batch:
        """The rows that are not in a complete batch."""
        return Batch(self._number, self._rows[:self._filled], self._times[:self._filled])

    def _begin(self) -> None:
        self._filled = 0
        self._rows = np.empty(self.batch_rows, self.layout.table.dtype)
        self._times = np.empty((self.batch_rows, len(self.layout.times)))

    def _complete(self) -> Batch:
        batch = self.rest()
        self._number += 1
        self._early = []
        self._begin()
        return batch

    def _begun(self) -> Iterator[Batch]:
        """The rows of the first batch up to the last fraction that they have passed since it was last handed out."""
        passed = [rows for rows in self._early if rows <= self._filled]
        del self._early[:len(passed)]
        if passed:
            yield Batch(self._number, self._rows[:passed[-1]], self._times[:passed[-1]])

    def _copy(self, rows: np.ndarray, times: np.ndarray) -> None:
        here = slice(self._filled, self._filled + len(rows))
        # as raw bytes, because NumPy copies structured rows field by field, five times slower
        raw = f"V{self._rows.dtype.itemsize}"
        self._rows.view(raw)[here] = rows.view(raw)
        self._times[here] = times
        self._filled = here.stop

    def _checked(self, rows, times) -> tuple[np.ndarray, np.ndarray]:
        """Rows in the dtype of the table, and their times; raises ValueError if they do not fit the table."""
        dtype, name = self.layout.table.dtype, self.layout.table.name
        if not isinstance(rows, np.ndarray) or rows.dtype != dtype:
            rows = _rows_of(rows, self.layout)
        if times is None:
            times = np.empty((len(rows), 0))
        if times.shape != (len(rows), len(self.layout.times)):
            raise ValueError(f"{name}: {len(rows)} rows with times of shape {times.shape}; "
                             f"each row has {len(self.layout.times)} times")
        return rows, times


def _rows_of(columns, layout: Layout) -> np.ndarray:
    """Columns by name (mapping or structured array) as rows of the table.

    Columns that are not recorded are optional; raises ValueError for missing or unknown columns.
    """
    table, known = layout.table, {column.name for column in layout.table.columns}
    given = set(columns.dtype.names or () if isinstance(columns, np.ndarray) else columns)
    recorded = {column.name for column in table.recorded}
    if recorded - given or given - known:
        raise ValueError(f"{table.name}: missing columns {sorted(recorded - given)}, "
                         f"unknown columns {sorted(given - known)}")
    n_rows = len(columns) if isinstance(columns, np.ndarray) else len(next(iter(columns.values())))
    rows = table.empty(n_rows)
    for name in sorted(given):
        rows[name] = columns[name]
    return rows
