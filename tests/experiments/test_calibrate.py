"""Calibration: planted figures are found again, predictions of held-out jobs improve, bad input is refused."""

import numpy as np
import pandas as pd
import planted
import pytest
from typer.testing import CliRunner

from simgrid_broker import calibrate, load_scenario, metrics
from simgrid_broker.cli.app import app
from simgrid_broker.errors import InputFileError
from simgrid_broker.experiments.calibrate import FEWEST, chain_s, is_held_out, left_as_they_were
from simgrid_broker.experiments.calibration_report import write_calibration
from simgrid_broker.experiments.intervals import line, location, parts, polished
from simgrid_broker.scenario.importers import write_part


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    """A run on the planted grid."""
    return planted.run_of_truth(tmp_path_factory.mktemp("truth") / "run")


@pytest.fixture(scope="module")
def fitted(truth, tmp_path_factory):
    """The calibration by records with known work."""
    path = tmp_path_factory.mktemp("records") / "jobs.parquet"
    planted.records(truth).to_parquet(path)
    return calibrate(planted.scenario(), path)


def values(found, parameter, column="after"):
    """Values of one parameter by name."""
    rows = found.parameters[found.parameters.parameter == parameter]
    return dict(zip(rows.name, rows[column], strict=True))


def records(*jobs, **columns):
    """Records of jobs of an hour at the queue A, given as (pandaid, creation, start, more)."""
    rows = [{"pandaid": number, "jeditaskid": 1, "creationtime": made, "starttime": made + wait,
             "endtime": made + wait + 3600, "jobstatus": "finished", "computingsite": "A", "corecount": 1,
             "cpuconsumptiontime": 3000, "work": 30_000} for number, made, wait in jobs]
    return pd.DataFrame(rows).assign(**columns)


def written(folder, table):
    """A file of these records."""
    path = folder / "jobs.csv"
    table.to_csv(path, index=False)
    return path


def test_planted_powers_are_found_within_two_percent(fitted):
    assert values(fitted, "corepower") == {name: pytest.approx(power, rel=0.02)
                                           for name, power in planted.POWERS.items()}


def test_planted_overheads_factors_and_failures_are_found(fitted):
    assert values(fitted, "payload_overhead") == {
        name: pytest.approx(seconds, abs=5) for name, seconds in planted.OVERHEADS.items()}
    assert values(fitted, "cpu_efficiency") == {
        name: pytest.approx(factor, rel=0.015) for name, factor in planted.FACTORS.items()}
    errors = values(fitted, "failure_rate", "error")
    for site, rate in values(fitted, "failure_rate").items():
        assert rate == pytest.approx(planted.FAILURES[site.removeprefix("SITE-")], abs=4 * errors[site] + 1e-9)


def test_predictions_of_held_out_jobs_improve_everywhere(fitted):
    table = metrics.wide(fitted.errors).set_index(["dimension", "name", "when"])
    assert set(table.index.get_level_values("dimension")) == {"all", "site", "queue", "share"}
    for (dimension, name), rows in table.groupby(level=["dimension", "name"]):
        after, before = rows.off_p50[dimension, name, "after"], rows.off_p50[dimension, name, "before"]
        assert after < 2 and after < before / 5, (dimension, name)
    assert table.jobs["all", "all", "after"] < 0.3 * len(fitted.jobs)


def test_without_known_work_queues_are_compared_by_common_tasks(truth, tmp_path):
    found = calibrate(planted.scenario(), written(tmp_path, planted.records(truth, with_work=False)))
    assert values(found, "corepower") == {name: pytest.approx(power, rel=0.05)
                                          for name, power in planted.POWERS.items()}
    assert any("jobs of the same tasks" in remark for remark in found.remarks)


