"""Build jobs: made once at each site, waited for, limited, and failing."""

import numpy as np
import pytest
from builders import Stage, scenario, two_sites

from simgrid_broker.agents.harvester.workers import harvester_submitter
from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.post_processor import post_processor
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.panda.jobs import Library, adder, setupper
from simgrid_broker.agents.panda.pilot_streaming import pilot_streaming
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.agents.run.timeline import task_source
from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.policy.users.tasks import BUILD_FAILURES, LIBRARY_S, breaks_task, corecount, memory_asked
from simgrid_broker.schema.tasks import UserParameters
from simgrid_broker.units import HOUR

S = JobStatus
LIFE = (task_source, task_refiner, statistics, adder, post_processor, job_generator, setupper, pilot_streaming,
        harvester_submitter)


def building(plan=None, tasks=1, rule=None, **said) -> Stage:
    """A stage with tasks that build their software for 400 s first."""
    word = UserParameters(buildSpec=True, build_hs06sec=4000, **(rule or {})).word()
    return Stage(LIFE, plan, *(dict(label="user", n_jobs=6, user_parameters=word, **said) for _ in range(tasks)))


def builds(stage) -> np.ndarray:
    """Build jobs that have ended."""
    rows = stage.ended()
    return rows[rows["n_chunks"] == 0]


def others(stage) -> np.ndarray:
    """Other jobs that have ended."""
    rows = stage.ended()
    return rows[rows["n_chunks"] > 0]


def of_builds(stage, times) -> np.ndarray:
    """Which of the jobs that have ended are build jobs, and some times of all, both (n,)."""
    return (stage.ended()["n_chunks"] == 0), np.array(times)


@pytest.mark.rule("Builder.look", "Builder._hold", "make_build_job")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_jobs_wait_for_the_build_job_of_their_task(edition):
    stage = building(scenario(edition=edition), tasks=2)
    stage.run(6 * HOUR)
    rows = builds(stage)
    words = stage.world.vocabularies["processing_types"]
    assert sorted(rows["jeditaskid"].tolist()) == [1, 2] and set(rows["status"].tolist()) == {S.FINISHED}
    assert {words[kind] for kind in rows["processing_type"].tolist()} == {"build"}
    assert set(rows["priority"].tolist()) == {2000} and set(rows["ramcount_mb"].tolist()) == {2000}
    is_build, activated = of_builds(stage, stage.times(S.ACTIVATED))
    _, finished = of_builds(stage, stage.times(S.HOLDING))
    tasks = stage.ended()["jeditaskid"]
    for task in (1, 2):
        made_s = finished[is_build & (tasks == task)][0]
        assert (activated[~is_build & (tasks == task)] > made_s).all() and (~is_build & (tasks == task)).sum() == 6
    assert [stage.task(row) for row in (0, 1)] == ["done", "done"]
    assert not stage.arrays.user_jobs.any()
    stage.check()


def builder_of(stage):
    """The builder of a stage that has begun."""
    return next(watcher.__self__ for watcher in stage.fabric.watchers
                if type(getattr(watcher, "__self__", None)).__name__ == "Builder")


@pytest.mark.rule("Builder._hold", "Builder._build")
def test_each_site_has_a_library_of_its_own():
    stage = building(two_sites())
    stage.run(1.0)
    builder = builder_of(stage)
    for queue in (0, 1, 0):
        stage.make(1, 0, queue)
    builder.look()
    assert sorted(builder.libraries) == [(1, 0), (1, 1)] and len(builder.under_way) == 2
    assert [len(builder.libraries[1, site].waiting) for site in (0, 1)] == [2, 1]
    jobs = stage.arrays.jobs[stage.live()]
    queues = dict(zip(jobs["panda_id"].tolist(), jobs["queue"].tolist(), strict=True))
    assert [queues[builder.libraries[1, site].panda_id] for site in (0, 1)] == [0, 1]


@pytest.mark.rule("users.tasks.is_usable", "Builder._hold")
@pytest.mark.parametrize(("age_s", "n_builds"), [
    pytest.param(LIBRARY_S, 0, id="seven days old"), pytest.param(LIBRARY_S + 1, 1, id="older"),
])
def test_a_library_is_used_for_seven_days(age_s, n_builds):
    stage = building()
    stage.run(1.0)
    builder = builder_of(stage)
    builder.libraries[1, 0] = Library(made_s=stage.now - age_s)
    stage.make(2)
    builder.look()
    assert len(builder.under_way) == n_builds and len(builder.libraries[1, 0].waiting) == 2 * n_builds


