"""What workers did with their slots."""

import pytest

import simgrid_broker as sb
from simgrid_broker import metrics


def test_workers_of_a_run(tmp_path):
    plan = sb.load_scenario("scenarios/minimal.yaml").with_values({"duration": "6h", "warm_up": 0})
    run = sb.simulate(plan, out=tmp_path)
    found = metrics.wide(metrics.workers(run)).set_index(["queue", "resource_type"])
    assert (found.submitted >= found.started).all() and found.started.sum() == run.manifest["counters"]["pilots"]
    assert (found["empty"] <= found.started).all()
    held = found.used_core_h.sum() + found.idle_core_h.sum() + found.wasted_core_h.sum()
    cores = sum(site.cores for site in plan.grid.sites.values())
    assert 0 < held <= 6 * cores and found.used_core_h.sum() == pytest.approx(
        (run.queues.groupby("time_s").running_cores.sum().mean() * 6), rel=0.1)
