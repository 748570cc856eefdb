"""Workers on their way to a slot: latency of the batch system, failed submissions, cancellation after 48 h."""

import numpy as np
import pytest
from builders import Bench, scenario

from simgrid_broker.fabric.batch import QUEUED_MOST_S
from simgrid_broker.units import HOUR
from simgrid_broker.world.series import Series


def bench_with(cores=100, seed=1, **queue) -> Bench:
    """A site with one single-core queue."""
    said = {"Q": dict(atlas_site="HERE", capability="score") | queue}
    return Bench(scenario({"HERE": dict(cores=cores)}, said, seed=seed, agents=dict(pilot_startup=0, empty_pilot=1e9)))


def numbers(bench) -> tuple[int, int]:
    """Workers that wait and that hold a slot."""
    bench.check()
    return tuple(int(bench.arrays.pseudo_queues[name][0]) for name in ("n_submitted", "n_running"))


def started(bench, until: float, step: float = 10.0) -> list[float]:
    """When workers got their slots, to a step."""
    found = []
    for moment in np.arange(0, until, step):
        bench.run(float(moment))
        found += [float(moment)] * (numbers(bench)[1] - len(found))
    return found


@pytest.mark.rule("waits_for")
@pytest.mark.parametrize(("seconds", "expected"), [
    pytest.param(299.9, (2, 0), id="before"), pytest.param(300.0, (0, 2), id="then"),
])
def test_a_batch_system_considers_workers_after_its_latency(seconds, expected):
    bench = bench_with(batch_latency=300)
    bench.workers(2)
    bench.run(seconds)
    assert numbers(bench) == expected


@pytest.mark.rule("waits_for")
def test_latency_is_a_distribution_about_its_median():
    bench = bench_with(cores=500, batch_latency=1000, batch_latency_spread=0.5)
    bench.workers(400)
    times = np.array(started(bench, 6000.0))
    assert len(times) == 400
    assert np.median(times) == pytest.approx(1000, rel=0.1)
    assert np.log(np.maximum(times, 1)).std() == pytest.approx(0.5, rel=0.15)


@pytest.mark.rule("waits_for")
def test_latency_of_a_worker_does_not_depend_on_how_many_come_with_it():
    one, two = (bench_with(batch_latency=1000, batch_latency_spread=0.5) for _ in range(2))
    one.workers(3)
    for _ in range(3):
        two.workers(1)
    assert started(one, 5000.0) == started(two, 5000.0) != started(bench_with(batch_latency=1000), 5000.0)


@pytest.mark.rule("is_missed")
@pytest.mark.parametrize(("rate", "missed"), [
    pytest.param(0, 0, id="none fail"), pytest.param(1, 1000, id="all fail"), pytest.param(0.3, 300, id="a part"),
])
def test_workers_that_cannot_be_submitted_are_missed(rate, missed):
    bench = bench_with(cores=0, submission_failures=rate)
    bench.workers(1000)
    account = bench.arrays.worker_accounts[0]
    assert account["n_missed"] == pytest.approx(missed, abs=50 if 0 < rate < 1 else 0)
    assert numbers(bench) == (1000 - account["n_missed"], 0)


@pytest.mark.rule("harvester_monitor", "cancel_old")
@pytest.mark.parametrize(("age", "cancelled"), [
    pytest.param(QUEUED_MOST_S, 0, id="48 h"), pytest.param(QUEUED_MOST_S + 1, 3, id="more"),
])
def test_workers_that_wait_for_too_long_are_cancelled(age, cancelled):
    bench = bench_with(cores=0)
    bench.workers(3)
    bench.run(1000.0)
    bench.workers(2)
    bench.run(age)
    bench.fabric.cancel_old_workers(bench.now)
    assert bench.arrays.worker_accounts["n_cancelled"].tolist() == [cancelled]
    assert numbers(bench) == (5 - cancelled, 0)


@pytest.mark.rule("cancel_old")
@pytest.mark.parametrize("batch_latency", [0.0, 40 * HOUR])
def test_younger_workers_are_cancelled_when_they_are_as_old(batch_latency):
    bench = bench_with(cores=0, batch_latency=batch_latency)
    cancelled = []
    for now in (0.0, 20 * HOUR, 49 * HOUR, 67 * HOUR, 69 * HOUR):
        bench.run(now)
        bench.fabric.cancel_old_workers(bench.now)
        bench.workers(1)
        cancelled.append(int(bench.arrays.worker_accounts["n_cancelled"][0]))
    assert cancelled == [0, 0, 1, 1, 2]


@pytest.mark.rule("cancel_old")
def test_workers_that_were_cancelled_are_recorded_once():
    bench = bench_with(cores=0)
    bench.workers(3)
    series = Series(bench.world)
    targets = np.zeros(len(bench.arrays.hs06_milli))
    bench.run(QUEUED_MOST_S + 1)
    bench.fabric.cancel_old_workers(bench.now)
    row, = dict(series.rows(bench.now, targets))["workers"]
    assert (row["cancelled"], row["waiting"], row["missed"]) == (3, 0, 0)
    assert "workers" not in dict(series.rows(bench.now + 1, targets))


@pytest.mark.rule("cancel_old")
def test_a_worker_behind_one_that_was_cancelled_is_cancelled_too():
    bench = bench_with(cores=0, batch_latency=HOUR, batch_latency_spread=1)
    for _ in range(5):
        bench.workers(1)
    bench.run(QUEUED_MOST_S + 1)
    bench.fabric.cancel_old_workers(bench.now)
    assert numbers(bench) == (0, 0)


def test_a_batch_system_that_is_slower_than_48_h_never_starts_a_worker():
    bench = bench_with(batch_latency=QUEUED_MOST_S + 1)
    bench.workers(1)
    bench.run(QUEUED_MOST_S + 2)
    assert numbers(bench) == (0, 0) and bench.arrays.worker_accounts["n_cancelled"].tolist() == [1]


def test_account_of_cores():
    bench = bench_with()
    bench.submit(1)                                         # 100 s of work
    bench.workers(2)
    bench.run(50.0)
    account = bench.arrays.worker_accounts[0]
    held = account["held_core_s"] + 50 * account["held_cores"]
    used = account["used_core_s"] + 50 * account["used_cores"]
    assert (held, used) == (100, 50)                        # the second worker has no job
    bench.run(150.0)
    assert account["used_core_s"] == account["working_core_s"] == 100 and account["used_cores"] == 0