@pytest.mark.rule("users.tasks.max_walltime_s", "limit_of_queue_or_build")
@pytest.mark.parametrize(("hours", "basewalltime_s", "cause"), [
    pytest.param(None, 0.0, Cause.NONE, id="without a limit"),
    pytest.param(0.2, 0.0, Cause.NONE, id="720 s for a build of 400 s"),
    pytest.param(0.1, 0.0, Cause.WALLTIME_EXCEEDED, id="360 s"),
    pytest.param(0.1, 100.0, Cause.WALLTIME_EXCEEDED, id="460 s for one of 500 s"),
])
def test_build_jobs_have_a_limit_of_their_own(hours, basewalltime_s, cause):
    config = {} if hours is None else {"BUILD_JOB_MAX_WALLTIME": hours}
    stage = building(scenario(gdpconfig=config), basewalltime_s=basewalltime_s)
    stage.run(3000.0)
    first = builds(stage)[0]
    assert first["cause"] == cause
    assert first["walltime_s"] == pytest.approx(400 + basewalltime_s if not cause else hours * 3600 + basewalltime_s)


def test_the_limit_of_build_jobs_is_not_that_of_others():
    stage = building(scenario(gdpconfig={"BUILD_JOB_MAX_WALLTIME": 0.2}), work_hs06s_per_event=20_000.0)
    stage.run(6 * HOUR)
    assert (others(stage)["cause"] == Cause.NONE).all() and (others(stage)["walltime_s"] > 1900).all()


@pytest.mark.rule("Builder._settle", "Builder._build")
def test_jobs_that_wait_for_a_failed_build_are_cancelled_and_tried_again_with_another():
    stage = building(rule=dict(build_failure_rate=1), max_attempt=2)
    stage.run(12 * HOUR)
    rows = others(stage)
    assert builds(stage)["status"].tolist() == [S.FAILED, S.FAILED]
    assert builds(stage)["attempt"].tolist() == [1, 2]
    assert len(rows) == 12 and set(rows["status"].tolist()) == {S.CANCELLED}
    assert set(rows["cause"].tolist()) == {Cause.BUILD_FAILED} and np.isnan(stage.times(S.ACTIVATED)).sum() == 12
    assert stage.task() == "failed"                        # its inputs have no attempt left
    stage.check()


@pytest.mark.rule("users.tasks.breaks_task", "Builder._note_failure", "Builder.look")
@pytest.mark.parametrize(("scouts", "status", "n_builds"), [
    pytest.param(10, "broken", 3, id="scouting"), pytest.param(0, "failed", 5, id="without scouts"),
])
def test_three_failed_build_jobs_break_a_scouting_task(scouts, status, n_builds):
    stage = building(rule=dict(build_failure_rate=1), max_attempt=5)
    stage.arrays.scout_inputs[0] = scouts
    stage.run(24 * HOUR)
    assert (stage.task(), len(builds(stage))) == (status, n_builds)
    words = stage.world.vocabularies["reasons"]
    reason = int(stage.arrays.tasks["errordialog"][0])
    assert (words[reason] if reason >= 0 else "") == (BUILD_FAILURES if scouts else "nothing_succeeded")
    stage.check()


@pytest.mark.rule("users.tasks.breaks_task")
def test_two_failures_do_not_break_it():
    assert [breaks_task(number, True) for number in (2, 3)] == [False, True] and not breaks_task(9, False)


@pytest.mark.rule("users.tasks.corecount", "users.tasks.memory_asked")
@pytest.mark.parametrize(("task", "unified", "queue", "maxrss", "cores", "memory"), [
    pytest.param(8, False, 8, np.inf, 8, 16000.0, id="the whole slot"),
    pytest.param(1, False, 8, np.inf, 1, 2000.0, id="of a task with one core"),
    pytest.param(8, True, 8, np.inf, 1, 2000.0, id="at a unified queue"),
    pytest.param(8, False, 8, 15000.0, 8, 15000.0, id="maxrss"),
])
def test_what_build_jobs_ask_for(task, unified, queue, maxrss, cores, memory):
    assert corecount(task, unified, queue) == cores and memory_asked(cores, maxrss) == memory


@pytest.mark.rule("Builder._build")
def test_a_build_job_takes_the_whole_slot_of_a_queue_that_is_not_unified():
    stage = building(scenario(queues=dict(HERE=dict(atlas_site="HERE", corecount=8))), corecount=8)
    stage.run(1.0)
    stage.make(1)
    builder_of(stage).look()
    jobs = stage.arrays.jobs[stage.live()]
    assert jobs["corecount"][jobs["n_chunks"] == 0].tolist() == [8]


def test_a_boost_of_priority_counts_for_build_jobs():
    stage = building(priority_boost=500)
    stage.run(1.0)
    stage.make(1)
    builder_of(stage).look()
    rows = stage.live()
    assert stage.arrays.jobs["priority"][rows[stage.arrays.jobs["n_chunks"][rows] == 0]].tolist() == [2500]


def test_without_a_build_step_there_is_no_builder():
    stage = Stage(LIFE, None, dict(label="user"))
    stage.run(2 * HOUR)
    assert "build" not in stage.world.vocabularies["processing_types"] and stage.task() == "done"
