"""Input of tasks that comes over time, is lost or broken; luck that belongs to input, not to jobs."""

import numpy as np
import pytest
from builders import Stage, T, scenario
from test_task_commands import ALL

from simgrid_broker.agents.jedi.task_refiner import contents_feeder, feed
from simgrid_broker.agents.run.timeline import task_source
from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.units import HOUR

AGENTS = (*ALL, contents_feeder)


def stage_with(task, stream, *incidents, **others) -> Stage:
    """A small grid at work on a task of the stream `mine`."""
    plan = scenario(incidents=list(incidents), workload=dict(users=[dict(
        name="mine", hs06sec_per_event=1, offered_cores=1) | stream]), **others)
    return Stage(AGENTS, plan, dict(label="user", name="mine") | task)


@pytest.mark.rule("task_refiner.feed")
def test_files_of_an_open_dataset_come_until_it_is_frozen():
    stage = stage_with(dict(n_jobs=100), dict(open_input=dict(at_first=0.2, frozen_after="10h")))
    known = stage.arrays.tasks["n_jobs"]
    assert known[0] == 20
    stage.run(4 * HOUR)
    assert known[0] in (51, 52) and stage.task() in ("defined", "ready", "running")
    assert known[0] - 3 <= len(stage.ended()) <= known[0]              # what has come is soon processed
    stage.run(9.9 * HOUR)
    assert known[0] < 100
    stage.check()
    stage.run(12 * HOUR)
    assert stage.task() == "done" and stage.arrays.tasks["n_finished"][0] == 100
    assert stage.control.books.open_inputs.rows == {}


@pytest.mark.rule("settled", "task_refiner.feed")
def test_an_open_dataset_that_is_frozen_after_all_is_done_ends_its_task():
    stage = stage_with(dict(n_jobs=2), dict(open_input=dict(at_first=0.9, frozen_after="5h")))
    stage.run(4.9 * HOUR)
    assert stage.task() == "defined"
    stage.run(7 * HOUR)
    assert stage.task() == "done" and stage.arrays.tasks["n_finished"][0] == 2


@pytest.mark.rule("task_refiner.feed")
def test_a_frozen_dataset_is_over_once_all_of_its_files_are():
    stage = Stage((task_source,), scenario(workload=dict(users=[dict(
        name="mine", hs06sec_per_event=1, offered_cores=1, open_input=dict(frozen_after="5h"))])),
        *[dict(label="user", name="mine", n_jobs=2)] * 2)
    for now, over in ((HOUR, []), (5 * HOUR, [0])):
        stage.run(now)
        stage.arrays.tasks["n_finished"][0] = stage.arrays.tasks["n_jobs"][0] if now == HOUR else 2
        feed(stage.control)
        assert stage.arrays.done_tasks[:stage.world.state["n_done_tasks"]].tolist() == over
    assert stage.control.books.open_inputs.rows == {}


@pytest.mark.rule("task_refiner.feed")
def test_a_task_with_an_open_dataset_can_be_aborted():
    stage = stage_with(dict(n_jobs=100), dict(open_input=dict(frozen_after="10h")),
                       dict(at=HOUR, what="task_command", task=1, command="abort"))
    stage.run(4 * HOUR)
    assert stage.task() == "aborted" and stage.control.books.open_inputs.rows == {}


@pytest.mark.rule("retries.condition", "retries.skip_bad")
@pytest.mark.parametrize(("stream", "cause"), [
    pytest.param(dict(lost_input=0.3), Cause.INPUT_LOST, id="lost"),
    pytest.param(dict(broken_input=0.3), Cause.INPUT_BROKEN, id="broken"),
])
def test_input_that_is_lost_or_broken_is_skipped_after_its_first_job(stream, cause):
    stage = stage_with(dict(n_jobs=100), stream)
    stage.arrays.input_loss[0] = (stream.get("lost_input", 0), stream.get("broken_input", 0))
    stage.run(20 * HOUR)
    ended = stage.ended()
    bad = ended[ended["status"] == JobStatus.FAILED]
    assert 15 < len(bad) < 45 and set(bad["cause"]) == {cause} and set(bad["attempt"]) == {1}
    assert stage.task() == "finished" and stage.arrays.tasks["n_failed"][0] == len(bad)
    stage.check()


