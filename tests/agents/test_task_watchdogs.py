"""Watchdogs of tasks: boost, automatic pause, throttled tasks, timeouts of pending and exhausted ones."""

from types import SimpleNamespace

import numpy as np
import pytest
from builders import Stage, T, put_task, scenario

from simgrid_broker.agents.jedi.post_processor import post_processor
from simgrid_broker.agents.jedi.task_commando import task_commando
from simgrid_broker.agents.jedi.watchdogs import ProductionWatchDog, patience, production_watch_dog, watch_dog
from simgrid_broker.agents.run.timeline import task_source, timeline
from simgrid_broker.policy.tasks import watchdogs
from simgrid_broker.policy.tasks.watchdogs import (
    Actions,
    Watched,
    actions,
    all_jobs,
    failures_of_files,
    gives_up_pending,
    goes_on,
    may_be_throttled,
    may_pause,
    nearly_done,
    pauses,
    pending_for_s,
    remaining_jobs,
    throttle_step,
    throttled_for_s,
)
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.views import observe

DOGS = (timeline, task_source, task_commando, post_processor, watch_dog, production_watch_dog)
WITH_EXPRESS = [dict(name="All", value=1), dict(name="Express", value=1)]


@pytest.mark.rule("nearly_done")
@pytest.mark.parametrize(("n_files", "n_over", "boosted"), [
    pytest.param(1, 1, (True, True), id="the only file is over"),
    pytest.param(1000, 949, (False, False), id="less than 95 % is over"),
    pytest.param(1000, 950, (True, True), id="95 % is over, and 50 jobs are left"),
    pytest.param(2000, 1899, (False, False), id="101 jobs are left"),
    pytest.param(2000, 1900, (False, True), id="100 jobs are left: too many as documented, few enough in the code"),
    pytest.param(2000, 1901, (True, True), id="99 jobs are left"),
    pytest.param(3000, 2899, (False, False), id="101 jobs are left of a large task"),
])
def test_what_is_nearly_done(n_files, n_over, boosted):
    found = [bool(nearly_done(np.array([n_files]), np.array([n_over]), np.array([n_files]), edition)[0])
             for edition in ("documented", "deployed")]
    assert tuple(found) == boosted


@pytest.mark.rule("may_pause")
@pytest.mark.parametrize(("keys", "expected"), [
    pytest.param({}, False, id="no limit"),
    pytest.param({"watchdog.MAX_JOB_FAILURE_RATE_TO_PAUSE_managed": 0.5}, True, id="one of a label"),
    pytest.param({"retry_task.MAX_JOB_FAILURE_RATE_managed": 0.5}, False, id="one of retries"),
])
def test_whether_any_task_may_be_paused(keys, expected):
    assert may_pause(Gdpconfig(in_force(scenario(gdpconfig=keys)))) is expected


@pytest.mark.rule("remaining_jobs", "all_jobs")
def test_jobs_that_remain():
    assert remaining_jobs(np.array([1, 10, 0, 3]), np.array([0, 4, 0, 2]), np.array([7, 10, 5, 2])).tolist() == [
        7, 6, 0, 0]
    n_files, n_made, n_read = np.array([100, 100, 100]), np.array([3, 5, 0]), np.array([30, 1, 0])
    assert all_jobs(n_files, n_made, n_read, np.array([True] * 3)).tolist() == [10, 500, 0]
    assert all_jobs(n_files, n_made, n_read, np.array([False] * 3)).tolist() == [100] * 3


def running(stage, row=0, status=T.RUNNING) -> None:
    """Say that a task is at work."""
    put_task(stage, row, status)
    stage.arrays.tasks["modification_s"][row] = stage.now


def at_work(task, shares=None, agents=DOGS, **others) -> Stage:
    """A task at work since 1 s, and the dogs."""
    stage = Stage(agents, scenario(shares=shares or WITH_EXPRESS, **others), task)
    stage.run(1.0)
    running(stage)
    return stage


