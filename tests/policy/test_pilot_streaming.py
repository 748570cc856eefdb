from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simgrid_broker.names import QueueStatus
from simgrid_broker.policy.pilot_streaming import new_workers
from simgrid_broker.views import WAITING_JOBS, PilotStatus

pytestmark = pytest.mark.rule("new_workers")


def status(activated, corecount=8, running=0, queued=0, waiting=(0, 0), cores=(1, 8), order=None):
    """One queue; activated[share][type] jobs."""
    activated = np.asarray(activated)[None]
    order = np.arange(activated.shape[1]) if order is None else np.asarray(order)
    return PilotStatus(np.array([corecount]), np.array([running]), np.array([queued]), np.array([waiting]),
                       np.array([cores]), activated, order)


def of_unified_queue(jobs, running=(0, 0, 0, 0), waiting=(0, 0, 0, 0), **columns):
    """Workers by type of a unified queue of 8 cores; jobs: (share, type, priority, number); shares in order 0, 1."""
    cores, numbers = np.array([[1, 8, 1, 8]]), np.array([running])
    view = PilotStatus(
        np.array([8]), (numbers * cores).sum(axis=1), (np.array([waiting]) * cores).sum(axis=1), np.array([waiting]),
        cores, np.zeros((1, 2, 4), int), np.array([0, 1]), running_of_type=numbers,
        jobs=np.array([(0, *job) for job in jobs], WAITING_JOBS), high_memory=np.array([False, False, True, True]),
        most_memory=np.array([2000, 2000, np.inf, np.inf]), **columns)
    return new_workers(view)[0].tolist()


SCORE, MCORE, SCORE_HIMEM, MCORE_HIMEM = range(4)
MANY = [(0, kind, 500, 1000) for kind in range(4)]


@pytest.mark.parametrize(("jobs", "expected"), [
    pytest.param([(0, MCORE, 1, 99), (0, SCORE, 9, 600)], [601, 0, 0, 0], id="the higher priority takes all"),
    pytest.param([(0, MCORE, 9, 99), (0, SCORE, 1, 600)], [0, 76, 0, 0], id="whatever the order of types"),
    pytest.param([(1, SCORE, 9, 600), (0, MCORE, 1, 99)], [0, 76, 0, 0], id="but the share comes first"),
    pytest.param([(0, SCORE, 9, 592), (0, MCORE, 5, 9), (0, SCORE, 1, 9)], [593, 2, 0, 0], id="until the need is met"),
    pytest.param([(0, SCORE, 9, 599), (0, MCORE, 5, 9)], [600, 2, 0, 0], id="for the last core one of eight cores"),
])
def test_jobs_of_a_share_get_workers_by_priority(jobs, expected):
    assert of_unified_queue(jobs) == expected


@pytest.mark.parametrize(("status", "target", "expected"), [
    pytest.param(QueueStatus.ONLINE, 1500, 76, id="0.4 of it is 75 slots of 8 cores"),
    pytest.param(QueueStatus.ONLINE, 1520, 77, id="more"),
    pytest.param(QueueStatus.BROKEROFF, 1520, 77, id="brokerage is stopped, not the queue"),
    pytest.param(QueueStatus.TEST, 1520, 76, id="other queues have no such target"),
])
def test_cores_that_count_as_running(status, target, expected):
    asked = of_unified_queue([(0, MCORE, 1, 999)], status=np.array([status]), core_target=np.array([target]))
    assert asked == [0, expected, 0, 0]


@pytest.mark.parametrize(("limits", "expected"), [
    pytest.param(dict(limit_of_type=np.array([[10, np.inf, np.inf, np.inf]])), [0, 76, 0, 0], id="of workers"),
    pytest.param(dict(limit_of_type=np.array([[11, np.inf, np.inf, np.inf]])), [601, 0, 0, 0], id="one may come"),
    pytest.param(dict(high_memory_limit=np.array([26.0])), [0, 0, 0, 0], id="of cores of high-memory types"),
    pytest.param(dict(high_memory_limit=np.array([27.0])), [0, 0, 601, 0], id="one core may come"),
])
def test_limits_of_resource_types(limits, expected):
    jobs = MANY if "limit_of_type" in limits else [(0, SCORE_HIMEM, 1, 999)]
    kept_alive = [1, 0, 0, 0]
    assert of_unified_queue(jobs, running=(10, 0, 10, 2), **limits) == (expected if any(expected) else kept_alive)


