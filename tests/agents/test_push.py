"""Push and pull queues: Harvester fetches jobs ahead and submits a worker for each, or counts jobs."""

import numpy as np
import pytest
from builders import S, Stage, scenario

from simgrid_broker.agents.harvester.workers import harvester_monitor, harvester_submitter, job_fetcher
from simgrid_broker.agents.panda.copy_archive import copy_archive
from simgrid_broker.fabric.batch import QUEUED_MOST_S
from simgrid_broker.names import Cause
from simgrid_broker.policy.harvester import jobs_to_fetch
from simgrid_broker.schema.harvester import HARVESTER
from simgrid_broker.schema.queues import Queue
from simgrid_broker.units import HOUR, MINUTE
from simgrid_broker.world.arrays import FETCHED

TYPES = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))
HARVESTER_AGENTS = (job_fetcher, harvester_submitter, harvester_monitor)
SHARES = [dict(name="A", value=1), dict(name="B", value=1)]


def site_with(workflow="push", cores=8, agents=HARVESTER_AGENTS, incidents=(), first_update=0, **queue) -> Stage:
    """A site with one unified queue of slots of 8 cores, and a single-core and an eight-core task of other shares."""
    said = dict(atlas_site="HERE", capability="ucore", corecount=8, workflow=workflow, maxrss=16_000) | queue
    plan = scenario({"HERE": dict(cores=cores)}, {"Q": said}, resource_types=TYPES, shares=SHARES,
                    agents=dict(pilot_startup=0, empty_pilot=60, first_update=first_update))
    long = dict(work_hs06s_per_event=10.0 * HOUR, n_jobs=1000)
    return Stage(agents, plan, long, long | dict(share=1, corecount=8, resource_type=1,
                                                 work_hs06s_per_event=80.0 * HOUR))


def count(stage, *statuses) -> list[int]:
    """Jobs in each status."""
    stage.check()
    return [int(stage.arrays.counts[..., status].sum()) for status in statuses]


@pytest.mark.rule("jobs_to_fetch")
@pytest.mark.parametrize(("starting", "running", "params", "expected"), [
    pytest.param(0, 0, {}, 100, id="the template: 100"),
    pytest.param(99, 0, {}, 100, id="one below it: as many again"),
    pytest.param(100, 0, {}, 0, id="at it"),
    pytest.param(0, 249, {}, 100, id="the ratio is below the minimum"),
    pytest.param(0, 253, {}, 101, id="the ratio: 40 of 100"),
    pytest.param(0, 9999, {}, 500, id="500 in one request"),
    pytest.param(0, 9999, dict(nQueueLimitJob=30), 30, id="a fixed number"),
    pytest.param(0, 9999, dict(nQueueLimitJobMax=30), 30, id="a maximum"),
    pytest.param(0, 0, dict(nQueueLimitJobMin=7), 7, id="another minimum"),
    pytest.param(0, 1000, dict(nQueueLimitJobRatio=11), 110, id="another ratio"),
    pytest.param(5, 0, dict(nQueueLimitJobCores=40), 0, id="cores of starting jobs"),
    pytest.param(4, 0, dict(nQueueLimitJobCores=40), 100, id="one core below"),
    pytest.param(5, 10, dict(nQueueLimitJobCoresRatio=50), 0, id="cores in proportion to the running"),
    pytest.param(4, 10, dict(nQueueLimitJobCoresRatio=50), 100, id="again one core below"),
])
def test_jobs_that_are_fetched(starting, running, params, expected):
    limits = HARVESTER.filled((Queue(atlas_site="HERE", workflow="push", params=params),), {})
    numbers = (np.array([number]) for number in (starting, running, 8 * starting, 8 * running))
    assert jobs_to_fetch(limits, *numbers).tolist() == [expected]


@pytest.mark.rule("jobs_to_fetch")
@pytest.mark.parametrize(("most", "expected"), [pytest.param(5, 1, id="one"),
                                                pytest.param(0, 0, id="none if none may be fetched")])
def test_a_template_without_least_number_fetches_one_job(most, expected):
    limits = HARVESTER.filled((Queue(atlas_site="HERE", workflow="push"),), {})
    limits["jobs_least"], limits["jobs_most"], limits["jobs_ratio"] = np.nan, most, 10
    assert jobs_to_fetch(limits, *np.zeros((4, 1))).tolist() == [expected]


@pytest.mark.rule("harvester_monitor")
@pytest.mark.parametrize(("hours", "cancelled"), [
    pytest.param(48, 0, id="48 h"), pytest.param(48.5, 3, id="at the next look of the monitor"),
])
def test_workers_that_wait_for_two_days_are_cancelled(hours, cancelled):
    stage = site_with(cores=0, agents=(harvester_monitor,))
    stage.workers(3)
    stage.run(hours * HOUR)
    assert stage.arrays.worker_accounts["n_cancelled"].tolist() == [cancelled, 0]


@pytest.mark.rule("harvester_monitor")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize("latency", [pytest.param(0, id="it waits for a slot"),
                                     pytest.param(60 * HOUR, id="the batch system has not considered it")])
