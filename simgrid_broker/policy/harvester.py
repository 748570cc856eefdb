"""Harvester's decisions: workers to submit within the limits of each queue, jobs to fetch ahead, queues to spare.

Source: lifecycle reference, sections 5.4 (workers, throttler) and 5.5 (jobs); Harvester, plug-in SimpleThrottler.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.errors import PluginError
from simgrid_broker.names import QueueStatus
from simgrid_broker.systems.worker_mode import WorkerMode
from simgrid_broker.views import WorkerStatus

NO_WORKERS = (QueueStatus.OFFLINE, QueueStatus.STANDBY, QueueStatus.MAINTENANCE)
"""Statuses of a queue to which Harvester submits nothing; source: lifecycle reference, section 4.6."""
GETS_NONE = np.isin(list(QueueStatus), NO_WORKERS)
"""True for the statuses of queues that get no workers."""
MAX_NEW_WORKERS = 1000
"""maxNewWorkers: most workers of a queue that one cycle submits, whatever the queue says."""
MOST_JOBS = 500
"""Most jobs of one request."""
WORKERS = np.dtype([("wanted", "f8"), ("queued", "i8"), ("running", "i8"), ("cores", "i8"), ("memory", "f8")])
"""Workers of one queue and type: wanted, waiting and running ones, and the cores and the memory of one, MB."""


def workers_to_submit(status: WorkerStatus, modes: Mapping[WorkerMode, np.ndarray]) -> np.ndarray:
    """Workers to submit, (n_queues, n_resource_types) int64; modes: of the queues, each with its queues, bool."""
    workers = np.empty(status.cores.shape, WORKERS)
    for name in ("queued", "running", "cores", "memory"):
        workers[name] = getattr(status, name)
    for mode, queues in modes.items():
        workers["wanted"][queues] = wanted_by(mode, status)[queues]
    submitted = np.zeros(workers.shape, np.int64)
    adjust(GETS_NONE[np.asarray(status.status)] | status.throttled, status.limits, workers, submitted,
           np.empty((status.cores.shape[-1], 2), np.int64))
    return submitted


def wanted_by(mode: WorkerMode, status: WorkerStatus) -> np.ndarray:
    """Workers that a mode wants; raises PluginError unless it gives numbers from 0 on, (n_queues, n_types)."""
    wanted = np.asarray(mode.wanted(status))
    if wanted.shape != status.cores.shape or not np.issubdtype(wanted.dtype, np.number) or not (wanted >= 0).all():
        raise PluginError(f"{mode.name!r} (worker mode) must want numbers of workers from 0 on, "
                          f"(n_queues, n_resource_types), not {' '.join(repr(wanted).split())[:200]}")
    return wanted


@compiled
def adjust(closed, limits, workers, submitted, remainders):
    """Write the workers of each queue and type into `submitted`; workers: (n_queues, n_types) of WORKERS."""
    for queue in range(len(closed)):
        if closed[queue]:
            continue
        limit, types = limits[queue], workers[queue]
        waiting, busy = types["queued"].sum(), types["running"].sum()
        most = dynamic(limit["queued_most"], limit["queued_ratio"], limit["queued_least"], busy)
        room = min(most - waiting, limit["most_workers"] - waiting - busy)
        cores_left = headroom(limit["cores_most"], limit["cores_ratio"], limit["cores_least"], types, types["cores"])
        memory_left = headroom(limit["memory_most"], limit["memory_ratio"], limit["memory_least"], types,
                               types["memory"])
        for kind in range(len(types)):
            each = types[kind]
            if each["cores"] > 0:
                number = min(each["wanted"], most - each["queued"],
                             limit["most_workers"] - each["queued"] - each["running"],
                             np.ceil(cores_left / each["cores"]), np.ceil(memory_left / each["memory"]),
                             limit["new_per_cycle"], MAX_NEW_WORKERS)
                submitted[queue, kind] = max(number, 0.0)
        scale(submitted[queue], np.int64(max(min(room, limit["new_per_cycle"], MAX_NEW_WORKERS), 0.0)), remainders)


@compiled
def dynamic(most, ratio, least, running):
    """Workers, cores or memory that may wait while so much is running; a ratio of NaN = always `most`."""
    if np.isnan(ratio):
        return most
    part = np.floor(running * ratio / 100)
    return min(most, least) if not np.isnan(least) and part < least else min(most, part)


@compiled
def headroom(most, ratio, least, types, size):
    """Cores or memory that more workers of a queue may ask for; size: (n_types,), those of one worker."""
    if np.isinf(most) and np.isnan(ratio):
        return np.inf
    waiting, busy = 0.0, 0.0
    for kind in range(len(size)):
        waiting += types[kind]["queued"] * size[kind]
        busy += types[kind]["running"] * size[kind]
    return max(dynamic(most, ratio, least, busy) - waiting, 0.0)


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


def jobs_to_fetch(limits: np.ndarray, starting: np.ndarray, running: np.ndarray, cores_starting: np.ndarray,
                  cores_running: np.ndarray) -> np.ndarray:
    """Jobs to fetch for each queue, (n_queues,) int64; the others: (n_queues,), limits of HARVESTER.

    A request is for the whole limit and not for what is lacking, so that nearly twice as many may be starting.
    """
    numbers = np.zeros(len(limits), np.int64)
    choose(limits, starting, running, cores_starting, cores_running, numbers)
    return numbers


@compiled
def choose(limits, starting, running, cores_starting, cores_running, numbers):
    """Write the jobs to fetch into `numbers`; the arguments before are those of `jobs_to_fetch`."""
    for queue in range(len(limits)):
        limit = limits[queue]
        least = min(1.0, limit["jobs_most"]) if np.isnan(limit["jobs_least"]) else limit["jobs_least"]
        most = dynamic(limit["jobs_most"], limit["jobs_ratio"], least, running[queue])
        cores = dynamic(limit["job_cores_most"], limit["job_cores_ratio"], limit["job_cores_least"],
                        cores_running[queue])
        if starting[queue] < most and cores_starting[queue] < cores:
            numbers[queue] = min(most, MOST_JOBS)


def is_throttled(missed: Sequence[int], most: Sequence[int], all_rules: bool) -> bool:
    """Test whether the missed workers that each rule counts exceed what it allows; all_rules: one is not enough."""
    exceeded = [number > limit for number, limit in zip(missed, most, strict=True)]
    return all(exceeded) if all_rules else any(exceeded)
