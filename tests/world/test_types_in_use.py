"""Resource types that count for a task at a queue: those that a fifth of its jobs there have."""

import numpy as np
import pytest
from builders import Bench, S, put_job, two_sites

from simgrid_broker.world.jobs.counts import AGE_S, TypesInUse, types_in_use

QUEUES = {"U": dict(atlas_site="HERE", capability="ucore", corecount=8),
          "V": dict(atlas_site="THERE", capability="ucore", corecount=8)}
TYPES = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))


@pytest.fixture
def bench():
    """Two unified queues, and two tasks of single-core jobs."""
    return Bench(two_sites(queues=QUEUES, resource_types=TYPES), {}, {})


def jobs(bench, task, kind, number, queue=0, status=S.RUNNING):
    """Live jobs of a task and resource type at a queue."""
    for _ in range(number):
        put_job(bench, status, task=task, resource_type=kind, queue=queue)


def test_a_task_whose_jobs_have_its_own_type_is_left_out(bench):
    jobs(bench, 0, 0, 3)
    assert types_in_use(bench.arrays) == {}


@pytest.mark.parametrize(("own", "others", "kinds"), [
    pytest.param(4, 1, 0b11, id="a fifth"), pytest.param(5, 1, 0b01, id="less than a fifth"),
    pytest.param(1, 4, 0b11, id="a fifth have its own type"), pytest.param(0, 2, 0b10, id="none has its own type")])
def test_types_that_a_fifth_of_the_jobs_have(bench, own, others, kinds):
    jobs(bench, 1, 0, own)
    jobs(bench, 1, 1, others)
    jobs(bench, 1, 0, 2, queue=1)
    assert types_in_use(bench.arrays) == {2: ((0, kinds), (1, 0b01))}


def test_jobs_that_are_not_counted_yet_do_not_count(bench):
    jobs(bench, 0, 0, 1)
    jobs(bench, 0, 1, 9, status=S.PENDING)
    assert types_in_use(bench.arrays) == {1: ((0, 0b01),)}


@pytest.mark.parametrize(("level", "types"), [
    pytest.param(0, {}, id="as much as before"), pytest.param(1, {1: ((0, 0b01),)}, id="more"),
    pytest.param(6, {1: ((0, 0b01),)}, id="most"),
])
def test_input_that_will_ask_for_more_memory(bench, level, types):
    jobs(bench, 0, 0, 1)
    bench.arrays.ram_levels["waiting"][0, level] = 1
    assert types_in_use(bench.arrays) == types


def test_they_are_read_again_when_they_are_too_old(bench):
    known = TypesInUse()
    assert known.known_at(bench.arrays, 0.0) == {}
    jobs(bench, 0, 1, 1)
    assert known.known_at(bench.arrays, np.nextafter(AGE_S, 0)) == {}
    assert known.known_at(bench.arrays, AGE_S) == {1: ((0, 0b10),)}