@pytest.mark.rule("ProductionWatchDog._boost", "ProductionWatchDog._look", "ProductionWatchDog._concerned")
@pytest.mark.parametrize(("priority", "expected"), [(899, 900), (900, 900), (950, 950)])
def test_a_task_that_is_nearly_done_goes_to_express_with_its_jobs(priority, expected):
    stage = at_work(dict(n_jobs=20, n_finished=19, priority=priority))
    stage.submit()
    stage.arrays.tasks["n_finished"][0], stage.arrays.tasks["next_chunk"][0] = 19, 20
    stage.run(302.0)
    job = stage.arrays.jobs[stage.live()[0]]
    assert (stage.arrays.tasks["priority"][0], stage.arrays.tasks["share"][0]) == (expected, 1)
    assert (job["priority"], job["share"]) == (expected, 1)
    seen = observe.task(stage.world, 0)
    assert (seen.taskpriority, seen.currentpriority) == (priority, expected)         # it was submitted with another
    stage.check()


@pytest.mark.rule("ProductionWatchDog._boost", "ProductionWatchDog._look")
def test_without_a_share_express_there_is_only_the_priority():
    stage = at_work(dict(n_jobs=20), shares=[dict(name="All", value=1)])
    stage.arrays.tasks["n_finished"][0] = 19
    stage.run(302.0)
    assert (stage.arrays.tasks["priority"][0], stage.arrays.tasks["share"][0]) == (900, 0)


@pytest.mark.rule("ProductionWatchDog._boost", "ProductionWatchDog.cycle")
def test_a_task_is_looked_at_every_twenty_minutes():
    stage = at_work(dict(n_jobs=20), agents=(timeline, task_source))
    dog, found = ProductionWatchDog(stage.control), []
    for now in (100.0, 1299.0, 1300.0):
        stage.run(now)
        dog.cycle()
        found.append(int(stage.arrays.tasks["priority"][0]))
        stage.arrays.tasks["n_finished"][0] = 19
    assert found == [500, 500, 900]


@pytest.mark.rule("ProductionWatchDog._boost", "ProductionWatchDog._look", "ProductionWatchDog._concerned")
def test_express_may_be_the_first_share():
    stage = at_work(dict(n_jobs=20, n_finished=19, share=1, priority=900), shares=WITH_EXPRESS[::-1])
    stage.run(302.0)
    assert stage.arrays.tasks["share"][0] == 0


@pytest.mark.rule("ProductionWatchDog._boost")
def test_analysis_is_not_boosted():
    stage = at_work(dict(n_jobs=20, label="user"))
    stage.arrays.tasks["n_finished"][0] = 19
    stage.run(3600.0)
    assert stage.arrays.tasks["priority"][0] == 500


LIMITS = {"watchdog.MAX_JOB_FAILURE_RATE_TO_PAUSE_managed": 0.5}


@pytest.mark.rule("pauses")
@pytest.mark.parametrize(("jobs", "rates", "paused"), [
    pytest.param((1000, 100), (0.5, 0.0), True, id="at the limit of all"),
    pytest.param((999, 100), (0.5, 0.0), False, id="too few jobs"),
    pytest.param((1000, 99), (0.5, 0.0), False, id="too few are left"),
    pytest.param((1000, 100), (0.49, 0.9), False, id="fails less; the other limit is off"),
    pytest.param((1000, 100), (np.nan, np.nan), False, id="nothing has run"),
])
def test_automatic_pause(jobs, rates, paused):
    cfg = Gdpconfig(in_force(scenario(gdpconfig=LIMITS)))
    for edition in ("documented", "deployed"):
        assert pauses("managed", "All", jobs, rates, cfg, edition) == paused
        assert not pauses("test", "All", jobs, rates, cfg, edition)


@pytest.mark.rule("pauses")
def test_a_limit_of_a_share_wins():
    limits = LIMITS | {"watchdog.MAX_JOB_FAILURE_RATE_TO_PAUSE_managed_All": 0.9}
    cfg = Gdpconfig(in_force(scenario(gdpconfig=limits)))
    assert not pauses("managed", "All", (1000, 100), (0.8, 0.0), cfg, "documented")
    assert pauses("managed", "Express", (1000, 100), (0.8, 0.0), cfg, "documented")


