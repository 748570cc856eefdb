"""Rows of the growing tables: taken, given back, taken again, and more of them when they run out."""

import numpy as np
import pytest
from builders import Bench, put_job, scenario
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.fabric.jobs.effects import find_jobs
from simgrid_broker.names import JobStatus
from simgrid_broker.world import rows
from simgrid_broker.world.build import FIRST_ROWS
from simgrid_broker.world.jobs.transitions import come_back, leave, move, pass_pieces
from simgrid_broker.world.world import MARGIN


@given(st.lists(st.booleans(), max_size=60))
def test_no_row_is_given_out_twice(takes):
    bench = Bench()
    arrays, held = bench.arrays, []
    for number, take in enumerate(takes, start=1):
        if take or not held:
            row = rows.take_job(arrays)
            arrays.jobs[row]["panda_id"] = number
            assert row not in held
            held.append(row)
        else:
            rows.release_job(arrays, held.pop(number % len(held)))
    free = set(arrays.free_jobs[:bench.world.free_rows("jobs")].tolist())
    assert len(free) == FIRST_ROWS - len(held) and not free & set(held)
    assert set(np.flatnonzero(arrays.jobs["panda_id"])) == set(held)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 99)), max_size=30))
def test_tasks_list_their_live_jobs_the_newest_first(steps):
    bench = Bench(None, {}, {})
    arrays, expected = bench.arrays, ([], [])
    for task, number in steps:
        jobs, before = expected[task], int(arrays.live_jobs["version"][task])
        if number % 3 or not jobs:
            jobs.insert(0, put_job(bench, JobStatus.ACTIVATED, task=task))
        else:
            gone = jobs.pop(number % len(jobs))
            leave(arrays, gone)
            rows.unlist_job(arrays, gone)
        assert arrays.live_jobs["version"][task] > before
    for task, jobs in enumerate(expected):
        found = np.empty(len(jobs), np.int64)
        assert find_jobs(arrays, np.array([task]), found) == len(jobs) and found.tolist() == jobs


@pytest.mark.parametrize(("status", "changes"), [(JobStatus.MERGING, True), (JobStatus.TRANSFERRING, False)])
def test_a_job_that_begins_to_wait_to_be_merged_changes_the_version_of_its_task(status, changes):
    bench = Bench(None, {})
    row = put_job(bench, JobStatus.HOLDING)
    before = int(bench.arrays.live_jobs["version"][0])
    assert move(bench.arrays, row, int(status), 1.0)
    assert (bench.arrays.live_jobs["version"][0] > before) == changes
    come_back(bench.arrays, row)
    assert bench.arrays.live_jobs["version"][0] == bench.world.state["n_job_moves"]


def test_a_job_that_gets_the_input_of_its_jobset_changes_the_version_of_their_task():
    bench = Bench(None, {})
    holder, other = (put_job(bench, JobStatus.MERGING) for _ in range(2))
    bench.arrays.jobs["n_chunks"][[holder, other]] = 2, -2
    before = int(bench.arrays.live_jobs["version"][0])
    pass_pieces(bench.arrays, holder, other)
    assert bench.arrays.jobs["n_chunks"][[holder, other]].tolist() == [-2, 2]
    assert bench.arrays.live_jobs["version"][0] > before


def test_a_row_that_was_given_back_is_the_next_to_be_used():
    arrays = Bench().arrays
    first = rows.take_job(arrays)
    rows.take_job(arrays)
    rows.release_job(arrays, first)
    assert rows.take_job(arrays) == first


def test_transfers_are_numbered_for_ever():
    arrays = Bench().arrays
    first = rows.take_transfer(arrays)
    rows.release_transfer(arrays, first)
    again = rows.take_transfer(arrays)
    assert again == first and arrays.transfers[again]["transfer_id"] == 2


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0, 6]), st.integers(0, 99)), max_size=30))
def test_retries_of_a_task_and_a_ramcount_are_a_stack_of_their_own(pushes):
    bench = Bench(None, {}, {})
    arrays = bench.arrays
    known = {(task, level): [] for task in (0, 1) for level in (0, 6)}
    for task, level, chunk in pushes:
        row = rows.take_retry(arrays, task)
        arrays.retries[row]["chunk"] = chunk
        rows.push_retry(arrays, task, row, level)
        known[task, level].append(chunk)
    assert arrays.tasks["n_retry"].tolist() == [len(known[task, 0]) + len(known[task, 6]) for task in (0, 1)]
    for (task, level), chunks in known.items():
        assert arrays.ram_levels[task, level]["waiting"] == len(chunks)
        assert [arrays.retries[rows.pop_retry(arrays, task, level)]["chunk"] for _ in chunks] == chunks[::-1]
    assert bench.world.free_rows("retries") == FIRST_ROWS and not arrays.tasks["n_retry"].any()
    assert (arrays.ram_levels["head"] == -1).all()


