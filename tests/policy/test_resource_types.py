from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.policy.jobs.resource_types import (
    UNDEFINED,
    cores_of_worker,
    is_high_memory,
    job_corecount,
    job_ramcount,
    resource_type_of,
)
from simgrid_broker.scenario.model import DEFAULT_RESOURCE_TYPES, ResourceTypeBounds

pytestmark = pytest.mark.rule("resource_type_of", "job_ramcount", "job_corecount", "is_high_memory",
                              "cores_of_worker")

FOUR = tuple(DEFAULT_RESOURCE_TYPES.values())
SCORE, MCORE, SCORE_HIMEM, MCORE_HIMEM = range(4)


@pytest.mark.parametrize(("corecount", "ramcount", "ramunit", "base", "expected"), [
    pytest.param(1, 2000, "MBPerCore", 0, SCORE, id="one core, ordinary"),
    pytest.param(1, 2200, "MBPerCore", 0, SCORE, id="2 200 MB count as 1 980"),
    pytest.param(1, 2223, "MBPerCore", 0, SCORE, id="2 223 MB count as 2 000"),
    pytest.param(1, 2224, "MBPerCore", 0, SCORE_HIMEM, id="2 224 MB count as 2 001"),
    pytest.param(8, 2000, "MBPerCore", 1000, MCORE, id="a base is spread over the cores"),
    pytest.param(8, 2000, "MBPerCore", 2000, MCORE_HIMEM, id="a large base lifts the type"),
    pytest.param(8, 16000, "MB", 0, MCORE, id="a total is divided by the cores"),
    pytest.param(8, 20000, "MB", 0, MCORE_HIMEM, id="a large total"),
    pytest.param(0, 2000, "MBPerCoreFixed", 0, MCORE, id="any cores stand for eight"),
    pytest.param(1, nan, "MBPerCore", 2223, SCORE, id="an unknown ramCount, and a base of an ordinary type"),
    pytest.param(1, nan, "MBPerCore", 2300, SCORE_HIMEM, id="an unknown ramCount adds nothing to the base"),
    pytest.param(None, 0, "MB", 0, SCORE, id="no cores stand for one"),
])
def test_type_of_a_task(corecount, ramcount, ramunit, base, expected):
    assert resource_type_of(FOUR, corecount, ramcount, ramunit, base) == expected


def test_what_fits_nowhere_is_undefined():
    assert resource_type_of(FOUR[:2], 1, 9000, "MB", 0) == UNDEFINED
    assert resource_type_of((), 1, 100, "MB", 0) == UNDEFINED


def test_the_first_type_that_fits_wins():
    assert resource_type_of((ResourceTypeBounds(), *FOUR), 1, 100, "MB", 0) == 0


@given(st.integers(0, 64), st.floats(0, 1e5), st.sampled_from(["MB", "MBPerCore"]), st.floats(0, 5000))
def test_the_four_types_leave_no_gap(corecount, ramcount, ramunit, base):
    assert resource_type_of(FOUR, corecount, ramcount, ramunit, base) != UNDEFINED


@pytest.mark.parametrize(("args", "expected"), [
    pytest.param((2000, True, 1000, 8), 15300, id="eight cores and a base"),
    pytest.param((2000, False, 1000, 8), 1800, id="a total has no base"),
    pytest.param((1111, False, 0, 1), 999, id="cut to whole MB"),
    pytest.param((0, False, 0, 1), 0, id="nothing"),
    pytest.param((nan, True, 1000, 8), 900, id="unknown: the base alone"),
])
def test_memory_of_a_job(args, expected):
    assert job_ramcount(*args) == expected


@pytest.mark.parametrize(("bounds", "high", "cores"), [
    pytest.param(dict(mincore=1, maxcore=1, maxrampercore=2000), False, 1, id="one core of 2000 MB"),
    pytest.param(dict(mincore=1, maxcore=1, maxrampercore=2001), True, 1, id="one core of a MB more"),
    pytest.param(dict(mincore=2, maxrampercore=2000), False, 8, id="two cores or more have the cores of the queue"),
    pytest.param(dict(mincore=2, minrampercore=2001), True, 8, id="memory without a bound is high"),
    pytest.param(dict(maxrampercore=1000), False, 1, id="without a least number of cores one"),
])
def test_high_memory_and_cores_of_a_worker(bounds, high, cores):
    kind = ResourceTypeBounds(**bounds)
    assert (is_high_memory(kind), cores_of_worker(kind, 8), cores_of_worker(kind, 0)) == (high, cores, 1)


@pytest.mark.parametrize(("task", "queue", "expected"), [
    pytest.param(1, 8, 1, id="one core stays one core"),
    pytest.param(8, 16, 16, id="the queue decides"),
    pytest.param(0, 8, 8, id="any core count"),
    pytest.param(8, 0, 1, id="a queue without a number has one"),
    pytest.param(4, -1, 4, id="a queue of -1 takes the task's"),
    pytest.param(0, -1, 1, id="nobody decides"),
])
def test_cores_of_a_job(task, queue, expected):
    assert job_corecount(task, queue) == expected
