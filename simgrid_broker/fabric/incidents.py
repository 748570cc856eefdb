"""Effects of incidents on the data plane: outages of sites, links and storages, and replicas that vanish."""

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.fabric.batch import SILENT, start_workers
from simgrid_broker.fabric.events import PAYLOAD_ENDS, TRANSFER_AGAIN, schedule
from simgrid_broker.fabric.transfers.dispatch_data import source_is_gone
from simgrid_broker.fabric.transfers.links import (
    ROUNDING,
    admit,
    catch_up,
    count_queued,
    insert_active,
    settle_rate,
    take_off_active,
)
from simgrid_broker.fabric.transfers.network import delay_of
from simgrid_broker.fabric.transfers.remote_reading import NOTHING, stop_reading
from simgrid_broker.names import Cause, JobStatus, TransferKind
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.jobs.transitions import fall_silent
from simgrid_broker.world.queues.slots import free_slot, payload_is_over, settle_closed, slot_of
from simgrid_broker.world.rows import used_rows

ACTIVATED, RUNNING = int(JobStatus.ACTIVATED), int(JobStatus.RUNNING)
INPUT, READING = int(TransferKind.INPUT), int(TransferKind.READING)
SITE_ERROR = int(Cause.SITE_ERROR)


@compiled
def site_goes_down(world: Arrays, site, now):
    """Stop a site: its workers and payloads end, no worker starts, its links stop.

    PanDA counts the jobs of these payloads as running, and those not reported yet as sent or starting, until it has
    heard nothing of them for too long.
    """
    world.sites[site]["down"] += 1
    for number in range(len(world.pseudo_queues)):
        if world.queues[world.pseudo_queues[number]["queue"]]["site"] == site:
            settle_closed(world, number, now)
    for row in used_rows(world):
        job = world.jobs[row]
        if job["panda_id"] == 0 or job["due_sequence"] == 0 or world.queues[job["queue"]]["site"] != site:
            continue
        fall_silent(world, row)
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
            settle_closed(world, number, now)
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
    """Let running jobs fail that read from a storage over LAN: those in stage-in, and those that read directly.

    Jobs that would have failed later are among them.
    """
    for row in used_rows(world):
        job = world.jobs[row]
        if job["panda_id"] == 0 or job["status"] != RUNNING or job["due_sequence"] == 0:
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
    for row in used_rows(world):
        job = world.jobs[row]
        if (job["panda_id"] != 0 and job["status"] == RUNNING and job["transfer"] >= 0
                and world.sites[world.transfers[job["transfer"]]["source"]]["storage"] == storage):
            fail_reader(world, row, now)


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
    """Stop a link; files under way start again when it comes back, and jobs that read over it go on where they were."""
    number = source * len(world.sites) + destination
    link = world.links[number]
    catch_up(link, now)
    if link["down"] == 0:
        lose_parts(world, link)
    link["down"] += 1
    settle_rate(world, number)


@compiled
def lose_parts(world: Arrays, link):
    """Lose what has moved of each file under way on a link, whose clock is up to date; complete files stay.

    FTS's next attempt at a file writes it from its beginning. The files of a transfer that move at once are alike, so
    that they have moved equally far.
    """
    row = link["active_head"]
    link["active_head"] = -1
    while row >= 0:
        transfer, following = world.transfers[row], world.transfers[row]["next"]
        if transfer["kind"] != READING:
            moved = max(transfer["left_bytes"] - (transfer["finish_tag"] - link["virtual"]) * transfer["width"], 0.0)
            at_once = transfer["left_bytes"] / transfer["left_files"] * transfer["width"]
            lost = moved - np.floor(moved / at_once + ROUNDING) * at_once if at_once > 0 else 0.0
            link["bytes_wasted"] += max(lost, 0.0)
            transfer["finish_tag"] += max(lost, 0.0) / transfer["width"]
        insert_active(world, link, row)
        row = following


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


@compiled
def sources_vanish(world: Arrays, number, now):
    """Fail the transfers of a dataset whose source is gone, and the jobs that read from it over WAN."""
    for row in range(len(world.transfers)):
        transfer = world.transfers[row]
        if transfer["transfer_id"] == 0 or transfer["dataset"] != number or not source_is_gone(world, transfer):
            continue
        if transfer["kind"] == INPUT:
            fail_attempt(world, row, now)
        elif transfer["kind"] == READING and transfer["first_job"] >= 0:
            fail_reader(world, transfer["first_job"], now)


@compiled
def fail_reader(world: Arrays, row, now):
    """Let a running job fail that reads its input over WAN, also one that would have failed later."""
    end_now(world, row, now - world.job_times[row, RUNNING], now)


@compiled
def fail_attempt(world: Arrays, row, now):
    """Fail the attempt of a transfer that waits or moves at its link; what has moved so far is wasted."""
    transfer = world.transfers[row]
    number = transfer["link"]
    link, lane = world.links[number], world.lanes[number, transfer["activity"]]
    catch_up(link, now)
    if is_in_list(world, link["active_head"], row):
        link["bytes_wasted"] += transfer["left_bytes"] - (transfer["finish_tag"] - link["virtual"]) * transfer["width"]
        take_off_active(world, link, row)
        link["active_files"] -= transfer["width"]
        lane["active_files"] -= transfer["width"]
    elif is_in_list(world, lane["head"], row):
        leave_line(world, lane, row)
    else:
        return                                             # its last byte has moved, or it is between two attempts
    count_queued(world, number, transfer["activity"], -transfer["left_files"])
    transfer["failed_files"] += transfer["left_files"]
    schedule(world, now + delay_of(world, transfer), TRANSFER_AGAIN, row)
    admit(world, number, now)


@compiled
def is_in_list(world: Arrays, first, row):
    """True if a transfer is in the list that begins with `first`; -1 = an empty list."""
    while first >= 0 and first != row:
        first = world.transfers[first]["next"]
    return first == row


@compiled
def leave_line(world: Arrays, lane, row):
    """Take a transfer out of the line of its activity."""
    before, place = -1, lane["head"]
    while place != row:
        before, place = place, world.transfers[place]["next"]
    following = world.transfers[row]["next"]
    if before < 0:
        lane["head"] = following
    else:
        world.transfers[before]["next"] = following
    if lane["tail"] == row:
        lane["tail"] = before


sources_vanish_of = uncompiled(sources_vanish)
"""As `sources_vanish`, for Python, which asks so seldom that compiling takes longer."""
