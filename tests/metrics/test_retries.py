"""Retry history, memory of retries, and moves of closed jobs."""

import pytest
from small_run import job, run_of

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.names import Cause, JobStatus

FAILED, CLOSED = JobStatus.FAILED, JobStatus.CLOSED
QX, QY = 0, 1


def test_the_history_of_retries_names_the_job_before_and_the_first(tmp_path):
    run = run_of(tmp_path, jobs=[
        job(panda_id=5, old_panda_id=3, jeditaskid=1, finished=5), job(panda_id=1, jeditaskid=1, finished=1),
        job(panda_id=2, jeditaskid=1, failed=1), job(panda_id=3, old_panda_id=2, jeditaskid=1, failed=3),
        job(panda_id=4, jeditaskid=2, finished=1), job(panda_id=6, old_panda_id=1, jeditaskid=1, finished=6)])
    table = metrics.retry_history(run)
    assert list(table.columns) == ["jeditaskid", "oldpandaid", "newpandaid", "relationtype", "originpandaid"]
    assert table.drop(columns="relationtype").to_numpy().tolist() == [[1, 2, 3, 2], [1, 3, 5, 2], [1, 1, 6, 1]]


def test_a_run_without_retries(tmp_path):
    assert len(metrics.retry_history(run_of(tmp_path, jobs=[job(panda_id=1, finished=1)]))) == 0


def killed(**columns):
    """A job of task 1 that was killed for its memory."""
    return job(status=FAILED, cause=Cause.MEMORY_EXCEEDED, jeditaskid=1, failed=5, **columns)


def test_jobs_by_requested_memory(tmp_path):
    run = run_of(tmp_path, 1, jobs=[
        killed(cores=8, attempt=1, ramcount_mb=7200, walltime_s=3600.0),
        killed(attempt=2, ramcount_mb=900, walltime_s=7200.0), killed(attempt=2, ramcount_mb=901),
        job(jeditaskid=1, attempt=2, ramcount_mb=7201, finished=6), job(jeditaskid=2, ramcount_mb=900, finished=6)])
    table = wide(metrics.memory_retries(run))
    assert table.to_numpy().tolist() == [
        [1, "up to 1000 MB", 1, 0, 1, 8], [2, "up to 1000 MB", 1, 0, 1, 2], [2, "up to 2000 MB", 1, 0, 1, 0],
        [2, "more", 1, 1, 0, 0]]


@pytest.mark.parametrize("jobs", [
    pytest.param([job(jeditaskid=1, ramcount_mb=900, finished=5)], id="no job was killed"),
    pytest.param([job(status=FAILED, cause=Cause.MEMORY_EXCEEDED, failed=0.5)], id="one was before the window"),
])
def test_no_job_ran_out_of_memory(tmp_path, jobs):
    assert len(metrics.memory_retries(run_of(tmp_path, 1, jobs=jobs))) == 0


def test_closed_jobs_move_to_the_queue_of_the_next_attempt(tmp_path):
    closed = dict(status=CLOSED, cause=Cause.FAST_REBROKERAGE, queue=QX, closed=2)
    run = run_of(tmp_path, jobs=[
        job(panda_id=1, **closed), job(panda_id=2, **closed), job(panda_id=3, **closed),
        job(panda_id=4, old_panda_id=1, queue=QY, finished=5), job(panda_id=5, old_panda_id=3, queue=QY, finished=5)])
    moves = wide(metrics.rebrokerage(run))
    assert moves.to_numpy().tolist() == [
        ["QX", "QY", "fast_rebrokerage", 2], ["QX", metrics.NOWHERE, "fast_rebrokerage", 1]]
