"""simgrid_broker: a discrete-event simulator of grid workload management with PanDA/JEDI's own rules.

Each public name is imported on first use, so that importing one package does not import the others.
"""

from importlib import import_module

from simgrid_broker.errors import extras_named

__version__ = "0.1.0"

HOMES = {
    "load_scenario": "scenario", "Scenario": "scenario", "remarks": "advice",
    "load_snapshot": "scenario", "Snapshot": "scenario",
    "simulate": "engine",
    "read_run": "records", "Run": "records",
    "metrics": "",
    "write_report": "report", "write_comparison": "report", "terminal_summary": "report",
    "replicate": "experiments.replicate", "compare": "experiments.compare", "sweep": "experiments.sweep",
    "sensitivity": "experiments.sensitivity", "tune": "experiments.tune", "calibrate": "experiments.calibrate",
    "read_study": "experiments.study",
    "Workers": "experiments.running",
    "broker": "dry_run", "broker_turn": "dry_run", "match": "systems.dirac.match.match",
    "broker_jobs": "policy.brokerage.production.broker", "broker_task": "policy.brokerage.task.broker",
    "SimgridBrokerError": "errors", "ScenarioError": "errors", "SnapshotError": "errors", "RequestError": "errors",
    "InputFileError": "errors", "OutputError": "errors", "PluginError": "errors",
    "StudyError": "errors",
}
"""Public names and their modules; empty for a package that is public itself."""

SHOWN = ("engine", "records")
"""Modules whose names return runs."""

__all__ = list(HOMES)


def __getattr__(name: str):
    """A public name, imported from its module."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = HOMES[name]
    with extras_named():
        value = getattr(import_module(f"{__name__}.{home}"), name) if home else import_module(f"{__name__}.{name}")
    globals()[name] = value
    if home in SHOWN:
        _show_shares()
    return value


def _show_shares() -> None:
    """Let notebooks draw the shares of runs, by the figures that only `report` knows."""
    def picture(run) -> str:
        return import_module(f"{__name__}.report.terminal").picture(run)
    import_module(f"{__name__}.records").Run.picture = staticmethod(picture)


def __dir__() -> list[str]:
    """The names of the module and all public names."""
    return sorted({*globals(), *__all__})
