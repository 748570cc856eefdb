"""Effects of incidents on the data plane: outages of sites, links and storages."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.batch import SILENT, start_workers
from simgrid_broker.fabric.events import PAYLOAD_ENDS, schedule
from simgrid_broker.fabric.transfers.links import admit, catch_up, settle_rate
from simgrid_broker.fabric.transfers.remote_reading import NOTHING, reads_all, stop_reading
from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.queues.slots import free_slot, payload_is_over, slot_of

ACTIVATED, RUNNING = int(JobStatus.ACTIVATED), int(JobStatus.RUNNING)
NONE, SITE_ERROR = int(Cause.NONE), int(Cause.SITE_ERROR)


@compiled
def site_goes_down(world: Arrays, site, now):
    """Stop a site: its workers and payloads end, no worker starts, its links stop.

    PanDA counts the jobs of these payloads as running, and those not reported yet as sent or starting, until it has
    heard nothing of them for too long.
    """
    world.sites[site]["down"] += 1
    for number in range(len(world.pseudo_queues)):
        pseudo = world.pseudo_queues[number]
        if world.queues[pseudo["queue"]]["site"] == site:
            world.pools[pseudo["pool"]]["closed"] = 1
    for row in range(len(world.jobs)):
        job = world.jobs[row]
        if job["panda_id"] == 0 or job["due_sequence"] == 0 or world.queues[job["queue"]]["site"] != site:
            continue
        job["due_sequence"] = 0
        job["modification_s"] = now
        free_slot(world, slot_of(job), now)
        if job["status"] == RUNNING:
            payload_is_over(world, job, now)
            if job["transfer"] >= 0:
                stop_reading(world, row, now)
        job["slot"] = SILENT
    for other in range(len(world.sites)):
        link_goes_down(world, site, other, now)
        link_goes_down(world, other, site, now)


@compiled
def site_comes_back(world: Arrays, site, now):
    """End one outage of a site; it is up when all its outages are over."""
    world.sites[site]["down"] -= 1
    for number in range(len(world.pseudo_queues)):
        pseudo = world.pseudo_queues[number]
        if world.queues[pseudo["queue"]]["site"] == site and world.sites[site]["down"] == 0:
            world.pools[pseudo["pool"]]["closed"] = 0
            start_workers(world, pseudo["pool"], now)
    for other in range(len(world.sites)):
        link_comes_back(world, site, other, now)
        link_comes_back(world, other, site, now)


@compiled
def storage_is_switched(world: Arrays, storage, reads, off, now):
    """Stop the transfers from a storage (reads) or to it, or let them go on; jobs that read from it fail."""
    for site in range(len(world.sites)):
        if world.sites[site]["storage"] != storage:
            continue
        for other in range(len(world.sites)):
            source, destination = (site, other) if reads else (other, site)
            if other != site and off:
                link_goes_down(world, source, destination, now)
            elif other != site:
                link_comes_back(world, source, destination, now)
    if reads and off:
        fail_remote_readers(world, storage, now)


@compiled
def fail_readers(world: Arrays, storage, now):
    """Let running jobs fail that read from a storage over LAN: those in stage-in, and those that read directly."""
    for row in range(len(world.jobs)):
        job = world.jobs[row]
        if job["panda_id"] == 0 or job["status"] != RUNNING or job["due_sequence"] == 0 or job["cause"] != NONE:
            continue
        queue, begun_s = world.queues[job["queue"]], world.job_times[row, RUNNING]
        if world.sites[queue["site"]]["storage"] != storage or job["input_bytes"] <= read_elsewhere(world, row):
            continue
        if queue["direct_io"] or now < begun_s + job["stage_in_s"]:
            end_now(world, row, now - begun_s, now)


@compiled
def read_elsewhere(world: Arrays, row):
    """Bytes of its input that a running job reads, or has read, from other sites."""
    return world.jobs[row]["missing_bytes"] if world.job_files[row]["reads"] != NOTHING else 0.0


@compiled
def fail_remote_readers(world: Arrays, storage, now):
    """Let running jobs fail that read from a storage over WAN."""
    for row in range(len(world.jobs)):
        job = world.jobs[row]
        if (job["panda_id"] != 0 and job["status"] == RUNNING and job["transfer"] >= 0 and reads_all(job)
                and world.sites[world.transfers[job["transfer"]]["source"]]["storage"] == storage):
            end_now(world, row, now - world.job_times[row, RUNNING], now)


@compiled
def end_now(world: Arrays, row, walltime_s, now):
    """Let a running payload fail at its site after some time, without the output that it would have written."""
    job = world.jobs[row]
    job["cputime_s"] *= min(walltime_s / max(np.float64(job["walltime_s"]), 1e-9), 1.0)
    job["cause"], job["walltime_s"], job["stage_out_s"] = SITE_ERROR, walltime_s, 0.0
    job["stage_in_s"] = min(np.float64(job["stage_in_s"]), walltime_s)
    job["due_sequence"] = schedule(world, now, PAYLOAD_ENDS, row)


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
