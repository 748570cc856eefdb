"""Secondary datasets with replicas of their own: jobs wait for them, files move once, brokers see where they lie."""

from dataclasses import replace

import numpy as np
import pytest
from builders import EVENTFUL, Bench, Stage, everyone, two_sites

from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.panda.jobs import setupper
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.agents.run.timeline import task_source
from simgrid_broker.compiled import uncompiled
from simgrid_broker.engine import simulate
from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import load_scenario
from simgrid_broker.views import PART
from simgrid_broker.world.data.datasets import add_replica_at, lose_replica, master_bytes, own_part
from simgrid_broker.world.views import observe
from simgrid_broker.world.views.nuclei import has_complete_replicas, parts_at
from simgrid_broker.world.views.tasks import PASSES, fill_parts_of, fill_sources_of

MB, GB, TB = 1e6, 1e9, 1e12
GENERATION = (task_source, task_refiner, statistics, job_generator, setupper)
DISK = dict(total=1000 * TB, free=500 * TB)
DISKS = dict(HERE_DISK=dict(site="HERE", **DISK), THERE_DISK=dict(site="THERE", **DISK))
MASTER = dict(files=4, bytes=4 * MB, replicas=[dict(storage="HERE_DISK")])
TASK = dict(label="user", cputime=10.0, cpuefficiency=100.0, n_events_per_job=100, input_bytes_per_job=3 * MB,
            n_input_files=3, split=dict(n_files=4, events_per_file=100, file_bytes=MB, nfilesperjob=1, secondaries=1))
"""Four master files of a MB, which lie at HERE, where the jobs run; each job reads one."""


def pileup(n_files=10, storage="THERE_DISK", part=1.0):
    """A dataset of files of a MB that lies at THERE, or as said, with all files at THERE."""
    replicas = [dict(storage="THERE_DISK")] + ([dict(storage=storage, part=part)] if storage != "THERE_DISK" else [])
    return dict(files=n_files, bytes=n_files * MB, replicas=replicas)


def stage_of(secondary, *more, other=None, said=None, agents=GENERATION, queue=0, n_tasks=1, **plan):
    """A task with secondary datasets at THERE, of which each file takes a second to HERE, and 30 s of latency; queue:
    the queue of its jobs, 0 = that at HERE."""
    stream = dict(name="task", hs06sec_per_event=1, dataset="master",
                  input=dict(secondaries=[dict(dataset="pileup") | secondary, *more]))
    data = dict(master=MASTER, pileup=pileup()) | (other or {})
    made = two_sites(storages=DISKS, link=dict(bandwidth=MB, latency=30), data=dict(datasets=data),
                     agents=dict(task_refiner=10), workload=dict(campaigns=[stream]),
                     **dict(there=dict(nucleus=False)) | plan)
    stage = Stage(agents, made, *[TASK | (said or {})] * n_tasks)
    stage.arrays.input_dataset[:n_tasks] = 0
    n = len(stage.control.brokers.queues.queue)
    stage.control.policies.job_brokerage = lambda *_: replace(everyone(n), order=np.array([queue]), weight=np.ones(n))
    return stage


def when_set_up(stage):
    """Run until jobs have been set up; returns the time."""
    while "assigned" not in stage.statuses() and "activated" not in stage.statuses():
        stage.run(stage.now + 10.0)
    return stage.now


def at_here(stage, dataset=1):
    """Part of a dataset on the disk of HERE."""
    return sum(part for site, part, _ in observe.replicas(stage.world, dataset) if site == 0)


