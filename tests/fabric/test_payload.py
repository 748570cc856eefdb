"""Payloads: how long they take, when they are killed, and how long a pilot goes on."""

import numpy as np
import pytest
from builders import Bench, S, scenario

from simgrid_broker.compiled import uncompiled
from simgrid_broker.fabric.jobs.pilots import dispatch, job_reports, payload_ends, stage_time, used_cores
from simgrid_broker.names import Cause
from simgrid_broker.schema import TRACE

pytestmark = pytest.mark.rule("stage_time", "compare_memory", "used_cores", "settle", "join_midway", "start_payload",
                              "payload_ends")


def ended_job(plan=None, queue=0, **task):
    """The row of the job of a task of one job that ran alone and was looked at by the Adder."""
    bench = Bench(plan or scenario(), dict(max_attempt=1) | task)
    bench.submit(queue=queue)
    bench.workers(queue=queue)
    bench.run(1e6)
    bench.collect()
    bench.check()
    return bench.ended()[0]


@pytest.mark.parametrize(("queue", "task", "walltime_s"), [
    pytest.param({}, {}, 100.0, id="1000 HS06 s at 10 HS06"),
    pytest.param(dict(corepower=20), {}, 50.0, id="a core twice as fast"),
    pytest.param(dict(corepower=0), {}, 100.0, id="unknown power is 10"),
    pytest.param(dict(capability="mcore", corecount=8), dict(corecount=8, work_hs06s_per_event=8000.0), 100.0,
                 id="eight cores work together"),
    pytest.param({}, dict(cpu_efficiency=0.5), 200.0, id="half the time the core waits"),
    pytest.param({}, dict(basewalltime_s=600.0), 700.0, id="base time comes on top, at any speed"),
    pytest.param({}, dict(n_events_per_job=3), 300.0, id="work is per event"),
    pytest.param({}, dict(input_bytes_per_job=5e9), 105.0, id="input is copied to the slot"),
    pytest.param(dict(maxinputsize=-1), dict(input_bytes_per_job=5e9), 100.0, id="input is read from the storage"),
    pytest.param({}, dict(output_bytes_per_job=2e9), 102.0, id="output is copied to the storage"),
])
def test_wall_time_by_hand(queue, task, walltime_s):
    job = ended_job(scenario(queues={"HERE": dict(atlas_site="HERE") | queue}), **task)
    assert job["walltime_s"] == pytest.approx(walltime_s)
    assert (job["status"], job["cause"]) == (S.FINISHED, Cause.NONE)


@pytest.mark.parametrize(("size", "expected"), [
    pytest.param(0, 0.0, id="nothing"), pytest.param(1, 7.5, id="the smallest file"),
])
def test_time_to_copy(size, expected):
    site = np.zeros(1, [("stage_latency_s", "f8"), ("stage_in_rate", "f8")])
    site[0] = 7.0, 2.0
    assert stage_time(site[0], size) == expected


@pytest.mark.parametrize(("had", "expected"), [
    pytest.param(4, (4, 0.25), id="a recorded job uses no more than it had"),
    pytest.param(16, (8, 0.25), id="and no more than it gets"),
])
def test_cores_of_a_recorded_job(had, expected):
    bench = Bench(scenario(), dict(failure_rate=np.nan, corecount=had))
    trace = TRACE.empty(1)
    trace["cpu_efficiency"] = 0.25
    arrays = bench.arrays.with_arrays(trace=trace)
    arrays.jobs[0]["task"], arrays.jobs[0]["corecount"], arrays.jobs[0]["chunk"] = 0, 8, 0
    assert used_cores(arrays, arrays.jobs[0], arrays.tasks[0]) == expected


def test_staging_has_a_latency_only_if_there_is_something_to_stage():
    plan = scenario({"HERE": dict(stage_latency=7)})
    assert ended_job(plan)["walltime_s"] == pytest.approx(100.0)
    job = ended_job(plan, input_bytes_per_job=1e9, output_bytes_per_job=3e9)
    assert (job["stage_in_s"], job["stage_out_s"]) == (8.0, 10.0)
    assert job["walltime_s"] == pytest.approx(118.0)


