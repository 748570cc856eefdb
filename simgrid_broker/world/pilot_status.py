"""Makes the views of pilot streaming and of Harvester from the tables of the world."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker import views
from simgrid_broker.bundle import fetch
from simgrid_broker.compiled import compiled
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import JOB_BYTES, Arrays
from simgrid_broker.world.jobs.counts import of_shares
from simgrid_broker.world.jobs.loads import ranks_by_priority

ACTIVATED, STARTING, RUNNING = int(JobStatus.ACTIVATED), int(JobStatus.STARTING), int(JobStatus.RUNNING)


HEAP = np.dtype([("queue", "i4"), ("share", "i4"), ("resource_type", "i4"), ("pseudo_queue", "i4"), ("most", "i8")])
"""A heap of activated jobs: its PanDA queue, share and resource type, its pseudo-queue, and how many of its first jobs
are counted."""


class WorkerTypes(NamedTuple):
    """Workers of each queue by resource type, (n_queues, n_types) each; type 0 where queues are not unified."""

    pseudo_queue: np.ndarray       # -1 = the queue has no such type
    cores: np.ndarray              # 0 = the same
    memory: np.ndarray             # MB


def worker_types(arrays: Arrays) -> WorkerTypes:
    """The workers that the queues of a world may have."""
    shape = arrays.counts.shape[0], arrays.counts.shape[2]
    found = WorkerTypes(np.full(shape, -1, np.int64), np.zeros(shape, np.int64), np.zeros(shape))
    pseudo = arrays.pseudo_queues
    place = pseudo["queue"], np.maximum(pseudo["resource_type"], 0)
    found.pseudo_queue[place] = np.arange(len(pseudo))
    found.cores[place], found.memory[place] = pseudo["corecount"], pseudo["worker_mb"]
    return found


def mean_memory(memory: np.ndarray, cores: np.ndarray) -> np.ndarray:
    """Memory per core of workers, MB, (n_queues,), by the sums of both; NaN without workers."""
    return np.divide(memory, cores, out=np.full(len(cores), np.nan), where=cores > 0)


def activated_by_type(arrays: Arrays) -> np.ndarray:
    """Activated jobs by type of worker, (n_queues, n_shares, n_types)."""
    activated = of_shares(arrays.counts[..., ACTIVATED].astype(np.int64), len(arrays.hs06_milli))
    plain = arrays.queues["unified"] == 0
    activated[plain, :, 0] = activated[plain].sum(axis=2)
    return activated


def pilot_status(arrays: Arrays, types: WorkerTypes, activated: np.ndarray, **columns: Any) -> views.PilotStatus:
    """View of all queues for pilot streaming; activated: of `activated_by_type`; columns: of the view."""
    queued, running, sums = workers_of(arrays, types)
    memory, cores = sums["memory_running"] + sums["memory_queued"], sums["cores_running"] + sums["cores_queued"]
    return views.PilotStatus(
        running_of_type=running, status=arrays.queues["status"].copy(),
        corecount=arrays.queues["corecount"].astype(np.int64), cores_running=sums["cores_running"],
        cores_queued=sums["cores_queued"], workers_queued=queued, worker_cores=types.cores, activated=activated,
        share_order=arrays.share_order.copy(), by_priority=jobs_by_priority(arrays, types),
        mean_memory=mean_memory(memory, cores),
        mean_memory_running=mean_memory(sums["memory_running"], sums["cores_running"]), **columns)


def jobs_by_priority(arrays: Arrays, types: WorkerTypes) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Function that gives the activated jobs of queues and their shares, as `PilotStatus.by_priority`."""
    def look_up(queue: np.ndarray, share: np.ndarray, most: np.ndarray) -> np.ndarray:
        number = arrays.counts[queue, :, :, ACTIVATED].sum(dtype=np.int64)
        pair, kind = np.nonzero(types.pseudo_queue[queue] >= 0)
        heaps = np.empty(len(pair), HEAP)
        heaps["queue"], heaps["share"], heaps["resource_type"] = queue[pair], share[pair], kind
        heaps["pseudo_queue"], heaps["most"] = types.pseudo_queue[queue[pair], kind], most[pair, kind]
        jobs, oldest, queued = (np.empty(number, dtype) for dtype in (views.WAITING_JOBS, np.int64, np.int64))
        n = count_by_priority(arrays, heaps, jobs, oldest, queued)
        return jobs[np.argsort(oldest[:n], kind="stable")]
    return look_up