@pytest.mark.rule("bring_secondaries", "awaits_secondaries", "inputs_of", "master_bytes")
@pytest.mark.parametrize(("secondary", "each", "moved", "files"), [
    pytest.param(dict(np=2), 2, 8, 8, id="np: two files for each job"),
    pytest.param(dict(ratio=2), 2, 8, 8, id="ratio: two files for each master file"),
    pytest.param(dict(er=2, events_per_file=100), 2, 8, 8, id="er: two events for each of the master"),
    pytest.param(dict(nosplit=True), 10, 10, 10, id="nosplit: each job reads all, which move once"),
    pytest.param(dict(np=6, ru=True), 6, 10, 12, id="ru: from the first file again"),
])
def test_jobs_wait_for_the_secondary_files_that_are_not_at_their_site(secondary, each, moved, files):
    stage = stage_of(secondary)
    begun = when_set_up(stage)
    rows = stage.live()
    assert stage.statuses() == ["assigned"] * 4
    assert stage.arrays.jobs["n_input_files"][rows].tolist() == [1 + each] * 4
    assert stage.arrays.jobs["input_bytes"][rows] == pytest.approx([(1 + each) * MB] * 4)
    stage.check()
    stage.run(begun + 30 + 2 * files)
    assert stage.statuses() == ["activated"] * 4
    assert stage.moved()["bytes"].sum() == pytest.approx(moved * MB, rel=0.21)
    assert set(stage.moved()["dataset"].tolist()) == {1}
    assert at_here(stage) == pytest.approx(moved / 10, rel=0.21)
    stage.check()


@pytest.mark.rule("awaits_secondaries", "bring_secondaries", "master_bytes")
def test_a_job_waits_for_master_and_secondaries_whichever_comes_last():
    master = dict(files=4, bytes=40 * MB, replicas=[dict(storage="THERE_DISK")])
    stage = stage_of(dict(np=1), dict(dataset="calibration", nosplit=True), said=dict(
        split=TASK["split"] | dict(file_bytes=10 * MB)), other=dict(
            master=master, calibration=dict(files=1, bytes=100 * MB, replicas=[dict(storage="THERE_DISK")])))
    begun = when_set_up(stage)
    assert stage.statuses() == ["assigned"] * 4
    seen = []
    for second in range(0, 200, 5):
        stage.run(begun + second)
        stage.check()
        seen.append((len(stage.moved()), stage.statuses().count("activated")))
    assert {jobs for transfers, jobs in seen if transfers < 3} == {0}      # master, pileup and calibration
    assert seen[-1] == (3, 4)
    assert sorted(stage.moved()["bytes"].tolist()) == pytest.approx([4 * MB, 40 * MB, 100 * MB], rel=0, abs=0.5)
    assert sorted(stage.moved()["n_files"].tolist()) == [1, 4, 12]


@pytest.mark.rule("bring_secondaries")
def test_draws_of_secondary_files_belong_to_their_dataset():
    there = dict(replicas=[dict(storage="THERE_DISK")])
    calibration = dict(dataset="calibration", nosplit=True)
    lists = [(dict(np=1),), (dict(np=1), calibration), (calibration, dict(dataset="pileup", np=1))]
    found = []
    for secondaries in lists:
        stage = stage_of(*secondaries, other=dict(master=dict(files=4, bytes=4 * MB) | there,
                                                  calibration=dict(files=1, bytes=MB) | there))
        stage.run(when_set_up(stage) + 300)
        names = np.array(stage.world.catalogue.names)[stage.moved()["dataset"]]
        found.append(dict(zip(names.tolist(), stage.moved()["luck"].tolist(), strict=True)))
        assert len({*found[-1].values()}) == 1 + len(secondaries)
    assert found[0].items() < found[1].items() and found[1] == found[2]   # whatever else is read, and its order


@pytest.mark.rule("bring_secondaries")
def test_secondary_files_at_the_site_are_not_moved():
    stage = stage_of(dict(np=2), other=dict(pileup=pileup(storage="HERE_DISK")))
    when_set_up(stage)
    assert stage.statuses() == ["activated"] * 4 and not len(stage.moved())


@pytest.mark.rule("bring_secondaries")
def test_the_first_replica_of_the_world_is_one_like_any_other():
    stage = stage_of(dict(np=2))
    lose_replica(stage.world, "pileup", "THERE_DISK")
    lose_replica(stage.world, "master", "HERE_DISK")
    for name in ("pileup", "master"):
        add_replica_at(stage.world, name, "HERE_DISK", 1.0)
    assert stage.arrays.datasets["first_replica"][1] == 0
    when_set_up(stage)
    assert stage.statuses() == ["activated"] * 4 and not len(stage.moved())


@pytest.mark.rule("bring_secondaries", "awaits_secondaries")
def test_jobs_behind_the_last_secondary_file_wait_for_none():
    stage = stage_of(dict(np=5))
    when_set_up(stage)
    assert stage.statuses() == ["assigned", "assigned", "activated", "activated"]


