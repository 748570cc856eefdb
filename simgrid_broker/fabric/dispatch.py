"""getJob: which activated job a pilot gets; source: Global Shares paper, 2.3; lifecycle reference, 1.4 and 5.2."""

import numpy as np

from simgrid_broker.bundle import fetch
from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.jobs.activated import comes_before, next_beside, take_out
from simgrid_broker.fabric.matcher import matched_job
from simgrid_broker.luck import ATTEMPTS, STREAMS, uniform
from simgrid_broker.names import QueueStatus
from simgrid_broker.world.arrays import JOB_BYTES, TIMES_BYTES, Arrays
from simgrid_broker.world.jobs.loads import max_walltime

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
def fetch_job(world: Arrays, row):
    """Ask the processor for a job and its times, which are wanted soon; -1 = none."""
    if row >= 0:
        fetch(world.jobs, row, JOB_BYTES)
        fetch(world.job_times, row, TIMES_BYTES)


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

    Those behind one that suits come after it, so that only the others are looked at.
    """
    if suits(world, root, number, left_s):
        return root
    best, row = -1, nodes[root]["child"]
    while row >= 0:
        first = best < 0 or comes_before(nodes, row, best)
        if first and suits(world, row, number, left_s):
            best, first = row, False
        if first and nodes[row]["child"] >= 0:
            row = nodes[row]["child"]
        else:
            row = next_beside(nodes, root, row)
    return best


@compiled
def suits(world: Arrays, row, number, left_s):
    """True if a pilot of a pseudo-queue, with `left_s` of its time left, may get an activated job of that pseudo-queue.

    The memory of its worker must suffice unless the queue has no limit, what is left of its time as well, and its label
    must be asked for; at a push queue with too high a mean memory the job must not be above the target. The resource
    type is that of the pseudo-queue. Source: lifecycle reference, section 5.2.
    """
    job, pseudo = world.jobs[row], world.pseudo_queues[number]
    queue = world.queues[pseudo["queue"]]
    return (asks_for(world, queue, job)
            and (job["ramcount_mb"] <= np.float32(pseudo["worker_mb"]) or pseudo["maxrss_mb"] == np.inf)
            and (left_s == np.inf or max_walltime(world, job) <= left_s)
            and (not queue["mean_memory_high"] or job["ramcount_mb"] <= queue["meanrss"] * job["corecount"]))


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
