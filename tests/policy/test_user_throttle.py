"""The analysis watchdog's limits on users and groups."""

import numpy as np
import pytest
from policy_builders import cfg

from simgrid_broker.names import TaskStatus as T
from simgrid_broker.names import ThrottledBy as C
from simgrid_broker.policy.users.limits import (
    Moving,
    UserTasks,
    Work,
    counts_after,
    exceeded,
    far_below,
    least_bytes,
    moves_too_much,
    released_for_input,
    released_for_work,
    throttled_for_input,
    throttled_for_work,
    work_limits,
)
from simgrid_broker.units import DAY, GIB

CAPS = cfg("deployed", prio_mgr={"CAP_RUNNING_USER_JOBS": 100, "CAP_RUNNING_USER_CORES": 1000,
                                 "CAP_RUNNING_GROUP_JOBS": 200, "CAP_RUNNING_GROUP_CORES": 2000})


def judged(numbers, group=False, keys=CAPS):
    """Name of the limit that an owner with these numbers exceeds, and whether its tasks are released."""
    work, bounds = Work(*(np.array([number]) for number in numbers)), work_limits(np.array([group]), keys)
    reason = int(exceeded(work, bounds)[0])
    return bounds[reason].cause.word.replace("_", " ") if reason >= 0 else "", bool(far_below(work, bounds)[0])


@pytest.mark.rule("limits.work_limits", "limits.exceeded")
@pytest.mark.parametrize(("numbers", "group", "reason"), [
    pytest.param((95, 0, 0, 0), False, "", id="95 % of the cap"),
    pytest.param((96, 0, 0, 0), False, "running jobs", id="above 95 %"),
    pytest.param((200, 0, 0, 0), True, "", id="a group at its cap"),
    pytest.param((201, 0, 0, 0), True, "running jobs", id="a group above it"),
    pytest.param((0, 190, 0, 0), False, "", id="twice 95 % queued"),
    pytest.param((0, 191, 0, 0), False, "queued jobs", id="more queued"),
    pytest.param((0, 380, 0, 0), True, "", id="of a group too"),
    pytest.param((0, 381, 0, 0), True, "queued jobs", id="and above"),
    pytest.param((0, 0, 1000, 0), False, "", id="cores at the cap"),
    pytest.param((0, 0, 1001, 0), False, "running cores", id="cores above the cap"),
    pytest.param((0, 0, 2001, 0), True, "running cores", id="cores of a group"),
    pytest.param((0, 0, 0, 1900), False, "", id="cores queued"),
    pytest.param((0, 0, 0, 1901), False, "queued cores", id="more cores queued"),
    pytest.param((96, 191, 1001, 1901), False, "running jobs", id="the first one is the reason"),
])
def test_what_throttles_tasks(numbers, group, reason):
    assert judged(numbers, group)[0] == reason


@pytest.mark.rule("limits.far_below", "limits.work_limits")
@pytest.mark.parametrize(("numbers", "released"), [
    pytest.param((85, 170, 850, 1700), True, id="all at 85 %"), pytest.param((86, 0, 0, 0), False, id="running jobs"),
    pytest.param((0, 171, 0, 0), False, id="queued jobs"), pytest.param((0, 0, 851, 0), False, id="running cores"),
    pytest.param((0, 0, 0, 1701), False, id="queued cores"),
])
def test_what_releases_them(numbers, released):
    assert judged(numbers)[1] == released


@pytest.mark.rule("limits.work_limits")
def test_a_cap_that_is_not_set_limits_nothing():
    assert judged((1e6, 1e6, 1e6, 1e6), keys=cfg("deployed")) == ("", True)
    assert judged((1e6, 1e6, 9, 9), keys=cfg("deployed", prio_mgr={"CAP_RUNNING_USER_CORES": 10})) == ("", False)


@pytest.mark.rule("limits.moves_too_much")
@pytest.mark.parametrize(("edition", "tape", "disk", "throttled"), [
    pytest.param("documented", 60e9, 40e9, (False, False), id="together at the limit"),
    pytest.param("documented", 60e9, 40.1e9, (True, True), id="together above it"),
    pytest.param("deployed", 100 * GIB, 50 * GIB, (False, False), id="each at its limit"),
    pytest.param("deployed", 101 * GIB - 1, 51 * GIB - 1, (False, False), id="whole GiB count"),
    pytest.param("deployed", 101 * GIB, 0, (True, False), id="more from tape"),
    pytest.param("deployed", 0, 51 * GIB, (False, True), id="more from disk"),
])
def test_users_who_move_too_much(edition, tape, disk, throttled):
    keys = cfg(edition, anal_watchdog={"USER_PRESTAGE_LIMIT": 100, "USER_TRANSFER_LIMIT": 50})
    found = moves_too_much(Moving(np.array([tape]), np.array([disk])), keys, edition)
    assert (bool(found.prestaging[0]), bool(found.transfer[0])) == throttled


