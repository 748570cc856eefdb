"""Containers that tasks read whole, with agents: generation dataset by dataset, staging from tape, deleted datasets."""

import numpy as np
import pytest
from builders import EVENTFUL, Stage, two_sites

from simgrid_broker.agents.data.data_carousel import data_carousel
from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.task_broker import task_broker
from simgrid_broker.agents.jedi.task_commando import task_commando
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.jedi.watchdogs import watch_dog
from simgrid_broker.agents.panda.jobs import setupper
from simgrid_broker.agents.run.timeline import task_source, timeline
from simgrid_broker.cli.explain import datasets_of, told_datasets
from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario
from simgrid_broker.world.columns import lose_files
from simgrid_broker.world.data.datasets import members_of
from simgrid_broker.world.data.locality import endpoints_with_input

GB, TB = 1e9, 1e12
DISK = dict(total=1000 * TB, free=500 * TB)
TAPE = dict(site="HERE", tape=True, drives=1, mount_time=100, drive_rate=1 * GB, type="DATATAPE", **DISK)
ACTIVE = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True)))
WORKS = (task_source, task_commando, task_refiner, data_carousel, task_broker, watch_dog, job_generator, setupper)
PERIODS = dict(task_commando=10, task_refiner=10, data_carousel=10, task_broker=10, watch_dog=10, job_generator=10,
               pending_production=10, task_broker_retry=10)
FILES = (4, 2, 3)


def stage_of(agents, files=FILES, where=("HERE_DISK",) * 20, **said):
    """A task that reads a container of datasets of 1 GB a file, with some agents."""
    held = {f"run{k}": dict(files=n, bytes=n * GB, container="runs", replicas=[dict(storage=storage)])
            for k, (n, storage) in enumerate(zip(files, where, strict=False))}
    storages = dict(HERE_DISK=dict(site="HERE", **DISK), THERE_DISK=dict(site="THERE", **DISK), HERE_TAPE=TAPE)
    plan = two_sites(here=dict(storage="HERE_DISK"), storages=storages, agents=PERIODS, data=dict(datasets=held),
                     **dict(edition="deployed", gdpconfig=dict(DATA_CAROUSEL_CONFIG=ACTIVE)) | said.pop("plan", {}))
    return Stage(agents, plan, dict(container=0, n_jobs=sum(files), input_bytes_per_job=GB) | said)


@pytest.mark.rule("has_more_datasets")
@pytest.mark.parametrize("said", [
    pytest.param({}, id="jobs of one size"),
    pytest.param(dict(split=dict(n_files=9, events_per_file=10, file_bytes=GB, nfilesperjob=1)), id="cut from files"),
    pytest.param(dict(label="user"), id="analysis"),
])
def test_a_cycle_makes_jobs_of_one_dataset_after_another(said):
    stage = stage_of(WORKS, **said)
    stage.run_to_jobs(60)
    made = stage.arrays.jobs["chunk"][stage.live()].tolist()
    assert sorted(made) == list(range(9))
    assert members_of(stage.arrays, 0)["used"].tolist() == [4, 2, 3]
    stage.check()


@pytest.mark.rule("has_more_datasets")
def test_a_cycle_makes_jobs_of_ten_datasets_at_most():
    stage = stage_of(WORKS, files=(1,) * 12)
    seen = []
    for now in range(5, 400, 5):
        stage.run(now)
        seen.append(len(stage.live()))
    assert sorted(set(seen) - {0}) == [10, 12]


@pytest.mark.rule("StagingRequests.needed", "StagingRequests.ask", "staged_inputs")
def test_each_dataset_of_a_container_is_staged_by_its_own_request():
    stage = stage_of(WORKS, where=("HERE_TAPE", "HERE_DISK", "HERE_TAPE"), inputprestaging=1)
    stage.run(60)
    book = stage.control.books.staging
    assert sorted(book.requests) == [0, 2] and book.size(0) == 7 * GB
    stage.arrays.scout_inputs[0] = 0
    assert sorted(stage.arrays.jobs["chunk"][stage.live()].tolist()) in ([], [4, 5])       # what is on disk comes first
    stage.run(2000)
    assert sorted(stage.arrays.jobs["chunk"][stage.live()].tolist()) == list(range(9))
    assert set(stage.statuses()) == {"activated"}
    stage.check()


