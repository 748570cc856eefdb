"""The data carousel at work: tasks wait for tape, requests are shared, drives read one dataset each."""

import numpy as np
import pytest
from builders import Stage, T, put_task, two_sites

from simgrid_broker.agents.data.data_carousel import data_carousel
from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.task_broker import task_broker
from simgrid_broker.agents.jedi.task_commando import task_commando
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.jedi.watchdogs import watch_dog
from simgrid_broker.agents.panda.jobs import setupper
from simgrid_broker.agents.run.timeline import task_source, timeline
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.world.columns import set_activity
from simgrid_broker.world.data.datasets import forget_inputs, lose_replica
from simgrid_broker.world.data.replicas import take_space_of
from simgrid_broker.world.invariants import broken
from simgrid_broker.world.tasks.input_files import staged_inputs

TB, GB = 1e12, 1e9
DISK = dict(total=1000 * TB, free=500 * TB)
TAPE = dict(site="HERE", tape=True, drives=1, mount_time=100, drive_rate=1 * GB, type="DATATAPE", **DISK)
ACTIVE = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True)))
WAITS = (task_source, task_commando, task_refiner, data_carousel)
WORKS = (*WAITS, task_broker, watch_dog, job_generator, setupper)
PERIODS = dict(task_commando=10, task_refiner=10, data_carousel=10, task_broker=10, watch_dog=10, job_generator=10,
               pending_production=10, task_broker_retry=10)


def stage_of(agents, *tasks, tape=None, config=ACTIVE, files=100, size=400 * GB, n_datasets=1, disk=(),
             more_storages=None, **others):
    """Tasks that read datasets on tape at HERE, one after another, with some agents."""
    held = dict(files=files, bytes=size, replicas=[*disk, dict(storage="HERE_TAPE")])
    storages = dict(HERE_DISK=dict(site="HERE", **DISK), THERE_DISK=dict(site="THERE", **DISK),
                    HERE_TAPE=TAPE | (tape or {})) | (more_storages or {})
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


@pytest.mark.rule("_send_when_staged", "staged_inputs", "part_of_staged", "DataCarousel._read",
                  "task_refiner.task_refiner")
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


@pytest.mark.rule("_send_when_staged", "task_refiner.task_refiner")
def test_a_defined_task_goes_on_with_the_first_file_that_has_come_once_its_dataset_is_complete():
    stage = stage_of((task_source, task_refiner), {}, shares=[dict(name="All", value=1, prodsourcelabel="user")])
    stage.run(60)
    put_task(stage, 0, T.DEFINED)
    stage.control.books.open_inputs.rows[0] = None                        # its dataset may still grow
    number, said = stage.arrays.input_dataset[0], []
    for at, unstaged in ((80, 0.99), (100, 1.0), (120, 0.99)):
        stage.arrays.datasets["unstaged"][number] = unstaged
        stage.run(at)
        said.append(stage.task())
        stage.control.books.open_inputs.rows.clear()
        put_task(stage, 0, T.DEFINED)
    assert said == ["defined", "pending", "assigning"]
    put_task(stage, 0, T.STAGED)
    stage.arrays.tasks["share"][0] = -1                                   # none takes it
    stage.run(140)
    assert stage.task() == "broken"


@pytest.mark.rule("network.send", "DataCarousel._read")
@pytest.mark.parametrize(("disk", "files"), [
    pytest.param([], 100, id="all of them"),
    pytest.param([dict(storage="THERE_DISK", part=0.999)], 1, id="one that is not there, though less is lacking"),
])
def test_files_go_on_to_another_site_under_the_activity_staging(disk, files):
    there = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True, destination_expression="THERE_DISK")))
    fast = dict(default=dict(bandwidth=10 * GB, latency=0, failure_rate=0))
    stage = stage_of(WAITS, {}, config=there, more_links=fast, disk=disk)
    stage.run(2000)
    one, moved = request(stage), stage.moved()
    assert one.status.word == "done" and stage.world.vocabularies["storages"][one.destination] == "THERE_DISK"
    assert moved["bytes"].sum() == pytest.approx(400 * GB if files > 1 else 0.4 * GB)
    assert moved["n_files"].sum() == files and stage.arrays.datasets["n_replicas"][0] == 2    # on tape and on disk
    assert set(moved["activity"].tolist()) == {3} and set(moved["n_jobs"].tolist()) == {0}
    stage.check()


