"""Agents that move jobs: JobGenerator, Setupper, Adder, pilots, statistics, timeouts."""

from dataclasses import replace

import numpy as np
import pytest
from builders import Bench, S, Stage, T, everyone, put_job, scenario

from simgrid_broker.agents.harvester.workers import harvester_submitter
from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.panda.copy_archive import copy_archive
from simgrid_broker.agents.panda.jobs import adder, setupper
from simgrid_broker.agents.panda.pilot_streaming import pilot_streaming
from simgrid_broker.agents.panda.statistics import share_order, statistics
from simgrid_broker.agents.run.samples import snapshot_now
from simgrid_broker.agents.run.timeline import task_source
from simgrid_broker.fabric.jobs.activated import put_activated
from simgrid_broker.names import Cause, DecisionKind
from simgrid_broker.policy.harvester import NO_WORKERS
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.views import PilotStatus
from simgrid_broker.world.pilot_status import activated_by_type, pilot_status, worker_types, workers_of

GENERATION = (task_source, task_refiner, statistics, job_generator, setupper)
USERS = dict(label="user")
"""Analysis tasks are ready at once, without a nucleus."""


def open_doors(stage):
    """Let every queue take as many jobs as come, so that only the throttle counts."""
    stage.control.policies.job_brokerage = lambda task, queues, *_: everyone(
        len(queues.queue))


@pytest.mark.rule("Generator._throttle")
@pytest.mark.parametrize(("edition", "gdpconfig", "n_jobs"), [
    pytest.param("documented", {}, 250, id="one cycle, then queued > 2 x running"),
    pytest.param("documented", {"anal_job_throttler.NQUEUELIMIT_All": 600}, 750,
                 id="NQUEUELIMIT lets the queue grow until it is above"),
    pytest.param("documented", {"anal_job_throttler.NQUEUECAP_All": 100}, 20, id="NQUEUECAP: a fifth of it"),
    pytest.param("deployed", {}, 8 * 260, id="the code goes on until four bunches wait, and reads ten files more"),
])
def test_the_throttle_stops_a_work_queue(edition, gdpconfig, n_jobs):
    plan = scenario(edition=edition, gdpconfig=gdpconfig, agents=dict(task_refiner=10))
    stage = Stage(GENERATION, plan, USERS | dict(n_jobs=10_000))
    open_doors(stage)
    stage.run(1.9 * HOUR)
    assert len(stage.live()) == n_jobs


@pytest.mark.rule("Generator._throttle")
def test_a_share_that_is_exempt_is_not_throttled():
    plan = scenario(shares=[dict(name="All", value=1, throttled=False)])
    stage = Stage(GENERATION, plan, USERS | dict(n_jobs=5_000))
    open_doors(stage)
    stage.run(300.0)
    assert len(stage.live()) == 5_000


def only(candidate, n_candidates):
    """The verdict of a broker that has one candidate."""
    return replace(everyone(n_candidates), order=np.array([candidate]))


@pytest.mark.rule("JobNumbers.of", "Generator._throttle")
def test_a_limit_of_the_share_counts_all_its_resource_types():
    types = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))
    queues = {"U": dict(atlas_site="HERE", capability="ucore", corecount=8)}
    plan = scenario({"HERE": dict(cores=64)}, queues, resource_types=types,
                    gdpconfig={"anal_job_throttler.NQUEUELIMIT_All": 400})
    stage = Stage(GENERATION, plan, USERS | dict(n_jobs=9000), USERS | dict(n_jobs=9000, corecount=8, resource_type=1))
    stage.control.policies.job_brokerage = lambda task, queues, *_: only(
        task.resource_type, len(queues.queue))
    stage.run(HOUR)
    made = np.bincount(stage.arrays.jobs["resource_type"][stage.live()])
    assert made.min() >= 250 and made.sum() <= 750         # counted type by type it would be 500 of each