@pytest.mark.rule("retries.condition")
def test_the_parts_are_those_of_the_stream():
    stage = stage_with({}, dict(lost_input=0.25, broken_input=0.5))
    assert stage.arrays.input_loss[0].tolist() == (0.25, 0.5)


@pytest.mark.rule("TaskLedger.given_up", "retries.skip_bad")
def test_a_site_loses_files_and_gets_them_back():
    incidents = (dict(at=1, until=10 * HOUR, what="file_loss", site="HERE", fraction=1),
                 dict(at=5 * HOUR, what="task_command", task=1, command="retry"),
                 dict(at=6 * HOUR, what="task_command", task=1, command="incexec"),
                 dict(at=11 * HOUR, what="task_command", task=1, command="incexec"))
    stage = stage_with(dict(n_jobs=10, replicas={0: 1.0}, input_bytes_per_job=1e3), {}, *incidents)
    stage.run(5 * HOUR)
    assert stage.task() == "failed" and stage.arrays.tasks["n_failed"][0] == 10
    stage.run(5.9 * HOUR)
    result = stage.control.books.commands.results()[0]
    assert result["ignored"] == {"nothing left to do": 1}                                # lost files are not retried
    stage.run(10.9 * HOUR)
    assert stage.task() == "failed" and len(stage.ended()) == 20                         # looked for in vain
    stage.run(14 * HOUR)
    assert stage.task() == "done" and stage.arrays.tasks["n_finished"][0] == 10
    stage.check()


def test_files_with_a_copy_elsewhere_are_not_lost():
    plan = scenario({"HERE": {}, "THERE": {}}, incidents=[dict(at=1, what="file_loss", site="HERE", fraction=0.5)])
    stage = Stage(AGENTS, plan, dict(replicas={0: 1.0, 1: 1.0}), dict(replicas={0: 1.0}), dict(replicas={1: 1.0}),
                  dict(replicas={0: 1.0, 1: 0.5}))
    stage.run(2.0)
    assert stage.arrays.input_loss["lost"].tolist() == [0.0, 0.5, 0.0, 0.25]


@pytest.mark.rule("throw_dice")
def test_luck_belongs_to_the_input_and_stays_through_retries():
    """Work and memory of a chunk are the same in every attempt, whatever jobs were made before it and in what order."""
    spread = dict(n_jobs=12, work_spread=0.5, memory_spread=0.3, maxpss_mb=500.0, failure_rate=0.6, max_attempt=1)

    def outcome(*commands):
        said = [dict(at=at, what="task_command", task=1, command=command) for at, command in commands]
        stage = stage_with(spread, {}, *said)
        stage.run(40 * HOUR)
        jobs = stage.ended()
        work = {}
        for job in jobs:
            work.setdefault(int(job["chunk"]), set()).add((float(job["work_hs06s"]), float(job["maxpss_mb"])))
        return stage, work, len(jobs)

    plain, once, n_once = outcome()
    stage, again, n_again = outcome((10 * HOUR, "retry"))
    assert n_once == 12 < n_again and plain.task() == "finished"
    assert all(len(values) == 1 for values in again.values()) and once == again
    assert len({value for values in again.values() for value in values}) == 12
    assert stage.arrays.tasks["n_finished"][0] > plain.arrays.tasks["n_finished"][0]


def test_numbers_of_chunks_are_kept_through_retries():
    stage = stage_with(dict(n_jobs=12, failure_rate=0.6, max_attempt=1), {},
                       dict(at=10 * HOUR, what="task_command", task=1, command="retry"))
    stage.run(40 * HOUR)
    jobs = stage.ended()
    for chunk in range(12):
        assert jobs["attempt"][jobs["chunk"] == chunk].tolist() == list(range(1, 1 + np.sum(jobs["chunk"] == chunk)))
    assert T(stage.arrays.tasks["status"][0]) in (T.DONE, T.FINISHED)
