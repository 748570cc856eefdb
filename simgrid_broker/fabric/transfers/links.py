"""Links: what a link has of its doors, the clock of sharing among its files, and the transfers that it admits; and a
cycle of the transfer optimiser: active files of each link as FTS adapts them, and fair parts of the doors.

The files under way share the rate of the link equally. Each link has its own clock, `virtual`: the bytes that every
active file has received since the link was last idle. A transfer that starts at clock v ends when the clock reaches v +
bytes / width, so an arrival, an end or another rate changes the speed of the clock and never the order of the ends.

Between the cycles of the transfer optimiser a link that becomes active gets what its gates have free, and one that
empties gives its part back; so no gate ever gives more than it has. In a cycle links get max-min fair rates of the
doors and backbones that they share, by progressive filling: none can have more without taking from one that has no more
than it. Source: Bertsekas and Gallager, Data Networks (1992), section 6.5.2.
"""

from typing import NamedTuple

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


GOOD_SUCCESS, BASE_SUCCESS = 0.97, 0.96
"""Success rates from which a link is good, and below which it is bad; source: FTS, src/config/ServerConfigReader.cpp,
defaults of OptimizerLowSuccessRate (97 %) and OptimizerBaseSuccessRate (96 %)."""
NEW_RATE = 0.1
"""Weight of the latest rate in the moving average; source: FTS, OptimizerEMAAlpha."""
STEP = 1
"""Files by which the limit changes in a cycle; source: FTS, OptimizerIncreaseStep and OptimizerDecreaseStep."""


class Filling(NamedTuple):
    """Tables of one progressive filling of n gates (doors and backbones) by links, in one unit, made for each."""

    gates: np.ndarray              # (n_links, w) int32, gates that each link crosses, -1 = none
    demand: np.ndarray             # (n_links,), finite: what each link can use
    order: np.ndarray              # (n_links,), links by demand
    rates: np.ndarray              # (n_links,), the result
    left: np.ndarray               # (n_gates,), capacity of each gate, used up
    crossing: np.ndarray           # (n_gates,), links through each gate that are not settled
    first: np.ndarray              # (n_gates + 1,), where the links of each gate begin in `members`
    members: np.ndarray            # (n_links * w,), links through each gate


def filling(gates: np.ndarray, demand: np.ndarray, left: np.ndarray) -> Filling:
    """The tables to fill gates with a capacity `left`."""
    return Filling(gates=gates, demand=demand, order=np.argsort(demand, kind="stable"), rates=np.empty(len(demand)),
                   left=left, crossing=np.empty(len(left), np.int64), first=np.empty(len(left) + 1, np.int64),
                   members=np.empty(gates.size, np.int32))


@compiled
def step_of(link, success, mean_rate, before):
    """Change of the limit of active files of a link, by the part of its files that arrived and its mean rate.

    Source: FTS, server/services/optimizer/OptimizerConnections.cpp; file sizes are left out.
    """
    if success < BASE_SUCCESS:
        return -STEP
    if success < GOOD_SUCCESS:
        return STEP if mean_rate > before else -STEP
    if link["queued_files"] - link["active_files"] < link["active_limit"]:
        return 0                                           # the queue empties
    if mean_rate < before:
        return -STEP if np.rint(np.log10(mean_rate)) < np.rint(np.log10(before)) else 0
    return STEP


@compiled
def adapt(world: Arrays, number, period):
    """Adapt the limit of active files of a link to what arrived and failed in the past period, s."""
    link, memory = world.links[number], world.fts_memory[number]
    done, failed = link["files_done"] - memory["files_done"], link["files_failed"] - memory["files_failed"]
    rate, before = (link["bytes_moved"] - memory["bytes_moved"]) / period, memory["mean_rate"]
    memory["files_done"], memory["files_failed"] = link["files_done"], link["files_failed"]
    memory["bytes_moved"] = link["bytes_moved"]
    mean_rate = NEW_RATE * rate + (1.0 - NEW_RATE) * before if before > 0 else rate
    memory["mean_rate"] = mean_rate
    if done + failed == 0 or mean_rate <= 0 or before <= 0:
        return
    limit = link["active_limit"] + step_of(link, done / (done + failed), mean_rate, before)
    link["active_limit"] = min(max(limit, link["min_active_files"]), link["max_active_files"])


