"""Classes of analysis tasks, and the use of their shares."""

import numpy as np
import pytest
from policy_builders import cfg, share_tree

from simgrid_broker.names import SiteClass, TaskClass, TaskStatus
from simgrid_broker.policy.users.classes import (
    EVALUATED_S,
    Progress,
    Queues,
    Slots,
    Users,
    equivalent_targets,
    equivalent_usage,
    is_evaluated,
    leaf_usage,
    slots_of_users,
    task_classes,
)

A, B, C, S = TaskClass.A, TaskClass.B, TaskClass.C, TaskClass.S
T = TaskStatus


def task_class(in_hi=0, in_hi_or_mid=0, done=0, failed=0, n_jobs=1000, n_files=1000, express=False,
               edition="deployed", **keys):
    """Class of one task."""
    found = task_classes(Slots(np.array([float(in_hi)]), np.array([float(in_hi_or_mid)])),
                         Progress(*np.array([[done], [failed], [n_files], [n_jobs]])), np.array([express]),
                         cfg(edition, analy_eval=keys), edition)
    return found[0]


@pytest.mark.rule("classes.task_classes")
@pytest.mark.parametrize(("in_hi", "in_hi_or_mid", "documented", "deployed"), [
    pytest.param(999, 99_999, A, A, id="few slots in hi"),
    pytest.param(1000, 0, A, B, id="as many as the threshold"),
    pytest.param(1001, 7999, B, B, id="more"),
    pytest.param(1001, 8000, B, C, id="as many as the second threshold"),
    pytest.param(1001, 8001, C, C, id="more than both"),
])
def test_slots_make_classes(in_hi, in_hi_or_mid, documented, deployed):
    assert task_class(in_hi, in_hi_or_mid, edition="documented") == documented
    assert task_class(in_hi, in_hi_or_mid, edition="deployed") == deployed


@pytest.mark.rule("classes.task_classes")
def test_a_user_without_slots_has_no_class_but_in_express():
    assert np.isnan(task_class(np.nan, np.nan, done=999))
    assert task_class(np.nan, np.nan, express=True) == S


@pytest.mark.rule("classes._nearly_done")
@pytest.mark.parametrize(("slots", "done", "n_jobs", "documented", "deployed"), [
    pytest.param(0, 899, 1000, A, A, id="below 90 %"),
    pytest.param(0, 900, 1000, S, S, id="at 90 %"),
    pytest.param(0, 900, 5000, S, S, id="500 jobs left"),
    pytest.param(0, 900, 5010, S, A, id="501 jobs left"),
    pytest.param(0, 999, 1000, S, S, id="a job left"),
    pytest.param(0, 1000, 1000, S, A, id="no job left"),
    pytest.param(2000, 949, 1000, S, B, id="class B below 95 %"),
    pytest.param(2000, 950, 4000, S, S, id="200 jobs left"),
    pytest.param(2000, 950, 4020, S, B, id="201 jobs left"),
    pytest.param(9000, 999, 1000, S, C, id="class C is not boosted"),
])
def test_tasks_that_are_nearly_done(slots, done, n_jobs, documented, deployed):
    for edition, expected in (("documented", documented), ("deployed", deployed)):
        assert task_class(slots, slots, done, n_jobs=n_jobs, edition=edition) == expected


@pytest.mark.rule("classes.task_classes", "classes._nearly_done")
@pytest.mark.parametrize(("keys", "expected"), [
    ({"USER_USAGE_THRESHOLD_A": 10}, B), ({"USER_USAGE_THRESHOLD_A": 10, "USER_USAGE_THRESHOLD_B": 10}, C),
    ({"PROGRESS_TO_BOOST_A": 50}, S), ({"PROGRESS_TO_BOOST_A": 50, "MAX_REM_JOBS_TO_BOOST_A": 10}, A),
    ({"USER_USAGE_THRESHOLD_A": 10, "PROGRESS_TO_BOOST_B": 50, "MAX_REM_JOBS_TO_BOOST_B": 999}, S)])
def test_thresholds_are_keys(keys, expected):
    assert task_class(20, 20, done=500, n_jobs=100, **keys) == expected


@pytest.mark.rule("classes._nearly_done")
def test_failed_files_are_not_left_to_do_in_the_code():
    assert task_class(done=900, failed=99, n_jobs=5010) == S
    assert task_class(done=900, failed=100) == A


@pytest.mark.rule("classes._nearly_done")
def test_progress_of_a_task_of_one_file():
    assert task_class(done=1, n_files=1, edition="documented") == S
    assert [task_class(n_files=1, n_jobs=n_jobs, PROGRESS_TO_BOOST_A=0) for n_jobs in (500, 501)] == [S, A]


