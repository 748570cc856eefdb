"""The scenario of WORK_SHORTAGE: from noon on no job goes where nothing, or no more, is pledged."""

from pathlib import Path

import pytest

from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario
from simgrid_broker.units import HOUR

SCENARIO = Path(__file__).parents[2] / "scenarios" / "work_shortage.yaml"
NOON = 12 * HOUR
PLEDGED_BY_SOUTH = 80


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_work_leaves_what_is_not_pledged(edition, tmp_path):
    plan = load_scenario(SCENARIO, seed=2, until="18h").with_values({"edition": edition})
    run = simulate(plan, folder=tmp_path / "run", validate=True)
    cores = run.queues.astype({"queue": str}).pivot(index="time_s", columns="queue", values="running_cores")
    before, after = cores[cores.index < NOON].mean(), cores[cores.index > NOON + 2 * HOUR].mean()
    assert before["CLOUD"] > 50 and after["CLOUD"] == 0
    assert before["SOUTH"] > 1.5 * PLEDGED_BY_SOUTH and after["SOUTH"] < 1.5 * PLEDGED_BY_SOUTH
    assert after["NORTH"] > before["NORTH"]
    jobs = run.jobs.astype({"queue": str})
    assert not ((jobs["queue"] == "CLOUD") & (jobs["pending_s"] > NOON + 60)).any()