@compiled
def count_by_priority(world: Arrays, heaps, jobs, oldest, queued):
    """Write the activated jobs of some heaps, (k,) of HEAP, to `jobs`, a row of each for each priority.

    Of each heap, those behind the first `most` by priority may be missing. oldest: smallest PandaID of each row;
    queued: room for as many jobs, which are looked at in turn, so that each has been fetched by then. Returns the rows
    in use.
    """
    n, is_ordered = 0, ranks_by_priority(world)
    for k in range(len(heaps)):
        heap, first, done, known, left = heaps[k], n, 0, 0, heaps[k]["most"]
        root = world.activated[heap["pseudo_queue"], heap["share"]]
        if root >= 0 and left > 0:
            queued[0], known = root, 1
        while done < known:
            job = world.jobs[queued[done]]
            done += 1
            if left > 0 or job["priority"] >= jobs[n - 1]["priority"]:
                n = count_job(jobs, oldest, first, n, heap, job)
                left -= 1
                while n - 1 > first and left + jobs[n - 1]["number"] <= 0:       # those before it are enough
                    n -= 1
                    left += jobs[n]["number"]
            is_last = is_ordered and left <= 0 and job["priority"] <= jobs[n - 1]["priority"]
            for following in (np.int32(-1) if is_last else job["child"], job["sibling"]):
                if following >= 0:
                    fetch(world.jobs, following, JOB_BYTES)
                    queued[known] = following
                    known += 1
    return n


@compiled
def count_job(jobs, oldest, first, n, heap, job):
    """Count a job in the rows of a heap, from `first` to before `n`, highest priority first; returns where they end."""
    place, end = first, n
    while place < end:
        middle = (place + end) // 2
        if jobs[middle]["priority"] > job["priority"]:
            place = middle + 1
        else:
            end = middle
    if place < n and jobs[place]["priority"] == job["priority"]:
        jobs[place]["number"] += 1
        oldest[place] = min(oldest[place], job["panda_id"])
        return n
    for behind in range(n, place, -1):
        jobs[behind], oldest[behind] = jobs[behind - 1], oldest[behind - 1]
    row = jobs[place]
    row["queue"], row["share"], row["resource_type"] = heap["queue"], heap["share"], heap["resource_type"]
    row["priority"], row["number"], oldest[place] = job["priority"], 1, job["panda_id"]
    return n + 1


