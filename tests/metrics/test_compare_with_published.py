"""The table of simulated and published figures: what it computes of a small run, and that the gallery has it."""

import fnmatch
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from small_run import HOUR, job, queue_columns, run_of

import simgrid_broker as sb
from simgrid_broker.metrics.window import Window
from simgrid_broker.names import Activity, Cause, JobStatus, TransferKind
from simgrid_broker.scenario.grid import synthetic_grid
from simgrid_broker.scenario.loading.origins import value_at
from simgrid_broker.scenario.loading.set_values import located, spread
from simgrid_broker.schema import RECORDED
from simgrid_broker.units import DAY

ROOT = Path(__file__).parents[2]
KIND = "processing_types0"


@pytest.fixture(scope="module")
def script():
    path = ROOT / "scripts" / "compare_with_published.py"
    spec = importlib.util.spec_from_file_location("compare_with_published", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def eight_cores(hours, efficiency, **said):
    """A job of some hours on eight cores that waited an hour, from 8 h on."""
    end = dict(failed=8 + hours) if "status" in said else dict(finished=8 + hours)
    return job(cores=8, activated=7, running=8, holding=8 + hours, maxpss_mb=8000, walltime_s=hours * HOUR,
               cputime_s=efficiency * 8 * hours * HOUR, **end, **said)


@pytest.fixture
def run(tmp_path, monkeypatch, script):
    """Three finished jobs and a failed one in the window from 6 h to 30 h, one before it, and a queue of ten jobs."""
    monkeypatch.setattr(script, "LINK_TAGS", ("-t1",))
    jobs = [eight_cores(1, 0.5), eight_cores(2, 0.5), eight_cores(3, 0.5),
            eight_cores(2, 0.25, status=JobStatus.FAILED, cause=Cause.LOST_HEARTBEAT),
            job(activated=0, running=1, holding=3, finished=3, walltime_s=9 * HOUR)]
    jobs[0][4]["transferring"] = jobs[0][4]["finished"] - 4
    times = np.arange(0, 31, 6) * HOUR
    numbers = dict(running=10, running_cores=80, activated=3, assigned=2, transferring=1)
    samples = {"time_s": times, **queue_columns(len(times)),
               **{name: np.full(len(times), value) for name, value in numbers.items()}}
    return run_of(tmp_path / "run", warm_up_h=6, duration_h=30, jobs=jobs, queues=samples, links=link_rows(),
                  refusals=refused(), workers=worker_rows(), storages=storage_rows(), transfers=transfer_rows())


def columns_of(table, **given):
    """All columns of a table, zero but for what is given."""
    n_rows = len(next(iter(given.values())))
    return {column.name: np.array(given.get(column.name, [0] * n_rows)) for column in RECORDED[table].columns}


def worker_rows():
    """Ten workers in the window, one without a job, with 80 core hours used and 20 idle; others before it."""
    return columns_of("workers", time_s=[3 * HOUR, 24 * HOUR], started=[5, 10], empty=[5, 1],
                      used_core_h=[0.0, 80.0], idle_core_h=[9.0, 20.0])


def storage_rows():
    """An early sample of two storages, and the last one: 1 and 3 TB, half and a quarter free, a quarter deletable."""
    return columns_of("storages", time_s=[0.0, 0.0, 24 * HOUR, 24 * HOUR], storage=[0, 1, 0, 1],
                      total_bytes=[9e12, 9e12, 1e12, 3e12], free_bytes=[0, 0, 5e11, 7.5e11],
                      expired_bytes=[0, 0, 2.5e11, 7.5e11])


def transfer_rows():
    """Three files of 2 GB for analysis and two of 1 GB for production in the window, one before it."""
    codes = [Activity.of(word) for word in ("analysis_input", "production_input")]
    return columns_of("transfers", ended_s=[24 * HOUR, 24 * HOUR, HOUR], bytes=[6e9, 2e9, 1e9], n_files=[3, 2, 1],
                      activity=[*codes, codes[0]], kind=[TransferKind.INPUT, TransferKind.OUTPUT, TransferKind.INPUT],
                      n_jobs=[1, 1, 1], submitted_s=[0.0, 21 * HOUR, 0.0], started_s=[0.0, 22 * HOUR, 0.0])


def link_rows():
    """One sample of two links, a day's traffic: 90 GB in 90 files with 10 failures, and 10 GB in 10 without any."""
    given = {"time_s": [24 * HOUR] * 2, "source": [0, 1], "destination": [1, 0], "bytes": [90e9, 10e9],
             "files": [90, 10], "files_failed": [10, 0]}
    return {column.name: np.array(given.get(column.name, [0, 0])) for column in RECORDED["links"].columns}


def refused():
    """A hundred refusals of job brokerage, 25 of them by the tag of full links."""
    counts = np.array([25, 75])
    return {"time_s": np.full(2, 12 * HOUR), "kind": np.ones(2, int), "candidate": np.zeros(2, int),
            "tag": np.array([0, 1]), "criterion": np.array([0, 1]), "share": np.zeros(2, int),
            **{name: counts for name in ("count", "queue_count", "pool_count")}}


@pytest.mark.parametrize(("name", "simulated"), [
    pytest.param("cores in use", "80", id="mean over the samples"),
    pytest.param("jobs ended a day", "4", id="those of the window alone"),
    pytest.param("wall time of pile-up, h, quartiles", "none / none / none", id="no such job"),
    pytest.param("failed, % of finished and failed", "25.00", id="one of four"),
    pytest.param("lost heartbeats, % of finished and failed", "25.00", id="by cause"),
    pytest.param("CPU efficiency, finished jobs", "0.50", id="CPU time over wall time x cores"),
    pytest.param("CPU efficiency, failed jobs", "0.25", id="of failed jobs"),
    pytest.param("queued over running, whole grid", "0.50", id="assigned and activated over running"),
    pytest.param("transferring over running, whole grid", "0.10", id="transferring over running"),
    pytest.param("refusals of production brokerage due to links, %", "25.00", id="refusals by tag"),
    pytest.param("traffic between sites, GB/s", "0.0", id="0.1 TB a day"),
    pytest.param("files moved a day", "100", id="files of all links"),
    pytest.param("size of a file moved, MB, mean", "1 000", id="bytes over files"),
    pytest.param("links with traffic", "2", id="links with a sample"),
    pytest.param("mean rate by link, MB/s, 25 / 50 / 75 %", "0.35 / 0.58 / 0.81", id="bytes over the window"),
    pytest.param("bytes on the busiest 1 / 10 % of the links, %", "90 / 90", id="at least one link"),
    pytest.param("failed attempts at files, %", "9.1", id="10 of 110 attempts"),
    pytest.param("failed attempts by link, %, 50 / 75 / 95 %", "5.0 / 7.5 / 9.5", id="10 % and none"),
    pytest.param("wait for a slot, h, median", "1.00", id="from activated to running"),
    pytest.param("finished jobs a day, without tests", "3", id="finished alone"),
    pytest.param("time in transferring, h, mean: for FTS / to move / for callbacks", "1.00 / 2.00 / 1.00",
                 id="of the transfer, and the rest of that of the job"),
    pytest.param("empty pilots, % of all", "10.0", id="of those that started in the window"),
    pytest.param("wall time of pilots without a payload, %", "20.00", id="of used and idle core hours"),
    pytest.param("size of a storage, TB, 5 / 25 / 50 / 75 / 95 %", "1 / 2 / 2 / 2 / 3", id="the last sample"),
    pytest.param("free / deletable part of a storage, median", "0.38 / 0.25", id="of their sizes"),
    pytest.param("files moved for analysis input / production output / production input, % of the three",
                 "60 / 0 / 40", id="in the window"),
    pytest.param("files under request for these activities, % of the three", "92 / 0 / 8",
                 id="three for a day, two for three hours"),
    pytest.param("size of a file under request, GB, mean", "2.00 / none / 1.00", id="bytes over files under request"),
    pytest.param("size of a file of these activities, GB, mean", "2.00 / none / 1.00", id="bytes over files"),
    pytest.param("duration of tasks of derivation, h, median", "not in a day", id="beyond a day"),
])
def test_a_simulated_figure(script, run, name, simulated):
    assert lines_of(script, run)[name].simulated() == simulated


def test_durations_are_those_of_tasks_that_came_early_and_ended(script):
    days = [(0, 9), (2, 4), (2, 8), (3, np.nan), (40, 41)]                # before the window, two, none yet, too late
    tasks = pd.DataFrame([("deriv", begin * DAY, end * DAY) for begin, end in days],
                         columns=["processing_type", "arrival_s", "done_s"]).assign(finished_s=np.nan)
    tasks.loc[2, ["done_s", "finished_s"]] = np.nan, 8 * DAY              # some of its input was lost
    found = SimpleNamespace(tasks=tasks, window=Window(1 * DAY, 61 * DAY))
    assert script.durations(found, "deriv", "evgen", of=script.in_days) == pytest.approx(
        [4.0, np.nan], nan_ok=True)
    found.window = Window(0, DAY)
    assert script.durations(found, "deriv", of=len) == ()


def lines_of(script, *runs):
    """The lines of the table of some runs by name."""
    return {line.row.name: line for line in script.lines_of(runs)}


def test_figures_of_a_type_are_of_its_finished_jobs(script, run, monkeypatch):
    monkeypatch.setitem(script.TYPES, KIND, "work")
    found = script.Figures(run)
    hours, = script.quantiles_by_type("wall time of {}", "", script.QUARTILES,
                                      lambda jobs: jobs.walltime_s / HOUR, {KIND: ("", script.FREE)})
    lost, = script.by_type("power lost of {}", "", script.power_lost, {KIND: ("", script.FREE)})
    assert (hours.name, [*hours.measure(found)]) == ("wall time of work", [1.5, 2.0, 2.5])
    assert (lost.name, lost.measure(found)) == ("power lost of work", [25.0])


@pytest.mark.parametrize(("published", "values", "factor"), [
    pytest.param("2", [[3.0]], 1.5, id="above"),
    pytest.param("2", [[1.0]], 2.0, id="below"),
    pytest.param("2", [[1.0], [3.0]], 1.0, id="the mean over seeds"),
    pytest.param("1 000 to 2 000 (2018)", [[1500.0]], 1.0, id="within a range"),
    pytest.param("1 000 to 2 000 (2018)", [[500.0]], 2.0, id="below a range"),
    pytest.param("1 / 2 / 3 (of 5)", [[1.0, 1.0, 2.0]], 2.0, id="the worst of several"),
    pytest.param("2", [[0.0]], np.inf, id="nothing"),
    pytest.param("2", [[np.nan]], np.nan, id="no value"),
    pytest.param("assumed", [[1.0]], np.nan, id="nothing published"),
    pytest.param("2", [], np.nan, id="not in a day"),
])
def test_the_factor_between_simulated_and_published(script, published, values, factor):
    line = script.Line(script.Row("it", "1", published, None), np.array(values, float))
    assert line.factor() == pytest.approx(factor, nan_ok=True)


def test_lines_of_several_seeds_have_means_with_errors_and_are_judged_by_role(script):
    row, values = script.Row("it", "1", "1 / 4", None), np.array([[1.0, 2.0], [3.0, 2.0]])
    lines = [script.Line(row, values), script.Line(row._replace(name="that", published="2 / 2"), values),
             script.Line(row._replace(role=script.said("users.all.x")), values)]
    assert lines[0].text() == "| it | 1 | 1 / 4 | 2.00 / 2.00 ± 1.00 / 0.00 | **2.0** | predicted |"
    assert lines[2].text().endswith("| **2.0** | input: `workload.users.all.x` |")
    assert script.verdict(lines, script.PREDICTED) == (
        "Of 2 predicted rows with published values 1 lie within a factor 1.5 and 1 miss it, most of all: it (2.0).")
    more = script.Line(row._replace(name=f"it{script.MORE_DAYS}", published="1 to 2 / 2"), values)
    assert script.verdict([*lines, more], script.PREDICTED).endswith(
        "1 miss it, most of all: it (2.0). Beside more days, where there are some, 2 do.")


def test_each_row_says_by_which_keys_of_the_scenario_its_figure_comes_about(script):
    """A figure that the scenario says names keys that it has, with their defaults; one that was fitted, keys set there.
    """
    scenario, base = (sb.load_scenario(ROOT / "scenarios" / "atlas_day.yaml"),
                      yaml.safe_load((ROOT / "scenarios" / "atlas.yaml").read_text()))
    whole = scenario.model_dump(mode="json")
    settings = {*scenario.gdpconfig, *(each.key for each in scenario.incidents if each.what == "gdpconfig")}
    for row in script.ROWS:
        kind, keys, constants, _ = row.role
        assert bool(keys) is (kind != script.PREDICTED), row.name
        assert all(hasattr(synthetic_grid, name) for name in constants), row.name
        for key in keys:
            pattern, values = key.removeprefix("gdpconfig."), base if kind == script.FITTED else whole
            found = fnmatch.filter(settings, pattern) if pattern != key else [
                value_at(values, located(values, place)) for place in spread(values, key)]
            assert found and found != [None], (row.name, key)


def test_numbers_of_jobs_are_of_all_where_a_sample_has_rows(script, run):
    names = ("jobs ended a day", "finished jobs a day, without tests", "queued over running, whole grid")
    before = [lines_of(script, run)[name].values.item() for name in names]
    run.manifest["scenario"]["record"]["jobs"] = 0.5
    assert [lines_of(script, run)[name].values.item() for name in names] == pytest.approx(
        [2 * before[0], 2 * before[1], before[2]])


def test_the_table_is_written_between_its_markers(script, run, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{script.BEGIN}\nold\n{script.END}\nafter\n")
    script.write(script.table([run]), page)
    text = page.read_text()
    assert text.startswith(f"before\n{script.BEGIN}\n\n`small.yaml`, seed 1;") and "old" not in text
    assert text.endswith(f"{script.END}\nafter\n") and "| cores in use | 1 | 250 000 to 500 000 (2018) | 80 |" in text


def test_the_gallery_has_every_row_with_its_published_value_and_role_and_counts_them(script):
    text = (ROOT / "scenarios" / "README.md").read_text()
    table = text[text.index(script.BEGIN):text.index(script.END)]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][2:]
    assert [(*each[:3], each[-1]) for each in cells] == [
        (row.name, row.section, row.published, str(row.role)) for row in script.all_rows()]
    assert {*script.OF_MORE_DAYS} <= {row.name for row in script.ROWS}
    for kind in (script.PREDICTED, script.FITTED, script.INPUT):
        factors = [each[4].strip() for each in cells if each[-1].startswith(kind) and each[4].strip()
                   and not each[0].endswith(script.MORE_DAYS)]
        missed = sum(factor.startswith("**") for factor in factors)
        assert f"- Of {len(factors)} {kind} rows with published values {len(factors) - missed} lie" in table
    assert "`atlas_day.yaml`, seed" in table
