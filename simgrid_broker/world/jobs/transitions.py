"""The only writer of a job's status and of every count that depends on it."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.errors import ForbiddenMove, OutOfRows
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import GROWING, N_SCANS, Arrays
from simgrid_broker.world.jobs.counts import group_of
from simgrid_broker.world.queues.statistics import count_activity
from simgrid_broker.world.rows import list_job, note_change
from simgrid_broker.world.states import JOB
from simgrid_broker.world.users.jobs import count_for_user

S = JobStatus

EXECUTING_FROM, EXECUTING_TO = int(S.SENT), int(S.RUNNING)
RUNNING, MERGING = int(S.RUNNING), int(S.MERGING)


def allowed_moves() -> np.ndarray:
    """Allowed moves of jobs, (n_status, n_status) bool, by old and new status."""
    table = np.zeros((len(S), len(S)), np.bool_)
    for old, new in JOB.pairs:
        table[old, new] = True
    return table


@compiled
def executing(status):
    """True if a job in `status` uses power of its share: sent or running; source: lifecycle reference, 1.3."""
    return status == EXECUTING_FROM or status == EXECUTING_TO


@compiled
def look_again(world: Arrays, row):
    """Let the next scans of the timeouts look at a job: its status, queue, or heartbeats are not those of the last."""
    for scan in range(N_SCANS):
        world.quiet_s[row, scan] = 0.0


@compiled
def fall_silent(world: Arrays, row):
    """Note that no event reports for a job any more: its payload has ended, or its worker is lost."""
    world.jobs[row]["due_sequence"] = 0
    look_again(world, row)


@compiled
def enter(world: Arrays, row, status, now):
    """Count a new job in its first status."""
    job = world.jobs[row]
    job["status"] = world.job_status[row] = status
    job["modification_s"] = now
    world.job_times[row, status] = now
    look_again(world, row)
    world.counts[job["queue"], group_of(world, job), job["resource_type"], status] += 1
    world.live_types[job["task"], job["resource_type"]] += 1
    world.state[0]["n_job_moves"] += 1
    world.user_counts[job["user"], status] += 1
    world.job_tasks[row], world.job_queues[row] = job["task"], job["queue"]
    list_job(world, row)
    count_for_user(world, job, status, 1)


@compiled
def move(world: Arrays, row, status, now):
    """Move a job to `status`; returns success. A forbidden move changes nothing and is recorded as a fault."""
    job = world.jobs[row]
    old = job["status"]
    if not world.allowed[old, status]:
        fault = world.state[0]
        fault["fault_row"] = row
        fault["fault_old"] = old
        fault["fault_new"] = status
        return False
    queue, group, resource_type = job["queue"], group_of(world, job), job["resource_type"]
    world.counts[queue, group, resource_type, old] -= 1
    world.counts[queue, group, resource_type, status] += 1
    world.state[0]["n_job_moves"] += 1
    world.user_counts[job["user"], old] -= 1
    world.user_counts[job["user"], status] += 1
    if executing(old) != executing(status):
        world.hs06_milli[job["share"]] += job["hs06_milli"] if executing(status) else -job["hs06_milli"]
    if old == RUNNING or status == RUNNING:
        cores = np.int32(job["corecount"])
        world.running_cores[queue, group, resource_type] += cores if status == RUNNING else -cores
        world.user_cores[job["user"]] += cores if status == RUNNING else -cores
    count_for_user(world, job, old, -1)
    count_for_user(world, job, status, 1)
    count_activity(world, job, old, -1)
    count_activity(world, job, status, 1)
    job["status"] = world.job_status[row] = status
    job["modification_s"] = now
    world.job_times[row, status] = now
    look_again(world, row)
    if status == MERGING:
        note_change(world, row)
    elif old == MERGING:
        world.state[0]["n_past_merging"] += 1
    return True


@compiled
def change_share(world: Arrays, row, share):
    """Change the share of a live job; an activated one must not be in a heap."""
    job = world.jobs[row]
    status, queue, resource_type = job["status"], job["queue"], job["resource_type"]
    old_share, old = job["share"], group_of(world, job)
    count_for_user(world, job, status, -1)
    if job["user_row"] > 0:
        job["user_row"] = world.tasks[job["task"]]["user_row"]
    count_for_user(world, job, status, 1)
    job["share"] = share
    new = group_of(world, job)
    world.counts[queue, old, resource_type, status] -= 1
    world.counts[queue, new, resource_type, status] += 1
    world.state[0]["n_job_moves"] += 1
    if executing(status):
        world.hs06_milli[old_share] -= job["hs06_milli"]
        world.hs06_milli[share] += job["hs06_milli"]
    if status == RUNNING:
        world.running_cores[queue, old, resource_type] -= np.int32(job["corecount"])
        world.running_cores[queue, new, resource_type] += np.int32(job["corecount"])


@compiled
def come_back(world: Arrays, row):
    """Count a job again that has left the counts, at the queue and with the resource type that it has now."""
    job = world.jobs[row]
    world.counts[job["queue"], group_of(world, job), job["resource_type"], job["status"]] += 1
    world.live_types[job["task"], job["resource_type"]] += 1
    world.state[0]["n_job_moves"] += 1
    world.user_counts[job["user"], job["status"]] += 1
    count_for_user(world, job, job["status"], 1)
    world.job_queues[row] = job["queue"]
    look_again(world, row)
    note_change(world, row)


@compiled
def pass_pieces(world: Arrays, holder, other):
    """Let another job of a jobset hold its input; those that do not hold it share the pieces (`shares_pieces`)."""
    world.jobs[holder]["n_chunks"] *= -1
    world.jobs[other]["n_chunks"] *= -1
    world.state[0]["n_job_moves"] += 1
    note_change(world, other)


@compiled
def leave(world: Arrays, row):
    """Remove a job whose attempt has ended from the counts."""
    job = world.jobs[row]
    world.counts[job["queue"], group_of(world, job), job["resource_type"], job["status"]] -= 1
    world.live_types[job["task"], job["resource_type"]] -= 1
    world.state[0]["n_job_moves"] += 1
    world.user_counts[job["user"], job["status"]] -= 1
    count_for_user(world, job, job["status"], -1)


def story(arrays: Arrays, row: int) -> str:
    """History of a job for an error message, a line per status in order of time."""
    job = arrays.jobs[row]
    moments = sorted((time, status) for status, time in enumerate(arrays.job_times[row]) if not np.isnan(time))
    head = f"job {job['panda_id']} of task {job['jeditaskid']}, chunk {job['chunk']}, attempt {job['attempt']}"
    return "\n".join([head] + [f"  {time:14.3f} s  {S(status).word}" for time, status in moments])


def raise_fault(arrays: Arrays):
    """Raise OutOfRows, or ForbiddenMove with the job's history, if compiled code recorded a fault."""
    if arrays.state["fault_row"].item() < 0:              # a field of one row is read in four times the time
        return
    state = arrays.state[0]
    if state["fault_table"] >= 0:
        raise OutOfRows(f"the table `{GROWING[state['fault_table']]}` had no row left (at {state['now_s']:.3f} s)")
    old, new = S(state["fault_old"]).word, S(state["fault_new"]).word
    raise ForbiddenMove(f"a job may not go from {old} to {new} (at {state['now_s']:.3f} s)\n"
                        + story(arrays, state["fault_row"]))
