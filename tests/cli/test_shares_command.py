"""`shares`: the tree of a scenario or run, with what limits each share; work that no share takes is refused."""

import json
from pathlib import Path

import pandas as pd
import pytest

import simgrid_broker as sb
from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import load_scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"
MINIMAL = SCENARIOS / "minimal.yaml"


def test_the_tree_of_a_scenario_has_targets_and_offered_cores(call):
    result = call("shares", MINIMAL, "--json")
    assert result.exit_code == 0
    rows = {row["share"]: row for row in json.loads(result.stdout)}
    assert list(rows) == ["root", "Analysis", "Production"] and rows["Analysis"]["level"] == 1
    assert (rows["Analysis"]["target"], rows["Analysis"]["target_cores"]) == (20, 64)
    assert (rows["Analysis"]["offered_cores"], rows["root"]["offered_cores"]) == pytest.approx((60, 310))


def test_the_offered_cores_of_a_backlog_alone_are_unknown(call):
    rows = json.loads(call("shares", SCENARIOS / "unused_shares.yaml", "--json").stdout)
    assert {row["offered_cores"] for row in rows} == {None} and {row["limit"] for row in rows} == {""}


def test_a_share_with_too_little_work_is_called_so(call, tmp_path):
    result = call("shares", SCENARIOS / "full_chain.yaml")
    assert [line.split()[-2:] for line in result.stdout.splitlines()[2:6]].count(["little", "work"]) == 2
    part = tmp_path / "more.yaml"
    part.write_text("extends: minimal.yaml\nshares:\n  - {name: Production, value: 80, prodsourcelabel: managed}\n"
                    "  - {name: Analysis, value: 20}\n  - {name: Idle, value: 10}\n")
    (tmp_path / "minimal.yaml").write_text(MINIMAL.read_text())
    assert "Idle" in (line := call("shares", part).stdout.splitlines()[5]) and line.endswith("no work")


@pytest.mark.parametrize("columns", [80, 110])
def test_the_tree_fits_the_terminal(call, finished, columns):
    folder = next((finished[0] / "minimal").iterdir())
    for given in (SCENARIOS / "atlas_day.yaml", folder):
        result = call("shares", given, columns=columns)
        assert result.exit_code == 0 and max(map(len, result.stdout.splitlines())) <= columns


def test_the_tree_of_a_run_has_use_and_order(call, finished):
    folder = next((finished[0] / "minimal").iterdir())
    rows = json.loads(call("shares", folder, "--json").stdout)
    assert {row["order"] for row in rows} == {None, 1, 2}
    assert rows[0]["delivered"] == rows[0]["due"] == 100
    assert {*rows[0]} == {"share", "level", "target", "due", "delivered", "order", "activated", "queued", "limit"}


@pytest.fixture(scope="module")
def siblings(tmp_path_factory):
    """A run of shares of eight cores and of one at queues with pilot streaming."""
    plan = load_scenario(SCENARIOS / "siblings.yaml").with_values({"duration": "24h"})
    return sb.simulate(plan, out=tmp_path_factory.mktemp("siblings"))


def test_siblings_with_one_core_are_starved_by_the_limit_of_workers(siblings, call):
    rows = {row["share"]: row for row in json.loads(call("shares", siblings.folder, "--json").stdout)}
    assert rows["Monte Carlo"]["delivered"] == pytest.approx(50, abs=2), "their parent has its target"
    assert rows["Event generation"]["delivered"] < 5 and rows["Simulation"]["delivered"] > 45
    assert [rows[name]["limit"] for name in ("Simulation", "Event generation")] == [
        "", "slots: workers of MCORE hold the slots, and those of SCORE are cut by nQueueLimitWorker"]
    hour = json.loads(call("shares", siblings.folder, "--workers", "EAST", "--at", "20h", "--json").stdout)
    waiting = pd.DataFrame(hour["samples"]).groupby("time_s").waiting.sum()
    assert len(waiting) == 7 and waiting.max() == 100, "nQueueLimitWorkerMin of the template"
    assert any(row["wanted"] > 0 and row["cut_by"] == "nQueueLimitWorker" for row in hour["cycles"]
               if row["resource_type"] == "SCORE")


def test_the_workers_of_a_queue_fit_the_terminal_and_name_the_limit(siblings, call):
    result = call("shares", siblings.folder, "--workers", "EAST", columns=80)
    assert result.exit_code == 0 and max(map(len, result.stdout.splitlines())) <= 80
    assert "40 % of the running ones" in " ".join(result.stdout.split()) and "nQueueLimitWorkerMin" in result.stdout


@pytest.mark.parametrize(("arguments", "expected"), [
    (("--workers", "EATS"), "did you mean 'EAST'"), (("--at", "3h"), "--workers"),
    (("--workers", "EAST", "--at", "90h"), "no sample"), (("--workers", "EAST", "--at", "noon"), "is not a time"),
])
def test_workers_of_no_queue_or_hour_are_refused(siblings, call, arguments, expected):
    result = call("shares", siblings.folder, *arguments)
    assert result.exit_code == 2 and expected in result.stderr


def test_work_that_no_share_takes_is_refused_with_line_and_near_match(call, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    text = MINIMAL.read_text().replace("processingtype: simul", "processingtype: simu")
    wrong.write_text(text)
    lines = text.splitlines()
    assert any("processingtype: simu" in line for line in lines), "the scenario names what its campaign is"
    part = tmp_path / "part.yaml"
    part.write_text("extends: wrong.yaml\nshares:\n  - {name: Production, value: 80, processingtype: simul}\n"
                    "  - {name: Analysis, value: 20, prodsourcelabel: user}\n")
    result = call("check", part)
    line = 1 + next(number for number, line in enumerate(lines) if "processingtype: simu" in line)
    assert result.exit_code == 2
    with pytest.raises(ScenarioError) as from_python:
        load_scenario(part)
    for said in (f"{wrong}:{line}: workload.campaigns", "no share takes its tasks", "did you mean 'simul'?"):
        assert said in result.stderr and said in str(from_python.value), result.stderr


def test_a_field_that_a_share_matches_is_not_said_to_be_at_fault(tmp_path):
    text = MINIMAL.read_text().replace("{name: Production, value: 80, prodsourcelabel: managed}",
                                       "{name: Production, value: 80, prodsourcelabel: managed, processingtype: reco}")
    assert "processingtype: reco" in text
    (tmp_path / "other.yaml").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(tmp_path / "other.yaml")
    problem, = caught.value.problems
    assert problem.key.endswith("processingtype") and problem.value == "simul" and not problem.nearest
