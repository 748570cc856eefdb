"""simgrid_broker: a discrete-event simulator of grid workload management with PanDA/JEDI's own rules.

What lives here: the names that a study needs. What does not: any code; each name is looked up in its room when it is
first used, so that importing one room does not import the others.
"""

from importlib import import_module

HOMES = {
    "load_scenario": "scenario", "Scenario": "scenario", "remarks": "advice",
    "load_snapshot": "scenario", "Snapshot": "scenario",
    "simulate": "engine",
    "read_run": "records", "Run": "records",
    "metrics": "",
    "write_report": "report", "write_comparison": "report", "terminal_summary": "report",
    "broker": "dry_run", "broker_jobs": "policy", "broker_task": "policy",
    "SimgridBrokerError": "errors", "ScenarioError": "errors", "SnapshotError": "errors",
    "InputFileError": "errors", "OutputError": "errors", "PluginError": "errors",
}
"""Public names and the rooms that they live in; a room that is itself public has none."""

__all__ = list(HOMES)


def __getattr__(name: str):
    """A public name from its room."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = HOMES[name]
    found = getattr(import_module(f"{__name__}.{home}"), name) if home else import_module(f"{__name__}.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names beside those that are there already."""
    return sorted({*globals(), *__all__})
