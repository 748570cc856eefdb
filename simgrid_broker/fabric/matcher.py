"""DIRAC's matcher in a run: the job of any task queue for a pilot; source: DIRAC reference, sections 9 and 10."""

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.jobs.submission import bind_late
from simgrid_broker.fabric.task_queues import drawn_queue, look_at_limits, note_match, one_of_the_oldest, stop_waiting
from simgrid_broker.luck import STREAMS, uniform
from simgrid_broker.world.arrays import Arrays

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
