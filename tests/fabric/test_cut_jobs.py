"""Jobs that are cut from the files of a task: what they hold, and what becomes of their files."""

import numpy as np
import pytest
from builders import Bench, scenario
from hypothesis import given, settings
from hypothesis import strategies as st

from simgrid_broker.fabric.jobs.retries import condition
from simgrid_broker.names import Cause, ClosedBy
from simgrid_broker.policy.tasks.cutting import CUT
from simgrid_broker.world.tasks.input_files import waiting_pieces

FILES = dict(n_files=10, events_per_file=100, file_bytes=1e9, output_bytes_per_event=1e6)


def cut(bench, *counts, closed_by=ClosedBy.FILES, reads=0, secondary_bytes=0.0):
    """Make a job with the given number of pieces for each of the counts; reads: secondary files of each."""
    jobs = np.zeros(len(counts), CUT)
    jobs["n_reads"], jobs["secondary_bytes"] = reads, secondary_bytes
    jobs["count"], jobs["closed_by"] = counts, closed_by
    bench.fabric.cut_jobs((bench.now, 0, 0, len(counts), 0.0, 0, 0), jobs)
    bench.fabric.set_up_jobs(bench.now)


def held(bench, *names):
    """Columns of the live jobs, in the order in which they were made."""
    jobs = bench.arrays.jobs[bench.live()]
    return list(zip(*(jobs[name].tolist() for name in names), strict=True))


def waiting(bench):
    """Pieces that await another attempt, and new ones, in the order in which they are taken."""
    pieces = waiting_pieces(bench.arrays, 0, 0, 1000)
    return [pieces["unit"][pieces["retry"] >= 0].tolist(), pieces["unit"][pieces["retry"] < 0].tolist()]


@pytest.mark.rule("retry_by_server", "give_files")
def test_what_a_job_holds():
    bench = Bench(None, dict(split=FILES))
    cut(bench, 3, 1, reads=[5, 2], secondary_bytes=[1e9, 4e8])
    assert held(bench, "chunk", "n_chunks", "n_events", "n_input_files", "input_bytes", "output_bytes") == [
        (0, 3, 300, 3 + 5, 3e9 + 5 * 2e8, 3e8), (3, 1, 100, 1 + 2, 1e9 + 2 * 2e8, 1e8)]
    assert {code for code, in held(bench, "closed_by")} == {ClosedBy.FILES}
    bench.check()


@pytest.mark.rule("give_files")
def test_a_file_counts_once_however_many_of_its_events_are_read():
    bench = Bench(None, dict(split=FILES | dict(events_per_piece=30)))
    cut(bench, 2, 3)                                   # 30 and 30 of the first; 30, 10, and 30 of the second
    assert held(bench, "n_events", "n_input_files") == [(60, 1), (70, 2)]


@pytest.mark.rule("retry_by_server", "retries.first_bad")
@pytest.mark.parametrize(("loss", "cause"), [("lost", Cause.INPUT_LOST), ("broken", Cause.INPUT_BROKEN)])
def test_a_job_with_bad_input_is_to_fail_for_that(loss, cause):
    bench = Bench(None, dict(split=FILES))
    bench.arrays.input_loss[loss] = 1.0
    cut(bench, 2)
    assert held(bench, "fate") == [(cause,)]
    bench.arrays.input_loss[loss] = 0.0
    cut(bench, 2)
    assert held(bench, "fate") == [(cause,), (Cause.NONE,)]


@pytest.mark.rule("retry_by_server", "retries.first_bad")
def test_each_piece_of_the_input_may_be_bad():
    bench = Bench(None, dict(split=FILES, luck=4))
    bench.arrays.input_loss["lost"] = 0.4
    lost = [condition(bench.arrays, 0, piece) == Cause.INPUT_LOST for piece in range(10)]
    cut(bench, *[2] * 5)
    pairs = list(zip(lost[::2], lost[1::2], strict=True))
    assert {(False, True), (False, False)} <= set(pairs)
    assert [fate == Cause.INPUT_LOST for fate, in held(bench, "fate")] == [any(pair) for pair in pairs]


