"""Folders of runs, `results/<scenario>/<run>/`, and their `manifest.json`: what a run was, and how far it came."""

import json
import math
import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path

import numpy as np
from pydantic_core import to_json

from simgrid_broker.errors import InputFileError, OutputError, Problem
from simgrid_broker.files import MANIFEST, write_whole
from simgrid_broker.schema import RECORDED, Column, Table

STATUSES = ("running", "complete", "interrupted", "failed")
"""Statuses of a run; a killed run stays `running`."""

ENTRY = ("name", "dtype", "unit", "source", "description", "zero_means", "codes")
"""Properties of the columns of a table that an agent declares."""

AS_WRITTEN = (str, int, bool, type(None))
"""Types of most values, which JSON writes as they are."""


def new_run_folder(results_root: Path, scenario_name: str, seed: int) -> Path:
    """Create and return `<results_root>/<scenario>/seed-<seed>`, or `seed-<seed>-2`, `-3`, ... if it exists.

    Unsuitable characters of the scenario's name become `-`. Raises OutputError.
    """
    name = re.sub(r"[^\w.+-]+", "-", scenario_name).strip("-.") or "scenario"
    number = 1
    while True:
        folder = Path(results_root) / name / (f"seed-{seed}" if number == 1 else f"seed-{seed}-{number}")
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            return folder
        except FileExistsError as error:
            if not folder.is_dir():
                raise OutputError(f"cannot make the folder {folder}: {error}") from error
            number += 1
        except OSError as error:
            raise OutputError(f"cannot make the folder {folder}: {error}") from error


def runs_near(path: Path, most: int = 10) -> tuple[str, ...]:
    """At most `most` runs below `path`, else below its parent or grandparent, sorted."""
    path = Path(path)
    for root in (path, *list(path.parents)[:2]):
        folders = {manifest.parent for depth in ("", "*/", "*/*/") for manifest in root.glob(depth + MANIFEST)}
        if folders:
            return tuple(str(folder) for folder in sorted(folders)[:most])
    return ()


def write_manifest(folder: Path, manifest: Mapping, lasting: Mapping[str, str] | None = None) -> Path:
    """Write `manifest` atomically as `folder/manifest.json` with sorted keys, and return its path.

    lasting: other entries, as `texts_of` gives them. NumPy values, tuples and paths become plain JSON; inf and NaN
    become text. Raises OutputError, and ValueError for a status that is not in STATUSES.
    """
    if manifest.get("status") not in STATUSES:
        raise ValueError(f"status {manifest.get('status')!r} is not one of {', '.join(STATUSES)}")
    texts = texts_of(manifest) | dict(lasting or {}) | _results()
    entries = ",\n".join(f" {json.dumps(name)}: {texts[name]}" for name in sorted(texts))
    return write_whole(Path(folder) / MANIFEST, f"{{\n{entries}\n}}\n")


@cache
def _results() -> dict[str, str]:
    """Columns of the tables of every run, by which a later version tells what this one wrote."""
    return texts_of({"results": {name: [column.name for column in table.recorded] for name, table in RECORDED.items()}})


def texts_of(entries: Mapping) -> dict[str, str]:
    """Entries of a manifest as they are written, so that what does not change during a run is translated once."""
    return {str(name): to_json(_plain(value), indent=1).decode().replace("\n", "\n ")
            for name, value in entries.items()}


def read_manifest(folder: Path) -> dict:
    """The manifest of the run in `folder`; raises InputFileError if it is missing or incomplete."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputFileError([Problem(str(path), None, "", None, f"cannot be read: {error.strerror}")]) from error
    except ValueError as error:
        raise InputFileError([Problem(str(path), None, "", None, f"is not JSON: {error}")]) from error
    if not isinstance(manifest, dict) or manifest.get("status") not in STATUSES:
        expected = f"a manifest has a status: {', '.join(STATUSES)}"
        raise InputFileError([Problem(str(path), None, "status", None, expected)])
    return manifest


def entry_of(table: Table) -> dict:
    """A table that an agent declares, as the manifest has it."""
    return dict(row=table.row, columns=[{key: getattr(column, key) for key in ENTRY} for column in table.recorded])


def table_of(name: str, entry: Mapping) -> Table:
    """The table of an entry of the manifest."""
    return Table(name, entry["row"], tuple(Column(**column) for column in entry["columns"]))


def _plain(value: object) -> object:
    if type(value) in AS_WRITTEN:
        return value
    if isinstance(value, Mapping):
        named = {".".join(map(str, key)) if isinstance(key, tuple) else str(key): v for key, v in value.items()}
        return {name: _plain(named[name]) for name in sorted(named)}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return str(value) if isinstance(value, Path) else value