def test_tasks_are_served_by_priority_and_then_by_age():
    plan = scenario(agents=dict(statistics=10))
    stage = Stage(GENERATION, plan, USERS | dict(n_jobs=200, priority=1), USERS | dict(n_jobs=100, priority=5),
                  USERS | dict(n_jobs=100, priority=5))
    open_doors(stage)
    stage.run(200.0)
    assert np.bincount(stage.arrays.jobs["task"][stage.live()]).tolist() == [50, 100, 100]


def test_a_task_with_jobs_is_running():
    stage = Stage(GENERATION, None, USERS)
    stage.run(200.0)
    assert stage.task() == "running" and stage.entered(T.RUNNING) <= 200.0
    assert stage.statuses() == ["activated"]


@pytest.mark.rule("submission.make_job")
def test_chunks_that_came_back_are_made_again():
    stage = Stage(GENERATION, None, USERS | dict(n_jobs=3))
    stage.run(200.0)
    stage.take_back()
    stage.run(400.0)
    assert stage.arrays.jobs["attempt"][stage.live()].tolist() == [2, 2, 2]


def test_memory_that_a_job_asks_for():
    plan = scenario(queues={"M": dict(atlas_site="HERE", capability="mcore", corecount=8)},
                    resource_types=dict(MCORE=dict(mincore=2)))
    stage = Stage(GENERATION, plan, USERS | dict(corecount=8, ramcount=1000.0, ramunit="MBPerCore", baseramcount=500.0))
    stage.run(200.0)
    assert stage.arrays.jobs["ramcount_mb"][stage.live()].tolist() == [int(8500 * 0.9)]


@pytest.mark.rule("job_turn.order")
def test_brokers_count_what_they_have_just_placed():
    seen = []
    stage = Stage(GENERATION, scenario(agents=dict(statistics=10_000, job_generator=60),
                                       shares=[dict(name="All", value=1, throttled=False)]),
                  *[USERS | dict(n_jobs=30)] * 3)

    def watched(task, queues, stats, *_):
        seen.append((stats.load["placed"].tolist(), stats.load["activated"].tolist()))
        return everyone(len(queues.queue))
    stage.control.policies.job_brokerage = watched
    stage.run(130.0)
    assert seen == [([0], [0]), ([30], [0]), ([60], [0])]


@pytest.mark.parametrize(("own", "kind"), [
    pytest.param((), "analysis_brokerage", id="the packaged brokerages"),
    pytest.param(("job_brokerage",), "job_brokerage", id="an own job brokerage decides about all jobs"),
    pytest.param(("job_brokerage", "analysis_brokerage"), "analysis_brokerage", id="both are own ones"),
    pytest.param(("analysis_brokerage",), "analysis_brokerage", id="an own analysis brokerage"),
])
def test_the_broker_that_is_asked_about_jobs_of_users(own, kind):
    stage = Stage(GENERATION, scenario(record=dict(snapshots=[200])), USERS | dict(n_jobs=10_000))
    for name in own:
        packaged = getattr(stage.control.policies, name)
        setattr(stage.control.policies, name, lambda *asked, packaged=packaged: packaged(*asked))
    stage.run(200.0)
    assert [task["brokerage"] for task in snapshot_now(stage.control)["tasks"].values()] == [kind]
    assert {DecisionKind(row["kind"]).word for row in stage.control.books.decisions.rows} == {kind}


@pytest.mark.rule("statistics.statistics")
def test_statistics_are_as_old_as_their_period():
    stage = Stage((statistics,), scenario(agents=dict(statistics=60)))
    stage.run(200.0)
    stage.submit()
    assert 140.0 <= stage.control.brokers.snapshot.taken_at <= 200.0
    assert stage.control.brokers.snapshot.by_share[0, S.ACTIVATED, 0] == 0
    stage.run(261.0)
    assert stage.control.brokers.snapshot.by_share[0, S.ACTIVATED, 0] == 1


