"""Replicas of datasets, a list for each dataset, and space of storages, in which only the functions here write.

Source of what is deleted when less than the minimum is free: Rucio, reaper: expired replicas are deleted at a storage
while less than `minFreeSpace` is free.
"""

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.names import COMPLETE
from simgrid_broker.schema.grid import OFF
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.rows import release_replica, take_replica


@compiled
def first_replica(world: Arrays, task_row):
    """First replica of the dataset that a task reads, of a container the one in hand, -1 = none; the others follow by
    `next`."""
    return world.datasets[world.input_dataset[task_row]]["first_replica"]


@compiled
def is_shared(dataset):
    """True if tasks share a dataset, which is one of the scenario; else it is the input of one task."""
    return dataset["bytes"] > 0


@compiled
def note_change(world: Arrays, number):
    """Note that the replicas of a dataset have changed, and what none of them has."""
    dataset = world.datasets[number]
    dataset["version"] += 1
    world.state[0]["replicas_version"] += 1
    if is_shared(dataset):
        dataset["lost"] = 1.0 - most_of(world, number)


@compiled
def most_of(world: Arrays, number):
    """Largest part of a dataset that one replica has, 0 to 1; those of virtual placement have no files."""
    most, row = 0.0, world.datasets[number]["first_replica"]
    while row >= 0:
        if not world.replicas[row]["virtual"]:
            most = max(most, world.replicas[row]["part"])
        row = world.replicas[row]["next"]
    return 1.0 if most >= COMPLETE else most


@compiled
def part_of_staged(world: Arrays, task_row, number, part):
    """Part of a dataset that a task may use now which a replica with a part of all of it has.

    A task with inputPreStaging uses what has come from tape so far, which a replica that has as much has whole.
    """
    unstaged = world.datasets[number]["unstaged"]
    if unstaged <= 0.0 or unstaged >= 1.0 or not world.tasks[task_row]["inputprestaging"]:
        return part
    usable = part / (1.0 - unstaged)
    return 1.0 if usable >= COMPLETE else usable


@compiled
def add_replica(world: Arrays, number, site, part):
    """Put a replica of a dataset on the disk of a site, behind the others of the dataset; returns its row.

    It is a primary one, whose size is not counted; the caller makes room.
    """
    row, state, dataset = take_replica(world), world.state[0], world.datasets[number]
    replica, last = world.replicas[row], dataset["first_replica"]
    if last < 0:
        dataset["first_replica"] = row
    else:
        while world.replicas[last]["next"] >= 0:
            last = world.replicas[last]["next"]
        world.replicas[last]["next"] = row
    replica["dataset"], replica["site"], replica["storage"] = number, site, world.sites[site]["storage"]
    replica["part"], replica["expires_s"] = part, np.inf
    replica["coming"] = replica["own"] = replica["own_coming"] = replica["bytes"] = 0.0
    replica["own_task"] = replica["transfer_id"] = 0
    replica["tape"] = replica["virtual"] = replica["secondary"] = replica["expired"] = 0
    replica["next"] = replica["transfer"] = -1
    dataset["n_replicas"] += 1
    state["most_replicas"] = max(state["most_replicas"], dataset["n_replicas"])
    note_change(world, number)
    return row


@compiled
def less(size, part):
    """`size` without a part of it, bytes; a rounding error below 0 is 0."""
    return max(size - part, 0.0)


@compiled
def give_space_back(storage, size, expired):
    """Free so many bytes of a storage, expired or not."""
    if expired:
        storage["expired_bytes"] = less(storage["expired_bytes"], size)
    else:
        storage["used_bytes"] = less(storage["used_bytes"], size)
    storage["free_bytes"] += size
    storage["deleted_bytes"] += size


@compiled
def drop_replica(world: Arrays, row):
    """Remove a replica from the list of its dataset, and give its space back."""
    replica = world.replicas[row]
    number, before = replica["dataset"], world.datasets[replica["dataset"]]["first_replica"]
    if before == row:
        world.datasets[number]["first_replica"] = replica["next"]
    else:
        while world.replicas[before]["next"] != row:
            before = world.replicas[before]["next"]
        world.replicas[before]["next"] = replica["next"]
    if replica["storage"] >= 0:
        storage = world.storages[replica["storage"]]
        give_space_back(storage, replica["bytes"], replica["expired"])
        if replica["expired"]:
            storage["expired_replica_bytes"] = less(storage["expired_replica_bytes"], replica["bytes"])
    world.datasets[number]["n_replicas"] -= 1
    release_replica(world, row)
    note_change(world, number)


