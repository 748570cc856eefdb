"""What follows from a failure: limits of attempts and failures, errors that do not count, and the retry module."""

import pytest
from builders import Bench, S, scenario

from simgrid_broker.names import Cause

pytestmark = pytest.mark.rule("failures_after", "limit_after", "may_try_again")


def start(bench):
    """Every activated job gets a slot."""
    bench.workers(8)
    bench.run(bench.now + 1.0)


def bench_where(rule=None, **task) -> Bench:
    """A bench with one job that runs, and what follows from a payload error."""
    bench = Bench(scenario(), task)
    for name, value in (rule or {}).items():
        bench.arrays.retry_rules[name][0, Cause.PAYLOAD_ERROR] = value
    bench.submit()
    start(bench)
    return bench


def fail(bench, cause=Cause.PAYLOAD_ERROR, status=S.FAILED):
    """The job fails, and the next attempt is made if there may be one; returns whether there may."""
    bench.take_back(status=status, cause=cause)
    bench.check()
    bench.submit()
    start(bench)
    return bool(len(bench.live()))


@pytest.mark.parametrize(("rule", "task", "attempts"), [
    pytest.param({}, dict(max_attempt=3), 3, id="no rule: maxAttempt"),
    pytest.param(dict(attempt_limit=1), dict(max_attempt=3), 1, id="limited to the attempt in hand"),
    pytest.param(dict(attempt_limit=2), dict(max_attempt=5), 2, id="limited to one more"),
    pytest.param(dict(attempt_limit=9), dict(max_attempt=2), 2, id="a limit above maxAttempt changes nothing"),
    pytest.param({}, dict(max_attempt=9, max_failure=1), 1, id="maxFailure 1"),
    pytest.param({}, dict(max_attempt=9, max_failure=4), 4, id="maxFailure below maxAttempt"),
    pytest.param({}, dict(max_attempt=2, max_failure=4), 2, id="maxFailure above maxAttempt"),
    pytest.param(dict(system=True), dict(max_attempt=7, max_failure=1), 7, id="system errors do not count as failures"),
])
def test_attempts_of_an_input_whose_jobs_fail(rule, task, attempts):
    bench = bench_where(rule, **task)
    made = 1
    while fail(bench):
        made += 1
    assert made == attempts == len(bench.ended())
    assert bench.arrays.tasks["n_failed"][0] == 1 and bench.world.state["n_done_tasks"] == 1


def test_jobs_that_are_taken_back_count_as_attempts_but_not_as_failures():
    bench = bench_where(max_attempt=5, max_failure=1)
    assert [fail(bench, status=S.CLOSED) for _ in range(5)] == [True] * 4 + [False]


def test_a_rule_is_about_its_error_only():
    bench = bench_where(dict(attempt_limit=1), max_attempt=9)
    assert fail(bench, Cause.SITE_ERROR) and fail(bench, status=S.CLOSED)
    assert not fail(bench)


def test_a_limit_holds_for_the_attempts_after_it():
    bench = bench_where(dict(attempt_limit=3), max_attempt=9)
    assert fail(bench) and fail(bench, Cause.SITE_ERROR)
    assert not fail(bench, Cause.SITE_ERROR)


def test_a_new_job_names_the_old_one():
    bench = bench_where(max_attempt=3)
    while fail(bench):
        pass
    assert bench.ended()[["panda_id", "old_panda_id", "attempt"]].tolist() == [(1, 0, 1), (2, 1, 2), (3, 2, 3)]


def test_an_attempt_of_the_server_names_the_old_job_and_keeps_its_failures():
    bench = Bench(scenario(), dict(max_attempt=9, max_failure=2, failure_rate=1.0))
    bench.arrays.tasks["server_retries"] = 5
    bench.submit()
    for _ in range(3):
        bench.workers()
        bench.run(bench.now + 10_000.0)
        bench.collect()
        bench.check()
    assert bench.ended()[["panda_id", "old_panda_id", "failures"]].tolist() == [(1, 0, 0), (2, 1, 1)]
    assert bench.arrays.tasks["n_failed"][0] == 1