@pytest.mark.rule("statistics.statistics")
@pytest.mark.parametrize(("edition", "snapshots", "checks", "by_queue", "in_detail"), [
    pytest.param("documented", [], False, False, False, id="sums"),
    pytest.param("deployed", [], False, True, False, id="brokers count one resource type"),
    pytest.param("documented", [200], False, True, True, id="for a snapshot"),
    pytest.param("documented", [], True, True, True, id="for the checks of --validate"),
])
def test_statistics_are_as_detailed_as_they_are_read(edition, snapshots, checks, by_queue, in_detail):
    stage = Stage((statistics,), scenario(edition=edition, record=dict(snapshots=snapshots)))
    stage.control.check = abs if checks else stage.control.check
    stage.submit()
    stage.arrays.tasks["resource_type"][0] = -1                           # its job is of another one
    stage.run(100.0)
    seen = stage.control.brokers.snapshot
    assert (seen.by_queue is not None, bool(seen.types_at), seen.details is not None) == (by_queue, by_queue, in_detail)


@pytest.mark.rule("statistics.statistics")
def test_statistics_put_the_most_under_served_share_first():
    shares = [dict(name="A", value=1), dict(name="B", value=1), dict(name="C", value=2)]
    stage = Stage((statistics, share_order), scenario(shares=shares))
    put_job(stage, S.RUNNING, share=0, hs06_milli=10_000)
    stage.arrays.hs06_milli[:] = 10_000, 0, 30_000
    stage.arrays.running_cores[:] = 0
    stage.run(71.0)
    assert stage.arrays.share_order.tolist() == [1, 0, 2]


@pytest.mark.rule("ShareOrder.look")
def test_the_order_is_made_from_usage_as_old_as_the_statistics():
    shares = [dict(name="A", value=1), dict(name="B", value=1)]
    stage = Stage((statistics, share_order), scenario(shares=shares, agents=dict(statistics=600, share_order=10)))
    stage.run(611.0)
    counted_s = stage.control.books.usage.taken_at
    stage.arrays.hs06_milli[:] = 10_000, 0
    orders = {}
    for now in (counted_s + 599, counted_s + 611):
        stage.run(now)
        orders[now - counted_s] = stage.arrays.share_order.tolist()
    assert orders == {599: [0, 1], 611: [1, 0]}


@pytest.mark.rule("decayed")
def test_fair_share_counts_past_use():
    shares = [dict(name="A", value=1), dict(name="B", value=1)]
    orders = {}
    for name in ("global_shares", "fair_share"):
        stage = Stage((statistics, share_order), scenario(shares=shares, policies=dict(dispatch_order=name)))
        stage.arrays.hs06_milli[:] = 90_000, 10_000
        stage.run(12 * HOUR)
        stage.arrays.hs06_milli[:] = 40_000, 60_000
        stage.run(13 * HOUR)
        orders[name] = stage.arrays.share_order.tolist()
    assert orders == {"global_shares": [0, 1], "fair_share": [1, 0]}


@pytest.mark.parametrize(("edition", "task", "first"), [
    pytest.param("documented", dict(processing_type="urgent"), 1, id="documented: urgent jobs ignore shares"),
    pytest.param("documented", {}, 0, id="there are none"),
    pytest.param("deployed", dict(processing_type="urgent"), 0, id="the code asks shares of them, too"),
])
def test_dispatch_knows_whether_urgent_jobs_go_first(edition, task, first):
    stage = Stage((share_order,), scenario(edition=edition), task)
    stage.run(1.0)
    assert stage.arrays.settings["urgent_first"][0] == first


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_jobs_that_nobody_sets_up_for_an_hour_are_withdrawn(edition):
    stage = Stage((copy_archive,), scenario(edition=edition), dict(n_jobs=3, max_attempt=2))
    stage.make(3)
    made_s = stage.now
    while stage.now + 60 <= made_s + HOUR:
        stage.run(stage.now + 60.0)
        assert stage.statuses() == ["pending"] * 3
    stage.run(made_s + HOUR + 2401.0)
    assert stage.statuses() == [] and set(stage.ended()["cause"]) == {Cause.TIMEOUT_PENDING}
    stage.fabric.set_up_jobs(stage.now)                              # the Setupper finds none of them
    stage.make(3)
    assert stage.statuses() == ["pending"] * 3
    stage.check()


