"""Agents that sleep until something they read has changed leave what agents leave that always look."""

from pathlib import Path

import pandas as pd
import pytest

from simgrid_broker.agents import control
from simgrid_broker.engine import simulate
from simgrid_broker.scenario.loading.loader import load_scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def run_of(folder, file, hours):
    """Every table of a run, and how often each agent has moved anything."""
    run = simulate(load_scenario(SCENARIOS / f"{file}.yaml").with_values({"duration": hours * 3600, "warm_up": 0}),
                   folder=folder)
    tables = {path.name: pd.read_parquet(path) for path in sorted(folder.rglob("*.parquet"))}
    return tables, run.manifest["coverage"]["agents"]


@pytest.mark.parametrize(("file", "hours"), [("full_chain", 12), ("scouts", 6), ("task_commands", 30), ("merging", 8)])
def test_sleeping_agents_leave_the_same_rows(file, hours, tmp_path, monkeypatch):
    sleeping = run_of(tmp_path / "sleeping", file, hours)
    monkeypatch.setattr(control, "AWAKE", True)
    awake = run_of(tmp_path / "awake", file, hours)
    assert sleeping[1] == awake[1] and sleeping[0].keys() == awake[0].keys()
    for name, rows in sleeping[0].items():
        pd.testing.assert_frame_equal(rows, awake[0][name], check_exact=True, obj=name)


def test_an_agent_sleeps_while_the_versions_of_what_it_reads_stay():
    found = control.Control.__new__(control.Control)
    found.inputs = {}
    asked = [("a", 1, 1), ("a", 1, 1), ("b", 1, 1), ("a", 1, 2), ("a", 1, 2), ("a", 1, 1)]
    assert [found.is_unchanged(*one) for one in asked] == [False, True, False, False, True, False]
