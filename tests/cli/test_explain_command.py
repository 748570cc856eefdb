"""What `explain` says of a run in which everything is small; `pytest tests/cli --update` writes its texts anew."""

import json
from pathlib import Path

import pytest

MINIMAL = Path(__file__).parents[2] / "scenarios" / "minimal.yaml"
GOLDEN = Path(__file__).parent / "golden"
TASK = 4
"""A task of the run whose candidates are on record."""


@pytest.fixture(scope="module")
def explained(call, tmp_path_factory):
    """A run that kept the candidates of one task."""
    results = tmp_path_factory.mktemp("explained")
    said = call("run", MINIMAL, "--until", "2h", "--set", f"record.tasks=[{TASK}]", "--out", results, "--quiet")
    assert said.exit_code == 0, said.stderr
    return results / "minimal" / "seed-1"


def assert_golden(name, said, request):
    """The program said what stands in a file."""
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(said.stdout, encoding="utf-8")
    assert (said.exit_code, said.stderr) == (0, "")
    assert said.stdout == path.read_text(encoding="utf-8")
    assert all(len(line) <= 110 for line in said.stdout.splitlines() if not line.startswith(("  use ", "  skip ")))


@pytest.mark.parametrize(("name", "options"), [
    ("task", ("--task", TASK)), ("task_at_a_queue", ("--task", TASK, "--at", 60, "--queue", "NORTH")),
    ("why_not_task", ("--task", TASK, "--why-not", "CENTRE")),
    ("why_not_other_task", ("--task", 1, "--why-not", "CENTRE")),
    ("why_not", ("--why-not", "NORTH")), ("why_not_pseudo_queue", ("--why-not", "NORTH/MCORE_HIMEM", "--task", TASK)),
])
def test_the_answer_is_the_one_in_the_file(call, explained, name, options, request):
    assert_golden(name, call("explain", explained, *options), request)


def test_the_wording_is_that_of_panda(call, explained):
    said = call("explain", explained, "--task", TASK).stdout
    assert "12 candidates passed selection for status" in said
    assert "skip site=CENTRE/MCORE due to CPU core count criteria=-cpucore" in said
    assert "criteria=-cap_rt" in said and " value=" in said and " limit=" in said
    assert "use site=" in said and " with weight=" in said and said.rstrip().endswith("criteria=+use")


def test_json_holds_the_same(call, explained):
    found = json.loads(call("explain", explained, "--task", TASK, "--json").stdout)
    decision = found["decisions"][0]
    assert decision["funnel"][0]["left"] == len(decision["candidates"]) == 12
    used = [row for row in decision["candidates"] if row["tag"] == "+use"]
    assert len(used) == decision["funnel"][-1]["left"]
    product = 1.0
    for multiplier in used[0]["factors"].values():
        product *= multiplier
    assert product == pytest.approx(used[0]["weight"]) and used[0]["limit"] is None


def test_json_about_a_queue(call, explained):
    found = json.loads(call("explain", explained, "--why-not", "NORTH", "--json").stdout)
    assert found["jeditaskid"] is None and found["share"] is None and found["missing"] == ""
    assert {row["share"] for row in found["counts"]} == {"Analysis", "Production"}
    assert sum(row["count"] for row in found["counts"]) == sum(row["count"] for row in found["over_time"])


@pytest.mark.parametrize(("options", "words"), [
    pytest.param(("--task", 999), "no task of the run has this number or name", id="a task that is not there"),
    pytest.param(("--task", "simulaton"), "did you mean 'simulation'?", id="a name that is nearly there"),
    pytest.param(("--task", "analysis"), "tasks have this name; choose one by its number", id="a name of many"),
    pytest.param(("--task", TASK, "--queue", "NROTH"), "did you mean 'NORTH'", id="a queue that is nearly there"),
    pytest.param(("--why-not", "SUOTH"), "did you mean 'SOUTH'", id="a queue asked why not"),
    pytest.param(("--task", TASK, "--at", "3h"), "the last decision of the task on record was at", id="too late"),
    pytest.param(("--task", TASK, "--at", "soon"), "--at = 'soon'", id="no time"),
    pytest.param(("--task", 1), "--set 'record.tasks=[1]' keeps them whole", id="a task without candidates"),
    pytest.param((), "say which task", id="neither task nor queue"),
    pytest.param(("--why-not", "NORTH", "--at", "1h"), "goes with --task and --json only", id="options that clash"),
])
def test_a_mistake_is_told_with_what_may_have_been_meant(call, explained, options, words):
    said = call("explain", explained, *options)
    assert said.exit_code == 2 and words in said.stderr and said.stdout == ""


def test_a_run_without_candidates_says_which_key_to_set(call, finished):
    folder = finished[0] / "minimal" / "seed-1"
    said = call("explain", folder, "--why-not", "NORTH")
    assert said.exit_code == 0 and "record.candidates=0.1" in said.stdout
    assert "record.tasks=[1]" in call("explain", folder, "--task", 1).stderr
    assert "record.tasks=[1]" in call("explain", folder, "--task", 1, "--why-not", "NORTH").stdout
