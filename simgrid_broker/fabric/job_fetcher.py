"""getJob without a resource type: generic pilots of pull queues, and Harvester, which fetches jobs for push queues.

Source: lifecycle reference, sections 5.1, 5.2 and 5.5.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.activated import comes_before, take_out
from simgrid_broker.fabric.batch import NO_WORKER_YET
from simgrid_broker.fabric.dispatch import best_job
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.transitions import move

SENT, STARTING = int(JobStatus.SENT), int(JobStatus.STARTING)


@compiled
def goes_before(world: Arrays, one, other):
    """Whether one of two activated jobs is dispatched first: urgent ones if they go first, then by share and by job."""
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
def fetch_jobs(world: Arrays, first, last, room, found, now):
    """Fetch jobs of a queue, which are then starting, into `found`, (n,) of WAITING; returns how many there were.

    first, last: its pseudo-queues; room: jobs of each that may still come, (last - first,), which is changed. Brokers
    count the request as that of a pilot, whether or not there are jobs.
    """
    world.queues[world.pseudo_queues[first]["queue"]]["lastpilot_s"] = now
    for place in range(len(found)):
        best = -1
        for number in range(first, last):
            row = best_job(world, number, now, now) if room[number - first] > 0 else -1
            if row >= 0 and (best < 0 or goes_before(world, row, best)):
                best = row
        if best < 0:
            return np.int64(place)
        take_out(world, best)
        job = world.jobs[best]
        room[job["pseudo_queue"] - first] -= 1
        move(world, best, SENT, now)
        move(world, best, STARTING, now)
        job["slot"] = NO_WORKER_YET
        found[place]["row"], found[place]["panda_id"] = best, job["panda_id"]
    return np.int64(len(found))
