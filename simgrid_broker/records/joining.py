"""`JoinedFile`: Parquet files appended to one another as they are, with one footer for all."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from simgrid_broker.records.footer import I64, LIST, STRUCT, Struct, decoded, encoded

MAGIC = b"PAR1"
"""First and last bytes of a Parquet file; before the last four bytes stands the length of the footer in four bytes."""

N_ROWS, ROW_GROUPS = 3, 4
"""Fields of a footer (FileMetaData)."""

COLUMNS, GROUP_OFFSET = 1, 5
"""Fields of a row group (RowGroup)."""

CHUNK_OFFSET, DESCRIPTION, PAGE_OFFSETS = 2, 3, (9, 10, 11)
"""Fields of a column of a row group (ColumnChunk) and of its description (ColumnMetaData); offset 0 = not stated."""


class JoinedFile:
    """A file that grows by the row groups of others, and ends byte by byte as one writer would have written it.

    n_files: how many files it holds. Methods may raise OSError, after which only `discard` is allowed.
    """

    def __init__(self, path: Path):
        self.path = path
        self.n_files = 0
        self._n_rows = 0
        self._groups: list[bytes] = []
        self._footer: Struct = {}

    def append(self, file: Path) -> None:
        """Append the row groups of a Parquet file; all files have one schema."""
        with open(file, "rb") as source, open(self.path, "ab" if self.n_files else "wb") as target:
            self._footer, end = _footer_of(source)
            source.seek(len(MAGIC) if self.n_files else 0)
            shift = target.tell() - source.tell()
            shutil.copyfileobj(source, target, 1 << 20)
            target.truncate(end + shift)
        self._n_rows += self._footer[N_ROWS][1]
        self._groups += [_shifted(group, shift) for group in self._footer[ROW_GROUPS][1][1]]
        self.n_files += 1

    def finish(self) -> None:
        """Complete the file with its footer."""
        ours = {N_ROWS: (I64, self._n_rows), ROW_GROUPS: (LIST, (STRUCT, self._groups))}
        footer = encoded(STRUCT, self._footer | ours)
        with open(self.path, "ab") as target:
            target.write(footer + len(footer).to_bytes(4, "little") + MAGIC)

    def discard(self) -> None:
        """Delete the file; appending begins again."""
        self.path.unlink(missing_ok=True)
        self.n_files = self._n_rows = 0
        self._groups.clear()


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
