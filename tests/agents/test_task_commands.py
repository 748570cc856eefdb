"""Commands to tasks of the timeline: abort, finish, retry, incexec, pause, resume, reassign, avalanche, share."""

import numpy as np
import pytest
from builders import S, Stage, T, put_task, scenario

from simgrid_broker.agents.harvester.workers import harvester_submitter
from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.post_processor import post_processor
from simgrid_broker.agents.jedi.task_broker import task_broker
from simgrid_broker.agents.jedi.task_commando import TaskCommando, task_commando
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.jedi.watchdogs import watch_dog
from simgrid_broker.agents.panda.jobs import adder, setupper
from simgrid_broker.agents.panda.pilot_streaming import pilot_streaming
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.agents.run.timeline import task_source, timeline
from simgrid_broker.names import Cause, TaskCommand, TaskStatus
from simgrid_broker.policy.tasks.commands import (
    ACCEPTED,
    NOT_RETRIED_WITH_PARENT,
    Past,
    accepts,
    limit_after_retry,
    retry_refused,
)
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world.states import TASK
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.views import observe

ALL = (timeline, statistics, task_source, task_commando, task_refiner, task_broker, adder, post_processor, watch_dog,
       job_generator, setupper, pilot_streaming,
        harvester_submitter)
LONG = dict(label="user", n_jobs=20, work_hs06s_per_event=36_000.0)
"""An analysis task of 20 jobs of an hour each at eight slots: made within minutes, at work for three hours."""


def stage_with(*incidents, task=LONG, agents=ALL, **others) -> Stage:
    """A small grid at work, with commands."""
    return Stage(agents, scenario(incidents=[dict(task=1, what="task_command") | one for one in incidents], **others),
                 task)


def told(stage) -> list[tuple]:
    """What became of each command: number of tasks that took it, and why others did not."""
    return [(one["n_done"], one["ignored"]) for one in stage.control.books.commands.results()]


def counts(stage) -> dict:
    """How many jobs are alive, by status."""
    return {status: stage.statuses().count(status) for status in sorted(set(stage.statuses()))}


@pytest.mark.rule("TaskCommando._carry_out", "TaskCommando._kill", "TaskCommando._end_marked")
def test_abort_kills_what_waits_at_once_and_what_runs_at_its_next_heartbeat():
    stage = stage_with(dict(at=3600, command="abort"), task=LONG | dict(work_hs06s_per_event=72_000.0))
    stage.run(3600.0)
    assert counts(stage) == dict(activated=12, running=8)
    began = stage.arrays.job_times[stage.live()[:8], S.RUNNING]
    stage.run(3700.0)
    assert stage.task() == "aborting" and counts(stage) == dict(running=8)
    stage.run(7200.0)
    ended = stage.ended()
    stage.fabric.empty_outboxes()
    times = np.concatenate([times for _, times in stage.kept["jobs"]])
    running = ~np.isnan(times[:, S.RUNNING])
    assert set(ended["status"][~running]) == {S.CANCELLED} and set(ended["cause"][~running]) == {Cause.TASK_ABORTED}
    late = times[running, S.CANCELLED] - times[running, S.RUNNING]
    assert ((late >= 3600) & (late < 3660)).all() and len(began) == 8           # 60 s: the commando's own period
    assert stage.task() == "aborted" and told(stage) == [(1, {})]
    assert stage.entered(T.TOABORT) - stage.entered(T.ABORTING) >= 300.0
    assert stage.arrays.tasks["n_failed"][0] == 0 and stage.live().size == 0
    stage.check()


@pytest.mark.rule("TaskCommando._kill", "effects.jobs_of")
@pytest.mark.parametrize(("label", "left"), [
    pytest.param("managed", {}, id="production: kill code 52 is forced"),
    pytest.param("user", dict(running=8), id="analysis: running jobs end at their next heartbeat"),
])
def test_finish_kills_jobs(label, left):
    stage = stage_with(dict(at=7200, command="finish"), task=LONG | dict(label=label, work_hs06s_per_event=180_000.0))
    stage.run(7200.0)
    assert counts(stage) == dict(activated=12, running=8)
    stage.run(7300.0)
    assert stage.task() == "finishing" and counts(stage) == left
    stage.run(7200.0 + 2700.0)
    assert stage.task() == "failed" and stage.statuses() == []         # nothing was processed
    assert set(stage.ended()["cause"]) == {Cause.TASK_FINISHED}
    stage.check()


