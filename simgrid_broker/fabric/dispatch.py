"""getJob: which activated job a pilot gets, generic pilots, and Harvester, which fetches jobs for push queues.

Sources: Global Shares paper, 2.3; lifecycle reference, 1.4, 5.1, 5.2 and 5.5.
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.batch import NO_WORKER_YET
from simgrid_broker.fabric.jobs.activated import comes_before, first_below, take_out
from simgrid_broker.fabric.jobs.submission import bind_late
from simgrid_broker.fabric.task_queues import (
    drawn_queue,
    look_at_limits,
    note_match,
    one_of_the_oldest,
    stop_waiting,
)
from simgrid_broker.luck import ATTEMPTS, STREAMS, uniform
from simgrid_broker.names import JobStatus, QueueStatus
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.jobs.loads import max_walltime
from simgrid_broker.world.jobs.transitions import move

DIRAC_JOB = STREAMS["dirac_job"]


@compiled
def matched_job(world: Arrays, number, pilot_start, now):
    """Row of the job that a pilot of a pseudo-queue gets from a matching task queue, bound to it; -1 = there is none.

    What is left of the time of the pilot, at the power of its cores, must reach the CPU class. Draws are keyed by the
    pseudo-queue and the number of its request.
    """
    settings, queue = world.settings[0], world.queues[world.pseudo_queues[number]["queue"]]
    world.n_asked[number] += 1
    seed, key = settings["seed"], world.n_asked[number]
    n_classes = classes_within(world.cpu_classes, (queue["maxtime_s"] - (now - pilot_start)) * queue["corepower"])
    look_at_limits(world, number, world.pseudo_queues[number]["queue"], now)
    found = -1
    if settings["longest_first"]:
        while found < 0 and n_classes > 0:
            n_classes -= 1
            found = drawn_queue(world, number, n_classes, n_classes + 1, seed, number, key)
    else:
        found = drawn_queue(world, number, 0, n_classes, seed, number, key)
    if found < 0:
        return -1
    luck = uniform(seed, DIRAC_JOB, number, key, 0)
    row = one_of_the_oldest(world, world.ages, found, settings["job_window"], luck)
    stop_waiting(world, world.ages, found, row)
    note_match(world, number, found)
    bind_late(world, row, number)
    return row


@compiled
def classes_within(classes, offered):
    """Number of CPU classes that are not above what a resource offers; an infinite offer reaches all."""
    n = 0
    while n < len(classes) and classes[n] <= offered:
        n += 1
    return n


SLOPPY = STREAMS["sloppy"]
TEST = int(QueueStatus.TEST)


@compiled
def get_job(world: Arrays, number, pilot_start, now):
    """Remove and return the job for a pilot of a pseudo-queue; -1 if none suits it; arguments as of `best_job`.

    Jobs that wait at the queue go before those that wait in DIRAC's task queues for a pilot of any queue.
    """
    world.queues[world.pseudo_queues[number]["queue"]]["lastpilot_s"] = now
    row = best_job(world, number, pilot_start, now)
    if row >= 0:
        take_out(world, row)
    elif world.settings[0]["task_queues"]:
        row = matched_job(world, number, pilot_start, now)
    return row


@compiled
def best_job(world: Arrays, number, pilot_start, now):
    """Row of the job that a pilot of a pseudo-queue is given, which stays activated; -1 if none suits it.

    Order: share furthest below its target, then priority, then age, unless the dispatch policy omits some of these, an
    urgent job goes before all shares, or the request is a sloppy one, served by age. A job that does not suit is passed
    over and blocks none behind it. pilot_start: when the pilot got its slot, s.
    """
    settings, queue = world.settings[0], world.queues[world.pseudo_queues[number]["queue"]]
    left_s = queue["maxtime_s"] - (now - pilot_start) if queue["sends_time"] else np.inf
    row = best_of_all_shares(world, number, left_s) if settings["urgent_first"] or not settings["by_share"] else -1
    if settings["by_share"] and (row < 0 or world.jobs[row]["processing_type"] != settings["urgent"]):
        row = best_of_first_share(world, number, left_s)
        if row >= 0 and settings["sloppy_fraction"] > 0:
            oldest = first_that_suits(world, world.ages, world.oldest[number], number, left_s)
            row = oldest if is_sloppy(world, row, oldest) else row
    return row


@compiled
def first_in_line(world: Arrays, number):
    """First job of the share of lowest rank with activated jobs, whether or not it suits; -1 if there is none."""
    for share in world.shares_by_rank:
        if world.activated[number, share] >= 0:
            return world.activated[number, share]
    return -1


@compiled
def best_of_first_share(world: Arrays, number, left_s):
    """Best job that suits of the shares of lowest rank that have one; -1 if there is none."""
    best, lowest = -1, 0
    for share in world.shares_by_rank:
        row = world.activated[number, share]
        if row < 0:
            continue
        if best >= 0 and world.share_rank[share] > lowest:
            break
        row = first_that_suits(world, world.jobs, row, number, left_s)
        if row >= 0 and (best < 0 or comes_before(world.jobs, row, best)):
            best, lowest = row, world.share_rank[share]
    return best


@compiled
def best_of_all_shares(world: Arrays, number, left_s):
    """Best job that suits, by rank and age, whatever its share; -1 if there is none."""
    jobs, best = world.jobs, -1
    for share in range(world.activated.shape[1]):
        row = world.activated[number, share]
        if row < 0 or (best >= 0 and not comes_before(jobs, row, best)):
            continue
        row = first_that_suits(world, jobs, row, number, left_s)
        if row >= 0 and (best < 0 or comes_before(jobs, row, best)):
            best = row
    return best


@compiled
def first_that_suits(world: Arrays, nodes, root, number, left_s):
    """First job of a heap, which is not empty, that suits a pilot of a pseudo-queue, -1 if none does.

    Looked at, and counted as passed over, are the jobs before it alone.
    """
    row = root
    while row >= 0 and not suits(world, row, number, left_s):
        row = first_below(nodes, row)
    return row


@compiled
def suits(world: Arrays, row, number, left_s):
    """True if a pilot of a pseudo-queue, with `left_s` of its time left, may get an activated job of that pseudo-queue.

    The memory of its worker must suffice unless the queue has no limit, what is left of its time as well, and its label
    must be asked for; at a push queue with too high a mean memory the job must not be above the target. The resource
    type is that of the pseudo-queue. Each job that is passed over is counted. Source: lifecycle reference, section 5.2.
    """
    job, pseudo, account = world.jobs[row], world.pseudo_queues[number], world.worker_accounts[number]
    queue = world.queues[pseudo["queue"]]
    if not asks_for(world, queue, job):
        account["n_other_label"] += 1
    elif job["ramcount_mb"] > np.float32(pseudo["worker_mb"]) and pseudo["maxrss_mb"] != np.inf:
        account["n_more_memory"] += 1
    elif left_s != np.inf and max_walltime(world, job) > left_s:
        account["n_more_time"] += 1
    elif queue["mean_memory_high"] and job["ramcount_mb"] > queue["meanrss"] * job["corecount"]:
        account["n_above_meanrss"] += 1
    else:
        return True
    return False


@compiled
def asks_for(world: Arrays, queue, job):
    """True if pilots of a queue ask for jobs of this label; in status `test`, as deployed, only for tests.

    Pilots of an analysis queue in that status ask for functional tests alone.
    """
    settings, label = world.settings[0], world.tasks[job["task"]]["label"]
    if queue["status"] == TEST and settings["only_tests"]:
        if job["processing_type"] == settings["test_type"]:
            return True
        return queue["production"] and (settings["test_labels"] >> label) & 1 == 1
    return ((queue["production"] and (settings["production_labels"] >> label) & 1 == 1)
            or (queue["analysis"] and (settings["analysis_labels"] >> label) & 1 == 1))


@compiled
def is_sloppy(world: Arrays, best, oldest):
    """Draw if a request is served by age; the random draw is keyed by the two jobs to choose from."""
    settings, one, other = world.settings[0], world.jobs[best], world.jobs[oldest]
    pair = world.tasks[one["task"]]["luck"] ^ (world.tasks[other["task"]]["luck"] << 1)
    luck = uniform(settings["seed"], SLOPPY, pair, ATTEMPTS * one["chunk"] + one["attempt"],
                   ATTEMPTS * other["chunk"] + other["attempt"])
    return settings["sloppy_fraction"] > luck


SENT, STARTING, RUNNING = int(JobStatus.SENT), int(JobStatus.STARTING), int(JobStatus.RUNNING)


class Request(NamedTuple):
    """Tables of one request for jobs of k push queues; as a bundle, made each time, they would take longer."""

    queues: np.ndarray             # (k,)
    ranges: np.ndarray             # (k, 2), first pseudo-queue of each and one past the last
    most: np.ndarray               # (k, n_types), starting and running jobs of each type at which no more come
    numbers: np.ndarray            # (k,), jobs wanted for each
    room: np.ndarray               # (n_types,), jobs of each pseudo-queue of one queue that may still come
    jobs: np.ndarray               # (n,) of FETCHED, the result
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
        one = request.jobs[place]
        one["row"], one["panda_id"] = best, job["panda_id"]
        one["resource_type"] = max(world.pseudo_queues[job["pseudo_queue"]]["resource_type"], 0)
    return n + request.numbers[k]


@compiled
def fetch_jobs(world: Arrays, request: Request, now):
    """Fetch the jobs of a request, queue by queue."""
    n = np.int64(0)
    for k in range(len(request.queues)):
        if request.numbers[k] > 0:
            n = fetch_for_queue(world, request, k, n, now)
        request.ends[k] = n
