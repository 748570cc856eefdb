"""Footers of Parquet files as trees, read and written in Thrift's compact protocol; pyarrow can only read them.

Sources: Apache Parquet, `parquet.thrift`; Apache Thrift, compact protocol.
"""

from io import BytesIO
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, BINARY, LIST, STRUCT = 1, 2, 3, 4, 5, 6, 8, 9, 12
"""Kinds of values in footers; doubles, sets and maps do not occur."""

Struct = dict[int, tuple[int, Any]]
"""Kind and value by field number, in the order of the file; the value of a list is the kind of its elements, and them.
"""


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
