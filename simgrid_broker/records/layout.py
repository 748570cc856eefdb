"""Conversion of recorded tables from structured arrays to Arrow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from simgrid_broker import names
from simgrid_broker.schema import FIXED_WORDS, JOB_TIMES, TASK_TIMES, Column, Table

TIMES = {"jobs": JOB_TIMES, "tasks": TASK_TIMES}
"""Names of the transition times of a table."""

JOB_END_WORDS = tuple(status.word for status in names.JOB_ENDS)
"""PanDA's words for the final statuses of jobs."""

JOB_END_TIMES = tuple(f"{status}_s" for status in JOB_END_WORDS)
"""Columns of jobs with the time of the end."""

CODE = pa.dictionary(pa.int32(), pa.string())
"""Arrow type of a column of codes."""

BLOCK = 2000
"""Rows per block of a conversion: few enough for the processor's cache over all columns (four times faster)."""


@dataclass(frozen=True)
class Layout:
    """One recorded table with the words of its codes.

    words: Arrow array of different words by vocabulary; growing: lists of different words to which the run adds;
    places: of vocabularies in which a word has more than one code, the place of each code's word, (n_codes,).
    """

    table: Table
    times: tuple[str, ...]
    words: Mapping[str, pa.Array]
    growing: Mapping[str, list[str]] = field(default_factory=dict)
    places: Mapping[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def schema(self) -> pa.Schema:
        """Arrow schema of the file."""
        return arrow_schema(self.table)

    def arrow(self, rows: np.ndarray, times: np.ndarray) -> pa.Table:
        """Rows (n,) of the table's dtype and times (n, n_times) as an Arrow table.

        NaN and the code -1 become null. Raises ValueError for a code without a word.
        """
        columns = _gathered(rows, [column.name for column in self.table.recorded])
        arrays = [self._column(column, columns[column.name]) for column in self.table.recorded]
        moments = _gathered(_named(times, self.times), self.times)
        arrays += [_array(moments[name]) for name in self.times]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _column(self, column: Column, values: np.ndarray) -> pa.Array:
        if column.codes is None:
            return _array(values)
        grown = self.growing.get(column.codes)
        words = self.words[column.codes] if grown is None else text_array(grown)
        places = self.places.get(column.codes)
        n_codes = len(words) if places is None else len(places)
        if len(values) and not -1 <= values.min() <= values.max() < n_codes:
            unknown = values[(values < -1) | (values >= n_codes)][0]
            raise ValueError(f"{self.table.name}.{column.name}: code {unknown}, but {column.codes} has {n_codes} words")
        codes = values.astype(np.int32) if places is None else places[values]
        return pa.DictionaryArray.from_arrays(_array(codes, values >= 0), words)


def layout(table: Table, vocabularies: Mapping[str, Sequence[str]]) -> Layout:
    """Layout of a recorded table; raises ValueError for a missing vocabulary."""
    listed_by: dict[str, Sequence[str]] = {**vocabularies, **FIXED_WORDS, **table.words}
    needed = {column.codes for column in table.recorded if column.codes}
    if missing := sorted(needed - listed_by.keys()):
        raise ValueError(f"table {table.name} needs the vocabularies {', '.join(missing)}")
    growing = {code: listed for code in sorted(needed) if isinstance(listed := listed_by[code], list)}
    fixed = {code: listed_by[code] for code in sorted(needed - growing.keys())}
    different = {code: {word: place for place, word in enumerate(dict.fromkeys(listed))}
                 for code, listed in fixed.items()}
    words = {code: text_array(list(listed)) for code, listed in different.items()}
    # Parquet stores columns as text whose dictionary has a word twice
    places = {code: np.array([different[code][word] for word in listed], np.int32)
              for code, listed in fixed.items() if len(different[code]) < len(listed)}
    return Layout(table, TIMES.get(table.name, ()), words, growing, places)


def arrow_schema(table: Table) -> pa.Schema:
    """Arrow schema of a recorded table; each field carries unit, description and source."""
    fields = [_field(column) for column in table.recorded]
    fields += [_time_field(time, table) for time in TIMES.get(table.name, ())]
    return pa.schema(fields, {"table": table.name, "row": table.row})


def _field(column: Column) -> pa.Field:
    """Field of a column; one without codes and NaN is never null, which is written and read faster if it is said."""
    kind = CODE if column.codes else pa.from_numpy_dtype(np.dtype(column.dtype))
    about = {"unit": column.unit, "description": column.description, "source": column.source}
    return pa.field(column.name, kind, pa.types.is_dictionary(kind) or pa.types.is_floating(kind), about)


def _time_field(name: str, table: Table) -> pa.Field:
    status = name.removesuffix("_s")
    about = {"unit": "s", "description": f"When the {table.row.split()[-1]} last became {status}; null = never",
             "source": "simulator"}
    return pa.field(name, pa.float64(), metadata=about)


def _named(times: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Times (n, n_times) as a structured array (n,) without copying."""
    return times.view([(name, "f8") for name in names])[:, 0] if names else times


def text_array(texts: Sequence[str]) -> pa.StringArray:
    """Texts as an Arrow array, made of its buffers as `_array` makes it."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def _array(values: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    """Values as an Arrow array of their buffers, where they are `valid`, by default all but NaN.

    It shares their memory. `pa.array` would take a third of a second once, to import pandas, which tells it whether
    values are a Series.
    """
    if valid is None and values.dtype.kind == "f":
        valid = ~np.isnan(values)
    held = np.packbits(values, bitorder="little") if values.dtype == bool else values
    validity = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [validity, pa.py_buffer(held)])


def _gathered(rows: np.ndarray, names) -> dict[str, np.ndarray]:
    """The named columns of a structured array, each contiguous."""
    columns = {name: np.empty(len(rows), rows.dtype[name]) for name in names}
    for first in range(0, len(rows), BLOCK):
        block = rows[first:first + BLOCK]
        for name, column in columns.items():
            column[first:first + BLOCK] = block[name]
    return columns
