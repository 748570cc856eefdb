"""Atomic writing of small files, of tables as CSV, and bounded reading of files that a user names."""

import csv
import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from io import StringIO
from pathlib import Path
from typing import Any

from simgrid_broker.errors import OutputError

MANIFEST = "manifest.json"
"""File in the folder of a run that says what it was, its scenario included."""


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write `content` atomically to `path`, text as UTF-8, making its folder; returns the path. Raises OutputError."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.writing")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise OutputError(f"cannot write {path}: {error}") from error
    return path


FORMULA = re.compile(r"[=@\t\r]|[+-](?!\w+$)")
"""Beginning of a text that a spreadsheet takes for a formula; `-cap_rt`, a rule's tag, calls nothing."""


def write_csv(path: Path, table: Any) -> Path:
    """Write a pandas DataFrame as CSV, formulas in cells of text behind an apostrophe; raises OutputError.

    The bytes are those of pandas' `to_csv`, which takes four times as long for the small tables of a report.
    """
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(map(_as_text, table.columns))
    rows.writerows(zip(*(_cells(column) for _, column in table.items()), strict=True))
    return write_whole(path, text.getvalue())


def _cells(column: Any) -> list:
    """The cells of a column of a DataFrame as texts and numbers, empty where it has no value."""
    kind = column.dtype.kind
    values = column.to_numpy().astype(str) if kind == "f" else column.to_numpy(object).copy()
    values[column.isna().to_numpy()] = ""
    cells = values.tolist()
    if kind in "fiub":
        return cells
    quoted = {text: _as_text(text) for text in {*cells} if isinstance(text, str)}
    return [quoted.get(cell, cell) for cell in cells]


def _as_text(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


READABLE = "SIMGRID_BROKER_READ"
"""Environment variable with the only folders of which this process may read files that a user names."""
_readable: ContextVar[tuple[Path, ...] | None] = ContextVar("readable", default=None)


@contextmanager
def reading_only(folders: Iterable[Path]) -> Iterator[None]:
    """Within, `read_bytes` refuses files outside some folders, also those reached by a link."""
    before = _readable.set(tuple(Path(folder).resolve() for folder in folders))
    try:
        yield
    finally:
        _readable.reset(before)


def refuse_outside(path: Path) -> None:
    """Raise OSError for a path outside the folders of which files may be read, those of READABLE and `reading_only`."""
    named, limits = os.environ.get(READABLE), _readable.get()
    by_user = None if named is None else tuple(Path(folder).resolve() for folder in named.split(os.pathsep))
    for folders in (by_user, limits):
        if folders is not None and not any(Path(path).resolve().is_relative_to(folder) for folder in folders):
            raise OSError(errno.EACCES, "is outside the folders of which files may be read")


def names_in(folder: Path, pattern: str = "*") -> list[str]:
    """Names of the files in a folder, none of one that does not exist or may not be read."""
    try:
        refuse_outside(folder)
    except OSError:
        return []
    return sorted(path.name for path in folder.glob(pattern)) if folder.is_dir() else []


def read_bytes(path: Path, most: int = -1) -> bytes:
    """The bytes of a file or pipe.

    Raises OSError for a device, which never ends, for more than `most` bytes, and as `refuse_outside`.
    """
    refuse_outside(path)
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(errno.ENODEV, "it is a device, not a file")
        content = file.read(most if most < 0 else most + 1)
    if 0 <= most < len(content):
        raise OSError(errno.EFBIG, f"it holds more than {most >> 20} MiB")
    return content
