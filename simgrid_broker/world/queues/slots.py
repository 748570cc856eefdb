"""Slots: cores and memory that a worker holds at its batch system, and the account of who held and used them.

A slot is a number: the pseudo-queue of its worker, and for each node + 1 the number of pseudo-queues more. Slots open
and close with rows of Harvester_Slots; workers that could not be submitted are counted by PanDA queue and cycle.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.world import World

ROUNDING_S, AHEAD_S = 1e-6, 1e-3
"""Time by which the end of a window may be missed by rounding, and before that or its notice in which no worker starts
any more, s."""


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
    """Node of a pool with the fewest free cores of those where a worker of a pseudo-queue fits, the first of such;
    -1 = none."""
    best, fewest = -1, 0
    for place in range(pool["first_node"], pool["first_node"] + pool["n_roomy"]):
        number = world.roomy_nodes[place]
        node = world.nodes[number]
        free = node["free_cores"]
        if free < queue["corecount"] or node["free_mb"] < queue["worker_mb"]:
            continue
        if pool["whole_nodes"] and free < node["cores"]:
            continue
        if best < 0 or free < fewest or (free == fewest and number < best):
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
        was_full = node["free_cores"] == 0
        node["free_cores"] += cores
        node["free_mb"] += memory_mb
        if was_full != (node["free_cores"] == 0):
            list_node(world, pool, slot // n_pseudo - 1)


@compiled
def list_node(world: Arrays, pool, number):
    """Put a node among those of its pool with free cores, or take it off, whose place the last of them then has."""
    node, end = world.nodes[number], pool["first_node"] + pool["n_roomy"]
    if node["free_cores"] > 0:
        world.roomy_nodes[end], node["place"] = number, end
        pool["n_roomy"] += 1
    else:
        last = world.roomy_nodes[end - 1]
        world.roomy_nodes[node["place"]], world.nodes[last]["place"] = last, node["place"]
        pool["n_roomy"] -= 1


@compiled
def window_left(queue, now):
    """Time until the window of a queue closes, s; 0 = it is closed, inf = there are slots always."""
    if queue["window_lasts_s"] == np.inf:
        return np.inf
    since = now + ROUNDING_S - queue["window_begins_s"]
    if since < 0:
        return 0.0
    if queue["window_every_s"] < np.inf:
        since %= queue["window_every_s"]
    return max(queue["window_lasts_s"] - since, 0.0)


@compiled
def settle_closed(world: Arrays, number, now):
    """Let the pool of a pseudo-queue start workers, or none: in an outage, outside its window, after the notice of its
    end."""
    pseudo = world.pseudo_queues[number]
    queue = world.queues[pseudo["queue"]]
    is_shut = window_left(queue, now) <= max(queue["eviction_notice_s"], 0.0) + AHEAD_S
    world.pools[pseudo["pool"]]["closed"] = world.sites[queue["site"]]["down"] > 0 or is_shut


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


class Opening(NamedTuple):
    """Slots of one row: their pool, cores and memory, MB; expires_s: None = they stay open."""

    opens_s: float
    expires_s: float | None
    pool: int
    cores: int
    memory_mb: float


def openings(world: World) -> Iterator[Opening]:
    """Slots that open during the run: of the size of a worker of their resource type, else of the queue."""
    grid, types = world.scenario.grid, world.vocabularies["resource_types"]
    queues, pseudo = world.arrays.queues, world.arrays.pseudo_queues
    for number, queue in enumerate(grid.queues.values()):
        for row in queue.slot_requests:
            if row.opens is not None:
                kind = types.index(row.resource_type) if row.resource_type else len(types)
                mine = np.flatnonzero((pseudo["queue"] == number) & (pseudo["resource_type"] == kind))
                pool, size = ((pseudo["pool"][mine[0]], pseudo["corecount"][mine[0]]) if len(mine) else
                              (queues["pool"][number], queues["corecount"][number]))
                cores = row.slots * int(size)
                yield Opening(row.opens, row.expires, int(pool), cores,
                              cores * grid.sites[queue.atlas_site].memory_per_core)


class MissedWorkers:
    """Remembers missed workers of each PanDA queue for `longest_s`; cycles: their moments, s, and (n_queues,) each."""

    def __init__(self, longest_s: float, n_queues: int):
        self.longest_s = longest_s
        self.cycles: list[tuple[float, np.ndarray]] = []
        self.total, self.looked_s = np.zeros(n_queues, np.int64), 0.0

    def look(self, arrays: Arrays, now: float) -> None:
        """Note what was missed since the last look, in the cycle that began with that."""
        total = np.zeros(len(self.total), np.int64)
        np.add.at(total, arrays.pseudo_queues["queue"], arrays.worker_accounts["n_missed"])
        if (total > self.total).any():
            self.cycles.append((self.looked_s, total - self.total))
        self.cycles = [each for each in self.cycles if each[0] >= now - self.longest_s]
        self.total, self.looked_s = total, now

    def number(self, queues: np.ndarray, since_s: float) -> int:
        """Missed workers of some queues, (n_queues,) bool, from a moment on."""
        return sum(int(missed[queues].sum()) for moment, missed in self.cycles if moment >= since_s)
