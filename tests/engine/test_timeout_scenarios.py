"""The scenarios of fast rebrokerage and of a site outage: what becomes of jobs behind a queue that runs none."""

from pathlib import Path

import numpy as np
import pytest

from simgrid_broker.engine import simulate
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.scenario import load_scenario
from simgrid_broker.world.arrays import TIMEOUT_SCAN

SCENARIOS = Path(__file__).parents[2] / "scenarios"
HOUR = 3600.0


def power(run, share, after_h):
    """Mean power that a share is given after some hour, HS06."""
    shares = run.table("shares", ["time_s", "share", "hs06"])
    later = shares[(shares.share == share) & (shares.time_s >= after_h * HOUR)]
    return later.groupby("time_s").hs06.sum().mean()


def test_fast_rebrokerage_keeps_a_share_alive(tmp_path):
    plan = load_scenario(SCENARIOS / "fast_rebrokerage.yaml").with_values({"duration": "28h"})
    key = "FAST_REBRO_THRESHOLD_NQUEUE_Simulation"
    on = simulate(plan, folder=tmp_path / "with", validate=True)
    off = simulate(plan.with_config({key: None}), folder=tmp_path / "without")
    assert power(on, "Simulation", 26) > 9000 and power(off, "Simulation", 26) < 100
    taken = on.jobs[on.jobs.cause == "fast_rebrokerage"]
    assert set(taken.queue) == {"LARGE"} and set(taken.share) == {"Simulation"} and set(taken.status) == {"closed"}
    assert not (off.jobs.cause == "fast_rebrokerage").any()


@pytest.fixture(scope="module")
def outage(tmp_path_factory):
    """A day and a half around the outage of the largest site."""
    plan = load_scenario(SCENARIOS / "site_outage.yaml").with_values({"duration": "30h"})
    return simulate(plan, folder=tmp_path_factory.mktemp("outage") / "run", validate=True)


def test_running_jobs_of_a_site_that_goes_down_are_lost_after_two_hours(outage):
    lost = outage.jobs[outage.jobs.cause == "lost_heartbeat"]
    assert len(lost) > 100 and set(lost.queue) == {"LARGE"} and set(lost.status) == {"failed"}
    assert lost.failed_s.between(14 * HOUR, 14 * HOUR + 2401).all()
    ran_until = lost.running_s + lost.walltime_s                     # what ran in vain, up to the outage
    assert ran_until.between(12 * HOUR - 0.01, 12 * HOUR + 0.01).all()


def test_jobs_that_wait_at_the_site_go_elsewhere_and_run(outage):
    jobs = outage.jobs
    moved = jobs[(jobs.queue == "LARGE") & jobs.cause.isin(["fast_rebrokerage", "analysis_rebrokerage"])
                 & (jobs.closed_s > 12 * HOUR) & (jobs.closed_s < 20 * HOUR)]
    again = moved.assign(attempt=moved.attempt + 1).merge(jobs, on=["jeditaskid", "chunk", "attempt"])
    assert len(moved) > 15 and len(again) >= 0.9 * len(moved)
    during = again[again.pending_s_y < 20 * HOUR]
    assert len(during) > 5 and (during.queue_y != "LARGE").all()
    assert again.status_y.isin(["finished", "running"]).mean() > 0.5


def test_nothing_starts_at_the_site_while_it_is_down(outage):
    begun = outage.jobs.running_s[outage.jobs.queue == "LARGE"]
    assert not begun.between(12 * HOUR, 20 * HOUR, inclusive="neither").any()
    assert (begun > 20 * HOUR).sum() > 100


@pytest.mark.parametrize(("name", "duration"), [("site_outage", "16h"), ("preemptible", "6h"), ("greedy_user", "6h"),
                                                ("dispatch_dirac", "2h")])
def test_a_scan_that_passes_over_unchanged_jobs_finds_what_a_look_at_each_finds(name, duration, tmp_path, monkeypatch):
    scan_of, numbers = Fabric.overdue, []

    def both(fabric, rules, limits, for_label, now, scan=TIMEOUT_SCAN):
        found = scan_of(fabric, rules, limits, for_label, now, scan)
        quiet_s = fabric.world.arrays.quiet_s
        kept = quiet_s.copy()
        quiet_s[:] = 0
        np.testing.assert_array_equal(found, scan_of(fabric, rules, limits, for_label, now, scan), f"{now:.0f} s")
        quiet_s[:] = kept
        numbers.append((len(found[0]), (kept[:, scan] > now).sum()))
        return found

    monkeypatch.setattr(Fabric, "overdue", both)
    short = {"duration": duration, "warm_up": 0, "agents.copy_archive": 300}
    simulate(load_scenario(SCENARIOS / f"{name}.yaml").with_values(short), folder=tmp_path / "run")
    overdue, passed_over = np.array(numbers).T
    assert passed_over.max() > 100 and (overdue.any() or name in ("greedy_user", "dispatch_dirac"))