def test_the_scenario_that_is_written_has_the_fitted_values(fitted, tmp_path):
    base = tmp_path / "base.yaml"
    write_part(planted.scenario().to_dict(), base, [])
    (tmp_path / "mine.yaml").write_text("extends: base.yaml\nname: mine\n")
    page = write_calibration(fitted, tmp_path / "mine.yaml", tmp_path / "jobs.csv", tmp_path / "out", 0.2)
    scenario = load_scenario(tmp_path / "out" / "scenario.yaml")
    assert scenario.name == "mine"
    for name, power in values(fitted, "corepower").items():
        assert scenario.grid.queues[name].corepower == pytest.approx(power, rel=1e-5)
    assert {site: one.failure_rate for site, one in scenario.grid.sites.items()} == pytest.approx(
        values(fitted, "failure_rate"), rel=1e-5)
    text = page.read_text()
    assert "Errors by site" in text and "Power of the queues" in text
    assert list(pd.read_csv(tmp_path / "out" / "parameters.csv").columns) == list(fitted.parameters.columns)


def test_which_jobs_are_held_out_follows_from_their_identifiers():
    names = [str(number) for number in range(4000)]
    chosen = is_held_out(names, 0.2, 0)
    assert chosen.mean() == pytest.approx(0.2, abs=0.03)
    assert is_held_out(names[::-7], 0.2, 0).tolist() == chosen[::-7].tolist()
    assert (is_held_out(names, 0.2, 1) != chosen).any() and not is_held_out(names, 0, 0).any()


@pytest.mark.parametrize(("number", "state"), [(FEWEST - 1, "too few jobs"), (FEWEST, "fitted")])
def test_a_queue_with_too_few_jobs_is_left_as_it_was(tmp_path, number, state):
    table = records(*((k, 10_000 * k, 5) for k in range(number)))
    found = calibrate(planted.scenario(), written(tmp_path, table), held_out=0)
    row = found.parameters.set_index("parameter").loc["corepower"]
    assert (row.state, row.jobs) == (state, number)
    assert row.after == (10 if state == "too few jobs" else pytest.approx(10))
    assert bool(found.part) == (state == "fitted")
    assert any("corepower of 1 queue is left as it was" in text for text in left_as_they_were(
        found.parameters)) == (state == "too few jobs")


def test_batch_latency_is_that_of_jobs_that_met_no_waiting_job(tmp_path):
    luck, chain = np.random.default_rng(3), chain_s(planted.scenario())
    waits = chain + 600 * np.exp(luck.normal(0, 0.4, 200))
    alone = [(k, 50_000.0 * k, wait) for k, wait in enumerate(waits)]
    behind = [(1000 + k, 50_000.0 * k + 1, 20_000) for k in range(200)]
    found = calibrate(planted.scenario(), written(tmp_path, records(*alone, *behind)), held_out=0)
    assert values(found, "batch_latency")["A"] == pytest.approx(600, rel=0.1)
    assert values(found, "batch_latency_spread")["A"] == pytest.approx(0.4, rel=0.2)


def test_jobs_that_start_at_once_show_no_latency(tmp_path):
    found = calibrate(planted.scenario(), written(tmp_path, records(*((k, 50_000 * k, 1) for k in range(20)))),
                      held_out=0)
    assert values(found, "batch_latency")["A"] == 0


def test_overhead_is_what_the_pilot_timed(tmp_path):
    table = records(*((k, 50_000 * k, 1) for k in range(20)), pilottiming="0|40|3300|10|30")
    found = calibrate(planted.scenario(), written(tmp_path, table), held_out=0)
    assert values(found, "payload_overhead")["A"] == pytest.approx(3600 - 3300 - 50)


@pytest.mark.parametrize(("codes", "rate"), [
    pytest.param({}, 0.5, id="no codes: of the site"),
    pytest.param({"piloterrorcode": 1151}, 0.5, id="an error of the pilot"),
    pytest.param({"piloterrorcode": 1305}, 0.0, id="an error of the payload that the pilot reports"),
    pytest.param({"transexitcode": 65, "piloterrorcode": 0}, 0.0, id="an exit code of the payload"),
])
def test_failures_of_the_payload_are_not_those_of_the_site(tmp_path, codes, rate):
    table = records(*((k, 50_000 * k, 1) for k in range(40)))
    failed = np.arange(40) % 2 == 1
    table = table.assign(jobstatus=np.where(failed, "failed", "finished"), **{
        name: np.where(failed, code, 0) for name, code in codes.items()})
    found = calibrate(planted.scenario(), written(tmp_path, table), held_out=0)
    assert values(found, "failure_rate")["SITE-A"] == rate


