"""Consistency checks of storages, datasets and replicas."""

from collections.abc import Iterator

import numpy as np

from simgrid_broker.names import TransferKind
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.recount import Recount

CLOSE = 1e-9
"""Difference of sums of bytes that rounding may make, as a part of the size of a storage."""
PART = 1e-6
"""The same of sums of parts of a dataset."""


def space_is_not_negative(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """No storage is overdrawn, and none has more data than was put there."""
    storages = arrays.storages
    for name in ("free_bytes", "used_bytes", "expired_bytes", "expired_replica_bytes", "dispatched_bytes",
                 "landed_bytes", "output_bytes", "landed_output_bytes"):
        for number in np.flatnonzero(storages[name] < 0):
            yield f"storage {number} has negative {name}: {storages[name][number]:.9g}"


def space_adds_up(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """Used, expired and free space are the whole storage; free space is what was free, less what was written."""
    storages = arrays.storages
    found = storages["used_bytes"] + storages["expired_bytes"] + storages["free_bytes"]
    for number in np.flatnonzero(np.abs(found - storages["total_bytes"]) > CLOSE * storages["total_bytes"]):
        yield f"storage {number}: {found[number]:.9g} bytes are accounted for of {storages['total_bytes'][number]:.9g}"
    free = storages["first_free_bytes"] - storages["written_bytes"] + storages["deleted_bytes"]
    moved = storages["total_bytes"] + storages["written_bytes"]
    for number in np.flatnonzero(np.abs(free - storages["free_bytes"]) > CLOSE * moved):
        yield f"storage {number}: {storages['free_bytes'][number]:.9g} bytes are free, {free[number]:.9g} should be"


def _output(arrays: Arrays, found: Recount) -> np.ndarray:
    """Bytes of output at each storage that a job or a transfer accounts for, (n_storages,)."""
    jobs = arrays.jobs[found.rows[arrays.job_files["stored"][found.rows] != 0]]
    moving = arrays.transfers[(arrays.transfers["transfer_id"] != 0) & (arrays.transfers["source_bytes"] > 0)]
    site = np.concatenate([arrays.queues["site"][jobs["queue"]], moving["source"]])
    size = np.concatenate([jobs["output_bytes"], moving["source_bytes"]])
    return np.bincount(arrays.sites["storage"][site], size, len(arrays.storages))


def replicas_have_their_space(arrays: Arrays, found: Recount) -> Iterator[str]:
    """Replicas, files brought for one task, and output take no more than is used; expired replicas take what is expired
    for them."""
    rows = arrays.replicas[(arrays.replicas["dataset"] >= 0) & (arrays.replicas["storage"] >= 0)]
    n, storages = len(arrays.storages), arrays.storages
    expired = rows["expired"] > 0
    taken, over = (np.bincount(rows["storage"][chosen], rows["bytes"][chosen], n) for chosen in (~expired, expired))
    taken = taken + storages["dispatched_bytes"] + storages["output_bytes"] + _output(arrays, found)
    slack = CLOSE * storages["total_bytes"]
    for number in np.flatnonzero(taken > storages["used_bytes"] + slack):
        yield f"storage {number}: files take {taken[number]:.9g} bytes of {storages['used_bytes'][number]:.9g} used"
    for number in np.flatnonzero(np.abs(over - storages["expired_replica_bytes"]) > slack):
        yield f"storage {number}: {over[number]:.9g} bytes of replicas are expired, another number is counted"


def replicas_stand_in_lists(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """Each replica is in the list of its dataset once, has a part of it, and lets no more come than is missing."""
    replicas, datasets = arrays.replicas, arrays.datasets
    number = np.flatnonzero(datasets["first_replica"] >= 0)
    row, seen = datasets["first_replica"][number], np.zeros(len(replicas), np.int64)
    while len(row) and seen.max() <= 1:
        np.add.at(seen, row, 1)
        if (replicas["dataset"][row] != number).any():
            yield "a replica is in the list of another dataset"
        row = replicas["next"][row]
        row, number = row[row >= 0], number[row >= 0]
    held = replicas["dataset"] >= 0
    if not np.array_equal(seen, held):
        yield f"{np.count_nonzero(seen != held)} replicas are not in the lists of datasets, or stand there wrongly"
    if held.sum() != datasets["n_replicas"].sum():
        yield f"{held.sum()} replicas exist, {datasets['n_replicas'].sum()} are counted"
    part, coming = replicas["part"], replicas["coming"]
    wrong = (part < 0) | (part > 1 + PART) | (coming < 0) | (replicas["own_coming"] > coming + PART)
    for place in np.flatnonzero(held & (wrong | (replicas["own"] > part + PART))):
        yield f"replica {place} has {part[place]:.9g} of its dataset, and {coming[place]:.9g} comes"


def coming_files_are_under_way(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """What replicas let come is no more than what transfers of their datasets bring there."""
    transfers = arrays.transfers
    moving = transfers[(transfers["transfer_id"] != 0) & (transfers["kind"] == TransferKind.INPUT)
                       & (transfers["dataset"] >= 0)]
    left = np.where(moving["attempt"] > 0, moving["left_bytes"], moving["bytes"])
    for place in np.flatnonzero((arrays.replicas["dataset"] >= 0) & (arrays.replicas["coming"] > PART)):
        replica = arrays.replicas[place]
        mine = (moving["dataset"] == replica["dataset"]) & (moving["destination"] == replica["site"])
        brought = left[mine].sum() / arrays.datasets["bytes"][replica["dataset"]]
        if replica["coming"] > brought + PART:
            yield f"replica {place} lets {replica['coming']:.9g} of its dataset come, {brought:.9g} is under way"


def drives_hold(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """No endpoint of tape has more tapes mounted than drives, and only mounted ones hold data; bytes read are passed
    on, held or given up."""
    storages = arrays.storages
    slack = CLOSE * storages["read_bytes"]
    for number in np.flatnonzero((storages["mounted"] < 0) | (storages["mounted"] > storages["drives"])):
        row = storages[number]
        yield f"storage {number} has {row['mounted']} tapes mounted in {row['drives']} drives"
    held = storages["held_bytes"]
    for number in np.flatnonzero((held < -slack) | ((held > slack) & (storages["mounted"] == 0))):
        yield f"storage {number}: {storages['mounted'][number]} drives hold {held[number]:.9g} bytes"
    found = storages["passed_bytes"] + held + storages["dropped_bytes"]
    for number in np.flatnonzero(np.abs(found - storages["read_bytes"]) > slack):
        yield (f"storage {number}: {storages['read_bytes'][number]:.9g} bytes were read from tape, {found[number]:.9g} "
               "are accounted for")


STORAGE_INVARIANTS = (space_is_not_negative, space_adds_up, replicas_have_their_space, replicas_stand_in_lists,
                      coming_files_are_under_way, drives_hold)
"""The checks of storages and replicas, in the form of `invariants.INVARIANTS`."""
