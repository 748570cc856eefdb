"""The server's pilot streaming and Harvester's submitter: submits workers of each type to every batch system.

Source: Global Shares paper, section 2.4; lifecycle reference, sections 5.3 and 5.4. Simplified: every queue is served
in pull mode, and a queue that is not unified is treated as one with a single type of worker.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import QueueStatus
from simgrid_broker.world.observe import pilot_status, worker_types

NO_WORKERS = (QueueStatus.OFFLINE, QueueStatus.STANDBY, QueueStatus.MAINTENANCE)
"""Statuses of a queue to which Harvester submits nothing; source: lifecycle reference, section 4.6."""
IDLE_TYPE = "SCORE"
"""Resource type of the worker that keeps an idle queue alive; source: lifecycle reference, section 5.4."""
LIMIT_RATIO, LIMIT_MIN = 40, 100
"""nQueueLimitWorkerRatio (%) and nQueueLimitWorkerMin of ATLAS's template; source: formats reference, section 11."""


def pilot_streaming(control: Control) -> Process:
    """Submit workers."""
    pseudo_queue_of, worker_cores = worker_types(control.arrays)
    types = control.world.vocabularies["resource_types"]
    score = types.index(IDLE_TYPE) if IDLE_TYPE in types else 0
    limits = queue_limits(control.world.scenario.grid.queues.values())

    def stream() -> None:
        status = pilot_status(control.arrays, pseudo_queue_of, worker_cores, limits, score)
        workers = control.policies.pilot_submission(status)
        workers[np.isin(control.arrays.queues["status"], NO_WORKERS)] = 0
        queue, kind = np.nonzero(workers)
        control.fabric.submit_workers(pseudo_queue_of[queue, kind], workers[queue, kind], control.now)
    yield from control.every(control.periods.pilot_streaming, stream, "pilots")


def queue_limits(queues) -> tuple[np.ndarray, np.ndarray]:
    """Fraction of the running workers that may wait, and workers that may always wait, (n_queues,) each.

    The `params` of a queue take precedence over its template (formats reference, section 11: production.pull_ups).
    """
    ratio = [queue.params.get("nQueueLimitWorkerRatio", LIMIT_RATIO) for queue in queues]
    least = [queue.params.get("nQueueLimitWorkerMin", LIMIT_MIN) for queue in queues]
    return np.array(ratio, float) / 100, np.array(least, np.int64)
