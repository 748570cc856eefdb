"""Files that are brought to sites for jobs: they land there, serve other jobs, and expire.

A shared dataset counts its files and does not name them, so a job finds as many of its files at a site as are expected
there: of the files that its task has not asked for there yet, the part that other tasks have brought. A task that reads
a dataset for the first time at a site thus moves each file once, and later tasks find what it has brought.

Of the input of one task alone each job reads other files, so what was brought serves the next attempts at it: where
that was goes with the input. A storage counts the bytes of all such files, whatever their number and their tasks.

Source: lifecycle reference, section 7.2 (dispatch datasets, whose rules last 7 days).
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import TransferKind
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.replicas import add_replica, drop_replica, grow_replica, keep_until, replica_on_disk

OUTPUT = int(TransferKind.OUTPUT)
JOBS_PER_BUNCH = 20
"""Maximum number of jobs that share a dispatch dataset for their input; source: lifecycle reference, section 7.2."""
ROUNDING = 1e-9
"""Part of a job's input below which nothing is missing."""


@compiled
def to_bring(world: Arrays, job, number, destination, missing, size, again):
    """Parts of what a job reads of a dataset that must be moved to a site, and that are under way there for others.

    missing: what replicas show as missing there, without a view to who has brought the rest; size: bytes that the job
    reads of it; again: whether its files may be among those that the task has asked for there.
    """
    row = replica_on_disk(world, number, destination)
    if row < 0 or missing <= 0.0:
        return missing, 0.0
    replica = world.replicas[row]
    claim(replica, job)
    own, own_coming = replica["own"], replica["own_coming"]
    if again:
        here, arriving = replica["part"], replica["coming"]
    else:
        unasked = max(1.0 - own - own_coming, ROUNDING)
        here = min((replica["part"] - own) / unasked, 1.0)
        arriving = min(max(replica["coming"] - own_coming, 0.0) / unasked, 1.0 - here)
        share = size / world.datasets[number]["bytes"]
        replica["own"] = min(own + here * share, replica["part"])
        replica["own_coming"] = min(own_coming + arriving * share, replica["coming"])
    part = 1.0 - here - arriving
    most = most_to_bring(world, replica, size)
    if part > most + ROUNDING:
        arriving, part = (arriving + part - most if replica["coming"] > ROUNDING else arriving), most
    return (0.0 if part < ROUNDING else part), (0.0 if arriving < ROUNDING else arriving)


@compiled
def most_to_bring(world: Arrays, replica, size):
    """Files of a dataset that neither lie at a site nor come there, as a part of `size` bytes: no file comes twice."""
    unasked = max(1.0 - replica["part"] - replica["coming"], 0.0)
    return unasked * world.datasets[replica["dataset"]]["bytes"] / max(np.float64(size), 1.0)


@compiled
def claim(replica, job):
    """Let a replica count the files that the task of a job asks for there, instead of those of another task."""
    if replica["own_task"] != job["jeditaskid"]:
        replica["own_task"], replica["own"], replica["own_coming"] = job["jeditaskid"], 0.0, 0.0


@compiled
def pin(world: Arrays, number, destination, now):
    """Extend the lifetime of the files of a dataset at a site, as the second dispatch dataset of a bunch does."""
    row = replica_on_disk(world, number, destination)
    if row >= 0:
        keep_until(world, row, now + world.settings[0]["dispatch_lifetime_s"])


@compiled
def await_part(world: Arrays, job, transfer_row, number, destination, missing_bytes):
    """Note at the replica of a site that bytes of a dataset that a job misses come there with a transfer."""
    replica = world.replicas[await_files(world, transfer_row, number, destination, missing_bytes)]
    claim(replica, job)
    replica["own_coming"] += missing_bytes / world.datasets[number]["bytes"]


@compiled
def await_files(world: Arrays, transfer_row, number, destination, size):
    """Note at the replica of a site that bytes of a dataset come there with a transfer; returns its row."""
    row = replica_on_disk(world, number, destination)
    if row < 0:
        row = add_replica(world, number, destination, 0.0)
        world.replicas[row]["secondary"] = 1
        world.replicas[row]["expires_s"] = np.inf          # its lifetime begins when files have arrived
    replica, transfer = world.replicas[row], world.transfers[transfer_row]
    replica["coming"] += size / world.datasets[number]["bytes"]
    replica["transfer"], replica["transfer_id"] = transfer_row, transfer["transfer_id"]
    transfer["dataset"] = number
    return row


