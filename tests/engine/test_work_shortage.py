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
    parts = zip(*(cores_around_noon(edition, seed, tmp_path / str(seed)) for seed in range(1, 4)), strict=True)
    before, after, peak_before, peak_after = (pd.concat(part).groupby(level=0).mean() for part in parts)
    assert before["CLOUD"] > 50 and after["CLOUD"] == 0
    assert peak_before["SOUTH"] > 2 * PLEDGED_BY_SOUTH > peak_after["SOUTH"]
    assert before["SOUTH"] > 1.25 * PLEDGED_BY_SOUTH > after["SOUTH"]
    assert after["NORTH"] > before["NORTH"]


def cores_around_noon(edition, seed, folder):
    """Mean running cores by queue before noon and from two hours after it, and those of the busiest hour of each.

    No job goes to the cloud after noon.
    """
    plan = load_scenario(SCENARIO, seed=seed, until="18h").with_values({"edition": edition})
    run = simulate(plan, folder=folder, validate=True)
    jobs = run.jobs.astype({"queue": str})
    assert not ((jobs["queue"] == "CLOUD") & (jobs["pending_s"] > NOON + 60)).any()
    cores = run.queues.astype({"queue": str}).pivot(index="time_s", columns="queue", values="running_cores")
    parts = cores[cores.index < NOON], cores[(cores.index > NOON + 2 * HOUR) & (cores.index < 18 * HOUR)]
    return *(part.mean() for part in parts), *(part.groupby(part.index // HOUR).mean().max() for part in parts)
