"""Rows of transfers: making one, attaching jobs to it, and recording it."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.luck import key_of_attempt
from simgrid_broker.world.arrays import GROWING, Arrays
from simgrid_broker.world.rows import next_place, release_transfer, take_transfer

OUTBOX = GROWING.index("done_transfers")


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
    transfer["kind"], transfer["activity"] = kind, activity
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
