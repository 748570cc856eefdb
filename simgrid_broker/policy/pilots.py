"""Unified pilot streaming: the workers that every queue should get by resource type; source: Global Shares paper,
section 2.4; lifecycle reference, sections 5.3 and 5.4."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.views import PilotStatus

QUEUED_PART = 0.4
"""Target of waiting cores as a fraction of the running ones."""
MIN_SLOTS_QUEUED, MIN_SLOTS_NEEDED = 75, 5
"""Least number of waiting slots, and of slots requested if there are jobs for them."""


def new_workers(status: PilotStatus) -> np.ndarray:
    """Workers to submit, (n_queues, n_resource_types) int64.

    Shares are walked in their order, types within a share in the order of the table; PanDA walks the jobs of a share by
    priority. A job takes a worker of its type that already waits, if there is one; otherwise cores are taken from the
    need, until it is met. A type that ran out gets what it lacks and one more; a queue without any gets one worker of
    the type `status.score` (or its first type) as a keep-alive. Harvester then limits how many may wait.
    """
    jobs, waiting, cores, order = (np.array(numbers, np.int64, order="C") for numbers in (
        status.activated, status.workers_queued, status.worker_cores, status.share_order))
    take_workers(jobs, waiting, cores, _need(status), order)
    lacking = np.where(waiting < 0, 1 - waiting, 0)
    return _within_limit(_keep_alive(lacking, cores, status.score), status)


def _within_limit(workers: np.ndarray, status: PilotStatus) -> np.ndarray:
    """`workers` scaled down, type by type, to Harvester's limit of waiting workers, (n_queues, n_types).

    At most `queue_limit_ratio` of the running workers may wait, or `queue_limit_min` if that is more; the
    largest remainders are rounded up. Source: lifecycle reference, section 5.4; formats reference, section 11.
    """
    if status.workers_running is None:
        return workers
    limit = np.maximum((status.workers_running * status.queue_limit_ratio).astype(np.int64), status.queue_limit_min)
    room = np.maximum(limit - status.workers_queued.sum(axis=1), 0)
    wanted = workers.sum(axis=1)
    exact = workers * (np.minimum(room, wanted) / np.maximum(wanted, 1))[:, None]
    scaled = np.floor(exact + 1e-9).astype(np.int64)
    left = np.minimum(room, wanted) - scaled.sum(axis=1)
    rank = np.argsort(np.argsort(scaled - exact, axis=1, kind="stable"), axis=1, kind="stable")
    return scaled + (rank < left[:, None])


def _need(status: PilotStatus) -> np.ndarray:
    """Cores to ask for, (n_queues,)."""
    slot = np.maximum(status.corecount, 1)
    target = np.maximum(np.trunc(QUEUED_PART * status.cores_running), MIN_SLOTS_QUEUED * slot)
    return np.maximum(target - status.cores_queued, MIN_SLOTS_NEEDED * slot)


@compiled
def take_workers(jobs, waiting, cores, need, order):
    """Take workers for the jobs of all queues, (n_queues, n_shares, n_types), share by share in `order`.

    Changes `waiting`, workers without a job, (n_queues, n_types), negative by the number lacking, and `need`, cores
    still to be asked for, (n_queues,); cores: of a worker, (n_queues, n_types), 0 = no such type. The job that takes
    the last waiting worker already costs cores, as in PanDA.
    """
    for queue in range(len(need)):
        for share in order:
            for kind in range(cores.shape[1]):
                number = jobs[queue, share, kind]
                if number == 0 or cores[queue, kind] == 0 or need[queue] <= 0:
                    continue
                free = max(waiting[queue, kind] - 1, 0)
                affordable = np.int64(np.ceil(need[queue] / cores[queue, kind]))
                taken = min(number, free + affordable)
                need[queue] -= cores[queue, kind] * max(taken - free, 0)
                waiting[queue, kind] -= taken


def _keep_alive(workers: np.ndarray, cores: np.ndarray, score: int) -> np.ndarray:
    """`workers` with one for each queue that has none, (n_queues, n_resource_types)."""
    first = np.where(cores[:, score] > 0, score, np.argmax(cores > 0, axis=1))
    idle = np.flatnonzero(~workers.any(axis=1) & (cores > 0).any(axis=1))
    workers[idle, first[idle]] = 1
    return workers
