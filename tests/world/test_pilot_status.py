"""What pilot streaming and Harvester see of the queues."""

import numpy as np
import pytest
from builders import Bench, S, put_job, scenario
from hypothesis import given, settings
from hypothesis import strategies as st

from simgrid_broker.fabric.jobs.activated import put_activated
from simgrid_broker.world.arrays import FETCHED
from simgrid_broker.world.pilot_status import (
    activated_by_type,
    activated_jobs,
    chosen_of,
    count_waiting,
    merged,
    pilot_status,
    take_for_workers,
    worker_types,
)

TYPES = dict(SCORE=dict(mincore=1, maxcore=1, maxrampercore=2000), MCORE=dict(mincore=2, maxrampercore=2000))
QUEUES = {"U": dict(atlas_site="HERE", capability="ucore", corecount=8, maxrss=16_000),
          "S": dict(atlas_site="HERE", capability="score", workflow="pull", maxrss=3000)}
SCORE, MCORE, PLAIN = range(3)
ALL = np.full((2, 2), 10**6)
"""More jobs of each share and type than there are."""


def bench(*jobs) -> Bench:
    """A unified and a single-core queue; jobs: pseudo-queue, share and priority of activated jobs."""
    shares = [dict(name="A", value=1), dict(name="B", value=1)]
    stage = Bench(scenario({"HERE": dict(cores=100)}, QUEUES, resource_types=TYPES, shares=shares), {}, dict(share=1))
    for number, share, priority in jobs:
        queue, kind = (1, 0) if number == PLAIN else (0, number)
        row = put_job(stage, S.ACTIVATED, queue=queue, pseudo_queue=number, resource_type=kind, share=share, task=share,
                      priority=priority)
        put_activated(stage.arrays, row)
    return stage


def view(arrays):
    """View of pilot streaming."""
    return pilot_status(arrays, worker_types(arrays), activated_by_type(arrays))


@pytest.mark.parametrize(("jobs", "expected"), [
    pytest.param([], [], id="no jobs"),
    pytest.param([(SCORE, 0, 5)] * 3, [(SCORE, 5, 3)], id="jobs of one type and priority are one row"),
    pytest.param([(SCORE, 0, 5), (SCORE, 0, 7), (SCORE, 0, 5)], [(SCORE, 5, 2), (SCORE, 7, 1)], id="priorities"),
    pytest.param([(MCORE, 0, 5), (SCORE, 0, 5)], [(MCORE, 5, 1), (SCORE, 5, 1)], id="types: the oldest job first"),
    pytest.param([(SCORE, 0, 5), (MCORE, 0, 5), (SCORE, 0, 5)], [(SCORE, 5, 2), (MCORE, 5, 1)], id="and once only"),
    pytest.param([(SCORE, 1, 5), (PLAIN, 0, 5), (SCORE, 0, 6)], [(SCORE, 6, 1)], id="of this queue and share alone"),
])
def test_activated_jobs_by_priority(jobs, expected):
    arrays = bench(*jobs).arrays
    found = view(arrays).by_priority(np.array([0]), np.array([0]), ALL[:1])
    assert [(row["resource_type"], row["priority"], row["number"]) for row in found] == expected


def test_a_heap_with_many_jobs_is_counted_in_full():
    arrays = bench(*[(SCORE, 0, priority % 7) for priority in range(500)]).arrays
    found = view(arrays).by_priority(np.array([0, 0]), np.array([0, 1]), ALL)
    assert found["number"].sum() == 500 and sorted(found["priority"]) == list(range(7))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from((SCORE, MCORE)), st.integers(0, 5)), max_size=80), st.integers(0, 20))
