import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simgrid_broker.policy.pilots import new_workers
from simgrid_broker.views import PilotStatus


def status(activated, corecount=8, running=0, queued=0, waiting=(0, 0), cores=(1, 8), order=None):
    """One queue; activated[share][type] jobs."""
    activated = np.asarray(activated)[None]
    order = np.arange(activated.shape[1]) if order is None else np.asarray(order)
    return PilotStatus(np.array([corecount]), np.array([running]), np.array([queued]), np.array([waiting]),
                       np.array([cores]), activated, order)


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


@pytest.mark.parametrize(("running", "queued", "submitted"), [
    pytest.param(0, 0, 100, id="an idle queue may have the least number waiting"),
    pytest.param(0, 99, 1, id="one below the limit"),
    pytest.param(0, 100, 0, id="at the limit"),
    pytest.param(1000, 100, 300, id="a busy queue may have a part of its running workers waiting"),
    pytest.param(1000, 500, 0, id="over the limit"),
])
def test_harvester_limits_the_workers_that_wait(running, queued, submitted):
    plenty = PilotStatus(
        corecount=np.array([8]), cores_running=np.array([running]), cores_queued=np.array([0]),
        workers_queued=np.array([[queued, 0]]), worker_cores=np.array([[1, 8]]),
        activated=np.array([[[5000, 5000]]]), share_order=np.array([0]), workers_running=np.array([running]))
    assert new_workers(plenty).sum() == submitted


def test_types_are_scaled_alike_where_harvester_limits():
    both = PilotStatus(
        corecount=np.array([8]), cores_running=np.array([0]), cores_queued=np.array([0]),
        workers_queued=np.array([[0, 0]]), worker_cores=np.array([[1, 1]]), activated=np.array([[[199, 199]]]),
        share_order=np.array([0]), workers_running=np.array([0]))
    assert new_workers(both).tolist() == [[50, 50]]
