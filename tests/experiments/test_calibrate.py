"""Calibration: planted figures are found again, predictions of held-out jobs improve, bad input is refused."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import planted
import pytest
from typer.testing import CliRunner

from simgrid_broker import calibrate, load_scenario, metrics
from simgrid_broker.cli.app import app
from simgrid_broker.errors import InputFileError
from simgrid_broker.experiments import calibration_jobs
from simgrid_broker.experiments.calibrate import FEWEST, chain_s, left_as_they_were
from simgrid_broker.experiments.calibration_jobs import crps, is_held_out
from simgrid_broker.experiments.calibration_report import write_calibration
from simgrid_broker.experiments.intervals import location, parts, polished
from simgrid_broker.experiments.job_model import UNSEEN_VARIANCE, expected_of_others
from simgrid_broker.scenario.importers import write_part
from simgrid_broker.scenario.importers.files import Tally

REAL = Path(__file__).parents[3] / "shared" / "data" / "panda" / "job_records"


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


def of_others(found, name):
    """Median errors of further times of all held-out jobs, by what predicts them."""
    rows = metrics.wide(found.others)
    return rows[(rows.of == name) & (rows.dimension == "all")].set_index("when").off_p50


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


def test_slots_of_the_jobs_and_other_load_are_found(truth, tmp_path):
    planted.records(truth).to_parquet(tmp_path / "jobs.parquet")
    more = planted.scenario().with_values({f"grid.sites.SITE-{name}.cores": 48 for name in planted.POWERS})
    found = calibrate(more, tmp_path / "jobs.parquet")
    assert values(found, "cores") == dict.fromkeys(planted.POWERS, 24)
    assert found.part["grid"]["queues"]["E"]["cores"] == 24 and "24 of 48" in " ".join(found.remarks)
    waits = found.waits[found.waits.dimension == "all"].set_index("when")
    assert waits.crps_h["after"] < 0.7 * waits.crps_h["before"]
    assert waits.p50_h["after"] == pytest.approx(waits.recorded_p50_h["after"], rel=0.2)
    assert "Waits of held-out jobs: recorded median" in " ".join(found.verdicts)


def test_slots_that_were_never_short_do_not_limit(tmp_path):
    table = records(*[(number, 60 * number, 60) for number in range(200)])            # 60 at once, 24 in the scenario
    waits = calibrate(planted.scenario(), written(tmp_path, table)).waits.set_index(["dimension", "when"])
    assert waits.p95_h["all", "after"] < 0.2 < waits.p95_h["all", "before"]


@pytest.mark.parametrize(("sample", "values_seen", "score"), [
    pytest.param([1.0], [3.0, 1.0], 1.0, id="a point is off by its distance"),
    pytest.param([0.0, 2.0], [1.0], 0.5, id="half of the distance within it is taken off"),
    pytest.param([0.0, 1.0], [3.0], 2.25, id="beyond the sample")])
def test_crps(sample, values_seen, score):
    assert crps(np.array(sample), np.array(values_seen)) == pytest.approx(score)


def test_waits_that_the_records_lack_are_not_judged(tmp_path):
    table = records(*[(number, 0, 0) for number in range(30)]).drop(columns=["creationtime"])
    found = calibrate(planted.scenario(), written(tmp_path, table))
    assert not len(found.waits) and "waiting is not judged" in " ".join(found.verdicts)


def test_records_of_cgsim_have_core_seconds_numbers_of_sites_and_names_for_tasks(truth, tmp_path):
    table = planted.records(truth)
    queues, cores = list(planted.POWERS), 8
    start, end = (pd.to_datetime(table[name]) for name in ("starttime", "endtime"))
    cgsim = table.drop(columns=["jeditaskid"]).assign(
        job_walltime=(end - start).dt.total_seconds() * cores, corecount=cores,
        cpuconsumptiontime=cores * table.cpuconsumptiontime, work=cores * table.work,
        starttime=start.dt.floor("60s"), endtime=end.dt.floor("60s"),
        computingsite=[queues.index(name) for name in table.computingsite],
        jobname=[f"mc.simul.{task}._{number:06d}" for number, task in enumerate(table.jeditaskid)])
    found = calibrate(planted.scenario(), written(tmp_path, cgsim))
    assert values(found, "corepower") == {name: pytest.approx(power, rel=0.03)
                                          for name, power in planted.POWERS.items()}
    assert found.jobs.task.nunique() == table.jeditaskid.nunique() and "without jeditaskid" in " ".join(found.remarks)


def test_planted_overheads_factors_and_failures_are_found(fitted):
    low, high = (values(fitted, "payload_overhead", end) for end in ("low", "high"))
    for name, seconds in planted.OVERHEADS.items():
        assert low[name] <= seconds <= high[name] and high[name] - low[name] < 100
    factors = values(fitted, "cpu_efficiency")               # known up to a factor that all have in common
    assert {name: factor / factors["C"] for name, factor in factors.items()} == {
        name: pytest.approx(factor, rel=0.02) for name, factor in planted.FACTORS.items()}
    errors = values(fitted, "failure_rate", "error")
    for site, rate in values(fitted, "failure_rate").items():
        assert rate == pytest.approx(planted.FAILURES[site.removeprefix("SITE-")], abs=4 * errors[site] + 1e-9)


def test_predictions_of_held_out_jobs_improve_everywhere(fitted):
    table = metrics.wide(fitted.errors).set_index(["dimension", "name", "when"])
    assert set(table.index.get_level_values("dimension")) == {"all", "site", "queue", "share", "task"}
    for (dimension, name), rows in table.groupby(level=["dimension", "name"]):
        off = rows.off_p50.droplevel(["dimension", "name"])
        assert off["after"] < 2 and off["after"] < off.drop("after").min() / 3, (dimension, name)
    assert fitted.is_better and "less than the" in fitted.verdicts[0]
    assert len(fitted.verdicts) == 3 and fitted.verdicts[2].startswith("Waits of held-out jobs")
    off = of_others(fitted, "CPU times")
    assert off["after"] < 5 < off["before"] and off["after"] < off.drop("after").min() / 3
    assert re.match("CPU times of held-out jobs: median error [0-9.]+ % after the fit, [0-9.]+ % before it.",
                    fitted.verdicts[1])
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


def test_the_last_jobs_are_held_out():
    tally = Tally()
    jobs = pd.DataFrame({"pandaid": ["10", "9", "8", "7", "6"], "task": ["1", "1", "1", "1", "2"],
                         "submit_s": [5.0, 1.0, 4.0, 3.0, np.nan]})
    assert is_held_out(jobs, 0.4, tally).tolist() == [True, False, True, False, False]
    assert not is_held_out(jobs, 0, tally).any() and not tally.remarks()
    assert is_held_out(jobs.assign(submit_s=np.nan), 0.25, tally).tolist() == [True, False, False, False, True]
    assert "that is easier than to predict new tasks" in tally.remarks()[0]


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


@pytest.mark.parametrize(("off", "sites", "tiers", "of_last", "most_spread"), [
    pytest.param([0.0], [0], [0], 0.0, 1.0, id="a queue alone is expected as before"),
    pytest.param([0.2, 0.2, 0.2, 0.0], [0] * 4, [0] * 4, 0.2, 0.15, id="equal factors at a site"),
    pytest.param([0.2, 0.2, -0.2, -0.2, 0.0], [0, 0, 1, 1, 0], [0] * 5, 0.2, 0.2, id="its own site"),
    pytest.param([0.2, 0.21, 0.2, 0.0], [0, 1, 2, 3], [0] * 4, 0.2, 0.2, id="one queue a site: its tier"),
    pytest.param([0.2, 0.2, 0.2, 0.0], [0, 0, 0, 1], [0, 0, 0, 1], 0.0, 0.5, id="neither site nor tier"),
    pytest.param([0.2, -0.3, 0.4, 0.0], [0] * 4, [0] * 4, 0.1, 1.0, id="queues of a site that do not share one")])
def test_a_queue_that_no_job_shows_is_expected_at_the_others_of_its_site_or_tier(off, sites, tiers, of_last,
                                                                                 most_spread):
    variance = np.append(np.full(len(off) - 1, 1e-4), UNSEEN_VARIANCE)
    mean, of_others = expected_of_others(np.array(off), variance, (np.array(sites), np.array(tiers)))
    assert mean[-1] == pytest.approx(of_last, abs=0.06) and np.sqrt(of_others[-1]) < most_spread


def test_a_far_outlier_with_many_jobs_stays_and_makes_the_others_less_sure():
    places = (np.zeros(5, int),) * 2
    variance = np.append(np.full(4, 1e-4), UNSEEN_VARIANCE)
    spreads = []
    for off in ([0.2, 0.2, 0.2, 0.2, 0.0], [0.2, 0.2, 0.2, 1.5, 0.0]):
        mean, of_others = expected_of_others(np.array(off), variance, places)
        part = variance / (variance + of_others)
        assert (np.abs(part * (mean - off))[:4] < 0.01).all()
        spreads.append(np.sqrt(of_others[-1]))
    assert spreads[1] > 3 * spreads[0]


@pytest.mark.parametrize(("place", "state"), [("S", "drawn to its site"), ("T", "drawn to its tier"),
                                              ("ALONE", "too few jobs")])
def test_a_queue_with_few_jobs_is_drawn_to_the_others(tmp_path, place, state):
    table = synthetic_records(base_s=0)
    table = table[(table.computingsite != "C") | ((table.computingsite == "C").cumsum() <= 5)]
    grid = planted.grid({name: power / 1.2 for name, power in planted.POWERS.items()})
    grid["sites"] = {name: {"cores": 24, "nucleus": True, "tier": tier} for name, tier in (
        ("S", 2), ("T", 2), ("ALONE", 1))}
    for name, queue in grid["queues"].items():
        queue["atlas_site"] = place if name == "C" else "S"
    grid["storages"] = {f"{name}_DISK": {"site": name, "total": "10 PB", "free": "9 PB"} for name in grid["sites"]}
    found = calibrate(planted.scenario(grid=grid), written(tmp_path, table))
    row = found.parameters[found.parameters.parameter == "corepower"].set_index("name").loc["C"]
    assert row.state == state
    if state == "too few jobs":
        assert row.after == row.before and "C" not in found.part["grid"]["queues"]
    else:
        assert row.low < planted.POWERS["C"] < row.high < 1.3 * row.low
        assert found.part["grid"]["queues"]["C"]["corepower"] == pytest.approx(row.after, rel=1e-5)
        assert any(re.search(r"C \(\d jobs, \d+ % of ", text) for text in found.remarks)


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


def test_jobs_at_queues_that_the_scenario_lacks_are_counted(tmp_path):
    table = records(*((k, 50_000 * k, 1) for k in range(14)), computingsite=["A"] * 11 + ["BB", "Elsewhere", "BB"])
    found = calibrate(planted.scenario(), written(tmp_path, table), held_out=0)
    assert len(found.jobs) == 11 and any("does not have, which are not used: 3" in text and "BB" in text
                                         for text in found.remarks)
    with pytest.raises(InputFileError) as caught:
        calibrate(planted.scenario(), written(tmp_path, table.assign(computingsite="BB")))
    assert "BB" in str(caught.value) and "did you mean 'B'" in str(caught.value)


def test_a_file_of_records_that_does_not_exist_is_named_with_the_nearest(tmp_path):
    (tmp_path / "jobs.csv").touch()
    with pytest.raises(InputFileError, match="did you mean 'jobs.csv'"):
        calibrate(planted.scenario(), tmp_path / "job.csv")


@pytest.mark.parametrize(("columns", "said"), [
    ({"cpuconsumptiontime": 0}, "20 finished jobs have no CPU time and are not fitted"),
    ({"cpuconsumptiontime": [1e9] * 2 + [3000] * 18}, "2 finished jobs used more than 2 times the CPU time"),
    ({"pilottiming": "0|3600|0|10|30"}, "20 finished jobs took no longer than their staging"),
    ({"computingsite": ["A"] * 19 + [""]}, "not used: 1 (without a name)"),
    ({"pandaid": 7}, "more than one record, each of which counts: 19"),
    ({"work": 0}, "do not say how much work a job is")])
def test_values_that_no_job_can_have_are_said(columns, said, tmp_path):
    table = records(*((k, 50_000 * k, 1) for k in range(20))).assign(**columns)
    found = calibrate(planted.scenario(), written(tmp_path, table), held_out=0)
    assert any(said in text for text in found.remarks), found.remarks


@pytest.mark.parametrize(("columns", "said"), [
    ({"jobstatus": "running"}, "there are jobs that neither finished nor failed, or never ran, which are not used: 20"),
    ({"creationtime": 1.7e12}, "creationtime = '1700000000000': seconds since 1970 were expected; this looks like")])
def test_records_of_which_no_job_can_be_used_say_why(columns, said, tmp_path):
    table = records(*((k, 50_000 * k, 1) for k in range(20))).assign(**columns)
    with pytest.raises(InputFileError, match=re.escape(said)):
        calibrate(planted.scenario(), written(tmp_path, table))


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
    table = records(*((k, 50_000 * k, 1) for k in range(80)), gshare="Simulation", work=20_000).rename(
        columns={"work": "hs"})
    path = written(tmp_path, table)
    called = CliRunner(env={"COLUMNS": "100"}).invoke(app, [
        "calibrate", str(base), str(path), "--column", "work=hs", "--held-out", "25%", "--out", str(tmp_path / "out"),
        "--set", "agents.setupper=70"])
    assert called.exit_code == 0, called.output
    assert "site, %" in called.stdout and "SITE-A" in called.stdout and "Simulation" in called.stdout
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


def test_effects_of_two_factors_and_their_parts():
    rows, columns = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 0, 2, 3])
    of_rows, of_columns = polished(np.array([5.0, 7, 1, -1, 3, 9]), rows, columns)
    assert (of_rows[rows] + of_columns[columns]).tolist() == pytest.approx([5, 7, 1, -1, 3, 9])
    found = parts(rows, columns)
    assert found[0] == found[1] and found[2] == found[3] != found[0]
    assert of_columns[1] - of_columns[0] == pytest.approx(2) and of_columns[:2].sum() == pytest.approx(0)


def test_a_median_that_predicts_better_than_the_fit_is_named(tmp_path):
    table = records(*((k, 50_000 * k, 1) for k in range(60)), work=30_000.0)
    slow = np.arange(60) % 2                                 # half of the jobs wait for something that no figure shows
    table = table.assign(nevents=slow + 1, endtime=table.endtime + 1800 * slow)
    found = calibrate(planted.scenario(), written(tmp_path, table))
    off = metrics.wide(found.errors).set_index(["dimension", "when"]).off_p50["all"]
    assert off["group median"] == 0 and off["after"] > 5
    assert found.verdicts[1].startswith("The group median of earlier jobs predicts them better: 0.0 %; most at A")


@pytest.mark.parametrize(("off", "is_better"), [((0.12, 0.11), False), ((0.16, 0.11), True), ((0.1, 0.2), False)])
def test_a_fit_is_better_where_the_printed_error_is_smaller(off, is_better):
    values = dict(zip(calibration_jobs.WHEN, (*off, 9.0, 9.0, 9.0), strict=True))
    table = pd.DataFrame([{"dimension": by, "name": "all", "when": when, "off_p50": value}
                          for by in ("all", "queue") for when, value in values.items()])
    errors = metrics.tidy(table, ["dimension", "name", "when"], {"off_p50": "%"}, "held-out jobs")
    (sentence, *_), better = calibration_jobs.verdicts(errors)
    assert better == is_better and ("no less than" not in sentence) == is_better


def test_a_base_time_of_the_tasks_is_not_taken_for_a_lack_of_power(tmp_path):
    table = synthetic_records(base_s=900)
    found = calibrate(planted.scenario(), written(tmp_path, table))
    low, high = (values(found, "corepower", end) for end in ("low", "high"))
    for name, power in planted.POWERS.items():
        assert low[name] < power < high[name] and high[name] - low[name] < 0.1 * power


@pytest.mark.parametrize(("shared", "narrow"), [(0.0, True), (0.1, False)])
def test_intervals_follow_what_jobs_of_few_tasks_have_in_common(shared, narrow, tmp_path):
    table = synthetic_records(base_s=0)
    table = table[table.jeditaskid <= 3]
    rows, columns = pd.factorize(table.computingsite)[0], table.jeditaskid - 1
    factor = np.exp(np.random.default_rng(2).normal(0, shared, (5, 3)))[rows, columns]
    found = calibrate(planted.scenario(), written(tmp_path, table.assign(
        cpuconsumptiontime=table.cpuconsumptiontime * factor, endtime=table.starttime + factor * (
            table.endtime - table.starttime))))
    low, high, power = (np.array(list(values(found, "corepower", end).values())) for end in ("low", "high", "after"))
    assert ((high - low) / power < 0.04).all() == narrow and ((high - low) / power > 0.08).all() != narrow
    true = np.array([planted.POWERS[name] for name in values(found, "corepower")])
    assert ((low < true) & (true < high)).sum() >= 4


def test_queues_without_a_task_in_common_are_not_compared(tmp_path):
    table = synthetic_records(base_s=0, n_jobs=1000).drop(columns="work")
    table = table.assign(jeditaskid=table.jeditaskid.where(table.computingsite.isin(["A", "B"]), table.pandaid + 100))
    found = calibrate(planted.scenario(), written(tmp_path, table)).parameters
    state = found[found.parameter == "corepower"].set_index("name").state
    assert state.to_dict() == {name: "fitted" if name in "AB" else "not to be seen" for name in planted.POWERS}
    rows = found[(found.parameter == "corepower") & found.name.isin(["A", "B"])]
    assert np.average(np.log(rows.after / rows.before), weights=rows.jobs) == pytest.approx(0, abs=1e-9), "as before"
    true = rows.name.map(planted.POWERS)
    true *= np.exp(np.average(np.log(rows.before / true), weights=rows.jobs))
    assert ((rows.low < true) & (true < rows.high)).all() and (rows.high < 1.15 * rows.low).all()


def test_records_with_durations_instead_of_times(tmp_path):
    table = synthetic_records(base_s=0)
    payload = table.endtime - table.starttime
    table = table.drop(columns=["creationtime", "starttime", "endtime", "jobstatus", "jeditaskid"]).assign(
        wall_time=payload + 90, timestagein=40, timestageout=10, timeexe=payload,
        queue_time=chain_s(planted.scenario()) + 600)
    found = calibrate(planted.scenario(), written(tmp_path, table))
    for said in ("all count as finished", "no times of creation", "all of a wait counts as time in the batch system"):
        assert any(said in remark for remark in found.remarks)
    assert set(values(found, "batch_latency").values()) == {600}
    assert "fitted" not in {*values(found, "cores", "state").values(), *values(found, "failure_rate", "state").values()}
    assert list(values(found, "payload_overhead").values()) == pytest.approx([40] * 5, abs=1e-6)


def synthetic_records(base_s, n_jobs=1500, seed=4):
    """Records as the formulas of a run make them, without a run: seven tasks at the planted queues."""
    luck = np.random.default_rng(seed)
    queue, task = luck.choice(list(planted.POWERS), n_jobs), luck.integers(1, 8, n_jobs)
    power = np.array([planted.POWERS[name] for name in queue])
    work = 30_000 * np.exp(luck.normal(0, 0.4, n_jobs))
    efficiency = np.array([0.9, 0.8, 0.85, 0.7, 0.95, 0.6, 0.75])[task - 1]
    payload = base_s + work / (power * efficiency)
    made = np.sort(luck.uniform(0, 86400, n_jobs)).round()
    return pd.DataFrame({"pandaid": np.arange(n_jobs) + 1, "jeditaskid": task, "creationtime": made,
                         "starttime": made + 60, "endtime": made + 60 + payload,
                         "jobstatus": "finished", "computingsite": queue, "corecount": 1, "work": work,
                         "cpuconsumptiontime": payload * efficiency * np.exp(luck.normal(0, 0.03, n_jobs))})


@pytest.mark.skipif(not REAL.is_dir(), reason="the recorded jobs of ../shared are not here")
def test_recorded_jobs_of_two_tasks_are_predicted_better_than_by_medians(tmp_path):
    table = pd.concat([pd.read_csv(file).assign(jeditaskid=file.stem) for file in sorted(REAL.glob("*.csv"))])
    names = sorted(set(table.computingsite))
    grid = {"sites": {name: {"cores": 100, "nucleus": True} for name in names},
            "queues": {name: {"atlas_site": name} for name in names},
            "storages": {f"{name}_DISK": {"site": name, "total": "10 PB", "free": "9 PB"} for name in names}}
    found = calibrate(planted.scenario(grid=grid), written(tmp_path, table))
    off = metrics.wide(found.errors).set_index(["dimension", "when"]).off_p50["all"]
    stage_in = of_others(found, "Stage-in times")
    assert stage_in["before"] == stage_in["after"] and any("Stage-in times of" in text for text in found.verdicts)
    assert off["after"] < 6 and off["after"] < off["before"] < off.drop(["before", "after"]).min() / 2
    assert any("IFIC: the records give 13 HS06 per core" in remark for remark in found.remarks)


def test_planted_worlds_are_made_and_measured():
    import benchmark_calibration as worlds
    made = worlds.records(worlds.WORLDS["no_work"], 200, np.random.default_rng(1))
    assert "work" not in made and len(made) == 200
    found = worlds.measured(worlds.World(tasks=4, base_s=0.0), 1, 400)
    assert abs(found["bias_%"]) < 1 and found["after_%"] < found["before_%"] and found["coverage_%"] > 50
