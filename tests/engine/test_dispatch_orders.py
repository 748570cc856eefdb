"""Orders of dispatch in whole runs: what a share gets that comes late, and which jobs of a share start first."""

from pathlib import Path

import pytest

import simgrid_broker as sb
from simgrid_broker.metrics import wide

SCENARIO = Path(__file__).parents[2] / "scenarios" / "dispatch_orders.yaml"
HOUR = 3600.0
HOURS = {"global_shares": 22, "fair_share": 22, "longest_first": 16, "shortest_first": 16}
"""Length of the run with each order."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The run of the scenario with each order."""
    plan = sb.load_scenario(SCENARIO)
    return {order: sb.simulate(plan.with_values({"policies.dispatch_order": order, "duration": hours * HOUR}),
                               out=tmp_path_factory.mktemp(order)) for order, hours in HOURS.items()}


@pytest.mark.parametrize(("order", "expected"), [
    pytest.param("global_shares", 50, id="present use: its target"),
    pytest.param("fair_share", 100, id="past use: all, as the other share had all for half a day"),
])
def test_a_share_that_comes_late(runs, order, expected):
    table = wide(sb.metrics.share_series(runs[order]), "delivered").astype({"share": object})
    rows = table[(table.share == "Late") & table.time_s.between(18 * HOUR, 22 * HOUR)]
    assert rows.delivered.mean() == pytest.approx(expected, abs=4)


@pytest.mark.parametrize(("order", "least", "most"), [
    pytest.param("longest_first", -1, -0.6, id="long jobs start first, short ones wait"),
    pytest.param("shortest_first", 0.6, 1, id="the reverse"),
    pytest.param("global_shares", -0.3, 0.3, id="length does not matter"),
])
def test_waits_of_long_and_short_jobs(runs, order, least, most):
    """Rank correlation of wall time and wait over the jobs that start while the share is alone."""
    jobs = runs[order].jobs
    began = jobs[(jobs.running_s > 0.5 * HOUR) & (jobs.running_s < 12 * HOUR)]
    assert len(began) > 100
    assert least <= began.walltime_s.corr(began.running_s - began.activated_s, method="spearman") <= most
