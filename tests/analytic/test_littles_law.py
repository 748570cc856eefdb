"""Little's law on a whole run: the mean number of jobs in a state is their rate times the mean time spent there."""

from pathlib import Path

import numpy as np
import pytest

from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SAMPLE_S = 47.0
"""A prime number, so that samples and the agents' whole minutes do not keep step."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The smallest scenario, sampled often."""
    plan = load_scenario(SCENARIOS / "minimal.yaml").with_values({"agents.sampler": SAMPLE_S})
    return simulate(plan, folder=tmp_path_factory.mktemp("little") / "run")


def moments(jobs, entered, left, end) -> tuple[np.ndarray, np.ndarray]:
    """When each job entered a state and left it, s; a job that has not left is there until the end."""
    came = jobs[jobs[entered].notna()]
    return came[entered].to_numpy(), came[left].bfill(axis=1).iloc[:, 0].fillna(end).to_numpy()


def in_state(jobs, entered, left, end) -> np.ndarray:
    """Time that each job spent between two moments within the run, s."""
    begin, gone = moments(jobs, entered, left, end)
    return gone - begin


def squares_of_groups(at, end) -> float:
    """Sum of the squares of the numbers of jobs that moved at one moment before the end."""
    return float(np.sum(np.unique(at[at < end], return_counts=True)[1].astype(float) ** 2))


STATES = {
    "running": ("running_s", ["holding_s", "failed_s", "closed_s"]),
    "activated": ("activated_s", ["running_s", "closed_s"]),
    "transferring": ("transferring_s", ["finished_s", "failed_s"]),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("table", ["queues", "shares"])
def test_mean_number_is_rate_times_mean_time(run, state, table):
    end = run.manifest["duration_s"]
    spent = in_state(run.jobs, *STATES[state], end)
    rate, mean_time = len(spent) / end, spent.mean()
    sampled = run.table(table).groupby("time_s")[state].sum()
    # the first sample stands at 0, the last at the end: each interval counts the mean of its ends. A job that enters or
    # leaves within an interval is counted wrongly by up to half of it, evenly spread: deviation SAMPLE_S / sqrt(12).
    # Jobs that move at one moment, as those of one decision do, are all counted wrongly by the same time
    mean_number = np.trapezoid(sampled, sampled.index) / end
    groups = sum(squares_of_groups(at, end) for at in moments(run.jobs, *STATES[state], end))
    error = np.sqrt(groups) * SAMPLE_S / np.sqrt(12) / end
    assert mean_number == pytest.approx(rate * mean_time, abs=4 * error)      # outside once in 16 000 seeds


def test_cores_times_wall_time(run):
    end = run.manifest["duration_s"]
    entered, left = STATES["running"]
    spent = in_state(run.jobs, entered, left, end)
    cores = run.jobs["corecount"][run.jobs[entered].notna()].to_numpy()
    sampled = run.queues.groupby("time_s")["running_cores"].sum()
    mean_cores = np.trapezoid(sampled, sampled.index) / end
    error = np.sqrt(2 * np.sum(cores.astype(float) ** 2)) * SAMPLE_S / np.sqrt(12) / end
    assert mean_cores == pytest.approx(np.sum(spent * cores) / end, abs=4 * error)
