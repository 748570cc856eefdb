"""Links: what a link has of its doors, the clock of sharing among its files, and the transfers that it admits.

The files under way share the rate of the link equally. Each link has its own clock, `virtual`: the bytes that every
active file has received since the link was last idle. A transfer that starts at clock v ends when the clock reaches
v + bytes / width, so an arrival, an end or another rate changes the speed of the clock and never the order of the ends.

Between the cycles of the transfer optimiser a link that becomes active gets what its gates have free, and one that
empties gives its part back; so no gate ever gives more than it has.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.events import LINK_DUE, schedule
from simgrid_broker.names import Activity
from simgrid_broker.world.arrays import N_ACTIVITIES, Arrays

EXPRESS, PRODUCTION_OUTPUT = int(Activity.EXPRESS), int(Activity.PRODUCTION_OUTPUT)

ROUNDING = 1e-9
"""Addition to a part of a limit before it is cut to whole files."""
SOONER_S = 1e-7
"""Least time by which an end must come before the event that waits for it, s; less is rounding of the clock."""


@compiled
def file_speed(link):
    """Rate of each file under way on a link, bytes/s; the link must have one."""
    return min(link["rate"] / link["active_files"], link["file_rate"])


@compiled
def catch_up(link, now):
    """Advance the link's virtual clock to `now`."""
    if link["active_files"] > 0 and link["rate"] > 0:
        passed = now - link["updated_s"]
        received = passed * file_speed(link)
        link["virtual"] += received
        link["bytes_moved"] += received * link["active_files"]
        link["busy_s"] += passed
    link["updated_s"] = now


@compiled
def usable_rate(link, files):
    """Rate that a link that is up can use for a number of files, bytes/s."""
    return min(link["bandwidth"], files * link["file_rate"]) if files > 0 else 0.0


@compiled
def change_rate(world: Arrays, number, rate):
    """Give a link a rate, and its gates what it has less."""
    link = world.links[number]
    for place in range(world.link_gates.shape[1]):
        gate = world.link_gates[number, place]
        if gate < 0:
            break
        world.gates[gate]["free"] += link["rate"] - rate
    link["rate"] = rate


@compiled
def settle_rate(world: Arrays, number):
    """Let a link that has become active take what its gates have free, and one that is idle or down give back all.

    The clock must have been brought up to date.
    """
    link = world.links[number]
    if link["active_files"] == 0 or link["down"]:
        if link["rate"] > 0:
            change_rate(world, number, 0.0)
        return
    if link["rate"] > 0:
        return
    rate = usable_rate(link, link["active_limit"] + link["readers"])
    for place in range(world.link_gates.shape[1]):
        gate = world.link_gates[number, place]
        if gate < 0:
            break
        rate = min(rate, max(world.gates[gate]["free"], 0.0))
    change_rate(world, number, rate)


@compiled
def set_due(world: Arrays, number, now):
    """Schedule an event for the next end on a link, unless one at the same or an earlier time is scheduled.

    An end after the next cycle of the optimiser is left to that cycle, which changes rates.
    """
    link = world.links[number]
    head = link["active_head"]
    if head < 0 or link["rate"] <= 0:
        return
    due = now + max(world.transfers[head]["finish_tag"] - link["virtual"], 0.0) / file_speed(link)
    if due < link["due_s"] - SOONER_S and due <= world.state[0]["next_cycle_s"]:
        link["due_s"] = due
        schedule(world, due, LINK_DUE, number)


@compiled
def count_queued(world: Arrays, number, activity, files):
    """Add files of an activity, negative to subtract, to the queued files of a link; those under way are included.

    Source: brokerage reference, section 2.4.
    """
    link = world.links[number]
    link["queued_files"] += files
    if activity == EXPRESS:
        link["queued_express"] += files
    elif activity == PRODUCTION_OUTPUT:
        link["queued_output"] += files
    state = world.state[0]
    if link["queued_files"] > 0 and link["place"] < 0:
        link["place"] = state["n_busy_links"]
        world.busy_links[link["place"]] = number
        state["n_busy_links"] += 1
    elif link["queued_files"] == 0 and link["place"] >= 0:
        state["n_busy_links"] -= 1
        last = world.busy_links[state["n_busy_links"]]
        world.busy_links[link["place"]] = last
        world.links[last]["place"] = link["place"]
        link["place"] = -1


@compiled
def is_idle(lane):
    """True if an activity has no files on a link."""
    return lane["head"] < 0 and lane["active_files"] == 0


