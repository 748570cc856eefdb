"""Pilot submission: one worker for each activated job that no waiting worker will take, in two forms."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.views import PilotStatus


def one_per_job(status: PilotStatus) -> np.ndarray:
    """Workers to submit, (n_queues, n_resource_types)."""
    lacking = status.activated.sum(axis=1) - status.workers_queued
    return np.where(status.worker_cores > 0, np.maximum(lacking, 0), 0).astype(np.int64)


def one_per_job_compiled(status: PilotStatus) -> np.ndarray:
    """As `one_per_job`, with the loop compiled: the pattern for rules that NumPy cannot express."""
    workers = np.zeros(status.worker_cores.shape, np.int64)
    fill(status.activated, status.workers_queued, status.worker_cores, workers)
    return workers


@compiled
def fill(activated, queued, cores, workers):
    """Write the workers of every queue and type into `workers`."""
    for queue in range(workers.shape[0]):
        for kind in range(workers.shape[1]):
            if cores[queue, kind] > 0:
                workers[queue, kind] = max(activated[queue, :, kind].sum() - queued[queue, kind], 0)
