"""Harvester's worker adjuster: the workers of each queue and type to submit now, within the limits of the queue.

Source: lifecycle reference, section 5.4.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import QueueStatus, WorkerMode
from simgrid_broker.views import WorkerStatus

NO_WORKERS = (QueueStatus.OFFLINE, QueueStatus.STANDBY, QueueStatus.MAINTENANCE)
"""Statuses of a queue to which Harvester submits nothing; source: lifecycle reference, section 4.6."""
GETS_NONE = np.isin(list(QueueStatus), NO_WORKERS)
"""Whether a queue gets no workers, by its status."""
MAX_NEW_WORKERS = 1000
"""maxNewWorkers: most workers of a queue that one cycle submits, whatever the queue says."""
PULL = int(WorkerMode.PULL)


def workers_to_submit(status: WorkerStatus) -> np.ndarray:
    """Workers to submit, (n_queues, n_resource_types) int64."""
    found = np.zeros(status.cores.shape, np.int64)
    adjust(GETS_NONE[np.asarray(status.status)] | status.throttled, np.asarray(status.mode), status.activated,
           status.limits, status.asked, status.queued, status.running, status.cores, status.memory, found,
           np.empty((status.cores.shape[-1], 2), np.int64))
    return found


@compiled
def adjust(closed, mode, activated, limits, asked, queued, running, cores, memory, found, remainders):
    """Write the workers of each queue and type into `found`; the arguments before are those of `WorkerStatus`."""
    for queue in range(len(closed)):
        if closed[queue]:
            continue
        limit = limits[queue]
        waiting, busy = queued[queue].sum(), running[queue].sum()
        most = dynamic(limit["queued_most"], limit["queued_ratio"], limit["queued_least"], busy)
        room = min(most - waiting, limit["most_workers"] - waiting - busy)
        cores_left = headroom(limit["cores_most"], limit["cores_ratio"], limit["cores_least"], queued[queue],
                              running[queue], cores[queue])
        memory_left = headroom(limit["memory_most"], limit["memory_ratio"], limit["memory_least"], queued[queue],
                               running[queue], memory[queue])
        for kind in range(cores.shape[1]):
            if cores[queue, kind] > 0:
                wanted = float(asked[queue, kind])
                if mode[queue] == PULL:
                    wanted = max(np.floor(activated[queue] * limit["pull_factor"]), limit["pull_least"])
                    wanted = wanted - queued[queue, kind] if is_generic(cores, memory, queue, kind) else 0.0
                wanted = min(wanted, most - queued[queue, kind],
                             limit["most_workers"] - queued[queue, kind] - running[queue, kind],
                             np.ceil(cores_left / cores[queue, kind]), np.ceil(memory_left / memory[queue, kind]),
                             limit["new_per_cycle"], MAX_NEW_WORKERS)
                found[queue, kind] = max(wanted, 0.0)
        scale(found[queue], np.int64(max(min(room, limit["new_per_cycle"], MAX_NEW_WORKERS), 0.0)), remainders)


@compiled
def dynamic(most, ratio, least, running):
    """Workers, cores or memory that may wait while so much is running; a ratio of NaN = always `most`."""
    if np.isnan(ratio):
        return most
    part = np.floor(running * ratio / 100)
    return min(most, least) if not np.isnan(least) and part < least else min(most, part)


@compiled
def headroom(most, ratio, least, queued, running, size):
    """Cores or memory that more workers may ask for; queued, running, size: (n_types,), `size` that of one worker."""
    if np.isinf(most) and np.isnan(ratio):
        return np.inf
    waiting, busy = 0.0, 0.0
    for kind in range(len(size)):
        waiting += queued[kind] * size[kind]
        busy += running[kind] * size[kind]
    return max(dynamic(most, ratio, least, busy) - waiting, 0.0)


@compiled
def is_generic(cores, memory, queue, kind):
    """Whether a type is that of the workers of a pull queue: most cores, then most memory, then the first."""
    for other in range(cores.shape[1]):
        more = cores[queue, other] - cores[queue, kind]
        if more > 0 or (more == 0 and (memory[queue, other] > memory[queue, kind]
                                       or (memory[queue, other] == memory[queue, kind] and other < kind))):
            return False
    return True


@compiled
def scale(workers, most, remainders):
    """Scale the workers of all types, (n_types,), down to `most` together; the larger remainders are rounded up.

    Of equal remainders that of the rarer type comes first. remainders: (n_types, 2), room for the calculation.
    """
    total = workers.sum()
    if total <= most:
        return
    left = most
    for kind in range(len(workers)):
        wanted = workers[kind]
        remainders[kind, 0], remainders[kind, 1] = wanted * most % total, wanted
        workers[kind] = wanted * most // total
        left -= workers[kind]
    for _ in range(left):
        best = 0
        for kind in range(1, len(workers)):
            if remainders[kind, 0] > remainders[best, 0] or (remainders[kind, 0] == remainders[best, 0]
                                                             and remainders[kind, 1] < remainders[best, 1]):
                best = kind
        workers[best] += 1
        remainders[best, 0] = -1
