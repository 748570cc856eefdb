"""Scouts in a small world: how many, at which priority, and what becomes of their task."""


import pytest
from builders import Stage, T, everyone, scenario

from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.post_processor import post_processor
from simgrid_broker.agents.jedi.task_commando import task_commando
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.jedi.watchdogs import watch_dog
from simgrid_broker.agents.panda.jobs import adder, setupper
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.agents.run.sources import task_source
from simgrid_broker.agents.run.timeline import timeline

AGENTS = (timeline, statistics, task_source, task_commando, task_refiner, adder, post_processor, watch_dog,
          job_generator, setupper)
STREAM = dict(name="task", useScout=True, jobs_per_task=1, hs06sec_per_event=1, corecount=1, prodsourcelabel="panda")
TASK = dict(label="panda", n_jobs=100, n_events_per_job=100, work_hs06s_per_event=100.0, cputime=100.0,
            cpuefficiency=100, ramcount=1000.0, maxpss_mb=1000.0, share=-1, resource_type=-1, max_attempt=1)
"""A task that claims what it needs: jobs of 1000 s."""


def stage(edition="documented", stream=None, agents=AGENTS, said=None, **others) -> Stage:
    """A task that uses scouts, in a world with a queue of eight slots."""
    plan = scenario(edition=edition, workload=dict(campaigns=[STREAM | (stream or {})]), **others)
    made = Stage(agents, plan, TASK | (said or {}))
    made.control.policies.job_brokerage = lambda task, queues, *_: everyone(
        len(queues.queue))
    return made


def finish(stage, n: int) -> None:
    """Let the first n jobs that are alive finish."""
    stage.workers(n)
    stage.run(stage.now + 1200)
    stage.collect()


def worked(stage, jobs=10, until=1000.0):
    """Make the scouts, and let so many of them finish."""
    stage.run(until)
    assert stage.task() == "scouting", stage.task()
    if jobs:
        finish(stage, jobs)
    return stage


@pytest.mark.rule("Scouts.begin")
def test_ten_scouts_are_made_at_their_priority_and_no_more():
    world = worked(stage(), jobs=0, until=4000.0)
    found = world.arrays.jobs[world.live()]
    assert len(found) == 10 and set(found["priority"].tolist()) == {901}
    assert sorted(found["chunk"].tolist()) == list(range(10))


@pytest.mark.parametrize(("priority", "expected"), [(900, 901), (901, 902), (950, 951), (100, 901)])
def test_priority_of_scouts(priority, expected):
    world = worked(stage(said=dict(priority=priority)), jobs=0)
    assert set(world.arrays.jobs[world.live()]["priority"].tolist()) == {expected}


@pytest.mark.rule("Scouts.begin")
def test_a_stream_without_scouts_runs_at_once():
    world = stage(stream=dict(useScout=False))
    world.run(1000.0)
    assert world.task() == "running" and not world.arrays.scout_inputs.any() and not world.fabric.watchers


@pytest.mark.rule("Scouts._assess")
def test_the_avalanche_follows_on_half_of_the_scouts():
    world = worked(stage(), jobs=4)
    world.run(world.now + 700)
    assert world.task() == "scouting"
    finish(world, 1)
    world.run(world.now + 1500)
    assert world.task() == "running" and world.arrays.scout_inputs[0] == 0
    assert world.entered(T.SCOUTED) < world.entered(T.RUNNING)
    finish(world, 5)
    world.run(world.now + 1500)
    assert world.arrays.tasks["n_attempts"][0] > 10
    world.check()


@pytest.mark.rule("Scouts._assess")
def test_scouted_tasks_run_in_the_next_cycle():
    world = worked(stage(), jobs=5)
    world.run(world.now + 700)
    assert world.entered(T.RUNNING) - world.entered(T.SCOUTED) == world.control.periods.post_processor


@pytest.mark.rule("Scouts._expect_update")
def test_l10_the_code_measures_with_the_first_finished_scout():
    for edition, expected in (("documented", 50.0), ("deployed", 150.0)):
        world = worked(stage(edition, said=dict(cputime=50.0)), jobs=2)
        world.run(world.now + 700)
        assert world.task() == "scouting"
        assert world.arrays.tasks["cputime"][0] == expected


