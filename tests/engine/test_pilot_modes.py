"""Modes of pilots in whole runs: saturated shares, and the turn of a unified queue to single-core work and back."""

from pathlib import Path

import pandas as pd
import pytest

import simgrid_broker as sb
from simgrid_broker import metrics

SCENARIOS = Path(__file__).parents[2] / "scenarios"
HOUR = 3600.0


def run_of(name: str, out, workflow: str, **more) -> sb.Run:
    """A run of a scenario whose queues have a workflow; more: other values."""
    plan = sb.load_scenario(SCENARIOS / f"{name}.yaml")
    changes = {f"grid.queues.{queue}.workflow": workflow for queue in plan.grid.queues}
    kept = {"record.jobs": False, "record.transfers": False}
    return sb.simulate(plan.with_values(changes | kept | more), out=out)


@pytest.mark.parametrize(("workflow", "points"), [
    pytest.param("pull_ups", 3.0, id="streaming: swings for a day"), pytest.param("pull", 1.0, id="pull"),
])
def test_saturated_shares_of_both_core_counts(workflow, points, tmp_path):
    found = shares_of(run_of("pilot_modes", tmp_path, workflow, duration="36h"))
    assert (found.delivered - found.target).abs().max() < points


def test_push_misses_the_targets_because_each_request_takes_its_jobs_from_one_share(tmp_path):
    found = shares_of(run_of("pilot_modes", tmp_path, "push", duration="36h"))
    assert (found.delivered - found.target).abs().max() > 5


def shares_of(run: sb.Run) -> pd.DataFrame:
    """Targets and what was delivered, %, by share."""
    return metrics.wide(metrics.share_compliance(run)).set_index("share")


def single_core(run: sb.Run) -> pd.Series:
    """Part of the running cores that single-core jobs use, %, by time in hours."""
    cores = metrics.running_cores(run, "resource_type").pivot_table(
        index="time_s", columns="resource_type", values="value", aggfunc="sum")
    found = 100 * cores["SCORE"] / cores.sum(axis=1)
    return found.set_axis(found.index / HOUR)


@pytest.mark.parametrize(("workflow", "least", "most"), [
    pytest.param("pull_ups", 55, 80, id="streaming"), pytest.param("push", 25, 55, id="push follows less closely"),
])
def test_a_unified_queue_turns_to_single_core_work_and_back(workflow, least, most, tmp_path):
    part = single_core(run_of("unified_queue_evgen_boost", tmp_path, workflow, **{"grid.sites.CERN.cores": 800}))
    before, boosted, after = (part[(part.index > begin) & (part.index <= end)].mean()
                              for begin, end in ((12, 24), (36, 48), (60, 72)))
    assert before < 20 and after < 20 and least < boosted < most