def raising(level, **task) -> Bench:
    """A bench of two jobs whose retry module gives every input of a failed job a level; lessons are kept."""
    bench = Bench(scenario(), dict(n_jobs=3, max_attempt=4) | task)
    bench.arrays.retry_rules["learn"][0, Cause.PAYLOAD_ERROR] = True
    bench.lessons = []
    bench.fabric.retry_module = lambda lesson: bench.lessons.append(lesson.copy()) or level
    bench.submit(2, ram_mb=900.0)
    start(bench)
    return bench


def order(bench, jobs, level):
    """Make jobs of the inputs of a level; returns how many there are."""
    before = len(bench.live())
    bench.fabric.order_jobs(0, 0, jobs, 1800.0, bench.now, level)
    bench.fabric.make_jobs()
    bench.fabric.set_up_jobs(bench.now)
    start(bench)
    bench.check()
    return len(bench.live()) - before


def test_the_retry_module_sees_a_failed_job_before_its_input_is_tried_again():
    bench = raising(2)
    bench.take_back(bench.live()[0], S.FAILED, Cause.PAYLOAD_ERROR)
    bench.check()
    lesson = bench.lessons[0]
    assert (lesson["task"], lesson["ramcount_mb"], lesson["maxpss_mb"], lesson["cause"]) == (
        0, 900.0, 1000.0, Cause.PAYLOAD_ERROR)
    assert bench.arrays.ram_levels[0]["inputs"].tolist() == [0, 0, 1, 0, 0, 0, 0]


def test_it_does_not_see_jobs_that_are_taken_back_or_fail_otherwise():
    bench = raising(2)
    bench.take_back(bench.live()[0], S.CLOSED, Cause.PAYLOAD_ERROR)
    bench.take_back(bench.live()[0], S.FAILED, Cause.SITE_ERROR)
    assert bench.lessons == [] and bench.arrays.ram_levels[0]["waiting"].tolist() == [2, 0, 0, 0, 0, 0, 0]


def test_inputs_of_one_ramcount_are_ordered_by_themselves():
    bench = raising(2)
    bench.take_back(bench.live()[0], S.FAILED, Cause.PAYLOAD_ERROR)
    assert order(bench, 9, 1) == 0
    assert order(bench, 9, 2) == 1
    assert order(bench, 9, 0) == 1                      # the third, which was never tried
    again = bench.arrays.jobs[bench.live()[1]]
    assert (again["attempt"], again["ram_level"], again["ramcount_mb"], again["old_panda_id"]) == (2, 2, 1800.0, 1)


def test_an_input_that_is_raised_again_is_counted_once():
    bench = raising(2)
    bench.take_back(bench.live()[0], S.FAILED, Cause.PAYLOAD_ERROR)
    order(bench, 1, 2)
    bench.fabric.retry_module = lambda lesson: int(lesson["ram_level"]) + 1
    bench.take_back(bench.live()[-1], S.FAILED, Cause.PAYLOAD_ERROR)
    assert bench.arrays.ram_levels[0]["inputs"].tolist() == [0, 0, 0, 1, 0, 0, 0]
    bench.check()


def test_it_learns_from_inputs_that_are_given_up():
    bench = raising(2, max_attempt=1)
    bench.take_back(status=S.FAILED, cause=Cause.PAYLOAD_ERROR)
    bench.check()
    assert [lesson["retry"] for lesson in bench.lessons] == [-1, -1]
    assert bench.arrays.tasks["n_failed"][0] == 2


def test_the_server_leaves_to_jedi_what_the_retry_module_looks_at():
    bench = raising(2, failure_rate=1.0)
    bench.arrays.tasks["server_retries"] = 2
    bench.run(10_000.0)
    bench.collect()
    bench.check()
    assert len(bench.lessons) == 2 and len(bench.live()) == 0


def test_what_a_killed_payload_would_have_used_is_not_seen():
    bench = Bench(scenario(), dict(maxpss_mb=50_000.0))
    bench.arrays.retry_rules["learn"][0, Cause.MEMORY_EXCEEDED] = True
    seen = []
    bench.fabric.retry_module = lambda lesson: seen.append(float(lesson["maxpss_mb"])) or 0
    bench.submit()
    bench.workers()
    bench.run(10_000.0)
    bench.collect()
    assert seen == [2.0 * bench.arrays.pseudo_queues["worker_mb"][0]]
