"""Output of jobs between their end and the nucleus: the space that it takes, and the sub-datasets that it completes.

The Setupper gives jobs that it sets up together a destination sub-dataset; it is complete when the output of each has
arrived or will not come. Source: lifecycle reference, 7.4.
"""

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.events import SUBDATASET_DONE, schedule
from simgrid_broker.names import JOBS_PER_SUBDATASET
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.replicas import IS_OFF, give_space_back, take_space
from simgrid_broker.world.rows import has_no_pieces, is_consumer, release_subdataset, take_subdataset


@compiled
def stays(world: Arrays, job, site):
    """True if the output of a job is not transferred: no nucleus, no output, or already in the nucleus' storage.

    Source: lifecycle reference, section 7.4.
    """
    nucleus = job["nucleus"]
    if nucleus < 0 or nucleus == site or job["output_bytes"] <= 0:
        return True
    storage = world.sites[site]["storage"]
    return storage >= 0 and storage == world.sites[nucleus]["storage"]


@compiled
def join_subdataset(world: Arrays, row, number):
    """Put a new job whose output is to be transferred into a sub-dataset; returns the one in use.

    number: that of the job before, which it shares if task and sites are the same, up to 50 jobs; -1 = none.
    """
    job = world.jobs[row]
    site = world.queues[job["queue"]]["site"]
    waits = world.tasks[job["task"]]["mergeoutput"] and not has_no_pieces(job)
    if waits or is_consumer(world, row) or stays(world, job, site):
        return number
    if number >= 0:
        last = world.subdatasets[number]
        if (last["jeditaskid"] != job["jeditaskid"] or last["source"] != site or last["destination"] != job["nucleus"]
                or last["n_jobs"] >= JOBS_PER_SUBDATASET):
            number = -1
    if number < 0:
        number = take_subdataset(world)
        new = world.subdatasets[number]
        new["jeditaskid"], new["source"], new["destination"] = job["jeditaskid"], site, job["nucleus"]
        new["n_jobs"], new["open"], new["first"] = 0, 0, -1
    world.subdatasets[number]["n_jobs"] += 1
    world.subdatasets[number]["open"] += 1
    world.job_files[row]["subdataset"] = number
    return number


@compiled
def leave_subdataset(world: Arrays, files):
    """Note that the output of a job will not come; if that completes its sub-dataset, the callback comes at once."""
    number = files["subdataset"]
    files["subdataset"] = -1
    subdataset = world.subdatasets[number]
    subdataset["open"] -= 1
    if subdataset["open"] > 0:
        return
    if subdataset["first"] < 0:
        release_subdataset(world, number)
    else:
        schedule(world, world.state[0]["now_s"], SUBDATASET_DONE, number)


@compiled
def arrive(world: Arrays, row, now):
    """Note that the output of the jobs of a transfer has arrived, and put the transfer into the list of those."""
    transfer = world.transfers[row]
    transfer["ended_s"] = now
    subdataset = world.subdatasets[transfer["subdataset"]]
    job = transfer["first_job"]
    while job >= 0:
        world.job_files[job]["subdataset"] = -1
        job = world.jobs[job]["sibling"]
    subdataset["open"] -= transfer["n_jobs"]
    transfer["next"], subdataset["first"] = subdataset["first"], row


@compiled
def take_off(world: Arrays, row):
    """Take a transfer from the list of those that wait for the rest of their sub-dataset."""
    transfer = world.transfers[row]
    subdataset = world.subdatasets[transfer["subdataset"]]
    before = subdataset["first"]
    if before == row:
        subdataset["first"] = transfer["next"]
        return
    while world.transfers[before]["next"] != row:
        before = world.transfers[before]["next"]
    world.transfers[before]["next"] = transfer["next"]


@compiled
def write_output(world: Arrays, row):
    """Write the output of a job to the storage of its site; False if that is off or full.

    Output for a nucleus takes space until it has arrived there. Other output only needs room.
    """
    job = world.jobs[row]
    number = world.sites[world.queues[job["queue"]]["site"]]["storage"]
    if number < 0 or job["output_bytes"] <= 0:
        return True
    storage = world.storages[number]
    if storage["write_lan_off"] == IS_OFF:
        return False
    if job["nucleus"] < 0:
        return storage["free_bytes"] + storage["expired_bytes"] >= job["output_bytes"]
    if not take_space(world, number, job["output_bytes"]):
        return False
    world.job_files[row]["stored"] = 1
    return True


@compiled
def hand_over(world: Arrays, transfer, row):
    """Let a transfer have the output of a job, with the space that it takes."""
    if world.job_files[row]["stored"]:
        transfer["source_bytes"] += world.jobs[row]["output_bytes"]
        world.job_files[row]["stored"] = 0


@compiled
def keep_output(world: Arrays, site, size):
    """Count output that stays at a site, where its space was taken, until its lifetime ends."""
    number = world.sites[site]["storage"]
    if number >= 0:
        storage = world.storages[number]
        storage["output_bytes"] += size
        storage["landed_output_bytes"] += size


@compiled
def delete_output(world: Arrays, row):
    """Delete the output of a job at its site, which has been merged or is not wanted any more."""
    world.job_files[row]["stored"], job = 0, world.jobs[row]
    storage = world.storages[world.sites[world.queues[job["queue"]]["site"]]["storage"]]
    give_space_back(storage, job["output_bytes"], False)


@compiled
def delete_source(world: Arrays, transfer, part):
    """Delete a part of the files that a transfer has at its source."""
    size = transfer["source_bytes"] * part
    if size > 0:
        give_space_back(world.storages[world.sites[transfer["source"]]["storage"]], size, False)
        transfer["source_bytes"] -= size
