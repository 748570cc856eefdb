"""Rows of transfers: their source and activity, making one, attaching jobs to it, and recording it."""

import numpy as np

from simgrid_broker import names
from simgrid_broker.compiled import compiled
from simgrid_broker.luck import key_of_attempt
from simgrid_broker.world.arrays import GROWING, Arrays
from simgrid_broker.world.data.replicas import part_of_staged
from simgrid_broker.world.rows import next_place, release_transfer, take_transfer

OUTBOX = GROWING.index("done_transfers")
EXPRESS, STAGING = int(names.Activity.EXPRESS), int(names.Activity.STAGING)
PRODUCTION_INPUT, ANALYSIS_INPUT = int(names.Activity.PRODUCTION_INPUT), int(names.Activity.ANALYSIS_INPUT)
INPUT = int(names.TransferKind.INPUT)

FAR = 1000.0
"""Distance by which tape is further away than any site for a task whose input is staged before."""


@compiled
def new_transfer(world: Arrays, kind, activity, source, destination, job, now):
    """Row of an empty transfer between two sites for the files of `job` and others of its task."""
    row = empty_transfer(world, kind, activity, source, destination, now)
    transfer = world.transfers[row]
    transfer["jeditaskid"] = job["jeditaskid"]
    transfer["luck"] = key_of_attempt(world.tasks[job["task"]]["luck"], job["chunk"], job["attempt"])
    return row


@compiled
def empty_transfer(world: Arrays, kind, activity, source, destination, now):
    """Row of a transfer between two sites that has no files yet; the caller says for which task and with which luck."""
    row = take_transfer(world)
    transfer = world.transfers[row]
    transfer["kind"] = kind
    set_activity(world, row, activity)
    transfer["source"], transfer["destination"] = source, destination
    transfer["link"] = source * len(world.sites) + destination
    transfer["dataset"] = transfer["subdataset"] = -1
    transfer["look_sequence"] = 0
    transfer["bytes"] = transfer["left_bytes"] = transfer["source_bytes"] = 0.0
    transfer["n_files"] = transfer["n_jobs"] = transfer["attempt"] = 0
    transfer["left_files"] = transfer["failed_files"] = transfer["width"] = 0
    transfer["first_job"] = -1
    transfer["submitted_s"] = now
    transfer["started_s"] = transfer["ended_s"] = transfer["attempt_s"] = np.nan
    return row


@compiled
def set_activity(world: Arrays, row, activity):
    """Set the activity of a transfer, and whether scans find it as input of users."""
    transfer = world.transfers[row]
    transfer["activity"] = activity
    world.user_input[row] = activity == ANALYSIS_INPUT and transfer["kind"] == INPUT


@compiled
def join(world: Arrays, row, job_row, size, files):
    """Attach a job to a transfer and add its bytes and files."""
    transfer = world.transfers[row]
    job = world.jobs[job_row]
    first = transfer["first_job"]
    job["transfer"], job["sibling"], job["previous"] = row, first, -1
    if first >= 0:
        world.jobs[first]["previous"] = job_row
    transfer["first_job"] = job_row
    transfer["bytes"] += size
    transfer["n_files"] += files
    transfer["n_jobs"] += 1


@compiled
def record_transfer(world: Arrays, row, now):
    """Copy an ended transfer to the outbox and release its row."""
    state = world.state[0]
    if np.isnan(world.transfers[row]["ended_s"]):
        world.transfers[row]["ended_s"] = now
    place = next_place(world, state["n_done_transfers"], len(world.done_transfers), OUTBOX)
    if place < 0:
        return
    world.done_transfers[place] = world.transfers[row]
    state["n_done_transfers"] += 1
    release_transfer(world, row)


@compiled
def best_source(world: Arrays, task_row, number, destination):
    """Source site of a dataset that a task reads (-1 = none), and the fraction missing at the destination.

    The source is the most complete replica, among equal ones the closest to the destination, with a link that is up. A
    replica of virtual placement has no files to send, and jobs at its site read through its cache. Staged input is
    brought from disk even to the site of the tape, unless no disk elsewhere has it any more.
    """
    n_sites = len(world.sites)
    best, best_fraction, best_distance, here, on_tape = -1, 0.0, 0.0, 0.0, 0.0
    place = world.datasets[number]["first_replica"]
    any_replica = place >= 0
    while place >= 0:
        replica = world.replicas[place]
        place, site = replica["next"], replica["site"]
        fraction = part_of_staged(world, task_row, number, replica["part"])
        is_staged = replica["tape"] != 0 and world.tasks[task_row]["inputprestaging"] != 0
        if site == destination:
            on_tape, here = (max(on_tape, fraction), here) if is_staged else (on_tape, max(here, fraction))
            continue
        closeness = world.links[site * n_sites + destination]["closeness"]
        if closeness == names.CLOSENESS_BLOCKED or replica["virtual"]:
            continue
        distance = np.float64(closeness) if closeness >= 0 else names.MISSING_CLOSENESS
        if is_staged:
            distance += FAR                                # what the data carousel has brought is read from disk
        if fraction > best_fraction or (fraction == best_fraction and distance < best_distance):
            best, best_fraction, best_distance = site, fraction, distance
    if best < 0:
        here = max(here, on_tape)
    if not any_replica or here >= names.COMPLETE:
        return -1, 0.0
    return best, 1.0 - here


@compiled
def is_express(world: Arrays, task):
    """True if FTS transfers the files of a task as Express: it is urgent or of high priority."""
    settings = world.settings[0]
    return task["priority"] >= settings["express_priority"] or task["processing_type"] == settings["urgent"]


@compiled
def activity_of_input(world: Arrays, task_row, number, source):
    """Activity under which FTS transfers a dataset for a task from a site; source: lifecycle reference, section 7.2."""
    task = world.tasks[task_row]
    if (world.settings[0]["users"] >> task["label"]) & 1:
        return ANALYSIS_INPUT
    if is_express(world, task):
        return EXPRESS
    place = world.datasets[number]["first_replica"]
    while place >= 0:
        replica = world.replicas[place]
        if replica["site"] == source and not replica["tape"]:
            return PRODUCTION_INPUT
        place = replica["next"]
    return STAGING
