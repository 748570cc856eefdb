"""The server's pilot streaming and Harvester's submitter: submits workers of each type to every batch system.

Source: Global Shares paper, section 2.4; lifecycle reference, sections 5.3 and 5.4. Simplified: every queue is served
in pull mode, and a queue that is not unified is treated as one with a single type of worker.
"""

from collections.abc import Mapping

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import QueueStatus
from simgrid_broker.policy.resource_types import is_high_memory
from simgrid_broker.schema.queues import option_number
from simgrid_broker.world.observe import pilot_status, worker_types

NO_WORKERS = (QueueStatus.OFFLINE, QueueStatus.STANDBY, QueueStatus.MAINTENANCE)
"""Statuses of a queue to which Harvester submits nothing; source: lifecycle reference, section 4.6."""
HIGH_MEMORY = "HIMEM"
"""Name of the limit of all high-memory types together; source: formats reference, section 1.4."""
IDLE_TYPE = "SCORE"
"""Resource type of the worker that keeps an idle queue alive; source: lifecycle reference, section 5.4."""
LIMIT_RATIO, LIMIT_MIN = 40, 100
"""nQueueLimitWorkerRatio (%) and nQueueLimitWorkerMin of ATLAS's template; source: formats reference, section 11."""


def pilot_streaming(control: Control) -> Process:
    """Submit workers."""
    pseudo_queue_of, worker_cores = worker_types(control.arrays)
    types = control.world.vocabularies["resource_types"]
    score = types.index(IDLE_TYPE) if IDLE_TYPE in types else 0
    queues = control.world.scenario.grid.queues.values()
    options = queue_limits(queues) | streaming_options(queues, control.world.scenario.resource_types)

    def stream() -> None:
        status = pilot_status(control.arrays, pseudo_queue_of, worker_cores, options, score)
        workers = control.policies.pilot_submission(status)
        workers[np.isin(control.arrays.queues["status"], NO_WORKERS)] = 0
        queue, kind = np.nonzero(workers)
        control.fabric.submit_workers(pseudo_queue_of[queue, kind], workers[queue, kind], control.now)
    yield from control.every(control.periods.pilot_streaming, stream, "pilots")


def queue_limits(queues) -> dict[str, np.ndarray]:
    """Fraction of the running workers that may wait, and workers that may always wait, as columns of the view.

    The `params` of a queue take precedence over its template (formats reference, section 11: production.pull_ups).
    """
    ratio = [queue.params.get("nQueueLimitWorkerRatio", LIMIT_RATIO) for queue in queues]
    least = [queue.params.get("nQueueLimitWorkerMin", LIMIT_MIN) for queue in queues]
    return dict(queue_limit_ratio=np.array(ratio, float) / 100, queue_limit_min=np.array(least, np.int64))


def streaming_options(queues, types: Mapping) -> dict[str, np.ndarray]:
    """`ups_core_target` and `resource_type_limits` of unified queues as columns of the view; formats reference, 1.4.

    types: bounds of the resource types by name.
    """
    def numbers(key: str, default: float) -> np.ndarray:
        return np.array([option_number(queue, key, default) if queue.capability == "ucore" else default
                         for queue in queues])
    limits = {name: numbers(f"resource_type_limits.{name}", np.inf) for name in (*types, HIGH_MEMORY)}
    return dict(core_target=numbers("ups_core_target", 0), high_memory_limit=limits.pop(HIGH_MEMORY),
                limit_of_type=np.column_stack(list(limits.values())),
                high_memory=np.array([is_high_memory(kind) for kind in types.values()]))
