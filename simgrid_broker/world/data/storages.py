"""Space of storages: what writes take of it, and what is deleted when less than the minimum is free.

Source: Rucio, reaper: expired replicas are deleted at a storage while less than `minFreeSpace` is free.
"""

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.schema.grid import OFF
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.replicas import drop_replica, give_space_back

IS_OFF = OFF["OFF"]
"""Value of `read_wan_off` and the like of an activity that is off, or open to tests alone."""
LEAST = 1.0
"""Bytes below which a difference of sizes is rounding."""


@compiled
def oldest_expired(world: Arrays, storage):
    """Row of the replica at a storage that expired first, -1 = none has.

    Files that are awaited there, or that move from there, protect one; source: Rucio, core/replica.py (sources of
    requests are not deleted).
    """
    oldest, earliest = -1, np.inf
    for row in range(len(world.replicas)):
        replica = world.replicas[row]
        if (replica["dataset"] >= 0 and replica["expired"] and replica["storage"] == storage
                and replica["coming"] <= 0 and replica["expires_s"] < earliest and not is_source(world, replica)):
            oldest, earliest = row, replica["expires_s"]
    return oldest


@compiled
def is_source(world: Arrays, replica):
    """True if a transfer reads the files of a replica."""
    for row in range(len(world.transfers)):
        transfer = world.transfers[row]
        if (transfer["transfer_id"] != 0 and transfer["dataset"] == replica["dataset"]
                and transfer["source"] == replica["site"]):
            return True
    return False


@compiled
def free_space(world: Arrays, number, wanted):
    """Delete so many bytes of the expired data of a storage, or a little more, or all of it; returns how many were.

    Data of which no replica is known goes first, then whole replicas, the one that expired first before the others.
    """
    storage = world.storages[number]
    deleted = min(wanted, storage["expired_bytes"] - storage["expired_replica_bytes"])
    if deleted > 0:
        give_space_back(storage, deleted, True)
    while wanted - deleted > LEAST and storage["expired_replica_bytes"] > LEAST:
        row = oldest_expired(world, number)
        if row < 0:
            break
        deleted += world.replicas[row]["bytes"]
        drop_replica(world, row)
    return deleted


@compiled
def take_space(world: Arrays, number, size):
    """Take `size` bytes of a storage; False if it is full.

    If too little is free, expired data is deleted at once, unless the storage has a rate of deletion.
    """
    storage = world.storages[number]
    wanted = size + storage["min_free_bytes"] - storage["free_bytes"]
    if wanted > 0 and storage["expired_bytes"] > 0 and storage["deletion_rate"] == np.inf:
        free_space(world, number, wanted)
    if storage["free_bytes"] < size:
        return False
    storage["free_bytes"] -= size
    storage["used_bytes"] += size
    storage["written_bytes"] += size
    return True


free_space_of, take_space_of = uncompiled(free_space), uncompiled(take_space)
"""As `free_space` and `take_space`, for Python, which asks so seldom that compiling takes longer."""


LANDED = {"dispatched_bytes": "landed_bytes", "output_bytes": "landed_output_bytes"}
"""Columns of storages with data that has a lifetime but no replica, and with what of it has landed lately."""


def take_landed(arrays: Arrays, name: str) -> np.ndarray:
    """Bytes of one of LANDED that have landed at each storage since the last call, (n_storages,)."""
    size = arrays.storages[LANDED[name]].copy()
    arrays.storages[LANDED[name]] = 0.0
    return size


def expire_landed(arrays: Arrays, name: str, size: np.ndarray) -> None:
    """Let bytes of one of LANDED, (n_storages,), become expired data."""
    for taken in ("used_bytes", name):
        arrays.storages[taken] = np.maximum(arrays.storages[taken] - size, 0.0)
    arrays.storages["expired_bytes"] += size
