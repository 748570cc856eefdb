"""Datasets that tasks share: what they read, where it lies, and the space that it takes."""

import numpy as np
import pytest
from builders import Bench, scenario, two_sites

from simgrid_broker.scenario.work.draws import catalogue
from simgrid_broker.scenario.work.synthetic import task_list
from simgrid_broker.world.build import build
from simgrid_broker.world.data.datasets import add_replica_at, delete_dataset, lose_replica, replica_tables
from simgrid_broker.world.data.replicas import drop_replica_of
from simgrid_broker.world.views import observe

TB = 1e12
STORE = dict(total=1000 * TB, free=500 * TB)
AT_HERE = dict(storage="HERE_DISK")
STREAM = dict(name="simulation", hs06sec_per_event=1.0, backlog=1, corecount=1, ramcount=1000)


def plan(*streams, datasets=None, populations=None, storages=None, **others):
    """HERE and THERE with half-full storages, datasets, and campaigns of one task unless they say other."""
    disks = dict(HERE_DISK=dict(site="HERE", **STORE), THERE_DISK=dict(site="THERE", **STORE)) | (storages or {})
    return two_sites(storages=disks, data=dict(datasets=datasets or {}, populations=populations or {}),
                     workload=dict(campaigns=[STREAM | stream for stream in streams]), **others)


def dataset(files=100, bytes_=10 * TB, *replicas, **said):
    """A dataset that lies at HERE unless replicas are given."""
    return dict(files=files, bytes=bytes_, replicas=[*replicas] or [AT_HERE], **said)


@pytest.mark.parametrize(("files_per_job", "jobs", "size"), [
    pytest.param(1, 100, 0.1 * TB, id="a file for each job"),
    pytest.param(10, 10, 1 * TB, id="ten files for each job"),
    pytest.param(30, 4, 2.5 * TB, id="the last job has fewer, which are counted evenly"),
    pytest.param(1000, 1, 10 * TB, id="one job reads all"),
])
def test_the_files_of_a_dataset_are_the_input_of_its_tasks(files_per_job, jobs, size):
    rows = task_list(plan(dict(dataset="data", files_per_job=files_per_job), datasets=dict(data=dataset()))).rows
    assert (rows["n_jobs"].tolist(), rows["input_bytes_per_job"].tolist()) == ([jobs], [size])


def test_jobs_are_cut_from_the_files_of_a_dataset():
    tasks = task_list(plan(dict(dataset="data", input=dict(events_per_file=10), nFilesPerJob=5),
                           datasets=dict(data=dataset())))
    assert (tasks.rows["n_jobs"][0], tasks.splitting["n_files"][0], tasks.splitting["file_bytes"][0]) == (
        100, 100, 0.1 * TB)


def replicas_of(world, row):
    """Replicas of the dataset that a task reads."""
    return observe.replicas(world, int(world.arrays.input_dataset[row]))


def test_tasks_share_the_replicas_of_a_dataset():
    said = plan(dict(dataset="data"), dict(name="other", dataset="data"), dict(name="own", input_per_job=1.0),
                datasets=dict(data=dataset(100, 10 * TB, AT_HERE, dict(storage="THERE_DISK", part=0.5))))
    world = build(said, task_list(said))
    assert replicas_of(world, 0) == replicas_of(world, 1) == [(0, 1.0, False), (1, 0.5, False)]
    assert world.arrays.input_dataset.tolist() == [0, 0, 3]
    lose_replica(world, "data", "THERE_DISK")
    assert replicas_of(world, 0) == replicas_of(world, 1) == [(0, 1.0, False)]
    assert len(replicas_of(world, 2)) == 1


def test_a_container_is_read_by_popularity():
    said = plan(dict(container="box", backlog=4000), datasets=dict(
        rare=dataset(1, TB, container="box"), often=dataset(2, TB, container="box", popularity=3), other=dataset(5)))
    number = task_list(said).dataset
    assert set(number.tolist()) == {0, 1}
    assert (number == 1).mean() == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / 4000))


def test_a_population_follows_zipfs_law():
    boxes = dict(box=dict(datasets=50, files=dict(median=20, sigma=1), file_size=1e9, zipf=1))
    number = task_list(plan(dict(container="box", backlog=8000), populations=boxes)).dataset
    weight = 1 / np.arange(1, 51)
    expected = weight / weight.sum()
    found = np.bincount(number, minlength=50) / 8000
    assert np.abs(found - expected).max() < 4.5 * np.sqrt(expected[0] / 8000)


def test_another_stream_or_population_moves_no_draw():
    boxes = dict(box=dict(datasets=20, files=dict(median=20, sigma=1), file_size=dict(median=1e9, sigma=1)))
    alone = plan(dict(container="box", backlog=30), populations=boxes)
    more = plan(dict(container="box", backlog=30), dict(name="b", container="crate", backlog=9),
                populations=boxes | dict(crate=dict(datasets=3, files=5, file_size=1e9)))
    one, other = catalogue(alone), catalogue(more)
    assert np.array_equal(one.bytes, other.bytes[:20]) and one.replicas == other.replicas[:len(one.replicas)]
    mine = task_list(more)
    chosen = mine.rows["name"] == mine.vocabularies["task_names"].index("simulation")
    assert np.array_equal(task_list(alone).dataset, mine.dataset[chosen])


def test_a_population_costs_its_replicas():
    boxes = dict(box=dict(datasets=200, files=dict(median=1e6), file_size=1e3, replicas=dict(number=2, where="any")))
    said = plan(dict(container="box"), populations=boxes)
    world = build(said, task_list(said))
    assert np.count_nonzero(world.arrays.replicas["dataset"] >= 0) == 400
    assert world.arrays.datasets["n_replicas"][:200].tolist() == [2] * 200


