"""Columns and tables: what each number of the simulator is called, measured in and filled from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Column:
    """One column of one table, described once.

    `codes` names the vocabulary that integer codes of this column refer to (`queues`, `shares`, `job_status`, ...);
    `recorded` says whether the column reaches the Parquet file; `hidden` marks truth that no decision may see; `seen`
    is the dtype in the view of a decision (`U`: the text), empty if no view has it, `seen_as` its name there if it has
    another; `none` is the value of what is unknown, if not 0; `unknown` says that 0 is, which decisions see as NaN.
    `key` names the attribute of the scenario's noun from which `of` takes the value (for a vocabulary of names, the
    name), and `back` makes of a stored value what is written; columns without are filled by the simulation.
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
    seen: str = ""
    seen_as: str = ""
    none: float | None = None
    unknown: bool = False
    key: str = ""
    of: Any = None
    back: Any = None


@dataclass(frozen=True)
class Table:
    """A table: its name, what one row is, and its columns in order; words: by the name of a vocabulary of its own."""

    name: str
    row: str
    columns: tuple[Column, ...]
    words: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)

    @cached_property
    def dtype(self) -> np.dtype:
        """Structured dtype of one row, aligned, in the order of the columns."""
        return np.dtype([(column.name, column.dtype) for column in self.columns], align=True)

    @cached_property
    def recorded(self) -> tuple[Column, ...]:
        """The columns that reach the Parquet file."""
        return tuple(column for column in self.columns if column.recorded)

    @cached_property
    def seen(self) -> tuple[Column, ...]:
        """The columns that the view of a decision has."""
        return tuple(column for column in self.columns if column.seen)

    def empty(self, rows: int) -> np.ndarray:
        """An array of `rows` zeroed rows."""
        return np.zeros(rows, self.dtype)

    def filled(self, nouns: Sequence, numbers: Mapping[str, Mapping[str, int]]) -> np.ndarray:
        """A row for each noun of the scenario; columns without `of` are 0.

        numbers: number of each member, by vocabulary, of the vocabularies that the scenario makes; None becomes -1.
        """
        rows = self.empty(len(nouns))
        for column in self.columns:
            if column.of is not None:
                values = [column.of(noun) for noun in nouns]
                known = numbers.get(column.codes or "")
                rows[column.name] = values if known is None else [known.get(value, -1) for value in values]
        return rows
