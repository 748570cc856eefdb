"""The scenario of the network weight: what brokers know of a thin line, and that the weight spares it."""

from pathlib import Path

import pytest

from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario

PLAN = Path(__file__).parents[2] / "scenarios" / "network_weight.yaml"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A day of the scenario as it is."""
    return simulate(load_scenario(PLAN, until="24h"), folder=tmp_path_factory.mktemp("weighed") / "run", validate=True)


def waiting_files(run):
    """Median of the files of output on the thin line, of the samples with traffic."""
    links = run.table("links")
    return links[links["source"] == "FAR"]["queued_output"].median()


def test_the_thin_line_is_slow_and_crowded(run):
    links = run.table("links").groupby("source", observed=True)
    assert links["mbps_hour"].median()["FAR"] < 10 < 200 < links["mbps_hour"].median()["NEAR"]
    assert links["queued_output"].max()["FAR"] > 20 > links["queued_output"].max()["NEAR"]


def test_the_weight_spares_the_thin_line(run, tmp_path):
    plain = simulate(load_scenario(PLAN, until="24h").with_config({"NW_ACTIVE": False}), folder=tmp_path / "run")
    assert waiting_files(run) < waiting_files(plain)
    assert (run.jobs["queue"] == "FAR").sum() < (plain.jobs["queue"] == "FAR").sum()
