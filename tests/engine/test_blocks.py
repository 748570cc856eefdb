"""Tasks come in blocks that take the rows of tasks that are gone: the same results, and a table of live tasks only."""

from pathlib import Path

import pandas as pd
import pytest

from simgrid_broker.engine import Simulation, simulate
from simgrid_broker.names import TaskStatus
from simgrid_broker.scenario import load_scenario
from simgrid_broker.scenario.work import tasklist
from simgrid_broker.scenario.work.synthetic import arrivals, task_list
from simgrid_broker.schema import RECORDED
from simgrid_broker.turns import job_tables

SCENARIOS = Path(__file__).parents[2] / "scenarios"
HOUR = 3600.0


def in_blocks(monkeypatch, size):
    monkeypatch.setattr(tasklist, "BLOCK", size)


def chain():
    """Children of a campaign, in a run of a few hours with many tasks."""
    return load_scenario(SCENARIOS / "full_chain.yaml").with_values({"duration": "6h"})


def many_small_tasks(**others):
    """Tasks of two jobs, which come and go: 60 a day."""
    return load_scenario(SCENARIOS / "minimal.yaml").with_values({
        "duration": "12h", "warm_up": 0, "incidents": [], "workload.campaigns.simulation.jobs_per_task": {"median": 2},
        "workload.campaigns.simulation.events_per_job": 2, "workload.campaigns.simulation.offered_cores": 10,
        "workload.users.analysis.jobs_per_task": {"median": 2}, **others})


@pytest.mark.parametrize("scenario", [chain, many_small_tasks])
def test_blocks_are_parts_of_the_whole_list(scenario, monkeypatch):
    whole = task_list(scenario())
    in_blocks(monkeypatch, 4)
    blocks = [*arrivals(scenario()).blocks()]
    assert len(blocks) > 3
    assert all(block.vocabularies == whole.vocabularies for block in blocks)
    for name in whole.rows.dtype.names:
        assert [value for block in blocks for value in block.rows[name].tolist()] == pytest.approx(
            whole.rows[name].tolist(), nan_ok=True), name
    assert [site for block in blocks for site in block.replica_site.tolist()] == whole.replica_site.tolist()


def test_tasks_of_one_moment_come_together(monkeypatch):
    in_blocks(monkeypatch, 2)
    plan = many_small_tasks(**{"workload.campaigns.simulation.backlog": 5})
    begins = [block.rows["arrival_s"][0] for block in arrivals(plan).blocks()]
    assert sorted(set(begins)) == begins and begins[0] == 0


def deployed():
    """Tasks of many kinds, some of which get jobs of several resource types."""
    return many_small_tasks(edition="deployed", duration="8h")


@pytest.mark.parametrize("scenario", [chain, many_small_tasks, deployed])
def test_neither_blocks_nor_forgotten_kinds_of_tasks_change_a_result(scenario, monkeypatch, tmp_path):
    whole = simulate(scenario(), folder=tmp_path / "whole", validate=True)
    in_blocks(monkeypatch, 4)
    monkeypatch.setattr(job_tables, "MOST_ARRAYS", 2)
    blocks = simulate(scenario(), folder=tmp_path / "blocks", validate=True)
    for name in RECORDED:
        if name != "trace":
            pd.testing.assert_frame_equal(blocks.table(name), whole.table(name))


def test_rows_are_used_again(monkeypatch, tmp_path):
    in_blocks(monkeypatch, 4)
    with Simulation(many_small_tasks(), tmp_path / "run", validate=True) as simulation:
        simulation.env.run(until=12 * HOUR)
        n_rows, n_tasks = len(simulation.world.arrays.tasks), simulation.world.arrays.tasks["jeditaskid"].max()
    assert n_rows < n_tasks / 2


def test_a_task_that_the_timeline_names_keeps_its_row(monkeypatch, tmp_path):
    in_blocks(monkeypatch, 4)
    incidents = [{"at": "11h", "what": "task_priority", "task": 1, "priority": 900},
                 {"at": "11h", "what": "task_command", "command": "abort", "task": "simulation"}]
    with Simulation(many_small_tasks(incidents=incidents), tmp_path / "run", validate=True) as simulation:
        simulation.env.run(until=12 * HOUR)
        by_number, by_name = simulation.control.books.commands.results()
        tasks = simulation.world.arrays.tasks
    assert by_number["ignored"] == {"done": 1}, "it was over, and is known"
    assert by_name["n_tasks"] > 10 and by_name["ignored"]["done"] > 5
    assert tasks["jeditaskid"].min() >= 0


def test_files_lost_at_a_site_are_lost_for_tasks_that_come_later(monkeypatch, tmp_path):
    def lost(size):
        in_blocks(monkeypatch, size)
        plan = many_small_tasks(incidents=[{"at": "2h", "until": "8h", "what": "file_loss", "site": site,
                                            "fraction": 0.5} for site in ("CENTRE", "NORTH")])
        return simulate(plan, folder=tmp_path / str(size), validate=True).tasks
    pd.testing.assert_frame_equal(lost(4), lost(1 << 30))


def test_lists_by_status_follow_every_move(tmp_path):
    def looked_at(control):
        while True:
            yield control.env.timeout(600)
            rows, tasks = control.books.live_tasks.rows, control.arrays.tasks
            for status in TaskStatus:
                assert control.books.live_tasks.in_status(status).tolist() == rows[
                    tasks["status"][rows] == status].tolist(), status.word
    simulate(many_small_tasks(duration="6h"), folder=tmp_path / "run", agents=[looked_at])
