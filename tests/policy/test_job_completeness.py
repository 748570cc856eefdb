"""Input that is complete nowhere, locks, queues for jumbo jobs: rules of the code that no document has."""

import pytest
from builders import broker_hint
from policy_builders import candidate, cfg, locality, queues, stats, task

from simgrid_broker.policy.brokerage.production import storage
from simgrid_broker.policy.brokerage.production.broker import broker_jobs
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.policy.brokerage.production.storage import Readable, readable
from simgrid_broker.views import KEPT, InputDataset, Source

pytestmark = pytest.mark.rule("storage.readable")


def dataset(*found, of=100, lan=True, wan=True, scattered=False):
    """A dataset of so many files with replicas of so many of them."""
    return InputDataset("data", tuple(Source(f"DISK_{k}", files / of, of - files, lan, wan)
                                      for k, files in enumerate(found)), scattered)


def tags(verdict):
    return ["" if k == KEPT else verdict.tags[k] for k in verdict.refused_by]


@pytest.mark.rule("input_incomplete")
@pytest.mark.parametrize(("inputs", "config", "failure"), [
    pytest.param(dataset(100), {}, "", id="complete"),
    pytest.param(dataset(90), {}, "", id="ten files are missing"),
    pytest.param(dataset(89), {}, "data is incomplete at any online storage", id="eleven, so less than 90 % is there"),
    pytest.param(dataset(900, of=1000), {}, "", id="90 % of many files"),
    pytest.param(dataset(899, of=1000), {}, "data is incomplete at any online storage", id="a file less"),
    pytest.param(dataset(0, of=1), {}, "data is incomplete at any online storage", id="the only file is missing"),
    pytest.param(dataset(60), {"MIN_INPUT_COMPLETENESS": 60}, "", id="the key is lower"),
    pytest.param(dataset(60), {"MAX_MISSING_INPUT_FILES": 40}, "", id="more files may be missing"),
    pytest.param(dataset(), {}, "data is incomplete at any online storage", id="there is no replica"),
    pytest.param(dataset(50, scattered=True), {}, "", id="it is scattered on purpose"),
    pytest.param(dataset(100, lan=False, wan=False), {},
                 "data is only complete at DISK_0 which is currently in downtime or offline", id="no queue reads it"),
])
def test_input_must_be_complete_somewhere(inputs, config, failure):
    config = cfg(jobbroker=config)
    assert readable((inputs,), task(), config).failure == failure
    data = locality(1e9, 10, [1e9], [0])._replace(inputs=(inputs,))
    for edition in ("documented", "deployed"):
        refused = ["-incomplete"] if failure and edition == "deployed" else [""]
        assert tags(broker_jobs(task(), queues(1), stats(1), data, config, edition)) == refused
        able = broker_hint(PRODUCTION[edition], task(), queues(1), stats(1), config, inputs=(inputs,))
        assert able.tolist() == [refused == [""]]


@pytest.mark.rule("input_incomplete")
def test_figures_of_incomplete_input():
    data = locality(1e9, 10, [1e9], [0])._replace(inputs=(dataset(50, 70),))
    at = candidate(task(), queues(1), stats(1), data, edition="deployed")
    assert storage.input_incomplete(*at) == (True, 0.7, 0.9)


def test_input_that_is_staged_from_tape_need_not_be_complete():
    assert readable((dataset(10),), task(inputprestaging=True), cfg()).failure == ""


def at(*sources):
    """A dataset with complete replicas, each said by whether jobs (lan) and other sites (wan) may read it."""
    return InputDataset("data", tuple(Source(f"DISK_{k}", 1.0, 0, "lan" in said, "wan" in said)
                                      for k, said in enumerate(sources)), False)


@pytest.mark.parametrize(("inputs", "remotely"), [
    pytest.param([at("lan", "lan wan")], True, id="one of two replicas"),
    pytest.param([at("lan", "")], False, id="jobs alone, at one of two"),
    pytest.param([at("wan")], True, id="other sites alone"),
    pytest.param([at("lan wan"), at("lan")], False, id="not all of the datasets"),
    pytest.param([at("lan"), at("lan wan")], False, id="in whatever order"),
    pytest.param([], True, id="no input"),
])
def test_whether_other_sites_can_read_the_input(inputs, remotely):
    assert readable(inputs, task(), cfg()) == Readable(remotely=remotely)


@pytest.mark.parametrize(("inputs", "remotely"), [
    pytest.param(at("lan"), False, id="complete, for jobs alone"),
    pytest.param(at("lan", "wan"), True, id="complete, for other sites as well"),
    pytest.param(dataset(10), True, id="incomplete: it will come"),
    pytest.param(dataset(10, wan=False), True, id="wherever it is"),
])
def test_input_that_is_staged_can_be_read_by_other_sites_unless_it_lies_complete_where_they_cannot(inputs, remotely):
    assert readable((inputs,), task(inputprestaging=True), cfg()).remotely is remotely


def test_best_part_of_a_dataset():
    assert readable((dataset(),), task(), cfg()).best_part == 0
    assert readable((dataset(50, 70),), task(), cfg()).best_part == 0.7


@pytest.mark.rule("locked")
def test_a_candidate_under_a_lock_is_left_out_by_the_code_but_not_of_hints():
    view = queues(2, locked=[True, False])
    assert tags(broker_jobs(task(), view, stats(2), None, cfg(), "documented")) == ["", ""]
    assert tags(broker_jobs(task(), view, stats(2), None, cfg(), "deployed")) == ["-lock", ""]
    assert broker_hint(PRODUCTION["deployed"], task(), view, stats(2), cfg()).all()


@pytest.mark.rule("set_apart")
@pytest.mark.parametrize(("fields", "expected"), [
    pytest.param({}, ["-jumbo", ""], id="a task without jumbo jobs"),
    pytest.param(dict(jumbo_events=10), ["+usejumbo", ""], id="kept for the jumbo jobs of a task"),
    pytest.param(dict(jumbo_events=10, jumbo_chunk="only"), ["", ""], id="the next jobs are jumbo jobs"),
])
def test_queues_for_jumbo_jobs_are_set_apart(fields, expected):
    view = queues(2, use_jumbo_jobs=[True, False])
    assert tags(broker_jobs(task(**fields), view, stats(2), None, cfg(), "deployed")) == expected


def test_of_the_candidates_of_the_busiest_queue_the_first_in_the_alphabet_is_used():
    view = queues(3, queue=[0, 0, 1], site=[0, 0, 0], place=[1, 0, 2])
    numbers = stats(2, running_all=[7, 6], in_nucleus=True)
    for luck in range(3):
        verdict = broker_jobs(task(t1weight=-1, nucleus=0, luck=luck), view, numbers, None, cfg(), "deployed")
        assert tags(verdict) == ["-t1_weight", "", "-t1_weight"]
