"""Batch systems: workers wait for a slot of cores and memory, hold it and release it.

A batch system starts its oldest waiting worker; one that lacks cores or memory holds back all younger ones, as at a
site that drains for a larger slot. Cores and memory are counted for the whole system, not per node.
"""

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.events import PILOT_ASKS, schedule
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.rows import push_submission, take_worker


@compiled
def oldest_that_fits(world: Arrays, pool):
    """Pseudo-queue whose oldest waiting worker starts next in a pool; -1 if none can start."""
    best = -1
    best_s = 0.0
    for place in range(pool["first"], pool["last"]):
        number = world.pool_members[place]
        queue = world.pseudo_queues[number]
        if queue["n_submitted"] == 0:
            continue
        since = world.submissions[queue["submitted_head"]]["submitted_s"]
        if best < 0 or since < best_s:
            best = number
            best_s = since
    if best < 0:
        return -1
    wanted = world.pseudo_queues[best]
    return best if wanted["corecount"] <= pool["free_cores"] and wanted["worker_mb"] <= pool["free_mb"] else -1


@compiled
def start_workers(world: Arrays, pool_number, now):
    """Start waiting workers of a pool while the next one fits."""
    state = world.state[0]
    pool = world.pools[pool_number]
    while pool["closed"] == 0 and pool["free_cores"] > 0:
        number = oldest_that_fits(world, pool)
        if number < 0:
            return
        take_worker(world, number)
        queue = world.pseudo_queues[number]
        queue["n_running"] += 1
        pool["free_cores"] -= queue["corecount"]
        pool["free_mb"] -= queue["worker_mb"]
        state["n_pilots"] += 1
        state["n_pilots_ever"] += 1
        schedule(world, now + world.settings[0]["pilot_startup_s"], PILOT_ASKS, number)


@compiled
def free_slot(world: Arrays, number):
    """Return the slot of a worker of a pseudo-queue to its pool, without starting another worker."""
    queue = world.pseudo_queues[number]
    pool = world.pools[queue["pool"]]
    queue["n_running"] -= 1
    pool["free_cores"] += queue["corecount"]
    pool["free_mb"] += queue["worker_mb"]
    world.state[0]["n_pilots"] -= 1


@compiled
def end_worker(world: Arrays, number, now):
    """End a worker of a pseudo-queue and start the next waiting ones."""
    free_slot(world, number)
    start_workers(world, world.pseudo_queues[number]["pool"], now)


@compiled
def submit(world: Arrays, numbers, counts, now):
    """Submit `counts[k]` workers of pseudo-queue `numbers[k]`, then start those that fit."""
    for k in range(len(numbers)):
        if counts[k] > 0:
            push_submission(world, numbers[k], counts[k], now)
    for pool in range(len(world.pools)):
        start_workers(world, pool, now)
