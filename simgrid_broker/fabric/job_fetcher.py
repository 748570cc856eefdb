"""getJob without a resource type: generic pilots of pull queues, and Harvester, which fetches jobs for push queues.

Source: lifecycle reference, sections 5.1, 5.2 and 5.5.
"""

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.batch import NO_WORKER_YET
from simgrid_broker.fabric.dispatch import best_job
from simgrid_broker.fabric.jobs.activated import comes_before, take_out
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.jobs.transitions import move

SENT, STARTING, RUNNING = int(JobStatus.SENT), int(JobStatus.STARTING), int(JobStatus.RUNNING)


class Request(Bundle):
    """Tables of one request for jobs of k push queues."""

    queues: np.ndarray             # (k,)
    ranges: np.ndarray             # (k, 2), first pseudo-queue of each and one past the last
    most: np.ndarray               # (k, n_types), starting and running jobs of each type at which no more come
    numbers: np.ndarray            # (k,), jobs wanted for each
    room: np.ndarray               # (n_types,), jobs of each pseudo-queue of one queue that may still come
    jobs: np.ndarray               # (n,) of WAITING, the result
    ends: np.ndarray               # (k,), the result: where the jobs of each queue end in `jobs`



@compiled
def goes_before(world: Arrays, one, other):
    """True if job `one` is dispatched before job `other`: urgent ones if they go first, then by share and by job."""
    settings, first, second = world.settings[0], world.jobs[one], world.jobs[other]
    if settings["urgent_first"]:
        urgent = first["processing_type"] == settings["urgent"]
        if urgent != (second["processing_type"] == settings["urgent"]):
            return urgent
    if settings["by_share"]:
        ranks = world.share_rank[first["share"]], world.share_rank[second["share"]]
        if ranks[0] != ranks[1]:
            return ranks[0] < ranks[1]
    return comes_before(world.jobs, one, other)


@compiled
def get_any_job(world: Arrays, first, last, pilot_start, now):
    """Remove and return the best job of pseudo-queues of one queue, from `first` up to `last`; -1 if none suits."""
    best = -1
    for number in range(first, last):
        row = best_job(world, number, pilot_start, now)
        if row >= 0 and (best < 0 or goes_before(world, row, best)):
            best = row
    world.queues[world.pseudo_queues[first]["queue"]]["lastpilot_s"] = now
    if best >= 0:
        take_out(world, best)
    return best


@compiled
def make_room(world: Arrays, queue, first, last, most, room):
    """Write how many jobs of each pseudo-queue of a queue, from `first` up to `last`, may still come to `room`.

    most: starting and running jobs of each type at which no more come, (n_types,); any number comes to a plain queue.
    """
    for number in range(first, last):
        kind = world.pseudo_queues[number]["resource_type"]
        room[number - first] = np.inf if kind < 0 else most[kind]
        for group in range(world.counts.shape[1] if kind >= 0 else 0):
            room[number - first] -= world.counts[queue, group, kind, STARTING] + world.counts[
                queue, group, kind, RUNNING]


@compiled
def fetch_for_queue(world: Arrays, request: Request, k, n, now):
    """Fetch jobs of the queue in row `k` of a request, which are then starting, into its `jobs`, from row `n` on.

    Brokers count the request as that of a pilot, whether or not there are jobs. Returns the rows in use.
    """
    first, last, room = request.ranges[k, 0], request.ranges[k, 1], request.room
    make_room(world, request.queues[k], first, last, request.most[k], room)
    world.queues[world.pseudo_queues[first]["queue"]]["lastpilot_s"] = now
    for place in range(n, n + request.numbers[k]):
        best = -1
        for pseudo_queue in range(first, last):
            row = best_job(world, pseudo_queue, now, now) if room[pseudo_queue - first] > 0 else -1
            if row >= 0 and (best < 0 or goes_before(world, row, best)):
                best = row
        if best < 0:
            return place
        take_out(world, best)
        job = world.jobs[best]
        room[job["pseudo_queue"] - first] -= 1
        move(world, best, SENT, now)
        move(world, best, STARTING, now)
        job["slot"] = NO_WORKER_YET
        request.jobs[place]["row"], request.jobs[place]["panda_id"] = best, job["panda_id"]
    return n + request.numbers[k]


@compiled
def fetch_jobs(world: Arrays, request: Request, now):
    """Fetch the jobs of a request, queue by queue."""
    n = np.int64(0)
    for k in range(len(request.queues)):
        if request.numbers[k] > 0:
            n = fetch_for_queue(world, request, k, n, now)
        request.ends[k] = n
