"""The retry module: which rules an error meets, and what more memory or CPU time means in both editions."""

from math import nan

import pytest
from policy_builders import cfg, task

from simgrid_broker.names import PANDA_ERRORS, PandaError, RetryAction
from simgrid_broker.policy.jobs.retry_module import (
    ErrorClass,
    FailedForTime,
    Handling,
    InputLimits,
    MemoryFailure,
    NewMemory,
    RetryRule,
    Scope,
    TaskMemory,
    TaskTime,
    act,
    concerns,
    first_cputime,
    handling,
    increase_memory,
    increased_cputime,
    increased_xtimes,
    is_system,
    keeps_input,
    may_recalculate,
    reduced_input,
    steps_of,
)
from simgrid_broker.policy.jobs.timeouts import rules
from simgrid_broker.units import GIB

pytestmark = pytest.mark.rule("handling", "selected_documented", "selected_deployed",
                              "increase_memory", "increased_documented", "increased_deployed",
                              "increased_cputime")

ERROR = PandaError("pilotErrorCode", 1212, "Payload exceeded\nmaximum allowed memory")
TASK = Scope("x86_64", "Athena-25.0.1", "MC simul")
A = RetryAction


def rule(action, limit=None, **said):
    """A rule about ERROR."""
    parameters = {} if limit is None else {"maxAttempt": str(limit)}
    plain = dict(errorsource="pilotErrorCode", errorcode=1212, retryaction=action, parameters=parameters)
    return RetryRule(**plain | said)


MEMORY, CPUTIME = rule(A.INCREASE_MEMORY), rule(A.INCREASE_CPUTIME)
XTIMES, REDUCED = rule(A.INCREASE_MEMORY_XTIMES), rule(A.REDUCE_INPUT_PER_JOB)
OFF = rule(A.INCREASE_MEMORY, active=False)


@pytest.mark.parametrize(("source", "code", "diag", "found"), [
    pytest.param("pilotErrorCode", 1212, None, True, id="any diagnostics"),
    pytest.param("pilotErrorCode", 1213, None, False, id="another code"),
    pytest.param("exeErrorCode", 1212, None, False, id="the same code of another source"),
    pytest.param("pilotErrorCode", 1212, "Payload", True, id="the diagnostics begin so"),
    pytest.param("pilotErrorCode", 1212, "maximum", False, id="they only hold it further on"),
    pytest.param("pilotErrorCode", 1212, ".*maximum", True, id="a dot stands for a newline too"),
    pytest.param("pilotErrorCode", 1212, "Payload(", False, id="what is no expression matches nothing"),
])
def test_an_error_that_a_rule_is_about(source, code, diag, found):
    assert concerns(source, code, diag, ERROR) == found


