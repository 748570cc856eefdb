"""`run`, `report` and `compare`: output and files, also after errors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simgrid_broker import engine
from simgrid_broker.cli import progress, trouble
from simgrid_broker.compiled.kept_code import announce
from simgrid_broker.errors import InvariantBroken, OutputError
from simgrid_broker.records import read_run
from simgrid_broker.scenario.work.synthetic import arrivals

MINIMAL = Path(__file__).parents[2] / "scenarios" / "minimal.yaml"
COLD = "--set", "warm_up=0"
"""Arguments of a run shorter than the warm-up of its scenario."""


def manifest_of(folder):
    """The manifest of the run in a folder."""
    return json.loads((folder / "manifest.json").read_text())


@pytest.fixture
def interrupted_at(monkeypatch):
    """Simulate Ctrl-C at the given one of the 200 steps of a run."""
    def at(step):
        calls = []

        def press(self, simulation):
            calls.append(simulation.env.now)
            if len(calls) == step:
                raise KeyboardInterrupt
        monkeypatch.setattr(progress.Progress, "__call__", press)
    return at


@pytest.fixture
def no_pages(monkeypatch):
    """Skip drawing the pages, which takes longer than the runs."""
    monkeypatch.setattr("simgrid_broker.report.write_report", lambda run, *_: run.folder / "report.html")


def test_a_run_prints_its_figures_and_the_path_of_the_report(finished):
    results, result = finished
    folder = results / "minimal" / "seed-1"
    assert result.exit_code == 0
    for words in ("finished", "occupancy", "waiting", "target %", "delivered %", f"Report: {folder / 'report.html'}"):
        assert words in result.stdout
    assert (folder / "report.html").is_file() and manifest_of(folder)["status"] == "complete"
    assert len(read_run(folder).jobs) > 0


def test_quiet_prints_the_folder_only_and_settings_arrive(call, tmp_path, no_pages):
    result = call("run", MINIMAL, *COLD, "--until", "10 min", "--seed", 7, "--set", "gdpconfig.NQUEUED_NUC_CAP=5",
                "--set", "shares.Analysis.value=1", "--out", tmp_path, "--quiet", "--validate")
    folder = tmp_path / "minimal" / "seed-7"
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{folder}\n", "")
    manifest = manifest_of(folder)
    assert (manifest["seed"], manifest["duration_s"]) == (7, 600)
    assert manifest["gdpconfig"]["taskbrokerage.NQUEUED_NUC_CAP"] == {"value": 5, "origin": "command line"}
    assert manifest["scenario"]["shares"][0]["value"] == 1


def test_a_key_without_effect_is_reported_before_the_run(call, tmp_path, no_pages):
    result = call("run", MINIMAL, *COLD, "--until", "1 min", "--set", "gdpconfig.OUTDISKCOUNT_ANALY_KB=5", "--out",
                  tmp_path)
    assert "note: gdpconfig key 'OUTDISKCOUNT_ANALY_KB' has no effect" in result.stderr


def test_compiling_is_announced_once(call, tmp_path, no_pages, monkeypatch):
    def begin(scenario):
        for _ in range(2):
            announce(arrivals)
        return arrivals(scenario)
    monkeypatch.setattr(engine, "arrivals", begin)
    told = call("run", MINIMAL, *COLD, "--until", "1 min", "--out", tmp_path).stderr
    assert told.count("First run of this version on this machine: compiling takes about") == 1


def test_a_run_without_a_report_writes_tables_only(call, tmp_path):
    result = call("run", MINIMAL, *COLD, "--until", "10 min", "--no-report", "--out", tmp_path)
    folder = tmp_path / "minimal" / "seed-1"
    assert result.exit_code == 0 and "occupancy" in result.stdout and "Report:" not in result.stdout
    assert (folder / "jobs.parquet").is_file() and not list(folder.glob("report*")) and not (folder / "plots").exists()


def test_the_number_of_checked_decisions_is_printed_and_kept(call, tmp_path):
    result = call("run", MINIMAL, *COLD, "--until", "2h", "--no-report", "--check-decisions", "100%", "--out", tmp_path)
    number = manifest_of(tmp_path / "minimal" / "seed-1")["counters"]["decisions_checked"]
    assert number > 0 and f"{number} decisions checked: all agree" in result.stdout
    result = call("run", MINIMAL, *COLD, "--until", "2h", "--check-decisions", "101%", "--out", tmp_path)
    assert result.exit_code == 2 and "not from 0% to 100%" in result.stderr


def test_a_report_without_plots_says_so(call, tmp_path):
    result = call("run", MINIMAL, *COLD, "--until", "10 min", "--no-plots", "--out", tmp_path)
    folder = tmp_path / "minimal" / "seed-1"
    page = (folder / "report.html").read_text()
    assert f"Report: {folder / 'report.html'}" in result.stdout
    assert "<svg" not in page and "Running cores by site: not drawn, because this report was written without" in page
    assert "Waiting time figures" in page and not (folder / "plots").exists()


def test_formats_of_plots_reach_the_pages(call, tmp_path, finished, monkeypatch):
    results, _ = finished
    run, given = results / "minimal" / "seed-1", []
    monkeypatch.setattr("simgrid_broker.report.write_report", lambda run, *_, **__: given.append(_) or "page")
    assert call("report", run, "--format", "png,pdf").exit_code == 0 and given[0][1:] == (True, ("png", "pdf"), None)
    assert call("report", run, "--base", run).exit_code == 0 and given[1][3].folder == run
    assert "'jpeg' is not png or pdf; SVG and CSV are" in call("report", run, "--format", "jpeg").stderr
    refused = call("compare", run, MINIMAL, "--yes", "--format", "pdf", "--out", tmp_path)
    assert refused.exit_code == 2 and "--format = 'pdf': acts on two single runs" in refused.stderr


def test_a_workload_replaces_the_trace(call, tmp_path, no_pages):
    trace = tmp_path / "two jobs: short.swf"
    jobs = [f"{k} 60 -1 100 1 -1 -1 1 100 -1 1 1 1 1 1 -1 -1 -1" for k in (1, 2)]
    trace.write_text("; a trace\n" + "\n".join(jobs) + "\n")
    result = call("run", MINIMAL, *COLD, "--until", "1h", "--workload", trace, "--set", "workload.campaigns=[]",
                "--set", "workload.users=[]", "--out", tmp_path / "results", "--quiet")
    assert result.exit_code == 0, result.stderr
    assert read_run(result.stdout.strip()).tasks["n_jobs"].tolist() == [2]        # of one owner, so one task


def test_ctrl_c_keeps_and_reports_complete_results(call, tmp_path, interrupted_at):
    interrupted_at(100)
    result = call("run", MINIMAL, *COLD, "--until", "2h", "--out", tmp_path)
    folder = tmp_path / "minimal" / "seed-1"
    assert result.exit_code == 130
    assert f"Interrupted; complete results are kept in {folder}." in result.stderr
    assert "interrupted at about 1 h of 2 h" in result.stdout and (folder / "report.html").is_file()
    assert manifest_of(folder)["status"] == "interrupted"


def test_ctrl_c_before_the_end_of_the_warm_up_gives_no_report(call, tmp_path, interrupted_at):
    interrupted_at(2)
    result = call("run", MINIMAL, "--until", "2h", "--set", "warm_up=1h", "--out", tmp_path)
    folder = tmp_path / "minimal" / "seed-1"
    assert result.exit_code == 130 and "No report is written" in result.stderr and not (folder / "report.html").exists()
    assert manifest_of(folder)["status"] == "interrupted"


def test_ctrl_c_before_the_simulation_leaves_no_folder(call, tmp_path, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt
    monkeypatch.setattr(engine, "arrivals", press)
    result = call("run", MINIMAL, "--out", tmp_path)
    assert result.exit_code == 130 and "no results are kept" in result.stderr
    assert list((tmp_path / "minimal").iterdir()) == []


@pytest.mark.parametrize(("error", "status", "words"), [
    pytest.param(InvariantBroken(["queue Q: 3 jobs counted, 2 there"]), 1,
                 ("2 there", "bug in the program", "Please report"), id="a bug"),
    pytest.param(OutputError("cannot write results: no space left"), 1, ("no space left",), id="a full disk"),
    pytest.param(MemoryError("Unable to allocate 9 EiB"), 1, ("out of memory",), id="out of memory"),
])
def test_an_error_in_a_run_is_a_message(call, tmp_path, monkeypatch, error, status, words):
    def fail(*_):
        raise error
    monkeypatch.setattr(progress.Progress, "__call__", fail)
    result = call("run", MINIMAL, *COLD, "--until", "1h", "--out", tmp_path)
    assert result.exit_code == status and "Traceback" not in result.stderr
    for text in (*words, f"kept in {tmp_path / 'minimal' / 'seed-1'}"):
        assert text in result.stderr
    assert manifest_of(tmp_path / "minimal" / "seed-1")["status"] == "failed"


def test_a_folder_that_cannot_be_made(call, tmp_path):
    (tmp_path / "file").write_text("")
    result = call("run", MINIMAL, "--out", tmp_path / "file")
    assert result.exit_code == 1 and "cannot make the folder" in result.stderr


def test_report_of_a_run_and_of_something_else(call, finished):
    results, _ = finished
    page = results / "minimal" / "seed-1" / "report.html"
    page.unlink()
    result = call("report", page.parent)
    assert result.exit_code == 0 and page.is_file() and f"Report: {page}" in result.stdout
    result = call("report", results)
    assert result.exit_code == 2 and "is not a run" in result.stderr and str(page.parent) in result.stderr


def test_compare_puts_two_runs_side_by_side(call, finished, tmp_path):
    results, _ = finished
    folder = results / "minimal" / "seed-1"
    result = call("compare", folder, folder, "--out", tmp_path / "both")
    assert result.exit_code == 0 and (tmp_path / "both" / "report.html").is_file()
    assert "Core occupancy" in result.stdout and "B - A" in result.stdout


def test_a_closed_pipe_is_not_an_error(tmp_path):
    program = subprocess.Popen([sys.executable, "-m", "simgrid_broker", "describe", "jobs"], cwd=tmp_path,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    program.stdout.close()
    assert program.stderr.read() == b"" and program.wait() == trouble.NO_READER
    program.stderr.close()
