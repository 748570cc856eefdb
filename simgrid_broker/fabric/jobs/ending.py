"""The end of an attempt: effects on the task, archiving, and forced ends (timeouts, reassignment, lost sites)."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.batch import cancel, end_worker
from simgrid_broker.fabric.jobs.activated import take_out
from simgrid_broker.fabric.jobs.retries import (
    failures_after,
    is_bad,
    limit_after,
    may_try_again,
    put_lesson,
    retry_of,
    rule_of,
    skip_bad,
)
from simgrid_broker.fabric.transfers.output_data import delete_output, leave_subdataset
from simgrid_broker.fabric.transfers.remote_reading import stop_reading
from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.world.arrays import GROWING, N_STATUS, Arrays
from simgrid_broker.world.jobs.transitions import fall_silent, leave, move
from simgrid_broker.world.queues.slots import payload_is_over, slot_of
from simgrid_broker.world.rows import has_no_pieces, next_place, push_retry, release_job, shares_pieces, unlist_job
from simgrid_broker.world.tasks.input_files import finish_pieces, give_up_pieces

FINISHED, FAILED = int(JobStatus.FINISHED), int(JobStatus.FAILED)
ASSIGNED, ACTIVATED, TRANSFERRING = int(JobStatus.ASSIGNED), int(JobStatus.ACTIVATED), int(JobStatus.TRANSFERRING)
RUNNING, STARTING = int(JobStatus.RUNNING), int(JobStatus.STARTING)
NONE = int(Cause.NONE)
OUTBOX, OUTBOX_OF_TASKS = GROWING.index("done_jobs"), GROWING.index("done_tasks")


@compiled
def account(world: Arrays, row, status, carried_on):
    """Record the end of an attempt in its task: the chunk is processed, waits for another attempt, or is given up.

    carried_on: the server has already made another attempt. Failed and closed attempts both count towards
    `maxAttempt`; source: lifecycle reference, section 3.2.
    """
    job = world.jobs[row]
    task_row = job["task"]
    task = world.tasks[task_row]
    spent = np.float64(job["walltime_s"])
    task["n_alive"] -= 1
    task["used_hs06s"] += spent * job["hs06_milli"] * 1e-3
    if status == FINISHED:
        if shares_pieces(job):
            return
        finish_pieces(world, task_row, job["chunk"], job["n_chunks"])
    else:
        task["lost_walltime_s"] += spent * job["corecount"]
        task["failed_attempts"] += 1 if status == FAILED else 0
        if carried_on or has_no_pieces(job) or shares_pieces(job):
            return
        give_back(world, row, status)
    if task["n_finished"] + task["n_failed"] == task["n_jobs"]:
        state = world.state[0]
        place = next_place(world, state["n_done_tasks"], len(world.done_tasks), OUTBOX_OF_TASKS)
        if place >= 0:
            world.done_tasks[place] = task_row
            state["n_done_tasks"] += 1


@compiled
def give_back(world: Arrays, row, status):
    """Queue the input of a job for another attempt, or give it up; a retry rule may consult the retry module first."""
    job = world.jobs[row]
    failures, limit = failures_after(world, job, status), limit_after(world, job, status)
    if status == FAILED and is_bad(job["cause"]):
        skip_bad(world, row, failures, limit)
        return
    retry = -1
    if may_try_again(world, job, failures, limit):
        retry = retry_of(world, row, failures, limit)
    else:
        give_up_pieces(world, job["task"], job["chunk"], job["n_chunks"])
    if status == FAILED and rule_of(world, job)["learn"]:
        put_lesson(world, job, retry)
    elif retry >= 0:
        push_retry(world, job["task"], retry, job["ram_level"])


@compiled
def archive(world: Arrays, row, carried_on):
    """Remove a job that has just ended: update its task, copy it to the outbox, release its row.

    carried_on: another attempt at its input was already made.
    """
    state = world.state[0]
    job = world.jobs[row]
    leave(world, row)
    files = world.job_files[row]
    if files["subdataset"] >= 0:
        leave_subdataset(world, files)
    if files["stored"]:
        delete_output(world, row)
    account(world, row, job["status"], carried_on)
    place = next_place(world, state["n_done_jobs"], len(world.done_jobs), OUTBOX)
    if place < 0:
        return
    world.done_jobs[place] = job
    for status in range(N_STATUS):
        world.done_times[place, status] = world.job_times[row, status]
    state["n_done_jobs"] += 1
    unlist_job(world, row)
    release_job(world, row)


@compiled
def leave_transfer(world: Arrays, row):
    """Remove a job from the list of jobs that await its transfer."""
    job = world.jobs[row]
    if job["transfer"] < 0:
        return
    transfer = world.transfers[job["transfer"]]
    before, after = job["previous"], job["sibling"]
    if before >= 0:
        world.jobs[before]["sibling"] = after
    else:
        transfer["first_job"] = after
    if after >= 0:
        world.jobs[after]["previous"] = before
    transfer["n_jobs"] -= 1
    job["transfer"] = -1


@compiled
def take_back(world: Arrays, row, status, cause, now):
    """End a live job by force with `status` (failed, closed or cancelled) and release its resources."""
    job = world.jobs[row]
    old, last_heard_s = job["status"], job["modification_s"]
    if not move(world, row, status, now):
        return
    if old == ACTIVATED:
        take_out(world, row)
    elif old == ASSIGNED or old == TRANSFERRING:
        leave_transfer(world, row)
    elif old == RUNNING:
        silent = job["due_sequence"] == 0                  # the slot was lost earlier, with its site
        job["walltime_s"] = (last_heard_s if silent else now) - world.job_times[row, RUNNING]
        job["cputime_s"] = 0.0
        if job["transfer"] >= 0:
            stop_reading(world, row, now)
        if not silent:
            payload_is_over(world, job, now)
    if job["due_sequence"] != 0:
        fall_silent(world, row)
        end_worker(world, slot_of(job), now)
    elif old == STARTING and job["slot"] > 0:
        cancel(world, job["slot"] - 1)
    job["cause"] = cause
    archive(world, row, False)


@compiled
def take_back_all(world: Arrays, rows, status, cause, now):
    """End the jobs in `rows`, (k,), by force while the outbox has room; returns their number."""
    state = world.state[0]
    done = 0
    for row in rows:
        if state["n_done_jobs"] >= len(world.done_jobs) or state["fault_row"] >= 0:
            break
        take_back(world, row, status, cause, now)
        done += 1
    return done
