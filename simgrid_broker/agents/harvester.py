"""Harvester: what it knows of the queues, and the workers that the server has asked it for."""

import numpy as np

from simgrid_broker.names import WorkerMode
from simgrid_broker.schema.harvester import HARVESTER
from simgrid_broker.views import WorkerStatus
from simgrid_broker.world.pilot_status import activated_of_pull, worker_status, worker_types
from simgrid_broker.world.world import World

CACHE_S = 600.0
"""Age at which statistics of jobs and statuses of queues are read again; source: lifecycle reference, section 5.4."""


class Harvester:
    """All instances of Harvester together.

    types: workers of each queue by resource type; limits: (n_queues,) of HARVESTER; asked: (n_queues, n_types), workers
    asked for and not submitted yet.
    """

    def __init__(self, world: World):
        self.world, self.types = world, worker_types(world.arrays)
        self.limits = HARVESTER.filled(tuple(world.scenario.grid.queues.values()), {})
        self.asked = np.zeros(self.types.cores.shape, np.int64)
        at_first, queue = self.limits["new_at_first"], np.arange(len(self.limits))
        self.asked[queue, np.argmax(self.types.cores > 0, axis=1)] = np.where(np.isnan(at_first), 0, at_first)
        self._read_at = -np.inf

    def command(self, workers: np.ndarray) -> None:
        """Take the server's command: workers by type, (n_queues, n_types), of the queues in streaming mode.

        What was asked for before is forgotten. Source: lifecycle reference, section 5.4 (SET_N_WORKERS_JOBTYPE).
        """
        streaming = self.world.arrays.queues["worker_mode"] == WorkerMode.STREAMING
        self.asked[streaming] = workers[streaming]

    def look(self, now: float) -> WorkerStatus:
        """What it sees; numbers of activated jobs and statuses of queues are up to CACHE_S old."""
        arrays = self.world.arrays
        if now - self._read_at >= CACHE_S:
            self._read_at = now
            self._activated, self._status = activated_of_pull(arrays), arrays.queues["status"].copy()
        return worker_status(arrays, self.types, self.limits, self.asked, self._status, self._activated)

    def submitted(self, workers: np.ndarray) -> None:
        """Note that workers, (n_queues, n_types), have been submitted."""
        np.maximum(self.asked - workers, 0, out=self.asked)
