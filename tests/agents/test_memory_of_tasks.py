"""The retry module at work: rules in force, tasks and inputs that are raised, and how raised inputs are brokered."""

import numpy as np
import pytest
from builders import S, Stage, T, put_job, scenario

from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.panda.retry_module import level_of
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.names import Cause
from simgrid_broker.schema import FIXED_WORDS
from simgrid_broker.world.arrays import LESSON, N_RAM_LEVELS
from simgrid_broker.world.tasks.input_files import waiting_at

RULE = dict(errorsource="pilotErrorCode", errorcode=1212)
TYPES = dict(SCORE=dict(mincore=1, maxcore=1, maxrampercore=2000), SCORE_HIMEM=dict(mincore=1, maxcore=1,
                                                                                      minrampercore=2001))
LARGE = {"HERE": dict(atlas_site="HERE", capability="ucore", corecount=8, maxrss=32_000)}


def stage_of(*agents, rules=None, edition="documented", classes=(), n_jobs=10, **task):
    """A stage with one task that claims 1 GB."""
    said = {} if rules is None else dict(retry_rules=rules)
    plan = scenario(queues=LARGE, resource_types=TYPES, edition=edition, error_classification=classes, **said)
    return Stage(agents, plan, dict(n_jobs=n_jobs, ramcount=1000.0, maxpss_mb=1500.0, max_attempt=9,
                                    status=T.RUNNING, **task))


def fail(stage, cause=Cause.MEMORY_EXCEEDED, ramcount_mb=900.0, **columns):
    """One more job of the task fails."""
    task = stage.arrays.tasks[0]
    row = put_job(stage, S.RUNNING, ramcount_mb=ramcount_mb, maxpss_mb=1500.0, n_events=1, n_chunks=1, transfer=-1,
                  **dict(chunk=task["next_chunk"]) | columns)
    task["next_chunk"] += 1
    task["n_alive"] += 1
    stage.take_back(row, S.FAILED, cause)


def waiting(stage):
    """Inputs that await another attempt, by level of ramCount."""
    return stage.arrays.ram_levels["waiting"][0].tolist()


@pytest.mark.rule("RetryModule.learn")
def test_by_default_an_input_that_ran_out_of_memory_is_raised():
    stage = stage_of()
    fail(stage)
    fail(stage, Cause.PAYLOAD_ERROR)
    assert waiting(stage) == [1, 0, 1, 0, 0, 0, 0]
    assert stage.arrays.tasks["ramcount"][0] == 1000


def changes(stage):
    """The changes that will be recorded, by the names of their columns, and filled while jobs fail."""
    found = []

    def record(rows):
        found.extend((FIXED_WORDS["task_action"][row["action"]], FIXED_WORDS["changed_parameter"][row["parameter"]],
                      bool(row["of_task"]), float(row["before"]), float(row["after"])) for row in rows)
    stage.control.books.retry_module.record = record
    return found


@pytest.mark.rule("RetryModule.learn")
def test_changes_of_tasks_and_inputs_are_recorded():
    stage = stage_of()
    found = changes(stage)
    for _ in range(3):
        fail(stage)
    assert found == [*[("increase_memory", "ramCount", False, 1000, 2000)] * 2,
                     ("increase_memory", "ramCount", True, 1000, 2000)]


@pytest.mark.rule("RetryModule.learn")
@pytest.mark.parametrize(("edition", "claims"), [
    pytest.param("documented", [1000, 1000, 2000, 2000, 2000], id="L20 when the third of ten jobs has failed"),
    pytest.param("deployed", [1000, 1000, 1000, 1000, 2000], id="L20 when the fifth fails, as four inputs were raised"),
])
def test_then_the_task_is_raised(edition, claims):
    stage, found = stage_of(edition=edition), []
    for _ in range(5):
        fail(stage)
        found.append(int(stage.arrays.tasks["ramcount"][0]))
    assert found == claims


@pytest.mark.rule("RetryModule.learn")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_the_claim_of_a_task_stays_where_its_unit_is_fixed(edition):
    stage = stage_of(edition=edition, ramunit="MBPerCoreFixed")
    for _ in range(9):
        fail(stage)
    assert stage.arrays.tasks["ramcount"][0] == 1000 and waiting(stage)[2] == 9


