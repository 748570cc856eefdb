"""The files of one table during a run: a buffer of rows, a folder of complete parts, and their merging into one file.

During the run `<name>.parquet` is a folder of part files, each renamed into it when it is complete; the first part has
no rows, so that the folder is readable from the start. A closed table is one file. Temporary files are next to the
folder, never in it. Every step depends only on numbers of rows, so equal rows give equal bytes.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simgrid_broker.records.layout import Layout

FIRST_PARTS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Fractions of the first batch at which parts are written, so that a killed run keeps short tables."""


class TableFiles:
    """Buffer and files of one table; every method may raise OSError, which keeps the buffered rows."""

    def __init__(self, layout: Layout, folder: Path, batch_rows: int):
        self.layout = layout
        self.path = folder / f"{layout.table.name}.parquet"
        self.batch_rows = batch_rows
        self.kept_rows = 0
        self.n_parts = 0
        self._early = [rows for f in FIRST_PARTS if (rows := int(f * batch_rows)) > 0]
        self._filled = 0
        self._rows = np.empty(batch_rows, layout.table.dtype)
        self._times = np.empty((batch_rows, len(layout.times)))
        self.path.mkdir()
        self._write_part()

    def add(self, rows: np.ndarray | Mapping[str, np.ndarray], times: np.ndarray | None) -> None:
        """Add rows (n,) and times (n, n_times); parts are written when they are complete."""
        rows, times = self._checked(rows, times)
        done = 0
        while done < len(rows):
            take = min(len(rows) - done, self._rows_to_part())
            here, there = slice(self._filled, self._filled + take), slice(done, done + take)
            # as raw bytes, because NumPy copies structured rows field by field, five times slower
            raw = f"V{self._rows.dtype.itemsize}"
            self._rows.view(raw)[here] = rows[there].view(raw)
            self._times[here] = times[there]
            self._filled += take
            done += take
            if self._rows_to_part() == 0:
                self._write_part()

    def finish(self) -> None:
        """Write the buffered rows and merge all parts into one file."""
        if self._filled:
            self._write_part()
        merged = self._temporary("merging")
        try:
            with pq.ParquetWriter(merged, self.layout.schema, **writer_options(self.layout.schema)) as writer:
                for batch in self._batches():
                    writer.write_table(batch, row_group_size=self.batch_rows)
        except BaseException:
            merged.unlink(missing_ok=True)
            raise
        parts = self._temporary("parts")
        self.path.rename(parts)
        merged.rename(self.path)
        shutil.rmtree(parts)

    def _rows_to_part(self) -> int:
        total = self.kept_rows + self._filled
        until = next((rows for rows in self._early if rows > self.kept_rows), None)
        if until is None:
            until = (self.kept_rows // self.batch_rows + 1) * self.batch_rows
        return until - total

    def _checked(self, rows, times) -> tuple[np.ndarray, np.ndarray]:
        """Rows in the dtype of the table, and their times; raises ValueError if they do not fit the table."""
        dtype, name = self._rows.dtype, self.layout.table.name
        if not isinstance(rows, np.ndarray) or rows.dtype != dtype:
            rows = _rows_of(rows, self.layout)
        if times is None:
            times = np.empty((len(rows), 0))
        if times.shape != (len(rows), len(self.layout.times)):
            raise ValueError(f"{name}: {len(rows)} rows with times of shape {times.shape}; "
                             f"each row has {len(self.layout.times)} times")
        return rows, times

    def _write_part(self) -> None:
        table = self.layout.arrow(self._rows[:self._filled], self._times[:self._filled])
        part = self._temporary("writing")
        try:
            with pq.ParquetWriter(part, self.layout.schema, **writer_options(self.layout.schema, "none")) as writer:
                writer.write_table(table, row_group_size=self.batch_rows)
            os.replace(part, self.path / f"part-{self.n_parts:05d}.parquet")
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        self.n_parts += 1
        self.kept_rows += self._filled
        self._filled = 0

    def _batches(self) -> Iterator[pa.Table]:
        """The rows of all parts, in order, in complete batches except the last."""
        pending, n_rows = [], 0
        for part in sorted(self.path.glob("part-*.parquet")):
            pending.append(pq.ParquetFile(part).read())
            n_rows += len(pending[-1])
            if n_rows >= self.batch_rows:
                yield pa.concat_tables(pending).unify_dictionaries().combine_chunks()
                pending, n_rows = [], 0
        if pending:
            yield pa.concat_tables(pending).unify_dictionaries().combine_chunks()

    def _temporary(self, what: str) -> Path:
        """A path next to the table that readers ignore."""
        return self.path.with_name(f".{self.path.name}.{what}")


def writer_options(schema: pa.Schema, compression: str = "snappy") -> dict[str, object]:
    """Settings of the Parquet writer: dictionaries for codes, byte planes for floats, differences for integers.

    Minimum and maximum are kept only for the first column, by which the rows are nearly sorted. Measured on job rows:
    0.5 microseconds and 140 bytes per row; zstd takes twice the time for 7 % fewer bytes, dictionaries for numbers
    three times the time for more bytes, statistics of all columns 20 % more time.
    """
    words = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    coding = {field.name: "BYTE_STREAM_SPLIT" if pa.types.is_floating(field.type) else "DELTA_BINARY_PACKED"
              for field in schema if field.name not in words}
    return {"compression": compression, "use_dictionary": words, "column_encoding": coding,
            "write_statistics": [schema.names[0]]}


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