@pytest.mark.rule("TaskCommando._carry_out", "TaskCommando._end_marked", "post_process")
def test_finish_soft_lets_jobs_end():
    stage = stage_with(dict(at=5400, command="finish", soft=True), task=LONG | dict(n_jobs=40_000))
    stage.run(5400.0)
    alive, done = len(stage.live()), int(stage.arrays.tasks["n_finished"][0])
    assert done == 8
    stage.run(200 * 3600.0)
    assert stage.task() == "finished" and stage.arrays.tasks["n_finished"][0] == done + alive
    assert set(stage.ended()["status"]) == {S.FINISHED}
    stage.check()


@pytest.mark.rule("task_commando.pause", "effects.jobs_of", "TaskCommando._take_up")
def test_pause_and_resume():
    stage = stage_with(dict(at=3600, command="pause"), dict(at=9 * 3600, command="resume"))
    stage.run(3700.0)
    assert stage.task() == "paused" and counts(stage) == dict(running=8, throttled=12)
    stage.run(9 * 3600.0)
    assert stage.task() == "paused" and counts(stage) == dict(throttled=12)      # what ran has ended
    stage.check()
    stage.run(9 * 3600.0 + 100)
    assert stage.task() == "running" and "throttled" not in counts(stage)
    assert told(stage) == [(1, {}), (1, {})]
    stage.run(20 * 3600.0)
    assert stage.task() == "done"
    stage.check()


@pytest.mark.rule("settled")
def test_a_paused_task_of_which_nothing_is_left_ends_when_it_is_resumed():
    stage = stage_with(dict(at=3600, command="pause"), dict(at=9 * 3600, command="resume"), task=LONG | dict(n_jobs=8))
    stage.run(9 * 3600.0)
    assert stage.task() == "paused" and stage.statuses() == []
    stage.run(9 * 3600.0 + 200)
    assert stage.task() == "done"


@pytest.mark.rule("watchdogs.withdraw_jobs_of_paused")
def test_jobs_of_a_paused_task_that_await_input_are_taken_back_after_ten_minutes():
    from builders import two_sites
    plan = two_sites(there=dict(cores=0), link=dict(bandwidth=1.0), queues={"HERE": dict(atlas_site="HERE")},
                     incidents=[dict(at=3600, what="task_command", task=1, command="pause")])
    stage = Stage(ALL, plan, LONG | dict(n_jobs=5, input_bytes_per_job=1e6, replicas={1: 1.0}), LONG)
    stage.run(10.0)
    put_task(stage, 1, T.PAUSED)                                     # another paused task, without jobs
    stage.run(3600.0)
    assert counts(stage) == dict(assigned=5)
    paused = 3600.0 + 60
    stage.run(paused + 590.0)
    assert counts(stage) == dict(assigned=5)
    stage.run(paused + 600.0 + 301.0)
    assert counts(stage) == {} and set(stage.ended()["cause"]) == {Cause.REASSIGNED}
    assert stage.arrays.tasks["n_retry"][0] == 5
    stage.check()


RETRIED = dict(label="user", n_jobs=6, max_attempt=2, failure_rate=1.0)


@pytest.mark.rule("TaskCommando._retry")
@pytest.mark.parametrize(("edition", "command", "status"), [
    pytest.param("documented", "retry", "aborted", id="L15 documented: aborted tasks are not retried"),
    pytest.param("deployed", "retry", "done", id="L15 the code retries them, too"),
    pytest.param("documented", "incexec", "done", id="incremental execution brings them back in both"),
])
def test_l15_retry_of_an_aborted_task(edition, command, status):
    stage = stage_with(dict(at=3600, command="abort"), dict(at=4 * 3600, command=command), edition=edition)
    stage.run(4 * 3600.0)
    assert stage.task() == "aborted"
    stage.run(40 * 3600.0)
    assert stage.task() == status
    assert told(stage)[1] == ((1, {}) if status == "done" else (0, {"aborted": 1}))
    stage.check()