@pytest.mark.rule("RetryModule.learn")
def test_memory_above_all_levels_counts_as_the_last():
    assert [level_of(ramcount) for ramcount in (1.0, 1e9)] == [0, N_RAM_LEVELS - 2]


@pytest.mark.rule("RetryModule.learn")
def test_a_task_that_is_raised_changes_its_resource_type():
    stage = stage_of(n_jobs=1)
    fail(stage, ramcount_mb=1900.0)
    assert (stage.arrays.tasks["ramcount"][0], stage.arrays.tasks["resource_type"][0]) == (3000, 1)


@pytest.mark.rule("RetryModule.learn")
@pytest.mark.parametrize(("rules", "left"), [
    pytest.param([], [1, 0, 0, 0, 0, 0, 0], id="without rules nothing is raised"),
    pytest.param([RULE | dict(retryaction="increase_memory", active=False)], [1, 0, 0, 0, 0, 0, 0], id="not active"),
    pytest.param([RULE | dict(retryaction="no_retry")], [0] * 7, id="no retry"),
    pytest.param([RULE | dict(retryaction="limit_retry", parameters=dict(maxAttempt=1))], [0] * 7, id="one attempt"),
    pytest.param([RULE | dict(retryaction="limit_retry", parameters=dict(maxAttempt=2))], [1, 0, 0, 0, 0, 0, 0],
                 id="two attempts"),
])
def test_rules_of_a_scenario(rules, left):
    stage = stage_of(rules=rules)
    fail(stage)
    assert waiting(stage) == left


def test_errors_of_class_system_do_not_count_for_max_failure():
    said = dict(error_source="pilotErrorCode", error_code=1099)
    for changes, again in (({}, 1), (dict(active=False), 0), (dict(error_class="user"), 0)):
        stage = stage_of(classes=[said | changes], max_failure=1)
        fail(stage, Cause.SITE_ERROR)
        assert stage.arrays.tasks["n_retry"][0] == again


@pytest.mark.parametrize(("scope", "left"), [
    pytest.param(dict(release="Athena-25"), 0, id="its release"),
    pytest.param(dict(release="Athena-24"), 1, id="another release"),
    pytest.param(dict(workqueue="All", architecture="x86"), 0, id="its share and architecture"),
    pytest.param(dict(workqueue="All", architecture="arm"), 1, id="another architecture"),
])
def test_a_rule_with_a_scope_is_for_the_tasks_in_it(scope, left):
    stage = stage_of(rules=[RULE | dict(retryaction="no_retry") | scope], transhome="Athena-25", architecture="x86")
    stage.control.books.retry_module.classify(0)
    fail(stage)
    assert stage.arrays.tasks["n_retry"][0] == left


@pytest.mark.rule("RetryModule.learn")
def test_cpu_time_is_raised_once():
    rules = [dict(errorsource="pilotErrorCode", errorcode=1213, retryaction="increase_cputime")]
    stage = stage_of(rules=rules, cputime=10.0, cpuefficiency=100.0)
    stage.arrays.queues["maxtime_s"] = 1000.0
    fail(stage, Cause.WALLTIME_EXCEEDED)
    assert stage.arrays.tasks["cputime"][0] == 1000.0 * 10 * 1.5
    stage.arrays.queues["maxtime_s"] = 9000.0
    fail(stage, Cause.WALLTIME_EXCEEDED)
    assert stage.arrays.tasks["cputime"][0] == 1000.0 * 10 * 1.5


def lesson(stage, cause, **said):
    """A failed job of the task as the retry module sees it, whose input is given up unless `retry` says its row."""
    row = np.zeros(1, LESSON)
    for name, value in (dict(retry=-1, cause=cause, hs06_milli=10_000, corecount=2, n_inputs=9, n_events=500)
                        | said).items():
        row[name] = value
    return row[0]


