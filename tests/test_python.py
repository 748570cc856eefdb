"""Python says in one line what a function takes, takes paths of runs and scenarios, and shows runs in a notebook."""

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import simgrid_broker as sb
from simgrid_broker import notebook

MINIMAL = Path(__file__).parents[1] / "scenarios" / "minimal.yaml"


@pytest.fixture(scope="module")
def scenario():
    return sb.load_scenario(MINIMAL).with_values({"duration": "20 min", "warm_up": 0, "start": "filled"})


@pytest.fixture(scope="module")
def run(scenario, tmp_path_factory):
    return sb.simulate(scenario, out=str(tmp_path_factory.mktemp("python")))


@pytest.mark.parametrize(("call", "says"), [
    (lambda run, plan: sb.simulate("minimol"), "did you mean 'minimal'"),
    (lambda run, plan: sb.simulate({"name": "x"}), "expected a Scenario, the path of its file, or the name of"),
    (lambda run, plan: sb.simulate(None), "expected a Scenario.*not nothing"),
    (lambda run, plan: sb.simulate(plan, out=3), "simulate: out: expected the path of a folder, not an int"),
    (lambda run, plan: sb.simulate(plan, agents=print), "expected a list of generator functions"),
    (lambda run, plan: sb.simulate(plan, progress=1), "simulate: progress: expected a function"),
    (lambda run, plan: sb.simulate(plan, check_decisions="10%"), "expected a part from 0 to 1, such as 0.1"),
    (lambda run, plan: sb.load_scenario({"a": 1}), "load_scenario: expected the path of a scenario file"),
    (lambda run, plan: sb.load_snapshot(plan), "expected a Snapshot, or the path of its file"),
    (lambda run, plan: plan.with_values("seed=3"), "expected values by dotted key"),
    (lambda run, plan: plan.with_values({"seeed": 3}), "did you mean 'seed'"),
    (lambda run, plan: sb.read_run(None), "read_run: expected the folder of a run, not nothing"),
    (lambda run, plan: sb.read_run(run.folder / "jobs.parquet"), "runs nearby"),
    (lambda run, plan: run.jbos, "no table or attribute 'jbos'; did you mean 'jobs'"),
    (lambda run, plan: run.table("taks"), "'taks' is not a recorded table; did you mean 'tasks'"),
    (lambda run, plan: run.table("jobs", ["statsu"]), "jobs has no column 'statsu'; did you mean 'status'"),
    (lambda run, plan: sb.metrics.summary(run.jobs), "expected a run, or the folder of one, not a DataFrame"),
    (lambda run, plan: sb.metrics.summary("nowhere"), "is not a folder"),
    (lambda run, plan: sb.metrics.why(run, "Produktion"), "the shares are Analysis, Production"),
    (lambda run, plan: sb.metrics.waiting_times(run, "country"), "jobs has no column 'country'"),
    (lambda run, plan: sb.metrics.difference(run, run), "expected two tables of the same figure"),
    (lambda run, plan: sb.write_report(3), "expected a run, or the folder of one"),
    (lambda run, plan: sb.replicate(plan, 2, workers=0), "a number of processes above 0, not an int"),
    (lambda run, plan: sb.replicate(plan, 2, workers="two"), "expected Workers"),
    (lambda run, plan: sb.replicate(plan, [1, "x"]), "expected a number of seeds above 0"),
    (lambda run, plan: sb.replicate(plan, 2, figures="finishd"), "did you mean 'finished'"),
    (lambda run, plan: sb.replicate(run, 2), "expected a Scenario"),
    (lambda run, plan: sb.compare(run, 5), "expected scenarios, runs, their paths, or lists of runs, not an int"),
    (lambda run, plan: sb.sweep(plan), "expected the path of a study file, its content as a mapping"),
    (lambda run, plan: sb.sweep({"scenario": str(MINIMAL)}), "vary: is missing"),
    (lambda run, plan: sb.broker(plan, 101), "expected a Snapshot"),
    (lambda run, plan: sb.remarks(3), "remarks: expected a Scenario"),
    (lambda run, plan: sb.read_study(run.folder), "is not a study"),
])
def test_a_mistake_is_answered_in_one_line(run, scenario, call, says):
    with pytest.raises((sb.SimgridBrokerError, TypeError, ValueError, AttributeError), match=says):
        call(run, scenario)


def test_paths_are_taken_where_runs_and_scenarios_are(run, tmp_path):
    assert sb.metrics.summary(str(run.folder)).equals(sb.metrics.summary(run))
    assert sb.terminal_summary(run.folder) == sb.terminal_summary(run)
    assert sb.remarks(MINIMAL) == sb.remarks(str(MINIMAL)) == ()
    assert sb.write_comparison(run.folder, str(run.folder), str(tmp_path / "both")).is_file()


def test_a_deleted_table_is_not_a_table_of_zeros(run, tmp_path):
    folder = shutil.copytree(run.folder, tmp_path / "copy")
    (folder / "transfers.parquet").unlink()
    again = sb.read_run(folder)
    with pytest.raises(sb.InputFileError, match="transfers.parquet: is missing, although the run wrote it; without it"):
        sb.metrics.data_waits(again)
    page = sb.write_report(again, plots=False).read_text(encoding="utf-8")
    assert "transfers.parquet: is missing" in page and "Core occupancy" in page


def test_a_run_of_another_version_says_so(run, tmp_path):
    folder = shutil.copytree(run.folder, tmp_path / "copy")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert run.remarks == []
    manifest["results"]["jobs"] = ["panda_id", "colour", *manifest["results"]["jobs"][1:-1]]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    lacks, more = sb.read_run(folder).remarks
    assert "of another version of the tables: it lacks jobs." in lacks and "does not read, jobs.colour." in more
    del manifest["results"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "of an earlier version" in sb.read_run(folder).remarks[0]


def test_runs_studies_and_scenarios_show_their_shares_in_a_notebook(run, scenario, tmp_path):
    from simgrid_broker.experiments.running import Common, run_point
    from simgrid_broker.experiments.study import Point, begin
    point = Point("base", 1)
    study = begin(tmp_path / "study", "replicate", {}, [point])
    run_point(Common(study.folder, (scenario,)), point)
    for thing, target in ((run, "of 80.0 %"), (scenario, "80.0 %"), (study, "of 80.0 %")):
        page = thing._repr_html_()
        assert "Production" in page and page.count("<svg") == 2 and target in page, page
    assert notebook.shares_html([]) == "<table></table>"
    many = notebook.shares_html([("<a>", 1, 1.0, None)] * 30)
    assert "&lt;a&gt;" in many and "6 more shares" in many


def test_sessions_complete_no_deprecated_names(scenario):
    names = dir(scenario)
    assert "with_values" in names and "model_dump" in names
    assert not {"parse_obj", "json", "dict", "copy", "construct", "from_orm"} & set(names)


@pytest.mark.parametrize("shell, is_notebook", [(None, False), (object(), False), (SimpleNamespace(kernel=1), True)])
def test_a_notebook_is_a_session_of_a_kernel(shell, is_notebook, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert notebook.in_notebook() == is_notebook


def test_progress_is_a_bar_where_it_is_asked_for(scenario, tmp_path, capsys):
    sb.simulate(scenario, out=tmp_path, progress=True)
    assert "simulated hours" in capsys.readouterr().err
    sb.simulate(scenario, out=tmp_path)
    assert capsys.readouterr().err == ""
