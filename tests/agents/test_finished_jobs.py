"""Finished jobs of tasks that are measured, and news of scouts, compared with plain lists and the rows of datasets."""

from collections import defaultdict

import numpy as np
import pytest
from builders import S, Stage, T, scenario
from hypothesis import given, settings
from hypothesis import strategies as st

from simgrid_broker.ledgers.finished_jobs import ENDED, MERGING, NONE, ON_INPUT, RESUMED, UPDATE, FinishedJobs
from simgrid_broker.names import TASK_ENDS
from simgrid_broker.policy.tasks import ends
from simgrid_broker.schema import JOBS
from simgrid_broker.world.data.datasets import datasets_of_task
from simgrid_broker.world.rows import push_retry, take_retry

PMERGE, N_TASKS = 3, 4
TASK = dict(n_jobs=20, maxpss_mb=1000.0)


def stage() -> Stage:
    return Stage((), scenario(edition="deployed"), *[TASK] * N_TASKS)


def ended(tasks, pieces, events) -> np.ndarray:
    """Jobs that have finished, in the outbox."""
    jobs = JOBS.empty(len(tasks))
    jobs["task"], jobs["n_chunks"], jobs["n_events"], jobs["status"] = tasks, pieces, events, S.FINISHED
    jobs["processing_type"], jobs["corecount"] = PMERGE, 1
    return jobs


def rows_of(tables) -> list[int]:
    """Rows of jobs in all lists, and free rows."""
    found = []
    for first, number in [tables.free.tolist(), *tables.lists[["first", "number"]].ravel().tolist()]:
        for _ in range(number):
            found.append(first)
            first = int(tables.jobs["next"][first])
    return found


def test_ended_jobs_are_read_once_whenever_the_outbox_is_emptied():
    bench, seen = stage(), []
    finished = FinishedJobs(bench.world, np.zeros(0), 0)
    finished.keep = lambda rows: seen.extend(rows["task"].tolist())
    bench.fabric.watchers.append(finished.watch)

    def end(*tasks):
        first = int(bench.world.state["n_done_jobs"])
        bench.arrays.done_jobs["task"][first:first + len(tasks)] = tasks
        bench.world.state["n_done_jobs"] = first + len(tasks)
    for read in (finished.read_outbox, bench.fabric.empty_outboxes):
        end(0, 1)
        finished.read_outbox()
        end(2)
        read()
        end(3)
        bench.fabric.empty_outboxes()
    assert seen == [0, 1, 2, 3] * 2


BATCH = st.lists(st.tuples(st.integers(0, N_TASKS - 1), st.integers(0, 1), st.integers(1, 999)), max_size=9)
ACT = st.one_of(st.tuples(st.just("keep"), BATCH), st.tuples(st.just("forget"), st.integers(0, N_TASKS - 1)),
                st.tuples(st.just("begin"), st.integers(0, N_TASKS - 1)))


@given(st.lists(ACT, max_size=25))
@settings(max_examples=60, deadline=None)
def test_jobs_are_kept_in_the_order_of_their_ends(acts):
    finished = FinishedJobs(stage().world, np.zeros(9), PMERGE)
    known, is_measured = defaultdict(list), set()
    for act, what in acts:
        if act == "begin":
            finished.begin(what, (0.0, 0.0, 0.0, 0.0))
            is_measured.add(what)
        elif act == "forget":
            finished.forget(what)
            is_measured.discard(what)
            known[what, ON_INPUT], known[what, MERGING] = [], []
        elif what:
            finished.keep(ended(*zip(*what, strict=True)))
            for task, pieces, events in what:
                if task in is_measured:
                    known[task, ON_INPUT if pieces else MERGING].append(events)
        for task in range(N_TASKS):
            for of in (ON_INPUT, MERGING):
                assert finished.jobs_of(task, of)["n_events"].tolist() == known[task, of]
        assert sorted(rows_of(finished.tables)) == list(range(len(finished.tables.jobs)))


def expected_news(world, finished, row, now):
    """News of a task by the rows of its datasets."""
    task, kept, scouts = world.arrays.tasks[row], finished.tasks[row], world.arrays.scout_inputs[row]
    status = T(task["status"])
    if status is T.READY and scouts and task["next_chunk"]:
        return RESUMED
    if status in TASK_ENDS and not scouts:
        return ENDED
    if not kept["is_measured"] or now - kept["assessed_s"] < 600:
        return NONE
    n, is_due = finished.number(row), finished.number(row) >= kept["next_update"]
    if status is T.RUNNING and is_due:
        return UPDATE
    if status is not T.SCOUTING or not task["n_finished"] + task["n_failed"]:
        return NONE
    over = ends.is_over(datasets_of_task(world.arrays, row, mutable=False))
    look = ends.look_of(status, over, True, n, finished.progress(row, True)[1],
                        finished.tables.changes[row] > 0 and not is_due, kept["is_forced"])
    return look if look == ends.Look.FORCED or n or not task["n_finished"] else NONE


@pytest.mark.rule("look_of", "is_over", "awaits_jobs", "nothing_left")
@pytest.mark.parametrize("seed", range(40))
def test_news_are_those_of_the_rows_of_the_datasets(seed):
    world, rng = stage(), np.random.default_rng(seed)
    finished = FinishedJobs(world.world, np.zeros(9), PMERGE)
    for row in range(N_TASKS):
        finished.begin(row, (0.0, 0.0, 0.0, 0.0))
        values = dict(status=rng.choice([T.SCOUTING] * 6 + [T.READY, T.RUNNING, T.DONE]), next_chunk=10,
                      n_finished=rng.integers(6), n_failed=rng.choice([0, 2, 5]), n_alive=rng.integers(9),
                      n_jobs=rng.choice([6, 20]))
        for name, value in values.items():
            world.arrays.tasks[name][row] = value
        world.arrays.scout_inputs[row] = rng.choice([0, 10])
        finished.keep(ended([row] * 8, 1, 1)[:rng.choice([0, 0, 1, 4, 8])])
        finished.tables.changes[row] = rng.integers(2)
        task = finished.tasks[row]
        task["next_update"], task["is_forced"], task["assessed_s"] = rng.choice([1, 5]), rng.random() < 0.3, rng.choice(
            [-np.inf, 950.0])
    expected = {row: news for row in range(N_TASKS)
                if (news := expected_news(world, finished, row, 1000.0)) != NONE}
    rows, news = finished.news(True, 1000.0)
    assert dict(zip(rows.tolist(), news.tolist(), strict=True)) == expected
    again, news = finished.news(True, 1000.0)
    assert not np.isin(world.arrays.tasks["status"][again], [T.SCOUTING, T.RUNNING]).any()


def test_jobs_whose_pieces_await_another_attempt_count_once():
    world = stage()
    finished = FinishedJobs(world.world, np.zeros(9), PMERGE)
    for level, panda_id in ((0, 7), (1, 9), (0, 8), (0, 7)):
        row = take_retry(world.arrays, 0)
        world.arrays.retries["old_panda_id"][row] = panda_id
        push_retry(world.arrays, 0, row, level)
    world.arrays.tasks["n_alive"][0] = 2
    assert finished.progress(0, True) == (20, 5, 0, 0)
