"""The scan for jobs that are too old: clocks, limits, priorities, places and labels, at their boundaries."""

import numpy as np
import pytest
from builders import Bench, S, put_job, two_sites

from simgrid_broker.fabric.jobs.timeouts import (
    CREATED,
    ENDED,
    ENTERED,
    MODIFICATION,
    MODIFICATION_OR_ENDED,
    RULE,
    shortest_limits,
)
from simgrid_broker.names import JobMark as M
from simgrid_broker.world.jobs.transitions import fall_silent, move

pytestmark = pytest.mark.rule("since", "shortest_limits", "rules_by_status", "breaks", "fabric.jobs.timeouts.overdue")


LOW, HIGH = -2**40, 2**40


def rule(*statuses, clock=ENTERED, at_least=LOW, below=HIGH, spares=0, only=0, silent_s=0.0, limit_s=100.0):
    """A rule as the scan reads it, with its limit behind."""
    return sum(1 << status for status in statuses), clock, at_least, below, spares, only, silent_s, limit_s


def found(bench, *rules, at_queue=None, for_label=None):
    """Row and broken rule of each overdue job, by row."""
    table = np.array([one[:-1] for one in rules], RULE)
    limits = np.array([[one[-1]] * len(bench.arrays.queues) for one in rules])
    if at_queue is not None:
        limits[~np.array(at_queue)] = np.inf
    for_all = np.ones((len(rules), 2), bool)
    rows, broken = bench.fabric.overdue(table, limits, for_all if for_label is None else np.array(for_label), bench.now)
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


@pytest.mark.parametrize(("status", "slot", "is_found"), [
    pytest.param(S.STARTING, 3, False, id="Harvester reports a starting job that waits with its worker"),
    pytest.param(S.STARTING, -1, False, id="and one that waits for it"),
    pytest.param(S.STARTING, 0, True, id="not one whose worker is gone"),
    pytest.param(S.SENT, 3, True, id="nothing is reported of a sent job"),
])
def test_reports_of_harvester(status, slot, is_found):
    bench, row = bench_at(1000.0, status, slot=slot)
    assert found(bench, rule(status, clock=MODIFICATION)) == ([(row, 0)] if is_found else [])


def test_place_and_label():
    bench, row = bench_at(1000.0)
    far = put_job(bench, S.ACTIVATED, queue=1, pseudo_queue=1)
    users = put_job(bench, S.ACTIVATED, task=1)
    bench.arrays.job_times[[far, users], S.ACTIVATED] = 0.0
    one = rule(S.ACTIVATED)
    assert found(bench, one) == sorted([(row, 0), (far, 0), (users, 0)])
    labels = bench.world.vocabularies["labels"]
    assert found(bench, one, for_label=[[label == "user" for label in labels]]) == [(users, 0)]
    assert found(bench, one, at_queue=[[False, True]]) == [(far, 0)]


@pytest.mark.parametrize(("age", "is_found"), [
    pytest.param(100.0, False, id="at the shortest limit of its status"),
    pytest.param(100.001, True, id="past it"),
])
def test_a_job_younger_than_every_limit_of_its_status_is_passed_over(age, is_found):
    bench, row = bench_at(age)
    bench.arrays.job_times[row, S.PENDING] = 0.0
    rules = rule(S.RUNNING, limit_s=1.0), rule(S.ACTIVATED, clock=CREATED), rule(S.ACTIVATED, limit_s=1e9)
    assert found(bench, *rules) == ([(row, 1)] if is_found else [])


def test_a_job_has_the_limit_of_its_queue():
    bench, row = bench_at(150.0)
    far = put_job(bench, S.ACTIVATED, queue=1, pseudo_queue=1)
    bench.arrays.job_times[far, S.ACTIVATED] = 0.0
    rows, _ = bench.fabric.overdue(np.array([rule(S.ACTIVATED)[:-1]], RULE), np.array([[200.0, 149.0]]),
                                   np.ones((1, 2), bool), bench.now)
    assert rows.tolist() == [far]


