"""Folders of runs: `results/<scenario>/<run>/`."""

import re
from pathlib import Path

from simgrid_broker.errors import OutputError
from simgrid_broker.records.manifest import MANIFEST


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
