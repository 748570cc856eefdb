"""Mean memory per core of the jobs at each PanDA queue; source: lifecycle reference, sections 1.3 and 5.2."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import Arrays

RUNNING, STARTING = int(JobStatus.RUNNING), int(JobStatus.STARTING)


@compiled
def add_memory(world: Arrays, total_mb, n_jobs):
    """Add memory per core, MB, and number of running (column 0) and starting jobs (1), (n_queues, 2) each."""
    for row in range(len(world.jobs)):
        job = world.jobs[row]
        if job["panda_id"] != 0 and (job["status"] == RUNNING or job["status"] == STARTING):
            column = 1 if job["status"] == STARTING else 0
            total_mb[job["queue"], column] += np.float64(job["ramcount_mb"]) / job["corecount"]
            n_jobs[job["queue"], column] += 1


def mean_memory(arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Mean memory per core that jobs asked for, MB, (n_queues,), NaN = no job: of running, of running and starting."""
    shape = len(arrays.queues), 2
    total_mb, n_jobs = np.zeros(shape), np.zeros(shape, np.int64)
    add_memory(arrays, total_mb, n_jobs)
    total_mb, n_jobs = np.cumsum(total_mb, axis=1), np.cumsum(n_jobs, axis=1)
    mean = np.divide(total_mb, n_jobs, out=np.full(shape, np.nan), where=n_jobs > 0)
    return mean[:, 0], mean[:, 1]
