"""Harvester: what it knows of the queues, the workers that the server has asked it for, and the jobs it has fetched."""

import numpy as np

from simgrid_broker.names import WorkerMode
from simgrid_broker.schema.harvester import HARVESTER
from simgrid_broker.schema.queues import option_number
from simgrid_broker.views import WorkerStatus
from simgrid_broker.world.arrays import WAITING
from simgrid_broker.world.pilot_status import (
    activated_of_pull,
    numbers_of_types,
    types_of_workers,
    worker_status,
    worker_types,
)
from simgrid_broker.world.world import World

CACHE_S = 600.0
"""Age at which statistics of jobs and statuses of queues are read again; source: lifecycle reference, section 5.4."""


class Harvester:
    """All instances of Harvester together.

    types: workers of each queue by resource type; limits: (n_queues,) of HARVESTER; push: queues in push mode; asked:
    (n_queues, n_types), workers asked for and not submitted yet; waiting: by push queue, the fetched jobs without a
    worker, (n,) of WAITING, the oldest first.
    """

    def __init__(self, world: World):
        queues = tuple(world.scenario.grid.queues.values())
        self.world, self.types = world, worker_types(world.arrays)
        self.limits = HARVESTER.filled(queues, {})
        self.push = np.flatnonzero(world.arrays.queues["worker_mode"] == WorkerMode.PUSH)
        self.waiting = {queue: np.zeros(0, WAITING) for queue in self.push.tolist()}
        self.most_of_type = {queue: self._limits_of_types(queues[queue]) for queue in self.waiting}
        self.asked = np.zeros(self.types.cores.shape, np.int64)
        at_first, queue = self.limits["new_at_first"], np.arange(len(self.limits))
        self.asked[queue, np.argmax(self.types.cores > 0, axis=1)] = np.where(np.isnan(at_first), 0, at_first)
        self._read_at = -np.inf

    def _limits_of_types(self, queue) -> np.ndarray:
        """Starting and running jobs of each type at which no more are fetched, (n_types,); formats reference, 1.4."""
        return np.array([option_number(queue, f"resource_type_limits.{name}", np.inf)
                         for name in self.world.vocabularies["resource_types"]])

    def command(self, workers: np.ndarray) -> None:
        """Take the server's command: workers by type, (n_queues, n_types), of the queues in streaming mode.

        What was asked for before is forgotten. Source: lifecycle reference, section 5.4 (SET_N_WORKERS_JOBTYPE).
        """
        streaming = self.world.arrays.queues["worker_mode"] == WorkerMode.STREAMING
        self.asked[streaming] = workers[streaming]

    def look(self, now: float) -> WorkerStatus | None:
        """What it sees, None if no queue needs workers; activated jobs and statuses of queues are up to CACHE_S old."""
        arrays = self.world.arrays
        if now - self._read_at >= CACHE_S:
            self._read_at = now
            self._activated, self._status = activated_of_pull(arrays), arrays.queues["status"].copy()
        if not self.asked.any() and not (arrays.queues["worker_mode"] == WorkerMode.PULL).any():
            return None
        return worker_status(arrays, self.types, self.limits, self.asked, self._status, self._activated)

    def submitted(self, workers: np.ndarray) -> None:
        """Note that workers, (n_queues, n_types), have been submitted."""
        np.maximum(self.asked - workers, 0, out=self.asked)

    def range_of(self, queue: int) -> tuple[int, int]:
        """First pseudo-queue of a queue, and one past the last."""
        numbers = self.types.pseudo_queue[queue]
        return int(numbers[numbers >= 0].min()), int(numbers.max()) + 1

    def fetched(self, queue: int, jobs: np.ndarray) -> None:
        """Take jobs that were fetched for a push queue, (n,) of WAITING; workers are then asked for by their types."""
        self.waiting[queue] = np.concatenate([self.waiting[queue], jobs])
        self._ask(queue)

    def next_jobs(self, queue: int, workers: np.ndarray) -> np.ndarray:
        """Remove and return the oldest fetched jobs of a push queue for workers by type, (n_types,)."""
        jobs, kind = self.waiting[queue], self._kinds(queue)
        place = np.zeros(len(jobs), np.int64)            # among the jobs of its type
        for number in range(len(workers)):
            place[kind == number] = np.arange(np.count_nonzero(kind == number))
        chosen = place < workers[kind]
        self.waiting[queue] = jobs[~chosen]
        self._ask(queue)
        return jobs[chosen]

    def _ask(self, queue: int) -> None:
        self.asked[queue] = numbers_of_types(self._kinds(queue), len(self.asked[queue]))

    def _kinds(self, queue: int) -> np.ndarray:
        return types_of_workers(self.world.arrays, self.waiting[queue]["row"])
