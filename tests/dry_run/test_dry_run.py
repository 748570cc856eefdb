"""The dry run on the example: every candidate with what was said of it, overrides, and what cannot be asked."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import simgrid_broker
from simgrid_broker.dry_run import broker
from simgrid_broker.dry_run.decision import FORMAT, OF_CANDIDATE, OF_DECISION
from simgrid_broker.editions import edition_of
from simgrid_broker.errors import SnapshotError
from simgrid_broker.scenario import load_snapshot
from simgrid_broker.turns import brokers

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "scenarios" / "snapshot.yaml"


@pytest.fixture(scope="module")
def example():
    """The hand-written example."""
    return load_snapshot(EXAMPLE)


def by_name(decision):
    """Candidates of a decision by name."""
    return {each.name: each for each in decision.candidates}


@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize(("task", "names"), [
    pytest.param(101, ["CENTRE", "WEST"], id="nuclei"),
    pytest.param(102, [f"{queue}/{kind}" for queue in ("CENTRE", "CENTRE_TEST", "WEST", "NORTH", "SOUTH")
                       for kind in ("SCORE", "MCORE", "SCORE_HIMEM", "MCORE_HIMEM")] + ["EAST"], id="pseudo-queues")])
def test_the_answer_has_every_candidate_and_adds_up(example, task, names, edition):
    answer = broker(example, task, edition)
    told = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert [each["name"] for each in told["candidates"]] == names
    kept = [each for each in told["candidates"] if each["kept"]]
    assert sorted(each["order"] for each in kept) == list(range(1, len(kept) + 1)) and kept
    assert sum(each["probability"] for each in told["candidates"]) == pytest.approx(1)
    assert [step["left"] for step in told["funnel"]][-1:] in ([], [len(kept)])
    assert sum(step["refused"] for step in told["funnel"]) == len(names) - len(kept)
    for each in told["candidates"]:
        assert (each["tag"] is None) == each["kept"] and (each["weight"] > 0) == each["weighed"] >= each["kept"]
        product = 1.0
        for number in each["factors"].values():
            product *= number
        assert product == pytest.approx(each["weight"] if each["weighed"] else 1)
    assert (told["brokerage"], told["edition"]) == (
        "task_brokerage" if task == 101 else "job_brokerage", edition_of(edition).name)


@pytest.mark.parametrize("task", [101, 102])
def test_the_fields_of_the_json_are_those_described(example, task):
    told = broker(example, task).to_dict()
    assert told.keys() == OF_DECISION.keys() and told["format"] == FORMAT
    assert all(each.keys() == OF_CANDIDATE.keys() for each in told["candidates"])


def test_an_attempt_without_candidates_says_so(example):
    told = broker(example, 102, **{"tasks.102.ramcount": "100 GB"}).to_dict()
    assert (told["status"], told["error"]) == ("FAILED", "no candidates")
    assert broker(example, 102).to_dict()["status"] == "SUCCEEDED"


def test_weights_by_hand(example):
    west = by_name(broker(example, 102))["WEST/MCORE"]
    assert {name: number for name, number in west.factors.items() if number != 1} == {
        "running/queued": pytest.approx(181 / 70), "data availability": 2.0, "network": 2.0}
    assert (west.queued, west.cap, west.order) == (60, 361, 1)
    centre, west = broker(example, 101).kept
    assert centre.factors["free part"] == pytest.approx(1200 / 8000) and centre.factors["tape"] == 1.0
    assert west.factors["tape"] == 0.001                              # a third on disk, all of it on tape only
    assert west.factors["1/RW"] == pytest.approx(1 / (3e9 + 500 * 100 * 3000))          # task 102 owes work, too


def test_the_figures_of_a_refusal(example):
    east = by_name(broker(example, 102))["EAST"]
    assert (east.tag, east.value, east.limit) == ("-cap", 45, 40)      # 15 jobs run, but 20 workers would count
    east = by_name(broker(example, 102, "deployed"))["EAST"]           # temporary problems come before the cap
    assert (east.tag, east.criterion, east.stage) == ("-disk", "too_little_space_deployed", "temporary problem check")
    roomy = {"grid.storages.EAST_DATADISK.min_free": 0}
    assert by_name(broker(example, 102, "deployed", **roomy))["EAST"].limit == 30


def test_editions_differ_where_they_should(example):
    documented, deployed = by_name(broker(example, 102)), by_name(broker(example, 102, "deployed"))
    assert documented["CENTRE_TEST/MCORE"].tag == "-testqueue" and deployed["CENTRE_TEST/MCORE"].tag == "-status"
    assert documented["NORTH/MCORE"].queued == 45 and deployed["NORTH/MCORE"].queued == 20     # jobs just placed
    assert documented["WEST/MCORE"].cap == 361 and deployed["WEST/MCORE"].cap == 360


def test_the_edition_is_that_of_the_snapshot_unless_another_is_asked_for(example):
    deployed = example.with_values({"edition": "deployed"})
    assert [broker(deployed, 101, *asked).edition for asked in ((), ("documented",), ("deployed-1.0.3",))] == [
        "deployed-1.0.4", "documented", "deployed-1.0.3"]


@pytest.mark.parametrize(("key", "value", "name", "tag"), [
    ("grid.queues.NORTH.status", "offline", "NORTH/MCORE", "-status"),
    ("tasks.102.n_jobs_to_broker", 1, "NORTH/MCORE", None),
    ("jobs[4].activated", 500, "NORTH/MCORE", "-cap"),
])
def test_any_value_can_be_set(example, key, value, name, tag):
    assert by_name(broker(example, 102, **{key: value}))[name].tag == tag


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_pilots_that_do_not_call_matter(example, edition):
    silent, calling, unknown = (by_name(broker(example, 102, edition, **{"queues.NORTH.n_pilot": told}))["NORTH/MCORE"]
                                for told in (0, 700, None))
    assert silent.tag == "-nopilot" and calling.kept and unknown.kept


@pytest.mark.parametrize(("said", "tag"), [
    pytest.param({"queues.WEST.laststart": "33h"}, "-inactive", id="no job has started for three hours"),
    pytest.param({"queues.WEST.diskio": 700, "tasks.102.diskIO": 60_000,
                  "grid.queues.WEST.maxdiskio": 600}, "-diskIO", id="its disks are busy"),
])
def test_what_is_measured_at_a_queue_matters(example, said, tag):
    busy = {"jobs[2].activated": 150, "tasks.102.priority": 900}
    assert by_name(broker(example, 102, **busy))["WEST/MCORE"].kept
    assert by_name(broker(example, 102, **busy | said))["WEST/MCORE"].tag == tag


@pytest.mark.rule("waived")
@pytest.mark.parametrize(("priority", "taskpriority", "documented", "deployed"), [
    pytest.param(900, 799, False, True, id="D10 submitted just too low, raised since"),
    pytest.param(100, 800, True, False, id="D10 submitted high enough, lowered since"),
    pytest.param(800, None, True, True, id="submitted as it is now"),
    pytest.param(799, None, False, False, id="submitted too low as it is now"),
])
def test_d10_the_priority_at_which_input_need_not_be_local(example, priority, taskpriority, documented, deployed):
    nowhere = {"tasks.101.input": {"EAST": {"disk": "100%"}}, "tasks.101.priority": priority,
               "tasks.101.taskpriority": taskpriority}
    for edition, lifted in (("documented", documented), ("deployed", deployed)):
        answer = broker(example, 101, **nowhere | {"edition": edition})
        assert any(each.kept for each in answer.candidates) == lifted


def test_a_named_nucleus_is_pre_assigned(example):
    answer = broker(example, 101, **{"tasks.101.nucleus": "WEST", "tasks.101.brokerage": "task_brokerage"})
    assert [each.tag for each in answer.candidates] == ["-preassign", None]
    assert [each.probability for each in answer.candidates] == [0, 1]


def test_a_task_gets_the_share_that_the_tree_gives_it(example):
    assert broker(example, 102).task.gshare == "Production"
    assert broker(example, 102, **{"tasks.102.prodsourcelabel": "user"}).task.gshare == "Analysis"


def test_a_task_without_share_is_told_with_its_place():
    with pytest.raises(SnapshotError, match=r"snapshot.yaml:\d+: tasks.102: no share takes the task"):
        broker(EXAMPLE, 102, **{"tasks.102.prodsourcelabel": "nothing"})


@pytest.mark.parametrize(("task", "said"), [
    pytest.param(None, "has 2 tasks; say which: 101, 102", id="several tasks, none named"),
    pytest.param(12, "did you mean '102'", id="near ids"),
    pytest.param("x", "did you mean '101' or '102'", id="nothing is near"),
])
def test_tasks_that_are_not_there(example, task, said):
    with pytest.raises(SnapshotError, match=said):
        broker(example, task)


def test_the_only_task_need_not_be_named(example):
    assert broker(example.with_values({"tasks.101": None})).task.jeditaskid == 102


def test_without_tasks_there_is_nothing_to_ask(example):
    with pytest.raises(SnapshotError, match="no task that waits"):
        broker(example.with_values({"tasks": {}}))


def test_a_policy_of_one_s_own_is_asked_as_well(example, monkeypatch):
    from simgrid_broker.policy import registry
    production = registry.BUILT_IN["job_brokerage"]["production"]
    monkeypatch.setitem(registry.BUILT_IN["job_brokerage"], "mine", lambda *asked: replace(production(*asked),
                                                                                           figures=None))
    answer = broker(example, 102, **{"policies.job_brokerage": "mine"})
    assert answer.policy == "mine" and [each.name for each in answer.kept][0] == "WEST/MCORE"
    assert not any(each.factors for each in answer.kept)               # what its weight is made of is not known


def test_it_is_public():
    assert simgrid_broker.broker is broker and simgrid_broker.load_snapshot is load_snapshot


def test_a_rule_that_is_a_copy_of_itself_keeps_its_place(example, monkeypatch):
    told = broker(example, 102, "deployed").to_dict()
    monkeypatch.setattr(brokers, "RANKING", tuple(replace(rule) for rule in brokers.RANKING))
    assert broker(example, 102, "deployed").to_dict() == told