def test_setupper_and_adder_look_now_and_then():
    stage = Stage((setupper, adder), scenario(agents=dict(setupper=30, adder=60)))
    stage.make()
    assert stage.statuses() == ["pending"]
    stage.run(31.0)
    assert stage.statuses() == ["activated"]
    stage.workers()
    stage.run(131.1)
    assert stage.statuses() == ["holding"]
    stage.run(192.0)
    assert stage.statuses() == [] and 131 < stage.times(S.FINISHED)[0] < 192


FOUR_TYPES = dict(SCORE=dict(mincore=1, maxcore=1, maxrampercore=2000), MCORE=dict(mincore=2, maxrampercore=2000),
                  SCORE_HIMEM=dict(mincore=1, maxcore=1, minrampercore=2001),
                  MCORE_HIMEM=dict(mincore=2, minrampercore=2001))
MIXED = {"U": dict(atlas_site="HERE", capability="ucore", corecount=8), "P": dict(atlas_site="HERE"),
         "M": dict(atlas_site="HERE", capability="mcore", corecount=4)}


def mixed_bench() -> Bench:
    """A site with a unified queue of four types, a single-core and a multi-core queue."""
    return Bench(scenario({"HERE": dict(cores=1000)}, MIXED, resource_types=FOUR_TYPES), {})


def test_workers_by_queue_and_type():
    numbers, cores, _ = worker_types(mixed_bench().arrays)
    assert numbers.tolist() == [[0, 1, 2, 3], [4, -1, -1, -1], [5, -1, -1, -1]]
    assert cores.tolist() == [[1, 8, 1, 8], [1, 0, 0, 0], [4, 0, 0, 0]]


def test_queues_without_any_type_of_worker_have_none():
    bench = Bench(scenario({"HERE": dict(cores=1000)}, {"U": MIXED["U"]},
                           resource_types={"MCORE": dict(mincore=5000)}), {})
    assert not len(bench.arrays.pseudo_queues)
    assert not any(numbers.any() for numbers in workers_of(bench.arrays, worker_types(bench.arrays))[:2])


def test_what_pilot_streaming_sees():
    bench = mixed_bench()
    put_job(bench, S.ACTIVATED, queue=0, pseudo_queue=1, resource_type=1)
    put_job(bench, S.ACTIVATED, queue=2, pseudo_queue=5, resource_type=3)
    bench.fabric.submit_workers([1, 5], [200, 3], 0.0)
    status = pilot_status(bench.arrays, worker_types(bench.arrays), activated_by_type(bench.arrays))
    assert status.activated[0, 0].tolist() == [0, 1, 0, 0]
    assert status.activated[1:, 0, 0].tolist() == [0, 1]           # a plain queue has one type of worker, the first
    assert status.cores_running.tolist() == [8 * 125, 0, 0]        # the site is full
    assert status.workers_queued.tolist() == [[0, 75, 0, 0], [0, 0, 0, 0], [3, 0, 0, 0]]
    assert status.cores_queued.tolist() == [600, 0, 12]


def submitted_by(decide, queues=MIXED, jobs=(), waiting=(), cores=0, **plan) -> list[int]:
    """Workers that wait at each pseudo-queue after one cycle of pilot streaming with a policy of its own."""
    plan = scenario({"HERE": dict(cores=cores)}, queues, **dict(resource_types=FOUR_TYPES) | plan)
    stage = Stage((pilot_streaming, harvester_submitter), plan, {})
    for number in waiting:
        stage.workers(queue=number)
    for columns in jobs:
        put_activated(stage.arrays, put_job(stage, S.ACTIVATED, **columns))
    if decide:
        stage.control.policies.pilot_submission = decide
    stage.run(361.0)
    return stage.arrays.pseudo_queues["n_submitted"].tolist()


