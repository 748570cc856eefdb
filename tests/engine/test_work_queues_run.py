"""The scenario of work queues: who is given what, and what users gain when they take turns."""

from pathlib import Path

import pytest

from simgrid_broker import load_scenario, simulate
from simgrid_broker.metrics import first_jobs, share_compliance, wide

SCENARIO = Path(__file__).parents[2] / "scenarios" / "work_queues.yaml"
SHORTER = {"duration": "36h", "incidents": [
    dict(at="18h", what="task_arrival", campaign="reprocessing", jobs=3000),
    dict(at="24h", what="gdpconfig", key="GROUPBYATTR_analysis", value="userName")], "record.transfers": False}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return simulate(load_scenario(SCENARIO).with_values(SHORTER), out=tmp_path_factory.mktemp("run"))


def test_every_task_has_its_queue_and_its_share(run):
    tasks = run.table("tasks", ["work_queue", "share", "name"])
    refined = tasks[tasks.work_queue.notna()]
    assert (refined.work_queue.astype(str) == refined.share.astype(str)).all() and len(refined) > 500
    assert set(refined[refined.name == "simulation at HPC"].work_queue) == {"HPC"}
    assert set(refined[refined.name == "pile-up"].work_queue) == {"others"}


@pytest.mark.rule("leaves_with_tasks")
def test_a_stretchable_queue_is_given_what_a_queue_without_tasks_leaves(run):
    table = wide(share_compliance(run)).set_index("share")
    assert table.target["others"] > 13 + 5                # 13 % are its own; reprocessing is away for half of the time
    assert table.delivered["others"] > 15


def test_small_tasks_wait_less_when_users_take_turns(run):
    table = wide(first_jobs(run)).set_index(["name", "arrived"])
    waits = table.wait_p50["many users"]
    assert waits[waits.index >= 24].max() < 0.7 * waits[(waits.index >= 9) & (waits.index < 24)].max()
