"""Compiled cycles of job generation do what the brokers do that are asked decision by decision."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from simgrid_broker import load_scenario, simulate
from simgrid_broker.agents import job_tables

SCENARIOS = Path(__file__).parents[2] / "scenarios"
CANDIDATES = {"record.candidates": 0.3}


def tables_of(folder, file, changes, edition):
    """Every table of a run, and the numbers of its manifest that agents counted."""
    plan = load_scenario(SCENARIOS / f"{file}.yaml").with_values(changes | {"edition": edition, "warm_up": 0})
    run = simulate(plan, folder=folder)
    found = {path.name: pq.read_table(path).to_pylist() for path in sorted(folder.rglob("*.parquet"))}
    return found, run.manifest["counters"]["decisions"]


@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize(("file", "changes"), [
    pytest.param("quickstart", {"duration": 2 * 3600} | CANDIDATES, id="candidates of some tasks are recorded"),
    pytest.param("quickstart", {"duration": 2 * 3600, "record.decisions": 0, "record.unplaced": 3},
                 id="candidates of unplaced tasks are recorded"),
    pytest.param("memory_retry", {"duration": 8 * 3600}, id="raised inputs have levels of their own"),
    pytest.param("scouts", {"duration": 4 * 3600}, id="scouts come first"),
    pytest.param("work_queues", {"duration": 3 * 3600}, id="Resource queues have accounts of their own"),
])
def test_a_compiled_cycle_leaves_the_same_rows(file, changes, edition, tmp_path, monkeypatch):
    compiled = tables_of(tmp_path / "compiled", file, changes, edition)
    monkeypatch.setattr(job_tables, "broker_jobs", None)       # cycles ask as they ask an own brokerage
    asked = tables_of(tmp_path / "asked", file, changes, edition)
    assert compiled[1] == asked[1] > 0
    assert compiled[0].keys() == asked[0].keys()
    for name, rows in compiled[0].items():
        assert str(rows) == str(asked[0][name]), name           # NaN is equal to NaN here
    assert compiled[0]["jobs.parquet"]
