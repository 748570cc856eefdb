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


@pytest.mark.parametrize(("workflow", "more"), [
    pytest.param("pull_ups", {"duration": "60h"}, id="streaming, which swings at first"),
    pytest.param("pull", {"duration": "36h", "seed": 2}, id="pull with another seed"),
])
def test_saturated_shares_of_both_core_counts(workflow, more, tmp_path):
    found = shares_of(run_of("pilot_modes", tmp_path, workflow, **more))
    assert (found.delivered - found.target).abs().max() < 1


def test_push_comes_near_the_targets_with_small_requests(tmp_path):
    limits = {f"grid.queues.{queue}.params.{key}": 20 for queue in ("EAST", "WEST")
              for key in ("nQueueLimitJob", "nQueueLimitJobMin")}
    found = shares_of(run_of("pilot_modes", tmp_path, "push", duration="36h", **limits))
    assert (found.delivered - found.target).abs().max() < 3


def test_push_misses_the_targets_because_each_large_request_takes_its_jobs_from_one_share(tmp_path):
    found = shares_of(run_of("pilot_modes", tmp_path, "push", duration="36h"))
    assert (found.delivered - found.target).abs().max() > 5


SMALL = {"simulation": 30, "reprocessing": 30, "evgen": 200, "pile-up": 200}
"""Jobs of a task by campaign, as much smaller as a grid of 480 cores."""


@pytest.mark.parametrize(("workflow", "limit", "most"), [
    pytest.param("pull_ups", 20, -5, id="as many workers of 8 cores wait as of one"),
    pytest.param("pull_ups", 9999, 12, id="without Harvester's limit single-core work is no longer kept down"),
    pytest.param("pull", 20, 4, id="pull"),
])
def test_single_core_shares_on_a_small_grid(workflow, limit, most, tmp_path):
    """What the single-core shares get beyond their 35 %, in points."""
    more = {"duration": "36h", "grid.sites.EAST.cores": 288, "grid.sites.WEST.cores": 192}
    more |= {f"grid.queues.{queue}.params.nQueueLimitWorkerMin": limit for queue in ("EAST", "WEST")}
    for name, jobs in SMALL.items():
        of_campaign = dict(offered_cores=360, backlog_time="24h", jobs_per_task={"median": jobs, "sigma": 0.3})
        more |= {f"workload.campaigns.{name}.{key}": value for key, value in of_campaign.items()}
    found = shares_of(run_of("pilot_modes", tmp_path, workflow, **more))
    beyond = (found.delivered - found.target)[["Event generation", "Pile-up"]].sum()
    assert beyond < most and (most < 0 or beyond > -5)


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


@pytest.mark.parametrize(("changes", "remarked"), [
    ({}, False), ({"grid.queues.EAST.workflow": "pull"}, True), ({"grid.queues.EAST.workflow": None}, True),
    ({"grid.queues.EAST.workflow": "pull", "grid.queues.EAST.corecount": 1}, False),
    ({"grid.queues.EAST.workflow": "pull", "grid.queues.EAST.capability": "mcore"}, False),
])
def test_pull_at_a_unified_queue_with_smaller_jobs_is_remarked(changes, remarked):
    plan = sb.load_scenario(SCENARIOS / "pilot_modes.yaml").with_values(changes)
    said = [line for line in sb.remarks(plan) if "workflow: pull" in line]
    assert len(said) == remarked and all("(EAST)" in line and "leaves the others unused" in line for line in said)
