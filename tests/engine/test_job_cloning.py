"""Job cloning: of several jobs with the same input the first that starts, or that succeeds, goes on."""

import math

import numpy as np
import pytest
from test_event_service_run import SLOW, plan

from simgrid_broker.engine import simulate
from simgrid_broker.names import EventService, EventStatus, JobStatus, TaskStatus
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.checks.cross_checks import remarks
from simgrid_broker.systems.events.policy.ends import end_clone, finish_range
from simgrid_broker.systems.events.policy.jobset import EventFile, EventJob, Jobset
from simgrid_broker.systems.events.table import EventRanges

J, S = JobStatus, EventStatus
SET, ME, OTHER = 5000, 1001, 1002


def clones(owner, others=(J.RUNNING,)):
    """The jobset of a running clone ME and of others; owner: holder of the only range, SET = it is not given out."""
    table = EventRanges()
    table.add_chunk(SET, 1, [1], [10], status=S.READY if owner == SET else S.SENT, attempts=1, owner=owner)
    jobs = {ME + k: EventJob(ME + k, SET, status, EventService.CLONE, "Q", files=(1,), file_attempts=(0,))
            for k, status in enumerate((J.RUNNING, *others))}
    return Jobset(TaskStatus.RUNNING, jobs, {1: EventFile(1, "running", "running", 0, 3, 0, 3, ME)}, table)


@pytest.mark.rule("end_clone")
@pytest.mark.parametrize(("owner", "others", "status", "goes_on", "mine", "of_others"), [
    pytest.param(ME, (J.RUNNING, J.ACTIVATED), J.FINISHED, True, (J.FINISHED, None), (J.CLOSED, "es_unused"),
                 id="with the range, it closes the others, whatever they do"),
    pytest.param(ME, (J.RUNNING,), J.FAILED, True, (J.FAILED, None), (J.CLOSED, "es_unused"), id="also if it failed"),
    pytest.param(OTHER, (J.RUNNING,), J.FAILED, False, (J.CLOSED, "jc_unlock"), (J.RUNNING, None), id="another has it"),
    pytest.param(SET, (J.ACTIVATED,), J.FAILED, False, (J.CLOSED, "jc_unlock"), (J.ACTIVATED, None), id="not given"),
    pytest.param(SET, (), J.FAILED, True, (J.FAILED, None), None, id="the last one fails"),
    pytest.param(SET, (), J.CLOSED, True, (J.CLOSED, None), None, id="the last one is killed")])
def test_how_a_clone_ends(owner, others, status, goes_on, mine, of_others):
    task = clones(owner, others)
    assert end_clone(task, ME, status) is goes_on
    ends = [(job.status, job.sub_status) for job in task.jobs.values()]
    assert ends == [mine, *([of_others] * len(others))]


@pytest.mark.rule("finish_range")
@pytest.mark.parametrize(("owner", "found"), [
    pytest.param(SET, (ME, S.FINISHED), id="storeonce: it is there"),
    pytest.param(ME, (ME, S.FINISHED), id="runonce: taken at the start"),
    pytest.param(OTHER, (OTHER, S.SENT), id="another has it")])
def test_a_clone_that_succeeds_takes_the_range(owner, found):
    task = clones(owner)
    finish_range(task, ME)
    one = task.ranges.rows[task.ranges.chunks["head"][0]]
    assert (one["owner"], one["status"]) == found


@pytest.mark.rule("comes_late", "end_clone")
@pytest.mark.parametrize(("cloning", "n_lives"), [("runonce", 1), ("storeonce", 2)])
def test_inputs_that_fail_where_slots_are_taken_away(tmp_path, cloning, n_lives):
    """A clone lives to its end with probability q; of two, one alone runs with runonce, and either may succeed with
    storeonce, so that an input fails after three attempts with ((1 - q)^n_lives)^3."""
    rate, n_ranges = 0.1, 10
    scenario = plan(rate, n_ranges, useJobCloning=cloning, max_attempt=None, noAutoPause=True)
    run = simulate(scenario.with_values({"agents": SLOW}), folder=tmp_path / "run", validate=True)
    lost, n = (1 - math.exp(-rate * n_ranges)) ** n_lives, 8 * 50
    assert (run.tasks.n_finished + run.tasks.n_failed).sum() == n
    assert run.tasks.n_failed.sum() / n == pytest.approx(lost**3, abs=4 * math.sqrt(lost**3 * (1 - lost**3) / n))
    jobs, ends = run.jobs, run.event_service
    assert (jobs.status == "finished").sum() == run.tasks.n_finished.sum() == ends.ranges.sum()
    assert len(jobs) == ends.jobs.sum() and set(ends.kind) == {"clone"} and (run.tasks.eventservice == 2).all()
    without_range = jobs[jobs.status == "closed"]
    assert bool(without_range.walltime_s.max() > 0) is (cloning == "storeonce"), "late ones of runonce do not run"
    assert {"es_unused", "jc_unlock"} <= set(ends.sub_status.dropna())


