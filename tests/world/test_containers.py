"""Containers that tasks read whole: their datasets, pieces that never cross them, and what is brokered together."""

import numpy as np
import pytest
from builders import Bench, two_sites

from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario.checks.data import container_read_whole
from simgrid_broker.scenario.work.synthetic import task_list
from simgrid_broker.world.build import build
from simgrid_broker.world.data.datasets import datasets_of, members_of
from simgrid_broker.world.tasks import input_files
from simgrid_broker.world.tasks.input_files import dataset_of, offered, take_in_hand, use_pieces
from simgrid_broker.world.tasks.rows import give_back, place
from simgrid_broker.world.views.nuclei import has_complete_replicas, parts_at

GB, TB = 1e9, 1e12
DISKS = dict(HERE_DISK=dict(site="HERE", total=1000 * TB, free=500 * TB),
             THERE_DISK=dict(site="THERE", total=1000 * TB, free=500 * TB))
STREAM = dict(name="simulation", hs06sec_per_event=1.0, backlog=1, corecount=1, ramcount=1000, container="runs")


def runs(*files, where=("HERE_DISK",) * 9):
    """Datasets of 1 GB a file in one container."""
    return {f"run{k}": dict(files=n, bytes=n * GB, container="runs", replicas=[dict(storage=storage)])
            for k, (n, storage) in enumerate(zip(files, where, strict=False))}


def plan(files=(5, 1, 4), stream=None, where=("HERE_DISK",) * 9, **others):
    """HERE and THERE with a container, and a campaign of one task that reads it."""
    return two_sites(storages=DISKS, data=dict(datasets=runs(*files, where=where)),
                     workload=dict(campaigns=[STREAM | dict(whole_container=True) | (stream or {})]), **others)


def world_of(*said, **others):
    """The world of such a scenario."""
    made = plan(*said, **others)
    return build(made, task_list(made))


def bench_of(files=(5, 1, 4), where=("HERE_DISK",) * 9, **said):
    """A task that reads a container of datasets with so many files, one a job."""
    return Bench(plan(files, where=where), dict(container=0, n_jobs=sum(files), input_bytes_per_job=GB) | said)


@pytest.mark.rule("hold_containers")
@pytest.mark.parametrize(("said", "pieces"), [
    pytest.param(dict(files_per_job=1), [5, 1, 4], id="a job for each file"),
    pytest.param(dict(files_per_job=2), [3, 1, 2], id="the last job of a dataset has fewer: none reads two datasets"),
    pytest.param(dict(files_per_job=9), [1, 1, 1], id="a job for each dataset"),
    pytest.param(dict(input=dict(events_per_file=10), nFilesPerJob=3), [5, 1, 4], id="files from which jobs are cut"),
    pytest.param(dict(input=dict(events_per_file=100), nEventsPerJob=80), [7, 2, 5],
                 id="parts of files, each of one dataset"),
])
def test_every_dataset_of_a_container_has_its_own_pieces(said, pieces):
    world = world_of(stream=said)
    members = members_of(world.arrays, 0)
    assert members["n_pieces"].tolist() == pieces and world.arrays.tasks["n_jobs"][0] == sum(pieces)
    assert members["first_piece"].tolist() == [0, *np.cumsum(pieces)[:-1]]
    assert members["piece_bytes"] == pytest.approx([n * GB / k for n, k in zip((5, 1, 4), pieces, strict=True)])
    assert datasets_of(world.arrays, 0) == [0, 1, 2]


@pytest.mark.parametrize(("stream", "read"), [
    pytest.param(dict(whole_container=True), [0, 1, 2], id="whole"),
    pytest.param(dict(whole_container=False), [1], id="one that is drawn"),
])
def test_a_task_reads_all_datasets_or_one(stream, read):
    world = world_of(stream=stream)
    assert len(datasets_of(world.arrays, 0)) == len(read)


@pytest.mark.rule("dataset_of")
def test_the_dataset_of_a_piece():
    arrays = bench_of().arrays
    assert [dataset_of(arrays, 0, piece) for piece in range(10)] == [0] * 5 + [1] + [2] * 4


@pytest.mark.rule("place_of", "file_in_task")
def test_no_part_of_files_crosses_datasets():
    world = world_of(stream=dict(input=dict(events_per_file=100), nEventsPerJob=80))
    events = [input_files.events_of(world.arrays, 0, piece) for piece in range(14)]
    assert events == [80] * 6 + [20] + [80, 20] + [80] * 5
    assert [input_files.file_in_task(world.arrays, 0, piece) for piece in range(14)] == [
        0, 0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 8, 9]


@pytest.mark.rule("offered", "take_in_hand")
def test_one_dataset_is_brokered_at_a_time():
    bench, seen = bench_of(), []
    while pieces := int(take_in_hand(bench.arrays, 0, 0, -1)):
        seen.append((int(bench.arrays.input_dataset[0]), pieces))
        use_pieces(bench.arrays, 0, pieces)
    assert seen == [(0, 5), (1, 1), (2, 4)] and bench.arrays.tasks["next_chunk"][0] == 10


@pytest.mark.rule("take_in_hand")
def test_a_dataset_that_found_no_queue_does_not_keep_the_next_one_back():
    bench = bench_of()
    first = int(bench.arrays.containers["first"][0])
    assert (int(take_in_hand(bench.arrays, 0, 0, first)), int(bench.arrays.input_dataset[0])) == (1, 1)
    bench.make()
    assert bench.arrays.jobs["chunk"][bench.live()].tolist() == [5]
    assert int(take_in_hand(bench.arrays, 0, 0, first + 2)) == 0


