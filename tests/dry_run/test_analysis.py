"""Analysis brokerage on a snapshot: what a run writes of users is what a dry run reads."""

import pytest

import simgrid_broker as sb
from simgrid_broker import Snapshot

GRID = {
    "sites": {name: {"cores": 100, "nucleus": True} for name in ("NORTH", "SOUTH")},
    "storages": {name: {"site": name, "total": "2 PB", "free": "1 PB"} for name in ("NORTH", "SOUTH")},
    "queues": {name: {"atlas_site": name, "type": "analysis", "capability": "score"} for name in ("NORTH", "SOUTH")}}


def snapshot(task=(), **said):
    """Two queues for analysis, with pilots, and a task of alice without input."""
    plain = dict(
        name="two queues", edition="deployed", grid=GRID,
        shares=[{"name": "User Analysis", "value": 1, "prodsourcelabel": "user"}],
        queues={name: {"n_pilot": 1} for name in GRID["queues"]},
        tasks={"1": dict(prodsourcelabel="user", username="alice", n_jobs=10, corecount=1, cputime=10,
                         gshare="User Analysis") | dict(task)})
    return Snapshot.from_dict(plain | said)


def test_both_queues_are_weighed():
    decision = sb.broker(snapshot())
    assert decision.brokerage == "analysis_brokerage" and decision.error is None
    assert [queue.name for queue in decision.kept] and {*decision.kept[0].factors} == {"basic weight", "input data"}
    assert decision.to_dict()["status"] == "SUCCEEDED"


@pytest.mark.parametrize(("said", "error"), [
    pytest.param(dict(users={"alice": {"running_jobs": 11}}, gdpconfig={"CAP_RUNNING_USER_JOBS": 10}),
                 "throttle to generate jobs due to too many running jobs 11 > CAP_RUNNING_USER_JOBS", id="a cap"),
    pytest.param(dict(users={"alice": {"quota": "over"}}), "throttle to generate jobs due to over global quota",
                 id="the quota"),
    pytest.param(dict(share_usage={"User Analysis": {"usage": 0.91}}, task=dict(task_class="C")),
                 "throttle to generate jobs due to gshare User Analysis > 90% of target and task in class C",
                 id="the class of the task"),
])
def test_words_with_which_an_attempt_ends(said, error):
    decision = sb.broker(snapshot(**said))
    assert (decision.error, decision.kept) == (error, ())
    assert decision.candidates[0].reason == error


def test_a_named_queue_that_is_lost_is_fatal():
    decision = sb.broker(snapshot(dict(site=["NORTH"]), queues={"SOUTH": {"n_pilot": 1}, "NORTH": {"n_pilot": 0}}))
    assert decision.to_dict()["status"] == "FATAL"


def test_users_classes_and_ended_jobs():
    jobs = [dict(queue="NORTH", share="User Analysis", resource_type="SCORE", activated=300, running=100)]
    users = [dict(queue="NORTH", share="User Analysis", user="alice", queued=250, running=0),
             dict(queue="NORTH", share="User Analysis", running=100, users=4)]

    def tags(**said):
        return {each.name: each.tag for each in sb.broker(snapshot(jobs=jobs, **said)).candidates}
    assert tags(user_jobs=users)["NORTH"] == "-badsite"             # max(100, 200) / 5 = 40 are allowed
    assert tags()["NORTH"] is None
    assert tags(task=dict(ended_jobs={"NORTH": {"closed": 1}}))["NORTH"] == "-closed"
    assert tags(task=dict(excludedSite=["NOR*"]))["NORTH"] == "-excluded"
    classes = {"NORTH": {"n_pilot": 1, "site_class": "lo"}, "SOUTH": {"n_pilot": 1, "site_class": "hi"}}
    best = sb.broker(snapshot(queues=classes, task=dict(used_queues=[]))).kept[0]
    assert best.name == "SOUTH"
    assert sb.broker(snapshot(queues=classes, task=dict(used_queues=["NORTH"]))).kept[0].name == "NORTH"
