"""The server retries failed analysis jobs at the same queue before JEDI brokers their input again."""

import numpy as np
import pytest
from builders import Bench, S, scenario

from simgrid_broker.fabric.jobs.submission import bind, fate_at_site, fate_of_payload
from simgrid_broker.names import Cause

pytestmark = pytest.mark.rule("task_refiner.refine", "retry_by_server")


def failing(server_retries, max_attempt=10):
    """A bench whose only job fails whenever it runs."""
    bench = Bench(scenario(), dict(max_attempt=max_attempt, failure_rate=1.0))
    bench.arrays.tasks["server_retries"] = server_retries
    bench.submit()
    return bench


def let_it_fail(bench):
    """One more payload ends, and the Adder looks at it."""
    bench.workers()
    bench.run(bench.now + 10_000.0)
    bench.collect()
    bench.check()


@pytest.mark.parametrize(("server_retries", "max_attempt", "failures", "alive", "waiting"), [
    pytest.param(0, 10, 1, 0, 1, id="production: JEDI brokers it again"),
    pytest.param(2, 10, 1, 1, 0, id="analysis: the server tries again"),
    pytest.param(2, 10, 2, 1, 0, id="and once more"),
    pytest.param(2, 10, 3, 0, 1, id="then JEDI brokers it again"),
    pytest.param(2, 2, 2, 0, 0, id="never beyond maxAttempt"),
])
def test_who_tries_again(server_retries, max_attempt, failures, alive, waiting):
    bench = failing(server_retries, max_attempt)
    for _ in range(failures):
        let_it_fail(bench)
    task = bench.arrays.tasks[0]
    assert (task["n_alive"], task["n_retry"]) == (alive, waiting)
    assert task["failed_attempts"] == failures


def test_the_new_attempt_waits_at_the_same_queue_with_less_priority():
    bench = failing(2)
    before = bench.arrays.jobs[bench.live()[0]].copy()
    let_it_fail(bench)
    again = bench.arrays.jobs[bench.live()[0]]
    assert bench.statuses() == [S.ACTIVATED.word]
    assert again["pseudo_queue"] == before["pseudo_queue"] and again["priority"] == before["priority"] - 10
    assert (again["attempt"], again["server_attempt"], again["chunk"]) == (2, 1, before["chunk"])
    assert again["work_hs06s"] == before["work_hs06s"]


def test_what_a_new_job_is_given():
    bench = Bench(scenario(), dict(corecount=8, n_jobs=3, n_output_files=2))
    bench.submit()
    job = bench.arrays.jobs[bench.live()[0]]
    queue = bench.arrays.queues[job["queue"]]
    assert job["hs06_milli"] == round(job["corecount"] * queue["corepower"] * 1000)
    assert (job["n_output_files"], bench.arrays.tasks["n_attempts"][0]) == (2, 1)
    bench.submit(2)
    assert bench.arrays.jobs["panda_id"][bench.live()].tolist() == [1, 2, 3]


EMPTY = ("missing_bytes", "walltime_s", "cputime_s", "stage_in_s", "stage_out_s", "due_sequence", "slot",
         "server_attempt", "closed_by", "old_panda_id", "failures", "attempt_limit", "ram_level", "cause")
NO_ROW = ("source_site", "transfer", "child", "sibling", "previous")


def test_a_new_job_has_nothing_of_the_one_that_had_its_row():
    jobs = []
    for left_behind in (0, 7):
        bench = Bench()
        for column in set(bench.arrays.jobs.dtype.names) - {"panda_id"}:
            bench.arrays.jobs[column] = left_behind
        bench.make()
        jobs.append(bench.arrays.jobs[bench.live()[0]].copy())
    for column in set(jobs[0].dtype.names) - {"rank"}:               # which it gets when it is activated
        np.testing.assert_array_equal(jobs[0][column], jobs[1][column], column)
    assert {column: jobs[1][column] for column in (*EMPTY, *NO_ROW)} == dict.fromkeys(EMPTY, 0) | dict.fromkeys(
        NO_ROW, -1)
    assert jobs[1]["n_chunks"] == jobs[1]["attempt"] == 1 and np.isnan(jobs[1]["pilot_start_s"])


TWO_TYPES = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))
SLOTS = {"U": dict(atlas_site="HERE", capability="ucore", corecount=8), "M": dict(atlas_site="HERE", corecount=4)}


@pytest.mark.rule("submission.bind")
@pytest.mark.parametrize(("number", "cores", "expected"), [
    pytest.param(0, 8, (0, 1, 0), id="slots of the first type: that type, whichever the task has"),
    pytest.param(1, 8, (0, 8, 1), id="slots of the second type"),
    pytest.param(1, 1, (0, 1, 1), id="a task of one core uses one of them"),
    pytest.param(2, 0, (1, 4, 1), id="a queue for every type: the type of the job"),
])
def test_what_a_job_has_of_its_slots(number, cores, expected):
    bench = Bench(scenario(queues=SLOTS, resource_types=TWO_TYPES), dict(corecount=cores, resource_type=1))
    job = bench.arrays.jobs[0]
    bind(bench.arrays, job, bench.arrays.tasks[0], number, 1)
    assert (job["queue"], job["corecount"], job["resource_type"]) == expected
    assert (job["pseudo_queue"], job["hs06_milli"]) == (number, expected[1] * 10_000)


def row(**columns):
    """A row of a table with these columns of numbers."""
    return np.array([tuple(columns.values())], [(name, "f8") for name in columns])[0]


@pytest.mark.rule("fate_of_payload")
@pytest.mark.parametrize(("luck", "cause"), [
    pytest.param(0.0, Cause.MEMORY_EXCEEDED, id="the smallest number"),
    pytest.param(0.0625, Cause.PAYLOAD_ERROR, id="precisely where the memory kills end"),
    pytest.param(0.25, Cause.NONE, id="precisely the failure rate"),
])
def test_fate_of_a_payload(luck, cause):
    assert fate_of_payload(row(failure_rate=0.25, memory_kills=0.25), luck) == cause


@pytest.mark.rule("fate_at_site")
@pytest.mark.parametrize(("luck", "cause"), [
    pytest.param(0.0, Cause.LOST_HEARTBEAT, id="the smallest number"),
    pytest.param(0.125, Cause.TRANSFER_ERROR, id="precisely where the lost workers end"),
    pytest.param(0.1875, Cause.SITE_ERROR, id="precisely where the errors of stage-out end"),
    pytest.param(0.25, Cause.NONE, id="precisely the failure rate"),
])
def test_fate_at_a_site(luck, cause):
    assert fate_at_site(row(failure_rate=0.25, lost_heartbeats=0.5, stage_out_errors=0.25), luck) == cause


def test_a_new_attempt_by_jedi_resets_the_count_of_server_retries():
    bench = failing(1)
    let_it_fail(bench)
    let_it_fail(bench)
    bench.submit()
    assert bench.arrays.jobs[bench.live()[0]]["server_attempt"] == 0
