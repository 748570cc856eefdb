"""Snapshots written by a run: `snapshots/t=<seconds>.yaml`, the input of `broker`.

Each entry is one line of JSON, which YAML includes: readable, and written in a fraction of the time of YAML's block
style.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from simgrid_broker.files import write_whole

FOLDER = "snapshots"
HEAD = "# Snapshot of a simulated grid; `simgrid-broker broker FILE --task ID` makes a broker decision on it.\n"
OPEN = ("grid",)
"""Keys whose values are written entry by entry."""
UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters allowed in JSON but not in YAML."""


def write_snapshot(run_folder: Path, values: dict) -> Path:
    """Write a snapshot into the folder of a run and return its path; raises OutputError."""
    return write_whole(Path(run_folder) / FOLDER / f"t={values['time']:.15g}.yaml", snapshot_text(values))


def snapshot_text(values: dict) -> str:
    """The text of a snapshot file."""
    return HEAD + "".join(line + "\n" for line in _lines(values, ""))


def _lines(values: dict, indent: str) -> Iterator[str]:
    """Lines of a mapping, one per entry of a nested mapping or list."""
    for name, value in values.items():
        if name in OPEN:
            yield f"{indent}{name}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, dict) and value:
            yield f"{indent}{name}:"
            yield from (f"{indent}  {_json(key)}: {_json(inner)}" for key, inner in value.items())
        elif isinstance(value, list) and value:
            yield f"{indent}{name}:"
            yield from (f"{indent}  - {_json(inner)}" for inner in value)
        else:
            yield f"{indent}{name}: {_json(value)}"


def _json(value) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return UNPRINTABLE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