@pytest.mark.rule("TaskCommando._retry", "TaskLedger.given_up")
def test_retry_gives_input_that_was_given_up_five_more_attempts():
    stage = stage_with(dict(at=10 * 3600, command="retry"), task=RETRIED, gdpconfig={})
    stage.arrays.tasks["server_retries"][0] = 0
    stage.run(10 * 3600.0)
    assert stage.task() == "failed" and stage.arrays.tasks["n_failed"][0] == 6
    assert "tasks" not in stage.kept                                   # it may come back, so it is recorded at the end
    before = stage.ended()
    stage.arrays.tasks["failure_rate"][0] = 0
    stage.run(20 * 3600.0)
    assert stage.task() == "done" and stage.arrays.tasks["max_attempt"][0] == 7
    after = stage.ended()[len(before):]
    assert sorted(after["chunk"]) == list(range(6)) and set(after["attempt"]) == {3}
    assert stage.control.books.ledger.times_tried[0] == 2
    stage.check()


def test_attempts_never_exceed_the_raised_limit():
    stage = stage_with(dict(at=10 * 3600, command="retry"), task=RETRIED)
    stage.run(40 * 3600.0)
    assert stage.task() == "failed" and stage.ended()["attempt"].max() == 7 == stage.arrays.tasks["max_attempt"][0]
    stage.check()


@pytest.mark.rule("TaskCommando._retry")
def test_a_task_with_nothing_left_is_not_retried():
    child = dict(label="user", n_jobs=2, parent=1)
    stage = Stage(ALL, scenario(incidents=[dict(at=10 * 3600, what="task_command", task=1, command="retry")]),
                  RETRIED | dict(failure_rate=0.5, n_jobs=30, max_attempt=1), child)
    stage.run(10 * 3600.0)
    assert [stage.task(0), stage.task(1)] == ["finished", "finished"]  # a child is done only if its parent is
    stage.arrays.tasks["failure_rate"][0] = 0
    stage.run(10 * 3600.0 + 300.0)
    assert stage.task(0) in ("ready", "running") and stage.task(1) == "finished"
    assert stage.entered(T.TORETRY, 1) > 10 * 3600.0                   # it was retried with its parent, in vain
    stage.run(20 * 3600.0)
    assert stage.task(0) == "done"
    stage.check()


def test_incremental_execution_processes_what_the_input_has_grown_by():
    stage = stage_with(dict(at=3600, command="incexec", jobs=4), task=dict(label="user", n_jobs=3))
    stage.run(3600.0)
    assert stage.task() == "done"
    stage.run(7200.0)
    assert stage.task() == "done" and stage.arrays.tasks["n_finished"][0] == 7
    assert stage.entered(T.REREFINE) > 3600.0
    stage.check()


def test_incremental_execution_of_nothing_new_ends_at_once():
    stage = stage_with(dict(at=3600, command="incexec"), task=dict(label="user", n_jobs=3))
    stage.run(3600.0 + 300.0)
    assert stage.task() == "done" and stage.entered(T.DONE) > 3600.0


@pytest.mark.rule("TaskCommando._carry_out")
@pytest.mark.parametrize(("options", "nucleus", "killed"), [
    pytest.param(dict(nucleus="THERE"), 1, True, id="to another nucleus"),
    pytest.param(dict(nucleus="THERE", soft=True), 1, False, id="soft: jobs stay"),
    pytest.param({}, 0, True, id="the task broker finds one"),
])
def test_reassign(options, nucleus, killed):
    plan = scenario({"HERE": {}, "THERE": dict(cores=0)}, queues={"HERE": dict(atlas_site="HERE")},
                    incidents=[dict(at=7200, what="task_command", task=1, command="reassign", **options)])
    stage = Stage(ALL, plan, LONG | dict(label="managed", nucleus=0, work_hs06s_per_event=360_000.0))
    stage.run(7200.0)
    assert stage.task() == "running" and counts(stage) == dict(activated=12, running=8)
    stage.run(7300.0)
    assert stage.task() == ("toreassign" if killed else "reassigning")
    assert counts(stage) == dict(running=8, **({} if killed else dict(activated=12)))
    stage.run(7200.0 + 4 * 3600.0)
    assert stage.task() == ("running" if killed else "ready")          # soft: nothing is left to be made
    assert stage.arrays.tasks["nucleus"][0] == nucleus or not options
    assert (S.CLOSED in stage.ended()["status"]) == killed
    assert stage.entered(T.READY if options else T.ASSIGNING) - stage.entered(T.REASSIGNING) > 300.0
    stage.check()


