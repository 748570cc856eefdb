"""Batch systems: workers wait for a slot of cores and memory, hold it and release it.

A batch system starts its oldest waiting worker. One that does not fit holds back all younger ones, as at a site that
drains for a larger slot, or lets smaller ones overtake it for a while (`backfill`). Cores and memory are counted for
the whole system, or node by node (`node`).
"""

import math

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.events import JOB_REPORTS, PILOT_ASKS, WORKER_READY, schedule
from simgrid_broker.luck import STREAMS, normal_quantile_of, uniform
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.queues.slots import free_slot, node_for, slot_on, take_slot, worker_of
from simgrid_broker.world.rows import drop_cancelled, line_up, release_submission, take_submission, take_worker

STARTING = int(JobStatus.STARTING)
SUBMISSION, LATENCY = STREAMS["submission"], STREAMS["batch_latency"]
QUEUED_MOST_S = 172_800.0
"""Time for which a worker may wait before Harvester cancels it; source: lifecycle reference, section 5.4."""
WORKER_CANCELLED, NO_WORKER_YET, SILENT = -2, -1, 0
"""Values of `slot` of a starting job: its worker was cancelled; it waits at Harvester; its worker is gone."""


@compiled
def fits(world: Arrays, pool, queue):
    """True if a worker of a pseudo-queue finds a slot in a pool now."""
    return (queue["corecount"] <= pool["free_cores"] and queue["worker_mb"] <= pool["free_mb"]
            and (pool["first_node"] == pool["last_node"] or node_for(world, pool, queue) >= 0))


@compiled
def oldest_waiting(world: Arrays, pool, only_fitting):
    """Pseudo-queue of the oldest waiting worker of a pool, or of the oldest that fits; -1 if there is none."""
    best = -1
    best_s = 0.0
    for place in range(pool["first"], pool["last"]):
        number = world.pool_members[place]
        queue = world.pseudo_queues[number]
        if queue["submitted_head"] < 0:
            continue
        since = world.submissions[queue["submitted_head"]]["since_s"]
        if (best < 0 or since < best_s) and (not only_fitting or fits(world, pool, queue)):
            best = number
            best_s = since
    return best


@compiled
def next_to_start(world: Arrays, pool, now):
    """Pseudo-queue whose oldest waiting worker starts next in a pool; -1 if none can start."""
    best = oldest_waiting(world, pool, False)
    if best < 0 or fits(world, pool, world.pseudo_queues[best]):
        return best
    waits_s = now - world.submissions[world.pseudo_queues[best]["submitted_head"]]["since_s"]
    return oldest_waiting(world, pool, True) if waits_s < pool["backfill_s"] else -1


@compiled
def start_workers(world: Arrays, pool_number, now):
    """Start waiting workers of a pool while the next one fits."""
    pool = world.pools[pool_number]
    if pool["leaving_cores"] > 0:
        withdraw(world, pool)
    while pool["closed"] == 0 and pool["free_cores"] > 0:
        number = next_to_start(world, pool, now)
        if number < 0:
            return
        row = take_worker(world, number)
        node = -1
        if pool["first_node"] < pool["last_node"]:
            node = node_for(world, pool, world.pseudo_queues[number])
        slot = slot_on(world, number, node)
        take_slot(world, slot, now)
        asks_s = now + world.settings[0]["pilot_startup_s"]
        if row < 0:
            schedule(world, asks_s, PILOT_ASKS, slot)
        else:
            job = world.jobs[row]
            job["slot"] = slot + 1
            job["pilot_start_s"] = now
            job["due_sequence"] = schedule(world, asks_s, JOB_REPORTS, row)


@compiled
def open_slots(world: Arrays, pool_number, cores, memory_mb, now):
    """Give a batch system more cores, and start the workers that wait for them; the caller makes room."""
    pool = world.pools[pool_number]
    pool["cores"] += cores
    pool["free_cores"] += cores
    pool["memory_mb"] += memory_mb
    pool["free_mb"] += memory_mb
    start_workers(world, pool_number, now)


@compiled
def close_slots(world: Arrays, pool_number, cores, memory_mb):
    """Take cores away from a batch system: those that are free at once, the others when their workers end."""
    pool = world.pools[pool_number]
    pool["leaving_cores"] += cores
    pool["leaving_mb"] += memory_mb
    withdraw(world, pool)


@compiled
def withdraw(world: Arrays, pool):
    """Take away as many of the leaving cores of a pool as are free, with their memory."""
    each_mb = pool["leaving_mb"] / pool["leaving_cores"]
    cores = max(min(pool["leaving_cores"], pool["free_cores"], math.floor(pool["free_mb"] / each_mb + 1e-9)), 0)
    world.state[0]["total_cores"] -= cores
    pool["cores"] -= cores
    pool["free_cores"] -= cores
    pool["leaving_cores"] -= cores
    pool["memory_mb"] -= cores * each_mb
    pool["free_mb"] -= cores * each_mb
    pool["leaving_mb"] -= cores * each_mb


@compiled
def end_worker(world: Arrays, slot, now):
    """End the worker that holds a slot, and start the next waiting ones."""
    free_slot(world, slot, now)
    start_workers(world, world.pseudo_queues[worker_of(world, slot)]["pool"], now)


