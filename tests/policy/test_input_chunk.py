"""The largest of the smallest jobs that input can be cut into, and what a queue finds of the input at its storages."""

import pytest

from simgrid_broker.policy.availability import Endpoint, Terms, found_at
from simgrid_broker.policy.input_chunk import Cut, largest_job
from simgrid_broker.schema.datasets import Replica
from simgrid_broker.units import MIB
from simgrid_broker.views import DatasetOfTask, InputFile

pytestmark = pytest.mark.rule("largest_job", "found_at")


def dataset(*sizes_mib, events=100, **said):
    """Files of these sizes, MiB, each with so many events."""
    files = {f"f{k}": InputFile(bytes=size * MIB, events=events) for k, size in enumerate(sizes_mib)}
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


DISK, TAPE = Endpoint("DISK", False, True, True, True), Endpoint("TAPE", True, False, True, True)


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


def test_terms_of_the_search():
    assert at((0,), terms=Terms(False, False), data=dataset(1, 1, **HALF)) == (0, 0)      # single files do not count
    assert at((0,), terms=Terms(True, True), data=dataset(1, 1, **HALF)) == (1, 1)        # merging takes any replica


def test_database_releases_come_from_cvmfs_at_queues_that_read_some_storage():
    release = {"ddo.000001.Atlas.Ideal.DBRelease.v310101": dataset(1)}
    assert [at(storages, has, **release) for storages, has in (((0,), True), ((0,), False), ((), True))] == [
        (1, 1), (0, 0), (0, 0)]
