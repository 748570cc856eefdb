"""scripts/fuzz.py: scenarios are made from the schema, run, checked and reduced; checks of tables notice faults."""

import argparse
from pathlib import Path

import fuzz
import pytest
import yaml
from fuzzing import acts, cases, scenarios, tables, themes
from fuzzing.reduction import reduced
from fuzzing.scenarios import Refused, scenario_of

import simgrid_broker as sb
from simgrid_broker.records import Run

TEXT = f"""
extends: {Path("scenarios/minimal.yaml").absolute()}
duration: 3h
warm_up: 0
grid: {{queues: {{CENTRE: {{workflow: push}}}}}}
incidents:
- {{at: 1h, what: site_outage, site: SOUTH}}
- {{at: 2h, what: task_command, task: 1, command: pause}}
- {{at: 1h, what: share_target, share: Analysis, value: 50}}
- {{at: 2h, what: share_target, share: Analysis, value: 50}}
"""


def test_a_seed_makes_one_scenario(tmp_path):
    text, scenario = scenario_of(8, tmp_path)
    assert (text, scenario) == scenario_of(8, tmp_path)
    assert text != scenario_of(9, tmp_path)[0]


def test_themes_are_lines_of_the_table_and_lay_what_they_need(tmp_path):
    lines = ["agent merger", "agent data_carousel", "agent event_service", "command retry", "incident replica_lost"]
    assert {*themes.themes()} <= {*acts.all_acts()} and {*themes.wanted(3)} <= {*themes.themes()}
    core = scenarios.core(scenarios.Random(5), 5)
    values, scenario = scenarios.themed(core, scenarios.Random(5), lines, tmp_path / "themed.yaml")
    work = scenario.workload.campaigns
    assert any(one.mergeOutput for one in work) and any(one.nEventsPerWorker for one in work)
    assert {"retry", "replica_lost"} <= {one.command or one.what for one in scenario.incidents}
    assert "tapes" in scenario.data.containers and len(values["incidents"]) == 4


def test_slots_that_end_early_and_jumbo_jobs_are_counted_by_what_they_did(tmp_path):
    values = scenarios.core(scenarios.Random(5), 5)
    _, scenario = scenarios.themed(values, scenarios.Random(5), ["slots eviction_by_hour", "events jumbo",
                                    "events object_store"], tmp_path / "themed.yaml")
    run = sb.simulate(scenario, tmp_path / "run")
    found = acts.acts_of_run(run)
    assert not [*tables.faults(run)]
    assert {"slots eviction_by_hour", "events jumbo", "events co_jumbo", "events object_store"} <= {*found}, found


def test_clones_are_laid_over_consumers_and_counted(tmp_path):
    values = scenarios.core(scenarios.Random(5), 5)
    del values["workload"]["campaigns"][1:]
    lines = ["events consumer", "events clone"]
    _, scenario = scenarios.themed(values, scenarios.Random(5), lines, tmp_path / "themed.yaml")
    found = acts.acts_of_run(sb.simulate(scenario, tmp_path / "run"))
    assert found["events clone"] > 0 and not found["events consumer"], found


@pytest.mark.parametrize(("text", "expected"), [("0-9", (0, 9)), ("7", (7, 7)), ("7-7", (7, 7)), ("7-6", None),
                                                ("x", None)])
def test_a_range_of_seeds_is_not_reversed(text, expected):
    if expected is None:
        with pytest.raises(argparse.ArgumentTypeError):
            fuzz.first_and_last(text)
    else:
        assert fuzz.first_and_last(text) == expected


def test_a_folder_remembers_the_seeds_that_passed(tmp_path, capsys):
    log = fuzz.Log(tmp_path)
    log.add(cases.Outcome(1, acts=acts.Counter({"command pause": 2})))
    log.add(cases.Outcome(2, "name: two\n", "it fails", "at length"))
    again = fuzz.Log(tmp_path)
    assert [again.is_to_run(seed) for seed in (1, 2, 3)] == [False, True, True]
    assert (tmp_path / "2.yaml").read_text() == "# it fails\n# at length\nname: two\n"
    assert not again.print() and "1 failed, 0 ran to their end, which are too few" in capsys.readouterr().out


def test_a_scenario_runs_twice_with_the_same_tables(monkeypatch):
    monkeypatch.setattr(cases, "SECONDS", 600)               # this process may still have to compile
    monkeypatch.setattr(cases, "MEMORY", 1 << 36)            # and holds what other tests left
    found = cases.first(TEXT, ["agent statistics", "agent job_generator"], reported=False)
    assert not found.failure, found.details
    assert found.digests == cases.again(found.text, found.steps).digests
    acts = [found.acts[name] for name in ("agent statistics", "incident site_outage", "command pause", "mode pull",
                                          "incident share_target")]
    assert acts == [3, 1, 1, 0, 1] and found.acts["mode push"]           # the second changes nothing
    assert found.acts["agent job_generator"]                             # its work is that of a calendar


def test_a_refusal_without_a_sentence_is_a_failure(monkeypatch):
    def broken(file):
        raise KeyError("moon")
    monkeypatch.setattr(scenarios, "load_scenario", broken)
    assert cases.made(1, reported=False).failure == "KeyError at test_fuzz.py:broken: #"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """Three hours of a scenario with input over slow links, in which jobs fail."""
    plan = sb.load_scenario("scenarios/minimal.yaml", until="3h")
    return sb.simulate(plan, folder=tmp_path_factory.mktemp("fuzz") / "run")


def test_the_tables_of_a_run_agree(run):
    assert tables.faults(run) == []


FAULTS = {
    "jobs": dict(panda_id=1, running_s=-1.0, jeditaskid=9999, finished_s=1e9, corecount=3),
    "tasks": dict(n_finished=10**6, n_attempts=0, registered_s=-5.0, arrival_s=1e7),
    "shares": dict(running=10**6), "queues": dict(free_cores=-1),
    "storages": dict(free_bytes=-1e15, written_bytes=1e15),
    "transfers": dict(source=None, started_s=float("nan"), ended_s=0.0, bytes=-1.0, jeditaskid=9999),
    "links": dict(bytes=1e18), "decisions": dict(n_kept=10**6),
}
"""Wrong values by table and column, each put into all rows."""


@pytest.mark.parametrize(("table", "column"), [(table, column) for table, said in FAULTS.items() for column in said])
def test_a_wrong_value_is_noticed(run, table, column):
    other = Run(run.folder)
    vars(other)[table] = getattr(run, table).copy()
    vars(other)[table][column] = FAULTS[table][column]
    assert tables.faults(other)


def test_reduction_leaves_what_fails():
    def failure(text):
        values = yaml.safe_load(text)
        return "it fails" if "b" in values.get("a", {}) and 3 in values.get("list", ()) else ""
    assert reduced("a: {b: 1, c: 2}\nlist: [1, 3, 4]\nother: {d: 4}\n", failure) == (
        "# it fails\na: {b: 1}\nlist: [3]\n")
    assert reduced("x: 1\n", failure).startswith("# does not fail")


def test_a_refusal_names_its_scenario(tmp_path, monkeypatch):
    monkeypatch.setattr(scenarios, "load_scenario", lambda file: 1 / 0)
    with pytest.raises(Refused, match="name: fuzz1"):
        scenario_of(1, tmp_path)