@pytest.mark.parametrize(("memory", "expected"), [
    pytest.param(dict(meanrss=2000, mean_memory=2000.0), [0, 0, 0, 76], id="at the target"),
    pytest.param(dict(meanrss=2000, mean_memory=2001.0), [601, 0, 0, 0], id="above it: types that are not"),
    pytest.param(dict(meanrss=2000, mean_memory=1500.0, mean_memory_running=2001.0), [601, 0, 0, 0],
                 id="the larger mean counts"),
    pytest.param(dict(meanrss=1999, mean_memory=2500.0), [0, 0, 0, 76], id="without such a type all"),
    pytest.param(dict(meanrss=0, mean_memory=2500.0), [0, 0, 0, 76], id="no target"),
    pytest.param(dict(meanrss=2000, mean_memory=2500.0, ignore_meanrss=True), [0, 0, 0, 76], id="ignored"),
    pytest.param(dict(meanrss=2000), [0, 0, 0, 76], id="unknown memory"),
])
def test_mean_memory_of_a_queue(memory, expected):
    columns = {name: np.array([value]) if name != "ignore_meanrss" else value for name, value in memory.items()}
    assert of_unified_queue([(0, MCORE_HIMEM, 9, 999), (0, SCORE, 1, 999)], **columns) == expected


def workers(*args, **options):
    return new_workers(status(*args, **options))[0].tolist()


@pytest.mark.parametrize(("options", "expected"), [
    pytest.param(dict(activated=[[0, 0]]), [1, 0], id="an idle queue gets one worker to stay alive"),
    pytest.param(dict(activated=[[3, 0]]), [4, 0], id="as many as jobs and one more"),
    pytest.param(dict(activated=[[3, 2]]), [4, 3], id="for each type"),
    pytest.param(dict(activated=[[0, 999]]), [0, 76], id="75 slots wait at least"),
    pytest.param(dict(activated=[[9999, 0]]), [601, 0], id="75 slots of 8 cores for single cores"),
    pytest.param(dict(activated=[[0, 999]], running=8000), [0, 401], id="0.4 of the running cores"),
    pytest.param(dict(activated=[[0, 999]], running=8000, queued=3000), [0, 26], id="less what waits already"),
    pytest.param(dict(activated=[[0, 999]], running=8000, queued=9000), [0, 6], id="but 5 slots at least"),
    pytest.param(dict(activated=[[0, 4]], waiting=(0, 4)), [1, 0], id="waiting workers are used first"),
    pytest.param(dict(activated=[[0, 5]], waiting=(0, 4)), [0, 2], id="what is lacking comes on top, and one more"),
    pytest.param(dict(activated=[[600, 10], [600, 10]]), [601, 0], id="the first share takes all of the need"),
    pytest.param(dict(activated=[[0, 0], [600, 10]], order=[1, 0]), [601, 0], id="within a share types in order"),
    pytest.param(dict(activated=[[600, 0], [0, 75]], order=[1, 0]), [0, 76], id="the share served least comes first"),
    pytest.param(dict(activated=[[592, 0], [0, 75]]), [593, 2], id="the rest goes to the next share"),
    pytest.param(dict(activated=[[9, 9]], cores=(0, 8)), [0, 10], id="types that the queue does not have are left out"),
    pytest.param(dict(activated=[[0, 0]], cores=(0, 8)), [0, 1], id="then its first type keeps it alive"),
    pytest.param(dict(activated=[[5, 5]], cores=(0, 0)), [0, 0], id="a queue without types gets nothing"),
    pytest.param(dict(activated=[[99, 0]], corecount=0), [76, 0], id="no core count counts as one"),
])
def test_new_workers(options, expected):
    assert workers(**options) == expected


