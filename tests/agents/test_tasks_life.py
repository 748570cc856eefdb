"""Agents that move tasks: source, refiner, broker, WatchDog, PostProcessor."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import simpy
from builders import Stage, T, everyone, put_task, scenario

from simgrid_broker.agents import control
from simgrid_broker.agents.harvester.workers import harvester_submitter
from simgrid_broker.agents.jedi.job_generator import hold, job_generator
from simgrid_broker.agents.jedi.post_processor import post_processor, settled
from simgrid_broker.agents.jedi.task_broker import task_broker
from simgrid_broker.agents.jedi.task_refiner import FIRST_TRY_S, send_on, task_refiner
from simgrid_broker.agents.jedi.watchdogs import watch_dog
from simgrid_broker.agents.panda.jobs import adder, setupper
from simgrid_broker.agents.panda.pilot_streaming import pilot_streaming
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.agents.run.timeline import task_source
from simgrid_broker.ledgers.live_tasks import LiveTasks
from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import candidate_criterion
from simgrid_broker.turns import job_tables
from simgrid_broker.world.arrays import STATE
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.views import observe

TWO_SHARES = [dict(name="Analysis", value=1, prodsourcelabel="user|panda"),
              dict(name="Production", value=1, prodsourcelabel="managed")]
UNTAGGED = dict(share=-1, resource_type=-1)


def test_tasks_arrive_when_their_time_has_come():
    stage = Stage((task_source,), None, dict(arrival_s=0.0), dict(arrival_s=50.0), dict(arrival_s=50.0),
                  dict(arrival_s=80.5))
    stage.run(49.9)
    assert stage.control.books.live_tasks.rows.tolist() == [0]
    stage.run(50.1)
    assert stage.control.books.live_tasks.rows.tolist() == [0, 1, 2]
    stage.run(100.0)
    assert [stage.entered(T.REGISTERED, task) for task in range(4)] == [0.0, 50.0, 50.0, 80.5]


@pytest.mark.rule("map_task", "task_refiner.refine")
@pytest.mark.parametrize(("task", "status", "share"), [
    pytest.param(dict(label="managed"), "assigning", 1, id="production goes to the task broker"),
    pytest.param(dict(label="user"), "ready", 0, id="analysis is ready at once"),
    pytest.param(dict(label="panda"), "ready", 0, id="a task with another label is ready too"),
    pytest.param(dict(label="ptest"), "broken", -1, id="no share takes it"),
    pytest.param(dict(label="managed", corecount=8), "broken", 1, id="no resource type fits it"),
    pytest.param(dict(label="managed", share=0), "assigning", 0, id="a share that is named wins"),
])
def test_refiner(task, status, share):
    stage = Stage((task_source, task_refiner), scenario(shares=TWO_SHARES), UNTAGGED | task)
    stage.run(61.0)
    assert stage.task() == status
    assert stage.arrays.tasks["share"][0] == share
    gone = status == "broken"
    assert len(stage.control.books.live_tasks.rows) == (0 if gone else 1)
    assert len(stage.kept.get("tasks", ())) == gone        # a broken task is recorded at once


@pytest.mark.parametrize(("corecount", "ramcount", "resource_type"), [
    pytest.param(1, 2222.0, "SCORE", id="with compensation just ordinary"),
    pytest.param(1, 2224.0, "SCORE_HIMEM", id="high memory"),
    pytest.param(8, 2000.0, "MCORE", id="multi-core"),
    pytest.param(0, 4000.0, "MCORE_HIMEM", id="any number of cores is multi-core"),
])
def test_refiner_finds_the_resource_type(corecount, ramcount, resource_type):
    from simgrid_broker.scenario.model import DEFAULT_RESOURCE_TYPES
    types = {name: bounds.model_dump() for name, bounds in DEFAULT_RESOURCE_TYPES.items()}
    said = dict(corecount=corecount, ramcount=ramcount, ramunit="MBPerCore")
    stage = Stage((task_source, task_refiner), scenario(resource_types=types), UNTAGGED | said)
    stage.run(61.0)
    assert list(types)[stage.arrays.tasks["resource_type"][0]] == resource_type


PERIODS = dict(task_refiner=10, task_broker=600)


@pytest.mark.rule("task_broker.task_broker")
def test_task_broker_chooses_a_nucleus_at_its_next_cycle():
    stage = Stage((task_source, task_refiner, task_broker), scenario(agents=PERIODS))
    stage.run(611.0)
    assert stage.task() == "ready"
    assert stage.arrays.tasks["nucleus"][0] == 0
    assert stage.control.books.decisions.n_decisions == 1
    assert np.isnan(stage.arrays.tasks["frozen_s"][0])


@pytest.mark.rule("task_broker._put_off", "task_broker._reactivate")
@pytest.mark.parametrize(("edition", "waits_as"), [
    pytest.param("documented", "pending", id="D5 documented: on hold"),
    pytest.param("deployed", "assigning", id="D5 the code: it stays where it is"),
])
def test_d5_a_task_without_a_nucleus_is_tried_again_after_30_minutes(edition, waits_as):
    full = scenario(storages={"A": dict(site="HERE", total=1e12, free=0)}, edition=edition,
                    agents=PERIODS | dict(pending_production=700))            # not for tasks without a nucleus
    stage = Stage((statistics, task_source, task_refiner, task_broker, watch_dog), full)
    moments = []
    stage.run(2400.0)
    assert stage.task() == waits_as
    frozen_s = stage.arrays.tasks["frozen_s"][0]
    while stage.now < 6.5 * 3600:
        moments += [row[0] for row in stage.control.books.decisions.rows if row[0] not in moments]
        stage.run(stage.now + 600.0)
    assert stage.task() == waits_as
    assert set(np.diff(moments)) == {1800.0}
    assert stage.arrays.tasks["frozen_s"][0] == frozen_s < 700.0
    stage.arrays.storages["free_bytes"][0] = 1e15
    stage.arrays.storages["total_bytes"][0] = 2e15
    stage.workers()                                  # a queue without pilots for 3 h could not run the jobs
    stage.run(stage.now + 2400.0)
    assert stage.task() == "ready"


def test_d6_a_nucleus_must_be_able_to_run_the_jobs():
    plan = scenario({"A": {}, "B": {}}, {"A": dict(atlas_site="A", status="brokeroff"), "B": dict(atlas_site="B")},
                    agents=PERIODS)
    for edition in EDITIONS:
        stage = Stage((task_source, task_refiner, task_broker), plan.with_values({"edition": edition}), *[{}] * 10)
        stage.run(611.0)
        assert stage.arrays.tasks["nucleus"].tolist() == [1] * 10


@pytest.mark.rule("task_broker.task_broker", "by_priority")
def test_work_queues_are_brokered_one_after_another():
    seen = []

    def brokerage(task, nuclei, cfg, edition, uniform):
        seen.append(task.jeditaskid)
        return everyone(len(nuclei.site))

    plan = scenario(shares=[dict(name="X", value=1), dict(name="Y", value=1)], agents=PERIODS)
    stage = Stage((task_source, task_refiner, task_broker), plan, dict(share=1, priority=9), dict(share=0, priority=1),
                  dict(share=0, priority=5), dict(share=0, priority=5))
    stage.control.policies.task_brokerage = brokerage
    stage.run(611.0)
    assert seen == [3, 4, 2, 1]


def test_a_nucleus_that_the_task_names_is_taken():
    stage = Stage((task_source, task_refiner, task_broker), scenario({"A": {}, "B": {}}, agents=PERIODS),
                  *[dict(nucleus=1)] * 5)
    stage.run(611.0)
    assert stage.arrays.tasks["nucleus"].tolist() == [1] * 5 and stage.task() == "ready"


@pytest.mark.rule("task_refiner.task_refiner", "task_refiner.feed")
def test_production_without_a_nucleus_goes_to_the_task_broker_which_is_due_at_once():
    stage = Stage((task_source,), None, {}, dict(nucleus=0), dict(label="user"))
    stage.run(50.0)
    for row in range(3):
        put_task(stage, row, T.DEFINED)
        send_on(stage.control, row)
    assert [stage.task(row) for row in range(3)] == ["assigning", "ready", "ready"]
    task = stage.arrays.tasks[0]
    assert (task["modification_s"], task["frozen_s"]) == (50.0 - FIRST_TRY_S, 50.0)


CHILD = dict(parent=1, replicas={0: 1.0, 1: 0.5}, input_bytes_per_job=5.0)


@pytest.mark.rule("task_refiner.task_refiner")
@pytest.mark.parametrize(("end", "nucleus", "status"), [
    pytest.param(T.RUNNING, 1, "registered", id="it waits for its parent"),
    pytest.param(T.DONE, 1, "assigning", id="it begins when the parent is done"),
    pytest.param(T.FINISHED, 0, "assigning", id="or finished"),
    pytest.param(T.FAILED, 1, "broken", id="never after a parent that failed"),
    pytest.param(T.BROKEN, 1, "broken", id="or is broken"),
])
def test_a_child_waits_for_its_parent(end, nucleus, status):
    stage = Stage((task_source, task_refiner), scenario({"A": {}, "B": {}}), {}, CHILD)
    stage.run(61.0)
    assert stage.task(1) == "registered"
    put_task(stage, 0, end)
    stage.arrays.tasks["nucleus"][0] = nucleus
    stage.run(122.0)
    assert stage.task(1) == status
    if status == "assigning":
        number = stage.arrays.input_dataset[1]
        assert observe.replicas(stage.world, number) == [(nucleus, 1.0, False)]    # where the output of the parent went


@pytest.mark.rule("task_broker.task_broker")
def test_the_broker_sees_the_work_that_it_has_just_given_away_and_goes_by_priority():
    seen = []

    def brokerage(task, nuclei, cfg, edition, uniform):
        seen.append((task.jeditaskid, nuclei.remaining_work_hs06s.tolist()))
        return everyone(len(nuclei.site))

    plan = scenario({"A": {}, "B": {}}, agents=PERIODS)
    stage = Stage((task_source, task_refiner, task_broker), plan, dict(priority=1, cputime=500.0, n_jobs=10),
                  dict(priority=9, n_jobs=2))
    stage.control.policies.task_brokerage = brokerage
    stage.run(611.0)
    assert seen == [(2, [0.0, 0.0]), (1, [2 * 300.0, 0.0])]        # a task that claims nothing counts 300 HS06 s a job


def test_the_ability_of_a_nucleus_is_that_under_the_scenario_s_own_job_brokerage():
    """A nucleus without a queue for the jobs is refused; an own rule refuses the queues of the first one."""
    def closed(task, queue, load, link, store, numbers):
        return queue["site"] == 0, 0.0, 0.0

    def nuclei(own):
        stage = Stage((task_source, task_refiner, task_broker), scenario({"A": {}, "B": {}}, agents=PERIODS), {})
        rules = stage.control.policies.job_rules
        if own:
            rule = candidate_criterion("-closed", plain=True, panda="an example", source="this test")(closed)
            stage.control.policies.job_rules = replace(rules, funnel=Funnel((rule, *rules.funnel.criteria)))
        seen = []

        def brokerage(task, nuclei, cfg, edition, uniform):
            seen.extend(nuclei.can_run(np.ones(len(nuclei.site), bool)).tolist())
            return everyone(len(nuclei.site))
        stage.control.policies.task_brokerage = brokerage
        stage.run(611.0)
        return seen
    assert (nuclei(own=False), nuclei(own=True)) == ([True, True], [False, True])


@pytest.mark.rule("watchdogs.reactivate", "watchdogs.patience")
@pytest.mark.parametrize(("label", "patience_s"), [("managed", 3600.0), ("user", 1200.0)])
def test_a_pending_task_comes_back(label, patience_s, monkeypatch):
    monkeypatch.setattr(control.luck, "uniforms", lambda *key: np.float64(0.0))        # all wake on the ten seconds
    stage = Stage((task_source, task_refiner, watch_dog), scenario(agents=dict(watch_dog=10, task_refiner=10)),
                  dict(label=label))
    stage.run(20.0)
    if label == "managed":
        set_status(stage.world, 0, T.READY, 20.0)
        stage.arrays.tasks["frozen_s"][0] = np.nan
    stage.run(100.0)
    hold(stage.control, 0, "")
    assert (stage.task(), stage.arrays.tasks["frozen_s"][0]) == ("pending", 100.0)
    stage.run(100.0 + patience_s)
    assert stage.task() == "pending"
    stage.run(100.0 + patience_s + 1.0)
    assert stage.task() == "ready"


@pytest.mark.rule("counts_as_pending")
@pytest.mark.parametrize(("edition", "tag", "since"), [
    pytest.param("deployed-1.0.3", "-cap_jobs", 100.0, id="a cap of the user"),
    pytest.param("deployed-1.0.4", "-cap_jobs", np.nan, id="from release 1.0.4 on without pending time"),
    pytest.param("deployed-1.0.4", "-share_throttle", np.nan, id="as is the throttle of classes"),
    pytest.param("deployed-1.0.4", "-cap", 100.0, id="not other reasons"),
    pytest.param("deployed-1.0.4", "", 100.0, id="nor full queues"),
])
def test_pending_time_of_a_task_without_a_queue(edition, tag, since):
    stage = Stage((task_source, task_refiner), scenario(edition=edition), dict(label="user"))
    stage.run(100.0)
    hold(stage.control, 0, tag)
    assert stage.task() == "pending" and stage.arrays.tasks["frozen_s"][0] == pytest.approx(since, nan_ok=True)


def test_a_task_without_a_queue_is_put_on_hold_and_makes_its_jobs_when_it_comes_back():
    plan = scenario(queues={"HERE": dict(atlas_site="HERE", status="brokeroff")}, agents=PERIODS | dict(watch_dog=10))
    stage = Stage((task_source, task_refiner, job_generator, watch_dog), plan)
    stage.run(20.0)
    set_status(stage.world, 0, T.READY, 20.0)
    stage.run(800.0)
    assert stage.task() == "pending" and stage.statuses() == []
    held = stage.entered(T.PENDING)
    stage.arrays.queues["status"][0] = 0
    stage.control.brokers.refresh_queues()
    stage.run(held + 3600.0)
    assert stage.task() == "pending"
    stage.run(held + 3600.0 + 200.0)                                # the JobGenerator comes every 180 s
    assert stage.task() == "running"
    assert stage.arrays.tasks["old_status"][0] == T.READY


@pytest.mark.parametrize("room", [1, 2, 1024], ids="room for {} of them at a time".format)
def test_all_tasks_of_a_cycle_without_a_queue_are_put_on_hold(monkeypatch, room):
    monkeypatch.setattr(job_tables, "FIRST_ORDERS", room)
    plan = scenario(queues={"HERE": dict(atlas_site="HERE", status="brokeroff")}, agents=PERIODS)
    stage = Stage((task_source, job_generator), plan, *[{}] * 3)
    stage.run(20.0)
    for row in range(3):
        put_task(stage, row, T.READY)
    stage.run(200.0)
    assert [stage.task(row) for row in range(3)] == ["pending"] * 3
    assert len({stage.entered(T.PENDING, row) for row in range(3)}) == 1
    tasks = stage.arrays.tasks
    assert (tasks["old_status"] == T.READY).all() and (tasks["errordialog"] >= 0).all()


@pytest.mark.rule("settled", "post_process", "ending_of")
@pytest.mark.parametrize(("n_finished", "n_failed", "status"), [
    pytest.param(3, 0, "done", id="every input was processed"),
    pytest.param(2, 1, "finished", id="some inputs were processed"),
    pytest.param(0, 3, "failed", id="no input was processed"),
])
def test_final_status(n_finished, n_failed, status):
    stage = Stage((task_source, task_refiner, post_processor), None, dict(n_jobs=3, label="user"), dict(label="user"))
    stage.run(61.0)
    tasks, state = stage.arrays.tasks, stage.world.state
    tasks["n_finished"][0], tasks["n_failed"][0], tasks["next_chunk"][0] = n_finished, n_failed, 3
    stage.arrays.done_tasks[0], state["n_done_tasks"] = 0, 1
    stage.run(122.0)
    assert [stage.task(0), stage.task(1)] == [status, "ready"]
    assert stage.control.books.live_tasks.rows.tolist() == [1]
    assert state["n_done_tasks"] == 0
    assert stage.recorded("tasks")["jeditaskid"].tolist() == [1]


@pytest.mark.rule("settled")
@pytest.mark.parametrize(("status", "old_status", "n_finished", "needs_no_look", "after"), [
    pytest.param(T.READY, T.DEFINED, 2, True, "ready", id="input is left"),
    pytest.param(T.READY, T.DEFINED, 3, True, "done", id="it ends"),
    pytest.param(T.PENDING, T.READY, 3, True, "done", id="on hold before it could go on"),
    pytest.param(T.PENDING, T.ASSIGNING, 3, False, "pending", id="on hold without a nucleus"),
    pytest.param(T.PAUSED, T.READY, 3, False, "paused", id="its status has to change first"),
    pytest.param(T.DONE, T.READY, 3, True, "done", id="it has ended"),
])
def test_tasks_that_are_looked_at_until_their_status_lets_them_end(status, old_status, n_finished, needs_no_look,
                                                                   after):
    stage, ended = Stage((task_source, task_refiner), None, dict(n_jobs=3, label="user")), []
    stage.run(61.0)
    stage.arrays.tasks["n_finished"][0], stage.arrays.tasks["next_chunk"][0] = n_finished, 3
    put_task(stage, 0, status)
    stage.arrays.tasks["old_status"][0] = old_status
    assert settled(stage.control, 0, ended) is needs_no_look and stage.task() == after
    assert ended == [0] * (after == "done" and status != T.DONE)


def test_a_task_goes_all_its_way():
    agents = (task_source, task_refiner, task_broker, adder, post_processor, job_generator, setupper, pilot_streaming,
        harvester_submitter)
    stage = Stage(agents, None, dict(n_jobs=20))
    stage.run(7200.0)
    assert stage.task() == "done"
    moments = [stage.entered(status) for status in (T.REGISTERED, T.DEFINED, T.ASSIGNING, T.READY, T.RUNNING,
                                                    T.PREPARED, T.DONE)]
    assert moments == sorted(moments)
    assert len(stage.ended()) == 20
    stage.check()


def test_agents_wake_at_phases_of_their_own():
    stage = Stage(())
    first = {}
    for name in ("taskbroker", "taskcmd", "jobgen Express SCORE", "jobgen Express MCORE"):      # alike at first
        work = stage.control.every(60.0, lambda: None, name)
        next(work)
        first[name] = stage.control.due[name]
    assert len(set(first.values())) == len(first)
    assert all(0 < delay < 60 for delay in first.values())


def worker(work):
    """An environment in which a process works every minute, and the process."""
    env = simpy.Environment()
    stage = SimpleNamespace(env=env, seed=1, due={}, cycles={}, periodic=[], world=SimpleNamespace(
        n_moves=0, arrays=SimpleNamespace(state=np.zeros(1, STATE))))
    return env, env.process(control.Control.every(stage, 60.0, lambda: work(env.now), "work"))


def test_work_on_a_period_ends_with_its_process():
    times = []
    env, process = worker(times.append)
    env.run(until=200)
    assert len(times) >= 3 and np.diff(times).tolist() == [60.0] * (len(times) - 1)
    process.interrupt()
    with pytest.raises(simpy.Interrupt):
        env.run(until=201)
    before = [*times]
    env.run(until=500)
    assert times == before


@pytest.mark.parametrize(("counter", "expected"), [
    ("transfer_id", True), ("n_processed", True), ("n_done_jobs", False), ("n_done_transfers", False),
    ("n_job_moves", True), ("n_past_merging", True), ("n_done_tasks", True), ("n_busy_links", True),
    ("next_cycle_s", False), ("n_left", True), ("replicas_version", True)])
def test_counters_that_say_that_a_cycle_has_moved_anything(counter, expected):
    before = np.zeros(1, STATE)
    after = before.copy()
    after[counter] = 1
    assert control.has_moved(before.tobytes(), after.tobytes()) == expected


def test_what_work_on_a_period_raises_ends_the_run():
    def work(now):
        raise ValueError(f"broken at {now}")
    env, _ = worker(work)
    with pytest.raises(ValueError, match="broken at"):
        env.run(until=100)


def test_tasks_in_a_status_are_found_again_when_they_change():
    draw, n = np.random.default_rng(1), 12
    world = SimpleNamespace(statuses=np.zeros(n, np.int8), status_changes=[0] * len(T),
                            arrays=SimpleNamespace(tasks=np.zeros(n)))
    live, wanted = LiveTasks(world), ([T.READY], [T.RUNNING, T.DONE], [T.REGISTERED])
    for row in range(n):
        live.add([row])
        for other in draw.integers(0, row + 1, 6).tolist():
            new = int(draw.choice([T.READY, T.RUNNING, T.DONE]))
            world.status_changes[world.statuses[other]] += 1
            world.status_changes[new] += 1
            world.statuses[other] = new
            if draw.random() < 0.3:
                live.remove([other])
            elif draw.random() < 0.3:
                live.bring_back(other)
            for statuses in wanted:
                assert live.in_status(*statuses).tolist() == [
                    row for row in live.rows.tolist() if world.statuses[row] in statuses]


def test_a_task_with_jobs_is_recorded_when_the_last_has_ended():
    stage = Stage((), scenario(), {}, {}, {})
    books, tasks = stage.control.books, stage.arrays.tasks
    tasks["n_alive"][[0, 1]] = 1
    books.end_tasks([0, 1])
    assert len(stage.recorded("tasks")) == 0
    tasks["n_alive"][0], tasks["failed_attempts"][0] = 0, 1               # the job runs on, and fails
    books.end_tasks([2])
    assert stage.recorded("tasks")["failed_attempts"].tolist() == [1, 0]
    books.record_the_rest()
    assert stage.recorded("tasks")["jeditaskid"].tolist() == tasks["jeditaskid"][[0, 2, 1]].tolist()
