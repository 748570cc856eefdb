"""The data carousel at work: tasks wait for tape, requests are shared, drives read one dataset each."""

import numpy as np
import pytest
from builders import Stage, T, two_sites

from simgrid_broker.agents.data_carousel import data_carousel
from simgrid_broker.agents.job_generator import job_generator
from simgrid_broker.agents.setupper import setupper
from simgrid_broker.agents.task_broker import task_broker
from simgrid_broker.agents.task_commando import task_commando
from simgrid_broker.agents.task_refiner import task_refiner
from simgrid_broker.agents.task_source import task_source
from simgrid_broker.agents.watch_dog import watch_dog
from simgrid_broker.world.input_files import staged_inputs
from simgrid_broker.world.space import take_space_of

TB, GB = 1e12, 1e9
DISK = dict(total=1000 * TB, free=500 * TB)
TAPE = dict(site="HERE", tape=True, drives=1, mount_time=100, drive_rate=1 * GB, type="DATATAPE", **DISK)
ACTIVE = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True)))
WAITS = (task_source, task_commando, task_refiner, data_carousel)
WORKS = (*WAITS, task_broker, watch_dog, job_generator, setupper)
PERIODS = dict(task_commando=10, task_refiner=10, data_carousel=10, task_broker=10, watch_dog=10, job_generator=10,
               pending_production=10, task_broker_retry=10)


def stage_of(agents, *tasks, tape=None, config=ACTIVE, files=100, size=400 * GB, n_datasets=1, disk=(), **others):
    """Tasks that read datasets on tape at HERE, one after another, with some agents."""
    held = dict(files=files, bytes=size, replicas=[dict(storage="HERE_TAPE"), *disk])
    storages = dict(HERE_DISK=dict(site="HERE", **DISK), THERE_DISK=dict(site="THERE", **DISK),
                    HERE_TAPE=TAPE | (tape or {}))
    plan = two_sites(here=dict(storage="HERE_DISK"), storages=storages, agents=PERIODS,
                     data=dict(datasets={f"data{k}": held for k in range(n_datasets)}),
                     gdpconfig=dict(DATA_CAROUSEL_CONFIG=config) if config else {}, **others)
    stage = Stage(agents, plan, *(dict(n_jobs=files, inputprestaging=1, input_bytes_per_job=size / files) | one
                                  for one in tasks))
    stage.arrays.input_dataset[:len(tasks)] = np.arange(len(tasks)) % n_datasets
    return stage


def request(stage, number=0):
    """A request that is not over."""
    return stage.control.books.staging.requests[number]


@pytest.mark.rule("is_needed")
@pytest.mark.parametrize(("said", "disk", "status"), [
    pytest.param({}, [], "staging", id="on tape alone"),
    pytest.param(dict(inputprestaging=0), [], "assigning", id="without inputPreStaging"),
    pytest.param({}, [dict(storage="THERE_DISK")], "assigning", id="whole on disk, too"),
    pytest.param({}, [dict(storage="THERE_DISK", part=0.99)], "staging", id="nearly whole on disk"),
    pytest.param({}, [dict(storage="THERE_DISK", virtual=True)], "staging", id="on virtual placement"),
    pytest.param({}, [dict(storage="THERE_DISK", lifetime=0)], "staging", id="on disk without a rule"),
])
def test_only_tasks_with_input_on_tape_alone_wait_in_staging(said, disk, status):
    stage = stage_of((task_source, task_refiner), said, disk=disk)
    stage.run(60)
    assert stage.task() == status


@pytest.mark.rule("DataCarousel._read")
def test_a_dataset_takes_its_mount_time_and_its_bytes_at_the_rate_of_a_drive():
    stage = stage_of(WAITS, {})
    stage.run(2000)
    one = request(stage)
    assert one.mounting_s == one.started_s                                # the drive was free
    assert one.read_s - one.mounting_s == pytest.approx(100 + 400, abs=1e-6)
    assert one.status.word == "done" and one.read_bytes == pytest.approx(400 * GB)
    stage.check()


@pytest.mark.parametrize(("drives", "waits"), [(1, [0, 500, 1000]), (2, [0, 0, 500]), (3, [0, 0, 0]), (9, [0, 0, 0])])
@pytest.mark.rule("DataCarousel._read")
def test_no_more_datasets_are_read_at_once_than_there_are_drives(drives, waits):
    stage = stage_of(WAITS, *[{}] * 3, n_datasets=3, tape=dict(drives=drives))
    stage.run(3000)
    ones = [request(stage, k) for k in range(3)]
    begin = min(one.started_s for one in ones)
    assert sorted(one.mounting_s - begin for one in ones) == pytest.approx(waits, abs=1e-6)
    order = sorted(ones, key=lambda one: (one.mounting_s, one.number))
    assert [one.number for one in order] == [1, 2, 3]                     # first come, first served