def test_workers_of_a_pseudo_queue_leave_the_line_in_the_order_in_which_they_came():
    bench = Bench(scenario({"HERE": dict(cores=0)}))
    arrays, queue = bench.arrays, bench.arrays.pseudo_queues[0]
    for count, now in ((2, 10.0), (1, 20.0), (3, 30.0)):
        bench.fabric.submit_workers([0], [count], now)
    seen = []
    while queue["n_submitted"]:
        seen.append(float(arrays.submissions[queue["submitted_head"]]["submitted_s"]))
        assert rows.take_worker(arrays, 0) == -1                    # no job waits for it
    assert seen == [10, 10, 20, 30, 30, 30]
    assert (queue["submitted_head"], queue["submitted_tail"]) == (-1, -1)
    assert bench.world.free_rows("submissions") == FIRST_ROWS


def test_the_line_can_be_filled_again_after_it_was_empty():
    bench = Bench(scenario({"HERE": dict(cores=0)}))
    arrays = bench.arrays
    for now in (1.0, 2.0):
        bench.fabric.submit_workers([0], [1], now)
        rows.take_worker(arrays, 0)
    assert arrays.pseudo_queues[0]["n_submitted"] == 0
    assert arrays.pseudo_queues[0]["submitted_tail"] == -1


@pytest.mark.parametrize("name", ["jobs", "transfers", "retries", "submissions"])
def test_a_table_grows_and_keeps_what_is_in_it(name):
    bench = Bench()
    take = {"jobs": rows.take_job, "transfers": rows.take_transfer}.get(name)
    if take:
        for number in range(3):
            getattr(bench.arrays, name)[take(bench.arrays)][getattr(bench.arrays, name).dtype.names[0]] = number + 1
    before = getattr(bench.arrays, name).copy()
    free_before = set(getattr(bench.arrays, f"free_{name}")[:bench.world.free_rows(name)].tolist())
    bench.world.make_room(**{name: FIRST_ROWS + 1})
    after = getattr(bench.arrays, name)
    assert len(after) >= 2 * FIRST_ROWS and np.array_equal(after[:FIRST_ROWS], before)
    assert not after[FIRST_ROWS:].view(np.uint8).any()
    free = getattr(bench.arrays, f"free_{name}")[:bench.world.free_rows(name)].tolist()
    assert len(free) == len(set(free)) and set(free) == free_before | set(range(FIRST_ROWS, len(after)))


def test_times_stay_with_their_jobs_when_there_are_more_rows():
    bench = Bench()
    row = put_job(bench, JobStatus.ACTIVATED)
    bench.world.make_room(jobs=2 * FIRST_ROWS)
    times = bench.arrays.job_times
    assert len(times) == len(bench.arrays.jobs) == len(bench.arrays.free_jobs)
    assert times[row, JobStatus.ACTIVATED] == 0.0 and np.isnan(times[row, JobStatus.RUNNING])


def test_a_table_with_room_does_not_grow():
    bench = Bench()
    bench.world.make_room()
    before = bench.arrays
    bench.world.make_room()
    assert bench.arrays is before


@pytest.mark.parametrize(("asked", "table", "room_beyond"), [
    pytest.param(dict(jobs=20_000), "pending", 20_000, id="jobs that are made wait for the Setupper"),
    pytest.param(dict(retries=20_000), "done_tasks", 20_000, id="each attempt that ends may be the last of its task"),
])
def test_inboxes_grow_with_what_may_come(asked, table, room_beyond):
    bench = Bench()
    bench.world.make_room(**asked)
    assert len(getattr(bench.arrays, table)) >= room_beyond + MARGIN


def test_there_is_room_for_all_jobs_of_several_orders():
    bench, half = Bench(None, dict(n_jobs=4 * FIRST_ROWS)), FIRST_ROWS + MARGIN
    for _ in range(2):
        bench.fabric.order_jobs(0, 0, half, 0.0, bench.now)
    bench.fabric.make_jobs()
    assert bench.world.state["n_pending"] == 2 * half
    bench.check()


def test_ten_thousand_jobs_of_as_many_tasks_end_at_once(monkeypatch):
    n_tasks = 10_000
    monkeypatch.setattr("builders.OUTBOX_ROWS", 2 * n_tasks)
    bench = Bench(None, *[dict(max_attempt=1)] * n_tasks)
    for task in range(n_tasks):
        bench.make(task=task)
    bench.take_back()
    assert bench.world.state["n_done_tasks"] == n_tasks == len(bench.ended())
    assert sorted(bench.arrays.done_tasks[:n_tasks].tolist()) == list(range(n_tasks))
    bench.check()


def test_new_rows_of_tasks_hold_no_replica():
    bench = Bench(scenario(), {})
    old = len(bench.arrays.datasets)
    bench.world.lengthen_tasks(10 * len(bench.arrays.tasks))
    new = bench.arrays.datasets["first_replica"][old:]
    assert len(new) and (new == -1).all()
