import numpy as np
import pytest
from policy_builders import candidate, cfg, locality, queues, stats, task

from simgrid_broker.compiled import uncompiled
from simgrid_broker.policy.brokerage.production import activity
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.policy.brokerage.production.question import is_express, task_record

EDITIONS = ("documented", "deployed")


def case(edition="documented", task_=None, data=None, config=None, unified=True, **columns):
    view = queues(1, resource_type=[0 if unified else -1])
    return candidate(task_, view, stats(1, **{name: [value] for name, value in columns.items()}), data, config, edition)


def running(edition, **options):
    return case(edition, **options).numbers["running"]


@pytest.mark.rule("documented_numbers", "deployed_numbers", "running_deployed")
@pytest.mark.parametrize(("columns", "documented", "deployed"), [
    pytest.param(dict(running=19, n_batch_job=30), 20, 20, id="twenty workers at most count as running"),
    pytest.param(dict(running=20, n_batch_job=30), 20, 20, id="with twenty running workers do not count"),
    pytest.param(dict(running=5, n_batch_job=5), 5, 5, id="as many workers as running jobs change nothing"),
    pytest.param(dict(running=0, n_batch_job=7), 7, 7, id="workers start up an idle queue"),
    pytest.param(dict(running=3, n_batch_job=0, num_slots=50), 50, 50, id="numSlots are taken for running"),
    pytest.param(dict(running=0, num_slots=1), 1, 1, id="a single slot"),
    pytest.param(dict(running=80, num_slots=50), 80, 80, id="but never lower the number"),
    pytest.param(dict(running=3, num_slots=-1, starting=9), 3, 3, id="numSlots that are not set change nothing"),
    pytest.param(dict(running=3, num_slots=0, starting=9), 9, 12, id="D57 numSlots of 0: starting, or added to it"),
])
def test_running(columns, documented, deployed):
    assert (running("documented", **columns), running("deployed", **columns)) == (documented, deployed)


@pytest.mark.rule("running_deployed")
@pytest.mark.parametrize(("options", "deployed"), [
    pytest.param(dict(task_=task(currentpriority=150)), 7, id="at the limit of priority"),
    pytest.param(dict(task_=task(currentpriority=151)), 0, id="D57 above it the code does not bootstrap"),
    pytest.param(dict(unified=False), 0, id="D57 only unified queues that pull"),
    pytest.param(dict(n_pilot=0), 0, id="D57 only queues with pilots"),
    pytest.param(dict(n_pilot=1), 7, id="one pilot is enough"),
])
def test_d57_who_is_bootstrapped(options, deployed):
    workers = dict(running=0, n_batch_job=7)
    assert running("documented", **workers, **options) == 7
    assert running("deployed", **workers, **options) == deployed


@pytest.mark.rule("documented_numbers", "deployed_numbers", "running_deployed")
def test_d57_slots_are_divided_by_cores_in_the_code():
    view = queues(1, corecount=[8])
    for edition, expected in (("documented", 100), ("deployed", 12)):
        assert candidate(task(), view, stats(1, num_slots=[100]), edition=edition).numbers["running"] == expected


@pytest.mark.parametrize(("parts", "missing"), [((0.25, 30), 23), ((1.0, 30), 0), ((1 / 3, 3), 2), ((0.0, 7), 7)])
def test_a_file_that_is_missing_in_part_is_missing(parts, missing):
    """At one third of three files two are missing, whatever 1 - 1/3 is in binary."""
    fraction, files = parts
    at = case(data=locality(100.0, files, [100 * fraction], [files * (1 - fraction)]))
    assert activity.files_missing(at.task, at.numbers["disk_files"]) == missing


LOCAL = locality(100.0, 40, [100.0], [0])
HALF = locality(100.0, 40, [50.0], [20])
BUSY = dict(running=100, activated=40, starting=10, defined=0, assigned=30)


def weight(edition="documented", **options):
    return case(edition, **options).numbers["weight"]


