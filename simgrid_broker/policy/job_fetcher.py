"""Harvester's job fetcher: the jobs that it fetches ahead for a push queue; source: lifecycle reference, 5.5."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.worker_adjuster import dynamic

MOST_JOBS = 500
"""Most jobs of one request."""


def jobs_to_fetch(limits: np.ndarray, starting: np.ndarray, running: np.ndarray, cores_starting: np.ndarray,
                  cores_running: np.ndarray) -> np.ndarray:
    """Jobs to fetch for each queue, (n_queues,) int64; the others: (n_queues,), limits of HARVESTER.

    A request is for the whole limit and not for what is lacking, so that nearly twice as many may be starting.
    """
    found = np.zeros(len(limits), np.int64)
    choose(limits, starting, running, cores_starting, cores_running, found)
    return found


@compiled
def choose(limits, starting, running, cores_starting, cores_running, found):
    """Write the jobs to fetch into `found`; the arguments before are those of `jobs_to_fetch`."""
    for queue in range(len(limits)):
        limit = limits[queue]
        least = min(1.0, limit["jobs_most"]) if np.isnan(limit["jobs_least"]) else limit["jobs_least"]
        most = dynamic(limit["jobs_most"], limit["jobs_ratio"], least, running[queue])
        cores = dynamic(limit["job_cores_most"], limit["job_cores_ratio"], limit["job_cores_least"],
                        cores_running[queue])
        if starting[queue] < most and cores_starting[queue] < cores:
            found[queue] = min(most, MOST_JOBS)
