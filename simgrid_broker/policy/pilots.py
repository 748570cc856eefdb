"""Unified pilot streaming: how many workers of each resource type every queue should get.

What lives here: the decision for all queues at once. What does not: Harvester's own limits and the submission (agents),
the limits of `uconfig` and `ups_core_target`, which the simulated queues do not have, and mean-memory throttling.

Sources: Global Shares paper, section 2.4; lifecycle reference, section 5.3.
"""

import numpy as np

from simgrid_broker.views import PilotStatus

QUEUED_PART = 0.4
"""Cores that should wait, as a part of the running ones."""
MIN_SLOTS_QUEUED = 75
"""Slots that should wait at least."""
MIN_SLOTS_NEEDED = 5
"""Slots that are asked for at least, if there are jobs for them."""


def new_workers(status: PilotStatus) -> np.ndarray:
    """Workers to submit, (n_queues, n_resource_types) int64.

    Shares are walked in their order, types within a share in the order of the table; PanDA walks the jobs of a share by
    priority. A job takes a worker of its type that already waits, if there is one; otherwise cores are taken from the
    need, until it is met. A type that ran out gets what it lacks and one more; a queue that gets none gets one worker
    of the type `status.score` (or its first type), so that it stays alive.
    """
    need = _need(status)
    waiting = status.workers_queued.T.astype(np.int64)              # (n_resource_types, n_queues)
    cores = np.ascontiguousarray(status.worker_cores.T)
    jobs = np.where(cores[None] > 0, status.activated.transpose(1, 2, 0), 0)
    for share in status.share_order:
        for type_ in np.flatnonzero(jobs[share].any(axis=1)):
            _take(jobs[share, type_], waiting[type_], cores[type_], need)
    lacking = np.where(waiting < 0, 1 - waiting, 0)
    return _keep_alive(lacking, cores, status.score).T.copy()


def _need(status: PilotStatus) -> np.ndarray:
    """Cores to ask for, (n_queues,)."""
    slot = np.maximum(status.corecount, 1)
    target = np.maximum(np.trunc(QUEUED_PART * status.cores_running), MIN_SLOTS_QUEUED * slot)
    return np.maximum(target - status.cores_queued, MIN_SLOTS_NEEDED * slot)


def _take(jobs: np.ndarray, waiting: np.ndarray, cores: np.ndarray, need: np.ndarray) -> None:
    """Take workers for the jobs of one share and type at all queues; changes `waiting` and `need`, (n_queues,) each.

    The job that takes the last waiting worker already costs cores, as in PanDA.
    """
    free = np.maximum(waiting - 1, 0)
    affordable = np.ceil(need / np.maximum(cores, 1)).astype(np.int64)
    taken = np.where(need > 0, np.minimum(jobs, free + affordable), 0)
    need -= cores * np.maximum(taken - free, 0)
    waiting -= taken


def _keep_alive(workers: np.ndarray, cores: np.ndarray, score: int) -> np.ndarray:
    """`workers` with one for each queue that has none, (n_resource_types, n_queues)."""
    first = np.where(cores[score] > 0, score, np.argmax(cores > 0, axis=0))
    idle = np.flatnonzero(~workers.any(axis=0) & (cores > 0).any(axis=0))
    workers[first[idle], idle] = 1
    return workers
