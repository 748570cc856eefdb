"""Harvester's decisions: workers to submit within the limits of each queue, jobs to fetch ahead, queues to spare.

Source: lifecycle reference, sections 5.4 (workers, throttler) and 5.5 (jobs); Harvester, plug-in SimpleThrottler.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
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
KEEPS_ASKED = ByEdition(documented=False, deployed=True)
"""True if a type that waits enough keeps the number asked for until all types are scaled, by edition: the code leaves
the number where it stands, so that it is submitted where no scaling follows (Harvester, WorkerAdjuster)."""
SWAPS_REQUESTS = ByEdition(documented=False, deployed=True)
"""True if cores and memory of the worker of a plain queue change places in its limits of cores and memory, by edition:
an accident of the code (Harvester, ResourceTypeMapper.calculate_worker_requirements)."""
WORKERS = np.dtype([("exists", "?"), ("wanted", "f8"), ("kept", "f8"), ("queued", "i8"), ("running", "i8"),
                    ("cores", "f8"), ("memory", "f8"), ("cut_by", "i8")])
"""Workers of one queue and type, if there are any: wanted, kept where a limit is met, waiting and running ones, and the
cores and the memory that limits count for one, MB; cut_by: in CUT_BY, -1 = nothing."""


CUT_BY = ("status or throttler", "nQueueLimitWorker", "maxWorkers", "nQueueLimitWorkerCores", "nQueueLimitWorkerMemory",
          "maxNewWorkersPerCycle", "limits of all types together")
"""Limits that leave fewer workers of a type than are wanted; maxNewWorkersPerCycle includes maxNewWorkers."""
CLOSED, WAITING, IN_ALL, CORES, MEMORY, NEW, TOGETHER = range(len(CUT_BY))
UNCUT = -1


def workers_to_submit(status: WorkerStatus, modes: Mapping[WorkerMode, np.ndarray], edition: str) -> np.ndarray:
    """Workers to submit, (n_queues, n_resource_types) int64; modes: of the queues, each with its queues, bool."""
    return adjusted(status, modes, edition)[0]


def adjusted(status: WorkerStatus, modes: Mapping[WorkerMode, np.ndarray],
             edition: str) -> tuple[np.ndarray, np.ndarray]:
    """Workers to submit, int64, and WORKERS with what cut them, (n_queues, n_resource_types) each.

    Source: lifecycle reference, section 5.4; Harvester, `WorkerAdjuster.define_num_workers`.
    """
    shape, keeps = status.cores.shape, np.zeros(len(status.cores), bool)
    wanted, workers, submitted = np.zeros(shape), np.zeros(shape, WORKERS), np.zeros(shape, np.int64)
    for mode, queues in modes.items():
        np.copyto(wanted, wanted_by(mode, status), where=queues[:, None])
        if KEEPS_ASKED[edition] and (mode.asked_by_server or not mode.fetches_jobs):
            keeps |= queues
    adjust((np.asarray(status.status, np.int8), status.throttled, status.by_type, status.unified, keeps),
           SWAPS_REQUESTS[edition], (status.queued, status.running, status.cores, status.memory),
           (wanted, status.asked), (status.limits, status.sums), float(status.max_new_workers),
           (workers, submitted, np.empty((shape[-1], 2), np.int64)))
    return submitted, workers


def wanted_by(mode: WorkerMode, status: WorkerStatus) -> np.ndarray:
    """Workers that a mode wants; raises PluginError unless it gives numbers from 0 on, (n_queues, n_types)."""
    wanted = np.asarray(mode.wanted(status))
    if wanted.shape != status.cores.shape or wanted.dtype.kind not in "iuf" or not (wanted >= 0).all():
        raise PluginError(f"{mode.name!r} (worker mode) must want numbers of workers from 0 on, "
                          f"(n_queues, n_resource_types), not {' '.join(repr(wanted).split())[:200]}")
    return wanted


@compiled
def adjust(flags, swaps, numbers, wishes, limits_and_sums, max_new, found):
    """Fill in what `adjusted` returns, the first two of `found`, 0 before; the third is room for the calculation.

    flags: status of the queues, whether they are throttled, workers are counted by type, queues are unified, and keep
    the numbers asked for, (n_queues,) each; swaps: as SWAPS_REQUESTS; numbers: queued and running workers, cores and
    memory of one; wishes: workers wanted and asked for; both (n_queues, n_types) each; max_new: 0 = unlimited.
    """
    (status, throttled, by_type, unified, keeps), (wanted, asked) = flags, wishes
    (limits, sums), (workers, submitted, remainders) = limits_and_sums, found
    for queue in range(len(status)):
        limit, types, is_closed = limits[queue], workers[queue], GETS_NONE[status[queue]] or throttled[queue]
        for kind in range(len(types)):
            types[kind]["cut_by"] = CLOSED if is_closed else UNCUT
            types[kind]["wanted"] = wanted[queue, kind]
            types[kind]["kept"] = asked[queue, kind] if keeps[queue] else 0
        if wants_none(types):
            continue
        take_numbers(types, queue, numbers, swaps and not unified[queue])
        if is_closed:
            continue
        room = room_of(limit, sums[queue], max_new)
        for kind in range(len(types)):
            if types[kind]["exists"]:
                submitted[queue, kind] = workers_of_type(types[kind], room)
        if by_type[queue]:
            waiting, busy = types["queued"].sum(), types["running"].sum()
            most, least = room[0] - waiting, WAITING
            for place, left in ((IN_ALL, limit["most_workers"] - waiting - busy), (NEW, limit["new_per_cycle"]),
                                (NEW, or_none(max_new))):
                if left < most:
                    most, least = left, place
            before = submitted[queue].sum()
            scale(submitted[queue], np.int64(max(most, 0.0)), remainders)
            for kind in range(len(types) if submitted[queue].sum() < before else 0):
                if types[kind]["cut_by"] == UNCUT:
                    types[kind]["cut_by"] = TOGETHER
                elif submitted[queue, kind] < remainders[kind, 1]:         # of the number that its own limit left
                    types[kind]["cut_by"] = least


@compiled
def wants_none(types):
    """True if no workers of any type are wanted or kept, so that none are submitted whatever the limits are."""
    for kind in range(len(types)):
        if types[kind]["wanted"] > 0 or types[kind]["kept"] > 0:
            return False
    return True


@compiled
def take_numbers(types, queue, numbers, swapped):
    """Fill in the workers of each type of a queue, and what limits count for one; numbers: as of `adjust`."""
    queued, running, cores, memory = numbers
    for kind in range(len(types)):
        each = types[kind]
        each["queued"], each["running"] = queued[queue, kind], running[queue, kind]
        each["exists"] = cores[queue, kind] > 0
        each["cores"], each["memory"] = cores[queue, kind], memory[queue, kind]
        if swapped:
            each["cores"], each["memory"] = memory[queue, kind], cores[queue, kind]


@compiled
def count_cuts(workers, submitted, counted):
    """Add a cycle to sums by the limit that cut the workers of each queue and type, where any were wanted.

    workers, submitted: of `adjusted`; counted: cycles, workers wanted and submitted by what cut them, none first,
    (n_queues, n_types, n_limits + 1, 3). Returns the number submitted.
    """
    total = 0
    for queue in range(len(workers)):
        for kind in range(workers.shape[1]):
            each = workers[queue, kind]
            total += submitted[queue, kind]
            if each["exists"] and each["wanted"] > 0:
                sums = counted[queue, kind, each["cut_by"] - UNCUT]
                sums[0] += 1
                sums[1] += each["wanted"]
                sums[2] += submitted[queue, kind]
    return total


@compiled
def room_of(limit, total, max_new):
    """Room that a queue with its limits, of HARVESTER, leaves, by sums over its workers, of views.QUEUE_WORKERS.

    Returns most workers that may wait, and in all; cores and memory left, inf = no limit; new workers of a type.
    """
    most = dynamic(limit["queued_most"], limit["queued_ratio"], limit["queued_least"], total["running"])
    cores = dynamic(limit["cores_most"], limit["cores_ratio"], limit["cores_least"], total["cores_running"])
    memory = dynamic(limit["memory_most"], limit["memory_ratio"], limit["memory_least"], total["memory_running"])
    new = min(or_none(limit["new_per_cycle"]), or_none(max_new))
    return most, limit["most_workers"], cores - total["cores_queued"], memory - total["memory_queued"], new


@compiled
def workers_of_type(each, room):
    """New workers of a type of a queue before all types are scaled; a limit of 0 workers is no limit."""
    most, in_all, cores, memory, new = or_none(room[0]), or_none(room[1]), room[2], room[3], room[4]
    busy = each["queued"] + each["running"]
    left = most - each["queued"], in_all - busy, workers_in(cores, each["cores"]), workers_in(memory, each["memory"])
    number = each["wanted"]
    for place, room_left in enumerate((left[0], left[1], left[2], left[3], new)):
        if room_left < each["wanted"] and room_left <= number:
            number, each["cut_by"] = room_left, WAITING + place
    if each["queued"] >= most or busy >= in_all or cores <= 0 or memory <= 0:
        return np.int64(each["kept"])
    return np.int64(max(number, 0.0))


@compiled
def workers_in(left, size):
    """Workers of a size that fill what is left of cores or memory, the last one more than that."""
    return np.inf if np.isinf(left) or size == 0 else np.ceil(left / size)


@compiled
def or_none(limit):
    """A limit, inf where it is 0, which means that there is no limit."""
    return limit if limit > 0 else np.inf


@compiled
def dynamic(most, ratio, least, running):
    """Workers, cores or memory that may wait while so much is running; a ratio of NaN = always `most`."""
    if np.isnan(ratio):
        return most
    part = np.floor(running * ratio / 100)
    return min(most, least) if not np.isnan(least) and part < least else min(most, part)


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