@pytest.mark.rule("exceeds_tape_quota", "StagingRequests.size")
@pytest.mark.parametrize(("quota", "status"), [
    pytest.param(0.007, "staging", id="as much as the quota"),
    pytest.param(0.0069, "broken", id="more"),
])
def test_the_quota_counts_all_datasets_on_tape(quota, status):
    stage = stage_of((task_source, task_refiner), where=("HERE_TAPE", "HERE_DISK", "HERE_TAPE"), label="user",
                     inputprestaging=1,
                     plan=dict(gdpconfig=dict(DATA_CAROUSEL_CONFIG=ACTIVE, USER_MAX_TAPE_INPUT_TB=quota)))
    stage.run(60)
    assert stage.task() == status


@pytest.mark.rule("reads_deleted")
def test_a_task_is_broken_if_one_dataset_is_unknown():
    stage = stage_of((timeline, task_source, task_refiner),
                     plan=dict(incidents=[dict(at=10.0, what="dataset_deleted", dataset="run1")]), arrival_s=50.0)
    stage.run(130.0)
    assert stage.task() == "broken"


@pytest.mark.parametrize(("where", "found"), [
    pytest.param(("HERE_DISK",) * 3, {0}, id="each dataset"),
    pytest.param(("HERE_DISK", "THERE_DISK", "HERE_DISK"), set(), id="not each"),
])
def test_an_endpoint_with_the_input_has_each_dataset(where, found):
    assert endpoints_with_input(stage_of((), where=where).arrays, 0) == found


@pytest.mark.parametrize(("where", "lost"), [
    pytest.param(("HERE_DISK",) * 3, 0.5, id="all datasets are there alone"),
    pytest.param(("THERE_DISK", "HERE_DISK", "HERE_DISK"), 0.5 * 5 / 9, id="some of them are"),
    pytest.param(("THERE_DISK",) * 3, 0.0, id="none is"),
])
def test_files_that_a_site_loses(where, lost):
    stage = stage_of((), where=where)
    rows, _ = lose_files(stage.world, "HERE", 0.5, np.array([0]))
    assert len(rows) == (lost > 0) and stage.arrays.input_loss["lost"][0] == pytest.approx(lost)


READ_WHOLE = {f"workload.{stream}.{key}": value for stream in ("campaigns.simulation", "users.analysis")
              for key, value in dict(input_per_job=None, jobs_per_task=None, container="aod",
                                     whole_container=True).items()}
CONTAINER = {"data.populations": {"aod": dict(datasets=12, files=dict(median=6, sigma=0.5), file_size=2e8,
                                              replicas=dict(number=2, where="any"))}}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of production and analysis tasks that read a container, with troubles, checked at every sample."""
    plan = load_scenario("scenarios/minimal.yaml").with_values(EVENTFUL | CONTAINER | READ_WHOLE | {
        "duration": 4 * 3600, "record.jobs": True})
    return simulate(plan, folder=tmp_path_factory.mktemp("containers") / "run", validate=True)


def test_the_datasets_of_tasks_are_recorded(run):
    table = run.task_datasets
    output = table[table.type == "output"]
    table = table[table.type == "input"]
    assert output.dataset.isna().all() and set(output.jeditaskid) == set(table.jeditaskid)
    assert (table.groupby("jeditaskid").n_finished.sum() == run.tasks.set_index("jeditaskid").n_finished).all()
    assert set(table.jeditaskid) == set(run.tasks.jeditaskid)
    assert (table.groupby("jeditaskid").size() == 12).all()
    assert (table.groupby("jeditaskid").n_pieces.sum() == run.tasks.set_index("jeditaskid").n_jobs).all()
    assert (table.n_used <= table.n_pieces).all() and (table.n_used > 0).any()
    assert table.dataset.astype(str).unique().tolist() == [f"aod.{rank:05d}" for rank in range(1, 13)]


def test_every_job_reads_one_dataset(run):
    ends = run.task_datasets[run.task_datasets.type == "input"].assign(end=lambda rows: rows.chunk + rows.n_pieces)
    jobs = run.jobs[["jeditaskid", "chunk"]].merge(ends, on="jeditaskid", suffixes=("", "_of"))
    inside = jobs[(jobs.chunk >= jobs.chunk_of) & (jobs.chunk < jobs.end)]
    assert len(inside) == len(run.jobs) > 100
    moved = run.transfers[run.transfers.kind == "input"]
    assert len(moved) > 0


def test_explain_names_the_datasets_of_a_task(run):
    read = datasets_of(run, 1)
    assert [one["dataset"] for one in read] == [f"aod.{rank:05d}" for rank in range(1, 13)]
    said = " ".join(told_datasets(1, read)[0].split())
    assert said.startswith("Task 1 reads 12 datasets of a container, each brokered by itself;")
    assert f"aod.00001 ({read[0]['n_used']} of {read[0]['n_pieces']})" in said
    assert told_datasets(1, []) == []
