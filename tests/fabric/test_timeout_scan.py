"""The scan for jobs that are too old: clocks, limits, priorities, places and labels, at their boundaries."""

import numpy as np
import pytest
from builders import Bench, S, put_job, two_sites

from simgrid_broker.fabric.timeouts import CREATED, ENDED, ENTERED, MODIFICATION, RULE

LOW, HIGH = -2**40, 2**40


def rule(*statuses, clock=ENTERED, at_least=LOW, below=HIGH, limit_s=100.0):
    """A rule as the scan reads it."""
    return sum(1 << status for status in statuses), clock, at_least, below, limit_s


def found(bench, *rules, at_queue=None, for_label=None):
    """Row and broken rule of each overdue job, by row."""
    table = np.array(list(rules), RULE)
    everywhere = np.ones((len(rules), len(bench.arrays.queues)), bool)
    for_all = np.ones((len(rules), 2), bool)
    rows, broken = bench.fabric.overdue(table, everywhere if at_queue is None else np.array(at_queue),
                                        for_all if for_label is None else np.array(for_label), bench.now)
    return sorted(zip(rows.tolist(), broken.tolist(), strict=True))


def bench_at(now, status=S.ACTIVATED, **job):
    """A bench with one job that entered a status at time 0, at a later time; and its row."""
    bench = Bench(two_sites(), {}, dict(label="user"))
    row = put_job(bench, status, **job)
    bench.now = now
    return bench, row


@pytest.mark.parametrize(("age", "is_found"), [
    pytest.param(100.0, False, id="at the limit is still fine"),
    pytest.param(100.001, True, id="past the limit"),
])
def test_limit(age, is_found):
    bench, row = bench_at(age)
    assert found(bench, rule(S.ACTIVATED)) == ([(row, 0)] if is_found else [])


@pytest.mark.parametrize(("priority", "at_least", "below", "is_found"), [
    pytest.param(800, 800, HIGH, True, id="at the least priority"),
    pytest.param(799, 800, HIGH, False, id="below the least priority"),
    pytest.param(799, LOW, 800, True, id="just below the upper bound"),
    pytest.param(800, LOW, 800, False, id="at the upper bound"),
    pytest.param(-10_000, LOW, HIGH, True, id="no bounds"),
])
def test_priority(priority, at_least, below, is_found):
    bench, row = bench_at(101.0, priority=priority)
    assert found(bench, rule(S.ACTIVATED, at_least=at_least, below=below)) == ([(row, 0)] if is_found else [])


@pytest.mark.parametrize(("status", "is_found"), [(S.ACTIVATED, True), (S.ASSIGNED, True), (S.TRANSFERRING, False)],
                         ids=lambda value: getattr(value, "word", ""))
def test_status(status, is_found):
    bench, row = bench_at(101.0, status)
    assert found(bench, rule(S.ACTIVATED, S.ASSIGNED)) == ([(row, 0)] if is_found else [])


def test_the_first_rule_that_is_broken_counts():
    bench, row = bench_at(500.0)
    rules = rule(S.RUNNING), rule(S.ACTIVATED, limit_s=1000.0), rule(S.ACTIVATED, limit_s=400.0), rule(S.ACTIVATED)
    assert found(bench, *rules) == [(row, 2)]


@pytest.mark.parametrize(("clock", "age"), [
    pytest.param(ENTERED, 100.0, id="entry into the status"),
    pytest.param(CREATED, 400.0, id="creation"),
    pytest.param(ENDED, 150.0, id="end of the payload"),
    pytest.param(MODIFICATION, 50.0, id="last change"),
])
def test_clocks(clock, age):
    bench, row = bench_at(400.0, S.TRANSFERRING, modification_s=350.0)
    bench.arrays.jobs["modification_s"][row] = 350.0
    bench.arrays.job_times[row, [S.PENDING, S.HOLDING, S.TRANSFERRING]] = 0.0, 250.0, 300.0
    assert found(bench, rule(S.TRANSFERRING, clock=clock, limit_s=age)) == []
    assert found(bench, rule(S.TRANSFERRING, clock=clock, limit_s=age - 1.0)) == [(row, 0)]


@pytest.mark.parametrize(("due_sequence", "is_found"), [
    pytest.param(7, False, id="a payload that runs sends heartbeats"),
    pytest.param(0, True, id="a payload whose slot is lost is silent"),
])
def test_heartbeats(due_sequence, is_found):
    bench, row = bench_at(1000.0, S.RUNNING, due_sequence=due_sequence)
    assert found(bench, rule(S.RUNNING, clock=MODIFICATION)) == ([(row, 0)] if is_found else [])
    assert found(bench, rule(S.RUNNING, clock=ENTERED)) == [(row, 0)]


def test_place_and_label():
    bench, row = bench_at(1000.0)
    far = put_job(bench, S.ACTIVATED, queue=1, pseudo_queue=1)
    users = put_job(bench, S.ACTIVATED, task=1)
    bench.arrays.job_times[[far, users], S.ACTIVATED] = 0.0
    one = rule(S.ACTIVATED)
    assert found(bench, one) == sorted([(row, 0), (far, 0), (users, 0)])
    assert found(bench, one, at_queue=[[False, True]]) == [(far, 0)]
    labels = bench.world.vocabularies["labels"]
    assert found(bench, one, for_label=[[label == "user" for label in labels]]) == [(users, 0)]


def test_a_free_row_is_no_job():
    bench, row = bench_at(1000.0)
    bench.arrays.jobs["panda_id"][row] = 0
    assert found(bench, rule(S.ACTIVATED)) == []