@pytest.mark.rule("retry_by_server", "give_files")
def test_work_and_memory_hang_on_the_files():
    said = dict(work_spread=0.5, memory_spread=0.3, luck=3, split=FILES)
    alone, together = Bench(None, said), Bench(None, said)
    cut(alone, *[1] * 10)
    cut(together, 10)
    singles, (whole,) = held(alone, "work_hs06s", "maxpss_mb"), held(together, "work_hs06s", "maxpss_mb")
    assert whole[0] == pytest.approx(sum(work for work, _ in singles))
    assert whole[1] == max(memory for _, memory in singles)
    assert 0 < min(memory for _, memory in singles) < alone.arrays.tasks["maxpss_mb"][0] < whole[1]


@pytest.mark.rule("fill_pieces")
def test_no_more_pieces_are_read_than_asked_for_and_retried_ones_first():
    bench = Bench(None, dict(split=FILES))
    cut(bench, 4, 3)
    bench.take_back(bench.live()[0])
    for most, units in ((3, [0, 1, 2]), (4, [0, 1, 2, 3]), (5, [0, 1, 2, 3, 7]), (9, [0, 1, 2, 3, 7, 8, 9])):
        assert waiting_pieces(bench.arrays, 0, 0, most)["unit"].tolist() == units


@pytest.mark.rule("fill_pieces", "give_back", "submission.make_job")
def test_a_failed_job_gives_back_its_files_which_may_be_cut_again():
    bench = Bench(None, dict(split=FILES))
    cut(bench, 4, 3)
    bench.take_back(bench.live()[0])
    assert waiting(bench) == [[0, 1, 2, 3], [7, 8, 9]]
    cut(bench, 1)
    assert waiting(bench) == [[1, 2, 3], [7, 8, 9]]
    cut(bench, 3, 2)
    assert held(bench, "chunk", "n_chunks", "attempt", "old_panda_id") == [
        (4, 3, 1, 0), (0, 1, 2, 1), (1, 3, 2, 1), (7, 2, 1, 0)]
    bench.check()


@pytest.mark.rule("give_back")
def test_files_that_have_used_up_their_attempts_fail_one_by_one():
    bench = Bench(None, dict(max_attempt=1, split=FILES))
    cut(bench, 4)
    bench.take_back()
    assert (bench.arrays.tasks["n_failed"][0], waiting(bench)[0]) == (4, [])
    bench.check()


def test_a_task_ends_when_all_its_files_are_processed():
    bench = Bench(scenario(), dict(split=FILES))
    cut(bench, 6, 4)
    bench.workers(2)
    bench.run(1e6)
    bench.collect()
    assert bench.arrays.tasks["n_finished"][0] == 10
    assert bench.world.state["n_done_tasks"] == 1
    assert sorted(bench.ended()["n_chunks"].tolist()) == [4, 6]
    bench.check()


def test_the_server_tries_the_same_files_again():
    bench = Bench(None, dict(server_retries=1, failure_rate=1.0, split=FILES))
    cut(bench, 3)
    bench.workers(1)
    bench.run(1e5)
    bench.collect()
    assert held(bench, "chunk", "n_chunks", "n_events", "attempt") == [(0, 3, 300, 2)]
    bench.check()


@settings(max_examples=30, deadline=None)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(1, 6), st.integers(0, 9)), max_size=40),
       max_attempt=st.integers(1, 3), pieces=st.sampled_from([0, 30, 40]))
def test_no_file_is_lost_whatever_is_cut_and_taken_back(steps, max_attempt, pieces):
    bench = Bench(None, dict(max_attempt=max_attempt, split=FILES | dict(events_per_piece=pieces)))
    for cuts, size, which in steps:
        if cuts:
            left = waiting_pieces(bench.arrays, 0, 0, 1000)
            run = int(np.count_nonzero(left["retry"] == left["retry"][0])) if len(left) else 0
            cut(bench, *([min(size, run)] if run else []))
        elif len(bench.live()):
            bench.take_back(bench.live()[which % len(bench.live())])
        bench.check()
    alive = [unit for chunk, n in held(bench, "chunk", "n_chunks") for unit in range(chunk, chunk + n)]
    task = bench.arrays.tasks[0]
    known = sorted([*alive, *sum(waiting(bench), [])])
    assert len(set(known)) == len(known) == task["n_jobs"] - task["n_failed"]