@pytest.mark.rule("Scouts._take_over", "Scouts._evaluate")
def test_measures_replace_claims_and_the_jobs_that_are_there_keep_theirs():
    types = dict(SCORE=dict(mincore=1, maxcore=1, maxrampercore=2000),
                 SCORE_HIMEM=dict(mincore=1, maxcore=1, minrampercore=2001))
    said = dict(maxpss_mb=3000.0, ramunit="MBPerCore")
    world = worked(stage(said=said, resource_types=types), jobs=0)
    assert world.arrays.tasks["resource_type"][0] == 0
    finish(world, 5)
    world.run(world.now + 700)
    task = world.arrays.tasks[0]
    assert (task["ramcount"], task["cputime"], task["resource_type"]) == (3000, 150, 1)
    queued = world.arrays.jobs[world.live()]
    assert (queued["ramcount_mb"][queued["chunk"] < 10] == 900).all()


@pytest.mark.rule("Scouts.stop", "Scouts._evaluate")
def test_a_task_far_from_its_claim_is_exhausted_and_says_why():
    world = worked(stage(said=dict(cputime=49.0)), jobs=5)
    world.run(world.now + 700)
    assert world.task() == "exhausted"
    assert world.world.vocabularies["reasons"][world.arrays.tasks["errordialog"][0]] == "scout_cpuTime"
    assert world.arrays.tasks["n_attempts"][0] == 10


@pytest.mark.rule("Scouts.stop")
def test_an_exhausted_task_that_is_retried_goes_on_with_all_of_its_input():
    incidents = [dict(at=6000, what="task_command", task=1, command="retry")]
    world = worked(stage(said=dict(cputime=49.0), incidents=incidents), jobs=5)
    world.run(5000.0)
    assert world.task() == "exhausted"
    world.run(9000.0)
    assert world.task() == "running" and world.arrays.scout_inputs[0] == 0
    world.check()


@pytest.mark.rule("Scouts._assess", "Scouts.stop")
def test_a_task_without_a_successful_scout_is_broken_in_the_next_cycle():
    world = worked(stage(said=dict(failure_rate=1.0)), jobs=10)
    world.run(world.now + 1300)
    finish(world, 10)
    world.run(world.now + 1300)
    assert world.task() == "broken"
    assert world.entered(T.BROKEN) - world.entered(T.TOBROKEN) == world.control.periods.post_processor
    assert world.world.vocabularies["reasons"][world.arrays.tasks["errordialog"][0]] == "no_scout"
    assert len(world.recorded("tasks")) == 1


@pytest.mark.rule("Scouts.begin")
def test_a_task_with_fewer_inputs_than_scouts_is_all_scouts():
    world = worked(stage(said=dict(n_jobs=3)), jobs=3)
    world.run(world.now + 1500)
    assert world.task() == "done" and world.entered(T.SCOUTED) > 0
    world.check()


@pytest.mark.rule("Scouts._assess", "Scouts.force")
def test_the_avalanche_command_does_not_wait_for_scouts():
    incidents = [dict(at=1100, what="task_command", task=1, command="avalanche")]
    world = worked(stage(incidents=incidents), jobs=0)
    world.run(2500.0)
    assert world.task() == "running" and world.arrays.scout_inputs[0] == 0


@pytest.mark.rule("Scouts.begin")
def test_scouts_of_files_take_one_file_each():
    split = dict(n_files=40, events_per_file=100, file_bytes=1e6, nmaxfilesperjob=4)
    world = worked(stage(said=dict(split=split)), jobs=0, until=4000.0)
    found = world.arrays.jobs[world.live()]
    assert len(found) == 10 and set(found["n_chunks"].tolist()) == {1}
    world.check()


@pytest.mark.rule("Scouts.begin")
def test_scouts_of_n_files_per_job_take_so_many():
    split = dict(n_files=100, events_per_file=100, file_bytes=1e6, nfilesperjob=4)
    world = worked(stage(said=dict(split=split)), jobs=0, until=4000.0)
    found = world.arrays.jobs[world.live()]
    assert len(found) == 10 and set(found["n_chunks"].tolist()) == {4}


@pytest.mark.rule("Scouts._expect_update")
@pytest.mark.parametrize(("edition", "finished", "again"), [
    pytest.param("documented", 99, False, id="L10 99 jobs after the avalanche"),
    pytest.param("documented", 100, True, id="L10 100 jobs after the avalanche"),
    pytest.param("deployed", 94, False, id="L10 the 99th job of the task in the code"),
    pytest.param("deployed", 95, True, id="L10 the 100th"),
])
def test_a_task_at_work_is_measured_once_more(edition, finished, again):
    world = worked(stage(edition, said=dict(n_jobs=300)), jobs=5)
    world.run(world.now + 1400)
    scouts, before = world.control.books.scouts, world.control.books.scouts.changes[0]
    scouts.jobs[0] += scouts.jobs[0][:1] * finished
    scouts.assessed_s[0] = 0
    scouts.assess(world.now)
    assert bool(scouts.changes[0] > before) is again
    assert (0 in scouts.jobs) is not again