@pytest.mark.rule("TaskCommando._carry_out")
@pytest.mark.parametrize(("options", "nucleus", "queue"), [
    ({}, -1, "A"), (dict(nucleus="THERE"), 1, "A"), (dict(queue="B"), 0, "B"),
    (dict(nucleus="THERE", queue="B"), 1, "B"),
])
def test_place_of_a_reassigned_task(options, nucleus, queue):
    stage = Stage((task_source,), scenario({"HERE": {}, "THERE": {}}, queues={
        "A": dict(atlas_site="HERE"), "B": dict(atlas_site="THERE")}), dict(nucleus=0, preassigned="A"),
        dict(preassigned="B"))
    TaskCommando(stage.control)._take_from_nucleus(0, options)
    task, words = stage.arrays.tasks[0], stage.world.vocabularies["preassigned"]
    assert (task["nucleus"], words[task["preassigned"]]) == (nucleus, queue)


@pytest.mark.rule("TaskCommando._retry")
def test_a_retried_task_counts_as_unchanged_for_six_hours():
    stage = stage_with(dict(at=100, command="retry"), agents=(timeline, task_source, task_commando))
    stage.run(50.0)
    put_task(stage, 0, T.FINISHED)
    stage.run(300.0)
    assert stage.task() == "ready"
    assert stage.arrays.tasks["modification_s"][0] == stage.entered(T.READY) - 6 * 3600.0


@pytest.mark.rule("TaskCommando._carry_out")
def test_reassign_to_a_queue():
    plan = scenario({"HERE": {}, "THERE": {}},
                    incidents=[dict(at=1800, what="task_command", task=1, command="reassign", queue="THERE")])
    stage = Stage(ALL, plan, LONG | dict(preassigned="HERE"))
    stage.run(1800.0)
    assert set(stage.arrays.jobs["queue"][stage.live()]) == {0}
    stage.run(2 * 3600.0)
    assert set(stage.arrays.jobs["queue"][stage.live()]) == {1}


@pytest.mark.parametrize(("running", "kept"), [(None, {S.RUNNING}), (True, set())],
                         ids=["running jobs stay", "running jobs go, too"])
@pytest.mark.rule("set_share")
def test_a_task_and_its_jobs_go_to_another_share(running, kept):
    shares = [dict(name="A", value=1), dict(name="B", value=1)]
    plan = scenario(shares=shares, incidents=[dict(at=1800, what="task_share", task=1, share="B", running=running)])
    stage = Stage(ALL, plan, LONG | dict(n_jobs=20, share=0))
    stage.run(1799.0)
    assert set(stage.arrays.jobs["share"][stage.live()]) == {0}
    stage.run(1801.0)
    jobs = stage.arrays.jobs[stage.live()]
    assert {int(status) for status in jobs["status"]} == {S.RUNNING, S.ACTIVATED}
    assert {int(status) for status in jobs["status"][jobs["share"] == 0]} == kept
    assert stage.arrays.tasks["share"][0] == 1
    stage.check()
    stage.run(10 * 3600.0)
    assert stage.task() == "done"


@pytest.mark.rule("Commands.give")
def test_a_name_stands_for_all_tasks_that_have_arrived():
    plan = scenario(incidents=[dict(at=1800, what="task_command", task="mine", command="abort")],
                    workload=dict(campaigns=[dict(name="mine", hs06sec_per_event=1)]))
    stage = Stage(ALL, plan, LONG | dict(name="mine"), LONG | dict(name="mine", arrival_s=1700.0), LONG,
                  LONG | dict(name="mine", arrival_s=1900.0))
    stage.run(2.8 * 3600.0)
    by_arrival = ["aborted", "running", "aborted", "running"]
    assert [stage.task(row) for row in range(4)] == by_arrival


@pytest.mark.rule("accepts", "TaskCommando._take_up")
def test_what_cannot_be_done_is_noted():
    stage = stage_with(dict(at=3600, command="avalanche"), dict(at=3601, command="reassign"),
                       dict(at=3602, what="task_priority", priority=7), dict(at=7200, command="finish"),
                       dict(at=7201, command="abort"), task=dict(label="user"))
    stage.run(8000.0)
    assert told(stage) == [(0, {"done": 1})] * 5
    assert stage.arrays.tasks["priority"][0] == 500


def test_avalanche():
    stage = stage_with(dict(at=100, command="avalanche"), agents=(timeline, task_source, task_commando, post_processor))
    stage.run(90.0)
    put_task(stage, 0, T.SCOUTING)
    stage.run(400.0)
    assert stage.entered(T.SCOUTED) > 0 and stage.task() == "running"


