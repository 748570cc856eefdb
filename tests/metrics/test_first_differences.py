"""Jobs with which two runs begin to differ go with the share, limit, queue or incident that differed for them."""

from types import SimpleNamespace

import pytest

import simgrid_broker as sb
from simgrid_broker.metrics import first_differences
from simgrid_broker.metrics.replay import _cause

BASE = {"duration": "6h", "warm_up": "1h", "workload.campaigns.simulation.offered_cores": 500,
        "workload.users.analysis.offered_cores": 300}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """More work than the sites of `minimal.yaml` can do."""
    scenario = sb.load_scenario("scenarios/minimal.yaml").with_values(BASE)
    return scenario, sb.simulate(scenario, folder=tmp_path_factory.mktemp("runs") / "base")


@pytest.mark.parametrize(("change", "begins"), [
    pytest.param({"shares.Analysis.value": 60, "shares.Production.value": 40}, ("share", "queue"), id="share"),
    pytest.param({"gdpconfig.NQUEUECAP_Production": 12}, ("limit",), id="throttle"),
    pytest.param({"incidents": [{"at": "3h", "until": "4h", "what": "site_outage", "site": "SOUTH"}]},
                 ("incident: site_outage of SOUTH in B",), id="outage"),
    pytest.param({}, (), id="nothing")])
def test_first_jobs_that_differ(base, tmp_path, change, begins):
    scenario, run = base
    table = first_differences(run, sb.simulate(scenario.with_values(change), folder=tmp_path / "changed"))
    assert len(table) == (10 if begins else 0) and table.time_s.is_monotonic_increasing
    assert table.cause.map(lambda cause: cause.startswith(begins)).all(), table.cause.tolist()


@pytest.mark.parametrize(("changed_s", "begins"), [
    pytest.param(960.0, "queue: brokerage chose T2 instead of T0", id="made at the same time"),
    pytest.param(1500.0, "limit: the task had its turn at another time", id="made later, and brokered then")])
def test_a_job_made_at_another_time_does_not_differ_by_brokerage(changed_s, begins):
    row = SimpleNamespace(state="pending", queue_base="T0", queue_changed="T2", base_s=960.0, changed_s=changed_s,
                          time_s=960.0, share="A")
    assert _cause(row, None, SimpleNamespace(tables=()), SimpleNamespace(tables=())) == begins
