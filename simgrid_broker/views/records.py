"""Records of views: a view is a list of the columns of sheets that decisions see, and of columns of its own."""

from functools import cache
from typing import Any, ClassVar

import numpy as np

from simgrid_broker.schema.attribute import Column, Table
from simgrid_broker.schema.grid import LINK_NUMBERS, LINKS
from simgrid_broker.schema.queues import QUEUE_NUMBERS

UNKNOWN = {"running_of_type": -1, "queued_of_type": -1, "assigned_of_type": -1, "num_slots": -1,
           **{column.name: column.none for column in (*LINKS.seen, *LINK_NUMBERS, *QUEUE_NUMBERS)
              if column.none is not None}}
"""Value of a column that is not given, if not 0."""


def view(*parts: Table | Column | tuple[str, str]) -> np.dtype:
    """Dtype of the records of a view: columns that a table or a row of a sheet shows, and own ones, (name, dtype)."""
    columns: list[tuple[str, str]] = []
    for part in parts:
        if isinstance(part, tuple):
            columns.append(part)
        else:
            shown = part.seen if isinstance(part, Table) else (part,)
            columns += ((column.seen_as or column.name, column.seen) for column in shown)
    return np.dtype(columns)


def columns_seen(table: Table, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of a table's rows that decisions see, under the names that views have for them."""
    return {column.seen_as or column.name: rows[column.name] for column in table.seen}


def records(dtype: np.dtype, n: int, **columns) -> np.ndarray:
    """Rows of a dtype, (n,), from columns; what is left out is unknown or 0. Raises ValueError for an unknown name."""
    names = dtype.names or ()
    if unknown := set(columns) - set(names):
        raise ValueError(f"no column {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    rows = np.repeat(_unknown(dtype), n).view(dtype)
    for name, values in columns.items():
        rows[name] = values
    return rows


@cache
def _unknown(dtype: np.dtype) -> np.ndarray:
    """A row of which nothing is known, (1,), as bytes, which NumPy copies at once."""
    row = np.zeros(1, dtype)
    for name in dtype.names or ():
        row[name] = UNKNOWN.get(name, 0)
    return row.view(f"V{dtype.itemsize}")


class Candidates:
    """Candidates of a brokerage whose records, (n,) of `dtype`, have columns that are also attributes."""

    dtype: ClassVar[np.dtype]
    noun: ClassVar[str]

    def __getattr__(self, column: str) -> Any:
        """A column, (n,); raises AttributeError for an unknown one."""
        if column not in (self.dtype.names or ()):
            raise AttributeError(f"{self.noun} have no column {column!r}")
        values = vars(self)[column] = np.ascontiguousarray(vars(self)["records"][column])   # fields of records are slow
        return values