def one_by_one(view):
    """The decision for each queue alone, job by job, as the server's daemon makes it."""
    result = np.zeros(view.workers_queued.shape, int)
    for k in range(len(view.corecount)):
        slot = max(int(view.corecount[k]), 1)
        need = max(max(int(0.4 * view.cores_running[k]), 75 * slot) - view.cores_queued[k], 5 * slot)
        waiting = view.workers_queued[k].tolist()
        for type_ in _jobs_in_order(view, k):
            if need <= 0:
                break
            waiting[type_] -= 1
            if waiting[type_] <= 0:
                need -= view.worker_cores[k, type_]
        result[k] = [0 if w >= 0 else 1 - w for w in waiting]
        types = np.flatnonzero(view.worker_cores[k])
        if types.size and not result[k].any():
            result[k, view.score if view.score in types else types[0]] = 1
    return result


def _jobs_in_order(view, k):
    for share in view.share_order:
        for type_ in np.flatnonzero(view.worker_cores[k]):
            yield from [type_] * int(view.activated[k, share, type_])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))
def test_all_queues_at_once_equal_each_alone(n_queues, n_shares, n_types, seed):
    rng = np.random.default_rng(seed)
    view = PilotStatus(
        corecount=rng.choice([0, 1, 8], n_queues), cores_running=rng.integers(0, 5000, n_queues),
        cores_queued=rng.integers(0, 900, n_queues), workers_queued=rng.integers(0, 40, (n_queues, n_types)),
        worker_cores=rng.choice([0, 1, 8, 16], (n_queues, n_types)),
        activated=rng.choice([0, 0, 1, 30, 200], (n_queues, n_shares, n_types)),
        share_order=rng.permutation(n_shares), score=int(rng.integers(n_types)))
    before = view.workers_queued.copy()
    assert new_workers(view).tolist() == one_by_one(view).tolist()
    assert (view.workers_queued == before).all()


def test_priorities_are_looked_up_only_where_they_change_the_answer():
    asked = []

    def by_priority(queue, share, most):
        asked.append((queue.tolist(), share.tolist()))
        return np.array([(0, 1, 1, 9, 99), (0, 1, 0, 1, 9999)], WAITING_JOBS)
    view = replace(status([[100, 0], [9999, 99], [9999, 9999]]), by_priority=by_priority)
    assert new_workers(view).tolist() == [[101, 64]]                # 500 cores are left for the second share
    assert asked == [([0], [1])]                                    # the first gets all, the third nothing


@pytest.mark.parametrize("activated", [
    pytest.param([[9999, 0], [9, 9]], id="the need is met by a share with one type"),
    pytest.param([[9, 9], [5, 5]], id="all jobs of all shares get workers"),
])
def test_priorities_do_not_matter_where(activated):
    def by_priority(queue, share, most):
        assert not len(queue)
        return np.zeros(0, WAITING_JOBS)
    view = status(activated)
    assert new_workers(replace(view, by_priority=by_priority)).tolist() == new_workers(view).tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6))
def test_looking_up_some_priorities_equals_knowing_all(n_queues, n_shares, n_types, seed):
    rng = np.random.default_rng(seed)
    kept = rng.random((n_queues, n_shares, n_types, 3)) < 0.4
    place = np.argwhere(kept)
    jobs = np.zeros(len(place), WAITING_JOBS)
    for column, values in zip(("queue", "share", "resource_type", "priority"), place.T, strict=True):
        jobs[column] = values
    jobs["number"] = rng.choice([1, 30, 200], len(place))
    activated = np.zeros((n_queues, n_shares, n_types), int)
    np.add.at(activated, tuple(place.T[:3]), jobs["number"])

    def by_priority(queue, share, most):
        chosen = {pair: k for k, pair in enumerate(zip(queue.tolist(), share.tolist(), strict=True))}
        given = jobs[[(row["queue"], row["share"]) in chosen for row in jobs]]
        for row in given:                                     # no more of a priority than can matter
            row["number"] = min(row["number"], most[chosen[row["queue"], row["share"]], row["resource_type"]])
        return given
    view = PilotStatus(
        corecount=rng.choice([1, 8], n_queues), cores_running=rng.integers(0, 5000, n_queues),
        cores_queued=rng.integers(0, 900, n_queues), workers_queued=rng.integers(0, 40, (n_queues, n_types)),
        worker_cores=rng.choice([0, 1, 8, 16], (n_queues, n_types)), activated=activated,
        share_order=rng.permutation(n_shares))
    found = new_workers(replace(view, by_priority=by_priority))
    assert found.tolist() == new_workers(replace(view, jobs=jobs)).tolist()