def test_queues_that_the_scenario_lacks_are_all_named(tmp_path):
    table = records((1, 0, 1), (2, 1, 1), (3, 2, 1), (4, 3, 1), computingsite=["A", "BB", "Elsewhere", "BB"])
    with pytest.raises(InputFileError) as caught:
        calibrate(planted.scenario(), written(tmp_path, table))
    assert [(problem.line, problem.value) for problem in caught.value.problems] == [(3, "BB"), (4, "Elsewhere")]
    assert "(2 jobs)" in caught.value.problems[0].expected and "B" in caught.value.problems[0].nearest


def test_columns_that_are_missing_are_all_named(tmp_path):
    table = records((1, 0, 1)).rename(columns={"cpuconsumptiontime": "cpu_consumption", "computingsite": "where"})
    with pytest.raises(InputFileError) as caught:
        calibrate(planted.scenario(), written(tmp_path, table))
    assert ["cpuconsumptiontime" in problem.expected or "computingsite" in problem.expected
            for problem in caught.value.problems] == [True, True]
    assert "cpu_consumption" in caught.value.problems[1].nearest


def test_the_command_shows_errors_before_and_after(tmp_path):
    base = tmp_path / "base.yaml"
    write_part(planted.scenario().to_dict(), base, [])
    table = records(*((k, 50_000 * k, 1) for k in range(80)), gshare="Simulation").rename(columns={"work": "hs"})
    path = written(tmp_path, table)
    called = CliRunner(env={"COLUMNS": "100"}).invoke(app, [
        "calibrate", str(base), str(path), "--column", "work=hs", "--held-out", "25%", "--out", str(tmp_path / "out"),
        "--set", "agents.setupper=70"])
    assert called.exit_code == 0, called.output
    assert "off before" in called.stdout and "SITE-A" in called.stdout and "Simulation" in called.stdout
    assert f"run {tmp_path / 'out' / 'scenario.yaml'} --set agents.setupper=70" in called.stdout and (
        tmp_path / "out" / "calibrated.yaml").is_file()
    assert max(map(len, called.stdout.split("Report:")[0].splitlines())) <= 100


@pytest.mark.parametrize(("options", "expected"), [
    (["--held-out", "1"], "expected 0 to less than 100 %"), (["--held-out", "some"], "--held-out = 'some'"),
    (["--column", "work"], "write NAME=COLUMN"), (["--column", "wrok=x"], "did you mean 'work'")])
def test_options_that_cannot_be_used(tmp_path, options, expected):
    called = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["calibrate", "scenarios/minimal.yaml", "x.json", *options])
    assert called.exit_code == 2 and expected in called.stderr


def test_location_is_hardly_moved_by_wild_values():
    sample = np.random.default_rng(1).normal(10, 1, 500)
    found = location(np.append(sample, [1e6] * 20 + [np.nan]))
    assert found.value == pytest.approx(10, abs=0.2) and found.n_values == 520
    assert found.error == pytest.approx(1 / np.sqrt(500), rel=0.3)
    assert location(np.array([3.0, 3.0, 3.0])) == (3, 0, 3) and location(np.array([])).n_values == 0


def test_a_line_with_wild_values():
    luck = np.random.default_rng(2)
    x = luck.uniform(100, 1000, 300)
    y = (50 + 1.2 * x) + 0.01 * x * luck.normal(0, 1, 300)
    y[:15] *= 8
    intercept, slope = line(x, y)
    assert intercept.value == pytest.approx(50, abs=4) and slope.value == pytest.approx(1.2, rel=0.01)
    assert line(np.ones(9), np.ones(9))[0].n_values == 0


def test_effects_of_two_factors_and_their_parts():
    rows, columns = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 0, 2, 3])
    of_rows, of_columns = polished(np.array([5.0, 7, 1, -1, 3, 9]), rows, columns)
    assert (of_rows[rows] + of_columns[columns]).tolist() == pytest.approx([5, 7, 1, -1, 3, 9])
    found = parts(rows, columns)
    assert found[0] == found[1] and found[2] == found[3] != found[0]
    assert of_columns[1] - of_columns[0] == pytest.approx(2) and of_columns[:2].sum() == pytest.approx(0)
