"""A share that runs out of work leaves its power to its siblings first, then to the branches above: on three levels."""

from pathlib import Path

import pytest

import simgrid_broker as sb
from simgrid_broker.metrics import wide

SCENARIO = Path(__file__).parents[2] / "scenarios" / "unused_shares.yaml"
HOUR = 3600.0
LEAVES = ["Analysis", "Evgen A", "Evgen B", "Simul"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Fifty hours of the scenario."""
    return sb.simulate(sb.load_scenario(SCENARIO, until="50h"), out=tmp_path_factory.mktemp("run"))


@pytest.mark.parametrize(("hours", "expected"), [
    pytest.param((3, 11), [40, 20, 20, 20], id="all have work: the targets"),
    pytest.param((17, 23), [40, 0, 40, 20], id="Evgen A has none: its sibling gets all of it"),
    pytest.param((29, 36), [40, 0, 0, 60], id="Evgen has none: its sibling Simul gets it, Analysis does not"),
    pytest.param((44, 50), [100, 0, 0, 0], id="Production has none: Analysis gets it"),
])
@pytest.mark.rule("policy.shares.dispatch.share_order")
def test_unused_power_goes_to_siblings_and_then_upwards(run, hours, expected):
    table = wide(sb.metrics.share_series(run), "delivered")
    rows = table[table.time_s.between(hours[0] * HOUR, hours[1] * HOUR)]
    found = rows.astype({"share": object}).groupby("share").delivered.mean()[LEAVES].tolist()
    # 1000 cores with jobs of an hour turn over 10 times: the means of 50 samples scatter by less than 1 point
    assert found == pytest.approx(expected, abs=2)


def test_shares_without_work_make_no_other_share_miss_what_it_is_due(run):
    table = wide(sb.metrics.share_compliance(run)).astype({"share": object}).set_index("share")
    assert (abs(table.delivered - table.target)[LEAVES] > 1.5).all(), "over the whole run no share has its target"
    assert (abs(table.delivered - table.due)[LEAVES] < 1).all() and (table.deviation[LEAVES] < 2).all()