TARGET = {TaskCommand.ABORT: T.ABORTING, TaskCommand.FINISH: T.FINISHING, TaskCommand.RETRY: T.TORETRY,
          TaskCommand.INCEXEC: T.TOINCEXEC, TaskCommand.PAUSE: T.PAUSED, TaskCommand.REASSIGN: T.TOREASSIGN,
          TaskCommand.AVALANCHE: T.SCOUTED}


@pytest.mark.rule("accepts")
@pytest.mark.parametrize("command", TARGET, ids=lambda command: command.word)
def test_what_is_accepted_can_be_done(command):
    for edition in ("documented", "deployed"):
        for status in TaskStatus:
            if accepts(command, status, edition):
                assert (status, TARGET[command]) in TASK.pairs
    assert set(ACCEPTED) == set(TaskCommand)


@pytest.mark.parametrize(("attempt", "limits", "expected"), [
    pytest.param(3, (0, 0), 0, id="no limit stays none"),
    pytest.param(3, (9, 3), 8, id="five more than the least limit"),
    pytest.param(4, (2, 0), 9, id="five more than the attempts made, if they exceed the limit"),
    pytest.param(3, (253, 0), 255, id="no more than are counted"),
])
def test_a_retry_allows_more_attempts(attempt, limits, expected):
    assert limit_after_retry(attempt, *limits) == expected


def past(**said) -> Past:
    """A task with nothing to blame but what is said."""
    return Past(**dict(attempt=1, failed_hs06_hours=0.0, failed_hs06_part=0.0, failure_part=0.0, max_attempt=3,
                       cpu_efficiency=90.0) | said)


@pytest.mark.rule("retry_refused")
@pytest.mark.parametrize(("key", "limit", "said", "refused"), [
    pytest.param("TASK_MAX_ATTEMPT", 3, dict(attempt=2), None, id="one attempt of the task is left"),
    pytest.param("TASK_MAX_ATTEMPT", 3, dict(attempt=3), True, id="attempts of the task are used up"),
    pytest.param("TASK_MAX_ATTEMPT", 0, dict(attempt=30), None, id="0 is off"),
    pytest.param("MAX_FAILED_HEP_SCORE_HOURS", 10, dict(failed_hs06_hours=9.9), None, id="few hours failed"),
    pytest.param("MAX_FAILED_HEP_SCORE_HOURS", 10, dict(failed_hs06_hours=10.0), True, id="many hours failed"),
    pytest.param("MAX_FAILED_HEP_SCORE_RATE", 0.5, dict(failed_hs06_part=0.5), True, id="a large part failed"),
    pytest.param("MAX_JOB_FAILURE_RATE", 0.5, dict(failure_part=0.49), None, id="few jobs failed"),
    pytest.param("MAX_JOB_FAILURE_RATE", 0.5, dict(failure_part=0.5), True, id="many jobs failed"),
    pytest.param("MAX_JOB_FAILURE_RATE", 0.5, dict(failure_part=np.nan), None, id="nothing has run"),
    pytest.param("JOB_MAX_ATTEMPT", 8, dict(max_attempt=7), None, id="files may have more attempts"),
    pytest.param("JOB_MAX_ATTEMPT", 8, dict(max_attempt=8), False, id="files have too many attempts: rejected"),
    pytest.param("MIN_CPU_EFFICIENCY", 50, dict(cpu_efficiency=50.0), None, id="just efficient enough"),
    pytest.param("MIN_CPU_EFFICIENCY", 50, dict(cpu_efficiency=49.9), True, id="too inefficient"),
])
def test_what_exhausts_or_forbids_a_retry(key, limit, said, refused):
    cfg = Gdpconfig(in_force(scenario(gdpconfig={f"retry_task.{key}_managed": limit})))
    expected = (False, "") if refused is None else (refused, f"{key}_managed")
    for edition in ("documented", "deployed"):
        assert retry_refused(past(**said), "managed", cfg, edition) == expected


@pytest.mark.rule("retry_refused")
@pytest.mark.parametrize(("edition", "limit", "key"), [
    pytest.param("documented", 0, "", id="L37 documented: 0 disables the limit"),
    pytest.param("deployed", 0, "JOB_MAX_ATTEMPT_managed", id="L37 the code: 0 rejects every retry"),
    pytest.param("deployed", None, "", id="L37 the code: not set is off"),
])
def test_l37_a_limit_of_attempts_of_0(edition, limit, key):
    setting = {} if limit is None else {"retry_task.JOB_MAX_ATTEMPT_managed": limit}
    assert retry_refused(past(), "managed", Gdpconfig(in_force(scenario(gdpconfig=setting))), edition) == (False, key)


