"""Points of a study: the settings and the seed of one run, its folder, and what became of it."""

import json
import os
import platform
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from simgrid_broker.errors import InputFileError
from simgrid_broker.records import read_manifest, write_whole
from simgrid_broker.records.manifest import MANIFEST

DONE, FAILED, OPEN = "done", "failed", "open"
"""States of a point: open = not run yet, or interrupted."""


@dataclass(frozen=True)
class Point:
    """One run of a study: a scenario of the study by its position, settings by dotted key laid over it, and the seed.

    group: points that differ in the seed only; a folder of the study.
    """

    group: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    scenario: int = 0

    def folder(self, study: Path) -> Path:
        """The folder of the run."""
        return Path(study) / self.group / f"seed-{self.seed}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON has them."""
        return {"group": self.group, "seed": self.seed, "settings": dict(self.settings), "scenario": self.scenario}


def folder_name(text: str) -> str:
    """A text as the name of a folder: characters other than letters, digits, `_`, `.`, `+` and `-` become `-`."""
    return re.sub(r"[^\w.+-]+", "-", text).strip("-.") or "points"


def state_of(point: Point, study: Path) -> tuple[str, str]:
    """State of a point, and the message if it failed."""
    folder = point.folder(study)
    if _is_complete(folder):
        return DONE, ""
    message = _message_file(folder)
    return (FAILED, message.read_text(encoding="utf-8").rstrip()) if message.is_file() else (OPEN, "")


def unfinished_folder(point: Point, study: Path) -> Path:
    """A hidden folder next to that of the run, in which it is written until it is complete."""
    folder = point.folder(study)
    return folder.with_name(f".{folder.name}.{platform.node()}-{os.getpid()}")


def keep(written: Path, point: Point, study: Path) -> None:
    """Give a complete run its folder; one that was finished meanwhile by another worker stays."""
    folder = point.folder(study)
    if _is_complete(folder):
        shutil.rmtree(written)
        return
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(written, folder)
    _message_file(folder).unlink(missing_ok=True)


def keep_message(message: str, point: Point, study: Path) -> None:
    """Record why a point failed, in `seed-N.failed.txt` next to where its folder would be."""
    write_whole(_message_file(point.folder(study)), message + "\n")


def clear_unfinished(study: Path) -> None:
    """Delete what interrupted runs left."""
    for folder in Path(study).glob("*/.seed-*"):
        shutil.rmtree(folder, ignore_errors=True)


def same(value: Any) -> str:
    """A value as text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _is_complete(folder: Path) -> bool:
    try:
        written = (folder / MANIFEST).stat()
    except OSError:
        return False
    return _status(folder, written.st_mtime_ns) == "complete"


@lru_cache(maxsize=1 << 17)
def _status(folder: Path, written_ns: int) -> str:
    """Status of a run with a manifest of that moment, which is read once for each; empty if it cannot be read."""
    try:
        return str(read_manifest(folder)["status"])
    except InputFileError:
        return ""


def _message_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.failed.txt")