@pytest.mark.rule("bring_secondaries")
def test_secondary_files_come_from_the_first_of_all_sites():
    stage = stage_of(dict(nosplit=True), queue=1, other=dict(pileup=dict(
        files=10, bytes=10 * MB, replicas=[dict(storage="HERE_DISK")])))
    stage.run(when_set_up(stage) + 90)
    assert stage.statuses() == ["activated"] * 4
    assert sorted(stage.moved()["bytes"].tolist()) == pytest.approx([4 * MB, 10 * MB])


@pytest.mark.rule("bring_secondaries")
@pytest.mark.parametrize(("n_files", "part", "size", "files"), [
    (2, 0.75, [0.5 * MB], [1]), (2, 0.76, [], []), (3, 0.5, [1.5 * MB], [2]), (2, 0.0, [2 * MB], [2])])
def test_files_that_all_jobs_read_lack_from_half_a_file_on(n_files, part, size, files):
    held = pileup(n_files, **dict(storage="HERE_DISK", part=part) if part else {})
    stage = stage_of(dict(nosplit=True), other=dict(pileup=held))
    stage.run(when_set_up(stage) + 60)
    assert stage.statuses() == ["activated"] * 4 and stage.moved()["n_files"].tolist() == files
    assert stage.moved()["bytes"].tolist() == pytest.approx(size)


@pytest.mark.rule("bring_secondaries")
def test_another_attempt_misses_no_more_than_the_site():
    stage = stage_of(dict(np=2))
    stage.run(when_set_up(stage) + 60)
    stage.take_back()
    stage.run(stage.now + 400)
    again = stage.arrays.jobs[stage.live()]
    assert again["attempt"].tolist() == [2] * 4 and stage.statuses() == ["activated"] * 4
    assert stage.moved()["bytes"].tolist() == pytest.approx([8 * MB, 2 * MB * (1 - 0.8 ** 4)])


@pytest.mark.rule("awaits_secondaries")
def test_secondary_files_that_are_under_way_when_the_master_has_come_are_not_asked_for_again():
    large = dict(files=10, bytes=100 * MB, replicas=[dict(storage="THERE_DISK")])
    stage = stage_of(dict(np=1), other=dict(master=MASTER | dict(replicas=large["replicas"]), pileup=large))
    begun = when_set_up(stage)
    stage.run(begun + 200)
    assert stage.statuses() == ["activated"] * 4
    assert stage.moved()["bytes"].tolist() == pytest.approx([4 * MB, 40 * MB])


@pytest.mark.rule("awaits_secondaries")
def test_secondary_files_that_land_in_the_first_of_all_replicas_have_landed():
    third = dict(files=1, bytes=MB, replicas=[dict(storage="THERE_DISK")])
    stage = stage_of(dict(np=2), other=dict(third=third))
    lose_replica(stage.world, "master", "HERE_DISK")
    lose_replica(stage.world, "third", "THERE_DISK")
    add_replica_at(stage.world, "master", "HERE_DISK", 1.0)
    stage.run(when_set_up(stage) + 100)
    assert stage.arrays.replicas["dataset"][0] == 1 and stage.arrays.replicas["site"][0] == 0
    assert stage.statuses() == ["activated"] * 4
    assert stage.moved()["bytes"].tolist() == pytest.approx([8 * MB])


@pytest.mark.rule("bring_secondaries")
def test_files_of_a_byte_are_brought():
    stage = stage_of(dict(np=1), other=dict(pileup=dict(files=4, bytes=4, replicas=[dict(storage="THERE_DISK")])))
    when_set_up(stage)
    assert stage.statuses() == ["assigned"] * 4


@pytest.mark.rule("bring_secondaries")
def test_a_transfer_of_secondary_files_is_for_twenty_jobs():
    stage = stage_of(dict(np=1), said=dict(split=TASK["split"] | dict(n_files=21)), other=dict(
        master=MASTER | dict(files=21, bytes=21 * MB), pileup=pileup(99)))
    stage.run(when_set_up(stage) + 120)
    assert sorted(stage.moved()["n_files"].tolist()) == [1, 20]