@pytest.mark.rule("slots_of_users")
@pytest.mark.parametrize(("edition", "in_hi", "in_both"), [
    pytest.param("documented", [9, 0, np.nan, 0], [10, 0, np.nan, 2], id="users with running jobs at the grid"),
    pytest.param("deployed", [9, np.nan, 0, np.nan], [10, np.nan, 0, np.nan], id="with jobs at queues with a class"),
])
def test_slots_are_counted_by_the_class_of_the_queue(edition, in_hi, in_both):
    user, cores = np.array([0, 1, 0, 2, 3]), np.zeros((5, 5), int)
    cores[0, :3], cores[1, 4], cores[2, 0], cores[4, 3] = (8, 1, 4), 7, 1, 2
    active = cores.copy()
    active[3, 0] = 1                                             # the job of user 2 does not run
    queues = Queues(np.array([SiteClass.HI, SiteClass.MID, SiteClass.LO, SiteClass.MID, SiteClass.HI]),
                    np.array([1, 1, 1, 1, edition == "documented"], bool), np.array([1, 1, 1, 0, 1], bool))
    cores[1, 4] = 0 if edition == "documented" else 7
    cores[1, 2] = edition == "documented"
    found = slots_of_users(Users(user, cores, active), queues, 4, edition)
    np.testing.assert_equal(found.in_hi, in_hi)
    np.testing.assert_equal(found.in_hi_or_mid, in_both)


@pytest.mark.rule("is_evaluated")
def test_tasks_that_get_a_class():
    status = np.array([T.RUNNING, T.PENDING, T.THROTTLED, T.SCOUTED, T.READY, T.RUNNING, T.RUNNING])
    of_user = np.array([1, 1, 1, 0, 1, 1, 1], bool)
    is_test, age_s = status == -1, np.zeros(7)
    is_test[5], age_s[6] = True, np.nextafter(EVALUATED_S, np.inf)
    age_s[0] = EVALUATED_S
    assert is_evaluated(status, of_user, is_test, age_s, "deployed").tolist() == [True] * 4 + [False] * 3
    assert is_evaluated(status, of_user, is_test, age_s, "documented").tolist() == of_user.tolist()


TREE = share_tree(("Production", None, 50), ("Analysis", None, 50), ("User Analysis", "Analysis", 80),
                  ("Group Analysis", "Analysis", 20))
PRODUCTION, USER = 0, 1


@pytest.mark.rule("leaf_usage", "equivalent_usage", "equivalent_targets")
@pytest.mark.parametrize(("running", "queued", "leaf", "level"), [
    pytest.param((50, 40, 10), (99, 0, 0), 1.0, 1.0, id="all at their targets"),
    pytest.param((50, 50, 0), (99, 0, 0), 1.25, 1.0, id="the level-1 share is at its target, a sibling idles"),
    pytest.param((10, 80, 10), (0, 0, 0), 2.0, 90 / (50 + 40 * 50 / 51), id="production leaves what it has not"),
    pytest.param((10, 80, 10), (100, 0, 0), 2.0, 1.8, id="production could fill its share with half of its queue"),
    pytest.param((10, 80, 10), (99, 0, 0), 2.0, 90 / (50 + 0.5 * 50 / 51), id="nearly"),
    pytest.param((42.5, 50, 7.5), (0, 0, 0), 1.25, 1.15, id="85 % of the target is not idle"),
    pytest.param((0.5, 0.4, 0.1), (99, 0, 0), 1.0, 1.0, id="targets below one"),
    pytest.param((0, 0, 0), (9, 9, 9), np.nan, np.nan, id="nothing runs"),
])
def test_use_of_a_share(running, queued, leaf, level):
    running, queued = np.array(running, float), np.array(queued, float)
    assert leaf_usage(TREE, running, USER) == pytest.approx(leaf, nan_ok=True)
    assert equivalent_usage(TREE, running, queued, USER) == pytest.approx(level, nan_ok=True)


@pytest.mark.rule("equivalent_targets")
def test_what_idle_shares_leave_goes_to_busy_ones_in_proportion():
    tree = share_tree(("Idle", None, 50), ("Small", None, 10), ("Large", None, 40))
    found = equivalent_targets(tree, np.array([10.0, 20.0, 70.0]), np.zeros(3))
    assert found[1:].tolist() == pytest.approx([50, 10 + 40 * 10 / 51, 40 + 40 * 40 / 51])


@pytest.mark.rule("equivalent_usage")
def test_the_level_1_share_counts_wherever_it_stands_in_the_table():
    tree = share_tree(("Analysis", None, 50), ("User Analysis", "Analysis", 80), ("Group Analysis", "Analysis", 20),
                      ("Production", None, 50))
    assert equivalent_usage(tree, np.array([50.0, 0.0, 50.0]), np.array([0.0, 0.0, 99.0]), 0) == pytest.approx(1.0)


@pytest.mark.rule("leaf_usage")
def test_a_share_without_a_target_that_runs_is_above_it():
    tree = share_tree(("Production", None, 100), ("User Analysis", None, 0))
    assert leaf_usage(tree, np.array([9.0, 1.0]), 1) == np.inf
