"""The gate of analysis brokerage: boundaries of caps, of the throttle by class, of quotas, and of incomplete input."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from analysis_builders import DISK, EDITIONS, TAPE, cfg, dataset, decide, owner, queues, quota, stops, task, view

from simgrid_broker.names import TaskClass
from simgrid_broker.policy.brokerage.analysis import gate
from simgrid_broker.policy.brokerage.analysis.broker import run_brokerage
from simgrid_broker.policy.brokerage.analysis.editions import ANALYSIS
from simgrid_broker.policy.rule import attempt_criterion

CAPS = dict(prio_mgr={"CAP_RUNNING_USER_JOBS": 100, "CAP_RUNNING_USER_CORES": 800, "CAP_RUNNING_GROUP_JOBS": 10,
                      "CAP_RUNNING_GROUP_CORES": 80})
RULES = {"running_jobs": gate.too_many_running_jobs, "queued_jobs": gate.too_many_queued_jobs,
         "running_cores": gate.too_many_running_cores, "queued_cores": gate.too_many_queued_cores}


@pytest.mark.rule("too_many_running_jobs", "too_many_queued_jobs", "too_many_running_cores", "too_many_queued_cores")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("number", "cap"), [("running_jobs", 100), ("queued_jobs", 200), ("running_cores", 800),
                                             ("queued_cores", 1600)])
def test_caps_must_be_exceeded(number, cap, edition):
    def at(value, **fields):
        return stops(RULES[number], task(**fields), view(user=owner(**{number: value})), edition, **CAPS)
    assert [at(cap), at(cap + 1), at(nan)] == [False, True, False]
    assert [at(cap // 10, workinggroup="AP_Higgs"), at(cap // 10 + 1, workinggroup="AP_Higgs")] == [False, True]
    assert not at(cap + 1, is_merging=True)


def test_without_caps_nothing_is_capped():
    seen = view(user=owner(running_jobs=1e9, queued_jobs=1e9, running_cores=1e9, queued_cores=1e9))
    assert decide(seen=seen)[1] == [""]


def test_the_first_cap_speaks():
    seen = view(user=owner(running_jobs=101, running_cores=900))
    verdict, names = decide(seen=seen, **CAPS)
    assert names == ["too_many_running_jobs"] and not len(verdict.order)
    assert verdict.figures().texts[0] == ("throttle to generate jobs due to too many running jobs 101 > "
                                          "CAP_RUNNING_USER_JOBS")


def throttled(task_class, usage, edition="deployed", rem=nan, equivalent=nan, gshare="User Analysis"):
    """Whether the usage of the share, as a fraction of its target, throttles a task of a class."""
    number = None if task_class is None else int(task_class)
    user = dict(task_class=number, usage=usage, equivalent_usage=equivalent, rem_slots_a=rem)
    return stops(gate.share_above_target, task(gshare=gshare), view(user=user), edition)


@pytest.mark.rule("share_above_target")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("task_class", "usage", "rem", "expected"), [
    pytest.param(TaskClass.C, 0.90, 0, False, id="class C at 90 %"),
    pytest.param(TaskClass.C, 0.91, 0, True, id="class C above 90 %"),
    pytest.param(TaskClass.B, 0.95, 0, False, id="class B at 95 %"),
    pytest.param(TaskClass.B, 0.96, 0, True, id="class B above 95 %"),
    pytest.param(TaskClass.A, 1.00, 0, False, id="class A with all its slots at 100 %"),
    pytest.param(TaskClass.A, 1.01, 0, True, id="class A with all its slots above 100 %"),
    pytest.param(TaskClass.A, 2.00, 500, False, id="class A with half its slots at 200 %"),
    pytest.param(TaskClass.A, 2.01, 500, True, id="class A with half its slots above 200 %"),
    pytest.param(TaskClass.A, 99.0, 1000, False, id="class A without slots"),
    pytest.param(TaskClass.A, 2.01, nan, True, id="unknown slots count as half"),
    pytest.param(TaskClass.S, 99.0, 0, False, id="class S"),
    pytest.param(None, 99.0, 0, False, id="unclassified"),
    pytest.param(TaskClass.C, nan, 0, False, id="unknown usage"),
])
def test_share_throttle(task_class, usage, rem, expected, edition):
    assert throttled(task_class, usage, edition, rem) == expected


@pytest.mark.rule("share_above_target")
def test_share_throttle_by_edition():
    assert throttled(TaskClass.C, 0.95, "deployed", equivalent=0.89) is False          # the smaller usage counts
    assert throttled(TaskClass.C, 0.95, "documented", equivalent=0.89) is True
    assert throttled(TaskClass.A, 0.80, "deployed", rem=-500) is True                  # 1.5 x 80 %
    assert throttled(TaskClass.A, 0.80, "documented", rem=-500) is False               # max(2/3, 1) x 100 %
    assert throttled(TaskClass.C, 0.95, gshare="Group Analysis") is False


@pytest.mark.rule("over_quota", "near_quota")
@pytest.mark.parametrize(("said", "fields", "documented", "deployed"), [
    pytest.param(dict(over=True), {}, "over_quota", "over_quota", id="over the quota"),
    pytest.param(dict(near=True), {}, "", "near_quota", id="near it, in the deployed edition alone"),
    pytest.param(dict(near=True), dict(is_merging=True), "", "", id="merging goes on"),
    pytest.param(dict(), {}, "", "", id="far from it"),
])
def test_quota(said, fields, documented, deployed):
    found = [decide(task(**fields), seen=view(user=quota(**said)), edition=edition)[1][0] for edition in EDITIONS]
    assert found == [documented, deployed]


@pytest.mark.rule("no_readable_input")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("said", "fields", "expected"), [
    pytest.param(dict(part=0.89), {}, "no_readable_input", id="89 % and more than 10 files missing"),
    pytest.param(dict(part=0.90), {}, "", id="90 % are enough"),
    pytest.param(dict(part=0.89), dict(allows_incomplete=True), "", id="the task allows it"),
    pytest.param(dict(part=0.89, scattered=True), {}, "no_readable_input", id="scattered, but a queue has all of it"),
    pytest.param(dict(lan=False, wan=False), {}, "no_readable_input", id="complete at a closed storage"),
    pytest.param(dict(lan=False, on_tape=True), {}, "", id="complete on tape, readable from elsewhere"),
])
def test_incomplete_input(said, fields, expected, edition):
    seen = view(datasets=[dataset([DISK], **said)])
    assert decide(task(**fields), seen=seen, edition=edition)[1] == [expected]


@pytest.mark.rule("no_readable_input")
def test_words_for_incomplete_input():
    texts = [decide(seen=view(datasets=[dataset([DISK], **said)]))[0].figures().texts[0]
             for said in (dict(part=0.5), dict(lan=False, wan=False))]
    assert texts[0] == "data is incomplete at online storage. "
    assert texts[1].startswith("data is only complete at SOMEWHERE. But the storage is currently in downtime")


def test_the_gate_refuses_all():
    verdict, names = decide(seen=view(3, user=quota(over=True)))
    assert names == ["over_quota"] * 3
    assert np.array_equal(verdict.weight, np.zeros(3))


@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_rule_that_stays_uncompiled_stops_an_attempt_and_leaves_others_as_they_are(edition):
    @attempt_criterion("-busy", plain=True, unit="jobs", panda="an example", source="this test")
    def busy(task, user):
        """Throttle users with more than five running jobs."""
        return user["running_jobs"] > 5, user["running_jobs"], 5.0

    def verdict(brokerage, running):
        seen = view(3, [dataset([DISK, TAPE, DISK])], user=owner(running_jobs=running))
        return run_brokerage(brokerage, task(), queues(3), seen, cfg(edition))
    own = replace(ANALYSIS[edition], gate=(busy, *ANALYSIS[edition].gate))
    stopped, free, plain = verdict(own, 6), verdict(own, 5), verdict(ANALYSIS[edition], 5)
    assert [own.tags[place] for place in stopped.refused_by] == ["-busy"] * 3 and not len(stopped.order)
    assert (stopped.figures().value.tolist(), stopped.figures().limit.tolist()) == ([6.0] * 3, [5.0] * 3)
    assert free.order.tolist() == plain.order.tolist() and free.weight.tolist() == plain.weight.tolist()
    assert [own.tags[place] for place in free.refused_by] == [ANALYSIS[edition].tags[place]
                                                              for place in plain.refused_by]
