"""Small files, written whole or not at all.

What lives here: one function for manifests, reports and plots. What does not: tables (`parts`).
"""

import os
from pathlib import Path

from simgrid_broker.errors import OutputError


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write `content` to `path`, making its folder if need be, and return the path; a reader never sees half of it.

    Text is written as UTF-8 with plain newlines. Raises OutputError if the disk refuses.
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.writing")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(beside, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error}") from error
    return path