def test_cpu_time_counts_all_cores_and_not_the_staging():
    plan = scenario(queues={"HERE": dict(atlas_site="HERE", capability="mcore", corecount=8)})
    job = ended_job(plan, corecount=8, cpu_efficiency=0.5, work_hs06s_per_event=8000.0, input_bytes_per_job=1e9)
    assert job["walltime_s"] == pytest.approx(201.0)
    assert job["cputime_s"] == pytest.approx(200.0 * 8 * 0.5)


@pytest.mark.rule("retry_by_server")
@pytest.mark.parametrize(("task_cores", "cores"), [
    pytest.param(0, 8, id="any number: those of the slot"),
    pytest.param(8, 8, id="as many as the slot has"),
    pytest.param(4, 8, id="the queue's number wins"),
    pytest.param(1, 1, id="a single-core job stays one"),
])
def test_cores_of_a_job(task_cores, cores):
    plan = scenario(queues={"HERE": dict(atlas_site="HERE", capability="mcore", corecount=8)})
    job = ended_job(plan, corecount=task_cores)
    assert (job["corecount"], job["hs06_milli"]) == (cores, cores * 10_000)


@pytest.mark.parametrize(("maxpss", "cause"), [
    pytest.param(4000.0, Cause.NONE, id="twice the slot's memory is still fine"),
    pytest.param(4001.0, Cause.MEMORY_EXCEEDED, id="a megabyte more is not"),
])
def test_memory_kill(maxpss, cause):
    job = ended_job(scenario(queues={"HERE": dict(atlas_site="HERE", maxrss=2000)}), maxpss_mb=maxpss)
    assert job["cause"] == cause
    assert job["status"] == (S.FINISHED if cause == Cause.NONE else S.FAILED)
    assert job["walltime_s"] <= 100.0


@pytest.mark.parametrize(("maxtime", "cause", "walltime_s"), [
    pytest.param(100, Cause.NONE, 100.0, id="just in time"),
    pytest.param(99, Cause.WALLTIME_EXCEEDED, 99.0, id="a second too late: killed at the limit"),
    pytest.param(0, Cause.NONE, 100.0, id="no limit"),
])
def test_walltime_kill(maxtime, cause, walltime_s):
    job = ended_job(scenario(queues={"HERE": dict(atlas_site="HERE", maxtime=maxtime)}))
    assert (job["cause"], job["walltime_s"]) == (cause, walltime_s)


@pytest.mark.rule("time_left")
def test_a_pilot_ends_with_its_slot_whatever_it_ran_before():
    queue = dict(atlas_site="HERE", maxtime=250, timefloor="60 min")
    bench = Bench(scenario({"HERE": dict(cores=1)}, queues={"HERE": queue}), dict(n_jobs=3, max_attempt=1))
    bench.submit(3)                                        # of 100 s each
    bench.workers()
    bench.run(300.0)
    bench.collect()
    assert [(Cause(job["cause"]).word, float(job["walltime_s"])) for job in bench.ended()] == [
        ("none", 100), ("none", 100), ("walltime_exceeded", 50)]
    bench.check()


def test_staging_counts_for_the_walltime_limit():
    plan = scenario(queues={"HERE": dict(atlas_site="HERE", maxtime=104)})
    assert ended_job(plan, input_bytes_per_job=5e9)["cause"] == Cause.WALLTIME_EXCEEDED
    job = ended_job(plan, input_bytes_per_job=3e9, output_bytes_per_job=2e9)
    assert (job["cause"], job["stage_out_s"]) == (Cause.WALLTIME_EXCEEDED, 0.0)


@pytest.mark.parametrize(("site_rate", "task_rate", "cause"), [
    pytest.param(0, 0.0, Cause.NONE, id="nothing goes wrong"),
    pytest.param(1, 0.0, Cause.SITE_ERROR, id="the site fails every job"),
    pytest.param(0, 1.0, Cause.PAYLOAD_ERROR, id="the payload always fails"),
    pytest.param(1, 1.0, Cause.PAYLOAD_ERROR, id="of both, the payload is blamed"),
])
def test_dice_of_a_failure(site_rate, task_rate, cause):
    job = ended_job(scenario({"HERE": dict(failure_rate=site_rate)}), failure_rate=task_rate)
    assert job["cause"] == cause
    assert bool(job["walltime_s"] < 100.0) is (cause != Cause.NONE)