def test_shortest_limit_of_a_status():
    rules = np.zeros(3, RULE)
    rules["statuses"] = 1 << S.SENT, 1 << S.SENT | 1 << S.HOLDING, 1 << S.HOLDING
    rules["clock"] = ENTERED, ENTERED, MODIFICATION
    limits, of_reported = shortest_limits(rules, np.array([[5.0, np.inf], [9.0, 7.0], [1.0, 8.0]]))
    assert limits[S.SENT].tolist() == [5, 7] and limits[S.HOLDING].tolist() == [1, 7]
    assert of_reported[S.SENT].tolist() == [5, 7] and of_reported[S.HOLDING].tolist() == [9, 7]
    assert np.isinf(np.delete(limits, [S.SENT, S.HOLDING], axis=0)).all()


def test_the_table_of_jobs_may_grow_between_two_scans():
    bench, row = bench_at(1000.0)
    assert found(bench, rule(S.ACTIVATED)) == [(row, 0)]
    rows = [row] + [put_job(bench, S.ACTIVATED) for _ in bench.arrays.jobs]
    bench.arrays.job_times[rows, S.ACTIVATED] = 0.0
    assert len(found(bench, rule(S.ACTIVATED))) == len(rows)


def test_a_free_row_is_no_job():
    bench, row = bench_at(1000.0)
    bench.arrays.jobs["panda_id"][row] = 0
    assert found(bench, rule(S.ACTIVATED)) == []


@pytest.mark.parametrize(("marks", "spares", "only", "is_found"), [
    pytest.param(M.MERGES, 0, 0, True, id="the rule is for all"),
    pytest.param(M.MERGES, M.MERGES | M.BUILDS, 0, False, id="it spares a mark of the job"),
    pytest.param(0, M.MERGES, 0, True, id="it spares others"),
    pytest.param(M.MERGES | M.NOT_JEDI, 0, M.NOT_JEDI | M.BUILDS, True, id="it is for one of its marks alone"),
    pytest.param(M.MERGES, 0, M.NOT_JEDI, False, id="it is for another mark"),
    pytest.param(0, 0, M.NOT_JEDI, False, id="it is for marked jobs"),
    pytest.param(M.PREMERGE_GONE, M.PREMERGE_GONE, M.PREMERGE_GONE, False, id="both"),
])
def test_marks(marks, spares, only, is_found):
    bench, row = bench_at(1000.0)
    bench.arrays.job_files["marks"][row] = marks
    assert found(bench, rule(S.ACTIVATED, spares=spares, only=only)) == ([(row, 0)] if is_found else [])


@pytest.mark.parametrize(("modified", "ended", "is_found"), [
    pytest.param(300.0, 200.0, True, id="ended for long"), pytest.param(200.0, 300.0, True, id="unchanged for long"),
    pytest.param(300.0, np.nan, False, id="without an end"), pytest.param(299.0, np.nan, True, id="long, without it"),
    pytest.param(300.0, 300.0, False, id="at the limit")])
def test_the_earlier_of_last_change_and_end(modified, ended, is_found):
    bench, row = bench_at(400.0, S.HOLDING)
    bench.arrays.jobs["modification_s"][row] = modified
    bench.arrays.job_times[row, [S.PENDING, S.HOLDING]] = 0.0, ended
    assert bool(found(bench, rule(S.HOLDING, clock=MODIFICATION_OR_ENDED))) == is_found


@pytest.mark.parametrize(("ended", "silent_s", "is_found"), [
    pytest.param(np.nan, 50.0, True, id="silent for longer"), pytest.param(np.nan, 150.0, False, id="at its own limit"),
    pytest.param(200.0, 150.0, True, id="its end counts, too"), pytest.param(200.0, 200.0, False, id="but not yet")])
def test_a_silence_that_the_watcher_asks_for_itself(ended, silent_s, is_found):
    bench, row = bench_at(400.0, S.TRANSFERRING)
    bench.arrays.jobs["modification_s"][row] = 250.0
    bench.arrays.job_times[row, [S.PENDING, S.HOLDING]] = 0.0, ended
    assert bool(found(bench, rule(S.TRANSFERRING, clock=MODIFICATION, silent_s=silent_s))) == is_found


def waiting_at(now, status=S.ACTIVATED, **job):
    """As `bench_at`, of a job that was made at time 0."""
    bench, row = bench_at(now, status, **job)
    bench.arrays.job_times[row, S.PENDING] = 0.0
    return bench, row