@pytest.mark.parametrize(("rules", "documented", "deployed"), [
    pytest.param([], Handling(), Handling(), id="no rule: nothing"),
    pytest.param([rule(A.NO_RETRY)], Handling(1), Handling(1), id="no retry: the attempt was the last"),
    pytest.param([rule(A.LIMIT_RETRY, 4)], Handling(4), Handling(4), id="limit"),
    pytest.param([rule(A.LIMIT_RETRY, 4), rule(A.LIMIT_RETRY, 2)], Handling(2), Handling(2), id="the lower"),
    pytest.param([rule(A.LIMIT_RETRY, 9), rule(A.LIMIT_RETRY, 10)], Handling(9), Handling(10),
                 id="of two limits the lower, in the code as text"),
    pytest.param([rule(A.LIMIT_RETRY, 2), rule(A.LIMIT_RETRY, 7, scope=Scope(release="Athena-25.0.1"))], Handling(7),
                 Handling(7), id="the narrower scope goes before"),
    pytest.param([rule(A.LIMIT_RETRY, 7), rule(A.NO_RETRY)], Handling(1), Handling(7),
                 id="no retry goes before any limit, in the code the first of equally narrow rules"),
    pytest.param([rule(A.LIMIT_RETRY, 7), rule(A.NO_RETRY, scope=Scope("x86_64"))], Handling(1), Handling(1),
                 id="a narrower no retry"),
    pytest.param([MEMORY, rule(A.LIMIT_RETRY, 3)], *[Handling(3, (MEMORY,))] * 2, id="memory and a limit"),
    pytest.param([rule(A.LIMIT_RETRY), rule(A.LIMIT_RETRY, 5)], Handling(5), Handling(),
                 id="a limit without a number is none, but the code looks no further"),
    pytest.param([OFF, MEMORY], Handling(None, (MEMORY,)), Handling(),
                 id="in the code a rule that is off hides another"),
    pytest.param([REDUCED, CPUTIME, XTIMES, MEMORY], *[Handling(None, (MEMORY, XTIMES, CPUTIME, REDUCED))] * 2,
                 id="all actions in their order"),
    pytest.param([rule(A.NO_RETRY, active=False)], Handling(), Handling(), id="a rule that is not active does nothing"),
    pytest.param([rule(A.NO_RETRY, scope=Scope("x86_64", None, "MC simul"))], Handling(1), Handling(1), id="in scope"),
    pytest.param([rule(A.NO_RETRY, scope=Scope("aarch64"))], Handling(), Handling(), id="for another architecture"),
    pytest.param([rule(A.NO_RETRY, scope=Scope(workqueue="Data"))], Handling(), Handling(), id="another work queue"),
])
@pytest.mark.rule("act", "handling", "selected_documented", "selected_deployed")
def test_what_rules_make_of_an_error(rules, documented, deployed):
    assert handling(rules, ERROR, TASK, "documented") == documented
    assert handling(rules, ERROR, TASK, "deployed") == deployed


@pytest.mark.rule("act")
def test_only_one_error_of_a_job_is_acted_on():
    other = PandaError("exeErrorCode", 65, "failed")
    for done, number in ((True, 1), (False, 2)):
        chosen = []
        act([MEMORY, rule(A.INCREASE_CPUTIME, errorsource="exeErrorCode", errorcode=65)], [ERROR, other], TASK,
            "deployed", lambda each, chosen=chosen, done=done: chosen.append(each) or done)
        assert len(chosen) == number


@pytest.mark.rule("is_system")
@pytest.mark.parametrize(("classes", "system"), [
    pytest.param([("Payload", "system", True)], True, id="the class system"),
    pytest.param([("Payload", "user", True), ("Payload", "system", True)], False, id="the first class decides"),
    pytest.param([("Payload", "system", False), ("Payload", "system", True)], False, id="even if it is not active"),
    pytest.param([("other", "user", True), ("", "user", True), ("Payload", "system", True)], True,
                 id="of those that match; none without diagnostics"),
])
def test_the_class_of_an_error(classes, system):
    rows = [ErrorClass("pilotErrorCode", 1212, *each) for each in classes]
    assert is_system(rows, [ERROR]) == system


@pytest.mark.rule("increased_xtimes")
@pytest.mark.parametrize(("said", "new"), [
    pytest.param(dict(), NewMemory(of_input=3000), id="what was asked for times step over ramCount"),
    pytest.param(dict(most=2500), NewMemory(of_input=2500), id="no more than the most"),
    pytest.param(dict(most=20_000, cores=8), NewMemory(of_input=2500), id="which is for a whole job"),
    pytest.param(dict(step=1000), NewMemory(), id="not more than was asked for"),
    pytest.param(dict(raised=((2000, 30),)), NewMemory(of_input=3000), id="30 % of the inputs are raised"),
    pytest.param(dict(raised=((2000, 31),)), NewMemory(of_task=4000), id="more: the next value for the whole task"),
    pytest.param(dict(raised=((2000, 31),), step=9000), NewMemory(of_task=9000), id="or a value above the list"),
    pytest.param(dict(raised=((2000, 31),), ramunit="MBPerCoreFixed"), NewMemory(of_input=3000), id="a fixed ramCount"),
    pytest.param(dict(raised=((2000, 31),), step=1000), NewMemory(), id="a value that the task has"),
    pytest.param(dict(asked=450, step=2000), NewMemory(of_input=1000), id="which is enough for an input below it"),
    pytest.param(dict(asked=450, step=1999), NewMemory(), id="less is not"),
    pytest.param(dict(ramcount=nan), NewMemory(), id="an unknown ramCount"),
    pytest.param(dict(ramcount=0), NewMemory(), id="a ramCount of 0"),
    pytest.param(dict(ramcount=1, step=3), NewMemory(of_input=3000), id="the least ramCount"),
])
def test_memory_times_a_step(said, new):
    of_task = dict(ramcount=1000, ramunit="MBPerCore", baseramcount=0, n_inputs=100, raised=())
    task = TaskMemory(**{name: said.get(name, value) for name, value in of_task.items()})
    cores = said.get("cores", 1)
    failure = MemoryFailure(said.get("asked", 900) * cores, cores, 0)
    assert increased_xtimes(failure, task, said.get("step", 3000), said.get("most", float("inf"))) == new