@compiled
def line_up_transfer(world: Arrays, row):
    """Put a transfer at the end of the line of its activity at its link; an activity that was idle has no credit."""
    transfer = world.transfers[row]
    lane = world.lanes[transfer["link"], transfer["activity"]]
    if is_idle(lane):
        least = np.inf
        for other in range(N_ACTIVITIES):
            beside = world.lanes[transfer["link"], other]
            if not is_idle(beside):
                least = min(least, beside["served"])
        if least < np.inf:
            lane["served"] = max(lane["served"], least)
    transfer["next"] = -1
    if lane["head"] >= 0:
        world.transfers[lane["tail"]]["next"] = row
    else:
        lane["head"] = row
    lane["tail"] = row


@compiled
def part_of(world: Arrays, number, activity):
    """Files of an activity that may move at once on a link: by its share among those with files; of express, all."""
    limit = world.links[number]["active_limit"]
    if activity == EXPRESS:
        return np.int64(limit)
    total = 0.0
    for other in range(N_ACTIVITIES):
        if other != EXPRESS and not is_idle(world.lanes[number, other]):
            total += world.activity_shares[other]
    return max(np.int64(limit * world.activity_shares[activity] / total + ROUNDING), np.int64(1))


@compiled
def width_of(world: Arrays, number, activity):
    """Files that the first transfer of a line moves at once if it starts now; 0 = it waits for places.

    All that it has, but not more than the part of its activity: so wide transfers do not wait for an empty link.
    """
    link, lane = world.links[number], world.lanes[number, activity]
    part = part_of(world, number, activity)
    wanted = min(np.int64(world.transfers[lane["head"]]["left_files"]), part)
    of_fts = link["active_files"] - link["readers"]
    room = min(part - lane["active_files"], np.int64(link["active_limit"] - of_fts))
    return wanted if wanted <= room else np.int64(0)


@compiled
def next_activity(world: Arrays, number):
    """Activity whose first transfer FTS starts next on a link, -1 = none waits, or none has places.

    Express goes first, and lets nothing pass; then the activity that was served least for its share. Simplified: FTS
    draws one.
    """
    if world.lanes[number, EXPRESS]["head"] >= 0:
        return EXPRESS if width_of(world, number, EXPRESS) > 0 else -1
    best, least = -1, np.inf
    for activity in range(N_ACTIVITIES):
        lane = world.lanes[number, activity]
        if lane["head"] >= 0 and lane["served"] < least and width_of(world, number, activity) > 0:
            best, least = activity, lane["served"]
    return best


@compiled
def take_off_active(world: Arrays, link, row):
    """Remove a transfer from the list of the active ones of a link."""
    transfers, before = world.transfers, link["active_head"]
    if before == row:
        link["active_head"] = transfers[row]["next"]
        return
    while transfers[before]["next"] != row:
        before = transfers[before]["next"]
    transfers[before]["next"] = transfers[row]["next"]


@compiled
def insert_active(world: Arrays, link, row):
    """Insert a transfer into the active ones of a link, in the order of their ends."""
    transfers = world.transfers
    tag = transfers[row]["finish_tag"]
    before, after = -1, link["active_head"]
    while after >= 0 and transfers[after]["finish_tag"] <= tag:
        before, after = after, transfers[after]["next"]
    transfers[row]["next"] = after
    if before < 0:
        link["active_head"] = row
    else:
        transfers[before]["next"] = row


@compiled
def start(world: Arrays, number, activity, now):
    """Start the first transfer of a line; one with more files than FTS allows moves so many at once."""
    lane = world.lanes[number, activity]
    row = lane["head"]
    transfer = world.transfers[row]
    width = width_of(world, number, activity)
    lane["head"] = transfer["next"]
    lane["served"] += width / world.activity_shares[activity]
    lane["active_files"] += width
    let_move(world, row, width, now)


@compiled
def let_move(world: Arrays, row, width, now):
    """Let so many files of a transfer move at once over its link, whose clock is up to date."""
    transfer = world.transfers[row]
    link = world.links[transfer["link"]]
    if link["active_files"] == 0:
        link["virtual"] = 0.0
    if np.isnan(transfer["started_s"]):
        transfer["started_s"] = now
    transfer["attempt_s"], transfer["width"] = now, width
    transfer["finish_tag"] = link["virtual"] + transfer["left_bytes"] / width
    link["active_files"] += width
    insert_active(world, link, row)


@compiled
def admit(world: Arrays, number, now):
    """Start waiting transfers of a link that is up, up to the limit of active files; its clock is up to date."""
    link = world.links[number]
    activity = next_activity(world, number) if link["down"] == 0 else -1
    while activity >= 0:
        start(world, number, activity, now)
        activity = next_activity(world, number)
    settle_rate(world, number)
    set_due(world, number, now)