@pytest.mark.rule("pauses")
@pytest.mark.parametrize(("edition", "key", "paused"), [
    pytest.param("documented", "MAX_FAILED_HEP_SCORE_RATE_TO_PAUSE", True, id="L18 documented name"),
    pytest.param("documented", "MAX_HEP_SCORE_FAILURE_RATE_TO_PAUSE", False, id="L18 documented: not the code's name"),
    pytest.param("deployed", "MAX_HEP_SCORE_FAILURE_RATE_TO_PAUSE", True, id="L18 the code's name"),
    pytest.param("deployed", "MAX_FAILED_HEP_SCORE_RATE_TO_PAUSE", False, id="L18 the code: not the documented name"),
])
def test_l18_limit_of_hep_score_hours(edition, key, paused):
    cfg = Gdpconfig(in_force(scenario(gdpconfig={f"watchdog.{key}_managed": 0.3})))
    assert pauses("managed", "All", (1000, 100), (0.0, 0.3), cfg, edition) == paused


@pytest.mark.rule("pauses")
def test_a_limit_of_0_is_off_in_the_code_and_hides_that_of_all_queues():
    cfg = Gdpconfig(in_force(scenario(gdpconfig=LIMITS | {"watchdog.MAX_JOB_FAILURE_RATE_TO_PAUSE_managed_All": 0})))
    assert not pauses("managed", "All", (1000, 100), (0.9, 0.0), cfg, "deployed")
    assert pauses("managed", "Express", (1000, 100), (0.9, 0.0), cfg, "deployed")
    assert pauses("managed", "All", (1000, 100), (0.001, 0.0), cfg, "documented")
    assert not pauses("managed", "All", (1000, 100), (0.0, 0.0), cfg, "documented")        # nothing has failed


def done_about(edition="deployed", **changed):
    """Deeds of the watchdog about a task that is nearly done and fails half of its jobs."""
    task = Watched("managed", "All", 899, True, 1000, 950, 1000, edition == "deployed", "", (0.5, 0.0))
    keys = LIMITS | {"watchdog.MIN_REMAINING_JOBS_TO_PAUSE_managed": 10}
    return actions(task._replace(**changed), Gdpconfig(in_force(scenario(gdpconfig=keys, edition=edition))), edition)


@pytest.mark.rule("watchdogs.actions")
def test_what_is_done_about_a_task():
    assert done_about() == Actions(boosts=True, moves=True, pauses=True)
    assert done_about(priority=900, goes_to_express=False) == Actions(pauses=True)
    assert done_about(n_over=949) == Actions(pauses=True)
    assert done_about(n_files=0, n_over=1, n_jobs=0) == Actions()
    assert done_about(n_files=1, n_over=1, n_jobs=1) == Actions(boosts=True, moves=True)
    assert done_about(rates=(0.49, 0.0)) == Actions(boosts=True, moves=True)


@pytest.mark.rule("watchdogs.actions")
@pytest.mark.parametrize(("edition", "changed", "pauses", "stops"), [
    pytest.param("documented", dict(no_auto_pause=True), False, False, id="noAutoPause spares a task"),
    pytest.param("documented", dict(requesttype="A"), True, False, id="a request type is no error"),
    pytest.param("deployed", dict(no_auto_pause=False), False, False, id="in the code only tasks with it are paused"),
    pytest.param("deployed", dict(requesttype="A"), True, True, id="and a request type is an error"),
])
def test_automatic_pause_is_inverted_in_the_code(edition, changed, pauses, stops):
    assert done_about(edition, **changed)[2:] == (pauses, stops)


def failing(edition, *tasks, **others):
    """Running tasks, of which the first fails half of its jobs, and the dogs until their first look."""
    stage = Stage(DOGS, scenario(gdpconfig=LIMITS, edition=edition, **others), *(dict(n_jobs=1000) | task
                                                                              for task in tasks))
    stage.run(1.0)
    for row in range(len(tasks)):
        running(stage, row)
    stage.arrays.tasks["failed_attempts"][0], stage.arrays.tasks["n_finished"][0] = 1, 1
    stage.run(302.0)
    return stage


