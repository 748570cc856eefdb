"""Copies of rows; allocation and release of those of the growing tables, for which callers make room first
(`World.make_room`)."""

import numpy as np

from simgrid_broker.bundle import LINE, fetch
from simgrid_broker.compiled import compiled
from simgrid_broker.world.arrays import JOB_BYTES, REUSED, TIMES_BYTES, Arrays

AHEAD = 16
"""Jobs between the one that a walk looks at and the one that it asks for."""
JOBS, TRANSFERS, RETRIES, SUBMISSIONS, REPLICAS, SUBDATASETS = map(REUSED.index, REUSED)


def copied(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Some rows of a structured table, by number, as raw bytes: NumPy copies field by field otherwise."""
    return np.frombuffer(table.view(f"V{table.itemsize}").take(rows), table.dtype)


def copied_whole(table: np.ndarray) -> np.ndarray:
    """A structured table as a copy of its raw bytes."""
    return np.frombuffer(table.view(f"V{table.itemsize}").copy(), table.dtype).reshape(table.shape)


@compiled
def out_of_rows(world: Arrays, table):
    """Record as a fault that a table, a number of GROWING, has no row left; callers stop and the run ends.

    Returns row 0, which exists in every table: what is written there until then is lost with the run.
    """
    state = world.state[0]
    state["fault_row"], state["fault_table"] = 0, table
    return np.int32(0)


@compiled
def next_place(world: Arrays, used, size, table):
    """Place of the next row of a list of `size` places of which `used` are in use; -1 and a fault if it is full."""
    if used < size:
        return used
    out_of_rows(world, table)
    return -1


@compiled
def take_row(world: Arrays, free, table):
    """Allocate a row of a table, a number of REUSED: the last of its free rows."""
    left = world.n_free
    if left[table] == 0:
        return out_of_rows(world, table)
    left[table] -= 1
    return free[left[table]]


@compiled
def release_row(world: Arrays, free, table, row):
    """Add a row to the free rows of its table, a number of REUSED; it is the next to be allocated."""
    left = world.n_free
    free[left[table]] = row
    left[table] += 1


@compiled
def fetch_job(world: Arrays, row):
    """Ask the processor for a job, its times, files, neighbours and quiet times, wanted soon; -1 = none."""
    fetch(world.jobs, row, JOB_BYTES)
    fetch(world.job_times, row, TIMES_BYTES)
    fetch(world.job_files, row, LINE)
    fetch(world.neighbours, row, LINE)
    fetch(world.quiet_s, row, LINE)


@compiled
def take_job(world: Arrays):
    """Allocate a row of `jobs`, and ask the processor for the next one."""
    row, state = take_row(world, world.free_jobs, JOBS), world.state[0]
    state["n_job_rows"] = max(state["n_job_rows"], row + 1)
    fetch_job(world, world.free_jobs[world.n_free[JOBS] - 1])
    return row


@compiled
def note_change(world: Arrays, row):
    """Note that a job of a task was made, has ended, begins to wait to be merged, holds input, or has another queue."""
    world.live_jobs[world.jobs[row]["task"]]["version"] = world.state[0]["n_job_moves"]


@compiled
def list_job(world: Arrays, row):
    """Put a new job at the head of the list of the live jobs of its task."""
    of_task, own = world.live_jobs[world.jobs[row]["task"]], world.neighbours[row]
    following = of_task["first"]
    own["next"], own["previous"] = following, -1
    if following >= 0:
        world.neighbours[following]["previous"] = row
    of_task["first"] = row
    note_change(world, row)


@compiled
def unlist_job(world: Arrays, row):
    """Take a job that has ended out of the list of its task."""
    own = world.neighbours[row]
    if own["previous"] >= 0:
        world.neighbours[own["previous"]]["next"] = own["next"]
    else:
        world.live_jobs[world.jobs[row]["task"]]["first"] = own["next"]
    if own["next"] >= 0:
        world.neighbours[own["next"]]["previous"] = own["previous"]
    note_change(world, row)


@compiled
def used_rows(world: Arrays):
    """The rows of `jobs` that were ever used; the lowest ones are taken first, so that no pass need go further."""
    return range(world.state[0]["n_job_rows"])


@compiled
def has_no_pieces(job):
    """True if a job has no input pieces of its own: it merges the output of others, or builds their library."""
    return job["n_chunks"] == 0


@compiled
def shares_pieces(job):
    """True if the input of a job counts for another job: it is a further consumer of event service."""
    return job["n_chunks"] < 0


@compiled
def is_in_jobset(world: Arrays, row):
    """True if a job is a consumer of event service, or a clone."""
    return len(world.event_jobs) > 0 and world.event_jobs[row]["chunk"] >= 0


@compiled
def is_consumer(world: Arrays, row):
    """True if a job is a consumer of event service."""
    return is_in_jobset(world, row) and world.event_jobs[row]["cloning"] == 0


@compiled
def is_recorded(task):
    """True if the jobs of a task are those of a trace, to which a replay adds no failures."""
    return np.isnan(task["failure_rate"])


@compiled
def record_of(world: Arrays, job):
    """Row of the trace of a job of such a task."""
    return world.trace[world.tasks[job["task"]]["first_record"] + job["chunk"]]


@compiled
def find_in_status(world: Arrays, statuses, rows):
    """Write the rows of all jobs in some statuses to `rows`, as long as the table; returns how many there are.

    statuses: a bit for each; only jobs that are alive are in a status that a job can leave. It looks at half a million
    rows and branches nowhere, which is what makes it fast.
    """
    n = 0
    for row in used_rows(world):
        rows[n] = row
        n += (statuses >> np.int64(world.job_status[row])) & 1
    return n


@compiled
def fetch_ahead(world: Arrays, rows, n, place):
    """Ask the processor for the job that a walk through the first `n` of `rows` reaches a little after `place`."""
    fetch(world.jobs, rows[min(place + AHEAD, n - 1)], JOB_BYTES)


@compiled
def release_job(world: Arrays, row):
    """Release a row of `jobs`; panda_id 0 marks it as free."""
    world.jobs[row]["panda_id"] = 0
    release_row(world, world.free_jobs, JOBS, row)


@compiled
def take_transfer(world: Arrays):
    """Allocate a row of `transfers`, with a new transfer_id."""
    row, state = take_row(world, world.free_transfers, TRANSFERS), world.state[0]
    state["transfer_id"] += 1
    world.transfers[row]["transfer_id"] = state["transfer_id"]
    return row


@compiled
def release_transfer(world: Arrays, row):
    """Release a row of `transfers`; transfer_id 0 marks it as free."""
    world.transfers[row]["transfer_id"] = 0
    release_row(world, world.free_transfers, TRANSFERS, row)


@compiled
def take_retry(world: Arrays, task_row):
    """Allocate a row of `retries` for one piece of a task's input; the caller fills it.

    The caller may extend it to consecutive pieces.
    """
    row = take_row(world, world.free_retries, RETRIES)
    world.tasks[task_row]["n_retry"] += 1
    world.retries[row]["n_chunks"] = 1
    return row


@compiled
def push_retry(world: Arrays, task_row, row, level):
    """Queue a filled row of `retries` in the list of its task and level of ramCount."""
    same = world.ram_levels[task_row, level]
    world.retries[row]["next"] = same["head"]
    same["head"] = row
    same["waiting"] += world.retries[row]["n_chunks"]


@compiled
def pop_retry(world: Arrays, task_row, level):
    """Remove and return the next row of `retries` of a task and level of ramCount; the list must not be empty.

    The row is free, but keeps its content until it is allocated again.
    """
    same = world.ram_levels[task_row, level]
    row = same["head"]
    same["head"] = world.retries[row]["next"]
    same["waiting"] -= world.retries[row]["n_chunks"]
    world.tasks[task_row]["n_retry"] -= 1
    release_row(world, world.free_retries, RETRIES, row)
    return row


@compiled
def take_replica(world: Arrays):
    """Allocate a row of `replicas`; the caller fills it."""
    return take_row(world, world.free_replicas, REPLICAS)


@compiled
def release_replica(world: Arrays, row):
    """Release a row of `replicas`; dataset -1 marks it as free."""
    world.replicas[row]["dataset"] = -1
    release_row(world, world.free_replicas, REPLICAS, row)


@compiled
def take_subdataset(world: Arrays):
    """Allocate a row of `subdatasets`; the caller fills it."""
    return take_row(world, world.free_subdatasets, SUBDATASETS)


@compiled
def release_subdataset(world: Arrays, row):
    """Release a row of `subdatasets`; without jobs it is free."""
    world.subdatasets[row]["n_jobs"] = 0
    release_row(world, world.free_subdatasets, SUBDATASETS, row)


@compiled
def take_submission(world: Arrays):
    """Allocate a row of `submissions`; the caller fills it."""
    return take_row(world, world.free_submissions, SUBMISSIONS)


@compiled
def release_submission(world: Arrays, row):
    """Release a row of `submissions`."""
    release_row(world, world.free_submissions, SUBMISSIONS, row)


@compiled
def line_up(world: Arrays, row, now):
    """Put a row of `submissions` at the end of the batch system's list of its pseudo-queue."""
    group = world.submissions[row]
    queue = world.pseudo_queues[group["pseudo_queue"]]
    group["since_s"], group["next"] = now, -1
    if queue["submitted_tail"] >= 0:
        world.submissions[queue["submitted_tail"]]["next"] = row
    else:
        queue["submitted_head"] = row
    queue["submitted_tail"] = row


@compiled
def take_worker(world: Arrays, pseudo_queue):
    """Remove the oldest waiting worker of a pseudo-queue from the batch system's list, which must not be empty.

    Returns the row of the job that it was submitted for, -1 = none.
    """
    queue = world.pseudo_queues[pseudo_queue]
    group = world.submissions[queue["submitted_head"]]
    queue["n_submitted"] -= 1
    group["count"] -= 1
    job = group["job"]
    if group["count"] == 0:
        drop_cancelled(world, pseudo_queue)
    return job


@compiled
def drop_cancelled(world: Arrays, pseudo_queue):
    """Release the rows at the head of the list of a pseudo-queue that have no worker left, so that the head has one."""
    queue = world.pseudo_queues[pseudo_queue]
    row = queue["submitted_head"]
    while row >= 0 and world.submissions[row]["count"] == 0:
        queue["submitted_head"] = world.submissions[row]["next"]
        if queue["submitted_head"] < 0:
            queue["submitted_tail"] = -1
        release_submission(world, row)
        row = queue["submitted_head"]
