"""The files of one table: a folder of complete parts during the run, one file afterwards.

During the run `<name>.parquet` is a folder of part files, each renamed into it when it is complete. A part is a batch
of rows; the first is there from the start, without rows, and that of the batch that is being filled is replaced now and
then as it grows. When the table is closed, the parts are appended to one another as they are, with one footer for all,
in the file that takes the folder's place. Temporary files are next to the folder, never in it.

Footers are trees in Thrift's compact protocol, which pyarrow can read but not write; reading all rows and writing them
again with pyarrow costs 9 % of a run. Sources: Apache Parquet, `parquet.thrift`; Apache Thrift, compact protocol.
"""

import os
import shutil
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simgrid_broker.records.layout import Layout

MAGIC = b"PAR1"
"""First and last bytes of a Parquet file; before the last four bytes stands the length of the footer in four bytes."""

N_ROWS, ROW_GROUPS = 3, 4
"""Fields of a footer (FileMetaData)."""

COLUMNS, GROUP_OFFSET = 1, 5
"""Fields of a row group (RowGroup)."""

CHUNK_OFFSET, DESCRIPTION, PAGE_OFFSETS = 2, 3, (9, 10, 11)
"""Fields of a column of a row group (ColumnChunk) and of its description (ColumnMetaData); offset 0 = not stated."""

TRUE, FALSE, BYTE, I16, I32, I64, BINARY, LIST, STRUCT = 1, 2, 3, 4, 5, 6, 8, 9, 12
"""Kinds of values in footers; doubles, sets and maps do not occur."""

Struct = dict[int, tuple[int, Any]]
"""Kind and value by field number, in the order of the file; the value of a list is the kind of its elements, and them.
"""


def join_files(files: Iterable[Path], target: Path) -> None:
    """Append the row groups of Parquet files of one schema, so that `target` ends as if one writer had written it."""
    groups, n_rows = list[bytes](), 0
    footer: Struct = {}
    with open(target, "wb") as whole:
        for file in files:
            with open(file, "rb") as source:
                footer, end = _footer_of(source)
                source.seek(len(MAGIC) if groups else 0)
                shift = whole.tell() - source.tell()
                shutil.copyfileobj(source, whole, 1 << 20)
            whole.seek(end + shift)
            whole.truncate()
            n_rows += footer[N_ROWS][1]
            groups += [_shifted(group, shift) for group in footer[ROW_GROUPS][1][1]]
        ours = {N_ROWS: (I64, n_rows), ROW_GROUPS: (LIST, (STRUCT, groups))}
        tail = encoded(STRUCT, footer | ours)
        whole.write(tail + len(tail).to_bytes(4, "little") + MAGIC)


def _footer_of(file: BinaryIO) -> tuple[Struct, int]:
    """The footer of a Parquet file, and where it begins."""
    end = file.seek(-4 - len(MAGIC), os.SEEK_END)
    begin = end - int.from_bytes(file.read(4), "little")
    file.seek(begin)
    return decoded(file.read(end - begin)), begin


def _shifted(group: Struct, shift: int) -> bytes:
    """A row group `shift` bytes later in a file, encoded."""
    _shift(group, [GROUP_OFFSET], shift)
    for chunk in group[COLUMNS][1][1]:
        _shift(chunk, [CHUNK_OFFSET], shift)
        _shift(chunk[DESCRIPTION][1], PAGE_OFFSETS, shift)
    return encoded(STRUCT, group)


def _shift(struct: Struct, fields: Iterable[int], shift: int) -> None:
    for field in fields:
        kind, offset = struct.get(field, (I64, 0))
        if offset:
            struct[field] = kind, offset + shift


def decoded(footer: bytes) -> Struct:
    """The struct that `footer` holds; raises ValueError for a kind of value that footers do not have."""
    return _read(BytesIO(footer), STRUCT)


def encoded(kind: int, value: Any) -> bytes:
    """A value as bytes; a struct can also be given as the bytes to which it was encoded before."""
    if kind == STRUCT:
        return value if isinstance(value, bytes) else _encoded_fields(value)
    if kind in (I16, I32, I64):
        return _varint(value << 1 if value >= 0 else -value * 2 - 1)
    if kind == BINARY:
        return _varint(len(value)) + value
    if kind == LIST:
        inner, values = value
        head = bytes([len(values) << 4 | inner]) if len(values) < 15 else bytes([0xF0 | inner]) + _varint(len(values))
        return head + b"".join(encoded(inner, one) for one in values)
    return bytes([value]) if kind == BYTE else b""