def seen(status=T.RUNNING, old_status=-1, cause=C.NONE, locked=False):
    """One task of a user as the watchdog sees it."""
    return UserTasks(*(np.array([value]) for value in (status, old_status, cause, locked)))


YES, NO = np.array([True]), np.array([False])
BOTH = Moving(YES, YES)


@pytest.mark.rule("limits.least_bytes")
def test_the_smaller_limit_of_tape_and_disk_is_asked_first():
    limits = ({"USER_PRESTAGE_LIMIT": 100, "USER_TRANSFER_LIMIT": 50}, {"USER_PRESTAGE_LIMIT": 30})
    assert [least_bytes(cfg("deployed", anal_watchdog=keys)) for keys in limits] == [50e9, 30e9]


@pytest.mark.rule("limits.counts_after")
def test_dispatch_datasets_of_two_weeks_do_not_count_in_the_code():
    assert counts_after(15 * DAY, "deployed") == DAY
    assert counts_after(15 * DAY, "documented") == -np.inf


@pytest.mark.rule("throttled_for_input", "throttled_for_work")
@pytest.mark.parametrize(("task", "for_input", "for_work"), [
    pytest.param({}, True, True, id="running"), pytest.param(dict(locked=True), False, False, id="locked"),
    pytest.param(dict(status=T.READY), False, True, id="ready"),
    pytest.param(dict(status=T.SCOUTING), False, False, id="scouting"),
    pytest.param(dict(status=T.PENDING, old_status=T.READY), False, True, id="on hold, ready before"),
    pytest.param(dict(status=T.THROTTLED, old_status=T.RUNNING), False, True, id="throttled, running before"),
    pytest.param(dict(status=T.PENDING, old_status=T.SCOUTING), False, False, id="on hold, scouting before"),
    pytest.param(dict(status=T.PENDING), False, False, id="on hold since it came"),
])
def test_which_tasks_become_throttled(task, for_input, for_work):
    one, present = seen(**task), np.array([*T])
    assert (throttled_for_input(one, YES)[0], throttled_for_work(one, YES, NO, present)[0]) == (for_input, for_work)
    assert not (throttled_for_input(one, NO) | throttled_for_work(one, NO, NO, present)
                | throttled_for_work(one, YES, YES, present)).any()
    assert not throttled_for_work(one, YES, NO, present[present != one.status[0]]).any()


@pytest.mark.rule("released_for_input", "released_for_work", "UserTasks.may_go_on")
@pytest.mark.parametrize(("task", "too_much", "by_input", "by_work"), [
    pytest.param(dict(cause=C.TRANSFER), Moving(YES, NO), True, False, id="less from disk"),
    pytest.param(dict(cause=C.TRANSFER), Moving(NO, YES), False, False, id="still too much from disk"),
    pytest.param(dict(cause=C.PRESTAGING), Moving(NO, YES), True, False, id="less from tape"),
    pytest.param(dict(cause=C.PRESTAGING), Moving(YES, NO), False, False, id="still too much from tape"),
    pytest.param(dict(cause=C.NONE), Moving(NO, YES), True, False, id="without a cause it is tape"),
    pytest.param(dict(cause=C.NONE), Moving(YES, NO), False, False, id="and still too much of it"),
    pytest.param(dict(cause=C.QUEUED_CORES), Moving(NO, NO), False, True, id="its jobs"),
    pytest.param(dict(cause=C.ATTEMPTS), Moving(NO, NO), False, False, id="another watchdog's"),
    pytest.param(dict(cause=C.TRANSFER, locked=True), Moving(NO, NO), False, False, id="locked"),
    pytest.param(dict(cause=C.TRANSFER, old_status=0), Moving(NO, NO), True, False, id="the first of all statuses"),
    pytest.param(dict(cause=C.RUNNING_JOBS, old_status=-1), Moving(NO, NO), False, False, id="nothing to return to"),
    pytest.param(dict(cause=C.RUNNING_JOBS, status=T.PENDING), Moving(NO, NO), False, False, id="not throttled"),
])
def test_which_throttled_tasks_are_released(task, too_much, by_input, by_work):
    one = seen(**dict(status=T.THROTTLED, old_status=T.RUNNING) | task)
    assert (released_for_input(one, too_much)[0], released_for_work(one, YES)[0]) == (by_input, by_work)
    assert not (released_for_input(one, BOTH) | released_for_work(one, NO)).any()
