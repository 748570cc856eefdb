"""Atomic writing of small files, of tables as CSV, and bounded reading of files that a user names."""

import errno
import os
import re
import stat
from contextlib import suppress
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
    """Write a pandas DataFrame as CSV, formulas in cells of text behind an apostrophe; raises OutputError."""
    texts = {name: column.map(_as_text) for name, column in table.items() if column.dtype.kind not in "biuf"}
    return write_whole(path, table.assign(**texts).rename(columns=_as_text).to_csv(index=False, lineterminator="\n"))


def _as_text(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def read_bytes(path: Path, most: int = -1) -> bytes:
    """The bytes of a file or pipe; raises OSError for a device, which never ends, and for more than `most` bytes."""
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(errno.ENODEV, "it is a device, not a file")
        content = file.read(most if most < 0 else most + 1)
    if 0 <= most < len(content):
        raise OSError(errno.EFBIG, f"it holds more than {most >> 20} MiB")
    return content