@pytest.mark.rule("TaskLedger.past", "TaskCommando._retry", "TaskCommando._take_up")
def test_a_retry_that_is_refused_exhausts_the_task():
    stage = stage_with(dict(at=10 * 3600, command="retry"), task=RETRIED,
                       gdpconfig={"retry_task.MAX_JOB_FAILURE_RATE_user": 0.9})
    stage.run(10 * 3600.0 + 100)
    assert stage.task() == "exhausted" and told(stage) == [(0, {"MAX_JOB_FAILURE_RATE_user": 1})]
    assert 0 in stage.control.books.live_tasks.rows
    set_status(stage.world, 0, T.FINISHING, stage.now)


@pytest.mark.rule("TaskCommando._retry")
def test_a_retried_task_has_its_own_priority_and_share_again():
    shares = [dict(name="A", value=1), dict(name="B", value=1)]
    said = (dict(at=1, what="task_priority", priority=900), dict(at=2, what="task_share", share="B"),
            dict(at=10 * 3600, command="retry"))
    stage = stage_with(*said, task=RETRIED | dict(share=0), shares=shares)
    stage.run(10 * 3600.0)
    assert [stage.arrays.tasks[name][0] for name in ("priority", "share")] == [900, 1]
    stage.run(10 * 3600.0 + 100)
    assert [stage.arrays.tasks[name][0] for name in ("priority", "share")] == [500, 0]


@pytest.mark.rule("TaskCommando._retry")
@pytest.mark.parametrize(("label", "nucleus", "status"), [
    ("managed", -1, T.ASSIGNING), ("managed", 0, T.READY), ("user", -1, T.READY),
])
def test_a_retried_task_of_production_without_a_nucleus_goes_to_task_brokerage(label, nucleus, status):
    stage = stage_with(task=LONG | dict(label=label), agents=(task_source,))
    stage.run(1.0)
    stage.arrays.tasks["nucleus"][0] = nucleus
    assert TaskCommando(stage.control)._after_retry(0, T.FINISHED) is status


@pytest.mark.rule("TaskCommando._retry")
@pytest.mark.parametrize(("old", "before", "scouts", "expected"), [
    pytest.param(T.EXHAUSTED, T.RUNNING, 0, T.RUNNING, id="exhausted at work"),
    pytest.param(T.EXHAUSTED, T.RUNNING, 10, T.READY, id="its scouts are not assessed"),
    pytest.param(T.EXHAUSTED, T.SCOUTING, 0, T.RUNNING, id="exhausted by its scouts"),
    pytest.param(T.EXHAUSTED, T.PENDING, 0, T.READY, id="exhausted on hold"),
    pytest.param(T.FINISHED, T.RUNNING, 0, T.READY, id="over"),
])
def test_status_of_a_retried_task(old, before, scouts, expected):
    stage = stage_with(agents=(task_source,))
    stage.arrays.scout_inputs[0] = scouts
    stage.arrays.tasks["old_status"][0] = before
    assert TaskCommando(stage.control)._after_retry(0, old) is expected


@pytest.mark.rule("TaskCommando._retry")
def test_children_that_are_retried_with_their_parent():
    statuses = (T.FINISHED, T.EXHAUSTED, T.RUNNING, T.READY, *NOT_RETRIED_WITH_PARENT)
    stage = Stage((task_source,), scenario(), {}, *[dict(parent=1)] * len(statuses))
    for row, status in enumerate(statuses, 1):
        put_task(stage, row, status)
    retried = []
    stage.control.books.commands.give_unasked = lambda command, rows, now: retried.extend(rows)
    TaskCommando(stage.control)._retry_children(0)
    assert [stage.task(row) for row in retried] == ["finished", "exhausted"]


@pytest.mark.rule("TaskCommando._change_sites", "TaskCommando._retry")
def test_a_retry_may_change_the_queues_of_a_task():
    retry = dict(at=10 * 3600, command="retry", task="ann", excludedSite=["HE*"])
    users = {"users": [{"name": "ann", "hs06sec_per_event": 1, "offered_cores": 1}]}
    stage = stage_with(retry, task=RETRIED | dict(label="user", name="ann"), workload=users)
    assert observe.task(stage.world, 0).excludedsite == ()
    stage.run(11 * 3600.0)
    assert told(stage) == [(1, {})] and observe.task(stage.world, 0).excludedsite == ("HE*",)
