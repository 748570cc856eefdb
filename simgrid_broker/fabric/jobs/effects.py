"""Effects of task commands, watchdogs and the priority massage on live jobs and on input that was given up."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.jobs.activated import put_activated, take_out
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.jobs.transitions import change_share, move
from simgrid_broker.world.rows import fetch_ahead, find_in_status, has_no_pieces, push_retry, take_retry
from simgrid_broker.world.states import LIVE
from simgrid_broker.world.tasks.input_files import give_up_pieces

S = JobStatus
ACTIVATED, THROTTLED, SENT, STARTING = map(int, (S.ACTIVATED, S.THROTTLED, S.SENT, S.STARTING))
RUNNING, HOLDING = int(S.RUNNING), int(S.HOLDING)
ACTIVE = sum(1 << status for status in LIVE if status not in (S.PENDING, S.DEFINED, S.ASSIGNED))
"""Statuses of the jobs in PanDA's active table, a bit for each."""

RETAGGED = S.PENDING, S.DEFINED, S.ASSIGNED, S.WAITING, S.ACTIVATED
"""Statuses of the jobs that follow their task to another share; source: lifecycle reference, section 1.2."""
RETAGGED_RUNNING = (*RETAGGED, S.STARTING, S.RUNNING)
"""Statuses of the jobs that do so if that is asked for; jobs in the others keep their share in any case."""

GIVEN_UP = np.dtype([("chunk", "i4"), ("attempt", "i4"), ("old_panda_id", "i8"), ("failures", "i4"),
                     ("attempt_limit", "i4"), ("ram_level", "i4"), ("n_chunks", "i4")])
"""Consecutive input pieces that exhausted their attempts, with the state carried into the next attempt."""


def jobs_of(arrays: Arrays, task_rows, *statuses, among=None) -> np.ndarray:
    """Rows of the live jobs of tasks in order of creation; only jobs in `statuses`, if any.

    among: a known result of this function for these and other tasks, to avoid a search.
    """
    wanted = np.zeros(len(arrays.tasks), bool)
    wanted[np.asarray(task_rows, np.int64)] = True
    if among is None:
        rows = oldest_first(arrays, jobs_of_wanted(arrays, wanted))
    else:
        rows = among[wanted[arrays.jobs["task"][among]]]
    if statuses:
        rows = rows[np.isin(arrays.jobs["status"][rows], [int(status) for status in statuses])]
    return rows


def jobs_of_wanted(arrays: Arrays, wanted: np.ndarray) -> np.ndarray:
    """Rows of the live jobs of the tasks in `wanted`, (n_tasks,) bool."""
    tasks = np.flatnonzero(wanted)
    rows = np.empty(int(arrays.tasks["n_alive"][tasks].sum()), np.int32)
    return rows[:find_jobs(arrays, tasks, rows)]


def jobs_of_each(arrays: Arrays, task_rows: np.ndarray) -> list[np.ndarray]:
    """Rows of the live jobs of each of several tasks."""
    found = jobs_of(arrays, task_rows)
    task = arrays.jobs["task"][found]
    order = np.argsort(task, kind="stable")
    begins, ends = (np.searchsorted(task[order], task_rows, side).tolist() for side in ("left", "right"))
    return [found[order[begin:end]] for begin, end in zip(begins, ends, strict=True)]


def oldest_first(arrays: Arrays, rows: np.ndarray) -> np.ndarray:
    """Rows of live jobs in order of creation, which is that of their PandaIDs."""
    return rows[np.argsort(arrays.jobs["panda_id"][rows])]


@compiled
def find_jobs(world: Arrays, tasks, rows):
    """Write the rows of the live jobs of some tasks, (k,), to `rows`, as far as there is room; returns their number."""
    n = 0
    for task in tasks:
        row = world.live_jobs[task]["first"]
        while row >= 0 and n < len(rows):
            rows[n] = row
            n += 1
            row = world.neighbours[row]["next"]
    return n


@compiled
def throttle_jobs(world: Arrays, rows, now):
    """Throttle activated jobs, so that no pilot gets them."""
    for row in rows:
        take_out(world, row)
        move(world, row, THROTTLED, now)


@compiled
def activate_jobs(world: Arrays, rows, now):
    """Activate throttled jobs, so that pilots get them again."""
    for row in rows:
        move(world, row, ACTIVATED, now)
        put_activated(world, row)


@compiled
def set_priority(world: Arrays, rows, priority):
    """Change the priority of live jobs; activated ones move in their heap."""
    for row in rows:
        job = world.jobs[row]
        if job["status"] == ACTIVATED:
            take_out(world, row)
            job["priority"] = priority
            put_activated(world, row)
        else:
            job["priority"] = priority


