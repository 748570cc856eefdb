"""DIRAC's limits of running jobs and delays of matching at a site."""

import pytest

import simgrid_broker as sb
from simgrid_broker.systems.dirac.policy.priorities import Match, over_running_limit, tokens_left, united, within_delay

RUNNING = [(dict(JobType="Merge", OwnerGroup="prod"), 3), (dict(JobType="Merge"), 2), (dict(JobType="User"), 1)]


@pytest.mark.rule("priorities.over_running_limit")
@pytest.mark.parametrize(("options", "ce", "blocked"), [
    (dict(JobType=dict(Merge=5)), "", dict(JobType=["Merge"])), (dict(JobType=dict(Merge=6)), "", {}),
    (dict(JobType=dict(User="1", Merge=9)), "", dict(JobType=["User"])), (dict(JobType=dict(Other=0)), "", dict(
        JobType=["Other"])), (dict(OwnerGroup=dict(prod=3), JobType=dict(Merge=4)), "", dict(
            OwnerGroup=["prod"], JobType=["Merge"])),
    (dict(CEs=dict(ce1=dict(JobType=dict(User=1)))), "ce1", dict(JobType=["User"])),
    (dict(CEs=dict(ce1=dict(JobType=dict(User=1)))), "ce2", {})])
def test_a_value_is_blocked_from_its_limit_on(options, ce, blocked):
    assert over_running_limit(options, RUNNING, ce) == blocked


@pytest.mark.rule("priorities.within_delay", "priorities.tokens_left")
@pytest.mark.parametrize(("delay", "capacity", "ages", "tokens"), [
    (60, 1, [], 1), (60, 1, [59.4], 0.99), (60, 1, [60], 1), (60, 1, [1000], 1), (0, 1, [0], 1), (-3, 2, [0, 0], 2),
    (60, 2, [30, 30], 0.5), (60, 2, [90, 30], 1.5), (60, 3, [0, 0, 0], 0)])
def test_tokens_come_back_one_in_each_delay(delay, capacity, ages, tokens):
    assert tokens_left(delay, capacity, ages) == pytest.approx(tokens)
    options = dict(JobType=dict(Merge=delay), Burst=dict(JobType=dict(Merge=capacity)))
    matches = [Match(age, dict(JobType="Merge")) for age in ages]
    assert within_delay(options, matches) == ({} if tokens >= 1 else dict(JobType=["Merge"]))


@pytest.mark.rule("priorities.united")
def test_limits_are_united_attribute_by_attribute():
    assert united(dict(A=["x"]), dict(A=["x", "y"], B=["z"]), {}) == dict(A=["x", "y"], B=["z"])


SNAPSHOT = dict(
    jobs=[dict(id=1, Owner="a", OwnerGroup="g", JobTypes=["Merge"]),
          dict(id=2, Owner="a", OwnerGroup="g", JobTypes=["User"])],
    groups=dict(g={}), operations=dict(JobScheduling=dict(
        RunningLimit=dict(A=dict(JobType=dict(Merge=2))), MatchingDelay=dict(A=dict(JobType=dict(User=60))))),
    running=[dict(Site="A", JobType="Merge", jobs=2)], matches=[dict(Site="A", JobType="User", ago=59)])


@pytest.mark.parametrize(("changes", "names"), [
    ({}, []), (dict(running=[dict(Site="B", JobType="Merge", jobs=9)]), [1]), (dict(matches=[]), [2]),
    (dict(matches=[dict(Site="A", JobType="User", ago=60)]), [2])])
def test_limits_and_delays_of_a_site_exclude_task_queues(changes, names):
    asked = dict(Site="A", CPUTime=10**6)
    answer = sb.match(SNAPSHOT | changes, asked)
    assert [queue.name for queue in answer.requests[0].matching] == names and answer.remarks == ()
    assert len(sb.match(SNAPSHOT | changes, asked | dict(Site="C")).requests[0].matching) == 2
    off = dict(SNAPSHOT["operations"]["JobScheduling"], CheckJobLimits=False, CheckMatchingDelay="no")
    found = sb.match(SNAPSHOT | changes | dict(operations=dict(JobScheduling=off)), asked).requests[0]
    assert len(found.matching) == 2
