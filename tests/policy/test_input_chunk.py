"""The largest of the smallest jobs that input can be cut into, and what a queue finds of the input at its storages."""

import pytest

from simgrid_broker.policy.availability import Endpoint, Terms, found_at
from simgrid_broker.policy.tasks.splitting import Cut, largest_job
from simgrid_broker.schema.datasets import Replica
from simgrid_broker.units import MIB
from simgrid_broker.views import DatasetOfTask, InputFile, Source

pytestmark = pytest.mark.rule("largest_job", "found_at")


def dataset(*sizes_mib, events=100, ranged=True, **said):
    """Files of these sizes, MiB, each with so many events, all of them in a range or not."""
    span = dict(first_event=0, last_event=events - 1) if ranged else {}
    files = {f"f{k}": InputFile(bytes=size * MIB, events=events, **span) for k, size in enumerate(sizes_mib)}
    return DatasetOfTask(files=files, n_files=len(files), **said)


@pytest.mark.parametrize(("cut", "expected"), [
    pytest.param(Cut(0, 0, 200), (8, 8, 100), id="one file each"),
    pytest.param(Cut(2, 0, 200), (10, 10, 200), id="two files, the last job has one"),
    pytest.param(Cut(0, 300, 200), (11, 11, 300), id="three files have the events"),
    pytest.param(Cut(0, 300, 2), (9, 9, 200), id="but no more than two may be joined"),
    pytest.param(Cut(0, 50, 200), (8, 8, 100), id="a file has more events than asked for"),
    pytest.param(Cut(2, 50, 200), (10, 10, 200), id="the number of files goes before that of events"),
])
def test_the_largest_of_the_smallest_jobs(cut, expected):
    found = largest_job({"in": dataset(1, 2, 8, 1, 5) if cut.files != 2 else dataset(2, 8, 4, 5, 1)}, cut)
    assert (found.bytes / MIB, found.primary_mib, found.events) == expected


def test_events_that_are_in_no_range_do_not_limit_a_job():
    assert largest_job({"in": dataset(1, 2, 8, ranged=False)}, Cut(0, 100, 200)) == (11 * MIB, 11, 300)
    assert largest_job({"in": dataset(1, 2, 8, ranged=False)}, Cut(0, 100, 2)) == (8 * MIB, 8, 200)
    assert largest_job({"in": dataset(1, 2, 8, events=1, ranged=False)}, Cut(0, 1, 200)).events == 3
    halves = {end: InputFile(bytes=MIB, events=100, **{end: 7}) for end in ("first_event", "last_event")}
    assert largest_job({"in": DatasetOfTask(files=halves)}, Cut(0, 100, 200)).events == 200


def test_the_last_job_may_have_fewer_events_and_be_the_largest():
    assert largest_job({"in": dataset(1, 1, 1, 8)}, Cut(0, 300, 200)) == (8 * MIB, 8, 300)


@pytest.mark.parametrize(("said", "events", "mib"), [
    pytest.param(dict(first_event=5, last_event=5), 1, 0.1, id="one event of a hundred"),
    pytest.param(dict(first_event=5, last_event=4), 1, 1, id="at least one event; a file of no size counts 1 MiB"),
    pytest.param(dict(first_event=5), 100, 10, id="without a last event all of them"),
    pytest.param(dict(last_event=5), 100, 10, id="without a first event all of them"),
    pytest.param(dict(events=None), 1, 10, id="an unknown number is one"),
])
def test_events_that_jobs_read_of_a_file(said, events, mib):
    one = DatasetOfTask(files={"a": InputFile(**dict(bytes=10 * MIB, events=100) | said)})
    found = largest_job({"in": one}, Cut(1, 0, 200))
    assert (found.events, found.primary_mib) == (events, pytest.approx(mib, abs=1e-6))


def test_a_task_without_files_has_jobs_of_nothing():
    assert largest_job({}, Cut(1, 0, 200)) == (0, 0, 0)
    assert largest_job({"beside": dataset(3, secondary=True)}, Cut(1, 0, 200)) == (0, 0, 0)


@pytest.mark.parametrize("said", [dict(secondary=True, attributes="nosplit"), dict(constituent=True)],
                         ids=["a secondary dataset", "a dataset of a container"])
def test_the_first_dataset_that_is_neither_secondary_nor_in_a_container_is_primary(said):
    assert largest_job({"first": dataset(9, **said), "in": dataset(2)}, Cut(1, 0, 200)).primary_mib == 2


def test_sizes_that_count():
    part = DatasetOfTask(files={"a": InputFile(bytes=10 * MIB, events=100, first_event=0, last_event=49)})
    unknown = DatasetOfTask(files={"a": InputFile(bytes=0, events=None)})
    found = [largest_job({"in": one}, Cut(1, 0, 200)) for one in (part, unknown)]
    assert [(each.bytes / MIB, each.primary_mib, each.events) for each in found] == [(10, 5, 50), (0, 1, 1)]


