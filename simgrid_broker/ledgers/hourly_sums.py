"""Sums over the cycles of agents, hour by hour: rows that are written once their hour is over."""

from collections.abc import Callable, Sequence

import numpy as np

from simgrid_broker.schema import Table
from simgrid_broker.units import HOUR


class HourlySums:
    """Sums of one hour by a key, rows of `table`: the begin of the hour, the columns of the key, then the sums.

    n_keys: columns of the key. A table grows by one row for each key and hour, however many cycles there are.
    """

    def __init__(self, table: Table, n_keys: int, write: Callable[[str, np.ndarray], None]):
        self.table, self.write = table, write
        self.key = [column.name for column in table.columns[:1 + n_keys]]
        self.begin_s = 0.0
        self.sums: dict[tuple, list[float]] = {}
        self.blocks: list[np.ndarray] = []

    def add(self, now: float, key: tuple, figures: Sequence[float]) -> None:
        """Add the figures of one cycle to those of its hour."""
        self._begin(now)
        known = self.sums.get(key)
        if known is None:
            self.sums[key] = [*figures]
            return
        for place, figure in enumerate(figures):
            known[place] += figure

    def add_rows(self, now: float, **columns: np.ndarray | int) -> None:
        """Add the figures of several keys, (n,) each."""
        self._begin(now)
        rows = self.table.empty(max(np.size(column) for column in columns.values()))
        for name, column in columns.items():
            rows[name] = column
        self.blocks.append(rows)

    def flush(self) -> None:
        """Write the hour that is open."""
        sums = np.array([(0.0, *key, *figures) for key, figures in self.sums.items()], self.table.dtype)
        rows = np.concatenate([sums, *self.blocks])
        rows["time_s"] = self.begin_s
        self.sums.clear()
        self.blocks.clear()
        if len(rows):
            self.write(self.table.name, self.table.summed(rows, self.key))

    def _begin(self, now: float) -> None:
        """Begin the hour of a moment, if it is another."""
        if now >= self.begin_s + HOUR:
            self.flush()
            self.begin_s = now - now % HOUR