def test_tasks_with_the_same_input_share_a_request():
    stage = stage_of(WAITS, {}, dict(arrival_s=200))
    stage.run(1000)
    assert request(stage).tasks == [1, 2] and stage.control.books.staging.n_requests == 1
    assert stage.task(0) != "staging" != stage.task(1)


@pytest.mark.rule("to_stage")
@pytest.mark.parametrize("config", [None, dict(source_tapes_config=dict(HERE_TAPE={}))])
def test_nothing_is_staged_from_a_tape_that_is_not_active(config):
    stage = stage_of(WAITS, {}, config=config)
    stage.run(1000)
    assert stage.task() == "staging" and request(stage).status.word == "queued"


@pytest.mark.rule("_send_when_staged", "staged_inputs", "part_of_staged")
def test_jobs_are_made_of_what_has_come_and_no_more():
    stage = stage_of(WORKS, dict(nucleus=-1))
    stage.run(60)
    stage.arrays.scout_inputs[0] = 0                                      # no scouts
    assert stage.task() == "pending"                                      # its rule exists, its files are not there
    for now in range(100, 1000, 50):
        stage.run(now)
        come = request(stage).staged_files
        assert staged_inputs(stage.arrays, 0) == come
        assert stage.arrays.tasks["next_chunk"][0] <= come
        stage.check()
        assert (stage.arrays.tasks["next_chunk"][0] > 0) == (now >= 200)
    assert set(stage.statuses()) == {"activated"} and come == 100
    assert not np.isnan(stage.entered(T.STAGED)) and stage.entered(T.STAGED) < 60
    assert (stage.arrays.transfers["transfer_id"] == 0).all()             # nothing was moved over links


@pytest.mark.rule("staging.send")
def test_files_go_on_to_another_site_under_the_activity_staging():
    there = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True, destination_expression="THERE_DISK")))
    fast = dict(default=dict(bandwidth=10 * GB, latency=0, failure_rate=0))
    stage = stage_of(WAITS, {}, config=there, more_links=fast)
    stage.run(2000)
    one, moved = request(stage), stage.moved()
    assert one.status.word == "done" and stage.world.vocabularies["storages"][one.destination] == "THERE_DISK"
    assert moved["bytes"].sum() == pytest.approx(400 * GB) and moved["n_files"].sum() == 100
    assert set(moved["activity"].tolist()) == {3} and set(moved["n_jobs"].tolist()) == {0}
    stage.check()


@pytest.mark.rule("DataCarousel._cancel")
def test_requests_of_ended_tasks_are_cancelled():
    stage = stage_of(WAITS, {})
    stage.run(200)
    stage.control.books.commands.give_unasked("abort", [0], stage.now)
    stage.run(1000)
    assert stage.control.books.staging.requests == {}
    row = stage.recorded("staging")[0]
    assert row["read_bytes"] < 400 * GB and not np.isnan(row["finished_s"])
    stage.check()


@pytest.mark.rule("DataCarousel._cancel")
def test_a_cancelled_request_gives_its_drive_back_though_the_disk_is_full():
    stage = stage_of(WAITS, {}, {}, n_datasets=2)
    stage.run(60)                                                         # both have their rules, one has the drive
    disk = stage.control.world.vocabularies["storages"].index("HERE_DISK")
    other = stage.control.world.vocabularies["storages"].index("THERE_DISK")
    for number in (disk, other):
        assert take_space_of(stage.arrays, number, float(stage.arrays.storages["free_bytes"][number]))
    stage.run(1000)
    first = request(stage)
    assert first.reading and first.status.word == "staging" and np.isnan(request(stage, 1).mounting_s)
    stage.control.books.commands.give_unasked("abort", [0], stage.now)
    stage.run(3000)
    assert not first.reading and request(stage, 1).mounting_s < 3000


@pytest.mark.rule("exceeds_tape_quota")
@pytest.mark.parametrize(("limit", "status"), [(0.4, "staging"), (0.39, "broken"), (-1, "staging")])
def test_users_stage_no_more_than_their_limit(limit, status):
    stage = stage_of((task_source, task_refiner), dict(label="user"))
    stage.control.policies.set_config("USER_MAX_TAPE_INPUT_TB", limit)
    stage.run(60)
    assert stage.task() == status
