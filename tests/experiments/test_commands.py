"""The verbs of studies as a user calls them."""

import json

import pandas as pd
import pytest
from small_study import MINIMAL, QUICK, quick, runs_of, study_file
from typer.testing import CliRunner

from simgrid_broker.cli.app import app
from simgrid_broker.cli.progress import text_of
from simgrid_broker.experiments.running import Progress

SETTINGS = [part for key, value in QUICK.items() for part in ("--set", f"{key}={str(value).lower()}")]


def called(*arguments, **more):
    """Result of the program for these arguments."""
    return CliRunner(env={"COLUMNS": "110"}).invoke(app, [str(each) for each in arguments], **more)


def test_replicate_shows_errors_and_repeats_nothing(tmp_path, here_and_now):
    command = ("replicate", MINIMAL, *SETTINGS, "--seeds", 2, "--out", tmp_path / "out")
    first = called(*command)
    assert first.exit_code == 0, first.output
    assert "95 % low" in first.stdout and "finished" in first.stdout and "report.html" in first.stdout
    assert here_and_now.asked == [("minimal", 1), ("minimal", 2)]
    again = called(*command[:-4], "--seeds", 3, *command[-2:])
    assert again.exit_code == 0 and here_and_now.asked[2:] == [("minimal", 3)]
    changed = called(*command, "--set", "shares.Analysis.value=33")
    assert changed.exit_code == 2 and "scenario.shares.Analysis.value = '33.0'" in changed.stderr
    assert len(pd.read_csv(tmp_path / "out" / "results.csv").seed.unique()) == 3


def test_failed_runs_are_named_and_the_status_says_so(tmp_path, here_and_now):
    here_and_now.fails = (2,)
    result = called("replicate", MINIMAL, *SETTINGS, "--seeds", 2, "--out", tmp_path / "out")
    assert result.exit_code == 1 and "minimal, seed 2 failed: MemoryError: died" in result.stderr
    assert (tmp_path / "out" / "minimal" / "seed-2.failed.txt").read_text() == "MemoryError: died\n"


def test_compare_runs_scenarios_in_pairs(tmp_path, here_and_now):
    other = tmp_path / "other.yaml"
    other.write_text(f"extends: {MINIMAL}\nname: other\nedition: deployed\nduration: 40 min\nwarm_up: 10 min\n")
    base = tmp_path / "base.yaml"
    base.write_text(f"extends: {MINIMAL}\nduration: 40 min\nwarm_up: 10 min\n")
    wrong = called("compare", base, other, "--seeds", 2, "--out", tmp_path / "out", "--figure", "finishd")
    assert wrong.exit_code == 2 and "did you mean 'finished'" in wrong.stderr and not here_and_now.asked
    result = called("compare", base, other, "--seeds", 2, "--out", tmp_path / "out", "--until", "30m", "--set",
                    "shares.Analysis.value=33")
    asked = json.loads((tmp_path / "out" / "study.json").read_text())["definition"]["scenarios"]
    assert [(one["duration"], one["shares"][0]["value"]) for one in asked.values()] == [(1800, 33)] * 2
    assert result.exit_code == 0, result.output
    assert "different scenarios, minimal, other" in " ".join(result.stdout.split()) and "edition" in result.stdout
    assert sorted(here_and_now.asked) == [("minimal", 1), ("minimal", 2), ("other", 1), ("other", 2)]


@pytest.mark.parametrize(("options", "expected"), [
    pytest.param(["--seeds", "3"], "--seeds = '3': has no effect without a scenario", id="seeds of recorded runs"),
    pytest.param(["--set", "seed=3"], "--set = 'seed=3': has no effect without", id="settings of recorded runs"),
    pytest.param(["--figure", "finished"], "has no effect on two single runs", id="figures of two runs")])
def test_options_without_effect_are_refused(tmp_path, options, expected):
    runs = [run.folder for run in runs_of(tmp_path, quick(duration="20 min", warm_up=0), [1, 2])]
    result = called("compare", *runs, *options)
    assert result.exit_code == 2 and expected in result.stderr


def test_two_runs_are_compared_as_ever(tmp_path):
    runs = [run.folder for run in runs_of(tmp_path, quick(duration="20 min", warm_up=0), [1, 2])]
    result = called("compare", *runs, "--out", tmp_path / "compared")
    assert result.exit_code == 0 and "B - A" in result.stdout and "Jobs finished" in result.stdout
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["seed", "1", "2"] in lines and any(line[:1] == ["Production"] and len(line) == 6 for line in lines), lines
    assert "A: seed-1; B: seed-2" in (tmp_path / "compared" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("answer", "options", "status"), [
    pytest.param("n\n", [], 1, id="no"), pytest.param("", [], 1, id="nobody answers"),
    pytest.param("y\n", [], 0, id="yes"), pytest.param("", ["--yes"], 0, id="not asked")])
