"""Files of secondary datasets with replicas of their own, which are brought to the sites of jobs beside their master.

Each dataset moves by transfers of its own, at the same time as the others. A job stands in the list of one transfer;
when this has ended, it looks which of its other datasets are still to come. Files that several jobs read are moved
once: a job finds the part of them that lies at its site, and awaits what is under way.

Source: lifecycle reference, section 7.2 (dispatch datasets). A dataset of which no site has any files leaves its jobs
assigned until a timeout closes them.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.transfers.dispatch_data import JOBS_PER_BUNCH, await_part, pin, to_bring
from simgrid_broker.fabric.transfers.network import enqueue
from simgrid_broker.fabric.transfers.rows import activity_of_input, best_source, join, new_transfer
from simgrid_broker.luck import key_of_attempt
from simgrid_broker.names import JobStatus, TransferKind
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.datasets import secondaries_of
from simgrid_broker.world.data.replicas import replica_on_disk
from simgrid_broker.world.jobs.transitions import move

ASSIGNED, INPUT = int(JobStatus.ASSIGNED), int(TransferKind.INPUT)
NOTHING, NO_SOURCE = 0, -1
"""Values of JOB_INPUT `awaited_id`: nothing is to come, and no site has what is missing."""
HALF = 0.5
"""Files, of those that several jobs read, below which none is missing."""


@compiled
def bring_secondaries(world: Arrays, row, now):
    """Transfer what a job misses of its secondary datasets to its site; what it reads of each is in `job_inputs`."""
    if len(world.job_inputs) == 0:
        return
    first, end = secondaries_of(world, world.jobs[row]["task"])
    for k in range(first, end):
        if world.job_inputs[row, k - first]["bytes"] > 0.0:
            bring(world, row, k, k - first, now)


@compiled
def bring(world: Arrays, row, k, place, now):
    """Transfer what a job misses of the secondary dataset in row k of its table, or note which transfer brings it."""
    job, read, number = world.jobs[row], world.job_inputs[row, place], np.int64(world.secondaries[k]["dataset"])
    destination, again = world.queues[job["queue"]]["site"], world.secondaries[k]["read_again"]
    read["awaited"], read["awaited_id"] = -1, NOTHING
    source, missing = best_source(world, job["task"], number, destination)
    if world.datasets[number]["first_replica"] < 0:
        missing = 1.0
    missing, arriving = to_bring(world, job, number, destination, missing, read["bytes"], again or job["attempt"] > 1)
    pin(world, number, destination, now)
    if again and missing * read["files"] < HALF:
        missing = 0.0
    if missing > 0.0 and source < 0:
        read["awaited_id"] = NO_SOURCE
    elif missing > 0.0:
        bunch = bunch_for(world, job, k, place, source, destination, now)
        size = missing * read["bytes"]
        await_part(world, job, bunch, number, destination, size)
        transfer = world.transfers[bunch]
        transfer["bytes"] += size
        transfer["n_files"] += max(1, np.int32(np.ceil(missing * read["files"])))
        job["missing_bytes"] += size
        read["awaited"], read["awaited_id"] = bunch, transfer["transfer_id"]
    elif arriving > 0.0:
        replica = world.replicas[replica_on_disk(world, number, destination)]
        read["awaited"], read["awaited_id"] = replica["transfer"], replica["transfer_id"]


@compiled
def bunch_for(world: Arrays, job, k, place, source, destination, now):
    """Row of the transfer of the secondary dataset in row k for a job: that of the jobs before, if task, way and
    dataset are the same and it has room, else a new one.

    The draws of a new one are those of its dataset at this attempt: other than those of the master and of other
    secondary datasets, and the same whatever else the task reads.
    """
    bunch, secondary = world.bunches[place], world.secondaries[k]
    number = np.int64(secondary["dataset"])
    if bunch["transfer"] >= 0:
        transfer = world.transfers[bunch["transfer"]]
        if (transfer["jeditaskid"] == job["jeditaskid"] and transfer["source"] == source
                and transfer["destination"] == destination and transfer["dataset"] == number
                and bunch["n_jobs"] < JOBS_PER_BUNCH):
            bunch["n_jobs"] += 1
            return np.int64(bunch["transfer"])
        enqueue(world, bunch["transfer"], now)
    row = np.int64(new_transfer(world, INPUT, activity_of_input(world, job["task"], number, source), source,
                                destination, job, now))
    transfer = world.transfers[row]
    transfer["luck"] = key_of_attempt(transfer["luck"], secondary["luck"], 0)
    bunch["transfer"], bunch["n_jobs"] = row, 1
    return row


@compiled
def ask_for_secondaries(world: Arrays, now):
    """Queue the transfers of secondary files that are not asked for yet."""
    for place in range(len(world.bunches)):
        if world.bunches[place]["transfer"] >= 0:
            enqueue(world, world.bunches[place]["transfer"], now)
            world.bunches[place]["transfer"] = -1


@compiled
def awaits_secondaries(world: Arrays, row, now):
    """Let a job that has all else wait for the next of its secondary datasets that is still to come; returns whether
    it waits. Files whose transfer has ended without them are asked for again."""
    job, is_stuck = world.jobs[row], False
    if len(world.job_inputs) == 0:
        return False
    first, end = secondaries_of(world, job["task"])
    for k in range(first, end):
        read = world.job_inputs[row, k - first]
        if read["awaited_id"] > NOTHING and not is_under_way(world, read):
            read["awaited_id"] = NOTHING
            if not has_landed(world, world.secondaries[k]["dataset"], world.queues[job["queue"]]["site"]):
                bring(world, row, k, k - first, now)
        if read["awaited_id"] > NOTHING:
            wait(world, row, world.transfers[read["awaited"]]["source"], now)
            join(world, read["awaited"], row, 0.0, 0)
            return True
        is_stuck = is_stuck or read["awaited_id"] == NO_SOURCE
    if is_stuck:
        wait(world, row, -1, now)
    return is_stuck


@compiled
def wait(world: Arrays, row, source, now):
    """Let a job wait for input from a site, -1 = none has it."""
    job = world.jobs[row]
    job["source_site"] = source
    if job["status"] != ASSIGNED:
        move(world, row, ASSIGNED, now)


@compiled
def is_under_way(world: Arrays, read):
    """True if the transfer that a job awaits has not ended."""
    return world.transfers[read["awaited"]]["transfer_id"] == read["awaited_id"]


@compiled
def has_landed(world: Arrays, number, destination):
    """True if files of a dataset lie on the disk of a site."""
    place = replica_on_disk(world, number, destination)
    return place >= 0 and world.replicas[place]["part"] > 0.0