@pytest.mark.rule("first_cputime")
@pytest.mark.parametrize(("said", "new"), [
    pytest.param({}, 2849, id="wall time, 1.1 and 1.5, rounded down"),
    pytest.param(dict(n_events=200_000), 7.123, id="below 10 in thousandths"),
    pytest.param(dict(n_events=134_400), 10, id="from 10 on in whole numbers"),
    pytest.param(dict(corecount=8), 22_793, id="of all cores"),
    pytest.param(dict(corecount=0), 2849, id="of one if they are not known"),
    pytest.param(dict(cputime=86_340 * 10 * 1.1 / 500 * 1.5), 2849, id="a claim of as much is rounded, too"),
    pytest.param(dict(cputime=2849.0), 2849, id="a claim not above it"),
    pytest.param(dict(cputime=2850.0), None, id="a claim above it stays"),
    pytest.param(dict(n_finished=1), None, id="a task that has a finished job"),
    pytest.param(dict(n_events=0), None, id="events are not known"),
    pytest.param(dict(corepower=0), None, id="corepower is not known"),
    pytest.param(dict(basewalltime_s=0), None, id="nor the base wall time"),
    pytest.param(dict(cpuefficiency=0), None, id="nor the efficiency"),
])
def test_cpu_time_after_a_first_failure(said, new):
    job = dict(n_events=500, corecount=1, walltime_s=86_400, maxtime_s=86_400, corepower=10)
    task = dict(cputime=nan, basewalltime_s=60, cpuefficiency=100, n_finished=0)
    found = first_cputime(FailedForTime(**{name: said.get(name, value) for name, value in job.items()}),
                          TaskTime(**{name: said.get(name, value) for name, value in task.items()}))
    assert found == (None if new is None else pytest.approx(new, abs=1e-3))


@pytest.mark.rule("reduced_input", "steps_of", "keeps_input", "may_recalculate")
def test_input_of_the_next_jobs():
    first = [reduced_input(InputLimits(), attempt, 9.5 * GIB, 9) for attempt in (1, 2, 3, 4, 6, 7)]
    half, quarter, one = InputLimits(5, 4, 10, 9), InputLimits(2, 2, 10, 9), InputLimits(1, 1, 10, 9)
    assert first == [None, half, half, quarter, quarter, one]
    assert reduced_input(half, 3, GIB, 1) is None and reduced_input(half, 4, GIB, 1) == quarter
    assert reduced_input(InputLimits(3, 7), 2, GIB, 1) == InputLimits(1, 3, 3, 7)
    steps = rule(A.REDUCE_INPUT_PER_JOB, parameters={"steps": "1,3,5", "excluded_rules": "nFilesPerJob"})
    assert (steps_of(steps), steps_of(REDUCED)) == ((1, 3, 5), (2, 4, 7))
    uses_events = {"nEventsPerJob": 10, "nFilesPerJob": 0}
    assert (keeps_input(steps, uses_events), keeps_input(REDUCED, uses_events)) == (False, True)
    assert (may_recalculate(1800), may_recalculate(1801)) == (False, True)