@pytest.mark.parametrize(("attributes", "mib"), [
    pytest.param("", 2 + 3, id="a secondary file for each primary one"),
    pytest.param("ratio=2", 2 + 6, id="two of them"),
    pytest.param("nosplit", 2 + 9, id="all of them"),
])
def test_secondary_files_come_with_the_primary_ones(attributes, mib):
    beside = dataset(3, 3, 3, secondary=True, attributes=attributes)
    assert largest_job({"in": dataset(2), "beside": beside}, Cut(1, 0, 200)).bytes == mib * MIB


@pytest.mark.parametrize(("attributes", "sizes", "mib"), [
    pytest.param("", (3,), 5, id="the second job finds no file left"),
    pytest.param("repeat", (3,), 7, id="unless files are read again"),
    pytest.param("repeat", (3, 4), 8, id="in turn"),
    pytest.param("repeat", (3, 9), 13, id="the first job has the first file"),
    pytest.param("", (4, 3), 7, id="also where each is read once"),
    pytest.param("repeat", (), 4, id="there is none"),
    pytest.param("nosplit,repeat", (3, 4), 11, id="all of them in each job"),
    pytest.param("ratio=0.6,repeat", (1, 4), 8, id="the ratio is rounded to whole files"),
])
def test_secondary_files_of_two_jobs(attributes, sizes, mib):
    beside = dataset(*sizes, secondary=True, attributes=attributes)
    assert largest_job({"in": dataset(2, 4), "beside": beside}, Cut(1, 0, 200)).bytes == mib * MIB


DISK, TAPE = Endpoint("DISK", False, True, True, True), Endpoint("TAPE", True, False, True, True)
CACHE = Endpoint("CACHE", False, False, True, False)


BY_FILE = Terms(False, True)


def at(storages, has_cvmfs=True, terms=BY_FILE, **datasets):
    """Parts of the files on disk, and on disk or tape, at a queue that reads these storages."""
    found = found_at(datasets, [DISK, TAPE], [storages], [has_cvmfs], terms)
    return found.disk_files[0], found.any_files[0]


HALF = {"replicas": {"DISK": Replica(files=1)}, "file_replicas": {"f0": ("DISK",)}}


@pytest.mark.parametrize(("said", "storages", "expected"), [
    pytest.param({"replicas": {"DISK": Replica(files=2)}}, (0,), (1, 1), id="a complete replica on disk"),
    pytest.param({"replicas": {"TAPE": Replica(files=2)}}, (0, 1), (0, 1), id="on tape"),
    pytest.param({"replicas": {"TAPE": Replica(files=2)}}, (0,), (0, 0), id="which the queue does not read"),
    pytest.param(HALF, (0,), (0.5, 0.5), id="single files"),
    pytest.param(HALF | {"secondary": True}, (0,), (0, 0), id="not of secondary datasets"),
    pytest.param(HALF | {"attributes": "repeat"}, (0,), (0, 0), id="not of datasets that are read many times"),
    pytest.param({"virtual": ("DISK",)}, (0,), (1, 1), id="virtual placement"),
])
def test_what_a_queue_finds(said, storages, expected):
    assert at(storages, data=dataset(1, 1, **said)) == expected


@pytest.mark.parametrize("said", [dict(type="pseudo_input"), dict(constituent=True)],
                         ids=["without files", "a part of a container"])
def test_datasets_that_are_not_read_do_not_count(said):
    assert at((0,), data=dataset(1, replicas={"DISK": Replica(files=1)}), other=dataset(1, 1, **said)) == (1, 1)


def search(reads=((0,),), **datasets):
    """What queues find that read these storages, file by file and with CVMFS."""
    return found_at(datasets, [DISK, TAPE, CACHE], reads, [True] * len(reads), BY_FILE)


BOTH_KINDS = {"replicas": {"DISK": Replica(files=2), "TAPE": Replica(files=2)}}
RELEASE = "ddo.000001.Atlas.Ideal.DBRelease.v310101"


@pytest.mark.parametrize(("storages", "disk", "anywhere"), [
    pytest.param((0, 1), (1, 1), (1, 1), id="on disk and on tape"),
    pytest.param((1,), (0, 0), (1, 1), id="on tape"),
    pytest.param((2,), (0, 0), (0, 0), id="at neither"),
])
def test_parts_of_bytes_and_files(storages, disk, anywhere):
    found = search((storages,), data=dataset(1, 3, **BOTH_KINDS))
    assert (found.disk_bytes[0], found.disk_files[0]) == disk
    assert (found.any_bytes[0], found.any_files[0]) == anywhere