@pytest.mark.parametrize(("site", "task", "cause", "efficiency"), [
    pytest.param({}, {}, Cause.NONE, 0.9, id="finished"),
    pytest.param({}, dict(failure_rate=1.0), Cause.PAYLOAD_ERROR, 0.26, id="failed of itself"),
    pytest.param(dict(failure_rate=1), {}, Cause.SITE_ERROR, 0.26, id="failed at its site"),
    pytest.param(dict(failure_rate=1, stage_out_errors=1), {}, Cause.TRANSFER_ERROR, 0.9, id="after all the work"),
    pytest.param({}, dict(failure_rate=1.0, memory_kills=1.0), Cause.MEMORY_EXCEEDED, 0.26, id="killed"),
    pytest.param({}, dict(work_hs06s_per_event=1e5), Cause.WALLTIME_EXCEEDED, 0.9, id="worked up to the limit"),
])
def test_cpu_efficiency_of_an_attempt_by_its_end(site, task, cause, efficiency):
    plan = scenario({"HERE": site}, queues={"HERE": dict(atlas_site="HERE", maxtime=1000)})
    job = ended_job(plan, cpu_efficiency=0.9, failed_cpu_efficiency=0.26, **task)
    assert job["cause"] == cause
    assert job["cputime_s"] == pytest.approx(efficiency * job["walltime_s"], rel=1e-5)


def test_output_that_cannot_be_written_costs_the_whole_time():
    job = ended_job(scenario({"HERE": dict(failure_rate=1, stage_out_errors=1)}), output_bytes_per_job=2e9)
    assert (job["status"], job["cause"]) == (S.FAILED, Cause.TRANSFER_ERROR)
    assert job["walltime_s"] == pytest.approx(102.0)


def test_a_payload_killed_by_fate_has_used_the_memory_limit_of_its_slot():
    plan = scenario(queues={"HERE": dict(atlas_site="HERE", maxrss=2000)})
    assert ended_job(plan, failure_rate=1.0, memory_kills=1.0)["maxpss_mb"] == 4000.0


def test_a_worker_that_vanishes_leaves_its_slot_to_others_and_its_job_running_until_the_server_ends_it():
    plan = scenario({"HERE": dict(cores=1, failure_rate=1, lost_heartbeats=1)})
    bench = Bench(plan, dict(n_jobs=2))
    bench.submit(2)
    bench.workers(2)
    bench.run(1e4)
    assert bench.statuses() == ["running", "running"] and bench.world.state["n_pilots"] == 0
    first, second = (bench.arrays.job_times[row, S.RUNNING] for row in bench.live())
    assert 0 == first < second < 100.0
    bench.check()
    bench.take_back(bench.live()[0], S.FAILED, Cause.LOST_HEARTBEAT)
    job = bench.ended()[0]
    assert job["walltime_s"] == pytest.approx(second) and job["cputime_s"] == 0.0
    bench.check()


def test_failures_of_a_site_divide_into_their_kinds():
    n_jobs = 20_000
    site = dict(failure_rate=0.5, lost_heartbeats=0.2, stage_out_errors=0.3)
    bench = Bench(scenario({"HERE": site}), dict(n_jobs=n_jobs))
    bench.make(n_jobs)
    fate = bench.arrays.jobs["fate"][bench.arrays.jobs["panda_id"] > 0]
    for cause, part in ((Cause.LOST_HEARTBEAT, 0.1), (Cause.TRANSFER_ERROR, 0.15), (Cause.SITE_ERROR, 0.25)):
        assert abs(np.mean(fate == cause) - part) < 4 * np.sqrt(part * (1 - part) / n_jobs)


# ---- a filled start ------------------------------------------------------------------------------------------------