@pytest.mark.rule("bring_secondaries")
def test_tasks_have_transfers_of_their_own():
    stage = stage_of(dict(np=1), n_tasks=2, other=dict(pileup=pileup(99)))
    stage.run(when_set_up(stage) + 120)
    assert sorted(stage.moved()["jeditaskid"].tolist()) == [1, 2]


@pytest.mark.rule("to_bring", "bring_secondaries")
def test_a_part_of_the_secondary_files_is_at_the_site():
    stage = stage_of(dict(nosplit=True), other=dict(pileup=pileup(storage="HERE_DISK", part=0.6)))
    begun = when_set_up(stage)
    stage.run(begun + 60)
    assert stage.moved()["bytes"].tolist() == pytest.approx([4 * MB])
    assert at_here(stage) == pytest.approx(1.0)


@pytest.mark.rule("awaits_secondaries")
def test_jobs_whose_secondary_files_are_nowhere_stay_assigned():
    stage = stage_of(dict(np=2))
    lose_replica(stage.world, "pileup", "THERE_DISK")
    when_set_up(stage)
    assert stage.statuses() == ["assigned"] * 4 and (stage.arrays.jobs["transfer"][stage.live()] == -1).all()
    assert (stage.arrays.jobs["source_site"][stage.live()] == -1).all()
    stage.check()


@pytest.mark.rule("awaits_secondaries")
def test_secondary_files_that_vanish_under_way_are_asked_for_again():
    slow = dict(files=4, bytes=240 * MB, replicas=[dict(storage="THERE_DISK")])
    stage = stage_of(dict(np=2), other=dict(master=slow), said=dict(split=TASK["split"] | dict(file_bytes=60 * MB)))
    begun = when_set_up(stage)
    stage.run(begun + 1)
    stage.fabric.sources_vanish(lose_replica(stage.world, "pileup", "THERE_DISK"), stage.now)
    stage.run(begun + 60)
    assert at_here(stage) == 0.0
    add_replica_at(stage.world, "pileup", "THERE_DISK", 1.0)
    stage.run(begun + 270)                                                # the master files have come
    assert stage.statuses() == ["assigned"] * 4
    stage.check()
    stage.run(begun + 400)
    assert stage.statuses() == ["activated"] * 4 and at_here(stage) == pytest.approx(0.8)
    stage.check()


@pytest.mark.rule("awaits_secondaries", "bring_secondaries")
def test_jobs_that_come_later_find_what_was_brought():
    stage = stage_of(dict(nosplit=True))
    begun = when_set_up(stage)
    stage.run(begun + 60)
    assert stage.statuses() == ["activated"] * 4
    stage.take_back()
    stage.run(begun + 4000)
    assert len(stage.moved()) == 1
    stage.check()


@pytest.mark.rule("bring_secondaries")
def test_nothing_is_asked_of_a_secondary_dataset_with_the_first_of_all_replicas_at_its_site():
    stage = stage_of(dict(np=2))
    for dataset, storage in (("pileup", "THERE_DISK"), ("master", "HERE_DISK")):
        lose_replica(stage.world, dataset, storage)
    add_replica_at(stage.world, "pileup", "HERE_DISK", 1.0)                # in the row that was free last
    assert stage.arrays.datasets["first_replica"].tolist()[:2] == [-1, 0]
    when_set_up(stage)
    assert (stage.arrays.job_inputs["awaited_id"][stage.live(), 0] == 0).all() and not len(stage.moved())


# ---- brokers ---------------------------------------------------------------------------------------------------------

@pytest.mark.rule("fill_parts", "input_of_pieces", "own_part")
@pytest.mark.parametrize(("secondary", "storage", "part", "disk", "complete"), [
    pytest.param(dict(np=2), "THERE_DISK", 1.0, (1 / 3, 2 / 3), (False, False), id="master here, secondary there"),
    pytest.param(dict(np=2), "HERE_DISK", 1.0, (1.0, 2 / 3), (True, False), id="both here"),
    pytest.param(dict(np=2), "HERE_DISK", 0.9, (1 / 3, 2 / 3), (False, False), id="an incomplete replica"),
])
def test_brokers_see_where_each_dataset_lies(secondary, storage, part, disk, complete):
    stage = stage_of(secondary, other=dict(pileup=pileup(storage=storage, part=part)), agents=())
    task, seen = observe.task(stage.world, 0), observe.job_input(stage.world, 0)
    found = observe.locality(task, seen, 4)
    assert found.disk_bytes == pytest.approx(disk) and found.disk_files == pytest.approx(disk)
    assert tuple(found.complete) == complete and found.somewhere == any(complete)
    assert [one.name for one in found.inputs] == ["input", "pileup"]
    states = [one.states.tolist() for one in observe.input_at_queues(stage.world, 0).datasets]
    assert len(states) == 2


