"""Compiled turns of task brokerage do what the brokers do that are asked decision by decision."""

from pathlib import Path

import pytest
from builders import EVENTFUL, assert_same_tables

from simgrid_broker import load_scenario, simulate
from simgrid_broker.turns import task_tables
from simgrid_broker.turns.turn import Outcome

SCENARIOS = Path(__file__).parents[2] / "scenarios"
UNABLE = EVENTFUL | {
    "agents.task_broker": 300, "gdpconfig.DISK_THRESHOLD": -1000, "duration": 5 * 3600, "record.unplaced": 3,
    "grid.sites.NORTH.nucleus": True, "workload.campaigns[0].replicas.tape": 0.5,
    "workload.campaigns[0].input_per_event": "10 MB", "workload.campaigns[0].backlog_time": 7 * 3600,
    "incidents": [dict(at=3600, what="queue_status", queue="SOUTH", status="brokeroff"),
                  dict(at=7200, what="storage_status", storage="CENTRE_DATADISK", activity="read_lan", status="OFF")]}
"""Two nuclei, one of which cannot read its input from some time on."""


def run_of(folder, file, changes, edition):
    """A run of a scenario of the project with some changes."""
    plan = load_scenario(SCENARIOS / f"{file}.yaml").with_values(changes | {"edition": edition, "warm_up": 0})
    return simulate(plan, folder=folder)


@pytest.mark.rule("task_turn.take_effect")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize(("file", "changes"), [
    pytest.param("minimal", UNABLE, id="a nucleus without a queue for the jobs"),
    pytest.param("quickstart", {"duration": 2 * 3600, "record.candidates": 0.3}, id="candidates are recorded"),
    pytest.param("quickstart", {"duration": 2 * 3600, "gdpconfig.NQUEUED_NUC_CAP": 0, "record.unplaced": 2},
                 id="no task finds a nucleus"),
    pytest.param("full_chain", {"duration": 5 * 3600}, id="children of chains, and full chains"),
])
def test_a_compiled_turn_leaves_the_same_rows(file, changes, edition, tmp_path, monkeypatch):
    outcomes, go_on = [], task_tables.TaskTables.go_on
    monkeypatch.setattr(task_tables.TaskTables, "go_on", lambda *about: outcomes.append(go_on(*about)) or outcomes[-1])
    compiled = run_of(tmp_path / "compiled", file, changes, edition)
    asked_before = outcomes.count(Outcome.ASK)
    monkeypatch.setattr(task_tables, "broker_task", None)      # turns ask as they ask an own brokerage
    asked = run_of(tmp_path / "asked", file, changes, edition)
    assert asked_before < outcomes.count(Outcome.ASK)
    assert compiled.manifest["counters"]["decisions"] == asked.manifest["counters"]["decisions"] > 0
    assert_same_tables(compiled.folder, asked.folder)
    assert (compiled.table("refusals")["kind"] == "task_brokerage").any()