def durations_of_slots(start: str, cores: int = 400) -> np.ndarray:
    """Wall times of the first and the second job of each slot, (2, cores); pilots take further jobs."""
    plan = scenario({"HERE": dict(cores=cores)}, queues={"HERE": dict(atlas_site="HERE", timefloor=60)}, start=start)
    bench = Bench(plan, dict(n_jobs=2 * cores))
    bench.submit(2 * cores)
    bench.workers(cores)
    bench.run(1e4)
    bench.collect()
    bench.check()
    return bench.ended()["walltime_s"].reshape(2, cores)


def test_an_empty_start_runs_every_job_from_its_beginning():
    assert (durations_of_slots("empty") == 100.0).all()


def test_in_a_filled_start_the_first_jobs_are_under_way():
    """Of jobs of one length, any part of the time has passed alike: on average half of it."""
    first, later = durations_of_slots("filled")
    assert 0 < first.min() and first.max() < 100.0 and (later == 100.0).all()
    assert abs(first.mean() - 50.0) < 4 * 100 / np.sqrt(12 * len(first))


def many_jobs(n_jobs, **task) -> Bench:
    """A task of many jobs, made but not run."""
    bench = Bench(scenario(), dict(n_jobs=n_jobs) | task)
    bench.make(n_jobs)
    return bench


def test_failures_are_as_frequent_as_is_said():
    n_jobs = 20_000
    jobs = many_jobs(n_jobs, failure_rate=0.1).arrays.jobs[:n_jobs]
    found = np.mean(jobs["fate"][jobs["panda_id"] > 0] == Cause.PAYLOAD_ERROR)
    # outside four standard errors once in 16 000 seeds
    assert abs(found - 0.1) < 4 * np.sqrt(0.1 * 0.9 / n_jobs)


def test_spread_of_work_and_memory_keeps_the_mean():
    n_jobs, sigma = 20_000, 0.5
    arrays = many_jobs(n_jobs, work_spread=sigma, memory_spread=sigma).arrays
    for column in ("work_hs06s", "maxpss_mb"):
        found = arrays.jobs[column][arrays.jobs["panda_id"] > 0] / 1000.0
        spread = np.sqrt(np.exp(sigma**2) - 1)            # of a log-normal quantity with mean 1
        assert abs(found.mean() - 1) < 4 * spread / np.sqrt(n_jobs)
        assert np.log(found).std() == pytest.approx(sigma, rel=0.03)


@pytest.mark.parametrize(("timefloor", "n_jobs", "starts"), [
    pytest.param(0, 3, [0.0], id="0: one job"),
    pytest.param(100 / 60, 3, [0.0, 100.0], id="at the floor it asks once more"),
    pytest.param(99 / 60, 3, [0.0], id="past the floor it leaves"),
    pytest.param(60, 3, [0.0, 100.0, 200.0], id="an hour: as many as there are"),
])
def test_a_pilot_takes_further_jobs_until_timefloor(timefloor, n_jobs, starts):
    bench = Bench(scenario(queues={"HERE": dict(atlas_site="HERE", timefloor=timefloor)}), dict(n_jobs=n_jobs))
    bench.submit(n_jobs)
    bench.workers(1)
    bench.run(1e4)
    found = bench.arrays.job_times[bench.live(), S.RUNNING]
    assert found[~np.isnan(found)].tolist() == starts
    assert bench.world.state["n_pilots"] == 0
    assert bench.world.state["n_pilots_empty"] == 0
    bench.check()


@pytest.mark.parametrize(("timefloor", "n_done"), [
    pytest.param(0, 1, id="0: one job, even if it took no time"),
    pytest.param(1 / 60, 3, id="the shortest: as many as there are"),
])
def test_a_pilot_whose_jobs_take_no_time(timefloor, n_done):
    bench = Bench(scenario(queues={"HERE": dict(atlas_site="HERE", timefloor=timefloor)}), dict(
        n_jobs=3, work_hs06s_per_event=0.0))
    bench.submit(3)
    bench.workers(1)
    bench.run(10.0)
    assert bench.statuses().count("holding") == n_done
    assert bench.arrays.jobs["cputime_s"][bench.live()].tolist() == [0.0] * 3


