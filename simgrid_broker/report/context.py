"""What every section of a run's report needs to know of the run.

What lives here: reading the manifest for a reader: what the run was, how far it came, what happened when. What does
not: figures.
"""

from dataclasses import dataclass

from simgrid_broker.metrics import Window, tasks_without_place, wide, window_of
from simgrid_broker.metrics.tree import Tree, share_tree
from simgrid_broker.records import Run
from simgrid_broker.report.canvas import Marks
from simgrid_broker.report.palette import share_colours
from simgrid_broker.report.words import spoken
from simgrid_broker.units import format_seconds

INCIDENT_OBJECTS = ("task", "queue", "site", "share", "key", "campaign")
"""Fields that say what an incident is about, first one that is set."""

MOST_NAMED = 3
"""Streams of tasks without a place that are named."""


@dataclass(frozen=True)
class Context:
    """A run with what its figures share: window, marks on time axes, the share tree and the colours of its leaves."""

    run: Run
    window: Window
    marks: Marks
    tree: Tree
    colours: dict[str, str]


def context(run: Run) -> Context:
    """The context of `run`."""
    tree = share_tree(run)
    groups: dict[str, list[str]] = {}
    for leaf in tree.leaves:
        groups.setdefault(tree.names[tree.top_of(leaf)], []).append(tree.names[leaf])
    marks = Marks(float(run.manifest["warm_up_s"]), incidents(run))
    return Context(run, window_of(run), marks, tree, share_colours(groups))


def incidents(run: Run) -> tuple[tuple[float, str], ...]:
    """Time and a short name of each incident that the scenario planned before the run's end, in order."""
    planned = run.manifest["scenario"].get("incidents") or ()
    return tuple(sorted((float(one["at"]), _incident(one)) for one in planned))


def _incident(one: dict) -> str:
    """An incident in a few words."""
    about = next((str(one[name]) for name in INCIDENT_OBJECTS if one.get(name) is not None), "")
    if one.get("source"):
        about = f"{one['source']} → {one.get('destination') or 'all'}"
    what = f"{one['command']} task" if one.get("command") else spoken(one["what"])
    return f"{what} {about}".strip()


def warnings_of(run: Run) -> tuple[str, ...]:
    """What a reader must know before believing any figure."""
    window, status = window_of(run), run.manifest["status"]
    end, duration = format_seconds(window.end_s), format_seconds(float(run.manifest["duration_s"]))
    texts = {
        "running": f"This run has not ended or was killed: figures cover what was on disk, up to {end} of {duration}. "
                   "The last jobs that ended may be missing, and jobs that were alive then have no rows.",
        "interrupted": f"This run was interrupted at about {end} of {duration}.",
        "failed": f"This run failed at about {end} of {duration}; its figures may be wrong.",
    }
    found = [texts[status]] if status in texts else []
    if window.length_s <= 0:
        found.append(f"The run holds nothing after its warm-up of {format_seconds(window.start_s)}: "
                     "figures over the window are empty, and curves show the warm-up only.")
    if run.manifest["status"] == "complete":
        found += _tasks_without_place(run)
    return (*found, *_commands_ignored(run), *run.remarks)


def _commands_ignored(run: Run) -> list[str]:
    """Commands that tasks did not take when they came, a sentence each."""
    return [f"{spoken(one['command'])} of task {one['task']} at {format_seconds(one['at_s'])}: "
            f"{'ignored' if one['n_done'] == 0 else 'ignored for some'}"
            + "".join(f"{', ' if place else ' ('}{number} {reason}" for place, (reason, number) in
                      enumerate(one["ignored"].items())) + (")." if one["ignored"] else ".")
            for one in run.manifest.get("commands", ()) if one["n_done"] < one["n_tasks"] or not one["n_tasks"]]


def _tasks_without_place(run: Run) -> list[str]:
    """How many tasks never got a job, of which streams, and why; nothing if there are none."""
    rows = wide(tasks_without_place(run))
    if not len(rows):
        return []
    rows = rows.sort_values("tasks", ascending=False)
    named = [f"{row.name} ({row.tasks:.0f}, {row.tag or 'not asked'})" for row in
             rows.head(MOST_NAMED).itertuples(index=False)]
    more = f" and {len(rows) - MOST_NAMED} others" if len(rows) > MOST_NAMED else ""
    number = rows.tasks.sum()
    tasks = f"{number:.0f} task{'s' if number > 1 else ''}"
    return [f"No nucleus or queue was found for {tasks}: {', '.join(named)}{more}. "
            "`simgrid-broker explain` tells more."]
