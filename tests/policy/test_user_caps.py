"""Caps on the running jobs of users and groups, and the boost of users who got little."""

import numpy as np
import pytest
from policy_builders import cfg

from simgrid_broker.names import JobStatus
from simgrid_broker.policy.users.limits import (
    HELD,
    LONG_JOB_S,
    MOVABLE,
    Boost,
    Capped,
    Caps,
    boosted,
    boosts,
    caps,
    held_by_cap,
    may_matter,
    over_and_below,
    owners,
    released_below_cap,
)

pytestmark = pytest.mark.rule("over_and_below", "boosts")

S = JobStatus

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


@pytest.mark.rule("limits.caps")
def test_caps_of_gdpconfig():
    assert caps(cfg()) == Caps(10_000, 10_000, 10_000, 10_000)
    keys = {"CAP_RUNNING_USER_JOBS": 5, "CAP_RUNNING_GROUP_CORES": 0}
    assert caps(cfg(prio_mgr=keys)) == Caps(5, 10_000, 10_000, 10_000)
    assert caps(cfg("deployed", prio_mgr=keys)) == Caps(5, 10_000, 10_000, 0)              # a cap of 0 in the code


def lifted(done, activated, known=None):
    """Boosts of owners; where nothing is said, those with recent or waiting jobs are known."""
    done, activated = np.array(done), np.array(activated)
    return boosts(done, activated, (done > 0) | (activated > 0) if known is None else np.array(known, bool))


def test_an_owner_below_the_mean_is_lifted_where_others_got_more():
    assert lifted([[40, 0], [0, 0]], [[0, 0], [30, 5]]) == [Boost(1, 0, 20)]   # no job has run at the second queue


def test_what_is_lacking_is_divided_among_the_queues():
    assert lifted([[40, 40], [0, 0]], [[0, 0], [30, 30]]) == [Boost(1, 0, 20), Boost(1, 1, 20)]


def test_an_owner_with_cancelled_jobs_alone_counts_for_the_means():
    assert lifted([[40], [0], [0]], [[0], [30], [0]], [[1], [1], [1]]) == [Boost(1, 0, 13)]


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
    assert lifted(done, activated) == expected


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


def capped(task, owner, status, flag=MOVABLE, max_walltime_s=LONG_JOB_S + 1, is_merge=False):
    """Jobs as caps see them, all alike but for what is a list."""
    return Capped(*np.broadcast_arrays(task, owner, status, flag, max_walltime_s, is_merge))


A, H, NO_OWNER = S.ACTIVATED, S.THROTTLED, -1


@pytest.mark.rule("held_by_cap")
@pytest.mark.parametrize(("jobs", "documented", "deployed"), [
    pytest.param(capped([0, 0, 1], [0, 0, 1], A), [1, 1, 0], [1, 1, 0], id="jobs of the owner above the cap"),
    pytest.param(capped(0, 0, [A, H, S.RUNNING]), [1, 0, 0], [1, 0, 0], id="activated ones"),
    pytest.param(capped(0, 0, A, max_walltime_s=[LONG_JOB_S, LONG_JOB_S + 1]), [1, 1], [0, 1], id="long ones"),
    pytest.param(capped(0, 0, A, flag=[0, MOVABLE, 2]), [1, 1, 1], [1, 1, 1], id="one flag is enough for a task"),
    pytest.param(capped([0, 1], 0, A, flag=[0, MOVABLE]), [1, 1], [0, 1], id="but not for another task"),
    pytest.param(capped(0, 0, A, is_merge=[False, True]), [1, 0], [1, 1], id="merge jobs in the code"),
    pytest.param(capped(0, [0, NO_OWNER], A), [1, 0], [1, 1], id="jobs of the task without an owner count in the code"),
    pytest.param(capped(0, [1, NO_OWNER], A), [0, 0], [0, 0], id="a job without an owner is above no cap"),
])
def test_jobs_that_a_cap_holds(jobs, documented, deployed):
    for edition, expected in (("documented", documented), ("deployed", deployed)):
        assert held_by_cap(jobs, np.array([True, False]), edition).tolist() == list(map(bool, expected))


@pytest.mark.rule("released_below_cap")
@pytest.mark.parametrize(("jobs", "documented", "deployed"), [
    pytest.param(capped([0, 0, 1], [0, 0, 1], H, HELD), [1, 1, 0], [1, 1, 0], id="jobs of the owner below the cap"),
    pytest.param(capped(0, 0, [H, A], HELD), [1, 0], [1, 0], id="throttled ones"),
    pytest.param(capped(0, 0, H, [MOVABLE, HELD]), [0, 1], [1, 1], id="all of a task with one that a cap holds"),
    pytest.param(capped([0, 1], 0, H, [MOVABLE, HELD]), [0, 1], [0, 1], id="but not of another task"),
    pytest.param(capped(0, NO_OWNER, H, HELD), [0], [0], id="a job without an owner is below no cap"),
])
def test_jobs_that_are_released(jobs, documented, deployed):
    for edition, expected in (("documented", documented), ("deployed", deployed)):
        assert np.atleast_1d(released_below_cap(jobs, np.array([True, False]), edition)).tolist() == list(
            map(bool, expected))


def risen(priority, is_merge=False, n_jobs=2, **changed):
    """Positions and points of jobs of an owner that rise at a queue."""
    priority = np.array(priority)
    jobs = capped(np.arange(len(priority)), 1, A, is_merge=is_merge)._replace(**changed)
    return [(places.tolist(), points) for _, places, points in boosted(
        [Boost(1, 0, n_jobs)], jobs, np.zeros(len(priority), int), priority)]


@pytest.mark.rule("limits.boosted")
def test_the_oldest_jobs_of_an_owner_near_the_top_rise_to_1000():
    assert risen([980, 979, 980, 980]) == [([0, 2], 20)]                   # 2 / 5 below the highest, at most two
    assert risen([976, 980, 975, 977], n_jobs=20) == [([1, 3], 20)]        # down to 4 below it, that excluded
    assert risen([980, 975, 974], n_jobs=30) == [([0, 1], 20)]             # down to 6 below it, that excluded
    assert risen([980, 980], owner=np.array([0, 1])) == [([1], 20)]
    assert risen([980, 980], status=np.array([H, A])) == [([1], 20)]
    assert risen([980, 990], owner=np.array([0, 2])) == []                 # an owner without jobs


@pytest.mark.rule("limits.boosted")
def test_merge_jobs_do_not_tell_the_highest_priority_but_rise_with_others():
    assert risen([990, 980, 980], [True, False, True]) == [([1, 2], 20)]
    assert risen([990], [True]) == []


@pytest.mark.rule("limits.boosted")
@pytest.mark.parametrize(("highest", "found"), [(999, [([0], 1)]), (1000, []), (1001, [])])
def test_nobody_is_lifted_above_the_top(highest, found):
    assert risen([highest]) == found


def test_without_owners_nobody_is_lifted():
    assert lifted(np.zeros((2, 3), int), np.zeros((2, 3), int)) == []