def test_parts_are_of_bytes_and_of_files():
    found = search(data=dataset(1, 3, file_replicas={"f1": ("DISK",)}, replicas={}))
    assert (found.disk_bytes[0], found.disk_files[0]) == (0.75, 0.5)
    found = search(data=dataset(0, 0, file_replicas={"f1": ("DISK",)}, replicas={}))
    assert (found.disk_bytes[0], found.disk_files[0]) == (0, 0.5)


@pytest.mark.parametrize(("files", "storages", "complete"), [
    pytest.param(2, (0,), True, id="a complete replica"),
    pytest.param(1, (0,), False, id="a file is missing"),
    pytest.param(2, (0, 1), True, id="one of two storages has it"),
    pytest.param(2, (1,), False, id="another storage has it"),
    pytest.param(2, (), False, id="the queue reads none"),
])
def test_which_queues_have_a_complete_replica(files, storages, complete):
    data = {"data": dataset(1, 3, replicas={"DISK": Replica(files=files)}), RELEASE: dataset(1, distributed=True)}
    found = search((storages,), **data)
    assert (found.complete[0], found.somewhere) == (complete, files == 2)


def test_a_complete_replica_counts_at_a_datadisk_alone():
    assert search(((2,),), data=dataset(1, replicas={"CACHE": Replica(files=1)})).complete.tolist() == [False]


def test_of_several_datasets_all_must_be_complete_at_one_storage():
    both = dict(one=dataset(1, replicas={"DISK": Replica(files=1)}), other=dataset(1, replicas={
        "DISK": Replica(files=1), "TAPE": Replica(files=1)}))
    apart = both | dict(other=dataset(1, replicas={"TAPE": Replica(files=1)}))
    assert search(**both).somewhere and not search(**apart).somewhere


@pytest.mark.parametrize(("said", "scattered"), [
    pytest.param({}, False, id="a dataset with rules"),
    pytest.param({"distributed": True}, True, id="a distributed dataset"),
    pytest.param({"has_rules": False}, True, id="one without rules"),
    pytest.param({"constituents": ("part",)}, False, id="a container with rules"),
])
def test_which_datasets_need_not_be_complete(said, scattered):
    for name in ("data", RELEASE):                                         # a database release is an input like others
        (found,) = search(**{name: dataset(1, 3, replicas={"DISK": Replica(files=1)}, **said)}).inputs
        assert (found.name, found.scattered) == (name, scattered)
        assert found.sources == (Source("DISK", 0.5, 1, True, True),)


@pytest.mark.parametrize(("replica", "part", "missing"), [
    pytest.param(Replica(files=1, of_files=4), 0.25, 3, id="as many files as Rucio counts"),
    pytest.param(Replica(files=1), 0.5, 1, id="as many as the dataset has"),
    pytest.param(Replica(files=0, of_files=0), 0, 0, id="of no files"),
    pytest.param(Replica(files=1, of_files=0), 1, -1, id="more than are counted"),
])
def test_part_of_a_replica(replica, part, missing):
    (found,) = search(data=dataset(1, 3, replicas={"DISK": replica})).inputs
    assert (found.sources[0].part, found.sources[0].missing) == (part, missing)


def test_terms_of_the_search():
    assert at((0,), terms=Terms(False, False), data=dataset(1, 1, **HALF)) == (0, 0)      # single files do not count
    assert at((0,), terms=Terms(True, True), data=dataset(1, 1, **HALF)) == (1, 1)        # merging takes any replica


def test_database_releases_come_from_cvmfs_at_queues_that_read_some_storage():
    release = {"ddo.000001.Atlas.Ideal.DBRelease.v310101": dataset(1)}
    assert [at(storages, has, **release) for storages, has in (((0,), True), ((0,), False), ((), True))] == [
        (1, 1), (0, 0), (0, 0)]


@pytest.mark.parametrize(("parts", "expected"), [
    pytest.param(dict(one={"A": 4, "B": 4}, two={"A": 6}), {"A": (1.0, 0), "B": (0.4, 6)}, id="of its datasets, added"),
    pytest.param(dict(one={}, two={"A": 5}), {"A": (0.5, 5)}, id="a dataset without any is missing"),
    pytest.param({}, {}, id="datasets without replicas"),
])
def test_replicas_of_a_container(parts, expected):
    known = {name: DatasetOfTask(constituent=True, replicas={place: Replica(files=number)
                                                             for place, number in replicas.items()})
             for name, replicas in parts.items()}
    container = DatasetOfTask(n_files=10, constituents=("one", "two"))
    places = [Endpoint(name, tape=False, is_datadisk=True, lan=True, wan=True) for name in "AB"]
    seen, = found_at({"in": container, **known}, places, [()], [False], Terms(merging=False, by_file=False)).inputs
    assert {source.name: (source.part, source.missing) for source in seen.sources} == expected and not seen.scattered
