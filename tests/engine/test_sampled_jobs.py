"""A sample of the jobs with hourly sums of all: the same figures as from all rows, and all attempts at an input."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simgrid_broker import metrics
from simgrid_broker.engine import simulate
from simgrid_broker.errors import ScenarioError
from simgrid_broker.metrics import wide
from simgrid_broker.scenario import load_scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of one scenario with rows for all jobs, for three in ten inputs, and for none."""
    plan = load_scenario(SCENARIOS / "minimal.yaml").with_values(
        {"grid.sites.NORTH.failure_rate": 0.3, "duration": "8h"})
    folder = tmp_path_factory.mktemp("sampled")
    return {part: simulate(plan.with_values({"record.jobs": part}), folder=folder / str(part))
            for part in (1, 0.3, 0.1, False)}


@pytest.mark.parametrize("metric", [metrics.failures, metrics.attempts])
@pytest.mark.parametrize("part", [0.3, False])
def test_figures_of_all_jobs_come_from_the_hourly_sums(runs, metric, part):
    pd.testing.assert_frame_equal(metric(runs[part]), metric(runs[1]), check_dtype=False)


@pytest.mark.parametrize("part", [0.3, False])
def test_so_do_statuses_and_throughput(runs, part):
    ended = [table[table.state == "ended"].set_index("status").value.to_dict()
             for table in (metrics.jobs_by_status(runs[part]), metrics.jobs_by_status(runs[1]))]
    assert ended[0] == ended[1]
    rates = metrics.throughput(runs[part])
    assert (rates.value * rates.bin_s / 3600).sum() == pytest.approx(
        runs[1].jobs.status.isin(["finished", "failed", "closed", "cancelled"]).sum())


def test_a_sample_has_all_attempts_at_an_input(runs):
    inputs = ["jeditaskid", "chunk"]
    every, some = (runs[part].jobs for part in (1, 0.3))
    assert 0.2 * len(every) < len(some) < 0.4 * len(every)
    chosen = every.merge(some[inputs].drop_duplicates(), on=inputs)
    assert sorted(chosen.panda_id) == sorted(some.panda_id) and (some.attempt > 1).any()


def test_a_larger_sample_includes_a_smaller_one(runs):
    assert set(runs[0.1].jobs.panda_id) < set(runs[0.3].jobs.panda_id)


def test_numbers_of_the_sample_are_scaled_up(runs):
    started = [wide(metrics.waiting_times(runs[part], None)).started[0] for part in (0.3, 1)]
    assert started[0] == pytest.approx(started[1], rel=0.2)
    alive = [wide(metrics.summary(runs[part])).alive[0] for part in (0.3, 1)]
    assert alive[0] == pytest.approx(alive[1], rel=0.3)


def test_hourly_sums_come_hour_by_hour_and_add_up(runs):
    sums, jobs = runs[0.3].ended, runs[1].jobs
    assert np.all(np.diff(sums.time_s) >= 0) and np.all(sums.time_s % 3600 == 0)
    assert sums.core_s.sum() == pytest.approx((jobs.walltime_s * jobs.corecount)[jobs.status.isin(sums.status)].sum())
    assert len(runs[1].ended) == 0


def test_a_trace_needs_all_its_jobs(tmp_path):
    trace = tmp_path / "one.swf"
    trace.write_text("1 0 5 100 1 -1 -1 1 200 -1 1 1 1 1 1 1 -1 -1\n")
    with pytest.raises(ScenarioError, match=r"record\.jobs = 0\.5: must be 1 with a trace"):
        load_scenario(SCENARIOS / "minimal.yaml", overrides=[f"workload.trace.file={trace}", "record.jobs=0.5"])