@compiled
def list_members(tables: Filling):
    """Count the links that cross each gate in `crossing`, and list them, gate by gate from `first` on, in `members`."""
    gates, crossing, first = tables.gates, tables.crossing, tables.first
    n_gates = len(crossing)
    for gate in range(n_gates):
        crossing[gate] = 0
    for k in range(len(gates)):
        for place in range(gates.shape[1]):
            if gates[k, place] >= 0:
                crossing[gates[k, place]] += 1
    first[0] = 0
    for gate in range(n_gates):
        first[gate + 1] = first[gate] + crossing[gate]
        crossing[gate] = 0
    for k in range(len(gates)):
        for place in range(gates.shape[1]):
            gate = gates[k, place]
            if gate >= 0:
                tables.members[first[gate] + crossing[gate]] = k
                crossing[gate] += 1


@compiled
def settle(tables: Filling, k, rate):
    """Give a link its rate for good, and take it from what its gates have left."""
    tables.rates[k] = rate
    for place in range(tables.gates.shape[1]):
        gate = tables.gates[k, place]
        if gate >= 0:
            tables.left[gate] = max(tables.left[gate] - rate, 0.0)
            tables.crossing[gate] -= 1


@compiled
def lowest_level(left, crossing):
    """Least rate at which a gate is full if all links through it that are not settled get the same."""
    level = np.inf
    for gate in range(len(left)):
        if crossing[gate] > 0:
            level = min(level, left[gate] / crossing[gate])
    return level


@compiled
def fill(tables: Filling):
    """Raise the rates of all links together; each stops at its demand, or when one of its gates is full."""
    demand, order, rates, left, crossing = tables.demand, tables.order, tables.rates, tables.left, tables.crossing
    list_members(tables)
    for k in range(len(rates)):
        rates[k] = -1.0
    place = 0
    while place < len(order):
        level = lowest_level(left, crossing)
        begin = place
        while place < len(order) and (rates[order[place]] >= 0 or demand[order[place]] <= level):
            if rates[order[place]] < 0:
                settle(tables, order[place], demand[order[place]])
            place += 1
        if place > begin:                                  # they wanted no more: what they left raises the others
            continue
        for gate in range(len(left)):
            if crossing[gate] > 0 and left[gate] / crossing[gate] <= level:
                for member in range(tables.first[gate], tables.first[gate + 1]):
                    if rates[tables.members[member]] < 0:
                        settle(tables, tables.members[member], level)


@compiled
def measure(world: Arrays, period, demand, gates, now):
    """Adapt the limits of all busy links, admit what they allow, and write what each can use and the gates it crosses.

    period: since the last cycle, s, 0 = only rates are asked for; demand: (n_busy_links,); gates: (n_busy_links, w).
    """
    for k in range(len(demand)):
        number = world.busy_links[k]
        link = world.links[number]
        catch_up(link, now)
        if period > 0 and 0 < link["min_active_files"] < link["max_active_files"]:
            adapt(world, number, period)
            admit(world, number, now)
        active = link["active_files"] > 0 and link["down"] == 0
        of_fts = min(link["queued_files"] - link["readers"], link["active_limit"])
        files = max(link["active_files"], of_fts + link["readers"])
        demand[k] = usable_rate(link, files) if active else 0.0
        for place in range(gates.shape[1]):
            gates[k, place] = world.link_gates[number, place]


@compiled
def share_out(world: Arrays, tables: Filling, now):
    """Give all busy links their max-min fair rates."""
    for gate in range(len(world.gates)):
        tables.left[gate] = world.gates[gate]["capacity"]
        world.gates[gate]["free"] = tables.left[gate]
    fill(tables)
    rates = tables.rates
    for k in range(len(rates)):
        world.links[world.busy_links[k]]["rate"] = 0.0
        change_rate(world, world.busy_links[k], rates[k])
    for k in range(len(rates)):
        set_due(world, world.busy_links[k], now)


def share_gates(world: Arrays, period: float, now: float) -> None:
    """Adapt limits of active files, unless `period`, s since the last cycle, is 0, and set rates; callers make room."""
    if period > 0:
        world.state[0]["next_cycle_s"] = now + period
    n_links = int(world.state[0]["n_busy_links"])
    if n_links == 0:
        world.gates["free"] = world.gates["capacity"]
        return
    demand, gates = np.empty(n_links), np.empty((n_links, world.link_gates.shape[1]), np.int32)
    measure(world, period, demand, gates, now)
    share_out(world, filling(gates, demand, np.empty(len(world.gates))), now)