@pytest.mark.rule("DataCarousel._until_open")
@pytest.mark.parametrize(("storage", "activity", "stops"), [
    ("HERE_TAPE", "read_wan", True), ("HERE_DISK", "write_wan", True), ("HERE_TAPE", "read_lan", False),
    ("HERE_DISK", "read_wan", False), ("THERE_DISK", "write_wan", False),
])
@pytest.mark.parametrize("begin", [pytest.param(60, id="before the tape is mounted"), pytest.param(300, id="midway")])
def test_drives_stop_while_an_endpoint_is_switched_off(storage, activity, stops, begin):
    here = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True, destination_expression="HERE_DISK")))
    stage = stage_of(WAITS, {}, config=here)
    stage.run(begin)
    set_activity(stage.world, storage, activity, "OFF")
    stage.run(begin + 600)
    one = request(stage)
    read = one.read_bytes
    if stops:
        assert read < 400 * GB and one.status.word == "staging"
    else:
        assert read == pytest.approx(400 * GB)
    stage.run(begin + 1000)
    assert request(stage).read_bytes == read                              # not one byte more
    set_activity(stage.world, storage, activity, "ON")
    stage.run(begin + 2000)
    assert request(stage).status.word == "done"
    stage.check()


@pytest.mark.rule("DataCarousel._until_open")
@pytest.mark.parametrize(("site", "stops"), [("HERE", True), ("THERE", False)])
def test_drives_stop_while_their_site_is_down(site, stops):
    outage = dict(at=200, what="site_outage", site=site, until=1200)
    here = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True, destination_expression="HERE_DISK")))
    stage = stage_of((*WAITS, timeline), {}, config=here, incidents=[outage])
    stage.run(1100)
    read = request(stage).read_bytes
    assert 0 < read < 200 * GB if stops else read == pytest.approx(400 * GB)
    stage.run(2000)
    assert request(stage).read_bytes == pytest.approx(400 * GB)
    stage.check()


@pytest.mark.rule("DataCarousel._is_readable", "StagingRequests.choose_tape")
@pytest.mark.parametrize("to", ["HERE_DISK", "THERE_DISK"])
@pytest.mark.parametrize(("loss", "other"), [
    pytest.param(dict(what="dataset_deleted"), False, id="deleted"),
    pytest.param(dict(what="replica_lost", storage="HERE_TAPE"), False, id="lost, with no other tape"),
    pytest.param(dict(what="replica_lost", storage="HERE_TAPE"), True, id="lost, with another tape"),
])
def test_a_drive_gives_up_what_its_tape_has_lost_and_another_tape_is_read(to, loss, other):
    config = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True, destination_expression=to)))
    fast = dict(default=dict(bandwidth=100 * GB, latency=0, failure_rate=0))
    more = dict(more_storages=dict(THERE_TAPE=TAPE | dict(site="THERE")),
                disk=[dict(storage="THERE_TAPE")]) if other else {}
    stage = stage_of((*WAITS, timeline), {}, config=config, more_links=fast,
                     incidents=[dict(at=300, dataset="data0") | loss], **more)
    stage.run(300)
    before = request(stage).read_bytes
    stage.run(2000)
    tape, requests = stage.arrays.storages[2], stage.control.books.staging.requests
    assert 0 < tape["read_bytes"] == before < 400 * GB and (tape["mounted"], tape["held_bytes"]) == (0, 0)
    assert [one.status.word for one in requests.values()] == (["done"] if other else [])
    if other:
        assert stage.arrays.storages["read_bytes"][3] == pytest.approx(400 * GB - before)
    stage.check()


@pytest.mark.rule("best_source")
@pytest.mark.parametrize("kept", [pytest.param(True, id="a disk elsewhere"), pytest.param(False, id="only the tape")])
def test_jobs_at_the_site_of_the_tape_read_what_was_staged_to_a_disk_elsewhere(kept):
    there = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True, destination_expression="THERE_DISK")))
    fast = dict(default=dict(bandwidth=100 * GB, latency=0, failure_rate=0))
    stage = stage_of(WAITS, dict(nucleus=-1), config=there, more_links=fast)
    stage.run(2000)
    assert request(stage).status.word == "done"
    if not kept:
        lose_replica(stage.world, "data0", "THERE_DISK")
    stage.submit(1)
    job = stage.arrays.jobs[stage.live()[0]]
    assert (job["missing_bytes"], job["source_site"]) == (pytest.approx(4 * GB) if kept else 0, 1 if kept else -1)


@pytest.mark.rule("DataCarousel._cancel")
@pytest.mark.parametrize(("disk", "expires"), [
    pytest.param([], True, id="what was staged"),
    pytest.param([dict(storage="HERE_DISK", part=0.5, lifetime="30d")], True, id="a cached part was made whole"),
    pytest.param([dict(storage="HERE_DISK", part=0.5)], False, id="a pinned part was made whole"),
])
def test_requests_of_ended_tasks_are_cancelled(disk, expires):
    here = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True, destination_expression="HERE_DISK")))
    stage = stage_of(WAITS, {}, config=here, disk=disk)
    stage.run(200)
    row = on_disk(stage)
    assert not stage.arrays.replicas["expired"][row]
    stage.control.books.commands.give_unasked("abort", [0], stage.now)
    stage.run(1000)
    assert stage.control.books.staging.requests == {}
    row = stage.recorded("staging")[0]
    assert row["read_bytes"] < 400 * GB and not np.isnan(row["finished_s"])
    assert bool(stage.arrays.replicas["expired"][on_disk(stage)]) is expires
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


