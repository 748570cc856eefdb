"""Attempts: a chunk is tried until it is processed or given up; jobs can be withdrawn in any status."""

import numpy as np
import pytest
from builders import Bench, S, scenario, two_sites
from hypothesis import given, settings
from hypothesis import strategies as st

from simgrid_broker.fabric.jobs.retries import failures_after, limit_after
from simgrid_broker.names import Cause

pytestmark = pytest.mark.rule("failures_after", "limit_after", "may_try_again")


def state_of(bench, task=0):
    """What a task knows of its chunks: new, alive, waiting for another attempt, processed, given up."""
    row = bench.arrays.tasks[task]
    return tuple(int(n) for n in (row["n_jobs"] - row["next_chunk"], row["n_alive"], row["n_retry"],
                                  row["n_finished"], row["n_failed"]))


@pytest.mark.parametrize(("max_attempt", "fails", "states"), [
    pytest.param(1, 1, [(0, 0, 0, 0, 1)], id="one attempt: given up at once"),
    pytest.param(3, 0, [(0, 0, 0, 1, 0)], id="processed at once"),
    pytest.param(3, 2, [(0, 0, 1, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 1, 0)], id="the third attempt succeeds"),
    pytest.param(3, 3, [(0, 0, 1, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 0, 1)], id="three failures: given up"),
])
def test_attempts_of_a_chunk(max_attempt, fails, states):
    bench = Bench(scenario(), dict(max_attempt=max_attempt))
    for number, state in enumerate(states, start=1):
        bench.arrays.tasks["failure_rate"][0] = 1.0 if number <= fails else 0.0
        bench.submit()
        bench.workers()
        bench.run(1000.0 * number)
        bench.collect()
        assert state_of(bench) == state
        bench.check()
    assert bench.ended()["attempt"].tolist() == list(range(1, len(states) + 1))
    assert bench.ended()["chunk"].tolist() == [0] * len(states)
    assert bench.world.state["n_done_tasks"] == 1
    assert bench.arrays.tasks["failed_attempts"][0] == fails


def job_with_a_payload_error(**rule):
    """A job with a payload error; rule: columns of the retry rule about such errors."""
    bench = Bench(scenario(), {})
    bench.make()
    for name, value in rule.items():
        bench.arrays.retry_rules[name][0, Cause.PAYLOAD_ERROR] = value
    job = bench.arrays.jobs[bench.live()[0]]
    job["cause"] = Cause.PAYLOAD_ERROR
    return bench, job


@pytest.mark.parametrize(("limit", "rule", "status", "expected"), [
    pytest.param(0, 3, S.FAILED, 3, id="the first rule sets a limit"),
    pytest.param(0, 0, S.FAILED, 0, id="no rule, no limit"),
    pytest.param(5, 3, S.FAILED, 3, id="a lower limit holds"),
    pytest.param(3, 5, S.FAILED, 3, id="a higher one does not"),
    pytest.param(1, 5, S.FAILED, 1, id="nor after the only attempt"),
    pytest.param(3, 0, S.FAILED, 3, id="an error without a rule changes nothing"),
    pytest.param(5, 1, S.FAILED, 1, id="no retry is a limit of 1"),
    pytest.param(5, 3, S.CLOSED, 5, id="a closed job has no error"),
])
def test_limit_of_attempts_after_an_error(limit, rule, status, expected):
    bench, job = job_with_a_payload_error(attempt_limit=rule)
    job["attempt_limit"] = limit
    assert limit_after(bench.arrays, job, status) == expected


@pytest.mark.parametrize(("failures", "status", "is_system", "expected"), [
    pytest.param(0, S.FAILED, False, 1, id="a failure"),
    pytest.param(0, S.CLOSED, False, 0, id="a closed job is none"),
    pytest.param(0, S.FAILED, True, 0, id="nor is an error of the system"),
    pytest.param(254, S.FAILED, False, 255, id="as many as are counted"),
    pytest.param(255, S.FAILED, False, 255, id="no more are"),
])
def test_failures_of_an_input(failures, status, is_system, expected):
    bench, job = job_with_a_payload_error(system=is_system)
    job["failures"] = failures
    assert failures_after(bench.arrays, job, status) == expected