@compiled
def lift(world: Arrays, rows, points):
    """Raise the priority of activated jobs and move them in their heaps."""
    for row in rows:
        take_out(world, row)
        world.jobs[row]["priority"] += points
        put_activated(world, row)


@compiled
def set_share(world: Arrays, rows, share):
    """Change the share of live jobs; activated ones move to its heap."""
    for row in rows:
        if world.jobs[row]["status"] == ACTIVATED:
            take_out(world, row)
            change_share(world, row, share)
            put_activated(world, row)
        else:
            change_share(world, row, share)


@compiled
def try_again(world: Arrays, task_row, given_up):
    """Queue pieces of input that were given up, (k,) of GIVEN_UP, for another attempt; the caller makes room.

    Each keeps its failures, last job, and raised ramCount.
    """
    for place in range(len(given_up)):
        piece = given_up[place]
        row = take_retry(world, task_row)
        retry = world.retries[row]
        retry["chunk"], retry["attempt"] = piece["chunk"], piece["attempt"]
        retry["old_panda_id"], retry["failures"] = piece["old_panda_id"], piece["failures"]
        retry["attempt_limit"], retry["n_chunks"] = piece["attempt_limit"], piece["n_chunks"]
        retry["brought_to"] = -1
        push_retry(world, task_row, row, piece["ram_level"])
        give_up_pieces(world, task_row, piece["chunk"], -piece["n_chunks"])


def waiting_retries(arrays: Arrays, task_row: int) -> np.ndarray:
    """Pieces of a task's input that await another attempt, (k,) rows of `retries`."""
    found = []
    for row in arrays.ram_levels["head"][task_row].tolist():
        while row >= 0:
            found.append(row)
            row = int(arrays.retries["next"][row])
    return arrays.retries[np.array(found, np.int64)]


def nothing_left(arrays: Arrays, task_row: int) -> None:
    """Notify the PostProcessor that a task has no input left; the caller makes room."""
    state = arrays.state[0]
    arrays.done_tasks[state["n_done_tasks"]] = task_row
    state["n_done_tasks"] += 1


@compiled
def jobs_of_owners(world: Arrays, among, owner_of_task, chosen, status, found):
    """Fill `found` with the rows of the jobs of chosen owners, (n_owners,) bool, in a status; returns their number.

    among: rows to look at, of jobs with an owner; owner_of_task: (n_tasks,).
    """
    n = 0
    for row in among:
        if world.job_status[row] == status and chosen[owner_of_task[world.job_tasks[row]]]:
            found[n] = row
            n += 1
    return n


@compiled
def look_at_owners(world: Arrays, rows, owner_of_task, since, numbers, done, activated, known):
    """Count the live jobs of tasks whose owner is not -1, by owner; merge jobs are left out.

    owner_of_task: (n_tasks,); numbers: running, starting and sent jobs and their cores, (2, n_owners); done, activated,
    known: (n_owners, n_queues), numbers of jobs of the active table that are neither activated nor holding, and of
    activated jobs, and whether there is any job there. Only jobs with a change or heartbeat after `since`, s, count.
    Fills `rows`, as long as the table of jobs, with those of all activated and throttled jobs; returns their number.
    """
    n, n_found = 0, find_of_owners(world, owner_of_task, rows)
    for place in range(n_found):
        fetch_ahead(world, rows, n_found, place)
        row = rows[place]
        job, status = world.jobs[row], np.int64(world.job_status[row])
        if status == ACTIVATED or status == THROTTLED:
            rows[n] = row
            n += 1
        alive = status == RUNNING and job["due_sequence"] != 0
        if has_no_pieces(job) or not alive and job["modification_s"] <= since:
            continue
        owner, queue = owner_of_task[world.job_tasks[row]], job["queue"]
        known[owner, queue] = True
        if status == ACTIVATED:
            activated[owner, queue] += 1
        elif status != HOLDING:
            done[owner, queue] += 1
        if status == RUNNING or status == STARTING or status == SENT:
            numbers[0, owner] += 1
            numbers[1, owner] += job["corecount"]
    return n


@compiled
def find_of_owners(world: Arrays, owner_of_task, rows):
    """Write the rows of the jobs in the active table of tasks whose owner is not -1 to `rows`; returns their number."""
    n = 0
    for place in range(find_in_status(world, ACTIVE, rows)):
        row = rows[place]
        rows[n] = row
        n += owner_of_task[world.job_tasks[row]] >= 0
    return n
