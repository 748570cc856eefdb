"""Context of a report, common to all of its sections."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from simgrid_broker.metrics import Window, window_of
from simgrid_broker.metrics.shares import Tree, share_tree
from simgrid_broker.records import Run
from simgrid_broker.report.blocks import Mark, Marks
from simgrid_broker.report.words import spoken
from simgrid_broker.units import format_seconds

INCIDENT_OBJECTS = ("task", "queue", "site", "share", "key", "campaign", "dataset", "storage")
"""Fields that name the object of an incident; the first that is set is shown."""

CHANGED = {"gdpconfig": "value", "share_target": "value", "queue_status": "status", "storage_status": "status"}
"""Field of an incident with the new value, by its kind."""
OBJECT_OF = {"gdpconfig": "key", "share_target": "share", "queue_status": "queue", "storage_status": "storage"}
"""Field with the name of what gets it."""


@dataclass(frozen=True)
class Context:
    """A run with its window, time-axis marks, share tree and the leaf shares below each share at its top.

    Time axes begin with the window, or with the run if that ended within its warm-up.
    """

    run: Run
    window: Window
    marks: Marks
    tree: Tree
    groups: dict[str, list[str]]
    base: Run | None = None

    def over_time(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of a series that lie on the time axes."""
        return table[table.time_s >= self.marks.start_s]


def context(run: Run, base: Run | None = None) -> Context:
    """The context of `run`; base: what it is compared with."""
    tree = share_tree(run)
    groups: dict[str, list[str]] = {}
    for leaf in tree.leaves:
        groups.setdefault(tree.names[tree.top_of(leaf)], []).append(tree.names[leaf])
    window = window_of(run)
    marks = Marks(window.start_s if window.length_s else 0.0, incidents(run))
    return Context(run, window, marks, tree, groups, base)


def incidents(run: Run) -> tuple[Mark, ...]:
    """The incidents planned in the scenario, in order of time."""
    planned = run.manifest["scenario"].get("incidents") or ()
    return tuple(sorted(Mark(float(incident["at"]), float(incident.get("until") or incident["at"]),
                             _incident_name(incident)) for incident in planned))


def incident_table(run: Run) -> pd.DataFrame:
    """Incidents in order of time: when, with the end of an outage, and what, with the value before and after."""
    planned = run.manifest["scenario"].get("incidents") or ()
    before, rows = dict[tuple[str, str], Any](), []
    for incident in sorted(planned, key=lambda incident: float(incident["at"])):
        until = incident.get("until")
        when = format_seconds(float(incident["at"])) + (f" to {format_seconds(float(until))}" if until else "")
        rows.append((when, _incident_name(incident) + _change(run, incident, before)))
    return pd.DataFrame(rows, columns=["when", "what"])


def _change(run: Run, incident: dict, before: dict[tuple[str, str], Any]) -> str:
    """Value before and after an incident, ": 100 → 16"; empty for one that sets none. before: values set so far."""
    kind = incident["what"]
    field = CHANGED.get(kind)
    if field is None or incident.get(field) is None:
        return f": × {incident['factor']:g}" if incident.get("factor") is not None else ""
    name = str(incident[OBJECT_OF[kind]])
    place = kind, name.rpartition(".")[2] if kind == "gdpconfig" else name
    old = before.get(place, _at_start(run, kind, name))
    before[place] = incident[field]
    return (": " if old is None else f": {old} → ") + str(incident[field])


def _at_start(run: Run, kind: str, name: str) -> Any:
    """The value that an incident changes, as the scenario has it; None if it has none."""
    said = run.manifest["scenario"]
    if kind == "gdpconfig":
        return next((entry["value"] for key, entry in run.manifest["gdpconfig"].items()
                     if name in (key, key.partition(".")[2])), None)
    if kind == "share_target":
        tree = run.manifest["share_tree"]
        return next((share["value"] for share in _nodes(said["shares"]) if share["name"] == name),
                    dict(zip(tree["names"], tree["value"], strict=True)).get(name))
    return said["grid"].get({"queue_status": "queues", "storage_status": "storages"}[kind], {}).get(
        name, {}).get("status")


def _nodes(shares: Sequence[dict]) -> Iterator[dict]:
    for share in shares:
        yield share
        yield from _nodes(share.get("children") or ())


def _incident_name(incident: dict) -> str:
    about = next((str(incident[name]) for name in INCIDENT_OBJECTS if incident.get(name) is not None), "")
    if incident.get("source"):
        about = f"{incident['source']} → {incident.get('destination') or 'all'}"
    what = f"{incident['command']} task" if incident.get("command") else spoken(incident["what"])
    return f"{what} {about}".strip()
