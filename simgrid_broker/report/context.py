"""Context of a report, common to all of its sections."""

from dataclasses import dataclass

import pandas as pd

from simgrid_broker.metrics import Window, window_of
from simgrid_broker.metrics.shares import Tree, share_tree
from simgrid_broker.records import Run
from simgrid_broker.report.blocks import Marks
from simgrid_broker.report.words import spoken

INCIDENT_OBJECTS = ("task", "queue", "site", "share", "key", "campaign", "dataset", "storage")
"""Fields that name the object of an incident; the first that is set is shown."""


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

    def over_time(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of a series that lie on the time axes."""
        return table[table.time_s >= self.marks.start_s]


def context(run: Run) -> Context:
    """The context of `run`."""
    tree = share_tree(run)
    groups: dict[str, list[str]] = {}
    for leaf in tree.leaves:
        groups.setdefault(tree.names[tree.top_of(leaf)], []).append(tree.names[leaf])
    window = window_of(run)
    marks = Marks(window.start_s if window.length_s else 0.0, incidents(run))
    return Context(run, window, marks, tree, groups)


def incidents(run: Run) -> tuple[tuple[float, str], ...]:
    """Time, s, and short name of each incident planned in the scenario, in order of time."""
    planned = run.manifest["scenario"].get("incidents") or ()
    return tuple(sorted((float(incident["at"]), _incident_name(incident)) for incident in planned))


def _incident_name(incident: dict) -> str:
    about = next((str(incident[name]) for name in INCIDENT_OBJECTS if incident.get(name) is not None), "")
    if incident.get("source"):
        about = f"{incident['source']} → {incident.get('destination') or 'all'}"
    what = f"{incident['command']} task" if incident.get("command") else spoken(incident["what"])
    return f"{what} {about}".strip()
