"""Consistency checks of storages, datasets and replicas, and of links, doors and backbones."""

from collections.abc import Iterator

import numpy as np

from simgrid_broker.names import Activity, TransferKind
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.recount import Recount

CLOSE = 1e-9
"""Difference of sums of bytes that rounding may make, as a part of the size of a storage."""
PART = 1e-6
"""Relative difference that sums of parts of a dataset may have."""
CLOSE_RATE = 1e-6
"""Relative difference of sums of bytes and of rates that rounding may make."""
TAG = 1e-14
"""Part of the size of a transfer and of the clock of its link by which the tag of its end may be off: it is their sum,
rounded by 2^-53 of it when the transfer starts, at each outage, and when the clock is subtracted; dozens of times this.
"""


def space_is_not_negative(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """No storage is overdrawn, and none has more data than was put there."""
    storages = arrays.storages
    for name in ("free_bytes", "used_bytes", "expired_bytes", "expired_replica_bytes", "dispatched_bytes",
                 "landed_bytes", "output_bytes", "landed_output_bytes", "event_bytes"):
        for number in np.flatnonzero(storages[name] < 0):
            yield f"storage {number} has negative {name}: {storages[name][number]:.9g}"


def space_adds_up(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """Used, expired and free space are the whole storage; free space is what was free, less what was written."""
    storages = arrays.storages
    sums = storages["used_bytes"] + storages["expired_bytes"] + storages["free_bytes"]
    for number in np.flatnonzero(np.abs(sums - storages["total_bytes"]) > CLOSE * storages["total_bytes"]):
        yield f"storage {number}: {sums[number]:.9g} bytes are accounted for of {storages['total_bytes'][number]:.9g}"
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


def events_have_their_space(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """Object stores hold the output of the event ranges that lie there, and no more of it is counted."""
    held = arrays.event_ranges[(arrays.event_ranges["owner"] != 0) & (arrays.event_ranges["store"] >= 0)]
    size = (held["last"] - held["first"] + 1) * arrays.event_chunks["event_bytes"][held["chunk"]]
    found, storages = np.bincount(held["store"], size, len(arrays.storages)), arrays.storages
    for number in np.flatnonzero(np.abs(found - storages["event_bytes"]) > CLOSE * storages["total_bytes"]):
        yield (f"storage {number}: {storages['event_bytes'][number]:.9g} bytes of events are counted of "
               f"{found[number]:.9g}")


def replicas_have_their_space(arrays: Arrays, found: Recount) -> Iterator[str]:
    """Replicas, files brought for one task, and output take no more than is used; expired replicas take what is expired
    for them."""
    rows = arrays.replicas[(arrays.replicas["dataset"] >= 0) & (arrays.replicas["storage"] >= 0)]
    n, storages = len(arrays.storages), arrays.storages
    expired = rows["expired"] > 0
    taken, over = (np.bincount(rows["storage"][chosen], rows["bytes"][chosen], n) for chosen in (~expired, expired))
    taken = taken + storages["dispatched_bytes"] + storages["output_bytes"] + storages["event_bytes"]
    taken += _output(arrays, found)
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
    """Replicas await no more than the transfers of their datasets bring there."""
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
    sums = storages["passed_bytes"] + held + storages["dropped_bytes"]
    for number in np.flatnonzero(np.abs(sums - storages["read_bytes"]) > slack):
        yield (f"storage {number}: {storages['read_bytes'][number]:.9g} bytes were read from tape, {sums[number]:.9g} "
               "are accounted for")


STORAGE_INVARIANTS = (space_is_not_negative, space_adds_up, events_have_their_space, replicas_have_their_space,
                      replicas_stand_in_lists, coming_files_are_under_way, drives_hold)
"""The checks of storages and replicas, in the form of `invariants.INVARIANTS`."""


def in_line(arrays: Arrays, row: int) -> np.ndarray:
    """Rows of the transfers in the list that begins with `row`; -1 = an empty list."""
    rows = []
    while row >= 0:
        rows.append(row)
        row = arrays.transfers[row]["next"]
    return np.array(rows, int)


def files_of_links_add_up(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """Files of each link and activity equal those of its transfers; active files respect the limit, readers apart."""
    links, transfers = arrays.links, arrays.transfers
    for number in np.flatnonzero((links["active_head"] >= 0) | (links["queued_files"] != 0)
                                 | (links["active_files"] != 0)):
        link, lanes = links[number], arrays.lanes[number]
        active = in_line(arrays, link["active_head"])
        waiting = np.concatenate([in_line(arrays, head) for head in lanes["head"]])
        width = np.bincount(transfers["activity"][active], transfers["width"][active], len(Activity))
        both = transfers[np.concatenate([active, waiting])]
        queued = np.bincount(both["activity"], both["left_files"], len(Activity))
        of_fts = link["active_files"] - link["readers"]
        if width.sum() != link["active_files"] or not np.array_equal(width, [*lanes["active_files"], link["readers"]]):
            yield f"link {number}: {link['active_files']} active files counted, {width.sum():.0f} found"
        if of_fts > link["max_active_files"]:
            yield f"link {number}: {of_fts} active files of FTS, at most {link['max_active_files']} are allowed"
        if queued.sum() != link["queued_files"]:
            yield f"link {number}: {link['queued_files']} queued files counted, {queued.sum():.0f} found"
        if (queued[Activity.PRODUCTION_OUTPUT], queued[Activity.EXPRESS]) != (link["queued_output"],
                                                                             link["queued_express"]):
            yield f"link {number}: files of output that are queued are not those that are counted"


def moving_bytes_have_a_source(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """A transfer that moves files of a shared dataset moves them from where one of its replicas has files."""
    held = arrays.replicas[(arrays.replicas["dataset"] >= 0) & (arrays.replicas["part"] > 0)]
    there = set(zip(held["dataset"].tolist(), held["site"].tolist(), strict=True))
    for number in np.flatnonzero(arrays.links["active_head"] >= 0):
        for transfer in arrays.transfers[in_line(arrays, arrays.links["active_head"][number])]:
            if transfer["dataset"] >= 0 and (int(transfer["dataset"]), int(transfer["source"])) not in there:
                yield f"link {number}: transfer {transfer['transfer_id']} moves files that its source has not"


def busy_links_are_listed(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """The list of busy links has every link with files once, and each knows its place."""
    listed = arrays.busy_links[:arrays.state[0]["n_busy_links"]]
    if not np.array_equal(np.sort(listed), np.flatnonzero(arrays.links["queued_files"] > 0)):
        yield "the list of busy links is not that of the links with files"
    elif not np.array_equal(arrays.links["place"][listed], np.arange(len(listed))):
        yield "busy links do not stand at the places that they know"


def doors_hold(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """The links through a door or backbone have together what it has not free, and never more than its capacity."""
    given = np.zeros(len(arrays.gates))
    for layer in arrays.link_gates.T:
        crossed = np.flatnonzero(layer >= 0)
        np.add.at(given, layer[crossed], arrays.links["rate"][crossed])
    for number, (gate, rate) in enumerate(zip(arrays.gates, given, strict=True)):
        if rate > gate["capacity"] * (1 + CLOSE_RATE):
            yield f"gate {number}: links have {rate:.6g} bytes/s of {gate['capacity']:.6g}"
        if abs(rate + gate["free"] - gate["capacity"]) > CLOSE_RATE * gate["nominal"]:
            yield f"gate {number}: what links have and what is free do not add up"


def idle_links_have_no_rate(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """A link without active files, or that is down, has given back what it had, and none has more than it can carry."""
    links = arrays.links
    for number in np.flatnonzero((links["rate"] > 0) & ((links["active_files"] == 0) | (links["down"] > 0))):
        yield f"link {number} has a rate, but moves nothing"
    for number in np.flatnonzero((links["rate"] < 0) | (links["rate"] > links["bandwidth"] * (1 + CLOSE_RATE))):
        yield f"link {number} has {links[number]['rate']:.6g} bytes/s, which it cannot carry"


def bytes_are_conserved(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """Bytes that have moved over a link were delivered, were wasted, await their callback, or belong to active files.

    An end may come up to `SOONER_S` late, while the link moves bytes that belong to no file: with ten ends a second,
    a millionth of what moves. A part of an active file is a small difference of large numbers, the tag and the clock.
    """
    links, transfers = arrays.links, arrays.transfers
    part, left = np.zeros((2, len(links)))
    for number in np.flatnonzero(links["active_head"] >= 0):
        active = transfers[in_line(arrays, links["active_head"][number])]
        of_each = active["left_bytes"] - (active["finish_tag"] - links["virtual"][number]) * active["width"]
        part[number], left[number] = of_each.sum(), active["left_bytes"].sum()
    moved, total = links["bytes_moved"], links["bytes_done"] + links["bytes_wasted"] + links["bytes_landing"] + part
    slack = CLOSE_RATE * (moved + links["bandwidth"]) + TAG * (left + links["virtual"] * links["active_files"])
    for number in np.flatnonzero((moved > 0) & (np.abs(total - moved) > slack)):
        yield f"link {number}: {moved[number]:.9g} bytes have moved, {total[number]:.9g} are accounted for"


LINK_INVARIANTS = (files_of_links_add_up, moving_bytes_have_a_source, busy_links_are_listed, doors_hold,
                   idle_links_have_no_rate, bytes_are_conserved)
"""The checks of links, in the form of `invariants.INVARIANTS`."""