def test_a_starting_job_whose_worker_is_cancelled_is_closed(edition, latency):
    plan = scenario({"HERE": dict(cores=0)}, {"Q": dict(atlas_site="HERE", workflow="push", batch_latency=latency,
                                                        params=dict(nQueueLimitJob=2))}, edition=edition,
                    gdpconfig={"rebroker.ANALY_TIMEOUT": 1000})
    stage = Stage((*HARVESTER_AGENTS, copy_archive), plan, dict(label="user", n_jobs=2))
    stage.submit(2, task=0, queue=0)
    stage.run(47 * HOUR)
    assert stage.statuses() == ["starting"] * 2
    stage.run((61 if latency else 49) * HOUR)
    assert [(S(job["status"]).word, Cause(job["cause"]).word) for job in stage.ended()] == [
        ("closed", "timeout_starting")] * 2


@pytest.mark.rule("workers.job_fetcher")
def test_jobs_are_bound_before_their_workers_start():
    stage = site_with()
    stage.submit(30, task=0, queue=0)
    stage.run(120.0)
    assert count(stage, S.ACTIVATED, S.STARTING, S.RUNNING) == [0, 22, 8]
    assert stage.arrays.pseudo_queues["n_submitted"].tolist() == [22, 0]
    assert stage.arrays.hs06_milli[0] == 8 * 10_000                    # starting jobs use nothing of their share
    stage.run(2 * HOUR)
    assert count(stage, S.STARTING, S.RUNNING) == [14, 8]
    assert stage.world.state["n_pilots_empty"] == 0


@pytest.mark.rule("workers.job_fetcher")
def test_a_closed_queue_keeps_the_workers_that_it_begins_with():
    stage = site_with(agents=(job_fetcher,), status="offline", params=dict(nNewWorkers=2))
    stage.run(200.0)
    assert stage.control.books.harvester.asked.tolist() == [[2, 0]]


@pytest.mark.rule("Harvester.next_jobs")
def test_as_many_jobs_leave_as_there_are_new_workers():
    stage = site_with(cores=0, params=dict(maxNewWorkersPerCycle=3))
    stage.submit(5, task=0, queue=0)
    numbers = []
    for second in range(1, 600):
        stage.run(float(second))
        numbers.append(int(stage.arrays.pseudo_queues["n_submitted"][0]))
    assert list(dict.fromkeys(numbers)) == [0, 3, 5]


@pytest.mark.rule("Harvester.next_jobs", "dispatch.fetch_jobs")
def test_workers_are_of_the_types_of_the_jobs_that_are_fetched():
    stage = site_with(cores=0, agents=(job_fetcher,))
    stage.submit(3, task=0, queue=0)
    stage.submit(2, task=1, queue=1)
    stage.run(200.0)
    assert stage.control.books.harvester.asked.tolist() == [[3, 2]]


@pytest.mark.rule("dispatch.fetch_jobs")
def test_a_request_that_finds_no_job_counts_as_that_of_a_pilot():
    """Without it an empty push queue would be one without pilots, to which brokers send nothing."""
    stage = site_with()
    stage.run(5 * HOUR)
    assert count(stage, S.ACTIVATED, S.STARTING, S.RUNNING) == [0, 0, 0]
    assert 5 * HOUR - stage.arrays.queues["lastpilot_s"][0] <= 2 * MINUTE


@pytest.mark.rule("Harvester.next_jobs")
def test_a_job_waits_for_its_worker_as_long_as_the_batch_system_takes():
    stage = site_with(batch_latency=HOUR)
    stage.submit(1, task=0, queue=0)
    stage.run(120.0 + HOUR)
    assert count(stage, S.STARTING, S.RUNNING) == [0, 1]
    times = stage.arrays.job_times[stage.live()[0]]
    assert times[S.SENT] == times[S.STARTING] <= 60.0 and HOUR <= times[S.RUNNING] - times[S.STARTING] <= HOUR + 60


@pytest.mark.rule("Harvester.next_jobs")
def test_a_high_job_that_comes_later_waits_behind_those_that_were_fetched():
    stage = site_with()
    stage.submit(30, task=0, queue=0)
    stage.run(120.0)
    stage.submit(1, task=1, queue=1)
    stage.run(8 * HOUR)
    runs = stage.arrays.counts[0, 1, 1, S.RUNNING] + stage.arrays.counts[0, 1, 1, S.HOLDING]
    assert runs == 1 and (stage.arrays.counts[0, 0, 0, S.HOLDING]) == 30


def test_jobs_that_are_tried_again_wait_before_the_others_and_new_ones_behind_them():
    stage = site_with(agents=())
    stage.submit(3, task=0, queue=0)
    first, second, third = (np.array([(stage.arrays.jobs["panda_id"][row], row, 0)], FETCHED)
                            for row in stage.live())
    harvester, one = stage.control.books.harvester, np.array([1])
    for jobs in (second, third):
        harvester.fetched(np.array([True]), jobs, one)
    harvester.again.append((0.0, first, one))
    harvester.look(0.0)
    assert harvester.waiting["row"].tolist() == [*stage.live()] and harvester.asked.tolist() == [[3, 0]]


