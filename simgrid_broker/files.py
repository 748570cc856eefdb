"""Atomic writing of small files."""

import os
from contextlib import suppress
from pathlib import Path

from simgrid_broker.errors import OutputError


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