@compiled
def drop_replicas(world: Arrays, number):
    """Remove all replicas of a dataset."""
    while world.datasets[number]["first_replica"] >= 0:
        drop_replica(world, world.datasets[number]["first_replica"])


@compiled
def replica_on_disk(world: Arrays, number, site):
    """Row of the replica of a dataset on the disk of a site, -1 = there is none."""
    row = world.datasets[number]["first_replica"]
    while row >= 0:
        replica = world.replicas[row]
        if replica["site"] == site and not replica["tape"] and not replica["virtual"]:
            return row
        row = replica["next"]
    return -1


@compiled
def parts_of_dataset(world: Arrays, number, site):
    """Largest parts of a dataset that a replica at a site has: on disk or tape, and on disk."""
    disk, held = 0.0, 0.0
    place = world.datasets[number]["first_replica"]
    while place >= 0:
        replica = world.replicas[place]
        if replica["site"] == site:
            held = max(held, replica["part"])
            if not replica["tape"]:
                disk = max(disk, replica["part"])
        place = replica["next"]
    return held, disk


@compiled
def most_on_disk(world: Arrays, number):
    """Largest part of a dataset that one replica on disk has, 0 to 1."""
    most, row = 0.0, world.datasets[number]["first_replica"]
    while row >= 0:
        replica = world.replicas[row]
        if not replica["tape"] and not replica["virtual"]:
            most = max(most, replica["part"])
        row = replica["next"]
    return most


@compiled
def count_expired(storage, size):
    """Count used bytes of a replica as expired ones."""
    storage["used_bytes"] = less(storage["used_bytes"], size)
    storage["expired_bytes"] += size
    storage["expired_replica_bytes"] += size


@compiled
def grow_replica(world: Arrays, row, size):
    """Let so many bytes of a shared dataset arrive at a replica, whose space was taken before."""
    replica = world.replicas[row]
    part = replica["part"] + size / world.datasets[replica["dataset"]]["bytes"]
    replica["part"] = 1.0 if part >= COMPLETE else part
    replica["bytes"] += size
    if replica["expired"] and replica["storage"] >= 0:
        count_expired(world.storages[replica["storage"]], size)
    note_change(world, replica["dataset"])


@compiled
def keep_until(world: Arrays, row, expires_s):
    """Extend the lifetime of a secondary replica, as a rule of DDM does that pins it, even if it was over."""
    replica = world.replicas[row]
    if not replica["secondary"] or (expires_s <= replica["expires_s"] and not replica["expired"]):
        return
    replica["expires_s"] = expires_s
    if replica["expired"]:
        replica["expired"] = 0
        if replica["storage"] >= 0:
            storage = world.storages[replica["storage"]]
            storage["used_bytes"] += replica["bytes"]
            storage["expired_bytes"] = less(storage["expired_bytes"], replica["bytes"])
            storage["expired_replica_bytes"] = less(storage["expired_replica_bytes"], replica["bytes"])


@compiled
def expire(world: Arrays, row):
    """Let the lifetime of a replica end: its files stay readable until the space is needed."""
    replica = world.replicas[row]
    replica["expired"] = 1
    if replica["storage"] >= 0:
        count_expired(world.storages[replica["storage"]], replica["bytes"])


add_replica_of, drop_replica_of = uncompiled(add_replica), uncompiled(drop_replica)
drop_replicas_of, note_change_of = uncompiled(drop_replicas), uncompiled(note_change)
expire_of, grow_replica_of = uncompiled(expire), uncompiled(grow_replica)
keep_until_of, most_on_disk_of = uncompiled(keep_until), uncompiled(most_on_disk)
replica_on_disk_of = uncompiled(replica_on_disk)
"""As the functions of similar names, for Python, which asks so seldom that compiling takes longer."""


def add_staged_replica(world: Arrays, number: int, site: int, expires_s: float) -> int:
    """Put a secondary replica of a dataset without files on the disk of a site; returns its row.

    expires_s: simulated time, s. The caller makes room.
    """
    row = int(add_replica_of(world, number, site, 0.0))
    world.replicas["secondary"][row], world.replicas["expires_s"][row] = 1, expires_s
    return row


def note_unstaged(world: Arrays, number: int, part: float) -> None:
    """Note the part of a dataset that a request has still to bring from tape, 0 to 1."""
    if world.datasets["unstaged"][number] != part:
        world.datasets["unstaged"][number] = part
        note_change_of(world, number)


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
