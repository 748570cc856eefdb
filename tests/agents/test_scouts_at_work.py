"""Scouts in a small world: how many, at which priority, and what becomes of their task."""

import numpy as np
import pytest
from builders import S, Stage, T, everyone, put_task, scenario

from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.post_processor import post_processor
from simgrid_broker.agents.jedi.task_commando import task_commando
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.jedi.watchdogs import watch_dog
from simgrid_broker.agents.panda.jobs import adder, setupper
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.agents.run.timeline import task_source, timeline
from simgrid_broker.ledgers.finished_jobs import MERGING, ON_INPUT
from simgrid_broker.names import Cause
from simgrid_broker.schema import FIXED_WORDS

AGENTS = (timeline, statistics, task_source, task_commando, task_refiner, adder, post_processor, watch_dog,
          job_generator, setupper)
STREAM = dict(name="task", useScout=True, jobs_per_task=1, hs06sec_per_event=1, corecount=1, prodsourcelabel="panda")
TASK = dict(label="panda", n_jobs=100, n_events_per_job=100, work_hs06s_per_event=100.0, cputime=100.0,
            cpuefficiency=100, ramcount=1000.0, maxpss_mb=1000.0, share=-1, resource_type=-1, max_attempt=1)
"""A task that claims what it needs: jobs of 1000 s."""
AVALANCHE = FIXED_WORDS["task_action"].index("avalanche")


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


def finish_more(stage, n: int, **said) -> None:
    """Let n more jobs like the first that has finished be kept, but for what is said."""
    finished, row = stage.control.books.scouts.finished, stage.live()[:1]
    job = stage.arrays.jobs[row[0] if len(row) else 0].copy()
    known = finished.jobs_of(0)[0]
    more = {"walltime_s": known["walltime_s"], "cputime_s": known["cputime_s"], "maxpss_mb": known["maxpss_mb"]}
    for name, value in (dict(status=S.FINISHED, n_chunks=1, task=0) | more | said).items():
        job[name] = value
    finished.keep(np.full(n, job))


def worked(stage, jobs=10, until=1000.0):
    """Make the scouts, and let so many of them finish."""
    stage.run_to_jobs(until)
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


@pytest.mark.rule("Scouts.begin")
@pytest.mark.parametrize(("arrival_s", "expected"), [(0.0, "running"), (60.0, "scouting")])
def test_a_task_under_way_at_a_filled_start_has_had_its_scouts(arrival_s, expected):
    world = stage(said=dict(arrival_s=arrival_s), start="filled")
    world.run_to_jobs(1000.0)
    assert world.task() == expected


@pytest.mark.rule("Scouts._assess")
def test_the_avalanche_follows_on_half_of_the_scouts():
    world = worked(stage(), jobs=4)
    world.run(world.now + 700)
    assert world.task() == "scouting"
    finish(world, 1)
    world.run(world.now + 1500)
    assert world.task() == "running" and world.arrays.scout_inputs[0] == 0
    assert world.entered(T.SCOUTED) < world.entered(T.RUNNING)
    assert world.recorded("task_actions")[["action", "before", "after"]].tolist() == [(AVALANCHE, 10, 5)]
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
@pytest.mark.parametrize(("edition", "finished"), [
    pytest.param("documented", 0, id="none has finished"), pytest.param("documented", 1, id="one has just finished"),
    pytest.param("deployed", 0, id="none has finished, and the code asks for a part of them"),
])
def test_the_avalanche_command_does_not_wait_for_scouts(edition, finished):
    incidents = [dict(at=1100, what="task_command", task=1, command="avalanche")]
    world = worked(stage(edition, incidents=incidents), jobs=0)
    world.arrays.tasks["n_finished"][0] = finished
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
    finish_more(world, finished)
    scouts.finished.tasks["assessed_s"][0] = 0
    scouts.assess(world.now)
    assert bool(scouts.changes[0] > before) is again
    assert scouts.finished.tasks["is_measured"][0] == (not again)


