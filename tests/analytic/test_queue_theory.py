"""One PanDA queue as a queue of theory: jobs arrive one by one, each with a worker, and wait for one of c slots."""

import heapq

import numpy as np
import pytest
from builders import Bench, S, scenario
from queueing import assert_mean, erlang_c, exponential, poisson

HS06 = 10.0
"""Power of a slot of the plain queue."""


def waits(arrivals, services, slots: int) -> np.ndarray:
    """How long each job waits, (n,) s; one task a job, whose work takes exactly `services` s on a slot."""
    said = [dict(work_hs06s_per_event=HS06 * service) for service in services]
    bench = Bench(scenario({"HERE": dict(cores=slots)}), *said)
    for task, now in enumerate(arrivals.tolist()):
        bench.run(now)
        bench.submit(task=task)
        bench.workers(1)
    bench.run(arrivals[-1] + 1e6)
    bench.collect()
    ended = bench.ended()
    assert len(ended) == len(arrivals) and (ended["status"] == S.FINISHED).all()
    found = np.empty(len(arrivals))
    found[ended["task"]] = np.subtract(bench.times(S.RUNNING), bench.times(S.ACTIVATED))
    return found


def test_one_server_by_hand():
    found = waits(np.array([0.0, 10.0, 20.0, 300.0, 310.0]), [100.0, 50.0, 10.0, 5.0, 20.0], slots=1)
    assert found.tolist() == pytest.approx([0, 90, 130, 0, 0])


@pytest.mark.parametrize(("slots", "period", "wait"), [
    pytest.param(1, 100.0, lambda k: 0.0, id="as fast as they come: nobody waits"),
    pytest.param(1, 80.0, lambda k: 20.0 * k, id="too fast: each waits 20 s longer"),
    pytest.param(2, 40.0, lambda k: 20.0 * (k // 2), id="two slots: every second one waits 20 s longer"),
])
def test_deterministic_arrivals_and_service(slots, period, wait):
    found = waits(period * np.arange(20), [100.0] * 20, slots)
    assert found.tolist() == pytest.approx([wait(k) for k in range(20)])


@pytest.mark.parametrize("slots", [1, 3])
def test_every_wait_is_that_of_the_recursion(slots):
    """First come, first served: a job begins when it has come and the slot that is free first is free (Lindley)."""
    arrivals, services = poisson(slots * 0.9 / 100.0, 1000, 1), exponential(100.0, 1000, 1)
    free = [0.0] * slots
    expected = []
    for now, service in zip(arrivals, services, strict=True):
        begin = max(now, heapq.heappop(free))
        heapq.heappush(free, begin + service)
        expected.append(begin - now)
    assert waits(arrivals, services, slots).tolist() == pytest.approx(expected, abs=0.05)    # wall times are single


N_JOBS, FORGOTTEN = 4000, 300
"""Jobs of a run, and those at its beginning that find the queue emptier than it will be."""
SEEDS = range(8)


@pytest.mark.parametrize(("slots", "load"), [(1, 0.6), (4, 0.7), (10, 0.75)])
def test_poisson_arrivals_and_exponential_service(slots, load):
    """M/M/c: an arrival waits with probability C (Erlang), on average C x service / (c (1 - load))."""
    mean = 100.0
    part, long = [], []
    for seed in SEEDS:
        found = waits(poisson(slots * load / mean, N_JOBS, seed), exponential(mean, N_JOBS, seed), slots)[FORGOTTEN:]
        part.append(np.mean(found > 1e-3))
        long.append(found.mean())
    waiting = erlang_c(slots * load, slots)
    assert_mean(part, waiting)
    assert_mean(long, waiting * mean / (slots * (1 - load)))


@pytest.mark.parametrize(("services", "square"), [
    pytest.param(lambda seed: np.full(N_JOBS, 100.0), 100.0**2, id="all take the same time"),
    pytest.param(lambda seed: np.where(exponential(1.0, N_JOBS, seed) > np.log(2), 150.0, 50.0), 12_500.0,
                 id="short and long ones"),
])
def test_poisson_arrivals_at_one_slot(services, square):
    """M/G/1: the mean wait is rate x mean of the squared service / (2 (1 - load)) (Pollaczek, Khinchine)."""
    load, mean = 0.6, 100.0
    found = [waits(poisson(load / mean, N_JOBS, seed), services(seed), 1)[FORGOTTEN:].mean() for seed in SEEDS]
    assert_mean(found, load / mean * square / (2 * (1 - load)))