def _encoded_fields(fields: Struct) -> bytes:
    pieces, last = [], 0
    for number, (kind, value) in fields.items():
        step = number - last
        pieces.append(bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + encoded(I16, number))
        pieces.append(encoded(kind, value))
        last = number
    return b"".join(pieces) + b"\0"


def _varint(number: int) -> bytes:
    septets = bytearray()
    while number > 127:
        septets.append(number & 127 | 128)
        number >>= 7
    return bytes(septets) + bytes([number])


def _read(source: BytesIO, kind: int) -> Any:
    if kind == STRUCT:
        return _read_fields(source)
    if kind in (I16, I32, I64):
        number = _read_varint(source)
        return number >> 1 ^ -(number & 1)
    if kind == BINARY:
        return source.read(_read_varint(source))
    if kind == LIST:
        head = source.read(1)[0]
        n_values = head >> 4 if head < 0xF0 else _read_varint(source)
        return head & 15, [_read(source, head & 15) for _ in range(n_values)]
    if kind in (TRUE, FALSE):
        return kind == TRUE
    if kind == BYTE:
        return source.read(1)[0]
    raise ValueError(f"a footer has no values of kind {kind}")


def _read_fields(source: BytesIO) -> Struct:
    fields: Struct = {}
    number = 0
    while head := source.read(1)[0]:
        number = number + (head >> 4) if head >> 4 else _read(source, I16)
        fields[number] = head & 15, _read(source, head & 15)
    return fields