@pytest.mark.rule("Scouts._take_over", "measured_leak", "measured_diskio", "measured_workdisk")
@pytest.mark.parametrize(("stream", "expected"), [
    pytest.param(dict(memory_leak=12.2, memory_leak_x2=3.5, disk_traffic=700, workDirSize=900), (13, 3, 700, 900),
                 id="what jobs report"),
    pytest.param({}, (0, 0, 0, 0), id="a stream that says nothing"),
])
def test_reports_of_scouts_become_attributes_of_their_task(stream, expected):
    world = worked(stage("deployed", stream), jobs=0)
    assert np.isnan(world.arrays.tasks["memory_leak_core"][0]) and np.isnan(world.arrays.tasks["memory_leak_x2"][0])
    finish(world, 2)
    world.run(world.now + 700)
    names = ("memory_leak_core", "memory_leak_x2", "diskio", "workdiskcount_mb")
    assert tuple(world.arrays.tasks[name][0] for name in names) == expected


@pytest.mark.rule("Scouts._take_over", "measured_diskio")
def test_the_cap_of_disk_traffic_lowers_a_claim():
    capped = {"dbproxy.SCOUT_DISK_IO_CAP": 500}
    world = worked(stage("deployed", said=dict(diskio=900), gdpconfig=capped), jobs=0)
    assert world.arrays.tasks["diskio"][0] == 900
    finish(world, 2)
    world.run(world.now + 700)
    assert world.arrays.tasks["diskio"][0] == 500


@pytest.mark.rule("core_power", "Scouts.judge_running")
@pytest.mark.parametrize(("edition", "jobs", "expected"), [("deployed", 2, 300), ("documented", 5, 150)])
def test_the_code_counts_work_by_the_benchmark_of_the_hosts(edition, jobs, expected):
    queues = dict(HERE=dict(atlas_site="HERE", corepower=10, cpu_benchmark=20))
    world = worked(stage(edition, queues=queues), jobs=jobs)
    world.run(world.now + 700)
    assert world.arrays.tasks["cputime"][0] == expected
    assert world.control.books.scouts.finished.jobs_of(0)["hs06"][0] == (20 if edition == "deployed" else 10)


@pytest.mark.rule("Scouts._assess", "verdict")
@pytest.mark.parametrize(("edition", "failing", "values", "expected"), [
    ("deployed", 1, {}, "broken"), ("documented", 1, {}, "running"), ("deployed", 0, {}, "running"),
    ("deployed", 1, {"dbproxy.SCOUT_MIN_OK_RATE_EXHAUSTED_panda": 0.5}, "exhausted"),
])
def test_too_few_successes_break_a_task_at_the_avalanche_in_the_code(edition, failing, values, expected):
    world = worked(stage(edition, dict(scoutSuccessRate=9), gdpconfig=values), jobs=0)
    world.arrays.jobs["fate"][world.live()[:failing]] = Cause.PAYLOAD_ERROR
    finish(world, 6)
    world.run(world.now + 1500)
    assert world.task() == expected


@pytest.mark.rule("measured_ng", "Scouts._take_over")
@pytest.mark.parametrize(("edition", "jobs", "expected"), [("deployed", 2, 8), ("documented", 5, 0)])
def test_scouts_set_the_size_of_jobs_for_a_target_of_output_in_the_code(edition, jobs, expected):
    """10 GiB of output and the margin of work space, 300 MB, less 1500 MB."""
    split = dict(n_files=40, events_per_file=100, file_bytes=1e6, output_bytes_per_event=1e6, tgtmaxoutputforng=10)
    world = worked(stage(edition, said=dict(split=split, n_jobs=40)), jobs=jobs)
    world.run(world.now + 700)
    assert world.arrays.splitting["ngbperjob"][0] == expected
    assert world.arrays.tasks["output_bytes_per_job"][0] == 976 * 1024 * 100             # whole KiB of an event


@pytest.mark.rule("Scouts._take_over")
def test_measured_output_of_a_job_may_be_more_than_two_gib():
    split = dict(n_files=40, events_per_file=4000, file_bytes=1e6, output_bytes_per_event=1e6)
    said = dict(split=split, n_jobs=40, n_events_per_job=4000, work_hs06s_per_event=2.5, cputime=2.5)
    world = worked(stage("deployed", said=said), jobs=2)
    world.run(world.now + 700)
    assert world.arrays.tasks["output_bytes_per_job"][0] == 976 * 1024 * 4000