@pytest.mark.rule("workers.job_fetcher", "dispatch.fetch_jobs")
@pytest.mark.parametrize(("limit", "expected"), [
    pytest.param(3, 3, id="three of the type are fetched"), pytest.param(99, 30, id="there is room for all"),
])
def test_limits_of_resource_types_hold_for_fetched_jobs(limit, expected):
    stage = site_with(cores=0, params={"resource_type_limits.SCORE": limit})
    stage.submit(30, task=0, queue=0)
    stage.run(70.0)
    assert count(stage, S.STARTING) == [expected]


def test_a_starting_job_that_is_taken_back_takes_its_worker_with_it():
    stage = site_with()
    stage.submit(30, task=0, queue=0)
    stage.run(120.0)
    rows = stage.live()
    for row in rows[stage.arrays.jobs["status"][rows] == S.STARTING][:5]:
        stage.take_back(row)
    assert count(stage, S.STARTING, S.RUNNING) == [17, 8]
    assert stage.arrays.pseudo_queues["n_submitted"][0] == 17
    stage.run(4 * HOUR)
    assert stage.world.state["n_pilots_empty"] == 0


@pytest.mark.rule("job_reports", "pilots.dispatch")
def test_a_job_with_a_slot_that_is_taken_back_before_it_runs_gives_the_slot_back():
    stage = site_with("push", first_update=0)
    stage.world.arrays.settings["pilot_startup_s"] = 100.0
    stage.submit(8, task=0, queue=0)
    stage.run(120.0)
    assert count(stage, S.STARTING) == [8] and stage.arrays.pseudo_queues["n_running"][0] == 8
    stage.take_back()
    assert count(stage, S.STARTING) == [0] and stage.arrays.pseudo_queues["n_running"][0] == 0
    stage.run(HOUR)


@pytest.mark.rule("harvester_submitter")
def test_a_job_whose_worker_cannot_be_submitted_fails():
    stage = site_with(submission_failures=1)
    stage.submit(3, task=0, queue=0)
    stage.run(120.0)
    assert stage.statuses() == ["starting"] * 3            # two attempts are left
    stage.run(HOUR)
    assert [S(status).word for status in stage.ended()["status"]] == ["failed"] * 3


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_starting_jobs_run_into_their_timeout_where_the_batch_system_is_too_slow(edition):
    stage = site_with(cores=0, agents=(*HARVESTER_AGENTS, copy_archive))
    stage.submit(3, task=0, queue=0)
    stage.run(QUEUED_MOST_S)
    assert count(stage, S.STARTING) == [3]                             # its worker is reported all the time
    stage.run(QUEUED_MOST_S + 2 * 2400 + 600)
    assert count(stage, S.STARTING) == [0] and stage.arrays.pseudo_queues["n_submitted"][0] == 0
    assert len(stage.ended()) == 3


@pytest.mark.rule("job_reports", "pilots.dispatch")
def test_sent_jobs_run_into_their_timeout_where_the_pilot_never_reports():
    stage = site_with("pull", first_update=HOUR, agents=(*HARVESTER_AGENTS, copy_archive))
    stage.submit(1, task=1, queue=1)
    stage.run(300.0)
    assert count(stage, S.SENT) == [1]
    stage.fabric.site_goes_down(0, 300.0)
    stage.run(300 + 30 * MINUTE + 2 * 2400)
    assert count(stage, S.SENT) == [0]
    assert stage.ended()["cause"].tolist() == [13]


@pytest.mark.rule("job_reports", "pilots.dispatch")
def test_a_payload_begins_when_its_pilot_reports():
    stage = site_with("pull", first_update=90)
    stage.submit(1, task=1, queue=1)
    stage.run(HOUR)
    times = stage.arrays.job_times[stage.live()[0]]
    assert times[S.RUNNING] - times[S.SENT] == 90
    stage.check()


@pytest.mark.rule("get_any_job", "pilots.ask")
def test_workers_of_a_pull_queue_take_jobs_of_all_types():
    stage = site_with("pull", cores=24)
    stage.submit(4, task=0, queue=0)
    stage.submit(1, task=1, queue=1)
    stage.run(200.0)
    assert stage.arrays.pseudo_queues["n_running"].tolist() == [0, 3]  # all workers are of the largest slot
    assert stage.arrays.counts[0, 0, 0, S.RUNNING] + stage.arrays.counts[0, 1, 1, S.RUNNING] == 3
    account = stage.arrays.worker_accounts[1]
    assert account["working_cores"] == 24 and account["used_cores"] == stage.arrays.running_cores.sum()


def test_a_push_queue_with_slots_below_all_types_fetches_nothing():
    queues = dict(Q=dict(atlas_site="HERE", capability="ucore", corecount=1, workflow="push"),
                  R=dict(atlas_site="HERE", workflow="push"))
    plan = scenario({"HERE": dict(cores=8)}, queues, resource_types=dict(MCORE=dict(mincore=8)), shares=SHARES)
    stage = Stage(HARVESTER_AGENTS, plan, dict(n_jobs=1, resource_type=-1))
    stage.run(HOUR)
    assert count(stage, S.RUNNING, S.STARTING) == [0, 0]
