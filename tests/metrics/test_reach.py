"""Cores that each rule takes from a share."""

import numpy as np
import pytest
from small_run import HOUR, VOCABULARIES, run_of

from simgrid_broker import metrics
from simgrid_broker.metrics import USED, wide
from simgrid_broker.schema import RECORDED

JOBS, TASKS, ANALYSIS = 1, 0, 2
QX, QY, QY2 = range(3)


def step(criterion, tag):
    """One step of a manifest."""
    return dict(criterion=criterion, tag=tag, panda=f"selection for {criterion}", temporary=False)


@pytest.fixture(autouse=True)
def words(monkeypatch):
    """Three queues; QY and QY2 share the 40 cores of Y, QX has the 60 of X."""
    queues = ("QX", "QY", "QY2")
    for name, known in {"pseudo_queues": queues, "brokered": (*queues, "X", "Y"), "tags": ("-disk", "-cap"),
                        "criteria": ("too_little_scratch", "too_little_space", "too_many")}.items():
        monkeypatch.setitem(VOCABULARIES, name, known)


def run_with(folder, *refusals, kind=JOBS, **tables):
    """A run with rows of refusals in share A: candidate, tag, criterion, decisions of the queue, of its pool."""
    rows = [(HOUR, kind, queue, tag, rule, 0, n, n, n_pool) for queue, tag, rule, n, n_pool in refusals]
    run = run_of(folder, refusals=np.array(rows, RECORDED["refusals"].dtype), **tables)
    run.manifest["criteria"] = {"job_brokerage": [step("too_little_scratch", "-disk"), step("too_many", "-cap"),
                                                  step("too_little_space", "-disk")], "task_brokerage": [],
                                "analysis_brokerage": [step("too_many", "-cap"), step("too_little_space", "-disk")]}
    return run


SCRATCH, SPACE, CAP, NONE = (0, 0), (0, 1), (1, 2), (-1, -1)


def test_rules_take_the_cores_of_the_pools_whose_last_queue_they_refuse(tmp_path):
    run = run_with(tmp_path, (QX, *SCRATCH, 3, 3), (QX, *NONE, 1, 1), (QY, *SCRATCH, 4, 0), (QY2, *CAP, 3, 3),
                   (QY2, *SPACE, 1, 1))
    table = wide(metrics.reach(run))
    assert table[["tag", "criterion", "taken", "left", "part"]].values.tolist() == [
        ["-disk", "too_little_scratch", 45.0, 55.0, 45.0], ["-cap", "too_many", 30.0, 25.0, 30.0],
        ["-disk", "too_little_space", 10.0, 15.0, 10.0], [USED, USED, 15.0, 15.0, 15.0]]
    assert set(table.decisions) == {4.0}


def test_cores_are_lost_at_the_queue_that_came_furthest(tmp_path):
    run = run_with(tmp_path, (QX, *NONE, 4, 4), (QY, *SCRATCH, 4, 0), (QY2, *CAP, 4, 4))
    assert wide(metrics.cores_lost(run))[["candidate", "tag", "cores"]].values.tolist() == [["QY2", "-cap", 40.0]]


def test_a_run_of_users_alone_has_the_reach_of_their_broker_and_none_of_job_brokerage(tmp_path):
    run = run_with(tmp_path, (QX, *NONE, 4, 4), (QY, *SPACE, 4, 0), (QY2, *CAP, 3, 1), (QY2, *SPACE, 1, 3),
                   kind=ANALYSIS)
    table = wide(metrics.reach(run, "analysis_brokerage"))
    assert table[["tag", "taken", "left"]].values.tolist() == [
        ["-cap", 10.0, 90.0], ["-disk", 30.0, 60.0], [USED, 60.0, 60.0]]
    lost = wide(metrics.cores_lost(run, "analysis_brokerage"))
    assert lost[["candidate", "tag", "cores"]].values.tolist() == [["QY2", "-cap", 10.0], ["QY2", "-disk", 30.0]]
    rates = wide(metrics.refusal_rates(run, kind="analysis_brokerage"))
    assert rates[["candidate", "tag", "rate"]].values.tolist() == [["QY2", "-cap", 75.0], ["QY2", "-disk", 25.0]]
    for empty in (metrics.reach(run), metrics.cores_lost(run), metrics.refusal_rates(run),
                  metrics.brokerage_funnel(run)):
        assert len(empty) == 0


def test_queues_that_are_never_online_are_left_out(tmp_path):
    run = run_with(tmp_path, (QX, *SCRATCH, 4, 4), (QY, *SCRATCH, 4, 0), (QY2, *CAP, 4, 4))
    for name, status in (("QX", "test"), ("QY", "offline")):
        run.manifest["scenario"]["grid"]["queues"][name]["status"] = status
    assert wide(metrics.cores_lost(run)).candidate.tolist() == ["QY2"]
    assert set(wide(metrics.refusal_rates(run)).candidate) == {"QY2"}


def test_recorded_decisions_about_a_task_are_summed_by_pool(tmp_path):
    nan = np.nan
    decisions = np.array([(HOUR, 1, JOBS, 7, 0, 0, 3, 0, 0, -1, nan)], RECORDED["decisions"].dtype)
    candidates = np.array([(1, QX, *SCRATCH, -1, 0, nan, nan, -1), (1, QY, *SCRATCH, -1, 0, nan, nan, -1),
                           (1, QY2, *CAP, -1, 0, nan, nan, -1)], RECORDED["candidates"].dtype)
    run = run_with(tmp_path, decisions=decisions, candidates=candidates)
    table = metrics.reach_recorded(run, metrics.explain(run, 7))
    assert table[["jeditaskid", "rule", "taken", "left"]].values.tolist() == [
        [7, "-disk (too little scratch)", 60.0, 40.0], [7, "-cap", 40.0, 0.0]]


def test_a_run_without_decisions_has_an_empty_reach(tmp_path):
    run = run_with(tmp_path)
    for table in (metrics.reach(run), metrics.reach(run, "task_brokerage"), metrics.cores_lost(run),
                  metrics.reach_recorded(run, metrics.explain(run))):
        assert len(table) == 0
