"""Two shares want data from two tapes at once: quotas and drives bound what is staged, and jobs go where it is."""

from pathlib import Path

import numpy as np
import pytest

from simgrid_broker import metrics
from simgrid_broker.engine import simulate
from simgrid_broker.report.context import context
from simgrid_broker.report.drawing.layout import sheet
from simgrid_broker.report.links import staging_blocks
from simgrid_broker.scenario import load_scenario
from simgrid_broker.units import HOUR, TB

FOLDER = Path(__file__).parents[2] / "scenarios"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of `data_carousel.yaml` as it is."""
    return simulate(load_scenario(FOLDER / "data_carousel.yaml"), folder=tmp_path_factory.mktemp("tape") / "run",
                    validate=True)


@pytest.fixture(scope="module")
def requests(run):
    """Its requests."""
    return run.table("staging")


def test_all_that_was_asked_for_before_the_last_hours_is_staged(requests):
    early = requests[requests.requested_s < 24 * HOUR]
    assert len(early) > 8 and set(early.status) == {"done"}
    assert (early.staged_files == early.total_files).all()
    assert early.read_bytes.to_numpy() == pytest.approx(early.bytes.to_numpy())


def test_requests_wait_hours_for_the_quota(requests):
    waits = requests.started_s - requests.requested_s
    assert waits.max() > 2 * HOUR and (waits > HOUR).sum() >= 4


def test_a_quota_is_exceeded_by_one_request_at_most(run, requests):
    """What a tape still has to read, without one of the requests that start now, is below its max_size."""
    tapes = run.manifest["scenario"]["gdpconfig"]["DATA_CAROUSEL_CONFIG"]["source_tapes_config"]
    for name, own in requests.groupby("tape", observed=True):
        for time in own.started_s.dropna().unique():
            staging = own[own.started_s <= time]
            read = (time - staging.mounting_s) / (staging.read_s - staging.mounting_s)
            unread = staging.total_files * (1 - read.fillna(0.0).clip(0, 1))
            assert unread.sum() - unread[staging.started_s == time].max() < tapes[name]["max_size"]


def test_no_more_datasets_are_read_at_once_than_there_are_drives(run, requests):
    storages = run.manifest["scenario"]["grid"]["storages"]
    most = {}
    for name, own in requests.dropna(subset="mounting_s").groupby("source", observed=True):
        reading = [((own.mounting_s <= time) & ~(own.read_s <= time)).sum() for time in own.mounting_s]
        most[name] = np.max(reading)
        assert most[name] <= storages[name]["drives"]
    assert most == {"NORTH_DATATAPE": 2, "SOUTH_DATATAPE": 1}


def test_brokerage_refuses_queues_without_the_staged_input(run):
    refused = metrics.with_labels(run, metrics.refusals(run))
    assert refused[refused.rule.str.startswith("-io")].value.sum() > 0
    finished = run.jobs.query("status == 'finished'").queue.value_counts()
    assert finished.get("SOUTH", 0) < 0.1 * finished.sum()                 # nothing is staged there


def test_tasks_of_the_first_hours_end(run):
    assert set(run.tasks.query("arrival_s < 72000").status) <= {"done", "finished"}


def test_progress_is_all_that_was_asked_for(run, requests):
    """Waiting, staging and done add up to what was asked for until then, tape by tape."""
    table = metrics.staging_series(run)
    for tape, own in table.groupby("tape"):
        asked = requests[requests.tape == tape]
        sums = own.groupby("time_s").value.sum()
        until = [asked["bytes"][asked.requested_s <= time].sum() / TB for time in sums.index]
        assert sums.to_numpy() == pytest.approx(until)
    last = table[(table.time_s == run.end_s) & (table.metric == "done")]
    assert last.value.sum() == pytest.approx(requests["bytes"][requests.status == "done"].sum() / TB)


def test_the_report_draws_the_progress_of_each_tape(run):
    plot, table = staging_blocks(context(run))
    _, axes = sheet(plot.size, plot.panels)
    plot.draw(plot.table, axes)
    assert [panel.get_ylabel() for panel in axes] == ["waiting (TB)", "staging (TB)", "done (TB)",
                                                       "drives at work"]
    assert table.frame["Tape"].tolist() == ["NORTH_DATATAPE", "SOUTH_DATATAPE"]
    assert [line.get_label() for line in axes[0].lines] == ["NORTH_DATATAPE", "SOUTH_DATATAPE"]


def test_drives_at_work_are_those_of_the_tapes(run):
    table = metrics.drives_series(run)
    assert table.groupby("tape").value.max().to_dict() == {"NORTH_DATATAPE": 2, "SOUTH_DATATAPE": 1}
    read = run.storages[run.storages.time_s == run.end_s].astype({"storage": object}).set_index("storage").read_bytes
    requests = run.table("staging").astype({"source": object})
    assert requests.groupby("source").read_bytes.sum().to_dict() == pytest.approx(
        read[["NORTH_DATATAPE", "SOUTH_DATATAPE"]].to_dict())


def test_waits_of_the_requests_by_tape(run, requests):
    table = metrics.staging_summary(run).set_index(["tape", "metric"]).value
    own = requests[requests.tape == "NORTH_DATATAPE"]
    assert table["NORTH_DATATAPE", "requests"] == len(own)
    assert table["NORTH_DATATAPE", "for_quota"] == pytest.approx((own.started_s - own.requested_s).mean() / 3600)
    assert table["NORTH_DATATAPE", "for_drive"] == pytest.approx((own.mounting_s - own.started_s).mean() / 3600)
    same = metrics.comparison(run, run)["staging"]
    assert (same.difference.dropna() == 0).all() and set(same.tape) == {"NORTH_DATATAPE", "SOUTH_DATATAPE"}


def test_without_requests_nothing_is_drawn(run, monkeypatch):
    none = run.table("staging")[:0]
    monkeypatch.setattr(type(run), "table", lambda *_: none)
    assert staging_blocks(context(run)) == [] and len(metrics.staging_series(run)) == 0
