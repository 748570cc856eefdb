"""The server's Adder: fails or finishes jobs whose payload has ended, or transfers their output to the nucleus."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.jobs.ending import archive
from simgrid_broker.fabric.jobs.submission import retry_by_server
from simgrid_broker.fabric.transfers.network import enqueue
from simgrid_broker.fabric.transfers.output_data import hand_over, keep_output, stays
from simgrid_broker.fabric.transfers.rows import is_express, join, new_transfer
from simgrid_broker.names import JOBS_PER_SUBDATASET, Activity, Cause, JobStatus, TransferKind
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.jobs.transitions import move
from simgrid_broker.world.rows import fetch_job, has_no_pieces, is_in_jobset

HOLDING, TRANSFERRING = int(JobStatus.HOLDING), int(JobStatus.TRANSFERRING)
FINISHED, FAILED, MERGING = int(JobStatus.FINISHED), int(JobStatus.FAILED), int(JobStatus.MERGING)
NONE = int(Cause.NONE)
OUTPUT = int(TransferKind.OUTPUT)
EXPRESS, PRODUCTION_OUTPUT = int(Activity.EXPRESS), int(Activity.PRODUCTION_OUTPUT)


@compiled
def add_job(world: Arrays, row, bunch, now):
    """Handle one ended payload; returns the output bunch in use, as `set_up_job` does for input.

    A transfer has files of one sub-dataset.
    """
    job, subdataset = world.jobs[row], world.job_files[row]["subdataset"]
    if is_in_jobset(world, row):                           # event service decides on it
        return bunch
    if job["cause"] != NONE:
        move(world, row, FAILED, now)
        archive(world, row, retry_by_server(world, row, now))
        return bunch
    if world.tasks[job["task"]]["mergeoutput"] and not has_no_pieces(job):
        move(world, row, MERGING, now)
        return bunch
    site = world.queues[job["queue"]]["site"]
    if stays(world, job, site):
        if world.job_files[row]["stored"]:
            keep_output(world, site, job["output_bytes"])
            world.job_files[row]["stored"] = 0
        move(world, row, FINISHED, now)
        archive(world, row, False)
        return bunch
    move(world, row, TRANSFERRING, now)
    if bunch >= 0:
        transfer = world.transfers[bunch]
        if (transfer["subdataset"] != subdataset or transfer["jeditaskid"] != job["jeditaskid"]
                or transfer["source"] != site or transfer["n_jobs"] >= JOBS_PER_SUBDATASET):
            enqueue(world, bunch, now)
            bunch = -1
    if bunch < 0:
        activity = EXPRESS if is_express(world, world.tasks[job["task"]]) else PRODUCTION_OUTPUT
        bunch = new_transfer(world, OUTPUT, activity, site, job["nucleus"], job, now)
        world.transfers[bunch]["subdataset"] = subdataset
    join(world, bunch, row, job["output_bytes"], job["n_output_files"])
    hand_over(world, world.transfers[bunch], row)
    return bunch


@compiled
def add_jobs(world: Arrays, order, now):
    """Handle the jobs in the inbox in the given order, (k,) positions, while the outbox has room.

    Returns the number of handled jobs; the caller empties the inbox.
    """
    state, bunch, done = world.state[0], -1, 0
    for place in order:
        if state["n_done_jobs"] >= len(world.done_jobs) or state["fault_row"] >= 0:
            break
        row = world.holding[place]["row"]
        fetch_job(world, world.holding[order[min(done + 1, len(order) - 1)]]["row"])
        job = world.jobs[row]
        if job["panda_id"] == world.holding[place]["panda_id"] and job["status"] == HOLDING:
            bunch = add_job(world, row, bunch, now)
        done += 1
    if bunch >= 0:
        enqueue(world, bunch, now)
    return done


def by_subdataset(arrays: Arrays, rows: np.ndarray) -> np.ndarray:
    """Positions of the jobs in the Adder's inbox, `rows`, grouped by task, site and sub-dataset, else in order."""
    if len(rows) == 1:
        return np.zeros(1, np.int64)
    site = arrays.queues["site"][arrays.jobs["queue"][rows]]
    return np.lexsort((arrays.job_files["subdataset"][rows], site, arrays.jobs["jeditaskid"][rows]))