def test_a_scenario_beside_a_run_is_run_only_after_a_question(tmp_path, here_and_now, answer, options, status):
    run, = runs_of(tmp_path, quick(duration="20 min", warm_up=0), [1])
    other = tmp_path / "other.yaml"
    other.write_text(f"extends: {MINIMAL}\nduration: 20 min\nwarm_up: 0\n")
    result = called("compare", run.folder, other, "--seeds", "1", "--out", tmp_path / "out", *options, input=answer)
    assert result.exit_code == status and bool(here_and_now.asked) == (status == 0)
    assert ("a scenario, not a run. Run it with 1 seed" in result.output) != bool(options)


def test_a_figure_without_a_value_in_the_first_run_stops_the_study(tmp_path, here_and_now):
    command = ("sweep", MINIMAL, *SETTINGS, "--vary", "edition=documented,deployed", "--seeds", "4-4", "--figure",
               "refusals.-lowmemory.part", "--out", tmp_path / "out")
    for ran in (1, 1):                                                    # and no other run begins the second time
        result = called(*command)
        assert result.exit_code == 2 and len(here_and_now.asked) == ran
        assert "refusals.-lowmemory.part: has no value in the run" in " ".join(result.stderr.split()).replace(
            "figures = '", "").replace("':", ":"), result.stderr
    assert called("sweep", MINIMAL, *SETTINGS, "--vary", "edition=documented", "--figure",
                  "waiting.Produktion.wait_p50").stderr.count("did you mean 'waiting.Production.wait_p50'") == 1


def test_a_sweep_by_options(tmp_path, here_and_now):
    result = called("sweep", MINIMAL, *SETTINGS, "--vary", "edition=documented,deployed", "--seeds", "4-4", "--figure",
                    "finished", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert here_and_now.asked == [("p0001", 4), ("p0002", 4)]
    table = pd.read_csv(tmp_path / "out" / "results.csv")
    assert set(table.edition) == {"documented", "deployed"}
    lines = [line.split()[:2] for line in result.stdout.splitlines()]
    assert ["finished", "documented"] in lines and ["finished", "deployed"] in lines


@pytest.mark.parametrize(("arguments", "expected"), [
    pytest.param(["--vary", "edition"], "write dotted.key=value,value", id="no values"),
    pytest.param(["--vary", "edtion=documented"], "command line: edtion = 'documented': unknown key 'edtion'; did you "
                 "mean 'edition'", id="no such setting"),
    pytest.param(["--vary", "policies.throttle=gentel"], "unknown policy", id="no such policy"),
    pytest.param(["--vary", "edition=deployed", "--seeds", "0"], "such as 5-9", id="no seeds"),
    pytest.param(["--vary", "edition=deployed", "--figure", "finishd"], "did you mean 'finished'", id="no figure"),
    pytest.param(["--vary", "edition=deployed", "--workers", "2", "--scheduler", "tcp://x:1"], "no effect with",
                 id="workers and scheduler")])
def test_wrong_options_are_refused_before_anything_runs(tmp_path, here_and_now, arguments, expected):
    result = called("sweep", MINIMAL, *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2 and expected in result.stderr, result.stderr
    assert not here_and_now.asked and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_sensitivity_and_tune_by_files(tmp_path, here_and_now):
    vary = {"workload.users.analysis.offered_cores": {"from": 5, "to": 60}, "edition": ["documented", "deployed"]}
    result = called("sensitivity", study_file(tmp_path, points=2, seeds="1", vary=vary), "--figure", "finished",
                    "--out", tmp_path / "morris")
    assert result.exit_code == 0, result.output
    assert set(pd.read_csv(tmp_path / "morris" / "sensitivity.csv")["index"]) == {"mu", "mu_star", "sigma"}
    path = study_file(tmp_path, trials=2, seeds="1", confirm="7-8", vary=vary, objectives={"finished": "maximise"})
    result = called("tune", path, "--out", tmp_path / "tuned")
    assert result.exit_code == 0, result.output
    assert "Winner: t000" in result.stdout and "edition" in result.stdout and "seeds needed" in result.stdout


def test_progress_in_words():
    assert text_of(Progress(3, 1, 2, 10)) == "3 of 10 runs done, 1 failed, 2 running"
    assert ", ends " in text_of(Progress(3, 1, 2, 10, 60.0))
