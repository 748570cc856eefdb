"""What a column is, and what a table of columns can be asked for.

What lives here: `Column` and `Table`. What does not: the tables themselves (one module each beside this one) and
anything that fills or writes them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Column:
    """One column of one table, described once.

    `codes` names the vocabulary that integer codes of this column stand for (`queues`, `shares`, `job_status`, ...);
    `recorded` says whether the column reaches the Parquet file; `hidden` marks truth that no decision may see.
    """

    name: str
    dtype: str
    unit: str
    source: str
    description: str
    zero_means: str = "zero"
    codes: str | None = None
    recorded: bool = True
    hidden: bool = False


@dataclass(frozen=True)
class Table:
    """A table: its name, what one row is, and its columns in order."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @cached_property
    def dtype(self) -> np.dtype:
        """Structured dtype of one row, aligned, in the order of the columns."""
        return np.dtype([(column.name, column.dtype) for column in self.columns], align=True)

    @cached_property
    def recorded(self) -> tuple[Column, ...]:
        """The columns that reach the Parquet file."""
        return tuple(column for column in self.columns if column.recorded)

    def column(self, name: str) -> Column:
        """The column called `name`; raises KeyError if the table has none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"table {self.name} has no column {name!r}")

    def empty(self, rows: int) -> np.ndarray:
        """An array of `rows` zeroed rows."""
        return np.zeros(rows, self.dtype)
