"""Slots: cores and memory that a worker holds at its batch system, and the account of who held and used them.

A slot is a number: the pseudo-queue of its worker, and for each node + 1 the number of pseudo-queues more.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.world.arrays import Arrays


@compiled
def slot_on(world: Arrays, number, node):
    """Slot of a worker of a pseudo-queue on a node, -1 = cores count for the whole system."""
    return number + len(world.pseudo_queues) * (node + 1)


@compiled
def worker_of(world: Arrays, slot):
    """Pseudo-queue of the worker that holds a slot."""
    n_pseudo = len(world.pseudo_queues)
    return slot if slot < n_pseudo else slot % n_pseudo         # divisions are a tenth of the time of a job


@compiled
def slot_of(job):
    """Slot of a job that has one."""
    return job["slot"] - 1 if job["slot"] > 0 else job["pseudo_queue"]


@compiled
def node_for(world: Arrays, pool, queue):
    """Node of a pool with the fewest free cores of those where a worker of a pseudo-queue fits; -1 = none."""
    best, fewest = -1, 0
    for number in range(pool["first_node"], pool["last_node"]):
        node = world.nodes[number]
        free = node["free_cores"]
        if free < queue["corecount"] or node["free_mb"] < queue["worker_mb"]:
            continue
        if pool["whole_nodes"] and free < node["cores"]:
            continue
        if best < 0 or free < fewest:
            best, fewest = number, free
    return best


@compiled
def cores_of(world: Arrays, slot):
    """Cores that a slot takes: those of its worker, or all of a node that is taken as a whole."""
    n_pseudo = len(world.pseudo_queues)
    if slot < n_pseudo:
        return np.int64(world.pseudo_queues[slot]["corecount"])
    queue = world.pseudo_queues[slot % n_pseudo]
    if world.pools[queue["pool"]]["whole_nodes"]:
        return np.int64(world.nodes[slot // n_pseudo - 1]["cores"])
    return np.int64(queue["corecount"])


@compiled
def take_slot(world: Arrays, slot, now):
    """Give a slot to a worker."""
    number = worker_of(world, slot)
    queue, account, cores = world.pseudo_queues[number], world.worker_accounts[number], cores_of(world, slot)
    change_free(world, slot, -cores, -queue["worker_mb"])
    queue["n_running"] += 1
    account["n_started"] += 1
    account["held_cores"] += cores
    account["held_core_s"] -= now * cores
    world.state[0]["n_pilots"] += 1
    world.state[0]["n_pilots_ever"] += 1


@compiled
def free_slot(world: Arrays, slot, now):
    """Return a slot, without starting another worker."""
    number = worker_of(world, slot)
    queue, account, cores = world.pseudo_queues[number], world.worker_accounts[number], cores_of(world, slot)
    change_free(world, slot, cores, queue["worker_mb"])
    queue["n_running"] -= 1
    account["held_cores"] -= cores
    account["held_core_s"] += now * cores
    world.state[0]["n_pilots"] -= 1


@compiled
def change_free(world: Arrays, slot, cores, memory_mb):
    """Add to what is free of the pool of a slot, and of its node."""
    n_pseudo = len(world.pseudo_queues)
    pool = world.pools[world.pseudo_queues[worker_of(world, slot)]["pool"]]
    pool["free_cores"] += cores
    pool["free_mb"] += memory_mb
    if slot >= n_pseudo:
        node = world.nodes[slot // n_pseudo - 1]
        node["free_cores"] += cores
        node["free_mb"] += memory_mb


@compiled
def payload_begins(world: Arrays, job, now):
    """Note that the worker of a job has a payload."""
    slot = slot_of(job)
    account, cores = world.worker_accounts[worker_of(world, slot)], cores_of(world, slot)
    account["working_cores"] += cores
    account["used_cores"] += job["corecount"]
    account["working_core_s"] -= now * cores
    account["used_core_s"] -= now * job["corecount"]


@compiled
def payload_is_over(world: Arrays, job, now):
    """Note that the worker of a job has no payload any more."""
    slot = slot_of(job)
    account, cores = world.worker_accounts[worker_of(world, slot)], cores_of(world, slot)
    account["working_cores"] -= cores
    account["used_cores"] -= job["corecount"]
    account["working_core_s"] += now * cores
    account["used_core_s"] += now * job["corecount"]
