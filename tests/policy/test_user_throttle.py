"""The analysis watchdog's limits on users and groups."""

import numpy as np
import pytest
from policy_builders import cfg

from simgrid_broker.policy.users.limits import Moving, Work, exceeded, far_below, moves_too_much, work_limits
from simgrid_broker.units import GIB

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


@pytest.mark.rule("limits.far_below")
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