def test_the_next_job_may_be_that_of_the_first_row():
    bench = Bench(scenario(queues={"HERE": dict(atlas_site="HERE", timefloor=60)}), dict(priority=100),
                  dict(priority=900))
    bench.submit(task=0)
    bench.submit(task=1)
    assert bench.live().tolist() == [0, 1]
    bench.workers(1)
    bench.run(1e4)
    assert bench.arrays.job_times[:2, S.RUNNING].tolist() == [100.0, 0.0] and bench.statuses() == ["holding"] * 2


@pytest.mark.parametrize(("panda_id", "later", "statuses"), [
    pytest.param(1, 0, ["holding"], id="the payload of the job"),
    pytest.param(1, 1, ["running"], id="an event of an earlier payload"),
    pytest.param(0, 0, [], id="the job is gone"),
])
def test_the_end_of_a_payload_that_is_no_longer_there(panda_id, later, statuses):
    bench = Bench()
    bench.submit()
    bench.workers(1)
    bench.run(1.0)
    row, = bench.live()
    bench.arrays.jobs["panda_id"][row] = panda_id
    uncompiled(payload_ends)(bench.arrays, row, bench.arrays.jobs["due_sequence"][row] + later, 1.0)
    assert bench.statuses() == statuses
    assert bench.arrays.state[0]["n_holding"] == (statuses == ["holding"])
    assert bool(bench.arrays.jobs["due_sequence"][row] == 0) is (statuses == ["holding"])


@pytest.mark.rule("job_reports")
@pytest.mark.parametrize(("panda_id", "later", "statuses"), [
    pytest.param(1, 0, ["running"], id="the job"),
    pytest.param(1, 1, ["sent"], id="an event of an earlier job"),
    pytest.param(0, 0, [], id="the job is gone"),
])
def test_the_report_of_a_job_that_is_no_longer_there(panda_id, later, statuses):
    bench = Bench(scenario(agents=dict(first_update=60)))
    bench.submit()
    bench.workers(1)
    bench.run(1.0)
    row, = bench.live()
    bench.arrays.jobs["panda_id"][row] = panda_id
    uncompiled(job_reports)(bench.arrays, row, bench.arrays.jobs["due_sequence"][row] + later, 1.0)
    assert bench.statuses() == statuses
    assert bool(np.isnan(bench.arrays.job_times[row, S.RUNNING])) is (statuses != ["running"])


@pytest.mark.rule("pilots.dispatch")
@pytest.mark.parametrize(("first_update", "status"), [
    pytest.param(0, "running", id="at once"), pytest.param(1, "sent", id="after a second"),
])
def test_a_job_runs_from_the_first_report_of_its_pilot(first_update, status):
    bench = Bench(scenario(agents=dict(first_update=first_update)))
    bench.submit()
    row, = bench.live()
    uncompiled(dispatch)(bench.arrays, row, 5, 0.0, 0.0)
    assert bench.statuses() == [status] and bench.arrays.jobs["slot"][row] == 6


def test_start_up_counts_for_timefloor_and_is_remembered():
    plan = scenario(queues={"HERE": dict(atlas_site="HERE", timefloor=120 / 60)}, agents=dict(pilot_startup=30))
    bench = Bench(plan, dict(n_jobs=3))
    bench.submit(3)
    bench.workers(1)
    bench.run(1e4)
    jobs = bench.arrays.jobs[bench.live()]
    assert bench.arrays.job_times[bench.live(), S.RUNNING][0] == 30.0
    assert jobs["pilot_start_s"][0] == 0.0                 # it asks again at 130 s, when it has been alive for 130 s
    assert bench.statuses() == ["holding", "activated", "activated"]


def test_a_pilot_that_found_no_job_does_not_ask_again():
    bench = Bench()
    bench.workers(1)
    bench.run(1.0)
    bench.submit()
    bench.run(599.0)
    assert bench.statuses() == ["activated"]
    assert bench.world.state["n_pilots_empty"] == 1


def test_a_start_is_remembered_by_the_queue():
    bench = Bench()
    bench.submit()
    assert bench.arrays.queues["laststart_s"][0] == -np.inf
    bench.run(5.0)
    bench.workers(1)
    bench.run(6.0)
    assert bench.arrays.queues["laststart_s"][0] == 5.0
