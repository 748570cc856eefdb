"""The scenario of GPU tasks: each job goes where its task fits, and what cannot be read goes nowhere."""

from pathlib import Path

import pytest

from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario
from simgrid_broker.scenario.work.synthetic import task_list
from simgrid_broker.world.build import build
from simgrid_broker.world.views import observe

SCENARIO = Path(__file__).parents[2] / "scenarios" / "gpu_campaign.yaml"
PLAIN = {"CENTRE", "NORTH", "SOUTH", "EAST", "WEST"}
BIG_GPUS = {"CENTRE_GPU", "SOUTH_GPU"}
FITS = {"training": BIG_GPUS, "inference": BIG_GPUS, "old kernels": {"NORTH_GPU"}, "simulation": PLAIN,
        "portable simulation": PLAIN | {"NORTH_ARM"}}


@pytest.fixture(scope="module")
def plan():
    """The scenario, cut to four hours."""
    return load_scenario(SCENARIO, until="4h")


def queues_of(run):
    """The queues that the jobs of each campaign went to."""
    jobs = run.jobs.merge(run.tasks[["jeditaskid", "name"]], on="jeditaskid")
    return {name: set(found) for name, found in jobs.astype({"queue": str}).groupby("name", observed=True).queue}


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_jobs_go_only_where_they_fit(plan, edition, tmp_path):
    found = queues_of(simulate(plan.with_values({"edition": edition}), folder=tmp_path / "run", validate=True))
    assert set(found) == set(FITS) and all(found[name] <= FITS[name] for name in FITS)
    assert "NORTH_ARM" in found["portable simulation"]


def test_what_cannot_be_read_is_refused_everywhere(plan, tmp_path):
    broken = plan.with_values({"workload.campaigns.training.architecture": '{"gpu_spec": 1}', "duration": "2h"})
    run = simulate(broken, folder=tmp_path / "run")
    assert "training" not in queues_of(run)
    tasks = run.tasks[run.tasks.name == "training"]
    assert len(tasks) and tasks.n_attempts.sum() == 0
    assert "-cache" in set(run.refusals.tag)


def test_what_the_brokers_see(plan):
    world = build(plan, task_list(plan))
    view, row = observe.queues(world), 0
    of = dict(zip(view.names, view.software, strict=True))
    assert of["CENTRE_GPU/MCORE"] is of["CENTRE_GPU/SCORE"] and of["CENTRE_GPU/MCORE"].gpus[0].vram == 81920
    assert of["EAST/MCORE"] is of["NORTH/MCORE"] and view.software_of_all.tags[0].container_name == "atlas/ml:24"
    task = observe.task(world, row)
    campaign = next(c for c in plan.workload.campaigns if c.name == world.vocabularies["task_names"][
        world.arrays.tasks["name"][row]])
    assert (task.architecture, task.transhome) == (campaign.architecture, campaign.transhome)
    assert task.container_name == "" and task.only_tags_for_fc is False