def test_the_version_of_a_dataset_rises_with_each_change_of_its_replicas():
    said = plan(dict(dataset="data"), datasets=dict(data=dataset(), other=dataset()))
    world = build(said, task_list(said))
    versions = [world.arrays.datasets["version"][:2].tolist()]
    for change in (lambda: add_replica_at(world, "data", "THERE_DISK", 0.5),
                   lambda: add_replica_at(world, "data", "THERE_DISK", None),
                   lambda: lose_replica(world, "data", "THERE_DISK")):
        change()
        versions.append(world.arrays.datasets["version"][:2].tolist())
    assert [later[0] > earlier[0] for earlier, later in zip(versions, versions[1:], strict=False)] == [True] * 3
    assert len({version[1] for version in versions}) == 1


@pytest.mark.rule("lost_part")
@pytest.mark.parametrize(("parts", "lost"), [
    pytest.param((1.0,), 0.0, id="complete"),
    pytest.param((1.0, 0.4), 0.0, id="an incomplete one beside it"),
    pytest.param((0.4, 0.3), 0.6, id="the largest part is what is left"),
    pytest.param((), 1.0, id="no replica"),
])
def test_what_no_replica_has_is_lost(parts, lost):
    said = plan(dict(dataset="data"), datasets=dict(data=dataset()))
    world = build(said, task_list(said))
    lose_replica(world, "data", "HERE_DISK")
    for storage, part in zip(("HERE_DISK", "THERE_DISK"), parts, strict=False):
        add_replica_at(world, "data", storage, part)
    assert world.arrays.datasets["lost"][0] == pytest.approx(lost)


def test_space_of_replicas_that_come_and_go():
    said = plan(dict(dataset="data"), datasets=dict(data=dataset()))
    bench = Bench(said)
    arrays = bench.arrays
    add_replica_at(bench.world, "data", "THERE_DISK", 0.5)
    assert (arrays.storages["free_bytes"] / TB).tolist() == [500, 495]
    bench.check()
    delete_dataset(bench.world, "data")
    assert (arrays.storages["free_bytes"] / TB).tolist() == [510, 500]
    assert arrays.datasets["n_replicas"][0] == 0
    bench.check()


def test_a_full_storage_takes_no_replica():
    full = dict(THERE_DISK=dict(site="THERE", total=1000 * TB, free=9 * TB))
    said = plan(dict(dataset="data"), datasets=dict(data=dataset()), storages=full)
    world = build(said, task_list(said))
    add_replica_at(world, "data", "THERE_DISK", None)
    assert observe.replicas(world, 0) == [(0, 1.0, False)]
    add_replica_at(world, "data", "THERE_DISK", 0.9)
    assert observe.replicas(world, 0) == [(0, 1.0, False), (1, 0.9, False)]


def test_lists_keep_their_order_when_a_replica_goes():
    bench = Bench(scenario({name: {} for name in "ABCD"}), dict(replicas={0: 1.0, 1: 0.5, 2: 0.4, 3: 0.3}))
    assert replica_tables(bench.arrays, [0])[0].tolist() == [[0, 1, 2, 3]]
    for row, left in ((1, [0, 2, 3]), (0, [2, 3]), (3, [2]), (2, [-1])):
        drop_replica_of(bench.arrays, row)
        assert replica_tables(bench.arrays, [0])[0].tolist() == [left]
        bench.check()


@pytest.mark.parametrize(("data", "stream", "message"), [
    pytest.param(dict(datasets=dict(data=dict(files=1, bytes=1, replicas=[]))), {}, "at least 1|at least one",
                 id="no replica"),
    pytest.param(dict(datasets=dict(data=dataset(1, 1, dict(storage="HERE_DISK", part=0.5)))), {}, "all files",
                 id="whole nowhere"),
    pytest.param(dict(datasets=dict(data=dataset(1, 1, dict(storage="NOWHERE")))), {}, "unknown storage",
                 id="an unknown storage"),
    pytest.param(dict(datasets=dict(data=dataset(1, 1, AT_HERE, AT_HERE))), {}, "two replicas", id="twice at one"),
    pytest.param(dict(datasets=dict(data=dataset(1, 600 * TB))), {}, "in use", id="more than is in use there"),
    pytest.param(dict(datasets=dict(data=dataset(1, 1, popularity=2))), {}, "container", id="popularity alone"),
    pytest.param({}, dict(dataset="data"), "unknown dataset", id="an unknown dataset"),
    pytest.param({}, dict(container="box"), "unknown container", id="an unknown container"),
    pytest.param(dict(datasets=dict(data=dataset())), dict(dataset="data", jobs_per_task=5), "jobs_per_task",
                 id="jobs beside the files"),
    pytest.param(dict(datasets=dict(data=dataset())), dict(dataset="data", input_per_job=5), "input_per_job",
                 id="a size beside that of the dataset"),
    pytest.param(dict(datasets=dict(data=dataset())), dict(dataset="data", container="box"), "either", id="both"),
])
def test_bad_datasets_are_refused(data, stream, message):
    with pytest.raises(Exception, match=message):
        plan(stream, **data)


def test_the_rate_of_a_stream_follows_from_its_dataset():
    def rate(files):
        said = plan(dict(dataset="data", backlog=0, offered_cores=100, events_per_job=10),
                    datasets=dict(data=dataset(files)))
        return said.workload.campaigns[0].tasks_per_s
    assert rate(100) == pytest.approx(10 * rate(1000))