def test_the_first_jobs_of_a_heap_are_those_of_the_whole(jobs, most):
    arrays = bench(*((kind, 0, priority) for kind, priority in jobs)).arrays
    look_up = view(arrays).by_priority
    some, every = (look_up(np.array([0]), np.array([0]), np.full((1, 2), number)) for number in (most, 10**6))
    for kind in (SCORE, MCORE):
        first, whole = (np.sort(np.repeat(-rows["priority"], rows["number"])[:most].tolist()) for rows in (
            np.sort(of_kind[of_kind["resource_type"] == kind], order="priority")[::-1] for of_kind in (some, every)))
        assert first.tolist() == whole.tolist()


def test_jobs_far_down_a_heap_are_not_counted():
    arrays = bench(*[(SCORE, 0, 5)] * 500).arrays
    found = view(arrays).by_priority(np.array([0]), np.array([0]), np.full((1, 2), 9))
    assert 9 <= found["number"].sum() < 100


def test_all_jobs_count_where_another_order_than_that_of_priority_holds():
    arrays = bench(*[(SCORE, 0, 5)] * 500).arrays
    arrays.settings["rank_by_attempt"] = 1
    found = view(arrays).by_priority(np.array([0]), np.array([0]), np.full((1, 2), 9))
    assert found["number"].sum() == 500


def test_mean_memory_of_workers():
    arrays = bench().arrays
    assert worker_types(arrays).memory.tolist() == [[2000, 16_000], [3000, 0]]
    arrays.pseudo_queues["worker_mb"][1] = 24_000
    arrays.pseudo_queues["n_running"], arrays.pseudo_queues["n_submitted"] = [8, 0, 0], [0, 1, 2]
    found = view(arrays)
    assert found.mean_memory.tolist() == [2500, 3000]                      # 8 x 2000 and 24 000 MB for 16 cores
    assert found.mean_memory_running.tolist() == pytest.approx([2000, np.nan], nan_ok=True)


def test_jobs_that_harvester_counts():
    assert activated_jobs(bench((SCORE, 0, 1), (PLAIN, 0, 1), (PLAIN, 1, 1)).arrays, np.array([1])).tolist() == [0, 2]


def fetched(types, *ends) -> tuple[np.ndarray, np.ndarray]:
    """Jobs in the first rows that Harvester has fetched, by the types of their workers, and where those of each queue
    end."""
    return np.array([(row + 1, row, kind) for row, kind in enumerate(types)], FETCHED), np.array(ends)


def test_jobs_of_two_lists_are_put_together_queue_by_queue():
    jobs, ends = merged(fetched([0, 1, 2], 2, 2, 3), fetched([3, 4, 5], 1, 2, 3))
    assert jobs["resource_type"].tolist() == [0, 1, 3, 4, 2, 5] and ends.tolist() == [3, 4, 6]


def test_chosen_jobs_stay_with_their_queues():
    jobs, ends = chosen_of(fetched([0] * 4, 2, 3, 4), np.array([False, True, False, True]))
    assert jobs["row"].tolist() == [1, 3] and ends.tolist() == [1, 1, 2]


def test_workers_take_the_first_jobs_of_their_type_and_queue():
    types = [0, 1, 0, 0, 0, 0]
    (jobs, ends), taken, asked = fetched(types, 4, 6), fetched(types, 0, 0), np.full((2, 2), 9)
    workers = np.array([[2, 0], [0, 0]])
    n = take_for_workers(np.arange(2), workers, (jobs, ends), taken, asked)
    assert taken[0]["row"][:n].tolist() == [0, 2] and taken[1].tolist() == [2, 2]
    assert jobs["row"][:6 - n].tolist() == [1, 3, 4, 5] and ends.tolist() == [2, 4]
    assert asked.tolist() == [[1, 1], [9, 9]] and not workers.any()


def test_workers_are_asked_for_by_the_types_of_the_jobs_that_wait():
    asked = np.full((2, 2), 9)
    count_waiting(np.arange(2), np.array([True, False]), *fetched([1, 0, 1, 0], 3, 4), asked)
    assert asked.tolist() == [[1, 2], [9, 9]]
