"""Resource types that the jobs of a task have at a PanDA queue, which the deployed edition counts there.

Source: brokerage reference, 0.3 and 10.2.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.jobs.counts import COUNTED, TypesAt

LEAST_PART = 0.2
"""Least part of a task's jobs at a queue that a type must have to count; source: as above."""
AGE_S = 600.0
"""Greatest age of these types in a run, s: assumed, no document gives it."""
FIRST, LAST = int(COUNTED[0]), int(COUNTED[-1])


def types_in_use(arrays: Arrays) -> dict[int, TypesAt]:
    """By jeditaskid, pairs of PanDA queue and resource types, of tasks that have, or will have, jobs of other types.

    All other tasks have jobs of their own type alone.
    """
    mixed = np.any(arrays.ram_levels["waiting"][:, 1:] > 0, axis=1)
    mark_mixed(arrays, mixed)
    if not mixed.any():
        return {}
    shape = len(arrays.tasks), len(arrays.queues), arrays.counts.shape[2]
    places = np.empty(len(arrays.jobs), np.int64)
    places, number = np.unique(places[:find_places(arrays, mixed, shape[2], places)], return_counts=True)
    numbers: dict[int, dict[int, dict[int, int]]] = {}
    for task, queue, kind, n_jobs in zip(*map(np.ndarray.tolist, (*np.unravel_index(places, shape), number)),
                                         strict=True):
        numbers.setdefault(int(arrays.tasks["jeditaskid"][task]), {}).setdefault(queue, {})[kind] = n_jobs
    return {task: tuple((queue, tuple(kind for kind, n_jobs in kinds.items() if n_jobs >= LEAST_PART * sum(
        kinds.values()))) for queue, kinds in queues.items()) for task, queues in numbers.items()}


class TypesInUse:
    """`types_in_use`, read again at an age of AGE_S."""

    def __init__(self) -> None:
        self.read_at, self.known = -np.inf, dict[int, TypesAt]()

    def known_at(self, arrays: Arrays, now: float) -> dict[int, TypesAt]:
        """Resource types by task, read again where they are too old at a time."""
        if now - self.read_at >= AGE_S:
            self.read_at, self.known = now, types_in_use(arrays)
        return self.known


@compiled
def mark_mixed(world: Arrays, mixed):
    """Mark in `mixed`, (n_tasks,) bool, tasks with a live job of another resource type than theirs."""
    for row in range(len(world.jobs)):
        job = world.jobs[row]
        if job["panda_id"] > 0 and job["resource_type"] != world.tasks[job["task"]]["resource_type"]:
            mixed[job["task"]] = True


@compiled
def find_places(world: Arrays, mixed, n_types, places):
    """Write task, queue and resource type of each counted job of a marked task as one number into `places`.

    Returns how many there are; the order of these numbers is that of task, queue and type.
    """
    n, n_queues = 0, len(world.queues)
    for row in range(len(world.jobs)):
        job = world.jobs[row]
        if FIRST <= job["status"] <= LAST and job["panda_id"] > 0 and mixed[job["task"]]:
            places[n] = (np.int64(job["task"]) * n_queues + job["queue"]) * n_types + job["resource_type"]
            n += 1
    return n