@pytest.mark.rule("ProductionWatchDog._pause")
def test_a_task_that_fails_too_often_is_paused_with_its_kind():
    a, b = dict(requesttype="A"), dict(requesttype="B")
    stage = failing("documented", a, b, a, a | dict(label="test"))
    assert [stage.task(row) for row in range(4)] == ["paused", "running", "paused", "running"]
    stage = failing("documented", {}, {})
    assert [stage.task(row) for row in range(2)] == ["paused", "running"]


@pytest.mark.rule("queue_places")
def test_work_queues_that_are_no_share_come_first():
    special, share, kind = np.array([-1, -1, -1, 3, 0]), np.array([1, 0, 0, 0, 1]), np.array([0, 1, 0, 0, 0])
    places = watchdogs.queue_places(special, share, kind, 2)
    assert places.tolist() == [2, 1, 0, -1, -4]
    assert watchdogs.queue_places(special[4:], share[4:], kind[4:], 2).tolist() == [-1]
    assert watchdogs.in_turn(places, np.array([5, 4, 6, 9, 1])).tolist() == [4, 3, 2, 1, 0]


@pytest.mark.rule("ProductionWatchDog._look", "ProductionWatchDog.cycle", "ProductionWatchDog._concerned")
@pytest.mark.parametrize(("requesttype", "second", "cut"), [("", 900, 0), ("A", 500, 1)])
def test_an_error_ends_the_cycle_in_the_code_and_the_next_one_goes_on(requesttype, second, cut):
    nearly = dict(n_jobs=100, n_finished=99, share=1)
    stage = failing("deployed", dict(no_auto_pause=True, requesttype=requesttype), nearly, nearly, nearly,
                    dict(label="user"), shares=[dict(name="All", value=1), dict(name="Other", value=1)])
    assert [stage.task(row) for row in range(2)] == ["paused", "running"]
    assert (stage.arrays.tasks["priority"][1], stage.control.books.n_cut_cycles) == (second, cut)
    put_task(stage, 2, T.PAUSED)                                          # two tasks are not looked at any more
    stage.arrays.tasks["label"][3] = stage.arrays.tasks["label"][4]
    stage.run(602.0)
    assert (stage.arrays.tasks["priority"][1], stage.control.books.n_cut_cycles) == (900, cut)
    assert stage.arrays.tasks["priority"][2:4].tolist() == [second] * 2


@pytest.mark.rule("ProductionWatchDog._parent_is_complete", "is_watched", "ProductionWatchDog._concerned")
@pytest.mark.parametrize(("edition", "priority"), [("documented", 900), ("deployed", 500)])
def test_in_the_code_a_task_waits_for_its_parent(edition, priority):
    stage = failing(edition, {}, dict(n_jobs=100, n_finished=99, parent=1))
    assert stage.arrays.tasks["priority"][1] == priority
    put_task(stage, 0, T.DONE)
    stage.run(1802.0)
    assert stage.arrays.tasks["priority"][1] == 900


@pytest.mark.rule("throttle_step")
@pytest.mark.parametrize(("edition", "largest", "mean", "before", "step"), [
    pytest.param("documented", 4, 0.0, 0, 0, id="L17 documented: 4 attempts"),
    pytest.param("documented", 5, 0.0, 0, 1, id="L17 documented: 5 attempts at one file"),
    pytest.param("documented", 5, 9.0, 1, 0, id="L17 documented: once is enough"),
    pytest.param("documented", 15, 0.0, 1, 3, id="L17 documented: the step is that of the largest"),
    pytest.param("deployed", 9, 4.9, 0, 0, id="L17 the code: the mean failures count"),
    pytest.param("deployed", 9, 5.0, 0, 1, id="L17 the code: 5 failures in the mean"),
    pytest.param("deployed", 20, 16.0, 1, 2, id="L17 the code: one more each time"),
])
def test_l17_when_a_task_is_throttled(edition, largest, mean, before, step):
    assert throttle_step(largest, mean, before, edition) == step