@pytest.mark.rule("running_over_queued", "data_availability")
@pytest.mark.parametrize("edition", EDITIONS)
def test_worked_numbers(edition):
    assert weight(edition, data=HALF, **BUSY) == pytest.approx(101 / 90 * 1.5 / 1.2)
    assert weight(edition, data=LOCAL, **BUSY) == pytest.approx(101 / 60 * 2)
    assert weight(edition, **BUSY) == pytest.approx(101 / 60)


@pytest.mark.rule("data_availability")
@pytest.mark.parametrize(("data", "expected"), [
    pytest.param(locality(1.0, 40, [0.0], [40]), 1 / 1.4, id="one byte is an input"),
    pytest.param(locality(0.0, 40, [0.0], [40]), 1, id="no bytes are none, whatever the files"),
    pytest.param(locality(100.0, 40, [50.0], [40]), 1.5 / 1.4, id="half of the bytes in no whole file"),
])
def test_data_availability(data, expected):
    for edition in EDITIONS:
        assert activity.data_availability(*case(edition, data=data)) == pytest.approx(expected)


@pytest.mark.rule("data_availability")
@pytest.mark.parametrize(("only_local", "documented", "deployed"), [
    pytest.param(False, 1.5 / 1.2, 1.5 / 1.2, id="missing files count"),
    pytest.param(True, 1.5 / 1.2, 1, id="but not where the code refuses the queue for them, nor does what is there"),
])
def test_files_that_a_queue_for_local_data_lacks_do_not_count_in_the_code(only_local, documented, deployed):
    view = queues(1, use_only_local_data=[only_local])
    for edition, expected in (("documented", documented), ("deployed", deployed)):
        at = candidate(task(), view, stats(1), HALF, edition=edition)
        assert activity.data_availability(*at) == pytest.approx(expected)


@pytest.mark.rule("data_availability")
@pytest.mark.parametrize("edition", EDITIONS)
def test_an_empty_input_is_no_input(edition):
    assert weight(edition, data=locality(0.0, 0, [0.0], [0]), **BUSY) == weight(edition, **BUSY)
    assert weight(edition, data=locality(0.0, 40, [0.0], [0]), **BUSY) == weight(edition, **BUSY)


@pytest.mark.rule("many_assigned")
@pytest.mark.parametrize(("assigned", "activated", "documented", "deployed"), [
    pytest.param(40, 40, 1, 1, id="as many assigned as activated"),
    pytest.param(60, 40, 1.5, 61 / 41, id="D56 the code adds one to both"),
    pytest.param(200, 40, 2, 2, id="never more than 2"),
    pytest.param(1, 0, 2, 2, id="nothing activated"),
    pytest.param(0, 0, 1, 1, id="nothing at all"),
])
def test_d56_many_assigned(assigned, activated, documented, deployed):
    columns = dict(assigned=assigned, activated=activated, data=HALF)
    assert 1 / activity.many_assigned(*case(**columns)) == pytest.approx(documented)
    assert 1 / activity.many_assigned(*case("deployed", **columns)) == pytest.approx(deployed)


@pytest.mark.rule("documented_numbers", "deployed_numbers")
@pytest.mark.parametrize("size", [pytest.param(1.0, id="a byte"), pytest.param(100.0, id="many bytes")])
@pytest.mark.parametrize("edition", EDITIONS)
def test_assigned_jobs_count_only_where_input_is_missing(edition, size):
    data = locality(size, 1, [size, 0.99 * size], [0, 1])
    both = [candidate(task(), queues(2), stats(2, assigned=[30, 30]), data, edition=edition, k=k) for k in (0, 1)]
    assert [at.numbers["assigned"] for at in both] == [0, 30]


