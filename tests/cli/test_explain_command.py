"""Output of `explain` for a small run; `pytest tests/cli --update` rewrites the expected texts."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from simgrid_broker.cli import explain
from simgrid_broker.cli.explain import kill_codes
from simgrid_broker.records import read_run

MINIMAL = Path(__file__).parents[2] / "scenarios" / "minimal.yaml"
COLD = "--set", "warm_up=0"
"""Arguments of a run shorter than the warm-up of its scenario."""
GOLDEN = Path(__file__).parent / "golden"
TASK, REBROKERED = 4, 6
"""Task of the run whose candidates are recorded; task whose jobs fast rebrokerage closes."""


@pytest.fixture(scope="module")
def explained(call, tmp_path_factory):
    """A run that recorded the candidates of one task."""
    results = tmp_path_factory.mktemp("explained")
    result = call("run", MINIMAL, *COLD, "--until", "2h", "--set", f"record.tasks=[{TASK}]", "--out", results,
                  "--quiet", "--no-report")
    assert result.exit_code == 0, result.stderr
    return results / "minimal" / "seed-1"


def assert_golden(name, result, request):
    """The output is equal to a golden file."""
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(result.stdout, encoding="utf-8")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == path.read_text(encoding="utf-8")
    assert all(len(line) <= 110 for line in result.stdout.splitlines() if not line.startswith(("  use ", "  skip ")))


@pytest.mark.parametrize(("name", "options"), [
    ("task", ("--task", TASK)), ("task_at_a_queue", ("--task", TASK, "--at", 60, "--queue", "NORTH")),
    ("why_not_task", ("--task", TASK, "--why-not", "CENTRE")),
    ("why_not_other_task", ("--task", 1, "--why-not", "CENTRE")),
    ("why_not", ("--why-not", "NORTH")), ("why_not_all", ("--why-not", "NORTH", "--all")),
    ("overview", ()), ("share", ("--share", "Analysis")),
    ("why_not_pseudo_queue", ("--why-not", "NORTH/MCORE_HIMEM", "--task", TASK)),
])
def test_the_output_equals_the_golden_file(call, explained, name, options, request):
    assert_golden(name, call("explain", explained, *options), request)


@pytest.fixture(scope="module")
def stuck(call, tmp_path_factory):
    """A run whose analysis tasks find no queue: all scratch disks are too small."""
    folder = tmp_path_factory.mktemp("stuck")
    settings = [word for queue in ("NORTH", "SOUTH", "CENTRE") for word in
                ("--set", f"grid.queues.{queue}.maxwdir=0.5 GB")]
    result = call("run", MINIMAL, "--until", "3h", "--set", "warm_up=0", *settings, "--out", folder, "--no-report")
    assert result.exit_code == 0, result.stderr
    return folder / "minimal" / "seed-1", result


def test_the_warning_names_the_rule_that_holds_the_work(call, stuck):
    folder, result = stuck
    said = " ".join(result.stdout.split()).replace("! ", "")
    assert "Analysis got 0 of its 64 cores: job brokerage, -disk (scratch too small)" in said
    assert "never got a job: " in said
    text = call("explain", folder, "--unplaced").stdout
    assert "-disk (scratch too small)" in text and "without a queue at the end" in text
    assert "recorded candidate by candidate (--task ID)" in text
    found = json.loads(call("explain", folder, "--unplaced", "--json").stdout)["shares"][0]
    assert found["recorded"] and found["tasks"] and found["empty_decisions"] > 0
    task = found["recorded"][0]["jeditaskid"]
    text = call("explain", folder, "--task", task).stdout
    assert " free in scratch, " in text and "criteria=-disk (scratch too small)" in " ".join(text.split())
    assert {row["criterion"] for row in found["tasks"]} == {"scratch_too_small"}
    tasks = read_run(folder).table("tasks", ["errordialog"]).errordialog
    assert "-disk (scratch too small)" in set(tasks.dropna())


@pytest.mark.parametrize("options", [
    pytest.param((), id="all shares in short"), pytest.param(("--unplaced",), id="unplaced tasks"),
    pytest.param(("--share", "Analysis"), id="one share"),
])
def test_each_rule_that_takes_cores_is_explained_within_100_columns(call, stuck, options):
    text = call("explain", stuck[0], *options, columns=100).stdout
    says = "-disk (scratch too small): Refuse queues whose maxwdir divided by their core count is not larger than"
    assert f"{says} the disk usage of a job." in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def test_a_task_without_records_names_recorded_tasks_of_its_share(call, stuck):
    found = json.loads(call("explain", stuck[0], "--unplaced", "--json").stdout)["shares"][0]
    recorded = {row["jeditaskid"] for row in found["recorded"]}
    others = [row["jeditaskid"] for row in found["tasks"] if row["jeditaskid"] not in recorded]
    assert not others or "recorded were those of task" in " ".join(
        call("explain", stuck[0], "--task", others[0]).stdout.split())


def test_without_unplaced_tasks_the_answer_says_so(call, explained):
    assert "got a job" in call("explain", explained, "--unplaced").stdout


def test_the_wording_is_that_of_panda(call, explained):
    result = call("explain", explained, "--task", TASK).stdout
    assert "12 candidates passed selection for status" in result
    assert "skip site=CENTRE/MCORE due to CPU core count: slots of 8 cores, jobs of 1 core criteria=-cpucore" in result
    assert "skip site=CENTRE/SCORE_HIMEM due to memory: 1.3 GB needed, minrss 2.0 GB criteria=-highmemory" in result
    assert "express" not in result and "walltime of scouts" not in result, "steps that do not concern the task"
    assert "use site=" in result and " with weight=" in result and result.rstrip().endswith("criteria=+use")


def test_json_has_the_same_content(call, explained):
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
    pytest.param(("--task", 999), "unknown task; the run has", id="an unknown task"),
    pytest.param(("--task", "simulaton"), "did you mean 'simulation'?", id="a misspelt name"),
    pytest.param(("--task", "analysis"), "tasks have this name; choose one by number", id="an ambiguous name"),
    pytest.param(("--task", TASK, "--queue", "NROTH"), "did you mean 'NORTH'", id="a misspelt queue"),
    pytest.param(("--why-not", "SUOTH"), "did you mean 'SOUTH'", id="a misspelt queue of --why-not"),
    pytest.param(("--task", TASK, "--at", "3h"), "the last recorded decision of the task was at", id="too late"),
    pytest.param(("--task", TASK, "--at", "soon"), "--at = 'soon'", id="not a time"),
    pytest.param(("--task", 1, "--at", "1h"), "to record them, run with --set 'record.tasks=[1]'",
                 id="a task without candidates"),
    pytest.param(("--queue", "NORTH"), "needs a task (--task ID)", id="a queue without a task"),
    pytest.param(("--share", "Analysis", "--task", 4), "cannot be combined with --share", id="a task and a share"),
    pytest.param(("--user", "analysis-00001"), "did you mean 'analysis-0001'", id="a misspelt user"),
    pytest.param(("--user", "analysis-0001", "--at", "1h"), "cannot be combined with --user", id="a user at a time"),
    pytest.param(("--job", 10**6), "--job = 1000000: unknown job", id="an unknown job"),
    pytest.param(("--job", 1, "--task", 4), "cannot be combined with --job", id="a job and a task"),
    pytest.param(("--share", "Anlysis"), "did you mean 'Analysis'?", id="a misspelt share"),
    pytest.param(("--share", "evgen"), "the shares are Analysis, Production", id="no share at all"),
    pytest.param(("--why-not", "NORTH", "--at", "1h"), "can be combined with --task, --all and --json only",
                 id="a conflict"),
])
def test_a_mistake_is_reported_with_suggestions(call, explained, options, words):
    result = call("explain", explained, *options)
    assert result.exit_code == 2 and words in result.stderr and result.stdout == ""


def test_the_work_of_a_user_is_explained_in_one_sentence_and_in_detail(call, explained):
    user = json.loads(call("users", explained, "--all", "--json").stdout)["users"][0]["user"]
    text = call("explain", explained, "--user", user).stdout
    assert user in text.split("\n\n")[0] and "running" in text and max(map(len, text.splitlines())) <= 110
    found = json.loads(call("explain", explained, "--user", user, "--json").stdout)
    assert found["says"] == " ".join(text.split("\n\n")[0].split()) and found["tasks"][0]["user"] == user


def test_the_life_of_a_job_is_told_in_lines_and_as_json(call, explained):
    text = call("explain", explained, "--job", 5).stdout
    assert "created: attempt 1 at input of task" in text and "running on " in text
    found = json.loads(call("explain", explained, "--job", 5, "--json").stdout)
    assert found["panda_id"] == 5 and [each["what"] for each in found["life"]][0].startswith("created: ")


@pytest.mark.parametrize("command", [
    ("why",), ("why", "Production"), ("coverage",), ("coverage", "--all"), ("explain",), ("explain", "--task", 4),
    ("explain", "--task", 2), ("explain", "--job", 5), ("explain", "--why-not", "NORTH", "--all"),
    ("explain", "--share", "Production"), ("explain", "--unplaced"), ("explain", "--user", "analysis-0001"),
    ("users", "--all"), ("links", "--all"), ("links", "--matrix"), ("shares",)], ids=str)
def test_what_is_asked_about_a_run_fits_80_columns(call, explained, command):
    name, *options = map(str, command)
    result = call(name, explained, *options, columns=80)
    assert result.exit_code == 0
    lines = [line for line in result.stdout.splitlines()
             if not line.startswith(("  use ", "  skip ")) and str(explained) not in line]     # its folder is longer
    assert max(map(len, lines)) <= 80


def test_a_run_that_was_killed_or_is_of_another_version_says_so_before_the_answer(call, explained, tmp_path):
    folder = shutil.copytree(explained, tmp_path / "killed")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["status"] = "running"
    del manifest["results"]["tasks"][-1]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for name, *options in (("why",), ("coverage", "--json"), ("explain", "--task", 4), ("shares",), ("users",)):
        result, whole = call(name, folder, *options), call(name, explained, *options)
        assert result.exit_code == 0 and not whole.stderr
        said = " ".join(result.stderr.split())
        assert said.startswith("note: This run has not ended or was killed: ") and "another version of the" in said


def test_a_branch_of_the_share_tree_is_explained_by_its_chain_and_its_leaves(call, explained, tmp_path):
    folder = shutil.copytree(explained, tmp_path / "branch")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["share_tree"] = dict(names=["root", "Work", "Analysis", "Production"], parent=[-1, 0, 1, 1],
                                  value=[100, 100, 20, 80], leaves=[2, 3])
    (folder / "manifest.json").write_text(json.dumps(manifest))
    text = call("explain", folder, "--share", "Work").stdout
    assert text.startswith("Work got ") and "Analysis, analysis brokerage: " in text
    assert "Production, job brokerage: " in text
    assert call("why", folder, "Work").stdout.startswith("Work got ")


def test_a_share_without_decisions_is_explained_by_its_chain(call, tmp_path):
    run = call("run", MINIMAL, *COLD, "--until", "2h", "--set", "gdpconfig.JOB_SUBMISSION=false", "--out", tmp_path,
               "--no-report", columns=80)
    text = " ".join(call("explain", tmp_path / "minimal" / "seed-1", "--share", "Analysis").stdout.split())
    assert text == ("Analysis got 0 of its 64 cores: throttler, jobs are not generated, in 2 h. "
                    "No broker decided about Analysis.")
    assert "simgrid-broker why RUN" in run.stdout and not any(
        line.endswith("simgrid-") for line in run.stdout.splitlines())


def test_users_of_a_run_that_ended_within_its_warm_up_have_no_fairness(call, explained, tmp_path):
    folder = shutil.copytree(explained, tmp_path / "short")
    manifest = json.loads((folder / "manifest.json").read_text()) | {"status": "interrupted", "warm_up_s": 1e6}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    result = call("users", folder)
    assert "no data after its warm-up" in " ".join(result.stderr.split())
    assert "nan" not in result.stdout and "-0.0" not in result.stdout and "Jain" not in result.stdout


@pytest.mark.parametrize("command", [("gdpconfig", "jobbroker"), ("gdpconfig", "cap_rt"), ("describe",),
                                     ("describe", "jobs.parquet"), ("describe", "rules"), ("describe", "-cap_rt"),
                                     ("describe", "states"), ("describe", "timeouts")], ids=" ".join)
def test_what_is_looked_up_fits_80_columns(call, command):
    result = call(*command, columns=80)
    assert result.exit_code == 0 and max(map(len, result.stdout.splitlines())) <= 80


def test_a_task_of_a_user_is_explained_even_if_no_decision_was_recorded(call, tmp_path):
    settings = "--until", "1h", "--set", "warm_up=0", "--set", "record.unplaced=0", "--quiet", "--no-report"
    assert call("run", MINIMAL, *settings, "--out", tmp_path).exit_code == 0
    run = read_run(tmp_path / "minimal" / "seed-1")
    tasks = run.table("tasks", ["jeditaskid", "label"])
    task = tasks.jeditaskid[tasks.label == "user"].iloc[0]
    text = call("explain", run.folder, "--task", task).stdout
    assert f"task {task} " in text.split("\n\n")[0].lower() and f"record.tasks=[{task}]" in text


def test_a_run_without_candidates_names_the_key_to_set(call, tmp_path):
    settings = "--until", "10min", "--set", "warm_up=0", "--set", "record.unplaced=0", "--quiet", "--no-report"
    assert call("run", MINIMAL, *settings, "--out", tmp_path).exit_code == 0
    folder = tmp_path / "minimal" / "seed-1"
    result = call("explain", folder, "--why-not", "NORTH")
    assert result.exit_code == 0 and "record.candidates=0.1" in result.stdout
    told = call("explain", folder, "--task", 1).stdout
    assert "created: " in told and "record.tasks=[1]" in told
    assert "record.tasks=[1]" in call("explain", folder, "--task", 1, "--why-not", "NORTH").stdout


def test_attempts_that_the_server_ended_are_named_with_their_kill_codes(call, tmp_path):
    keys = {"rebroker.FAST_REBRO_THRESHOLD_NQUEUE_Analysis": 1, "rebroker.FAST_REBRO_THRESHOLD_NQNR_RATIO": 0.1,
            "rebroker.FAST_REBRO_THRESHOLD_NQUEUE_FRAC": 0.01}
    settings = dict(edition="deployed", gdpconfig=json.dumps(keys), **{"record.tasks": [REBROKERED]})
    result = call("run", MINIMAL, *COLD, "--until", "1h", "--out", tmp_path, "--quiet", "--no-report",
                  *(word for key, value in settings.items() for word in ("--set", f"{key}={value}")))
    assert result.exit_code == 0, result.stderr
    run = tmp_path / "minimal" / "seed-1"
    jobs = read_run(run).jobs
    number = ((jobs.jeditaskid == REBROKERED) & (jobs.cause == "fast_rebrokerage")).sum()
    said = " ".join(call("explain", run, "--task", REBROKERED).stdout.split())
    assert number and f"of task {REBROKERED}: {number} closed for fast_rebrokerage (kill code 10)." in said


def test_kill_codes_of_causes():
    codes = kill_codes("deployed")
    assert (codes["timeout_defined"], codes["timeout_pending"], codes["timeout_merging"]) == (
        "2 or 51", "2 or 51 or 4", "2 or 52")
    assert kill_codes("documented") == {}


def test_changes_of_the_retry_module_are_told():
    rows = pd.DataFrame([(3600.0, 7, "increase_memory_xtimes", "ramCount", 0, 1000.0, 2000.0),
                         (7200.0, 7, "increase_memory_xtimes", "ramCount", 0, 2000.0, 4000.0),
                         (7200.0, 7, "reduce_input_per_job", "nGBPerJob", 1, float("nan"), 5.0),
                         (7200.0, 7, "recalculation", "cpuTime", 1, 10.0, float("nan")),
                         (7200.0, 8, "increase_memory", "ramCount", 1, 1000.0, 2000.0)],
                        columns=["time_s", "jeditaskid", "action", "parameter", "of_task", "before", "after"])
    run = SimpleNamespace(table={"task_actions": rows}.get)
    told, = explain.told_changes(7, explain.changes_of(run, 7))
    assert " ".join(told.split()) == (
        "The retry module changed task 7 after failures: increase_memory_xtimes for the input of single jobs, ramCount "
        "1000 to 4000, 2 times, first at 1 h; reduce_input_per_job for the task, nGBPerJob 5, 1 time, first at 2 h; "
        "recalculation for the task, cpuTime 10 to a new measurement, 1 time, first at 2 h.")
    assert explain.told_changes(9, explain.changes_of(run, 9)) == []


@pytest.mark.parametrize(("edition", "counted"), [
    ("documented", "scouts"), ("deployed", "pairs of job and status of its files")])
def test_the_look_at_scouts_is_told_with_what_counts(edition, counted):
    rows = pd.DataFrame([(3600.0, 7, "avalanche", "scouts", 1, 8.0, 5.0)],
                        columns=["time_s", "jeditaskid", "action", "parameter", "of_task", "before", "after"])
    run = SimpleNamespace(table={"task_actions": rows}.get, manifest=dict(edition=edition))
    told, = explain.told_scouts(run, 7, explain.scouts_of(run, 7))
    assert " ".join(told.split()) == (f"5 of 8 {counted} of task 7 had finished when they were judged, at 1 h; half of "
                                      "them start the avalanche.")
    assert explain.changes_of(run, 7) == [] and explain.scouts_of(run, 8) == []
