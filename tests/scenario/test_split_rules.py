"""The files of tasks and the rules of splitting as a user writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_scenario import plain_values
from pydantic import ValidationError

from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.work.campaigns import Campaign
from simgrid_broker.scenario.work.synthetic import task_list
from simgrid_broker.schema.datasets import SecondaryInput

PLAIN = dict(name="mc", hs06sec_per_event=10, backlog=2)
FILES = dict(files=40, events_per_file=150, file_size="3 GB")


def campaign(**said):
    """A campaign with files."""
    return Campaign(**PLAIN | dict(input=FILES) | said)


@pytest.mark.parametrize(("said", "message"), [
    pytest.param(dict(input=None, nFilesPerJob=3), "nFilesPerJob needs input", id="a rule without files"),
    pytest.param(dict(jobs_per_task=3), "jobs_per_task is for tasks whose jobs are all of one size", id="both kinds"),
    pytest.param(dict(secondary_input=0.1), "secondary_input is for tasks", id="secondary input of fixed jobs"),
    pytest.param(dict(respectLB=True), "respectLB needs input.files_per_lumiblock", id="no lumi blocks"),
    pytest.param(dict(groupBoundaryID=True), "groupBoundaryID needs input.files_per_boundary", id="no boundaryID"),
    pytest.param(dict(nFilesPerJob=500, input=FILES | dict(secondary_ratio=1.5)), "more than 1000 files",
                 id="too many files"),
    pytest.param(dict(nEventsPerJob=100, input=FILES | dict(events_spread=0.1)), "leave out input.events_spread",
                 id="unequal files are not split"),
    pytest.param(dict(nFilesPerJob=1001), "less than or equal to 1000", id="more files than any job has"),
    pytest.param(dict(nGBPerJob=-1), "greater than or equal to 0", id="less than nothing"),
])
def test_what_cannot_be(said, message):
    with pytest.raises(ValidationError, match=message):
        campaign(**said)


@pytest.mark.parametrize("said", [
    pytest.param(dict(nFilesPerJob=500, input=FILES | dict(secondary_ratio=1)), id="exactly 1000 files"),
    pytest.param(dict(nEventsPerJob=150, input=FILES | dict(events_spread=0.1)), id="whole unequal files"),
    pytest.param(dict(respectLB=True, input=FILES | dict(files_per_lumiblock=3)), id="lumi blocks"),
])
def test_what_can_be(said):
    assert Campaign(**campaign(**said).model_dump(mode="json")) == campaign(**said)    # as a manifest has it


@pytest.mark.parametrize(("said", "events"), [
    pytest.param({}, 0, id="files stay whole"),
    pytest.param(dict(nEventsPerJob=150), 0, id="nEventsPerJob as many as a file has"),
    pytest.param(dict(nEventsPerJob=149), 149, id="nEventsPerJob below that"),
    pytest.param(dict(tgtNumEventsPerJob=100), 75, id="tgtNumEventsPerJob: equal parts"),
    pytest.param(dict(tgtNumEventsPerJob=149, nFilesPerJob=2), 0, id="nFilesPerJob has precedence"),
    pytest.param(dict(nEventsPerJob=50, nFilesPerJob=2, tgtNumEventsPerJob=149), 50, id="nEventsPerJob comes first"),
])
def test_events_of_a_piece(said, events):
    assert campaign(**said).events_per_piece == events


@pytest.mark.parametrize(("said", "files"), [
    pytest.param({}, 5, id="5 if nobody says"),
    pytest.param(dict(nFilesPerJob=7), 7, id="nFilesPerJob"),
    pytest.param(dict(nEventsPerJob=300), 2, id="nEventsPerJob"),
    pytest.param(dict(nEventsPerJob=50), 1 / 3, id="a third of a file"),
    pytest.param(dict(tgtNumEventsPerJob=100), 1 / 2, id="tgtNumEventsPerJob"),
])
def test_load_of_a_campaign(said, files):
    """The rate of arrivals hangs on the work of a task, for which jobs count with the files that are typical."""
    found = campaign(**said)
    assert found.typical_files == pytest.approx(files)
    work_s = 40 * 150 * 10 / found.corepower
    assert found.mean_task_core_s == pytest.approx(work_s + 40 / files * found.basewalltime * found.cores)


def tasks(edition="documented", **said):
    """Tasks of a scenario with that campaign alone."""
    values = plain_values()
    values["workload"] = dict(campaigns=[PLAIN | dict(input=FILES) | said])
    values["edition"] = edition
    return task_list(Scenario.from_dict(values))


@pytest.mark.parametrize(("edition", "pieces"), [
    pytest.param("documented", 60, id="6000 events in pieces of 100, across files"),
    pytest.param("deployed", 80, id="two pieces of each file"),
])
def test_pieces_of_a_task(edition, pieces):
    found = tasks(edition, nEventsPerJob=100, output_per_event="1 MB")
    assert found.rows["n_jobs"].tolist() == [pieces, pieces]
    assert found.rows["n_jobs"] * found.rows["input_bytes_per_job"] == pytest.approx(40 * 3e9)
    assert found.rows["n_jobs"] * found.rows["output_bytes_per_job"] == pytest.approx(6000 * 1e6)


def test_secondary_files():
    found = tasks(input=FILES | dict(secondary_ratio=2, secondary_file_size="1 GB"))
    assert found.rows["input_bytes_per_job"].tolist() == [5e9, 5e9]
    assert found.rows["secondary_fraction"] == pytest.approx(0.4)
    assert found.rows["n_input_files"].tolist() == [3, 3]


def test_tasks_without_files_have_none():
    assert not task_list(Scenario.from_dict(plain_values())).split()["n_files"].any()


@given(events=st.integers(1, 10_000), target=st.integers(1, 10_000))
def test_a_target_of_events_makes_equal_parts(events, target):
    size = campaign(tgtNumEventsPerJob=target, input=FILES | dict(events_per_file=events)).events_per_piece
    if target >= events:
        assert size == 0
    else:
        assert size <= target and -(-events // size) == -(-events // target)


@pytest.mark.parametrize(("said", "problem"), [
    pytest.param(dict(nosplit=True), "need files", id="nosplit of how many files"),
    pytest.param(dict(er=2), "er needs events_per_file", id="er of how many events"),
    pytest.param(dict(np=2, er=2, events_per_file=9), "give one of np, er and nosplit", id="np and er"),
])
def test_attributes_of_secondary_datasets(said, problem):
    with pytest.raises(ValueError, match=problem):
        SecondaryInput(**said)


def test_files_of_secondary_datasets():
    given = dict(ratio=1.5), dict(np=3), dict(nosplit=True, files=7), dict(er=0.5, events_per_file=10)
    assert [SecondaryInput(**said).files_for(100) for said in given] == [1.5, 3, 7, 5]