@compiled
def note_brought(world: Arrays, files, transfer_row, now):
    """Note in the row of `job_files`, for the next attempts at the input of the job, where a transfer brings it."""
    transfer = world.transfers[transfer_row]
    files["brought_by"], files["brought_id"] = transfer_row, transfer["transfer_id"]
    files["brought_to"], files["brought_s"] = transfer["destination"], now


@compiled
def keep_brought(to, of):
    """Copy where input of one task alone was brought from one row of `job_files` or `retries` to another."""
    to["brought_by"], to["brought_id"] = of["brought_by"], of["brought_id"]
    to["brought_to"], to["brought_s"] = of["brought_to"], of["brought_s"]


@compiled
def was_brought(world: Arrays, files, destination, now):
    """True if an earlier attempt had the input of a job moved to a site by a rule that has not expired."""
    return files["brought_to"] == destination and now < files["brought_s"] + world.settings[0]["dispatch_lifetime_s"]


@compiled
def keep_files(world: Arrays, number, size):
    """Count files of one task alone that have landed at a storage, whose space was taken; -1 = there is none."""
    if number >= 0:
        storage = world.storages[number]
        storage["dispatched_bytes"] += size
        storage["landed_bytes"] += size


@compiled
def stays_there(world: Arrays, transfer):
    """True if the files of a transfer stay at its destination: all do but those of a dataset that has been deleted."""
    return transfer["dataset"] < 0 or not world.datasets[transfer["dataset"]]["deleted"]


@compiled
def is_still_wanted(world: Arrays, transfer, now):
    """True if a transfer for which no job waits goes on: its rule has not expired, and its source is still there."""
    if transfer["kind"] == OUTPUT or not stays_there(world, transfer) or source_is_gone(world, transfer):
        return False
    return transfer["dataset"] >= 0 or now < transfer["submitted_s"] + world.settings[0]["dispatch_lifetime_s"]


@compiled
def source_is_gone(world: Arrays, transfer):
    """True if the replica of a shared dataset from which a transfer comes has been lost or deleted meanwhile."""
    if transfer["dataset"] < 0:
        return False
    place = world.datasets[transfer["dataset"]]["first_replica"]
    while place >= 0:
        replica = world.replicas[place]
        if replica["site"] == transfer["source"] and replica["part"] > 0:
            return False
        place = replica["next"]
    return True


@compiled
def give_up_files(world: Arrays, transfer):
    """Leave to a transfer the files that have arrived; the others will not come."""
    number, given_up = transfer["dataset"], transfer["left_bytes"]
    transfer["bytes"], transfer["n_files"] = transfer["bytes"] - given_up, transfer["n_files"] - transfer["left_files"]
    transfer["left_bytes"], transfer["left_files"] = 0.0, 0
    row = replica_on_disk(world, number, transfer["destination"]) if number >= 0 else -1
    if row < 0:
        return
    replica = world.replicas[row]
    stop_awaiting(replica, transfer, given_up / world.datasets[number]["bytes"])
    if replica["part"] <= 0 and replica["coming"] <= ROUNDING:
        drop_replica(world, row)


@compiled
def stop_awaiting(replica, transfer, part):
    """Let a replica await a part less of its dataset; returns the part of which its task has asked for.

    A transfer that began before an earlier replica was lost is not awaited by the new one, which may await less.
    """
    replica["coming"] = max(replica["coming"] - part, 0.0)
    asked = replica["own_coming"]
    left = max(asked - part, 0.0) if replica["own_task"] == transfer["jeditaskid"] else asked
    replica["own_coming"] = min(left, replica["coming"])
    return asked - replica["own_coming"]


@compiled
def land_files(world: Arrays, transfer, size, now):
    """Let bytes of a transfer, whose space was taken, become part of the replica at its destination.

    If that was lost meanwhile, they begin a new one. Files of one task alone are counted by the storage.
    """
    number = transfer["dataset"]
    if number < 0:
        keep_files(world, world.sites[transfer["destination"]]["storage"], size)
        return
    row = replica_on_disk(world, number, transfer["destination"])
    if row < 0:
        row = add_replica(world, number, transfer["destination"], 0.0)
        world.replicas[row]["secondary"] = 1
    replica = world.replicas[row]
    asked = stop_awaiting(replica, transfer, size / world.datasets[number]["bytes"])
    if replica["secondary"]:
        if replica["expires_s"] == np.inf:
            replica["expires_s"] = now
        keep_until(world, row, now + world.settings[0]["dispatch_lifetime_s"])
    grow_replica(world, row, size)
    replica["own"] = min(replica["own"] + asked, replica["part"])