@pytest.mark.rule("Scouts._evaluate", "withdraws_split_rules")
@pytest.mark.parametrize(("minutes", "files"), [(20, 0), (10, 4)])
def test_short_scouts_withdraw_the_files_of_a_job(minutes, files):
    values = {"dbproxy.SCOUT_CHANGE_SR_panda": True, "dbproxy.SCOUT_SHORT_EXECTIME_panda": minutes,
              "dbproxy.SCOUT_NUM_SHORT_panda": 5, "dbproxy.SCOUT_THR_SHORT_panda": 25}
    split = dict(n_files=160, events_per_file=25, file_bytes=1e6, nfilesperjob=4, nmaxfilesperjob=10)
    said = dict(split=split, n_jobs=160, n_events_per_job=25)
    world = worked(stage("deployed", said=said, gdpconfig=values), jobs=5)
    world.run(world.now + 700)
    row = world.arrays.splitting[0]
    assert world.task() == "running" and row["nfilesperjob"] == files
    assert row["nmaxfilesperjob"] == (10 if files else 200)


@pytest.mark.rule("Scouts._assess", "next_update", "Scouts._take_over")
@pytest.mark.parametrize(("more", "again"), [(3, 0), (4, 1)])
def test_a_scouting_task_is_measured_again_with_its_fifth_job_in_the_code(more, again):
    """Nine scouts are alive, so that five are no half of those that were made."""
    world = worked(stage("deployed"), jobs=1)
    scouts = world.control.books.scouts
    before = scouts.changes[0]
    finish_more(world, more)
    world.run(world.now + 1400)
    assert world.task() == "scouting" and scouts.changes[0] == before + again


@pytest.mark.rule("Scouts.judge_running", "exhausted")
@pytest.mark.parametrize(("edition", "labels", "more", "expected"), [
    pytest.param("deployed", ("panda", "user"), 95, "exhausted", id="the hundredth job"),
    pytest.param("deployed", ("panda", "user"), 94, "running", id="the 99th"),
    pytest.param("deployed", ("managed", "test"), 95, "running", id="a task of others"),
    pytest.param("documented", ("panda", "user"), 195, "running", id="as documented scouts alone are judged"),
])
def test_watchdogs_exhaust_running_tasks_in_the_code(edition, labels, more, expected):
    """Jobs after the avalanche need 9 GB, of which no scout knew."""
    world = worked(stage(edition, said=dict(n_jobs=300, ramunit="MBPerCore")), jobs=5)
    world.run(world.now + 1400)
    scouts = world.control.books.scouts
    finish_more(world, more, maxpss_mb=9000.0)
    world.arrays.tasks["n_jobs"][0] += 1000                     # of which no jobs were made
    scouts.judge_running(labels, world.now)
    assert world.task() == expected
    reason = world.arrays.tasks["errordialog"][0]
    assert expected == "running" or world.world.vocabularies["reasons"][reason] == "scout_ramCount"


@pytest.mark.rule("Scouts.judge_running")
@pytest.mark.parametrize(("status", "jobs", "expected"), [
    (T.RUNNING, 5, "exhausted"), (T.RUNNING, 4, "running"), (T.SCOUTING, 5, "scouting")])
def test_watchdogs_judge_running_tasks_from_their_fifth_job(status, jobs, expected):
    world = worked(stage("deployed", said=dict(n_jobs=300, ramunit="MBPerCore")), jobs=5)
    world.run(world.now + 1400)
    scouts = world.control.books.scouts
    lists = scouts.finished.tables.lists[0]
    lists["number"], lists["last"] = 1, lists["first"]
    finish_more(world, jobs - 1, maxpss_mb=9000.0)
    scouts.finished.tasks["next_update"][0] = jobs
    world.arrays.tasks["n_jobs"][0] += 1000                     # of which no jobs were made
    put_task(world, 0, status)
    scouts.judge_running(("panda",), world.now)
    assert world.task() == expected


@pytest.mark.rule("Scouts.judge_running", "Scouts._assess")
@pytest.mark.parametrize(("edition", "expected"), [("documented", (10, 9, 3, 5)), ("deployed", (10, 16, 4, 2))])
def test_scouts_are_counted_in_chunks_or_in_jobs(edition, expected):
    """Of 4 files a job five files have failed: those of two jobs."""
    split = dict(n_files=400, events_per_file=100, file_bytes=1e6, nfilesperjob=4)
    world = worked(stage(edition, said=dict(split=split)), jobs=0)
    world.control.books.scouts.finished.tables.lists["number"][0] = 4
    for name, value in dict(next_chunk=9, n_finished=3, n_failed=5, n_alive=10).items():
        world.arrays.tasks[name][0] = value
    world.arrays.scout_inputs[0] = 10
    assert tuple(world.control.books.scouts._tried(0)) == expected