def parts_of(stage, n_jobs=1):
    """Parts of the input of some jobs of the task at both queues: on disk and anywhere, by bytes and by files."""
    parts = np.zeros(len(stage.arrays.queues), PART)
    fill_parts_of(stage.arrays, stage.world.view_tables, 0, n_jobs, parts)
    return parts


@pytest.mark.rule("fill_parts")
def test_parts_of_an_input_of_one_byte_and_one_file():
    stage = stage_of(dict(np=1), agents=())
    tasks, secondaries = stage.arrays.tasks, stage.arrays.secondaries
    tasks["input_bytes_per_job"][0], tasks["n_input_files"][0] = 1.0, 1
    secondaries["bytes"][0] = secondaries["files"][0] = 0.5
    for _ in range(2):                                                     # nothing is left of the first look
        parts = parts_of(stage)
        assert parts["disk_bytes"].tolist() == parts["disk_files"].tolist() == [0.5, 0.5]


@pytest.mark.rule("fill_parts")
@pytest.mark.parametrize("tape", [(0.6, 0.3), (0.3, 0.6)])
def test_of_two_copies_on_tape_the_larger_counts(tape):
    master = MASTER | dict(replicas=[dict(storage="HERE_DISK"), dict(storage="THERE_DISK")])
    stage = stage_of(dict(np=2), agents=(), other=dict(master=master, pileup=pileup()))
    replicas = stage.arrays.replicas
    of_master = [place for place in range(len(replicas)) if replicas["dataset"][place] == 0]
    replicas["site"][of_master], replicas["tape"][of_master], replicas["part"][of_master] = 0, 1, tape
    parts = parts_of(stage, n_jobs=4)
    assert parts["disk_bytes"][0] == 0.0 and parts["any_bytes"][0] == pytest.approx(0.6 / 3)


@pytest.mark.rule("fill_parts")
@pytest.mark.parametrize(("storage", "off", "is_open"), [
    pytest.param(-1, (1, 1), True, id="a site without storage"), pytest.param(0, (1, 0), False, id="closed"),
    pytest.param(0, (0, 1), True, id="open"), pytest.param(1, (0, 1), False, id="another closed")])
def test_a_site_without_storage_lets_everyone_read(storage, off, is_open):
    stage = stage_of(dict(np=2), agents=())
    arrays, tables = stage.arrays, stage.world.view_tables
    for name in ("read_lan_off", "read_wan_off"):
        arrays.storages[name][:2] = off
    arrays.sites["storage"][0] = storage
    assert uncompiled(fill_sources_of)(arrays, tables, 0, 0, 4.0, 0) == 1
    source = tables.sources[0]
    assert (source["lan"], source["wan"], source["part"], source["missing"]) == (is_open, is_open, 1.0, 0.0)


@pytest.mark.rule("fill_parts")
@pytest.mark.parametrize(("part", "size", "n", "missing"), [
    pytest.param(0.25, 1.0, 1, 3.0, id="a part"), pytest.param(0.0, 1.0, 0, 0, id="nothing of it"),
    pytest.param(1.0, 0.0, 0, 0, id="jobs that read nothing"), pytest.param(1.0, 0.5, 1, 0.0, id="half a byte")])
def test_sources_are_replicas_that_have_some_of_what_is_read(part, size, n, missing):
    stage = stage_of(dict(np=2), agents=())
    arrays, tables = stage.arrays, stage.world.view_tables
    arrays.replicas["part"][arrays.datasets["first_replica"][0]] = part
    arrays.tasks["input_bytes_per_job"][0] = size
    assert uncompiled(fill_sources_of)(arrays, tables, 0, 0, 4.0, 0) == n
    assert n == 0 or tables.sources["missing"][0] == missing