def workers_of(arrays: Arrays, types: WorkerTypes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Waiting and running workers, (n_queues, n_types) each, and their sums, (n_queues,) of QUEUE_WORKERS."""
    queued, running = np.zeros((2, *types.cores.shape), np.int64)
    sums = np.zeros(len(queued), views.QUEUE_WORKERS)
    look_at_workers(arrays, types.pseudo_queue, queued, running, types.cores, types.memory, sums)
    return queued, running, sums


@compiled
def look_at_workers(world: Arrays, pseudo_queue, queued, running, cores, memory, sums):
    """Write the waiting and the running workers of each queue and type, and their sums; the results are 0 before.

    Arrays but `sums`, which is as of `sum_workers`: (n_queues, n_types).
    """
    for queue in range(len(queued)):
        for kind in range(queued.shape[1]):
            number = pseudo_queue[queue, kind]
            if number >= 0:
                queued[queue, kind] = world.pseudo_queues[number]["n_submitted"]
                running[queue, kind] = world.pseudo_queues[number]["n_running"]
    sum_workers(queued, running, cores, memory, sums)


@compiled
def sum_workers(queued, running, cores, memory, sums):
    """Add up the waiting and the running workers of each queue in `sums`, (n_queues,) of QUEUE_WORKERS, 0 before."""
    for queue in range(len(sums)):
        found = sums[queue]
        for kind in range(queued.shape[1]):
            waiting, busy = queued[queue, kind], running[queue, kind]
            found["running"] += busy
            found["cores_running"] += busy * cores[queue, kind]
            found["cores_queued"] += waiting * cores[queue, kind]
            found["memory_running"] += busy * memory[queue, kind]
            found["memory_queued"] += waiting * memory[queue, kind]


def queues_whose_mode(arrays: Arrays, flag: str) -> np.ndarray:
    """Queues whose worker mode has a flag of WORKER_MODE, (n_queues,) bool."""
    return arrays.worker_modes[flag][arrays.queues["worker_mode"]]


def activated_jobs(arrays: Arrays, queues: np.ndarray) -> np.ndarray:
    """Activated jobs of some queues, of which the numbers are given, (n_queues,); 0 for the others."""
    jobs = np.zeros(len(arrays.queues), np.int64)
    jobs[queues] = arrays.counts[queues, :, :, ACTIVATED].sum(axis=(1, 2))
    return jobs


def jobs_of_push(arrays: Arrays, types: WorkerTypes, push: np.ndarray) -> tuple[np.ndarray, ...]:
    """Starting and running jobs of queues, (n,), then cores of both, (n,) each."""
    found = np.zeros((4, len(push)), np.int64)
    add_up_jobs(arrays, push, types.cores, found)
    return tuple(found)


@compiled
def add_up_jobs(world: Arrays, push, cores, found):
    """Add up what `jobs_of_push` returns in `found`, (4, n), 0 before; cores: of workers, (n_queues, n_types)."""
    for place in range(len(push)):
        queue = push[place]
        described = world.queues[queue]
        for share in range(world.counts.shape[1]):
            for kind in range(world.counts.shape[2]):
                starting = world.counts[queue, share, kind, STARTING]
                found[0, place] += starting
                found[1, place] += world.counts[queue, share, kind, RUNNING]
                found[2, place] += starting * (cores[queue, kind] if described["unified"] else described["corecount"])
                found[3, place] += world.running_cores[queue, share, kind]


@compiled
def count_waiting(push, chosen, waiting, ends, asked):
    """Write the workers of each type for the `waiting` jobs of the `chosen` queues of `push` to `asked`.

    waiting: (n,) of FETCHED, of which those of each queue end at `ends`; asked: (n_queues, n_types).
    """
    begin = 0
    for place in range(len(push)):
        if chosen[place]:
            numbers = asked[push[place]]
            for kind in range(len(numbers)):
                numbers[kind] = 0
            for k in range(begin, ends[place]):
                numbers[waiting[k]["resource_type"]] += 1
        begin = ends[place]


@compiled
def take_for_workers(push, workers, waiting, taken, asked):
    """Move the first jobs that wait at the queues of `push` for `workers`, counted down, to those `taken`.

    waiting, taken: (n,) of FETCHED each, of the same length, and where those of each queue end; those left move up, and
    at a queue with workers they are those `asked` for. workers, asked: (n_queues, n_types). Returns the number taken.
    """
    (jobs, ends), (moved, moved_ends), n, left, begin = waiting, taken, 0, 0, 0
    for place in range(len(push)):
        free, numbers, end = workers[push[place]], asked[push[place]], ends[place]
        has_workers = free.sum() > 0
        for kind in range(len(numbers) if has_workers else 0):
            numbers[kind] = 0
        for k in range(begin, end):
            kind = jobs[k]["resource_type"]
            if has_workers and free[kind] > 0:
                free[kind] -= 1
                moved[n] = jobs[k]
                n += 1
            else:
                numbers[kind] += has_workers
                jobs[left] = jobs[k]
                left += 1
        begin, ends[place], moved_ends[place] = end, left, n
    return np.int64(n)


Lists = tuple[np.ndarray, np.ndarray]
"""Jobs of several lists, (n,) of FETCHED, and where those of each list end."""


def merged(ahead: Lists, behind: Lists) -> Lists:
    """Lists of as many lists each: the jobs of one in each list, then those of the other."""
    jobs = np.empty(len(ahead[0]) + len(behind[0]), ahead[0].dtype)
    merge(ahead, behind, jobs)
    return jobs, ahead[1] + behind[1]


def chosen_of(lists: Lists, chosen: np.ndarray) -> Lists:
    """Lists of the chosen jobs of some lists; chosen: of all of these, (n,) bool."""
    jobs, ends = lists
    return jobs[chosen], np.append(0, np.cumsum(chosen))[ends]


@compiled
def merge(ahead, behind, jobs):
    """Write the jobs of both lists to `jobs`, list by list."""
    (first, first_ends), (second, second_ends), n, k, i = ahead, behind, 0, 0, 0
    for place in range(len(first_ends)):
        while k < first_ends[place]:
            jobs[n] = first[k]
            n, k = n + 1, k + 1
        while i < second_ends[place]:
            jobs[n] = second[i]
            n, i = n + 1, i + 1