@pytest.mark.rule("goes_on")
@pytest.mark.parametrize(("late_s", "inputs", "documented", "deployed"), [
    pytest.param(0, [(10, 5, 4)], True, False, id="the time is up"),
    pytest.param(1, [(10, 5, 4)], True, True, id="and over"),
    pytest.param(-1, [(10, 5, 4)], False, False, id="it is not"),
    pytest.param(-1, [(10, 5, 5)], False, True, id="what is to be used is over"),
    pytest.param(-1, [(0, 0, 0)], False, False, id="an input without files"),
    pytest.param(-1, [(10, 5, 4), (1, 1, 1)], False, True, id="one input is enough"),
    pytest.param(1, [], True, False, id="a task without input"),
])
def test_when_a_throttled_task_goes_on(late_s, inputs, documented, deployed):
    assert [goes_on(late_s, inputs, edition) for edition in ("documented", "deployed")] == [documented, deployed]


@pytest.mark.rule("failures_of_files")
def test_files_that_were_not_tried_lower_the_mean_of_failures():
    assert failures_of_files(np.array([6, 1]), np.array([5, 0]), 0) == (5, 2.5)
    assert failures_of_files(np.array([6]), np.array([5]), 0) == (5, 5.0)
    assert failures_of_files(np.array([6, 1]), np.array([5, 0]), 8) == (5, 0.5)
    assert failures_of_files(np.zeros(0, int), np.zeros(0, int), 0) == (0, 0.0)


@pytest.mark.rule("nearly_done")
def test_jobs_of_all_files_are_estimated_by_the_first_where_jobs_are_cut():
    assert all_jobs(1000, 30, 60, False) == 1000
    assert all_jobs(1000, 30, 60, True) == 500 and all_jobs(1000, 0, 0, True) == 0


@pytest.mark.rule("may_be_throttled")
@pytest.mark.parametrize(("max_attempt", "n_made", "n_read", "is_cut", "expected"), [
    pytest.param(6, 14, 10, False, True, id="four repetitions"),
    pytest.param(6, 13, 10, False, False, id="three"),
    pytest.param(5, 14, 10, False, False, id="five attempts are all that it has"),
    pytest.param(6, 4, 10, True, True, id="where jobs are cut from files, all jobs count"),
    pytest.param(6, 3, 10, True, False, id="and three are too few"),
])
def test_which_tasks_may_be_throttled_at_all(max_attempt, n_made, n_read, is_cut, expected):
    columns = (np.array([value]) for value in (max_attempt, n_made, n_read, is_cut))
    assert may_be_throttled(*columns).tolist() == [expected]


@pytest.mark.rule("gives_up_pending")
@pytest.mark.parametrize(("waited_s", "expected"), [(7199, False), (7200, True), (np.nan, False)])
def test_pending_for_precisely_the_timeout_is_too_long(waited_s, expected):
    cfg = Gdpconfig(in_force(SimpleNamespace(gdpconfig={"watchdog.PENDING_TIMEOUT_managed": 2}, edition="documented")))
    assert gives_up_pending("managed", np.array([waited_s]), cfg).tolist() == [expected]


@pytest.mark.rule("throttled_for_s")
def test_how_long_a_task_is_throttled():
    assert [throttled_for_s(step) for step in (1, 2, 3)] == [7200, 4 * 7200, 9 * 7200]


