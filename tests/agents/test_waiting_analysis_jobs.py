"""What analysis rebrokerage sees of the jobs, and the jobs that it takes back."""

import numpy as np
import pytest
from builders import S, Stage, ends_of_task, put_job, scenario

from simgrid_broker.agents.panda.copy_archive import AnalysisJobs, copy_archive
from simgrid_broker.agents.users.metric_collector import MetricCollector
from simgrid_broker.fabric.jobs.activated import put_activated
from simgrid_broker.names import Cause, JobMark
from simgrid_broker.units import HOUR
from simgrid_broker.world.columns import mark_jobs

pytestmark = pytest.mark.rule("AnalysisJobs.waiting", "histories")

QUEUES = {"HERE": dict(atlas_site="HERE"), "OTHER": dict(atlas_site="HERE")}
USERS = dict(label="user", n_jobs=100)


def stage_of(edition, *agents):
    """A stage with two tasks of users and one of production at two queues."""
    return Stage(agents, scenario(queues=QUEUES, edition=edition), USERS, USERS, dict(n_jobs=100))


def waiting_job(stage, task=0, queue=0, status=S.ACTIVATED, at=0.0):
    """Row of a job that has waited in a status from its creation on."""
    row = put_job(stage, status, task=task, queue=queue, pseudo_queue=queue, transfer=-1)
    stage.arrays.job_times[row, [S.PENDING, status]] = at
    stage.arrays.tasks["n_alive"][task] += 1
    stage.arrays.tasks["next_chunk"][task] += 1
    if status == S.ACTIVATED:
        put_activated(stage.arrays, row)
    return row


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_only_analysis_jobs_are_taken_youngest_first(edition):
    stage = stage_of(edition)
    rows = [waiting_job(stage), waiting_job(stage, queue=1, status=S.ASSIGNED), waiting_job(stage, task=1)]
    waiting_job(stage, task=2)
    analysis = AnalysisJobs(stage.control)
    stage.run(11 * HOUR)
    assert analysis.waiting().tolist() == []
    stage.run(12 * HOUR + 1)
    assert analysis.waiting().tolist() == rows[::-1]


def test_as_documented_each_job_counts_by_itself():
    stage = stage_of("documented")
    old, _, marked, changed = (waiting_job(stage), waiting_job(stage, at=5 * HOUR), waiting_job(stage),
                               waiting_job(stage))
    mark_jobs(stage.world, [marked], JobMark.NOT_JEDI)
    stage.arrays.jobs["modification_s"][changed] = 13 * HOUR                # it counts from its creation
    analysis = AnalysisJobs(stage.control)
    stage.run(13 * HOUR)
    assert analysis.waiting().tolist() == [changed, marked, old]


def test_in_the_code_the_jobs_of_a_task_at_a_queue_go_together():
    stage = stage_of("deployed")
    rows = [waiting_job(stage), waiting_job(stage, at=5 * HOUR), waiting_job(stage, status=S.DEFINED, at=12 * HOUR)]
    waiting_job(stage, task=1, at=5 * HOUR)
    waiting_job(stage, queue=1, at=5 * HOUR)
    analysis = AnalysisJobs(stage.control)
    stage.run(13 * HOUR)
    assert analysis.waiting().tolist() == rows[::-1]


@pytest.mark.parametrize(("task", "queue", "is_taken"), [
    pytest.param(0, 0, False, id="of the same group"), pytest.param(1, 0, True, id="of another task"),
    pytest.param(0, 1, True, id="at another queue")])
def test_in_the_code_a_job_that_has_just_begun_to_run_saves_its_group(task, queue, is_taken):
    stage = stage_of("deployed")
    row = waiting_job(stage)
    analysis = AnalysisJobs(stage.control)
    stage.run(11 * HOUR)
    runs = put_job(stage, S.RUNNING, task=task, queue=queue, pseudo_queue=queue, due_sequence=1)
    stage.arrays.job_times[runs, S.PENDING] = 0.0
    stage.arrays.tasks["n_alive"][task] += 1
    stage.run(13 * HOUR)
    assert analysis.waiting().tolist() == ([row] if is_taken else [])
    stage.run(14 * HOUR + 1)
    assert analysis.waiting().tolist() == [row]


def test_in_the_code_jobs_that_run_are_not_the_oldest_that_wait():
    stage = stage_of("deployed")
    runs = put_job(stage, S.RUNNING, pseudo_queue=0, due_sequence=1)
    stage.arrays.job_times[runs, [S.PENDING, S.ACTIVATED, S.RUNNING]] = 0.0
    stage.arrays.tasks["n_alive"][0] += 1
    row = waiting_job(stage, at=5 * HOUR)
    analysis = AnalysisJobs(stage.control)
    stage.run(13 * HOUR)
    assert analysis.waiting().tolist() == []
    stage.run(17 * HOUR + 1)
    assert analysis.waiting().tolist() == [row]