def test_a_scan_passes_over_a_job_until_a_limit_may_be_exceeded():
    bench, row = waiting_at(50.0)
    assert found(bench, rule(S.ACTIVATED)) == [] and 98.9 < bench.arrays.quiet_s[row, 0] < 99.1
    bench.arrays.quiet_s[row, 0] = bench.now = 101.0
    assert found(bench, rule(S.ACTIVATED)) == [(row, 0)]
    bench.arrays.quiet_s[row, 0] = 101.1
    assert found(bench, rule(S.ACTIVATED)) == []


@pytest.mark.parametrize("limit_s", [1e-3, 7.0, 1e6 + 1 / 3, 1e9 + 0.7])
def test_a_scan_looks_again_before_any_limit(limit_s):
    for made in (-limit_s / 2, 0.0, 0.3, 1e7):
        bench, row = waiting_at(max(made, 0.0))
        bench.arrays.job_times[row, [S.PENDING, S.ACTIVATED]] = made
        assert found(bench, rule(S.ACTIVATED, limit_s=limit_s)) == []
        bench.now = np.nextafter(made + limit_s, np.inf)
        assert bench.arrays.quiet_s[row, 0] <= bench.now
        bench.now = made + 1.001 * limit_s
        assert found(bench, rule(S.ACTIVATED, limit_s=limit_s)) == [(row, 0)]


def test_a_job_that_changes_its_status_is_looked_at_again():
    bench, row = waiting_at(50.0)
    rules = rule(S.ACTIVATED, limit_s=1000.0), rule(S.SENT, clock=CREATED)
    assert found(bench, *rules) == []
    bench.arrays.jobs["status"][row], bench.now = S.SENT, 150.0
    assert found(bench, *rules) == []
    bench.arrays.jobs["status"][row] = S.ACTIVATED
    assert move(bench.arrays, row, S.SENT, 150.0)
    assert found(bench, *rules) == [(row, 1)]


def test_a_job_that_nothing_is_heard_of_is_looked_at_again():
    bench, row = waiting_at(500.0, S.RUNNING, due_sequence=1)
    silence = rule(S.RUNNING, clock=MODIFICATION)
    assert found(bench, silence) == [] and np.isinf(bench.arrays.quiet_s[row, 0])
    fall_silent(bench.arrays, row)
    assert bench.arrays.jobs["due_sequence"][row] == 0 and found(bench, silence) == [(row, 0)]


def test_jobs_of_a_queue_or_label_with_new_limits_are_looked_at_again():
    bench, row = waiting_at(150.0)
    far, users = put_job(bench, S.ACTIVATED, queue=1, pseudo_queue=1), put_job(bench, S.ACTIVATED, task=1)
    rows = [row, far, users]
    bench.arrays.job_times[np.array(rows)[:, None], [S.PENDING, S.ACTIVATED]] = 0.0
    long, short, of_users = (rule(S.ACTIVATED, limit_s=limit) for limit in (1000.0, 100.0, 100.0))
    is_user = [[label == "user" for label in bench.world.vocabularies["labels"]]]
    assert found(bench, long, at_queue=[[False, True]], for_label=is_user) == []
    assert np.isinf(bench.arrays.quiet_s[[row, users], 0]).all() and bench.arrays.quiet_s[far, 0] < 1000
    assert found(bench, long, at_queue=[[True, True]], for_label=is_user) == []
    assert (bench.arrays.quiet_s[rows, 0] < 1000).all()
    bench.now = 1200.0
    assert found(bench, long, at_queue=[[True, True]], for_label=is_user) == [(users, 0)]
    assert np.isinf(bench.arrays.quiet_s[[row, far], 0]).all() and bench.arrays.quiet_s[users, 0] < 1000
    assert found(bench, short, at_queue=[[False, True]]) == [(far, 0)]
    assert found(bench, of_users) == sorted([(row, 0), (far, 0), (users, 0)])


def test_scans_of_other_kinds_pass_over_other_jobs():
    bench, row = waiting_at(150.0)
    for scan, limit_s in enumerate((1000.0, 900.0, 800.0)):
        one = np.array([rule(S.ACTIVATED)[:-1]], RULE), np.full((1, 2), limit_s), np.ones((1, 2), bool)
        assert not len(bench.fabric.overdue(*one, bench.now, scan)[0])
    assert np.allclose(bench.arrays.quiet_s[row], [999, 899, 799], atol=0.01)
    fall_silent(bench.arrays, row)
    assert (bench.arrays.quiet_s[row] == 0).all()
