"""Wall time and highest priority of queued jobs, by share or Resource queue, and resource type."""

import numpy as np
import pytest
from builders import Bench, S, put_job, scenario

from simgrid_broker.fabric.jobs.activated import put_activated
from simgrid_broker.names import RANKED
from simgrid_broker.world.jobs.counts import account_of_job, account_of_task
from simgrid_broker.world.jobs.loads import heaps_follow_priority, queued_priority, queued_walltime

HPC = dict(name="HPC", function="Resource", order=1, criteria="workingGroup = 'HPC'")
OF_SHARE, OF_HPC = 0, 1
"""Accounts of the only share, and of the Resource queue; the latter is that of the second task."""
MOST = 500
TYPES = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))
PLACES = {"U": dict(atlas_site="HERE", capability="ucore", corecount=8), "S": dict(atlas_site="HERE")}
"""A unified queue with two pseudo-queues, one for each type, and a plain one with a pseudo-queue for both."""


@pytest.fixture
def bench():
    """A queue, a Resource queue, and two tasks, of which the second belongs to it."""
    bench = Bench(scenario(work_queues=[HPC]), {}, {})
    bench.arrays.tasks["work_queue"] = [-1, 0]
    return bench


@pytest.mark.parametrize("task", [0, 1])
def test_a_job_has_the_account_of_its_task(bench, task):
    row = put_job(bench, S.ACTIVATED, task=task)
    assert account_of_job(bench.arrays, bench.arrays.jobs[row]) == account_of_task(bench.arrays, task) == task


@pytest.mark.parametrize(("status", "n_highest", "n_walltimes"), [
    pytest.param(S.PENDING, 0, 0, id="pending: not queued"), pytest.param(S.DEFINED, 1, 1, id="defined"),
    pytest.param(S.ASSIGNED, 1, 0, id="assigned: has no wall time yet"),
    pytest.param(S.ACTIVATED, 1, 1, id="activated"),
    pytest.param(S.STARTING, 0, 1, id="starting: waits no more"), pytest.param(S.RUNNING, 0, 0, id="running")])
def test_statuses_that_count(bench, status, n_highest, n_walltimes):
    bench.arrays.queues["maxtime_s"] = 3600.0
    put_job(bench, status, task=1, priority=7)
    assert queued_priority(bench.arrays, MOST).n_highest[OF_HPC].sum() == n_highest
    walltime = queued_walltime(bench.arrays)
    assert walltime.total_s([OF_HPC], [0]) == 3600.0 * n_walltimes and walltime.total_s([OF_SHARE], [0]) == 0.0


def test_jobs_of_the_highest_priority_are_counted_without_merge_jobs(bench):
    for priority, pieces in ((5, 1), (9, 1), (9, 1), (10, 0)):
        put_job(bench, S.ACTIVATED, priority=priority, n_chunks=pieces)
    assert queued_priority(bench.arrays, MOST).highest([OF_SHARE], [0]) == (9, 2)


def heaps(n_jobs: int) -> Bench:
    """Jobs of two types and shares in heaps by priority; those of the second type are 3 higher; some merge."""
    shares = [dict(name="A", value=1), dict(name="B", value=1)]
    found = Bench(scenario({"HERE": dict(cores=100)}, PLACES, resource_types=TYPES, shares=shares), {}, dict(share=1))
    found.arrays.settings["rank_by_priority"] = 1
    drawn = np.random.default_rng(7).integers((2, 2, 2, 6, 5), size=(n_jobs, 5))
    for queue, share, kind, level, piece in drawn.tolist():
        row = put_job(found, S.ACTIVATED, queue=queue, pseudo_queue=2 if queue else kind, resource_type=kind,
                      share=share, task=share, priority=level + 3 * kind, n_chunks=min(piece, 1))
        put_activated(found.arrays, row)
    return found


@pytest.mark.parametrize("most", [1, 3, 30, MOST])
@pytest.mark.parametrize("n_jobs", [0, 5, 50, 400])
def test_the_tops_of_heaps_say_as_much_as_all_jobs(n_jobs, most):
    bench = heaps(n_jobs)
    of_tops = queued_priority(bench.arrays, most)
    bench.arrays.settings["urgent_first"] = 1                       # heaps have another order then
    of_all = queued_priority(bench.arrays, most)
    assert np.array_equal(of_tops.priority, of_all.priority)
    assert np.array_equal(np.minimum(of_tops.n_highest, most), np.minimum(of_all.n_highest, most))


@pytest.mark.parametrize("ranked_by", sorted({*RANKED} - {"priority"}))
def test_heaps_by_anything_else_are_not_in_order_of_priority(ranked_by):
    bench = heaps(5)
    assert heaps_follow_priority(bench.arrays)
    bench.arrays.settings[f"rank_by_{ranked_by}"] = 1
    assert not heaps_follow_priority(bench.arrays)


def test_no_more_jobs_are_counted_than_were_asked_for():
    bench = heaps(400)
    assert queued_priority(bench.arrays, 1).n_highest.sum() < queued_priority(bench.arrays, MOST).n_highest.sum()


def test_wall_times_are_scaled_up_for_jobs_without_a_limit_and_unknown_if_none_has_one(bench):
    bench.arrays.queues["maxtime_s"] = np.inf
    put_job(bench, S.ACTIVATED)
    assert queued_walltime(bench.arrays).total_s([OF_SHARE], [0]) is None
    bench.arrays.tasks["cputime"][1], bench.arrays.tasks["cpuefficiency"][1] = 1.0, 0
    bench.arrays.tasks["basewalltime_s"][1], bench.arrays.tasks["work_queue"][1] = 600.0, -1
    put_job(bench, S.ACTIVATED, task=1)
    assert queued_walltime(bench.arrays).total_s([OF_SHARE], [0]) == 2 * 600.0
