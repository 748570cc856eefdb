"""The scenario of WORK_SHORTAGE: from noon on no job goes where nothing, or no more, is pledged."""

from pathlib import Path

import pandas as pd
import pytest

from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario
from simgrid_broker.units import HOUR

SCENARIO = Path(__file__).parents[2] / "scenarios" / "work_shortage.yaml"
NOON = 12 * HOUR
PLEDGED_BY_SOUTH = 80


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_work_leaves_what_is_not_pledged(edition, tmp_path):
    """Mean over three seeds; the work of one run moves between the queues that remain."""
    before, after = zip(*(cores_around_noon(edition, seed, tmp_path / str(seed)) for seed in range(1, 4)), strict=True)
    before, after = pd.concat(before).groupby(level=0).mean(), pd.concat(after).groupby(level=0).mean()
    assert before["CLOUD"] > 50 and after["CLOUD"] == 0
    assert before["SOUTH"] > 1.5 * PLEDGED_BY_SOUTH and after["SOUTH"] < 1.25 * PLEDGED_BY_SOUTH
    assert after["NORTH"] > before["NORTH"]


def cores_around_noon(edition, seed, folder):
    """Mean running cores by queue before noon, and from two hours after it; no job goes to the cloud after noon."""
    plan = load_scenario(SCENARIO, seed=seed, until="16h").with_values({"edition": edition})
    run = simulate(plan, folder=folder, validate=True)
    jobs = run.jobs.astype({"queue": str})
    assert not ((jobs["queue"] == "CLOUD") & (jobs["pending_s"] > NOON + 60)).any()
    cores = run.queues.astype({"queue": str}).pivot(index="time_s", columns="queue", values="running_cores")
    return cores[cores.index < NOON].mean(), cores[cores.index > NOON + 2 * HOUR].mean()