@pytest.mark.rule("streaming_options")
@pytest.mark.parametrize(("params", "workers"), [
    pytest.param({}, [101, 64, 0, 0, 1, 1], id="no options: 75 slots"),
    pytest.param({"resource_type_limits.SCORE": 0}, [0, 76, 0, 0, 1, 1], id="no more single-core workers"),
    pytest.param({"ups_core_target": 1520}, [101, 65, 0, 0, 1, 1], id="cores that count as running"),
])
def test_options_of_a_queue_for_pilot_streaming(params, workers):
    free = {"nQueueLimitWorkerMin": 9999, "maxNewWorkersPerCycle": 9999}
    queues = MIXED | {"U": MIXED["U"] | dict(params=free | params)}
    assert submitted_by(None, queues, [dict(queue=0, pseudo_queue=kind, resource_type=kind) for kind in (0, 1)
                                       for _ in range(100)]) == workers


@pytest.mark.rule("memory_options")
@pytest.mark.parametrize(("edition", "meanrss", "workers"), [
    pytest.param("deployed", 2000, [2, 0, 0, 2], id="above the target: types that do not ask for more"),
    pytest.param("deployed", 4000, [2, 0, 0, 4], id="at the target: all"),
    pytest.param("deployed", 1999, [2, 0, 0, 4], id="all, if every type asks for more"),
    pytest.param("documented", 2000, [2, 0, 0, 4], id="not documented"),
])
def test_mean_memory_of_a_queue_for_pilot_streaming(edition, meanrss, workers):
    queues = MIXED | {"U": MIXED["U"] | dict(maxrss=32_000, meanrss=meanrss, batch_latency=36_000)}
    jobs = [dict(queue=0, pseudo_queue=kind, resource_type=kind) for kind in (0, 3, 3, 3)]
    found = submitted_by(None, queues, jobs, waiting=(3, 3), cores=1000, edition=edition)
    assert found[:4] == workers


@pytest.mark.rule("harvester_submitter")
def test_workers_are_submitted_by_queue_and_type():
    def decide(status: PilotStatus):
        return np.array([[1, 2, 3, 4], [5, 0, 0, 0], [6, 0, 0, 0]])
    assert submitted_by(decide) == [1, 2, 3, 4, 5, 6]


@pytest.mark.rule("harvester_submitter")
def test_unified_pilot_streaming_asks_for_the_types_of_the_jobs():
    jobs = [dict(queue=0, pseudo_queue=1, resource_type=1)] * 3 + [dict(queue=0, pseudo_queue=0, resource_type=0)]
    assert submitted_by(None, jobs=jobs) == [2, 4, 0, 0, 1, 1]     # what is lacking and one more; one to stay alive


@pytest.mark.rule("Harvester.look")
@pytest.mark.parametrize("status", [status.word for status in NO_WORKERS])
def test_harvester_submits_nothing_to_a_queue_that_is(status):
    queues = MIXED | {"U": MIXED["U"] | dict(status=status)}
    assert submitted_by(None, queues) == [0, 0, 0, 0, 1, 1]


@pytest.mark.rule("Harvester.look")
@pytest.mark.parametrize("status", ["brokeroff", "test", "paused"])
def test_harvester_goes_on_submitting_to_a_queue_that_is(status):
    queues = MIXED | {"U": MIXED["U"] | dict(status=status)}
    assert submitted_by(None, queues) == [1, 0, 0, 0, 1, 1]


def overdue_jobs(status, age, queue=None, label="managed", **job):
    """Status and cause with which copyArchive ended a job that entered a status so long ago; None if it did not."""
    job = dict(modification_s=0.0) | job
    plan = scenario(queues={"HERE": dict(atlas_site="HERE") | (queue or {})})
    stage = Stage((copy_archive,), plan, dict(label=label))
    row = put_job(stage, status, **job)
    stage.arrays.tasks["n_alive"][0] = stage.arrays.tasks["next_chunk"][0] = 1
    if status == S.ACTIVATED:
        put_activated(stage.arrays, row)
    stage.run(age + 2401.0)
    ended = stage.ended()
    return None if len(ended) == 0 else (S(ended["status"][0]).word, Cause(ended["cause"][0]).word)


