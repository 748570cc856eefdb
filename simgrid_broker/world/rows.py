"""Taking rows of the growing tables into use and giving them back.

What lives here: compiled take and release for jobs, transfers, retries and submissions. What does not: growing the
tables, which needs Python (`World.make_room`); callers make sure of room first.
"""

from simgrid_broker.compiled import compiled


@compiled
def take_job(world):
    """Row of `jobs` that is free; it becomes the caller's."""
    state = world.state[0]
    state["n_free_jobs"] -= 1
    return world.free_jobs[state["n_free_jobs"]]


@compiled
def is_merge_job(job):
    """Whether a job merges the output of others: it has no piece of its task's input of its own."""
    return job["n_chunks"] == 0


@compiled
def release_job(world, row):
    """Give a row of `jobs` back; panda_id 0 marks it as free."""
    state = world.state[0]
    world.jobs[row]["panda_id"] = 0
    world.free_jobs[state["n_free_jobs"]] = row
    state["n_free_jobs"] += 1


@compiled
def take_transfer(world):
    """Row of `transfers` that is free, with a new transfer_id."""
    state = world.state[0]
    state["n_free_transfers"] -= 1
    row = world.free_transfers[state["n_free_transfers"]]
    state["transfer_id"] += 1
    world.transfers[row]["transfer_id"] = state["transfer_id"]
    return row


@compiled
def release_transfer(world, row):
    """Give a row of `transfers` back; transfer_id 0 marks it as free."""
    state = world.state[0]
    world.transfers[row]["transfer_id"] = 0
    world.free_transfers[state["n_free_transfers"]] = row
    state["n_free_transfers"] += 1


@compiled
def take_retry(world, task_row):
    """Row of `retries` that is free, for a piece of a task's input that will be tried again; the caller fills it.

    It is for one piece, unless the caller says that it is for some that follow each other.
    """
    state = world.state[0]
    state["n_free_retries"] -= 1
    world.tasks[task_row]["n_retry"] += 1
    row = world.free_retries[state["n_free_retries"]]
    world.retries[row]["n_chunks"] = 1
    return row


@compiled
def push_retry(world, task_row, row, level):
    """Put a filled row of `retries` among those of its task and ramCount that await another attempt."""
    same = world.ram_levels[task_row, level]
    world.retries[row]["next"] = same["head"]
    same["head"] = row
    same["waiting"] += world.retries[row]["n_chunks"]


@compiled
def pop_retry(world, task_row, level):
    """Row of `retries` that is next to be tried of a task and ramCount, of which there must be one.

    It is free from now on, but holds what it held until somebody takes it.
    """
    state = world.state[0]
    same = world.ram_levels[task_row, level]
    row = same["head"]
    same["head"] = world.retries[row]["next"]
    same["waiting"] -= world.retries[row]["n_chunks"]
    world.tasks[task_row]["n_retry"] -= 1
    world.free_retries[state["n_free_retries"]] = row
    state["n_free_retries"] += 1
    return row


@compiled
def push_submission(world, pseudo_queue, count, now):
    """Let `count` workers of a pseudo-queue wait in the batch system from `now` on."""
    state = world.state[0]
    queue = world.pseudo_queues[pseudo_queue]
    state["n_free_submissions"] -= 1
    row = world.free_submissions[state["n_free_submissions"]]
    group = world.submissions[row]
    group["submitted_s"] = now
    group["count"] = count
    group["next"] = -1
    if queue["submitted_tail"] >= 0:
        world.submissions[queue["submitted_tail"]]["next"] = row
    else:
        queue["submitted_head"] = row
    queue["submitted_tail"] = row
    queue["n_submitted"] += count


@compiled
def take_worker(world, pseudo_queue):
    """Take the oldest waiting worker of a pseudo-queue out of the batch system's list; there must be one."""
    state = world.state[0]
    queue = world.pseudo_queues[pseudo_queue]
    row = queue["submitted_head"]
    group = world.submissions[row]
    queue["n_submitted"] -= 1
    group["count"] -= 1
    if group["count"] == 0:
        queue["submitted_head"] = group["next"]
        if group["next"] < 0:
            queue["submitted_tail"] = -1
        world.free_submissions[state["n_free_submissions"]] = row
        state["n_free_submissions"] += 1