@pytest.mark.rule("documented_numbers", "too_many_ready", "too_many_queued")
@pytest.mark.parametrize(("columns", "ready", "queued"), [
    pytest.param(dict(running=0), False, False, id="an idle queue takes jobs as long as it has none"),
    pytest.param(dict(running=0, activated=1), True, True, id="but no second time"),
    pytest.param(dict(running=10, activated=15, starting=5), False, False, id="twice the running is still fine"),
    pytest.param(dict(running=10, activated=15, starting=6), True, True, id="one more is not"),
    pytest.param(dict(running=10, activated=15, starting=5, defined=1), False, True, id="defined jobs count too"),
    pytest.param(dict(running=10, activated=20, assigned=9), False, False, id="assigned jobs do not if input is local"),
    pytest.param(dict(running=10, activated=20, assigned=9, data=HALF), False, True, id="but do if it is not"),
    pytest.param(dict(running=0, n_batch_job=30, activated=40), False, False, id="workers count as running"),
])
def test_documented_backlog(columns, ready, queued):
    case_ = case(**columns)
    assert (bool(activity.too_many_ready(*case_)[0]), bool(activity.too_many_queued(*case_)[0])) == (ready, queued)


@pytest.mark.rule("too_many_ready", "too_many_queued")
def test_figures_of_the_documented_cap():
    at = case(running=10, activated=15, starting=6, defined=1)
    assert activity.too_many_ready(*at) == (True, 21, 20)
    assert activity.too_many_queued(*at) == (True, 22, 20)


@pytest.mark.rule("deployed_numbers", "too_many_queued", "over_cap")
@pytest.mark.parametrize(("columns", "documented", "deployed"), [
    pytest.param(dict(running=5, activated=20), True, False, id="D58 the code allows 20 jobs anywhere"),
    pytest.param(dict(running=5, activated=21), True, True, id="D58 but not 21"),
    pytest.param(dict(running=50, activated=101), True, True, id="above twice the running both refuse"),
    pytest.param(dict(running=50, activated=60, defined=50), True, False, id="D58 defined jobs do not count"),
    pytest.param(dict(running=50, activated=90, assigned=20, data=HALF), True, True, id="D58 assigned ones do"),
])
def test_d58_cap_of_queues_that_are_not_unified(columns, documented, deployed):
    assert bool(activity.too_many_queued(*case(**columns))[0]) is documented
    assert bool(activity.over_cap(*case("deployed", unified=False, **columns))[0]) is deployed
    assert not activity.over_cap(*case("deployed", unified=True, **columns))[0]


@pytest.mark.rule("over_cap_of_type")
@pytest.mark.parametrize(("columns", "refuses"), [
    pytest.param(dict(), False, id="without numbers of the type the cap is off"),
    pytest.param(dict(running_of_type=3, queued_of_type=20, assigned_of_type=0), False, id="20 are allowed"),
    pytest.param(dict(running_of_type=3, queued_of_type=21, assigned_of_type=0), True, id="21 are not"),
    pytest.param(dict(running_of_type=30, queued_of_type=60, assigned_of_type=9), False, id="local: assigned is free"),
    pytest.param(dict(running_of_type=30, queued_of_type=60, assigned_of_type=9, data=HALF), True, id="else it counts"),
    pytest.param(dict(running_of_type=30, queued_of_type=60, assigned_of_type=9, data=LOCAL), False, id="all on disk"),
    pytest.param(dict(running_of_type=0, queued_of_type=21, assigned_of_type=0), True, id="none of the type runs"),
    pytest.param(dict(task_=task(processingtype="urgent"), running_of_type=3, queued_of_type=500, assigned_of_type=0),
                 False, id="express work has no cap"),
    pytest.param(dict(running_of_type=3, running=60, queued_of_type=90, assigned_of_type=0), False,
                 id="all running jobs of the queue count"),
])
def test_d58_cap_of_the_resource_type(columns, refuses):
    assert bool(activity.over_cap_of_type(*case("deployed", **columns))[0]) is refuses


@pytest.mark.rule("deployed_numbers", "over_cap")
@pytest.mark.parametrize("fields", [{"processingtype": "urgent"}, {"currentpriority": 1001}])
def test_express_work_has_no_cap(fields):
    express = case("deployed", task(**fields), unified=False, running=1, activated=500)
    assert not activity.over_cap(*express)[0]
    assert express.numbers["cap"] == np.inf