@pytest.mark.parametrize(("status", "limit_s", "end"), [
    pytest.param(S.PENDING, HOUR, ("closed", "timeout_pending"), id="pending: 1 hour"),
    pytest.param(S.DEFINED, 4 * HOUR, ("closed", "timeout_defined"), id="defined: 4 hours"),
    pytest.param(S.ASSIGNED, 12 * HOUR, ("closed", "timeout_assigned"), id="assigned: 12 hours"),
    pytest.param(S.ACTIVATED, 2 * DAY, ("closed", "timeout_activated"), id="activated: 2 days"),
    pytest.param(S.SENT, HOUR / 2, ("failed", "timeout_sent"), id="sent: 30 minutes"),
    pytest.param(S.HOLDING, 48 * HOUR, ("failed", "timeout_holding"), id="holding: 48 hours"),
    pytest.param(S.TRANSFERRING, 6 * DAY, ("failed", "timeout_transferring"), id="transferring: 6 days"),
    pytest.param(S.RUNNING, 2 * HOUR, ("failed", "lost_heartbeat"), id="a silent payload: 2 hours"),
])
def test_timeouts(status, limit_s, end):
    where = dict(transfer=-1, source_site=-1) if status in (S.ASSIGNED, S.TRANSFERRING) else {}
    assert overdue_jobs(status, limit_s - 2401.0, **where) is None
    assert overdue_jobs(status, limit_s, **where) == end


@pytest.mark.parametrize(("queue", "priority", "is_closed"), [
    pytest.param({}, 800, True, id="high priority at an idle queue: 4 hours"),
    pytest.param({}, 799, False, id="not with a lower priority"),
    pytest.param(dict(status="paused"), 800, False, id="not at a paused queue"),
    pytest.param(dict(catchall="disableReassign"), 800, False, id="not where it is switched off"),
])
def test_places_where_a_rule_holds(queue, priority, is_closed):
    found = overdue_jobs(S.ACTIVATED, 5 * HOUR, queue, priority=priority)
    assert found == (("closed", "timeout_activated") if is_closed else None)


def test_a_queue_where_jobs_start_is_not_idle():
    stage = Stage((copy_archive,), None, dict(priority=900))
    stage.submit()
    for hour in range(1, 10):
        stage.run(hour * HOUR)
        stage.arrays.queues["laststart_s"][0] = stage.now
    assert stage.statuses() == ["activated"]
    stage.run(12 * HOUR)
    assert stage.statuses() == []


def test_lost_heartbeats_of_a_workflow():
    plan = dict(workflow="push")
    assert overdue_jobs(S.RUNNING, 3 * HOUR, plan) == ("failed", "lost_heartbeat")
    stage = Stage((copy_archive,), scenario(queues={"HERE": dict(atlas_site="HERE", workflow="push")},
                                            gdpconfig={"watcher.HEARTBEAT_TIMEOUT_push": 20}), {})
    put_job(stage, S.RUNNING)
    stage.arrays.tasks["n_alive"][0] = 1
    stage.run(19 * HOUR)
    assert stage.statuses() == ["running"]
    stage.run(21 * HOUR)
    assert stage.statuses() == []


def test_a_job_that_was_taken_out_of_the_inbox_may_end_before_the_setupper_looks():
    bench = Bench(None, dict(n_jobs=2))
    bench.make(2)
    first, second = bench.live()
    bench.fabric.let_wait(first, bench.now)
    bench.take_back(first)
    bench.fabric.empty_outboxes()
    bench.fabric.set_up_jobs(bench.now)
    assert bench.arrays.jobs["panda_id"][first] <= 0 and bench.statuses() == ["activated"]