@pytest.mark.rule("measure_merging", "Scouts._take_over_merging", "Scouts._take_over")
@pytest.mark.parametrize(("said", "cputime_s", "walltime"), [
    pytest.param({}, 7200, 11, id="7.2 s a MiB with a margin"),
    pytest.param({}, 60, 0, id="a short merge job"),
    pytest.param(dict(walltime_s_per_mib=50.0), 7200, 50, id="not below the measure of the task"),
])
def test_merge_jobs_that_have_finished_tell_what_later_ones_claim(said, cputime_s, walltime):
    world = worked(stage("deployed", dict(mergeOutput=True, mergeRamCount=2500), said=said), jobs=0)
    scouts, merge = world.control.books.scouts, world.arrays.jobs[world.live()[:1]].copy()
    assert world.world.merge_rule(0).mergeRamCount == 2500
    for name, value in dict(status=S.FINISHED, n_chunks=0, processing_type=scouts.finished.pmerge, maxpss_mb=3000,
                            walltime_s=9000, cputime_s=cputime_s, input_bytes=1000 * 1024**2).items():
        merge[name] = value
    scouts.finished.keep(merge)
    finish(world, 1)
    world.run(world.now + 700)
    task = world.arrays.tasks[0]
    assert (task["mergeramcount"], task["mergewalltime"], task["ramcount"]) == (3300, walltime, 1100)
    assert world.world.merge_rule(0).mergeRamCount == 3300


@pytest.mark.rule("Scouts._take_over")
@pytest.mark.parametrize(("pieces", "read", "size"), [(3, 0, 3.0), (1, 0, 1.0), (0, 0, 1.0), (3, 2 * 1024**2, 2.0)])
def test_jobs_without_input_count_their_pieces(pieces, read, size):
    world = worked(stage("deployed", dict(disk_traffic=0.7)), jobs=0)
    finished, job = world.control.books.scouts.finished, world.arrays.jobs[world.live()[:1]].copy()
    for name, value in dict(status=S.FINISHED, n_chunks=pieces, input_bytes=read, walltime_s=10.5).items():
        job[name] = value
    finished.pmerge = job["processing_type"][0]
    finished.keep(np.repeat(job, 2))
    jobs = finished.jobs_of(0, ON_INPUT if pieces else MERGING)
    assert jobs["input_mib"].tolist() == [size] * 2 and jobs["disk_kb"].tolist() == [8.0] * 2


@pytest.mark.rule("Scouts.measure_again")
def test_only_a_task_that_is_measured_is_measured_again():
    scouts = worked(stage("deployed"), jobs=0).control.books.scouts
    for is_measured in (True, False):
        scouts.measure_again(0)
        assert bool(scouts.finished.tasks["next_update"][0] == 1) is is_measured
        scouts.finished.forget(0)


@pytest.mark.rule("Scouts._take_over", "Scouts.judge_running", "Scouts._assess")
@pytest.mark.parametrize(("status", "pieces", "is_pmerge", "kept"), [
    (S.FINISHED, 1, False, (1, 0)), (S.FINISHED, 1, True, (1, 0)), (S.FINISHED, 0, True, (0, 1)),
    (S.FINISHED, 0, False, (0, 0)), (S.FINISHED, -1, True, (0, 0)), (S.FAILED, 1, False, (0, 0)),
])
def test_finished_jobs_on_input_and_pmerge_jobs_are_measured(status, pieces, is_pmerge, kept):
    world = worked(stage("deployed"), jobs=0)
    scouts, job = world.control.books.scouts, world.arrays.jobs[world.live()[:1]].copy()
    job["status"], job["n_chunks"] = status, pieces
    scouts.finished.pmerge = int(job["processing_type"][0]) + (not is_pmerge)
    scouts.finished.keep(job)
    assert (scouts.finished.number(0), scouts.finished.number(0, MERGING)) == kept