def test_in_the_code_the_change_of_an_activated_job_is_its_assignment():
    stage = stage_of("deployed")
    row, late = waiting_job(stage), waiting_job(stage, at=11 * HOUR)
    analysis = AnalysisJobs(stage.control)
    stage.run(13 * HOUR)
    assert analysis.waiting().tolist() == []
    stage.arrays.job_times[late, S.ASSIGNED] = 9 * HOUR
    assert analysis.waiting().tolist() == [late, row]


def test_in_the_code_jobs_that_jedi_did_not_make_are_taken_along():
    stage = stage_of("deployed")
    other, row = waiting_job(stage), waiting_job(stage, at=12 * HOUR)
    alone = waiting_job(stage, task=1, status=S.DEFINED)
    stage.arrays.job_times[row, S.ASSIGNED] = 0.0
    analysis = AnalysisJobs(stage.control)
    mark_jobs(stage.world, [other, alone], JobMark.NOT_JEDI)
    stage.run(13 * HOUR)
    assert analysis.waiting().tolist() == []
    stage.run(24 * HOUR + 1)
    assert analysis.waiting().tolist() == [row, other]


def test_in_the_code_young_jobs_do_not_make_those_before_dispatch_younger():
    stage = stage_of("deployed")
    rows = [waiting_job(stage, status=S.DEFINED), waiting_job(stage, status=S.DEFINED, at=10 * HOUR)]
    analysis = AnalysisJobs(stage.control)
    stage.run(13 * HOUR)
    assert analysis.waiting().tolist() == rows[::-1]
    stage.run(13 * HOUR + 1)
    assert analysis.waiting().tolist() == []


@pytest.mark.parametrize(("end", "is_taken"), [
    pytest.param(S.FINISHED, False, id="finished"), pytest.param(S.CANCELLED, False, id="cancelled"),
    pytest.param(S.FAILED, True, id="failed"), pytest.param(S.CLOSED, True, id="closed")])
def test_in_the_code_a_job_that_has_ended_lately_may_save_its_group(end, is_taken):
    stage = stage_of("deployed")
    row, ending = waiting_job(stage), put_job(stage, S.HOLDING, transfer=-1)
    stage.arrays.tasks["n_alive"][0] += 1
    analysis = AnalysisJobs(stage.control)
    stage.run(11 * HOUR)
    stage.take_back(ending, end) if end != S.FINISHED else finish(stage, ending)
    stage.run(13 * HOUR)
    assert analysis.waiting().tolist() == ([row] if is_taken else [])
    stage.run(14 * HOUR + 1)
    assert analysis.waiting().tolist() == [row]


def test_in_the_code_the_last_of_several_ends_saves_their_group():
    stage = stage_of("deployed")
    row, analysis = waiting_job(stage), AnalysisJobs(stage.control)
    analysis.ended.append((np.repeat(analysis._group(stage.arrays.jobs, [row]), 2), np.array([0.0, 12 * HOUR])))
    stage.run(13 * HOUR)
    assert analysis.waiting().tolist() == []


def finish(stage, row):
    """Let the Adder finish a job without output."""
    stage.arrays.jobs["nucleus"][row] = -1
    stage.arrays.holding["row"][0], stage.arrays.holding["panda_id"][0] = row, stage.arrays.jobs["panda_id"][row]
    stage.world.state["n_holding"] = 1
    stage.collect()


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_the_agent_closes_the_jobs(edition):
    stage = stage_of(edition, copy_archive)
    waiting_job(stage)
    waiting_job(stage, task=2)
    stage.run(13 * HOUR)
    ended = stage.ended()
    assert ended["status"].tolist() == [S.CLOSED] and ended["cause"].tolist() == [Cause.ANALYSIS_REBROKERAGE]
    assert stage.arrays.tasks["n_retry"].tolist() == [1, 0, 0]


def test_brokerage_knows_at_once_which_queue_the_jobs_have_left():
    stage = stage_of("deployed", copy_archive)
    MetricCollector(stage.control)
    stage.world.analysis.ends.window_s = 6 * HOUR
    waiting_job(stage)
    stage.run(13 * HOUR)
    task = int(stage.arrays.tasks["jeditaskid"][0])
    assert ends_of_task(stage.world.analysis.ends, task, stage.now)["closed"].tolist() == [1, 0]
