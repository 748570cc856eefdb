"""Parquet files appended to one another as they are, with one footer for all.

Footers are trees in Thrift's compact protocol, which pyarrow can read but not write; reading all rows and writing them
again with pyarrow costs 9 % of a run. Sources: Apache Parquet, `parquet.thrift`; Apache Thrift, compact protocol.
"""

import os
import shutil
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

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
