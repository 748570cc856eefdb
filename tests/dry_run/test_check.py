"""Decisions of a run compared with the dry run of their state, and runs that are looked at."""

from pathlib import Path

import numpy as np
import pytest

from simgrid_broker.agents.run.samples import snapshot_now
from simgrid_broker.dry_run.broker import DecisionCheck
from simgrid_broker.engine import Simulation, simulate
from simgrid_broker.errors import DecisionsDiffer
from simgrid_broker.records import read_run
from simgrid_broker.scenario import load_scenario
from simgrid_broker.world.snapshot import writing

SCENARIOS = Path(__file__).parents[2] / "scenarios"
STREAM = "workload.campaigns[0]."
MERGING = {
    "duration": 3.5 * 3600, STREAM + "jobs_per_task": 12, STREAM + "eventService": True, STREAM + "nEsConsumers": 2,
    "workload.campaigns[1].useScout": True,
    STREAM + "nJumboJobs": 1, STREAM + "minGranularity": 10, STREAM + "walltime": 3,
    STREAM + "input_per_event": "1 MB", STREAM + "replicas.tape": 0.5, STREAM + "hs06sec_per_event": 60,
    "workload.campaigns[1].diskIO": 200, "grid.storages.SOUTH_DATADISK.write_wan": "TEST"}
CASES = [pytest.param(f"{file}.yaml", changes, part, least, edition, id=f"{file}, {edition}")
         for file, changes, part, least in (
             ("quickstart", {"duration": 2 * 3600}, 0.2, 30), ("merging", MERGING, 0.3, 30),
             ("splitting", {"duration": 3600}, 1.0, 1), ("data_carousel", {"duration": 4 * 3600}, 0.1, 5),
             ("memory_retry", {"duration": 5 * 3600}, 0.1, 10))
         for edition in ("documented", "deployed")]


@pytest.mark.parametrize(("file", "changes", "part", "least", "edition"), CASES)
def test_a_run_decides_as_the_dry_run_of_its_state(file, changes, part, least, edition, tmp_path):
    plan = load_scenario(SCENARIOS / file).with_values(
        changes | {"edition": edition, "warm_up": 0, "agents.sampler": 1e6})
    with Simulation(plan, tmp_path) as simulation:
        simulation.check_decisions(part)
        simulation.run()
    check = simulation.control.check
    assert isinstance(check, DecisionCheck)
    assert check.n_checked >= least


def test_a_difference_is_told_with_task_rule_queue_and_both_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_jobs", lambda world, statistics: [])
    plan = load_scenario(SCENARIOS / "minimal.yaml", overrides=["warm_up=0", "duration=3h"])
    with pytest.raises(DecisionsDiffer, match=r"analysis_brokerage at [\d.]+ s about task \d+: the dry run of the same"
                       r" state decides otherwise\n  - CENTRE/SCORE: weight \d+ in the run, \d+ in the dry run \(kept"):
        simulate(plan, folder=tmp_path / "run", check_decisions=1.0)
    assert read_run(tmp_path / "run").manifest["status"] == "failed"


def test_looking_changes_nothing(tmp_path):
    plan = load_scenario(SCENARIOS / "quickstart.yaml", overrides=["warm_up=0", "edition=deployed"]).with_values(
        {"duration": 3 * 3600, "agents.job_generator": 1800, "record.snapshots": [60]})
    n_users = 0
    with Simulation(plan, tmp_path) as simulation:
        control, world = simulation.control, simulation.world
        for number in range(1, 60):
            simulation.env.run(until=180.0 * number)
            before = state_of(world)
            told = snapshot_now(control)
            n_users += len(told.get("users", ()))
            assert all(np.array_equal(one, other) for one, other in zip(before, state_of(world), strict=True))
    assert n_users


def state_of(world):
    """Copies of what a view of users and a task's turn to its next dataset replace."""
    known, arrays = world.analysis, world.arrays
    return [table.copy() for table in (
        known.counted_at, known.users_running, known.n_users, known.used.of, arrays.containers["now"],
        arrays.input_dataset, arrays.tasks["frozen_s"][arrays.tasks["frozen_s"] > 0])]