@pytest.mark.rule("may_be_throttled", "ProductionWatchDog._throttle", "ProductionWatchDog._release")
@pytest.mark.parametrize(("edition", "others", "throttled"), [
    pytest.param("documented", 1, True, id="L17 documented: one file is enough"),
    pytest.param("deployed", 1, False, id="L17 the code: in the mean it failed 2.5 times"),
    pytest.param("deployed", 0, True, id="L17 the code: the only file left"),
])
def test_l17_a_task_is_throttled_and_released(edition, others, throttled):
    stage = at_work(dict(n_jobs=1 + others, max_attempt=20), edition=edition, agents=(timeline, task_source))
    stage.submit()
    job = stage.arrays.jobs[stage.live()[0]]
    job["attempt"], job["failures"], stage.arrays.tasks["n_attempts"][0] = 6, 5, 6
    stage.run(10.0)
    dog = ProductionWatchDog(stage.control)
    dog.cycle()
    assert stage.task() == ("throttled" if throttled else "running")
    if throttled:
        stage.run(10.0 + 7200.0 - 1)
        dog.cycle()
        assert stage.task() == "throttled"
        stage.run(10.0 + 7200.0 + (edition == "deployed"))
        dog.cycle()
        assert stage.task() == "running" and dog.n_throttled == {0: 1}      # and it is not throttled for that again


@pytest.mark.rule("ProductionWatchDog._throttle", "ProductionWatchDog._concerned")
def test_a_job_of_one_file_is_cut_from_files():
    stage = at_work({}, agents=(timeline, task_source))
    dog = ProductionWatchDog(stage.control)
    for n_files, is_cut in ((0, False), (1, True)):
        stage.arrays.splitting["n_files"][0] = n_files
        assert dog._read(np.array([0]))[2].tolist() == [is_cut]


@pytest.mark.rule("pending_for_s")
@pytest.mark.parametrize(("label", "priority", "waits_s"), [
    pytest.param("managed", 899, 3600, id="usual"), pytest.param("managed", 900, 1800, id="priority 900"),
    pytest.param("managed", 949, 1800, id="priority 949"), pytest.param("managed", 950, 600, id="priority 950"),
    pytest.param("user", 950, 3600, id="only managed tasks"),
])
def test_d61_deployed_tasks_of_high_priority_come_back_earlier(label, priority, waits_s):
    assert pending_for_s(label, priority, 3600.0, "deployed") == waits_s
    assert pending_for_s(label, priority, 3600.0, "documented") == 3600


@pytest.mark.rule("watchdogs.patience")
@pytest.mark.parametrize(("label", "waits_s"), [("managed", 3600), ("test", 3600), ("user", 60), ("panda", 60)])
def test_analysis_has_a_time_of_its_own_in_pending(label, waits_s):
    periods = SimpleNamespace(pending_analysis=60.0, pending_production=3600.0)
    control = SimpleNamespace(periods=periods, edition="documented")
    assert patience(control, label, np.array([950])).tolist() == [waits_s]


@pytest.mark.rule("watchdogs.reactivate", "watchdogs.patience")
@pytest.mark.parametrize(("edition", "pending_at_10_min", "pending_at_1_h"), [("documented", True, False),
                                                                             ("deployed", False, False)])
def test_d61_a_pending_task_of_priority_950_comes_back(edition, pending_at_10_min, pending_at_1_h):
    stage = at_work(dict(priority=950), edition=edition)
    stage.arrays.tasks["old_status"][0] = T.RUNNING
    set_status(stage.world, 0, T.PENDING, stage.now)
    for until, is_pending in ((601 + 300.0, pending_at_10_min), (3601 + 300.0, pending_at_1_h)):
        stage.run(until)
        assert (stage.task() == "pending") == is_pending


@pytest.mark.rule("gives_up_pending", "watchdogs.give_up_pending")
@pytest.mark.parametrize(("limit", "hours"), [({}, 168), ({"watchdog.PENDING_TIMEOUT_managed": 10}, 10)])
def test_a_task_that_is_pending_for_too_long_is_exhausted(limit, hours):
    stage = at_work({}, gdpconfig=limit)
    stage.arrays.tasks["old_status"][0], stage.arrays.tasks["frozen_s"][0] = T.RUNNING, 1.0
    set_status(stage.world, 0, T.PENDING, stage.now)
    stage.arrays.tasks["modification_s"][0] = 1e9
    stage.run(hours * 3600.0 - 400)
    assert stage.task() == "pending"
    stage.run(hours * 3600.0 + 302.0)
    assert stage.task() == "exhausted"