@pytest.mark.rule("total_input", "parts_at", "own_part")
@pytest.mark.parametrize(("said", "size", "here", "there"), [
    pytest.param({}, 4 + 10, 4 / 14, 10 / 14, id="a secondary dataset counts once"),
    pytest.param(dict(taskbrokeronmaster=1, secondary_fraction=2 / 3), 4, 1.0, 0.0, id="taskBrokerOnMaster"),
])
def test_task_brokerage_counts_each_dataset_once(said, size, here, there):
    stage = stage_of(dict(np=2), said=said, agents=())
    assert observe.task(stage.world, 0).total_input_bytes == pytest.approx(size * MB)
    assert parts_at(stage.arrays, 0, 0)[0] == pytest.approx(here)
    assert parts_at(stage.arrays, 0, 1)[0] == pytest.approx(there)


@pytest.mark.rule("own_part")
@pytest.mark.parametrize(("size", "part"), [(1.0, 0.5), (0.5, 0.5), (2.0, 0.75)])
def test_the_part_of_the_master_in_the_input(size, part):
    stage = stage_of(dict(np=1), agents=())
    stage.arrays.tasks["input_bytes_per_job"][0], stage.arrays.secondaries["bytes"][0] = size, 0.5
    assert uncompiled(own_part)(stage.arrays, 0) == pytest.approx((part, 2 / 3))


@pytest.mark.rule("master_bytes")
def test_what_a_job_reads_of_its_master():
    stage = stage_of(dict(np=2))
    when_set_up(stage)
    row = stage.live()[0]
    assert uncompiled(master_bytes)(stage.arrays, row) == MB
    stage.arrays.jobs["input_bytes"][row] = MB                             # less than of the secondary dataset
    assert uncompiled(master_bytes)(stage.arrays, row) == 0.0
    plain = Bench(None, {})
    plain.submit(1)
    row = plain.live()[0]
    assert uncompiled(master_bytes)(plain.arrays, row) == plain.arrays.jobs["input_bytes"][row]


@pytest.mark.rule("has_complete_replicas")
@pytest.mark.parametrize(("said", "complete"), [
    pytest.param({}, False, id="a secondary dataset is nowhere whole"),
    pytest.param(dict(taskbrokeronmaster=1), True, id="taskBrokerOnMaster"),
])
def test_a_secondary_dataset_that_is_lost_stops_task_brokerage(said, complete):
    stage = stage_of(dict(np=2), said=said, agents=(), other=dict(pileup=pileup(storage="HERE_DISK", part=0.5)))
    lose_replica(stage.world, "pileup", "THERE_DISK")
    assert has_complete_replicas(stage.arrays, 0, PASSES["deployed"]) == complete


@pytest.mark.parametrize(("secondary", "expected"), [
    pytest.param(dict(dataset="pileup", files=3), "dataset says how many", id="files beside a dataset"),
    pytest.param(dict(dataset="pile"), "pileup", id="an unknown name"),
])
def test_wrong_secondaries_are_refused(secondary, expected):
    with pytest.raises(ScenarioError, match=expected):
        stage_of(secondary)


# ---- runs ------------------------------------------------------------------------------------------------------------

HELD = {"data.datasets": dict(
    runA=dict(files=60, bytes=6 * GB, replicas=[dict(storage="CENTRE_DATADISK")]),
    runB=dict(files=30, bytes=6 * GB, replicas=[dict(storage="NORTH_DATADISK")]),
    minbias=dict(files=40, bytes=2 * GB, replicas=[dict(storage="SOUTH_DATADISK")]),
    calib=dict(files=3, bytes=0.3 * GB, replicas=[dict(storage="NORTH_DATADISK"), dict(storage="SOUTH_DATADISK")]))}
OWN = dict(input_per_job=None, jobs_per_task=None, events_per_job=None,
           input=dict(events_per_file=40, secondaries=[
               dict(dataset="minbias", ratio=2, repeat=True), dict(dataset="calib", nosplit=True)]))
CUT = {f"workload.{stream}.{key}": value for stream, sizes in (
    ("campaigns.simulation", dict(output_per_event=7e5, nFilesPerJob=3)),
    ("users.analysis", dict(output_per_job=None, dataset="runB", nFilesPerJob=2)))
    for key, value in (OWN | sizes).items()}
