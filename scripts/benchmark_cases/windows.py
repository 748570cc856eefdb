"""Hours of frozen scenarios, apart from imports, building and closing; optionally in alternation with other sources."""

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

import yaml

from benchmark_cases.commands import Measured, alternated, atlas_for, command
from benchmark_cases.measures import ATLAS, ROOT

WINDOW = Path(__file__).with_name("window.py")
FROZEN = ROOT / "scripts" / "benchmark_scenarios"
SMALL = {"scouts": 36, "merging": 24, "full_chain": 36, "task_commands": 72, "dispatch_dirac": 24}
"""Small scenarios with their durations, h."""
PAIRS = 5


class Hours(NamedTuple):
    """A part of a scenario, in hours of simulated time."""

    scenario: Path
    begin: float
    end: float


def spent(hours: Hours, checkout: Path) -> Measured:
    """Processor time of the parts of a run, s, and of its hours by ended job and by event of the fabric, us."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = atlas_for(checkout, Path(folder)) if hours.scenario == ATLAS else hours.scenario
        command((str(WINDOW), str(scenario), str(hours.begin), str(hours.end), folder), checkout)
        figures: Measured = json.loads((Path(folder) / "figures.json").read_text())
    by = {f"cpu_us_per_{name[:-1]}": figures["window_s"] / figures[name] * 1e6
          for name in ("jobs", "events") if figures[name]}
    return {"cpu_seconds": figures.pop("window_s")} | figures | by


def steady(against: Path | None = None) -> Measured:
    """Hours 12 to 18 at ATLAS scale: the slots have turned over, and every agent and rule is on."""
    return _taken(Hours(ATLAS, 12, 18), against)


def users(against: Path | None = None) -> Measured:
    """Hours 9 to 12 of a week of 600 users on 100 sites."""
    return _taken(Hours(FROZEN / "users_week.yaml", 9, 12), against)


def idle(against: Path | None = None) -> Measured:
    """A day of two grids on which nothing is to be done: that at ATLAS scale, and that of minimal.yaml."""
    figures: Measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, scenario in (("atlas", ATLAS), ("minimal", FROZEN / "minimal.yaml")):
            figures |= _prefixed(name, _taken(Hours(without_work(scenario, Path(folder)), 0, 24), against))
    return figures


def small(against: Path | None = None) -> Measured:
    """Whole runs of small scenarios, one after the other."""
    figures: Measured = {}
    for name, hours in SMALL.items():
        figures |= _prefixed(name, _taken(Hours(FROZEN / f"{name}.yaml", 0, hours), against))
    return figures


def without_work(scenario: Path, folder: Path) -> Path:
    """Write a scenario without its work into a folder, and return the path of the copy."""
    values = yaml.safe_load(scenario.read_text())
    for key in ("workload", "incidents", "commands", "accounts"):
        values.pop(key, None)
    (folder / scenario.name).write_text(yaml.safe_dump(values | {"workload": {}}, sort_keys=False))
    return folder / scenario.name


def _taken(hours: Hours, against: Path | None) -> Measured:
    return alternated(partial(spent, hours), against, PAIRS if against else 1)


def _prefixed(name: str, figures: Measured) -> Measured:
    return {f"{name}_{key}": value for key, value in figures.items()}