@pytest.mark.rule("watchdogs.give_up_pending")
def test_a_parent_at_work_protects_from_that():
    stage = Stage(DOGS, scenario(gdpconfig={"watchdog.PENDING_TIMEOUT_managed": 1}), dict(n_jobs=2), dict(parent=1))
    stage.run(1.0)
    running(stage)
    running(stage, 1, T.PENDING)
    stage.arrays.tasks["frozen_s"][1], stage.arrays.tasks["modification_s"][1] = 1.0, 1e9
    stage.run(4 * 3600.0)
    assert stage.task(1) == "pending"


@pytest.mark.rule("watchdogs.finish_exhausted")
@pytest.mark.parametrize(("edition", "periods", "hours"), [
    pytest.param("documented", {}, 240, id="L16 documented: 10 days"),
    pytest.param("deployed", {}, 48, id="L16 the code: configured, 48 h in the template"),
    pytest.param("deployed", dict(exhausted="240h"), 240, id="L16 the code: configured, as the test bed has it"),
])
def test_l16_an_exhausted_task_is_finished(edition, periods, hours):
    stage = Stage(DOGS, scenario(edition=edition, agents=periods), dict(n_jobs=3))
    stage.run(1.0)
    running(stage, 0, T.EXHAUSTED)
    stage.arrays.tasks["n_finished"][0], stage.arrays.tasks["next_chunk"][0] = 1, 1
    stage.run(hours * 3600.0)
    assert stage.task() == "exhausted"
    stage.run(hours * 3600.0 + 1000.0)
    assert stage.task() == "finished"


@pytest.mark.rule("watchdogs.finish_achieved")
@pytest.mark.parametrize(("edition", "goal", "finished", "status"), [
    pytest.param("deployed", 500, 5, "finished", id="half of the input is the goal"),
    pytest.param("deployed", 501, 5, "running", id="a little more is"),
    pytest.param("deployed", None, 5, "running", id="without a goal"),
    pytest.param("documented", 500, 5, "running", id="the documents name a goal, but do not end the task at it"),
])
def test_a_task_is_finished_once_its_goal_is_reached(edition, goal, finished, status):
    stage = at_work(dict(n_jobs=10, use_exhausted=True, **({} if goal is None else dict(goal=goal))), edition=edition)
    stage.arrays.tasks["n_finished"][0], stage.arrays.tasks["next_chunk"][0] = finished, finished
    stage.run(3590.0)
    assert stage.task() == "running"
    stage.run(5000.0)
    assert stage.task() == status


@pytest.mark.rule("ending_of", "post_process")
@pytest.mark.parametrize(("said", "n_failed", "status", "reason"), [
    pytest.param(dict(use_exhausted=True), 1, "exhausted", "incomplete", id="it waits for a person"),
    pytest.param(dict(use_exhausted=True, goal=0), 1, "finished", "", id="any part of the input is the goal"),
    pytest.param({}, 1, "finished", "", id="by default"),
    pytest.param(dict(use_exhausted=True), 0, "done", "", id="nothing to wait for"),
    pytest.param(dict(use_exhausted=True), 3, "failed", "nothing_succeeded", id="nothing was processed"),
])
def test_a_task_whose_input_is_given_up_may_be_exhausted(said, n_failed, status, reason):
    stage = Stage(DOGS, None, dict(n_jobs=3, **said))
    stage.run(1.0)
    running(stage)
    tasks = stage.arrays.tasks
    tasks["n_finished"][0], tasks["n_failed"][0], tasks["next_chunk"][0] = 3 - n_failed, n_failed, 3
    stage.fabric.nothing_left(0)
    stage.run(100.0)
    assert stage.task() == status
    words = {-1: ""} | dict(enumerate(stage.world.vocabularies["reasons"]))
    assert words[int(tasks["errordialog"][0])] == reason
    assert bool(tasks["old_status"][0] == T.RUNNING) is (status == "exhausted")   # where a retry continues
