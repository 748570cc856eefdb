"""Effects of incidents on the data plane: outages of sites and links."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.batch import SILENT, start_workers
from simgrid_broker.fabric.links import admit, catch_up, settle_rate
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.slots import free_slot, payload_is_over, slot_of

ACTIVATED, RUNNING = int(JobStatus.ACTIVATED), int(JobStatus.RUNNING)


@compiled
def site_goes_down(world: Arrays, site, now):
    """Stop a site: its workers and payloads end, no worker starts, its links stop.

    PanDA counts the jobs of these payloads as running, and those not reported yet as sent or starting, until it has
    heard nothing of them for too long.
    """
    world.sites[site]["down"] += 1
    for number in range(len(world.queues)):
        if world.queues[number]["site"] == site:
            world.pools[world.queues[number]["pool"]]["closed"] = 1
    for row in range(len(world.jobs)):
        job = world.jobs[row]
        if job["panda_id"] == 0 or job["due_sequence"] == 0 or world.queues[job["queue"]]["site"] != site:
            continue
        job["due_sequence"] = 0
        job["modification_s"] = now
        free_slot(world, slot_of(job), now)
        if job["status"] == RUNNING:
            payload_is_over(world, job, now)
        job["slot"] = SILENT
    for other in range(len(world.sites)):
        link_goes_down(world, site, other, now)
        link_goes_down(world, other, site, now)


@compiled
def site_comes_back(world: Arrays, site, now):
    """End one outage of a site; it is up when all its outages are over."""
    world.sites[site]["down"] -= 1
    for number in range(len(world.queues)):
        queue = world.queues[number]
        if queue["site"] == site and world.sites[site]["down"] == 0:
            world.pools[queue["pool"]]["closed"] = 0
            start_workers(world, queue["pool"], now)
    for other in range(len(world.sites)):
        link_comes_back(world, site, other, now)
        link_comes_back(world, other, site, now)


@compiled
def link_goes_down(world: Arrays, source, destination, now):
    """Stop a link; its transfers keep their order."""
    number = source * len(world.sites) + destination
    link = world.links[number]
    catch_up(link, now)
    link["down"] += 1
    settle_rate(world, number)


@compiled
def link_comes_back(world: Arrays, source, destination, now):
    """End one outage of a link or of one of its sites; the link resumes when all are over."""
    number = source * len(world.sites) + destination
    link = world.links[number]
    catch_up(link, now)
    link["down"] -= 1
    if link["down"] == 0:
        link["due_s"] = np.inf
        admit(world, number, now)
