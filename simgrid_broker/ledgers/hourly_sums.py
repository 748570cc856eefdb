"""Sums over the cycles of agents, hour by hour: rows that are written once their hour is over."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from simgrid_broker.schema import Table
from simgrid_broker.units import HOUR

Group = tuple[tuple, Sequence[float]]
"""A key and its sums."""


def nothing() -> Iterable[Group]:
    """No sums but the added ones."""
    return ()


class HourlySums:
    """Sums of one hour by a key, rows of `table`: the begin of the hour, the columns of the key, then the sums.

    A table grows by one row for each key and hour, however many cycles there are. elsewhere: gives the sums of the hour
    that compiled code has counted, by other keys, and forgets them.
    """

    def __init__(self, table: Table, write: Callable[[str, np.ndarray], None],
                 elsewhere: Callable[[], Iterable[Group]] = nothing):
        self.table, self.write, self.elsewhere = table, write, elsewhere
        self.begin_s = 0.0
        self.sums: dict[tuple, list[float]] = {}

    def begin(self, now: float) -> None:
        """Begin the hour of a moment, if it is another."""
        if now >= self.begin_s + HOUR:
            self.flush()
            self.begin_s = now - now % HOUR

    def add(self, now: float, key: tuple, figures: Sequence[float]) -> None:
        """Add the figures of one cycle to those of its hour."""
        self.begin(now)
        known = self.sums.get(key)
        if known is None:
            self.sums[key] = [*figures]
            return
        for place, figure in enumerate(figures):
            known[place] += figure

    def flush(self) -> None:
        """Write the hour that is open, by key."""
        groups = sorted([*self.sums.items(), *self.elsewhere()])
        self.sums.clear()
        if groups:
            self.write(self.table.name, np.array([(self.begin_s, *key, *figures) for key, figures in groups],
                                                 self.table.dtype))
