"""What nuclei hold of a task's input, dataset by dataset, and where its output goes; brokerage reference, 1.2, 1.3."""

import pytest

from simgrid_broker.policy.availability import Endpoint
from simgrid_broker.policy.brokerage.task.nuclei import counted, input_of_nuclei, matching, wanted
from simgrid_broker.views import DatasetOfTask, Replica

pytestmark = pytest.mark.rule("input_of_nuclei", "nuclei.counted", "nuclei.wanted", "nuclei.matching")


GB = 1e9
DISK, MORE, TAPE, CLOSED, FAR = (Endpoint(name, name == "TAPE", True, True, name != "CLOSED")
                                 for name in ("DISK", "MORE", "TAPE", "CLOSED", "FAR"))
ENDPOINTS = [DISK, MORE, TAPE, CLOSED, FAR]
HERE = (0, 1, 2, 3)
NAME = "data25.1.main.merge.AOD.x1"


def dataset(of_files=100, secondary=False, constituents=(), **files) -> DatasetOfTask:
    """A dataset of 1 GB a file; files: at each endpoint."""
    replicas = {name: Replica(files=number, of_files=of_files, bytes=number * GB, of_bytes=of_files * GB)
                for name, number in files.items()}
    return DatasetOfTask(n_files=of_files, bytes=of_files * GB, secondary=secondary, replicas=replicas,
                         constituents=constituents)


def held(on_master=False, **datasets):
    """GB on disk, GB on disk or tape, files at the nucleus, and the totals."""
    named = {NAME if name == "main" else name: one for name, one in datasets.items()}
    found = input_of_nuclei(named, on_master, ENDPOINTS, [HERE])
    return (found.disk_bytes[0] / GB, found.any_bytes[0] / GB, found.any_files[0], found.total_bytes / GB,
            found.total_files)


@pytest.mark.parametrize(("files", "expected"), [
    pytest.param(dict(FAR=100), (0, 0, 0), id="elsewhere"),
    pytest.param(dict(DISK=100), (100, 100, 100), id="all on disk"),
    pytest.param(dict(TAPE=100), (0, 100, 100), id="all on tape"),
    pytest.param(dict(TAPE=100, DISK=40), (40, 100, 100), id="a part of it on disk"),
    pytest.param(dict(DISK=40, MORE=50), (50, 50, 50), id="the better of two parts, not their sum"),
    pytest.param(dict(DISK=40, TAPE=30), (40, 40, 40), id="the better one is on disk"),
    pytest.param(dict(TAPE=40, DISK=100), (100, 100, 100), id="a complete replica on disk is all that counts"),
    pytest.param(dict(CLOSED=100), (100, 100, 100), id="a storage that sends nothing holds it"),
])
def test_the_best_replica_counts(files, expected):
    assert held(main=dataset(**files)) == (*expected, 100, 100)


@pytest.mark.parametrize(("n_files", "expected"), [
    pytest.param(1, (1, 1, 1), id="a complete replica on disk is all that counts"),
    pytest.param(0, (1, 2, 0), id="none is complete without files"),
])
def test_replicas_of_different_sizes(n_files, expected):
    replicas = {"DISK": Replica(files=n_files, bytes=GB), "TAPE": Replica(files=n_files, bytes=2 * GB)}
    assert held(main=DatasetOfTask(n_files=n_files, replicas=replicas))[:3] == expected


@pytest.mark.parametrize(("on_master", "expected"), [
    pytest.param(False, (110, 110, 110, 150, 150), id="all datasets"),
    pytest.param(True, (100, 100, 100, 100, 100), id="taskBrokerOnMaster: the primary one alone"),
])
def test_datasets_are_added(on_master, expected):
    assert held(on_master, main=dataset(DISK=100), other=dataset(50, secondary=True, DISK=10)) == expected