MASTERS = dict(documented={"workload.campaigns.simulation.datasets": ["runA", "runB"]},
               deployed={"workload.campaigns.simulation.dataset": "runA"})


@pytest.fixture(scope="module", params=["documented", "deployed"])
def run(request, tmp_path_factory):
    """A run whose tasks have secondaries, and in `documented` several masters, checked at every sample; each decision
    is made again by a dry run."""
    plan = load_scenario("scenarios/minimal.yaml").with_values(
        EVENTFUL | HELD | CUT | MASTERS[request.param] | {
            "duration": 3 * 3600, "record.jobs": True, "edition": request.param,
            "gdpconfig.NUM_CUTOFF_TO_MOVE_INPUT": 1000, "gdpconfig.DISK_THRESHOLD": 1})
    return simulate(plan, folder=tmp_path_factory.mktemp("secondaries") / "run", validate=True, check_decisions=1.0)


def test_jobs_of_a_run_read_their_master_and_the_secondaries(run):
    jobs = run.jobs[run.jobs.n_input_files == 3 + 6 + 3]
    assert len(jobs) > 20 and (run.jobs.n_input_files <= 12).all()
    assert (jobs.input_bytes / GB).round(6).isin([0.9, 1.2]).all()
    assert len(run.table("decisions")) > 20


def test_a_run_moves_the_secondary_files_once_to_each_site(run):
    moved = run.table("transfers")
    moved = moved[(moved.kind == "input") & (moved.source.astype(str) == "SOUTH")]
    size = moved.groupby(moved.destination.astype(str)).bytes.sum() / GB
    assert len(size) and (size <= (2 + 0.3) * (1 + 1e-6)).all()


def test_a_task_with_several_masters_reads_them_all(run):
    table = run.task_datasets[run.task_datasets.type == "input"]
    assert len(table) or run.manifest["scenario"]["edition"] == "deployed"
    assert set(table.dataset.astype(str)) <= {"runA", "runB"} and (table.groupby("jeditaskid").size() == 2).all()


def test_each_consumer_of_event_service_brings_the_secondary_files_to_its_own_site(tmp_path):
    stream = "workload.campaigns.simulation."
    events = dict(dataset="runA", eventService=True, nEventsPerWorker=20, nEsConsumers=2, nSitesPerJob=2)
    plan = load_scenario("scenarios/minimal.yaml").with_values(
        HELD | CUT | {stream + key: value for key, value in events.items()}
        | {f"grid.queues.{name}.jobseed": "all" for name in ("CENTRE", "NORTH", "SOUTH")}
        | {"duration": 5 * 3600, "record.jobs": True, "edition": "deployed",
           "gdpconfig.NUM_CUTOFF_TO_MOVE_INPUT": 1000})
    run = simulate(plan, folder=tmp_path / "run", validate=True)
    consumers = run.jobs[run.jobs.n_chunks != 0].groupby(["jeditaskid", "chunk"])
    assert (consumers.input_bytes.nunique() == 1).all() and (consumers.n_input_files.max() <= 3 + 6 + 3).all()
    assert (consumers.queue.nunique() == 2).any()
    merged = run.jobs[(run.jobs.n_chunks == 0) & (run.jobs.status == "finished")]
    assert len(merged) and (merged.n_input_files == 1).all(), "a merge job reads the output of its consumers alone"
    moved = run.table("transfers")
    moved = moved[(moved.kind == "input") & (moved.bytes.round() != 120 * 7e5)]       # merge jobs bring as much
    master = moved[(moved.source == "CENTRE") & (moved.n_jobs > 0)]                     # others lost their jobs
    closed = run.jobs[run.jobs.status == "closed"]
    left = [((closed.assigned_s == one.submitted_s) & (closed.queue == one.destination)).sum()
            for one in master.itertuples()]
    assert len(master) and (master.bytes <= 0.3 * GB * (1 + 1e-6) * (master.n_jobs + left)).all(), (
        "three files of 0.1 GB a job, also for those that have left their transfer")
    secondary = moved[moved.source == "SOUTH"].groupby("destination", observed=True).bytes.sum()
    assert len(secondary) == 2 and (secondary <= (2 + 0.3) * GB * (1 + 1e-6)).all(), "once to both other sites"
