"""Compiled cycles of job generation do what the brokers do that are asked decision by decision."""

from pathlib import Path

import pytest
from builders import Stage, assert_same_tables

from simgrid_broker.compiled import uncompiled
from simgrid_broker.engine import Simulation, simulate
from simgrid_broker.policy.brokerage.production.question import DERIVED, KEYS, PLAIN, SAID, TERMS, JobCase, task_record
from simgrid_broker.policy.brokerage.production.storage import readable
from simgrid_broker.scenario.loading.loader import load_scenario
from simgrid_broker.turns import job_tables, user_tables
from simgrid_broker.turns.slots import is_current
from simgrid_broker.turns.work_queues import WorkQueues
from simgrid_broker.world.views import observe

SCENARIOS = Path(__file__).parents[2] / "scenarios"
CANDIDATES = {"record.candidates": 0.3}


def run_of(folder, file, changes, edition):
    """A run of a scenario of the project with some changes."""
    plan = load_scenario(SCENARIOS / f"{file}.yaml").with_values(changes | {"edition": edition, "warm_up": 0})
    return simulate(plan, folder=folder)


@pytest.mark.rule("job_turn.order")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize(("file", "changes"), [
    pytest.param("quickstart", {"duration": 2 * 3600} | CANDIDATES, id="candidates of some tasks are recorded"),
    pytest.param("quickstart", {"duration": 2 * 3600, "record.decisions": 0, "record.unplaced": 3},
                 id="candidates of unplaced tasks are recorded"),
    pytest.param("memory_retry", {"duration": 5 * 3600}, id="raised inputs have levels of their own"),
    pytest.param("scouts", {"duration": 4 * 3600}, id="scouts come first"),
    pytest.param("work_queues", {"duration": 3 * 3600}, id="Resource queues have accounts of their own"),
    pytest.param("minimal", {"duration": 6 * 3600} | CANDIDATES, id="tasks of users go by analysis brokerage"),
])
def test_a_compiled_cycle_leaves_the_same_rows(file, changes, edition, tmp_path, monkeypatch):
    compiled = run_of(tmp_path / "compiled", file, changes, edition)
    for module, broker in ((job_tables, "broker_jobs"), (user_tables, "broker_analysis")):
        monkeypatch.setattr(module, broker, None)              # cycles ask as they ask an own brokerage
    asked = run_of(tmp_path / "asked", file, changes, edition)
    assert compiled.manifest["counters"]["decisions"] == asked.manifest["counters"]["decisions"] > 0
    assert_same_tables(compiled.folder, asked.folder)
    assert len(compiled.jobs)


@pytest.fixture
def kept(monkeypatch):
    """Tables of job generation that a run makes."""
    found, make = [], job_tables.JobTables.__init__

    def keep(tables, *about):
        make(tables, *about)
        found.append(tables)
    monkeypatch.setattr(job_tables.JobTables, "__init__", keep)
    return found


@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize(("file", "hours"), [("quickstart", 2), ("memory_retry", 5), ("scouts", 1)])
def test_a_slot_shows_a_task_as_python_sees_it(file, hours, edition, tmp_path, kept):
    plan = load_scenario(SCENARIOS / f"{file}.yaml").with_values({"edition": edition, "duration": hours * 3600,
                                                                 "warm_up": 0})
    run = Simulation(plan, tmp_path)
    run.run()
    (tables,), control = kept, run.control
    columns = [name for name, _ in (*PLAIN, *SAID, *DERIVED)] + [*KEYS, *TERMS[edition]]
    slots = tables.slots[:tables.done["n_slots"]].tolist()
    shown = 0
    for slot, (row, level, *_) in enumerate(slots):
        if not uncompiled(is_current)(control.arrays, tables.production, row, slot, tables.terms["by_type"]):
            continue
        shown += 1
        task, parts = tables.work_queues.view(row, level)
        record, asked = task_record(task, control.cfg, edition)[0], tables.asked[slot]
        assert str([tables.record[slot][name] for name in columns]) == str([record[name] for name in columns])
        first = control.brokers.cache.first_refusals(tables.brokerage.funnel, JobCase(
            task, control.brokers.queues, edition))
        assert tables.first.table[asked["first"]].tolist() == first.tolist()
        assert tables.tables.open[asked["first"]].tolist() == sorted(range(len(first)), key=lambda k: -int(first[k]))
        found = readable(() if parts is None else parts.inputs, task, control.cfg)
        assert (asked["incomplete"], asked["best_part"], asked["no_remote_source"]) == (
            found.failure != "", found.best_part, not found.remotely)
        held = [each for each in zip(*(getattr(tables, f"replica_{name}")[slot].tolist()
                                       for name in ("site", "part", "tape")), strict=True) if each[0] >= 0]
        assert held == ([] if parts is None else list(parts.replicas))
        assert asked["somewhere"] == (parts is not None and observe.lies_somewhere(parts))
    assert shown >= 10


def test_tables_are_widened_for_a_dataset_with_more_replicas_than_they_can_show():
    stage = Stage(())
    tables = job_tables.JobTables(stage.control, WorkQueues(stage.control, 60.0))
    for number, width in ((4, 4), (5, 8), (8, 8)):
        stage.world.state["most_replicas"] = number
        tables.begin()
        assert tables.tables.replica_site.shape[1] == tables.view_tables.sources.shape[0] == width
