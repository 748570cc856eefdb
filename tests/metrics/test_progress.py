"""Task phases, attempts, and the cost of server rules."""

import numpy as np
import pytest
from small_run import HOUR, job, run_of

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.names import Cause, JobStatus, TaskStatus
from simgrid_broker.schema import TASK_TIMES, TASKS

FAILED, CLOSED = JobStatus.FAILED, JobStatus.CLOSED


def tasks(*given):
    """Rows and times of tasks, each given as work and the hours at which it entered its statuses."""
    rows, times = TASKS.empty(len(given)), np.full((len(given), len(TASK_TIMES)), np.nan)
    for k, (work, hours) in enumerate(given):
        rows[k]["jeditaskid"], rows[k]["n_jobs"], rows[k]["n_events_per_job"] = k + 1, 1, 1
        rows[k]["work_hs06s_per_event"], rows[k]["arrival_s"] = work, min(hours.values()) * HOUR
        for name, hour in hours.items():
            times[k, TaskStatus.of(name)] = hour * HOUR
    return rows, times


def phases(run, **options):
    """Task, status, start and end in hours of each phase."""
    return [(row.jeditaskid, row.status, row.start / HOUR, row.end / HOUR)
            for row in wide(metrics.task_phases(run, **options)).itertuples()]


def test_a_phase_lasts_until_the_next_and_the_last_one_until_the_end(tmp_path):
    run = run_of(tmp_path, 0, 10, tasks=tasks((1, dict(registered=1, defined=1, running=4)),
                                              (1, dict(registered=2, running=3, done=7))))
    assert phases(run) == [(1, "registered", 1, 1), (1, "defined", 1, 4), (1, "running", 4, 10),
                           (2, "registered", 2, 3), (2, "running", 3, 7), (2, "done", 7, 7)]


def test_a_task_that_was_retried_goes_on_after_its_end(tmp_path):
    run = run_of(tmp_path, 0, 10, tasks=tasks((1, dict(registered=0, finished=5, running=6))))
    assert phases(run)[1:] == [(1, "finished", 5, 6), (1, "running", 6, 10)]


def test_the_largest_tasks_are_shown_in_order_of_arrival(tmp_path):
    run = run_of(tmp_path, 0, 10, tasks=tasks(*((work, dict(running=3 - k)) for k, work in enumerate((5, 1, 9)))))
    assert [task for task, *_ in phases(run, most=2)] == [3, 1]


def test_tasks_with_a_unique_name_precede_larger_ones(tmp_path):
    rows, times = tasks(*((work, dict(running=0)) for work in (5, 9, 1)))
    rows["name"] = [0, 0, 1]
    assert [task for task, *_ in phases(run_of(tmp_path, 0, 10, tasks=(rows, times)), most=2)] == [2, 3]


def test_time_in_a_phase_counts_within_the_window(tmp_path):
    run = run_of(tmp_path, 2, 10, tasks=tasks((1, dict(pending=0, running=4, done=9)), (1, dict(pending=0, running=1)),
                                              (1, dict(pending=0))))
    rows = wide(metrics.time_in_phase(run)).set_index("phase")
    assert rows.index.tolist() == ["ready or pending", "running"]
    assert rows.tasks.tolist() == [2, 2]
    assert rows.time_total.tolist() == [(4 - 2) + (10 - 2), (9 - 4) + (10 - 2)]


def test_attempts_are_counted_by_number_and_outcome(tmp_path):
    run = run_of(tmp_path, 2, 10, jobs=[
        job(attempt=1, finished=3), job(attempt=1, finished=1), job(attempt=1, status=FAILED, cause=Cause.SITE_ERROR,
                                                                    failed=4),
        job(attempt=2, finished=5), job(attempt=2, status=JobStatus.RUNNING, running=5)])
    table = wide(metrics.attempts(run))
    assert table.to_numpy().tolist() == [[1, "finished", 1], [1, "site_error", 1], [2, "finished", 1]]


@pytest.mark.parametrize(("cause", "is_rule"), [
    pytest.param(Cause.TIMEOUT_HOLDING, True, id="a timeout"), pytest.param(Cause.LOST_HEARTBEAT, True, id="silence"),
    pytest.param(Cause.FAST_REBROKERAGE, True, id="fast rebrokerage"),
    pytest.param(Cause.ANALYSIS_REBROKERAGE, True, id="analysis rebrokerage"),
    pytest.param(Cause.SITE_ERROR, False, id="an error of the site"),
    pytest.param(Cause.TASK_ABORTED, False, id="a command")])
def test_server_rules_are_distinguished_from_other_causes(tmp_path, cause, is_rule):
    run = run_of(tmp_path, 0, 10, jobs=[job(status=CLOSED, cause=cause, pending=1, closed=5)])
    table = metrics.rule_losses(run)
    assert table[table.metric == "lost_wait_hours"].value.tolist() == ([4.0] if is_rule else [])