def _read_varint(source: BytesIO) -> int:
    number = shift = 0
    while (byte := source.read(1)[0]) > 127:
        number |= (byte & 127) << shift
        shift += 7
    return number | byte << shift


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
        self._number = self._filled = self._handed_out = 0
        self._begin()

    def add(self, rows: np.ndarray | Mapping[str, np.ndarray], times: np.ndarray | None) -> Iterator[Batch]:
        """Copy rows (n,) and times (n, n_times), and hand out the batches that they complete.

        Raises ValueError for rows that do not fit the table.
        """
        rows, times = self._checked(rows, times)
        done = 0
        while done < len(rows):
            take = min(len(rows) - done, self.batch_rows - self._filled)
            self._copy(rows[done:done + take], None if times is None else times[done:done + take])
            done += take
            if self._filled == self.batch_rows:
                yield self._complete()

    def grown(self) -> Batch | None:
        """The rows that are not in a complete batch, if there are more than when they were last handed out."""
        if self._filled == self._handed_out:
            return None
        self._handed_out = self._filled
        return self.rest()

    def rest(self) -> Batch:
        """The rows that are not in a complete batch."""
        return Batch(self._number, self._rows[:self._filled], self._times[:self._filled])

    def _begin(self) -> None:
        self._filled = self._handed_out = 0
        self._rows = np.empty(self.batch_rows, self.layout.table.dtype)
        # as raw bytes, because NumPy copies structured rows field by field, five times slower
        self._raw = self._rows.view(f"V{self._rows.dtype.itemsize}")
        self._times = np.empty((self.batch_rows, len(self.layout.times)))

    def _complete(self) -> Batch:
        batch = self.rest()
        self._number += 1
        self._begin()
        return batch

    def _copy(self, rows: np.ndarray, times: np.ndarray | None) -> None:
        here = slice(self._filled, self._filled + len(rows))
        self._raw[here] = rows.view(self._raw.dtype)
        if times is not None:
            self._times[here] = times
        self._filled = here.stop

    def _checked(self, rows, times) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows in the dtype of the table, and their times; raises ValueError if they do not fit the table."""
        dtype, name = self.layout.table.dtype, self.layout.table.name
        if not isinstance(rows, np.ndarray) or rows.dtype != dtype:
            rows = _rows_of(rows, self.layout)
        shape = (len(rows), 0) if times is None else times.shape
        if shape != (len(rows), len(self.layout.times)):
            raise ValueError(f"{name}: {len(rows)} rows with times of shape {shape}; "
                             f"each row has {len(self.layout.times)} times")
        return rows, times


def _rows_of(columns, layout: Layout) -> np.ndarray:
    """Columns by name (mapping or structured array) as rows of the table.

    Columns that are not recorded are optional; raises ValueError for missing or unknown columns.
    """
    table, names = layout.table, {column.name for column in layout.table.columns}
    given = set(columns.dtype.names or () if isinstance(columns, np.ndarray) else columns)
    recorded = {column.name for column in table.recorded}
    if recorded - given or given - names:
        raise ValueError(f"{table.name}: missing columns {sorted(recorded - given)}, "
                         f"unknown columns {sorted(given - names)}")
    n_rows = len(columns) if isinstance(columns, np.ndarray) else len(next(iter(columns.values())))
    rows = table.empty(n_rows)
    for name in sorted(given):
        rows[name] = columns[name]
    return rows


class TableFiles:
    """Buffer and files of one table.

    waiting: batches to be written, in order; kept_rows: rows in complete parts. The methods, called in any thread, one
    at a time, may raise OSError; then the batches wait for `finish`, which can be called again.
    """

    def __init__(self, layout: Layout, folder: Path, batch_rows: int):
        self.layout = layout
        self.path = folder / f"{layout.table.name}.parquet"
        self.buffer = TableBuffer(layout, batch_rows)
        self.waiting: deque[Batch] = deque()
        self.kept_rows = 0
        self._n_parts = 0
        self._refused: OSError | None = None
        self.path.mkdir()
        self._write(self.buffer.rest())

    def write_waiting(self) -> None:
        """Write all batches that wait."""
        if self._refused is not None:
            raise self._refused
        try:
            while self.waiting:
                self._write(self.waiting[0])
                self.waiting.popleft()
        except OSError as error:
            self._refused = error
            raise

    def finish(self) -> None:
        """Write all rows that are left, and put one file in the place of the folder."""
        self._refused = None
        self.write_waiting()
        if self._end(self.buffer.rest()) > self.kept_rows:
            self._write(self.buffer.rest())
        parts = self._temporary("parts")
        whole = parts / self._part(0).name if self._n_parts == 1 else self._joined()
        self.path.rename(parts)
        whole.rename(self.path)
        shutil.rmtree(parts)

    def _write(self, batch: Batch) -> None:
        """Write a batch as a part, in the place of one with fewer of its rows."""
        part, schema = self._temporary("writing"), self.layout.schema
        try:
            if len(batch.rows):
                with pq.ParquetWriter(part, schema, **writer_options(schema)) as writer:
                    table = self.layout.arrow(batch.rows, batch.times)
                    writer.write_table(table, row_group_size=self.buffer.batch_rows)
            else:
                part.write_bytes(file_without_rows(schema.serialize().to_pybytes()))
            os.replace(part, self._part(batch.number))
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        self._n_parts = batch.number + 1
        self.kept_rows = self._end(batch)

    def _joined(self) -> Path:
        """The path of a file with the rows of all parts."""
        whole = self._temporary("joining")
        try:
            join_files(map(self._part, range(self._n_parts)), whole)
        except BaseException:
            whole.unlink(missing_ok=True)                       # a full disk needs the space
            raise
        return whole

    def _end(self, batch: Batch) -> int:
        """Number of rows of the table up to the end of a batch."""
        return batch.number * self.buffer.batch_rows + len(batch.rows)

    def _part(self, number: int) -> Path:
        return self.path / f"part-{number:05d}.parquet"

    def _temporary(self, what: str) -> Path:
        """A path next to the table that readers ignore."""
        return self.path.with_name(f".{self.path.name}.{what}")


@cache
def file_without_rows(description: bytes) -> bytes:
    """A Parquet file of a table without rows, made once, as all tables of many short runs begin with one.

    description: the schema, serialized, because schemas that differ in the descriptions of fields alone are equal.
    """
    file, schema = BytesIO(), pa.ipc.read_schema(pa.py_buffer(description))
    pq.ParquetWriter(file, schema, **writer_options(schema)).close()
    return file.getvalue()


def writer_options(schema: pa.Schema) -> dict[str, object]:
    """Settings of the Parquet writer: dictionaries for codes, byte planes for floats, differences for integers.

    Minimum and maximum are kept only for the first column, by which the rows are nearly sorted. Measured on job rows:
    0.5 microseconds and 75 bytes per row; zstd takes twice the time for 7 % fewer bytes, dictionaries for numbers
    three times the time for more bytes, statistics of all columns 20 % more time, and 1024 values at a time, pyarrow's
    default, 15 % more time for the same bytes.
    """
    words = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    coding = {field.name: "BYTE_STREAM_SPLIT" if pa.types.is_floating(field.type) else "DELTA_BINARY_PACKED"
              for field in schema if pa.types.is_floating(field.type) or pa.types.is_integer(field.type)}
    return {"compression": "snappy", "use_dictionary": words, "column_encoding": coding,
            "write_statistics": [schema.names[0]], "write_batch_size": 8192}
