"""Arrays that are the same for many tasks, kept as rows of one table."""

from typing import Any

import numpy as np


class Rows:
    """Different arrays of one length as the rows of a table, (room, n)."""

    def __init__(self, n: int, dtype: Any):
        self.table = np.zeros((16, n), dtype)
        self.number: dict[int, tuple[int, np.ndarray]] = {}     # the arrays are kept, so that no other gets their id

    def row_of(self, array: np.ndarray) -> int:
        """Row of an array, which is not to be changed; the table is replaced when it grows."""
        found = self.number.get(id(array))
        if found is None:
            if len(self.number) == len(self.table):
                self.table = np.concatenate([self.table, np.zeros_like(self.table)])
            found = self.number[id(array)] = len(self.number), array
            self.table[found[0]] = array
        return found[0]


class EqualRows(Rows):
    """As `Rows`, where equal arrays have one row."""

    def __init__(self, n: int, dtype: Any):
        super().__init__(n, dtype)
        self.first: dict[bytes, np.ndarray] = {}

    def row_of(self, array: np.ndarray) -> int:
        """As for `Rows`."""
        return super().row_of(self.first.setdefault(array.tobytes(), array))
