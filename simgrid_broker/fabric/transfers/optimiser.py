"""A cycle of the transfer optimiser: active files of each link as FTS adapts them, and fair parts of the doors.

Links get max-min fair rates of the doors and backbones that they share, by progressive filling: none can have more
without taking from one that has no more than it. Source: Bertsekas and Gallager, Data Networks (1992), section 6.5.2.
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.transfers.links import admit, catch_up, change_rate, set_due, usable_rate
from simgrid_broker.world.arrays import Arrays

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