def new_memory(edition, asked_mb, used_mb, cores=1, **task):
    """What becomes of a job that asked for so much (compensation not in it) and used so much, and its task."""
    plain = dict(ramcount=1000, ramunit="MBPerCore", baseramcount=0, n_inputs=100)
    return increase_memory(edition, MemoryFailure(asked_mb * 0.9, cores, used_mb), TaskMemory(**plain | task))


@pytest.mark.parametrize(("asked", "used", "documented", "deployed"), [
    pytest.param(999, 500, 1000, 1000, id="L19 asked for less than the first value"),
    pytest.param(1000, 900, 2000, 2000, id="L19 asked for a value of the list: the next"),
    pytest.param(1000, 2000, 3000, 2000, id="L19 used a value of the list: only the documents look at it"),
    pytest.param(1000, 4500, 6000, 2000, id="L19 used much more than it asked for"),
    pytest.param(3000, 1200, 4000, 4000, id="L19 used less than it asked for"),
    pytest.param(7999, 7000, 8000, 8000, id="L19 just below the last value"),
    pytest.param(8000, 7000, None, None, id="L19 above the last value there is nothing"),
    pytest.param(1000, 9000, 8000, 2000, id="L19 used more than the last value"),
    pytest.param(7999, 9000, 8000, 8000, id="L19 there is little left"),
])
def test_memory_of_the_next_attempt(asked, used, documented, deployed):
    assert new_memory("documented", asked, used) == NewMemory(of_input=documented)
    assert new_memory("deployed", asked, used) == NewMemory(of_input=deployed)


@pytest.mark.parametrize(("said", "documented", "deployed"), [
    pytest.param(dict(asked_mb=8 * 1000, used_mb=8 * 2500, cores=8), 3000, 2000, id="per core"),
    pytest.param(dict(asked_mb=8 * 1000 + 800, used_mb=8 * 2500, cores=8, baseramcount=800), 3000, 2000,
                 id="without what is added once per job"),
    pytest.param(dict(asked_mb=3500, used_mb=3600, cores=8, ramunit="MB"), 4000, 4000, id="per job"),
    pytest.param(dict(asked_mb=3500, used_mb=1000, ramunit="MB", baseramcount=1000), 4000, 3000,
                 id="per job with a base: the code takes off what was not in it"),
])
def test_memory_is_counted_in_the_unit_of_the_task(said, documented, deployed):
    assert new_memory("documented", **said).of_input == documented
    assert new_memory("deployed", **said).of_input == deployed


def test_a_task_that_was_raised_meanwhile_raises_no_input_below_it():
    assert new_memory("deployed", 1000, 900, ramcount=3000) == NewMemory()


@pytest.mark.parametrize(("n_failed", "raised", "documented", "deployed"), [
    pytest.param(1, 0, False, False, id="L20 the first job"),
    pytest.param(29, 0, False, False, id="L20 29 of 100 jobs have failed, no input was raised"),
    pytest.param(30, 0, True, False, id="L20 30 jobs have failed, no input was raised"),
    pytest.param(29, 30, False, False, id="L20 30 inputs were raised"),
    pytest.param(29, 31, False, True, id="L20 31 inputs were raised"),
    pytest.param(31, 31, True, True, id="L20 both"),
])
def test_when_the_whole_task_is_raised(n_failed, raised, documented, deployed):
    for edition, whole in (("documented", documented), ("deployed", deployed)):
        new = new_memory(edition, 1000, 1500, n_failed=n_failed, raised=((2000, raised),) if raised else ())
        assert new == (NewMemory(of_task=2000) if whole else NewMemory(of_input=2000))


@pytest.mark.parametrize(("asked", "used", "ramcount", "of_task"), [
    pytest.param(1000, 500, 1000, 2000, id="the job asked for as much as the task claims"),
    pytest.param(1000, 900, 1001, None, id="the task claims more than the job asked for and used"),
    pytest.param(1000, 1500, 1500, 2000, id="the job used as much as the task claims"),
    pytest.param(1000, 1800, 1500, 2000, id="it used more"),
    pytest.param(1000, 9000, 8000, None, id="the task claims the last value"),
    pytest.param(1000, 9000, 7999, 8000, id="it is just below it"),
])
def test_what_the_documents_raise_a_task_to(asked, used, ramcount, of_task):
    assert new_memory("documented", asked, used, n_failed=30, ramcount=ramcount) == NewMemory(of_task=of_task)


