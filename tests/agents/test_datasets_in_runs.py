"""Datasets in runs with agents: incidents add, lose and delete replicas, and tasks and jobs live with that."""

import pytest
from builders import EVENTFUL, Stage, two_sites

from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.run.timeline import task_source, timeline
from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario
from simgrid_broker.world.views import observe

TB = 1e12
DISK = dict(total=1000 * TB, free=500 * TB)
HELD = dict(files=10, bytes=1e7, replicas=[dict(storage="HERE_DISK")])


def stage_of(agents, *incidents, arrival_s=0.0):
    """A task that reads a dataset at HERE, with some agents."""
    plan = two_sites(storages=dict(HERE_DISK=dict(site="HERE", **DISK), THERE_DISK=dict(site="THERE", **DISK)),
                     data=dict(datasets=dict(data=HELD)), incidents=list(incidents))
    stage = Stage(agents, plan, dict(n_jobs=10, input_bytes_per_job=1e6, arrival_s=arrival_s))
    stage.arrays.input_dataset[0] = 0
    return stage


@pytest.mark.parametrize(("incidents", "replicas"), [
    pytest.param([], [(0, 1.0, False)], id="nothing happens"),
    pytest.param([dict(what="replica_added", storage="THERE_DISK")], [(0, 1.0, False), (1, 1.0, False)],
                 id="a complete one is added"),
    pytest.param([dict(what="replica_added", storage="THERE_DISK", fraction=0.25)], [(0, 1.0, False), (1, 0.25, False)],
                 id="an incomplete one is added"),
    pytest.param([dict(what="replica_lost", storage="HERE_DISK")], [], id="the only one is lost"),
    pytest.param([dict(what="replica_lost", storage="THERE_DISK")], [(0, 1.0, False)], id="one that is not there"),
    pytest.param([dict(what="dataset_deleted")], [], id="the dataset is deleted"),
    pytest.param([dict(what="dataset_deleted"), dict(what="replica_added", storage="THERE_DISK")], [(1, 1.0, False)],
                 id="and registered again"),
])
def test_incidents_change_replicas(incidents, replicas):
    stage = stage_of((timeline,), *(dict(at=10.0 + k, dataset="data") | one for k, one in enumerate(incidents)))
    stage.run(100.0)
    assert observe.replicas(stage.world, 0) == replicas
    stage.check()


@pytest.mark.rule("reads_deleted")
@pytest.mark.parametrize(("at", "status"), [
    pytest.param(10.0, "broken", id="deleted before the task is refined"),
    pytest.param(70.0, "assigning", id="after: the task has read it"),
])
def test_a_task_with_a_deleted_dataset_is_broken(at, status):
    stage = stage_of((timeline, task_source, task_refiner), dict(at=at, what="dataset_deleted", dataset="data"))
    stage.run(130.0)
    assert stage.task() == status


SHARED = {"duration": 4 * 3600, "record.jobs": True, "incidents": [
    dict(at=3600, what="replica_lost", dataset="aod.00001", storage="CENTRE_DATADISK"),
    dict(at=5400, what="storage_outage", storage="NORTH_DATADISK", until=9000),
    dict(at=7200, what="dataset_deleted", dataset="aod.00002")],
    "data.populations": {"aod": dict(datasets=12, files=dict(median=20, sigma=0.5), file_size=2e8, zipf=1.5,
                                     replicas=dict(number=2, where="any"))}}
"""Changes of `scenarios/minimal.yaml` after which all tasks share a few datasets, which come and go."""


def test_a_run_with_shared_datasets_is_sound(tmp_path):
    sizes = {f"workload.{stream}.{key}": None for stream in ("campaigns.simulation", "users.analysis")
             for key in ("input_per_job", "jobs_per_task")}
    names = {f"workload.{stream}.container": "aod" for stream in ("campaigns.simulation", "users.analysis")}
    plan = load_scenario("scenarios/minimal.yaml").with_values(EVENTFUL | SHARED | names | sizes)
    run = simulate(plan, folder=tmp_path / "run", validate=True)           # invariants at every sample
    moved = run.table("transfers")
    assert len(moved[moved.kind == "input"]) > 0 and len(run.jobs) > 100
