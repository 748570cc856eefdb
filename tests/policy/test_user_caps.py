"""Caps on the running jobs of users and groups, and the boost of users who got little."""

import numpy as np
import pytest
from policy_builders import cfg

from simgrid_broker.policy.user_caps import Boost, Caps, boosts, caps, over_and_below

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


def test_without_owners_nobody_is_lifted():
    nothing = np.zeros((2, 3), int)
    assert boosts(nothing, nothing, nothing) == []