def test_chunks_that_await_another_attempt_come_before_new_ones():
    bench = Bench(scenario(), dict(n_jobs=5))
    bench.make(2)
    bench.take_back()
    assert state_of(bench) == (3, 0, 2, 0, 0)
    bench.make(3)
    jobs = bench.arrays.jobs[bench.live()]
    assert jobs[["chunk", "attempt"]].tolist() == [(1, 2), (0, 2), (2, 1)]


def test_an_attempt_is_a_new_job_with_the_random_draws_of_its_chunk():
    bench = Bench(scenario(), dict(n_jobs=3, work_spread=0.5, memory_spread=0.5))
    bench.make(3)
    before = {job["chunk"]: (job["work_hs06s"], job["maxpss_mb"]) for job in bench.arrays.jobs[bench.live()]}
    bench.take_back()
    bench.make(3)
    after = {job["chunk"]: (job["work_hs06s"], job["maxpss_mb"]) for job in bench.arrays.jobs[bench.live()]}
    assert before == after and len(set(before.values())) == 3
    assert sorted(bench.arrays.jobs["panda_id"][bench.live()]) == [4, 5, 6]


def test_what_an_attempt_cost_is_kept_by_the_task():
    plan = scenario(queues={"HERE": dict(atlas_site="HERE", capability="mcore", corecount=4, maxtime=50)})
    bench = Bench(plan, dict(max_attempt=1, corecount=4, work_hs06s_per_event=1e6))
    bench.submit()
    bench.workers()
    bench.run(1000.0)
    bench.collect()
    task = bench.arrays.tasks[0]
    assert (task["lost_walltime_s"], task["used_hs06s"]) == (50.0 * 4, 50.0 * 40)


PLACES = {
    S.PENDING: lambda bench: bench.make(),
    S.ASSIGNED: lambda bench: bench.submit(task=1),
    S.ACTIVATED: lambda bench: bench.submit(),
    S.RUNNING: lambda bench: (bench.submit(), bench.workers(), bench.run(50.0)),
    S.HOLDING: lambda bench: (bench.submit(), bench.workers(), bench.run(150.0)),
    S.TRANSFERRING: lambda bench: (bench.submit(task=2, queue=1), bench.workers(queue=1), bench.run(150.0),
                                   bench.collect()),
}
"""How a job comes to stand in each status."""


def bench_with(status) -> Bench:
    """A bench with one job in a status."""
    link = dict(bandwidth=1.0)
    bench = Bench(two_sites(link=link), {}, dict(input_bytes_per_job=1e9, replicas={1: 1.0}),
                  dict(output_bytes_per_job=1e9, nucleus=0))
    PLACES[status](bench)
    assert bench.statuses() == [status.word]
    return bench


@pytest.mark.parametrize("end", [S.CLOSED, S.CANCELLED], ids=lambda end: end.word)
@pytest.mark.parametrize("status", PLACES, ids=lambda status: f"while {status.word}")
def test_a_job_can_be_taken_back(status, end):
    bench = bench_with(status)
    bench.take_back(status=end, cause=Cause.REASSIGNED)
    assert bench.statuses() == []
    assert bench.ended()[["status", "cause"]].tolist() == [(end, Cause.REASSIGNED)]
    bench.check()
    bench.run(1e4)                                         # its scheduled events find no job
    bench.fabric.set_up_jobs(bench.now)
    bench.collect()
    assert bench.statuses() == [] and len(bench.ended()) == 1
    bench.check()


@pytest.mark.parametrize("status", PLACES, ids=lambda status: f"while {status.word}")
def test_its_row_can_be_used_by_another_job_at_once(status):
    bench = bench_with(status)
    row = bench.live()[0]
    bench.take_back()
    bench.submit()
    assert bench.live().tolist() == [row]
    bench.workers()
    bench.run(bench.now + 1e4)
    bench.fabric.set_up_jobs(bench.now)
    bench.collect()
    assert bench.ended()["status"].tolist() == [S.CLOSED, S.FINISHED]
    bench.check()