@pytest.mark.rule("DataCarousel._read")
def test_a_copy_that_is_lost_while_it_is_staged_is_read_again():
    here = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True, destination_expression="HERE_DISK")))
    stage = stage_of(WAITS, {}, config=here)
    stage.run(300)
    lose_replica(stage.world, "data0", "HERE_DISK")
    stage.run(2000)
    one = request(stage)
    assert one.status.word == "done" and one.read_bytes > 400 * GB
    assert stage.arrays.replicas["part"][on_disk(stage)] == pytest.approx(1)
    stage.check()


@pytest.mark.rule("DataCarousel._read")
def test_bytes_read_from_tape_are_passed_on_held_or_given_up():
    stage = stage_of(WAITS, {}, {}, n_datasets=2)
    stage.run(60)
    for number in range(2):
        assert take_space_of(stage.arrays, number, float(stage.arrays.storages["free_bytes"][number]) - 30 * GB)
    stage.run(1000)                                                       # one portion of 20 GB found room
    tape = stage.arrays.storages[2]
    assert (tape["read_bytes"], tape["passed_bytes"], tape["held_bytes"], tape["mounted"]) == pytest.approx(
        (40 * GB, 20 * GB, 20 * GB, 1))
    stage.check()
    stage.control.books.commands.give_unasked("abort", [0, 1], stage.now)
    stage.run(4000)
    assert (tape["dropped_bytes"], tape["held_bytes"], tape["mounted"]) == pytest.approx((20 * GB, 0, 0))
    stage.check()


@pytest.mark.parametrize(("column", "value", "text"), [
    ("mounted", 2, "2 tapes mounted in 1 drives"), ("mounted", -1, "-1 tapes mounted"),
    ("held_bytes", 1.0, "0 drives hold 1 bytes"), ("passed_bytes", 1.0, "0 bytes were read from tape, 1 are"),
])
def test_drives_that_do_too_much_are_found(column, value, text):
    stage = stage_of(WAITS, {})
    stage.arrays.storages[column][2] = value
    assert any(text in message for message in broken(stage.arrays))


def test_files_that_are_on_their_way_are_not_read_again_for_the_next_task():
    there = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True, destination_expression="THERE_DISK")))
    slow = dict(default=dict(bandwidth=0.1 * GB, latency=0, failure_rate=0))
    stage = stage_of(WAITS, {}, dict(arrival_s=1000), config=there, more_links=slow)
    stage.run(900)                                                        # all is read, little has arrived
    stage.control.books.commands.give_unasked("abort", [0], stage.now)
    stage.run(6000)
    second = request(stage)
    assert second.number == 2 and second.status.word == "done" and second.read_bytes == 0
    assert stage.arrays.storages["read_bytes"][2] == pytest.approx(400 * GB)
    stage.check()


@pytest.mark.rule("StagingRequests.is_needed", "give_size", "DataCarousel._read")
def test_input_of_a_task_alone_is_staged_from_the_drives_of_its_site():
    own = dict(replicas={0: 1.0}, nucleus=-1)
    stage = stage_of(WORKS, own, own, dict(replicas={0: 1.0}))
    stage.arrays.input_dataset[:] = 1 + np.arange(3)                      # none reads the shared dataset
    on_tape(stage)
    stage.run(60)
    ones = [request(stage, number) for number in (1, 2, 3)]
    assert [stage.control.books.staging.name(one.dataset) for one in ones] == [f"task.{k}.input" for k in (1, 2, 3)]
    assert {(one.bytes, one.files, one.source) for one in ones} == {(400 * GB, 100, 2)}
    stage.run(2000)
    assert [one.status.word for one in ones] == ["done"] * 3
    mounted = sorted(one.mounting_s for one in ones)
    assert np.diff(mounted) == pytest.approx(500)                         # one drive: 100 s to mount, 400 s to read
    assert stage.task(0) not in ("staging", "pending")
    stage.check()


@pytest.mark.rule("StagingRequests.is_needed")
def test_input_of_a_task_alone_stays_where_its_site_has_no_drives():
    stage = stage_of((task_source, task_refiner), dict(replicas={1: 1.0}))
    stage.arrays.input_dataset[0] = 1
    stage.arrays.replicas["tape"][stage.arrays.replicas["dataset"] == 1] = 1
    stage.run(60)
    assert stage.task() == "assigning" and not stage.control.books.staging.requests


