"""The scenario of splitting: jobs of other sizes at queues with other limits, and every file in one finished job."""

from pathlib import Path

import numpy as np
import pytest

from simgrid_broker import metrics
from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario

PLAN = Path(__file__).parents[2] / "scenarios" / "splitting.yaml"


@pytest.fixture(scope="module", params=["documented", "deployed"])
def run(request, tmp_path_factory):
    """The scenario in an edition, as (edition, run)."""
    plan = load_scenario(PLAN).with_values({"edition": request.param, "duration": "36h"})
    return request.param, simulate(plan, folder=tmp_path_factory.mktemp(request.param) / "run", validate=True)


def with_names(run):
    """Jobs with the name of their task."""
    return run.jobs.merge(run.table("tasks", ["jeditaskid", "name"]), on="jeditaskid")


def test_jobs_are_as_long_as_the_queue_allows(run):
    """Later attempts are no longer than the first one, whatever their queue allows."""
    jobs = with_names(run[1]).query("name == 'as the queue allows' and attempt == 1")
    files = jobs.groupby("queue", observed=True).n_input_files.median()
    assert files["SHORT"] < 5 < 10 < files["MIDDLE"] <= files["LONG"]
    assert jobs[jobs.queue == "SHORT"].closed_by.value_counts().idxmax() == "walltime"


def test_each_task_is_split_its_own_way(run):
    jobs = with_names(run[1]).groupby("name")
    assert jobs.n_input_files.max()["four files a job"] == 4
    assert jobs.n_events.max()["quarter of a file"] == 250
    assert jobs.n_input_files.max()["with secondary files"] == 9
    assert jobs.n_input_files.max()["lumi blocks apart"] == 3
    bounds = {"four files a job": "files", "ten GB a job": "size", "three hours": "walltime",
              "lumi blocks apart": "boundary", "quarter of a file": "events", "with secondary files": "files"}
    limits = with_names(run[1]).query("closed_by != 'end'").groupby("name").closed_by
    assert {name: limits.get_group(name).value_counts().idxmax() for name in bounds} == bounds


def test_no_file_is_processed_twice_and_none_is_missing(run):
    tasks, jobs = run[1].tasks.set_index("jeditaskid"), run[1].jobs
    for number, task in tasks.iterrows():
        finished = jobs[(jobs.jeditaskid == number) & (jobs.status == "finished")]
        pieces = np.concatenate([np.arange(first, first + n) for first, n in zip(
            finished.chunk, finished.n_chunks, strict=True)] or [[]])
        assert len(np.unique(pieces)) == len(pieces) == task.n_finished
        if task.status in ("done", "finished"):
            assert task.n_finished + task.n_failed == task.n_jobs


def test_attempts_are_limited_file_by_file(run):
    assert run[1].jobs.attempt.max() <= 3


def test_ranges_that_failed_are_cut_again(run):
    jobs = with_names(run[1])
    again = jobs.merge(jobs, left_on="panda_id", right_on="old_panda_id", suffixes=("", "_next"))
    assert len(again) > 50
    inside = (again.chunk_next >= again.chunk) & (
        again.chunk_next + again.n_chunks_next <= again.chunk + again.n_chunks)
    assert inside.all() and (again.attempt_next == again.attempt + 1).all()
    assert (again.n_chunks_next < again.n_chunks).any()


def test_the_parameters_are_on_record(run):
    table = run[1].table("splitting").set_index("jeditaskid")
    names = run[1].tasks.set_index("jeditaskid").name.astype(str)
    by_name = table.set_index(names[table.index].to_numpy())
    assert len(table) == 7
    assert by_name.nfilesperjob["four files a job"] == 4 and by_name.ngbperjob["ten GB a job"] == 10
    assert by_name.across_files["quarter of a file"] == (run[0] == "documented")
    assert set(metrics.cut_jobs(run[1]).name) == set(names)