def test_of_a_container_the_parts_are_added_but_the_size_is_that_of_the_last():
    one, two = dataset(100, DISK=100), dataset(30, DISK=15)
    parts = {"one": one.model_copy(update={"constituent": True}), "two": two.model_copy(update={"constituent": True})}
    assert held(main=dataset(constituents=("one", "two")), **parts) == (115, 115, 115, 30, 30)


@pytest.mark.parametrize(("name", "is_counted"), [
    pytest.param(NAME, True, id="data"), pytest.param("data25.1.main.merge.log.x1", False, id="logs"),
    pytest.param("ddo.000001.Atlas.Ideal.DBRelease.v010101", False, id="database release"),
    pytest.param("log", True, id="only the fifth field is the type"),
])
def test_datasets_that_task_brokerage_looks_at(name, is_counted):
    assert (name in counted({name: dataset()}, False)) is is_counted
    assert not counted({name: dataset().model_copy(update={"type": "pseudo_input"})}, False)


@pytest.mark.parametrize(("n_files", "missing"), [
    pytest.param(1, "", id="a dataset of one file"), pytest.param(0, NAME, id="a dataset without files is nowhere"),
])
def test_the_smallest_complete_replica(n_files, missing):
    assert input_of_nuclei({NAME: dataset(n_files, FAR=n_files)}, False, ENDPOINTS, [HERE]).missing == missing


@pytest.mark.parametrize(("files", "constituents", "missing"), [
    pytest.param(dict(FAR=100), (), "", id="complete elsewhere"),
    pytest.param(dict(FAR=99), (), NAME, id="a file is missing"),
    pytest.param(dict(TAPE=100), (), "", id="complete on tape"),
    pytest.param(dict(CLOSED=100), (), NAME, id="complete where nothing is sent"),
    pytest.param(dict(), (), NAME, id="unknown"),
    pytest.param(dict(), ("whole", "part"), "", id="of a container one complete dataset is enough"),
    pytest.param(dict(), ("part",), NAME, id="no complete dataset of a container"),
])
def test_input_without_a_complete_replica_is_named(files, constituents, missing):
    others = {"whole": dataset(FAR=100), "part": dataset(FAR=1)}
    others = {name: one.model_copy(update={"constituent": True}) for name, one in others.items()}
    named = {NAME: dataset(constituents=constituents, **files)} | others
    assert input_of_nuclei(named, False, ENDPOINTS, [HERE]).missing == missing


def test_without_a_count_of_its_own_a_replica_has_that_of_the_dataset():
    one = DatasetOfTask(n_files=10, bytes=10 * GB, replicas={"DISK": Replica(files=4)})
    assert held(main=one) == (4, 4, 4, 10, 10)


def test_a_dataset_of_unknown_size():
    assert held(main=DatasetOfTask()) == (0, 0, 0, 0, 0)
    assert held(main=DatasetOfTask(replicas={"DISK": Replica(files=4)})) == (0, 0, 4, 0, 0)


STORAGES = [("CERN_SCRATCHDISK", "SCRATCHDISK"), ("CERN_DATADISK", "DATADISK"), ("CERN_MCTAPE", "MCTAPE"),
            ("CERN", "ATLASDISK")]


@pytest.mark.parametrize(("token", "place"), [
    pytest.param("ATLASDATADISK", 1, id="by type"), pytest.param("CERN_MCTAPE", 2, id="by name"),
    pytest.param("CERN_.*DISK", 0, id="the first that an expression matches"),
    pytest.param("ATLASMISSINGDISK", -1, id="no such type"),
    pytest.param("ATLASATLASDISK", 3, id="ATLAS at the beginning of a token does not count, nor does it twice"),
])
def test_storage_of_a_token(token, place):
    assert matching(token, STORAGES) == place


def test_tokens_of_output():
    assert wanted(["ATLASDATADISK", "dst:ATLASDATADISK", "ddd:XX_DATADISK", "ATLASMCTAPE"]) == (
        "ATLASDATADISK", "ATLASMCTAPE")