@pytest.mark.parametrize(("asked", "raised", "ramcount", "of_task"), [
    pytest.param(1000, ((2000, 40),), 1000, 2000, id="to the value of the raised inputs"),
    pytest.param(1000, ((2000, 39), (4000, 1)), 1000, 4000, id="to the highest of them"),
    pytest.param(4000, ((2000, 40),), 1000, 6000, id="above what the job asked for"),
    pytest.param(1000, ((2000, 20), (3000, 40)), 2000, 3000, id="inputs that are not above the task do not count"),
    pytest.param(9000, ((8000, 40),), 6000, 8000, id="above the last value it is the last"),
    pytest.param(9000, ((9500, 40),), 8500, None, id="a task above the last value stays"),
    pytest.param(9000, ((9500, 40),), 8000, None, id="so does one at the last value"),
    pytest.param(2000, ((2000, 40),), 1000, 3000, id="the job asked for as much as the raised inputs"),
    pytest.param(1000, ((2000, 40),), 1999, 2000, id="a task just below them"),
])
def test_what_the_code_raises_a_task_to(asked, raised, ramcount, of_task):
    assert new_memory("deployed", asked, 500, raised=raised, ramcount=ramcount) == NewMemory(of_task=of_task)


def test_inputs_that_were_raised_to_what_the_task_claims_do_not_count_in_the_code():
    assert new_memory("deployed", 2000, 500, raised=((2000, 40),), ramcount=2000) == NewMemory(of_input=3000)


def test_a_task_without_input_is_not_raised():
    assert new_memory("deployed", 2000, 500, n_inputs=0, ramcount=2000) == NewMemory(of_input=3000)


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_a_task_without_a_claim_is_raised_like_one_with_the_least(edition):
    for failed in (1, 40):
        raised = ((2000, 40),) if failed > 1 else ()
        unknown, least = (new_memory(edition, 0, 1500, ramcount=ramcount, n_failed=failed, raised=raised)
                          for ramcount in (nan, 0.1))
        assert unknown == least and any(unknown)


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_a_fixed_ramcount_stays(edition):
    new = new_memory(edition, 1000, 1500, ramunit="MBPerCoreFixed", n_failed=90, raised=((2000, 90),))
    assert new == NewMemory(of_input=2000)


@pytest.mark.parametrize(("said", "claimed", "raised"), [
    pytest.param({}, 1000.0, 9331.2, id="what it has used, times 1.5"),
    pytest.param({}, 9400.0, 9400.0, id="never less than before"),
    pytest.param({}, nan, 9331.2, id="where there was no claim"),
    pytest.param(dict(cpuefficiency=nan), 10.0, 10.0, id="a task without a claim of cpuEfficiency"),
    pytest.param(dict(cpuefficiency=nan), nan, nan, id="a task that claims neither"),
    pytest.param(dict(maxtime_s=float("inf")), nan, nan, id="no limit and no claim"),
    pytest.param(dict(maxtime_s=float("inf")), 10.0, 10.0, id="a queue without a limit says nothing"),
    pytest.param(dict(maxtime_s=500.0), 10.0, 10.0, id="less than the base time"),
    pytest.param(dict(maxtime_s=500.0), nan, 0.0, id="less than the base time and no claim"),
])
def test_cpu_time_of_a_job_that_was_killed_for_its_time(said, claimed, raised):
    job = dict(maxtime_s=87_000.0, cpuefficiency=90.0) | said
    claims = task(cputime=claimed, basewalltime_s=600.0, cpuefficiency=job["cpuefficiency"])
    assert increased_cputime(claims, 1000, 80.0, job["maxtime_s"]) == pytest.approx(raised, nan_ok=True)


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_every_timeout_that_fails_jobs_has_an_error(edition):
    assert {rule.cause for rule in rules(cfg(), edition) if rule.action == "fail"} <= set(PANDA_ERRORS)