@pytest.mark.rule("offered", "take_in_hand")
def test_a_retried_piece_of_an_earlier_dataset_comes_with_its_own():
    bench = bench_of(max_attempt=3)
    bench.submit(6)
    bench.take_back(int(bench.live()[1]))
    assert (int(take_in_hand(bench.arrays, 0, 0, -1)), int(bench.arrays.input_dataset[0])) == (1, 0)
    bench.make()
    assert (int(take_in_hand(bench.arrays, 0, 0, -1)), int(bench.arrays.input_dataset[0])) == (4, 2)
    bench.make(4)
    assert sorted(bench.arrays.jobs["chunk"][bench.live()].tolist()) == list(range(10))
    bench.check()


@pytest.mark.rule("offered")
def test_a_retried_piece_and_new_ones_of_the_same_dataset_are_brokered_together():
    bench = bench_of(split=dict(n_files=10, events_per_file=10, file_bytes=GB))
    bench.submit(2)
    bench.take_back(int(bench.live()[0]))
    assert offered(bench.arrays, 0, 0) == 4
    assert input_files.waiting_pieces(bench.arrays, 0, 0, 9)["unit"].tolist() == [0, 2, 3, 4]


@pytest.mark.rule("staged_inputs", "next_member")
def test_what_has_come_from_tape_is_used_while_an_earlier_dataset_is_still_there():
    bench = bench_of(inputprestaging=1)
    bench.arrays.datasets["unstaged"][:3] = 1.0, 0.0, 0.5
    assert input_files.staged_inputs(bench.arrays, 0) == 3
    bench.make(3)
    assert bench.arrays.jobs["chunk"][bench.live()].tolist() == [5, 6, 7]
    bench.arrays.datasets["unstaged"][0] = 0.0
    assert (int(take_in_hand(bench.arrays, 0, 0, -1)), int(bench.arrays.input_dataset[0])) == (5, 0)


def test_scouts_are_of_the_first_datasets():
    bench = bench_of()
    bench.arrays.scout_inputs[0] = 7
    bench.make(9)
    assert bench.arrays.jobs["chunk"][bench.live()].tolist() == list(range(7))


@pytest.mark.rule("best_source")
def test_jobs_bring_the_files_of_their_own_dataset():
    bench = bench_of((1, 1, 2), ("HERE_DISK", "THERE_DISK", "THERE_DISK"))
    bench.submit(4)                                       # at HERE
    assert bench.statuses() == ["activated", "assigned", "assigned", "assigned"]
    bench.run(1e6)
    assert sorted(bench.moved()["dataset"].tolist()) == [1, 2]     # no transfer has files of two
    assert [bench.arrays.datasets["n_replicas"][number] for number in range(3)] == [1, 2, 2]
    bench.check()


@pytest.mark.rule("input_bytes_of")
def test_jobs_have_the_size_of_the_files_of_their_dataset():
    datasets = runs(2, 2)
    datasets["run1"]["bytes"] = 10 * GB
    said = two_sites(storages=DISKS, data=dict(datasets=datasets))
    bench = Bench(said, dict(container=0, n_jobs=4, input_bytes_per_job=3 * GB))
    bench.make(4)
    assert bench.arrays.jobs["input_bytes"][bench.live()].tolist() == [1 * GB, 1 * GB, 5 * GB, 5 * GB]


@pytest.mark.rule("condition", "lost_part")
def test_only_the_files_of_the_dataset_without_a_replica_are_lost():
    bench = bench_of()
    bench.arrays.datasets["lost"][1] = 1.0
    bench.make(10)
    assert np.flatnonzero(bench.arrays.jobs["fate"][bench.live()]).tolist() == [5]


@pytest.mark.rule("parts_at", "has_complete_replicas")
@pytest.mark.parametrize(("where", "here"), [
    pytest.param(("HERE_DISK",) * 3, 1.0, id="all datasets at one site"),
    pytest.param(("HERE_DISK", "THERE_DISK", "HERE_DISK"), 0.9, id="what each site has is added"),
    pytest.param(("THERE_DISK",) * 3, 0.0, id="none"),
])
def test_task_brokerage_adds_the_datasets(where, here):
    arrays = bench_of(where=where).arrays
    assert [float(part) for part in parts_at(arrays, 0, 0)] == pytest.approx([here] * 3)
    assert has_complete_replicas(arrays, 0, np.array([True, False, False]))


@pytest.mark.rule("has_complete_replicas")
def test_a_dataset_without_a_complete_replica_spoils_the_container():
    arrays = bench_of().arrays
    arrays.replicas["part"][arrays.datasets["first_replica"][1]] = 0.9
    assert not has_complete_replicas(arrays, 0, np.array([True, False, False]))


@pytest.mark.rule("forget_containers")
def test_rows_of_members_are_used_again():
    made = plan()
    world, tasks = build(made, task_list(made)), task_list(made)
    tasks.rows["jeditaskid"] = 2
    used = world.member_rows.n_used
    give_back(world, np.array([0]))
    row = int(place(world, tasks)[0])
    assert world.member_rows.n_used == used and datasets_of(world.arrays, row) == [0, 1, 2]


@pytest.mark.parametrize(("streams", "remarks"), [
    pytest.param([dict(whole_container=True)], 1, id="no draw looks at it"),
    pytest.param([dict(whole_container=True), dict(name="other", whole_container=False)], 0, id="another stream draws"),
])
def test_a_popularity_of_which_no_stream_draws_is_remarked(streams, remarks):
    datasets = runs(2, 2)
    datasets["run0"]["popularity"] = 3
    said = two_sites(storages=DISKS, data=dict(datasets=datasets),
                     workload=dict(campaigns=[STREAM | stream for stream in streams]))
    assert len(list(container_read_whole(said))) == remarks


def test_the_name_of_the_container_must_be_given():
    with pytest.raises(ScenarioError, match="whole_container needs container"):
        plan(stream=dict(container=None))
