"""Where runs lie: names of new run folders, and the runs near a path that is none.

What lives here: `results/<scenario>/<run>/`. What does not: what lies inside a run's folder.
"""

import re
from pathlib import Path

from simgrid_broker.errors import OutputError
from simgrid_broker.records.manifest import MANIFEST


def new_run_folder(results_root: Path, scenario_name: str, seed: int) -> Path:
    """Make and return `<results_root>/<scenario>/seed-<seed>`, or `seed-<seed>-2`, `-3`, ... where that exists.

    Characters of the scenario's name that do not suit a folder become `-`. Raises OutputError if it cannot be made.
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
    """At most `most` runs below `path`, or else below the nearest folder above it that holds one, sorted."""
    path = Path(path)
    for root in (path, *list(path.parents)[:2]):
        found = {manifest.parent for depth in ("", "*/", "*/*/") for manifest in root.glob(depth + MANIFEST)}
        if found:
            return tuple(str(folder) for folder in sorted(found)[:most])
    return ()
