"""Batch systems: the oldest worker starts first, and one that does not fit holds back all younger ones."""

import pytest
from builders import Bench, scenario

PENDING_PILOT = dict(pilot_startup=60, empty_pilot=600)


def site_with(cores=8, memory_per_core=4000, **queues) -> Bench:
    """One site with several queues on the same batch system; each queue is said by its cores, or more."""
    plain = dict(atlas_site="HERE", capability="mcore")
    said = {name: plain | (more if isinstance(more, dict) else dict(corecount=more)) for name, more in queues.items()}
    site = dict(cores=cores, memory_per_core=memory_per_core)
    return Bench(scenario({"HERE": site}, said, agents=PENDING_PILOT))


def running(bench) -> list[int]:
    """Workers that hold a slot, by pseudo-queue."""
    return bench.arrays.pseudo_queues["n_running"].tolist()


@pytest.mark.rule("start_workers")
@pytest.mark.parametrize(("submitted", "expected"), [
    pytest.param([(0, 8)], [8, 0], id="single-core workers fill the site"),
    pytest.param([(0, 9)], [8, 0], id="one more waits"),
    pytest.param([(1, 1)], [0, 1], id="a multi-core worker takes all of it"),
    pytest.param([(0, 1), (1, 1)], [1, 0], id="a multi-core worker waits until its cores are free"),
    pytest.param([(0, 1), (1, 1), (0, 5)], [1, 0], id="younger single-core workers wait behind it: the site drains"),
    pytest.param([(1, 1), (0, 5)], [0, 1], id="first come, first served"),
])
def test_who_starts(submitted, expected):
    bench = site_with(S=1, M=8)
    for second, (queue, count) in enumerate(submitted):
        bench.run(float(second))
        bench.workers(count, queue=queue)
    assert running(bench) == expected
    bench.check()


@pytest.mark.rule("start_workers")
def test_a_worker_that_drained_the_site_starts_when_the_last_slot_is_free():
    bench = site_with(S=1, M=8)
    bench.workers(2, queue=0)
    bench.run(10.0)
    bench.workers(1, queue=1)
    bench.run(11.0)
    bench.workers(1, queue=0)
    bench.run(659.9)                                       # 60 s to start, 600 s without a job
    assert running(bench) == [2, 0]
    bench.run(660.0)
    assert running(bench) == [0, 1]
    bench.run(660.0 + 660.0)
    assert running(bench) == [1, 0]
    bench.check()


@pytest.mark.rule("start_workers")
@pytest.mark.parametrize(("maxrss", "n_running"), [
    pytest.param(10_666, 3, id="three just fit"),
    pytest.param(10_667, 2, id="the third lacks a megabyte"),
])
def test_memory_is_a_limit_like_cores(maxrss, n_running):
    bench = site_with(H=dict(corecount=1, maxrss=maxrss))
    bench.workers(3, queue=0)
    assert running(bench) == [n_running]
    assert bench.arrays.pools["free_cores"].tolist() == [8 - n_running]
    assert bench.arrays.pools["free_mb"].tolist() == [32_000 - n_running * maxrss]
    bench.check()


@pytest.mark.rule("start_workers")
def test_a_worker_that_lacks_memory_holds_back_all_younger_ones():
    bench = site_with(H=dict(corecount=1, maxrss=20_000), S=dict(corecount=1, maxrss=1000))
    bench.workers(2, queue=0)
    bench.run(1.0)
    bench.workers(3, queue=1)
    assert running(bench) == [1, 0]


@pytest.mark.rule("start_workers")
def test_workers_of_one_time_start_in_the_order_of_the_queues():
    bench = site_with(cores=3, A=1, B=1)
    bench.fabric.submit_workers([1, 0], [2, 2], 0.0)
    assert running(bench) == [2, 1]


def test_batch_systems_do_not_share_slots():
    bench = site_with(cores=2, A=1, B=dict(corecount=1, cores=5))
    bench.fabric.submit_workers([0, 1], [9, 9], 0.0)
    assert running(bench) == [2, 5]
    assert bench.world.state["n_pilots"] == bench.world.state["n_pilots_ever"] == 7


def test_a_pilot_without_a_job_gives_its_slot_back():
    bench = site_with(S=1)
    bench.workers(1)
    bench.run(659.9)
    assert running(bench) == [1]
    bench.run(660.0)
    assert running(bench) == [0]
    assert bench.world.state["n_pilots_empty"] == 1 and bench.world.state["n_pilots"] == 0
    bench.check()


def test_no_workers_are_no_workers():
    bench = site_with(S=1)
    bench.fabric.submit_workers([], [], 0.0)
    bench.fabric.submit_workers([0], [0], 0.0)
    assert bench.arrays.pseudo_queues["n_submitted"].tolist() == [0]