@pytest.mark.rule("RetryModule.learn")
@pytest.mark.parametrize(("maxtime_s", "claimed", "cputime", "again"), [
    pytest.param(86_400.0, 10.0, 2849, [], id="by the time of the queue"),
    pytest.param(86_400.0, 4000.0, 4000, [0], id="no more than it claims"),
    pytest.param(np.inf, np.nan, np.nan, [0], id="a queue without a limit"),
])
def test_cpu_time_without_a_finished_job_follows_the_first_that_fails_in_the_code(maxtime_s, claimed, cputime, again):
    rules = [dict(errorsource="pilotErrorCode", errorcode=1213, retryaction="increase_cputime")]
    stage = stage_of(rules=rules, edition="deployed", cputime=claimed, cpuefficiency=100.0, basewalltime_s=60.0)
    module, asked, stage.arrays.queues["maxtime_s"] = stage.control.books.retry_module, [], maxtime_s
    module.measure_again = asked.append
    for _ in range(2):
        module.learn(lesson(stage, Cause.WALLTIME_EXCEEDED))
    assert stage.arrays.tasks["cputime"][0] == pytest.approx(cputime, nan_ok=True)
    assert asked == again                                                 # once within half an hour


@pytest.mark.rule("RetryModule.learn")
@pytest.mark.parametrize(("split", "attempt", "limits"), [
    pytest.param(dict(nmaxfilesperjob=9), None, (1, 1), id="the last of nine attempts"),
    pytest.param(dict(nmaxfilesperjob=9), 3, (4, 4), id="the second"),
    pytest.param(dict(nmaxfilesperjob=9), 2, None, id="the first"),
    pytest.param(dict(nfilesperjob=9), None, None, id="nFilesPerJob excludes it"),
    pytest.param(None, None, None, id="jobs of one size"),
])
def test_input_of_jobs_is_reduced(split, attempt, limits):
    rules = [RULE | dict(retryaction="reduce_input_per_job")]
    files = {} if split is None else dict(split=dict(n_files=40, events_per_file=100, file_bytes=1e9) | split)
    stage = stage_of(rules=rules, edition="deployed", n_jobs=40, **files)
    found, held = changes(stage), {} if attempt is None else dict(retry=0)
    stage.world.make_room()
    stage.arrays.retries["attempt"][0] = attempt or 0
    stage.control.books.retry_module.learn(lesson(stage, Cause.MEMORY_EXCEEDED, **held))
    said = stage.arrays.splitting[["ngbperjob", "nmaxfilesperjob"]][0].item()
    assert said == (limits or (0, (split or {}).get("nmaxfilesperjob", 0)))
    expected = [("nGBPerJob", np.nan), ("nMaxFilesPerJob", 9.0)] if limits else []
    assert found == [("reduce_input_per_job", name, True, pytest.approx(before, nan_ok=True), after)
                     for (name, before), after in zip(expected, limits or (), strict=True)]


@pytest.mark.rule("job_turn.find_question")
def test_inputs_are_told_apart_by_what_they_were_raised_to():
    stage = stage_of(n_jobs=20)
    fail(stage)
    fail(stage, ramcount_mb=2700.0)
    fail(stage, Cause.PAYLOAD_ERROR)
    assert [waiting_at(stage.arrays, 0, level) for level in range(N_RAM_LEVELS)] == [18, 0, 1, 0, 1, 0, 0]


@pytest.mark.rule("job_turn.find_question")
def test_raised_inputs_are_brokered_with_their_memory():
    stage = stage_of(statistics, job_generator, n_jobs=20, edition="deployed")
    stage.arrays.tasks["next_chunk"][0] = 12
    stage.arrays.tasks["n_finished"][0] = 12
    fail(stage)
    fail(stage, ramcount_mb=2700.0)
    fail(stage, Cause.PAYLOAD_ERROR)
    stage.control.books.live_tasks.add([0])
    stage.run_to_jobs(900.0)
    jobs = stage.arrays.jobs[stage.live()]
    found = sorted(jobs[["ramcount_mb", "resource_type", "attempt"]].tolist())
    assert found == [(900.0, 0, 1)] * 5 + [(900.0, 0, 2), (1800.0, 0, 2), (3600.0, 1, 2)]