def test_a_running_job_that_is_taken_back_frees_its_slot():
    bench = Bench(scenario({"HERE": dict(cores=1)}), dict(n_jobs=2))
    bench.submit(2)
    bench.workers(2)
    bench.run(30.0)
    assert bench.statuses() == ["running", "activated"]
    bench.take_back(bench.live()[0])
    bench.run(30.0)
    assert bench.statuses() == ["running"]
    assert bench.ended()[["walltime_s", "cputime_s"]].tolist() == [(30.0, 0.0)]
    bench.check()


def test_one_of_a_bunch_is_taken_back_and_the_others_go_on():
    bench = Bench(two_sites(), dict(n_jobs=5, input_bytes_per_job=1e6, replicas={1: 1.0}))
    bench.submit(5)
    for place in (4, 2, 0):
        bench.take_back(bench.live()[place])
        bench.check()
    bench.run(1e4)
    assert bench.statuses() == ["activated"] * 2
    assert bench.moved()["n_jobs"].tolist() == [2]
    bench.check()


def test_a_bunch_without_waiting_jobs_ends_without_effect():
    bench = bench_with(S.TRANSFERRING)
    bench.take_back(status=S.FAILED)
    bench.run(1e10)
    assert bench.moved()["n_jobs"].tolist() == [0]
    storages = bench.arrays.storages
    assert storages["written_bytes"][0] == 0 and (storages["free_bytes"] == storages["first_free_bytes"]).all()
    assert bench.link(1, 0)["files_done"] == 0
    bench.check()


ACTS = ["make", "set up", "workers", "run", "collect", "take back", "down", "up"]


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 3), st.integers(1, 7)), min_size=10, max_size=60))
def test_the_world_stays_sound_whatever_happens(steps):
    """No order of what agents may do breaks an invariant, and in the end every chunk is accounted for.

    Failures of payloads are learned from, those of sites leave two attempts, and some are the system's.
    """
    link = dict(bandwidth=1e5, failure_rate=0.2, max_active_files=3, latency=5)
    far, near = dict(input_bytes_per_job=1e6, n_input_files=2, replicas={1: 1.0}), dict(replicas={0: 1.0})
    said = [dict(n_jobs=40, failure_rate=0.3, nucleus=nucleus, output_bytes_per_job=1e6, work_spread=0.5,
                 max_failure=2 * nucleus) | where for where in (far, near) for nucleus in (0, 1)]
    bench = Bench(two_sites(here=dict(cores=3, failure_rate=0.2), there=dict(cores=2), link=link), *said)
    bench.arrays.retry_rules["learn"][0, Cause.PAYLOAD_ERROR] = True
    bench.arrays.retry_rules["attempt_limit"][0, Cause.SITE_ERROR] = 2
    bench.arrays.retry_rules["system"][0, Cause.TRANSFER_ERROR] = True
    bench.fabric.retry_module = lambda lesson: min(int(lesson["ram_level"]) + 1, 2)
    is_down = [False, False]
    for what, which, number in steps:
        if what == "make":
            left = bench.arrays.tasks[which]
            number = min(number, int(left["n_retry"] + left["n_jobs"] - left["next_chunk"]))
            bench.fabric.order_jobs(which, which % 2, number, 900.0, bench.now, number % 3)
            bench.fabric.make_jobs()
        elif what == "set up":
            bench.fabric.set_up_jobs(bench.now)
        elif what == "workers":
            bench.workers(number, queue=which % 2)
        elif what == "run":
            bench.run(bench.now + 40.0 * number)
        elif what == "collect":
            bench.collect()
        elif what == "take back" and len(bench.live()):
            bench.take_back(bench.live()[number % len(bench.live())], cause=Cause.REASSIGNED)
        elif what in ("down", "up") and is_down[which % 2] == (what == "up"):
            is_down[which % 2] = what == "down"
            {"down": bench.fabric.site_goes_down, "up": bench.fabric.site_comes_back}[what](which % 2, bench.now)
        bench.check()
    assert np.isin(bench.ended()["status"], [S.FINISHED, S.FAILED, S.CLOSED]).all()
    bench.take_back(status=S.CLOSED)
    bench.check()
    assert (bench.arrays.tasks["n_alive"] == 0).all()
