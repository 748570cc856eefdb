"""Analysis rebrokerage: which groups of waiting analysis jobs are taken back."""

import numpy as np
import pytest
from policy_builders import cfg

from simgrid_broker.names import QueueStatus
from simgrid_broker.policy.jobs.rebrokerage import (
    WaitingGroups,
    groups_to_rebroker,
    least_wait,
    may_be_rebrokered,
)
from simgrid_broker.units import DAY, HOUR

pytestmark = pytest.mark.rule("groups_to_rebroker", "rebrokerage.patience", "least_wait")

NAN, NOW = np.nan, 10 * DAY


def taken(edition, config=None, status="online", disabled=0, activated=NAN, created=NAN, progress=NAN, group=""):
    """Whether one group is taken back; activated, created, progress: ages in s."""
    groups = WaitingGroups(np.array([QueueStatus.of(status)]), np.array([disabled]), NOW - np.array([activated]),
                           NOW - np.array([created]), NOW - np.array([progress]), np.array([0]), (group,))
    return bool(groups_to_rebroker(groups, cfg(rebroker=config or {}), edition, NOW)[0])


def may_go(config=None, status="online", group="", activated=0.0, created=0.0, **_):
    """True if the oldest job of one group lets it be taken back; arguments as for `taken`."""
    return bool(may_be_rebrokered(np.array([QueueStatus.of(status)]), np.array([0]),
                                  np.array([max(activated, created)]), (group,), cfg(rebroker=config or {}))[0])


def test_age_below_which_no_group_need_be_gathered():
    config = cfg(rebroker={"ANALY_TIMEOUT": 12, "ANALY_TIMEOUT_g": 5})
    assert [least_wait(groups, config, "documented") for groups in (("", "g"), ("",))] == [5 * HOUR, 12 * HOUR]
    assert least_wait(("", "g"), config, "deployed") == 3 * HOUR


@pytest.mark.parametrize(("said", "expected"), [
    pytest.param(dict(created=12 * HOUR), False, id="12 hours are still fine"),
    pytest.param(dict(created=12 * HOUR + 1), True, id="more are not"),
    pytest.param(dict(created=2 * HOUR + 1, config={"ANALY_TIMEOUT": 2}), True, id="ANALY_TIMEOUT"),
    pytest.param(dict(created=13 * HOUR, config={"ANALY_TIMEOUT_g": 20}, group="g"), False, id="of a working group"),
    pytest.param(dict(created=13 * HOUR, config={"ANALY_TIMEOUT_g": 20}), True, id="of another one"),
    pytest.param(dict(created=13 * HOUR, config={"ANALY_TIMEOUT_g": 0}, group="g"), True, id="0 is not set"),
    pytest.param(dict(created=13 * HOUR, status="paused"), False, id="a paused queue turns it off"),
    pytest.param(dict(created=13 * HOUR, disabled=1), False, id="so does disableReassign"),
    pytest.param(dict(created=4 * HOUR, status="offline"), False, id="an offline queue is like any other"),
])
def test_documented(said, expected):
    assert taken("documented", **said) is expected


@pytest.mark.parametrize(("said", "expected"), [
    pytest.param(dict(activated=12 * HOUR), True, id="at 12 hours the reference time is not younger"),
    pytest.param(dict(activated=12 * HOUR - 1), False, id="just below it is"),
    pytest.param(dict(created=12 * HOUR), True, id="defined and assigned jobs, too"),
    pytest.param(dict(created=HOUR, activated=12 * HOUR), True, id="one of both is enough"),
    pytest.param(dict(created=12 * HOUR, activated=3 * HOUR), True, id="jobs activated 3 hours ago are not looked at"),
    pytest.param(dict(created=12 * HOUR, activated=3 * HOUR + 1), False, id="for longer they alone count"),
    pytest.param(dict(activated=12 * HOUR, progress=3 * HOUR - 1), False, id="something happened within 3 hours"),
    pytest.param(dict(activated=12 * HOUR, progress=3 * HOUR), True, id="3 hours ago is long enough"),
    pytest.param(dict(activated=3 * HOUR, status="offline"), False, id="at 3 hours no group is looked at"),
    pytest.param(dict(created=3 * HOUR, status="offline"), False, id="nor one of defined jobs"),
    pytest.param(dict(activated=3 * HOUR + 1, status="offline"), True, id="offline: at once"),
    pytest.param(dict(activated=3 * HOUR + 1, status="test", progress=0), True, id="test: whatever happened"),
    pytest.param(dict(activated=3 * HOUR + 1, status="brokeroff"), False, id="brokeroff is like online"),
    pytest.param(dict(activated=13 * HOUR, status="paused", disabled=1), True, id="neither paused nor disableReassign"),
    pytest.param(dict(activated=3 * HOUR + 1, config={"ANALY_TIMEOUT": 0}), True, id="ANALY_TIMEOUT of 0 is a limit"),
    pytest.param(dict(activated=13 * HOUR, config={"ANALY_TIMEOUT_g": 14}, group="g"), False, id="a working group"),
])
def test_deployed(said, expected):
    assert taken("deployed", **said) is expected
    assert may_go(**said) >= expected


def test_a_group_without_an_old_job_need_not_be_gathered_unless_its_queue_is_dead():
    assert [may_go(created=age) for age in (12 * HOUR - 1, 12 * HOUR)] == [False, True]
    assert may_go(created=4 * HOUR, status="offline") and may_go(created=4 * HOUR, status="test")
