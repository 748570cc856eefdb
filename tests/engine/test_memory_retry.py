"""The scenario of tasks that claim too little memory: inputs are raised, then tasks, in each edition its own way."""

from pathlib import Path

import pytest

from simgrid_broker import metrics
from simgrid_broker.engine import simulate
from simgrid_broker.report.terminal import terminal_summary
from simgrid_broker.scenario import load_scenario

PLAN = Path(__file__).parents[2] / "scenarios" / "memory_retry.yaml"
NEXT = {"documented": {1000: 6000}, "deployed": {1000: 2000, 2000: 3000}}
"""What follows on a claim, MB per core: with 1000 and 2000 a job is killed at 4000."""


@pytest.fixture(scope="module", params=NEXT)
def run(request, tmp_path_factory):
    """Eighteen hours of the scenario in an edition, as (edition, run)."""
    plan = load_scenario(PLAN).with_values({"duration": "18h", "edition": request.param})
    return request.param, simulate(plan, folder=tmp_path_factory.mktemp(request.param) / "run", validate=True)


def with_claims(run):
    """Jobs with the claim per core that they stand for, the name of their task and its first and final claim."""
    tasks = run.table("tasks", ["jeditaskid", "name", "ramcount"]).rename(columns={"ramcount": "of_task"})
    jobs = run.jobs.merge(tasks, on="jeditaskid")
    return jobs.assign(claim=(jobs.ramcount_mb / 0.9 / jobs.corecount).round().astype(int))


def test_who_ran_out_of_memory_is_tried_again_with_more(run):
    edition, run = run
    jobs = with_claims(run)
    pairs = jobs.merge(jobs, left_on="panda_id", right_on="old_panda_id", suffixes=("", "_next"))
    assert (pairs.attempt + 1 == pairs.attempt_next).all() and (pairs.chunk == pairs.chunk_next).all()
    killed = pairs[pairs.cause == "memory_exceeded"]
    assert len(killed) > 150 and killed.claim.map(NEXT[edition]).le(killed.claim_next).all()
    others = pairs[(pairs.cause != "memory_exceeded") & (pairs.name == "simulation")]
    assert len(others) > 20 and (others.claim == others.claim_next).all()


def test_inputs_are_raised_first_and_then_the_task(run):
    edition, run = run
    jobs = with_claims(run)
    reco = jobs[jobs.name == "reconstruction"]
    raised = run.table("tasks")[lambda rows: rows.name == "reconstruction"].ramcount
    assert set(raised) <= {1000, *NEXT[edition].values()} and (raised > 1000).mean() > 0.5
    first = reco[reco.attempt == 1].groupby("jeditaskid").claim.agg(["min", "max"])
    assert (first["min"] == 1000).all()
    assert edition == "documented" or (reco.claim == 2000).any()
    assert run.table("tasks")[lambda rows: rows.name == "leaky"].ramcount.eq(1000).mean() > 0.7


def test_with_enough_memory_they_finish(run):
    edition, run = run
    jobs = with_claims(run)
    enough = jobs[jobs.claim >= 3000]
    assert (enough.status == "finished").sum() > 50 and not (enough.cause == "memory_exceeded").any()
    assert set(enough.resource_type) == {"MCORE_HIMEM"}
    assert (set(enough.queue) == {"BIG"}) == (edition == "documented")


def test_the_figures_tell_of_it(run):
    _, run = run
    assert "jobs ran out of memory and lost" in terminal_summary(run)
    table = metrics.wide(metrics.memory_retries(run))
    killed = (run.jobs.cause == "memory_exceeded") & (run.jobs.status == "failed")       # one may still be in holding
    assert table.out_of_memory.sum() == killed.sum()
    history = metrics.retry_history(run)
    assert len(history) == (run.jobs.old_panda_id > 0).sum()
    assert (history.originpandaid <= history.oldpandaid).all() and (history.oldpandaid < history.newpandaid).all()