@pytest.mark.rule("Desk.ended", "Desk.taken_back", "Jobsets.begin")
@pytest.mark.parametrize("cloning", ["runonce", "storeonce"])
def test_clones_go_to_several_queues_and_no_input_is_lost(tmp_path, cloning):
    """Failures, lost heartbeats, an outage, output that is transferred, and commands that end clones by force."""
    values = plan(0.05, 10, jobs=15, backlog=3, useJobCloning=cloning, nEsConsumers=3, failure_rate=0.1, max_attempt=6,
                  output_per_event="1 MB").to_dict() | dict(duration="15h", agents=SLOW)
    grid = values["grid"]
    grid["sites"]["B"] = grid["sites"]["A"] | dict(nucleus=False, tier=2, failure_rate=0.2, lost_heartbeats=1)
    grid["queues"]["B"] = grid["queues"]["A"] | dict(atlas_site="B")
    grid["storages"]["B"] = grid["storages"]["A"] | dict(site="B")
    values["gdpconfig"] = dict(HEARTBEAT_TIMEOUT_production=1)
    values["incidents"] = [dict(at="50 min", what="site_outage", site="B", until="2h"),
                           dict(at="70 min", what="task_command", task=1, command="reassign"),
                           dict(at="80 min", what="task_command", task=2, command="abort")]
    run = simulate(Scenario.from_dict(values), folder=tmp_path / "run", validate=True)
    jobs = run.jobs
    by_input = jobs.groupby(["jeditaskid", "chunk", "attempt"]).queue.agg(["size", "nunique"])
    assert (by_input["size"] == 3).all() and by_input["nunique"].max() == 2
    assert (by_input["nunique"] == 2).mean() > 0.4, "one where the other is full, or out"
    won = jobs[jobs.status == "finished"]
    assert not won.duplicated(["jeditaskid", "chunk"]).any() and (won.output_bytes > 0).all()
    status = run.tasks.set_index("jeditaskid").status.astype(str)
    assert status[2] == "aborted" and set(status) <= {"done", "finished", "aborted"}
    assert (run.transfers.kind == "output").any(), "those at B send their output"


@pytest.mark.parametrize(("campaign", "message"), [
    (dict(useJobCloning="once"), "useJobCloning"), (dict(useJobCloning="runonce", eventService=False), "eventService"),
    (dict(useJobCloning="runonce", nEventsPerWorker=1), "nEventsPerWorker: only for consumers"),
    (dict(useJobCloning="runonce", esFraction=1), "esFraction: only for consumers"),
    (dict(useJobCloning="storeonce", nJumboJobs=1, maxAttemptES=3), "maxAttemptES, nJumboJobs: only for consumers")])
def test_parameters_that_cloning_excludes(campaign, message):
    with pytest.raises(Exception, match=message):
        plan(0, 2, **campaign)


@pytest.mark.parametrize(("campaign", "n", "n_sites"), [
    ({}, 2, 2), (dict(nSitesPerJob=3), 3, 3), (dict(nEsConsumers=4), 4, 2),
    (dict(nSitesPerJob=1, nEsConsumers=2), 2, 1)])
def test_parameters_that_cloning_implies(campaign, n, n_sites):
    scenario = plan(0, 2, useJobCloning="runonce", **campaign)
    stream, = Scenario.from_dict(scenario.to_dict()).workload.campaigns       # as the manifest repeats it
    assert (stream.eventService, stream.nEsConsumers, stream.nSitesPerJob) == (True, n, n_sites)
    said = [one for one in remarks(scenario) if "clones" in one or "eventService" in one]
    assert len(said) == (n_sites > 1), "there is one queue"
    assert np.isin(["nSitesPerJob" in one for one in said], [True]).all()
