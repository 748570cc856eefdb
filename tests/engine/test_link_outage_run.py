"""A link is down for eight hours: doors hold at every sample, output waits, and brokerage turns to other queues."""

from pathlib import Path

import numpy as np
import pytest

from simgrid_broker import metrics
from simgrid_broker.engine import simulate
from simgrid_broker.metrics.traffic import sample_times
from simgrid_broker.scenario import load_scenario
from simgrid_broker.units import HOUR

PLAN = Path(__file__).parents[2] / "scenarios" / "link_outage.yaml"
DOOR = 2e9 / 8
"""Door of each satellite, bytes/s."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The scenario until four hours after the link is back and brokerage has returned."""
    return simulate(load_scenario(PLAN, until="28h"), folder=tmp_path_factory.mktemp("cut") / "run", validate=True)


def test_doors_hold_at_every_sample(run):
    links, times = run.table("links"), sample_times(run)
    moved = links.groupby(["time_s", "source"], observed=True).bytes_moved.sum().unstack(fill_value=0)
    moved = moved.reindex(times, fill_value=0)
    passed = np.diff(times, prepend=0)
    for site in ("NEAR", "FAR"):
        assert (moved[site] <= DOOR * passed * (1 + 1e-6)).all() and moved[site].sum() > 0


def test_a_door_of_10_gigabits_never_lets_more_through(tmp_path):
    wide = {f"grid.sites.{name}.door_out": "8 Gb/s" for name in ("NEAR", "FAR")}
    plan = load_scenario(PLAN).with_values(wide | {
        "grid.links.default.bandwidth": "8 Gb/s", "workload.campaigns.simulation.output_per_event": "1 GB",
        "incidents": [], "duration": "8h", "warm_up": "0"})
    series = metrics.wide(metrics.door_series(simulate(plan, folder=tmp_path / "run", validate=True)))
    full = series[series.door == "NUCLEUS in"]
    assert full.capacity.tolist() == pytest.approx([10] * len(full))
    assert 9.99 < full.rate.max() <= 10 * (1 + 1e-6)
    assert (series.rate.fillna(0) <= series.left * (1 + 1e-6)).all()


def test_output_waits_for_the_link(run):
    links = run.table("links")
    far = links[(links.source == "FAR") & (links.destination == "NUCLEUS")].set_index("time_s")
    assert far.bytes_moved[(far.index > 13 * HOUR) & (far.index < 20 * HOUR)].sum() == 0
    assert far.queued_output[far.index < 12 * HOUR].max() < 150 <= far.queued_output.max()


def test_brokerage_refuses_the_satellite_and_returns_to_it(run):
    refused = metrics.with_labels(run, metrics.refusals(run))
    assert refused[refused.rule.str.startswith("-link_unusable")].value.sum() > 0
    jobs = run.jobs
    made = jobs[jobs.queue == "FAR"].pending_s / HOUR
    assert ((made > 16) & (made < 20)).sum() == 0 < (made > 24).sum()


def test_compare_shows_the_jobs_that_wait(run, tmp_path):
    whole = simulate(load_scenario(PLAN, until="28h").with_values({"incidents": []}), folder=tmp_path / "run")
    tables = metrics.comparison(whole, run)
    links = tables["links"].set_index(["source", "destination", "metric"]).difference
    doors = tables["doors"].set_index(["door", "metric"]).difference
    assert links["FAR", "NUCLEUS", "queued_files"] > 100 and links["FAR", "NUCLEUS", "moved"] < 0
    assert doors["FAR out", "rate"] < 0 and doors["FAR out", "capacity"] == 0
    table = tables["data"].set_index(["kind", "metric"])
    waiting = table.loc["output", "waiting_jobs"]
    assert waiting.changed > 1.5 * waiting.base            # output also waits for the last file of its sub-dataset
