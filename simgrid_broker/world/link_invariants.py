"""Consistency checks of links, doors and backbones."""

from collections.abc import Iterator

import numpy as np

from simgrid_broker.names import Activity
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.recount import Recount

CLOSE = 1e-6
"""Relative difference of sums of bytes and of rates that rounding may make."""


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
        if rate > gate["capacity"] * (1 + CLOSE):
            yield f"gate {number}: links have {rate:.6g} bytes/s of {gate['capacity']:.6g}"
        if abs(rate + gate["free"] - gate["capacity"]) > CLOSE * gate["nominal"]:
            yield f"gate {number}: what links have and what is free do not add up"


def idle_links_have_no_rate(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """A link without active files, or that is down, has given back what it had, and none has more than it can carry."""
    links = arrays.links
    for number in np.flatnonzero((links["rate"] > 0) & ((links["active_files"] == 0) | (links["down"] > 0))):
        yield f"link {number} has a rate, but moves nothing"
    for number in np.flatnonzero((links["rate"] < 0) | (links["rate"] > links["bandwidth"] * (1 + CLOSE))):
        yield f"link {number} has {links[number]['rate']:.6g} bytes/s, which it cannot carry"


def bytes_are_conserved(arrays: Arrays, _found: Recount) -> Iterator[str]:
    """Bytes that have moved over a link were delivered, were wasted, await their callback, or belong to active files.
    """
    links, transfers = arrays.links, arrays.transfers
    for number in np.flatnonzero(links["bytes_moved"] > 0):
        link = links[number]
        active = transfers[in_line(arrays, link["active_head"])]
        part = active["left_bytes"] - (active["finish_tag"] - link["virtual"]) * active["width"]
        found = link["bytes_done"] + link["bytes_wasted"] + link["bytes_landing"] + part.sum()
        if abs(found - link["bytes_moved"]) > CLOSE * link["bytes_moved"] + link["bandwidth"] * CLOSE:
            yield f"link {number}: {link['bytes_moved']:.9g} bytes have moved, {found:.9g} are accounted for"


LINK_INVARIANTS = (files_of_links_add_up, busy_links_are_listed, doors_hold, idle_links_have_no_rate,
                   bytes_are_conserved)
"""The checks of links, in the form of `invariants.INVARIANTS`."""
