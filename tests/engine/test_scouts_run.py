"""The scenario of scouts: what they correct, and what they stop, in both editions."""

from pathlib import Path

import pytest

from simgrid_broker import metrics
from simgrid_broker.engine import simulate
from simgrid_broker.metrics import wide
from simgrid_broker.report.terminal import terminal_summary
from simgrid_broker.scenario import load_scenario

PLAN = Path(__file__).parents[2] / "scenarios" / "scouts.yaml"


@pytest.fixture(scope="module", params=("documented", "deployed"))
def run(request, tmp_path_factory):
    """The scenario in an edition, as (edition, run)."""
    plan = load_scenario(PLAN).with_values({"edition": request.param, "duration": "30h"})
    return request.param, simulate(plan, folder=tmp_path_factory.mktemp(request.param) / "run", validate=True)


def of(run, name):
    """The tasks of a campaign."""
    tasks = run.tasks
    return tasks[tasks.name == name]


def test_tasks_that_claim_the_truth_go_on(run):
    _, run = run
    honest = of(run, "honest")
    assert honest.status.isin(("done", "finished")).all() and (honest.scouted_s > honest.scouting_s).all()
    scouts = run.jobs[run.jobs.jeditaskid.isin(honest.jeditaskid) & (run.jobs.chunk < 10) & (run.jobs.attempt == 1)]
    assert (scouts.priority >= 901).all()
    first = run.jobs[run.jobs.jeditaskid.isin(honest.jeditaskid) & (run.jobs.chunk >= 10)].groupby(
        "jeditaskid").pending_s.min()
    assert (first.to_numpy() > honest.set_index("jeditaskid").scouted_s.loc[first.index].to_numpy()).all()


def test_what_jobs_report_is_recorded_with_their_task(run):
    _, run = run
    said = of(run, "honest")[["memory_leak_core", "memory_leak_x2", "diskio", "workdiskcount_mb"]].drop_duplicates()
    assert said.to_numpy().tolist() == [[5, 1, 800, 1200]]
    assert of(run, "hurried").memory_leak_core.isna().all() and (of(run, "hungry").memory_leak_core == 0).all()


def test_wrong_memory_is_corrected_and_the_other_jobs_go_where_it_fits(run):
    _, run = run
    hungry = of(run, "hungry")
    assert (hungry.ramcount > 2000).all() and (hungry.resource_type == "MCORE_HIMEM").all()
    jobs = run.jobs[run.jobs.jeditaskid.isin(hungry.jeditaskid)]
    assert set(jobs.queue[jobs.chunk >= 10]) == {"BIG"} and len(set(jobs.queue[jobs.chunk < 10])) > 1


def test_a_wrong_cpu_time_exhausts_a_task_as_documented(run):
    edition, run = run
    slow, unscouted = of(run, "slow"), of(run, "hurried")
    if edition == "documented":
        assert set(slow.status) == {"exhausted"} and set(slow.errordialog) == {"scout_cpuTime"}
    else:
        assert slow.exhausted_s.isna().all()                 # its jobs take less than a day
    assert (slow.cputime > 500).all() and (unscouted.cputime < 150).all()


def test_tasks_whose_scouts_all_fail_are_broken(run):
    _, run = run
    faulty = of(run, "faulty")
    assert set(faulty.status) == {"broken"} and set(faulty.errordialog) == {"no_scout"}
    assert (faulty.n_failed == 10).all() and run.manifest["counters"]["broken_tasks"] == 0


def test_the_terminal_says_what_was_stopped_and_why(run):
    edition, run = run
    text = terminal_summary(run)
    assert "broken    2 of faulty: no scout succeeded" in text
    assert ("exhausted 2 of slow: cpuTime of the scouts is far above the claim" in text) == (edition == "documented")
    stopped = wide(metrics.stopped_tasks(run))
    assert stopped.tasks.sum() == (4 if edition == "documented" else 2)