@compiled
def waits_for(world: Arrays, number):
    """Time until the batch system considers the worker of a pseudo-queue that is submitted now, s."""
    queue, account = world.queues[world.pseudo_queues[number]["queue"]], world.worker_accounts[number]
    median_s, spread = queue["batch_latency_s"], queue["batch_latency_spread"]
    if median_s == 0 or spread == 0:
        return median_s
    luck = uniform(world.settings[0]["seed"], LATENCY, account["luck"], account["n_ever"], 0)
    return median_s * math.exp(spread * normal_quantile_of(luck))


@compiled
def is_missed(world: Arrays, number):
    """Count an attempt to submit a worker of a pseudo-queue; returns whether it fails."""
    account = world.worker_accounts[number]
    account["n_ever"] += 1
    rate = world.queues[world.pseudo_queues[number]["queue"]]["submission_failures"]
    if rate == 0:
        return False
    if uniform(world.settings[0]["seed"], SUBMISSION, account["luck"], account["n_ever"], 0) >= rate:
        return False
    account["n_missed"] += 1
    return True


@compiled
def submit(world: Arrays, numbers, counts, now):
    """Submit `counts[k]` workers of pseudo-queue `numbers[k]`, of any for 0, then start those that fit."""
    for k in range(len(numbers)):
        if counts[k] == 0:
            continue
        queue = world.queues[world.pseudo_queues[numbers[k]]["queue"]]
        if queue["batch_latency_s"] > 0 or queue["submission_failures"] > 0:
            for _ in range(counts[k]):
                if not is_missed(world, numbers[k]):
                    submit_group(world, numbers[k], 1, -1, now)
        else:
            world.worker_accounts[numbers[k]]["n_ever"] += counts[k]
            submit_group(world, numbers[k], counts[k], -1, now)
    for pool in range(len(world.pools)):
        start_workers(world, pool, now)


@compiled
def submit_group(world: Arrays, number, count, job, now):
    """Hand workers of a pseudo-queue to their batch system together, one for the job in row `job` if it is not -1."""
    row = take_submission(world)
    group = world.submissions[row]
    group["submitted_s"], group["count"], group["pseudo_queue"], group["job"] = now, count, number, job
    world.pseudo_queues[number]["n_submitted"] += count
    if job >= 0:
        world.jobs[job]["slot"] = row + 1
    wait_s = waits_for(world, number)
    if wait_s > 0:
        schedule(world, now + wait_s, WORKER_READY, row)
    else:
        line_up(world, row, now)


@compiled
def worker_ready(world: Arrays, row, now):
    """The batch system considers a worker from now on, unless it was cancelled or has waited too long."""
    group = world.submissions[row]
    number = group["pseudo_queue"]
    if group["count"] > 0 and now - group["submitted_s"] > QUEUED_MOST_S:
        cancel(world, row)
    if group["count"] == 0:
        release_submission(world, row)
        return
    line_up(world, row, now)
    start_workers(world, world.pseudo_queues[number]["pool"], now)


@compiled
def cancel(world: Arrays, row):
    """Cancel workers that wait; Harvester's monitor closes the job of one."""
    group = world.submissions[row]
    number = group["pseudo_queue"]
    world.pseudo_queues[number]["n_submitted"] -= group["count"]
    world.worker_accounts[number]["n_cancelled"] += group["count"]
    if group["job"] >= 0:
        world.jobs[group["job"]]["slot"] = WORKER_CANCELLED
        world.state[0]["n_left"] += 1
    group["count"] = 0
    drop_cancelled(world, number)


@compiled
def cancel_old(world: Arrays, now):
    """Cancel the workers that have waited for longer than QUEUED_MOST_S; returns when the oldest others, also those on
    their way to a batch system, were submitted, s, `now` if there are none."""
    for number in range(len(world.pseudo_queues)):
        row = world.pseudo_queues[number]["submitted_head"]
        while row >= 0:
            group = world.submissions[row]
            following = group["next"]
            if group["count"] > 0 and now - group["submitted_s"] > QUEUED_MOST_S:
                cancel(world, row)
            row = following
    oldest_s = now
    for group in world.submissions:
        if group["count"] > 0:
            oldest_s = min(oldest_s, group["submitted_s"])
    return oldest_s


def jobs_left(arrays: Arrays) -> np.ndarray:
    """Rows of the starting jobs whose workers were cancelled, (k,); there are none until another worker is."""
    if not arrays.state["n_left"][0]:
        return np.zeros(0, np.int64)
    arrays.state["n_left"] = 0
    rows = np.flatnonzero(arrays.job_status == STARTING)
    return rows[arrays.jobs["slot"][rows] == WORKER_CANCELLED]


@compiled
def submit_for_jobs(world: Arrays, jobs, ends, now, failed):
    """Submit one worker for each of the starting jobs, (n,) of FETCHED, that wait for one, queue by queue.

    ends: where those of each queue end; after each queue with jobs the workers that fit are started. A job whose worker
    cannot be submitted is written to `failed`, (n,); returns the number of these.
    """
    n_failed, begin = 0, 0
    for end in ends:
        for k in range(begin, end):
            row = jobs[k]["row"]
            job = world.jobs[row]
            if job["panda_id"] != jobs[k]["panda_id"] or job["status"] != STARTING or job["slot"] != NO_WORKER_YET:
                continue
            if is_missed(world, job["pseudo_queue"]):
                failed[n_failed] = row
                n_failed += 1
            else:
                submit_group(world, job["pseudo_queue"], 1, row, now)
        for pool in range(len(world.pools) if begin < end else 0):
            start_workers(world, pool, now)
        begin = end
    return np.int64(n_failed)
