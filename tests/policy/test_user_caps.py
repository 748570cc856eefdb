"""Caps on the running jobs of users and groups, and the boost of users who got little."""

import numpy as np
import pytest
from policy_builders import cfg

from simgrid_broker.names import JobStatus
from simgrid_broker.policy.users.limits import Boost, Caps, boosted, boosts, caps, may_matter, over_and_below, owners

pytestmark = pytest.mark.rule("over_and_below", "boosts")

LIMITS = Caps(100, 400, 200, 800)


@pytest.mark.parametrize(("jobs", "cores", "group", "documented", "deployed"), [
    pytest.param(99, 99, 0, (False, False), (False, False), id="just below the cap"),
    pytest.param(100, 100, 0, (False, False), (True, False), id="at the cap the code begins"),
    pytest.param(101, 101, 0, (True, False), (True, False), id="above it both"),
    pytest.param(50, 400, 0, (False, False), (True, False), id="cores at their cap"),
    pytest.param(89, 300, 0, (False, True), (False, True), id="below nine tenths of both"),
    pytest.param(90, 300, 0, (False, False), (False, False), id="at nine tenths"),
    pytest.param(80, 360, 0, (False, False), (False, False), id="cores at nine tenths"),
    pytest.param(150, 300, 1, (False, True), (False, True), id="a group has its own caps"),
    pytest.param(201, 300, 1, (True, False), (True, False), id="and may exceed them"),
])
def test_caps(jobs, cores, group, documented, deployed):
    numbers = np.array([jobs]), np.array([cores]), np.array([bool(group)])
    for edition, found in (("documented", documented), ("deployed", deployed)):
        assert tuple(mask[0] for mask in over_and_below(*numbers, LIMITS, edition)) == found


def test_caps_of_gdpconfig():
    assert caps(cfg()) == Caps(10_000, 10_000, 10_000, 10_000)
    assert caps(cfg(prio_mgr={"CAP_RUNNING_USER_JOBS": 5, "CAP_RUNNING_GROUP_CORES": 0})) == Caps(
        5, 10_000, 10_000, 10_000)


def test_an_owner_below_the_mean_is_lifted_where_others_got_more():
    done = np.array([[40, 0], [0, 0]])
    activated, highest = np.array([[0, 0], [30, 5]]), np.array([[0, 0], [980, 990]])
    assert boosts(done, activated, highest) == [Boost(1, 0, 20, 976.0, 20)]     # at the second queue nobody got any


@pytest.mark.parametrize(("highest", "found"), [(999, 1), (1000, 0), (1001, 0)])
def test_nobody_is_lifted_above_the_top(highest, found):
    done, activated = np.array([[40], [0]]), np.array([[0], [3]])
    assert len(boosts(done, activated, np.array([[0], [highest]]))) == found


def test_what_is_lacking_is_divided_among_the_queues():
    done = np.array([[40, 40], [0, 0]])
    activated, highest = np.array([[0, 0], [30, 30]]), np.array([[0, 0], [980, 985]])
    assert [(boost.queue, boost.n_jobs, boost.points) for boost in boosts(done, activated, highest)] == [
        (0, 20, 20), (1, 20, 15)]


@pytest.mark.parametrize(("done", "activated", "expected"), [
    pytest.param([[40], [0], [0]], [[0], [30], [0]], [(1, 0, 20)], id="an owner without any job does not count"),
    pytest.param([[40], [0], [1]], [[0], [30], [0]], [(1, 0, 13)], id="one who had a single job does"),
    pytest.param([[40], [0], [0]], [[0], [30], [1]], [(1, 0, 13), (2, 0, 13)], id="and one with a single waiting job"),
    pytest.param([[40, 40], [0, 0]], [[0, 0], [30, 0]], [(1, 0, 40)], id="only queues where jobs wait"),
    pytest.param([[0, 99], [30, 0], [12, 0]], [[0, 0], [5, 0], [5, 0]], [(2, 0, 35)],
                 id="at a queue the mean is that of its owners: one above it is not lifted"),
    pytest.param([[1], [0]], [[0], [5]], [], id="less than a job is lacking"),
    pytest.param([[2], [0]], [[0], [5]], [(1, 0, 1)], id="one job is lacking"),
    pytest.param([[2], [0]], [[0], [0]], [], id="nothing waits"),
])
def test_who_is_lifted_and_by_how_many_jobs(done, activated, expected):
    found = boosts(np.array(done), np.array(activated), np.full(np.shape(done), 900))
    assert [(boost.owner, boost.queue, boost.n_jobs) for boost in found] == expected


@pytest.mark.rule("limits.owners")
def test_owners_are_users_and_users_of_named_groups():
    user, group = np.array([0, 1, 0, 1, 0]), np.array([1, 0, 0, 0, 1])       # group 0 has a name, group 1 has none
    found = owners(user, group, np.array([True, False])).tolist()
    assert found == [[0, -1], [1, 0], [0, 0], [1, 0], [0, -1]]


@pytest.mark.rule("may_matter")
@pytest.mark.parametrize(("jobs", "cores", "expected"), [
    pytest.param(dict(RUNNING=100), 400, False, id="at the caps of users"),
    pytest.param(dict(RUNNING=101), 400, True, id="a job more"),
    pytest.param(dict(RUNNING=100), 401, True, id="a core more"),
    pytest.param(dict(RUNNING=99, STARTING=1, SENT=1), 0, True, id="jobs that start soon count"),
    pytest.param(dict(RUNNING=50, STARTING=1), 392, False, id="eight cores at most for each of them"),
    pytest.param(dict(RUNNING=50, SENT=1), 393, True, id="which may be a core too many"),
    pytest.param(dict(THROTTLED=1), 0, True, id="a throttled job may be released"),
    pytest.param({}, 0, False, id="nothing"),
])
def test_whether_caps_may_matter(jobs, cores, expected):
    counts = np.zeros((2, len(JobStatus)), int)
    for status, number in jobs.items():
        counts[1, JobStatus[status]] = number
    assert bool(may_matter(counts, np.array([0, cores]), 8, LIMITS)) is expected


@pytest.mark.rule("may_matter")
@pytest.mark.parametrize(("limits", "expected"), [(Caps(100, 400, 50, 800), True), (Caps(100, 400, 200, 300), True),
                                                  (Caps(70, 400, 200, 800), False)])
def test_the_smaller_cap_of_users_and_groups_is_asked_first(limits, expected):
    counts = np.zeros((1, len(JobStatus)), int)
    counts[0, JobStatus.RUNNING] = 51
    assert bool(may_matter(counts, np.array([301]), 8, limits)) is expected


@pytest.mark.rule("limits.boosted")
def test_the_oldest_jobs_of_an_owner_at_a_queue_rise():
    owner, queue = np.array([1, 1, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 0, 0])
    priority = np.array([976, 977, 990, 990, 980, 979])
    ((rows, points),) = boosted([Boost(1, 0, 2, 976.0, 20)], owner, queue, priority)
    assert (rows.tolist(), points) == ([1, 4], 20)


def test_without_owners_nobody_is_lifted():
    nothing = np.zeros((2, 3), int)
    assert boosts(nothing, nothing, nothing) == []