@pytest.mark.rule("question.is_express")
@pytest.mark.parametrize(("priority", "documented", "deployed"), [(999, False, False), (1000, True, False),
                                                                  (1001, True, True)])
def test_d4_from_which_priority_work_is_express(priority, documented, deployed):
    records = [task_record(task(currentpriority=priority), cfg(edition), edition)[0] for edition in EDITIONS]
    assert [bool(uncompiled(is_express)(record)) for record in records] == [documented, deployed]


@pytest.mark.rule("deployed_numbers")
@pytest.mark.parametrize(("config", "expected"), [
    ({}, 20), ({"NQUEUELIMITSITE_MC 16": 70}, 70), ({"NQUEUELIMITSITE_MC 16": 0}, 20),
    ({"NQUEUELIMITSITE_Other": 70}, 20),
])
def test_cut(config, expected):
    assert case(config=cfg(jobbroker=config)).task["NQUEUELIMITSITE"] == expected


@pytest.mark.rule("bootstrap")
@pytest.mark.parametrize(("options", "expected"), [
    pytest.param({}, 0, id="D60 an empty queue is a bootstrap"),
    pytest.param(dict(assigned=1), 1, id="any job ends that"),
    pytest.param(dict(n_batch_job=1), 1, id="so do workers that count as running"),
    pytest.param(dict(task_=task(currentpriority=150)), 0, id="up to the priority limit"),
    pytest.param(dict(task_=task(currentpriority=151)), 1, id="not above it"),
    pytest.param(dict(task_=task(is_merging=True)), 1, id="not for merge jobs"),
    pytest.param(dict(task_=task(processingtype="urgent")), 1, id="not for express work"),
])
def test_d60_bootstrap(options, expected):
    assert activity.bootstrap(*case("deployed", **{"running": 0} | options)) == expected
    assert activity.bootstrap not in PRODUCTION["documented"].factors


@pytest.mark.rule("below_min_weight")
@pytest.mark.parametrize(("key", "weight_", "refuses"), [
    pytest.param({}, 0.001, False, id="no minimum"),
    pytest.param({"MIN_WEIGHT_managed": 0.5}, 0.5, False, id="at the minimum is still fine"),
    pytest.param({"MIN_WEIGHT_managed": 0.5}, 0.49, True, id="below the minimum"),
    pytest.param({"MIN_WEIGHT_managed": 0.5, "MIN_WEIGHT_managed_MC 16": 0.1}, 0.4, False, id="the share's own wins"),
    pytest.param({"MIN_WEIGHT_managed": 0.5}, 0.0, False, id="bootstrap queues are spared"),
])
def test_d23_minimum_weight(key, weight_, refuses):
    at = case("deployed", config=cfg(jobbroker=key))
    at.numbers["weight"] = weight_
    assert bool(activity.below_min_weight(*at)[0]) is refuses


@pytest.mark.rule("documented_numbers", "deployed_numbers")
def test_backlog_of_the_draw():
    columns = dict(running=30, activated=5, starting=1, defined=2, assigned=4, data=HALF)

    def backlog_and_cap(edition, **more):
        numbers = case(edition, **columns, **more).numbers
        return numbers["backlog"], numbers["cap"]
    assert backlog_and_cap("documented") == (12, 61)
    assert backlog_and_cap("deployed", unified=False) == (10, 60)
    assert backlog_and_cap("deployed") == (0, 20)                                   # no statistics of the type at all
    none = dict(running_of_type=0, queued_of_type=0, assigned_of_type=0)
    assert backlog_and_cap("deployed", **none) == (0, 60)                           # all jobs are of other types
    assert backlog_and_cap("deployed", running_of_type=40, queued_of_type=3, assigned_of_type=1) == (4, 80)
    low = cfg(jobbroker={"NQUEUELIMITSITE_MC 16": 1})
    assert backlog_and_cap("deployed", config=low) == (0, 1)
    columns |= dict(data=LOCAL)
    assert backlog_and_cap("deployed", running_of_type=40, queued_of_type=3, assigned_of_type=1) == (3, 80)