@pytest.mark.rule("give_size")
def test_staged_input_of_a_task_alone_is_expired_data_once_the_task_is_gone():
    stage = stage_of(WAITS, dict(replicas={0: 1.0}))
    stage.arrays.input_dataset[0] = 1
    on_tape(stage)
    book, row = stage.control.books.staging, np.array([0])
    stage.run(200)
    assert book.holds(row).all()
    stage.run(1000)
    stage.control.books.commands.give_unasked("abort", [0], stage.now)
    stage.run(1100)
    assert not book.holds(row).any()
    forget_inputs(stage.world, row)
    disks = stage.arrays.storages[:2]
    assert disks["expired_bytes"].sum() == pytest.approx(400 * GB) and not disks["expired_replica_bytes"].any()
    stage.check()


def on_disk(stage) -> int:
    """The first replica of the shared dataset on disk."""
    return int(np.flatnonzero((stage.arrays.replicas["dataset"] == 0) & (stage.arrays.replicas["tape"] == 0))[0])


def on_tape(stage):
    """Put the replicas of what single tasks read on the tape of HERE."""
    own = stage.arrays.replicas["dataset"] >= 1
    stage.arrays.replicas["tape"][own], stage.arrays.replicas["storage"][own] = 1, 2


@pytest.mark.rule("DataCarousel._keep_alive", "is_refreshed")
@pytest.mark.parametrize("disk", [pytest.param([], id="staged"),
                                  pytest.param([dict(storage="HERE_DISK", lifetime=0)], id="of a copy without a rule")])
@pytest.mark.parametrize(("left_s", "ended", "refreshed"), [
    pytest.param(7 * DAY + 7200, False, False, id="a week is left"),
    pytest.param(7 * DAY - 7200, False, True, id="less than a week is left"),
    pytest.param(3 * HOUR, False, True, id="more than two hours are left"),
    pytest.param(1.5 * HOUR, False, False, id="less than two hours are left"),
    pytest.param(7 * DAY - 7200, True, False, id="the task has ended"),
])
def test_the_rule_of_what_active_tasks_read_is_refreshed(left_s, ended, refreshed, disk):
    stage = stage_of(WAITS, {}, disk=disk)
    stage.run(1000)
    if ended:
        stage.control.books.commands.give_unasked("abort", [0], stage.now)
        stage.run(1020)
    row = on_disk(stage)
    stage.arrays.replicas["expires_s"][row] = stage.now + left_s
    until = stage.now + 3700                                              # rules are looked at once an hour
    stage.run(until)
    left = stage.arrays.replicas["expires_s"][row] - stage.now
    assert left == pytest.approx(30 * DAY if refreshed else left_s - 3700, abs=3700)


@pytest.mark.rule("StagingRequests._new", "to_stage", "DataCarousel._read")
@pytest.mark.parametrize("max_size", [0, 1000])
def test_a_whole_copy_on_disk_without_a_rule_is_pinned_whatever_the_quota(max_size):
    config = dict(source_tapes_config=dict(HERE_TAPE=dict(active=True, max_size=max_size)))
    stage = stage_of(WAITS, {}, config=config, disk=[dict(storage="THERE_DISK", lifetime=0)])
    row = on_disk(stage)
    assert stage.arrays.replicas["expired"][row]
    stage.run(60)
    one = request(stage)
    assert one.to_pin and one.status.word == "done" and np.isnan(one.mounting_s) and one.read_bytes == 0
    assert stage.world.vocabularies["storages"][one.destination] == "THERE_DISK" and stage.task() != "staging"
    assert not stage.arrays.replicas["expired"][row]
    assert stage.arrays.replicas["expires_s"][row] == pytest.approx(30 * DAY, abs=60)
    stage.check()


@pytest.mark.rule("exceeds_tape_quota", "task_refiner.task_refiner")
@pytest.mark.parametrize(("said", "limit", "status"), [
    (dict(label="user"), 0.4, "staging"), (dict(label="user"), 0.39, "broken"), (dict(label="user"), 0, "broken"),
    (dict(label="user"), -1, "staging"), (dict(label="managed"), 0, "staging"),
    (dict(label="managed", share=-1, resource_type=-1), -1, "broken"),
])
def test_users_stage_no_more_than_their_limit(said, limit, status):
    stage = stage_of((task_source, task_refiner), said, shares=[dict(name="All", value=1, prodsourcelabel="user")])
    stage.control.policies.set_config("USER_MAX_TAPE_INPUT_TB", limit)
    stage.run(60)
    assert stage.task() == status
