"""A cycle of the transfer optimiser: active files of each link as FTS adapts them, and fair parts of the doors."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.allocation import fill
from simgrid_broker.fabric.transfers.links import admit, catch_up, change_rate, set_due, usable_rate
from simgrid_broker.world.arrays import Arrays

GOOD_SUCCESS, BASE_SUCCESS = 0.97, 0.96
"""Success rates from which a link is good, and below which it is bad; source: FTS, src/config/ServerConfigReader.cpp,
defaults of OptimizerLowSuccessRate (97 %) and OptimizerBaseSuccessRate (96 %)."""
NEW_RATE = 0.1
"""Weight of the latest rate in the moving average; source: FTS, OptimizerEMAAlpha."""
STEP = 1
"""Files by which the limit changes in a cycle; source: FTS, OptimizerIncreaseStep and OptimizerDecreaseStep."""


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
def share_out(world: Arrays, demand, gates, order, rates, left, crossing, first, members, now):
    """Give all busy links their max-min fair rates; arguments as in `fill` and `measure`."""
    for gate in range(len(world.gates)):
        left[gate] = world.gates[gate]["capacity"]
        world.gates[gate]["free"] = left[gate]
    fill(gates, demand, order, rates, left, crossing, first, members)
    for k in range(len(rates)):
        world.links[world.busy_links[k]]["rate"] = 0.0
        change_rate(world, world.busy_links[k], rates[k])
    for k in range(len(rates)):
        set_due(world, world.busy_links[k], now)


def share_gates(world: Arrays, period: float, now: float) -> None:
    """Adapt limits of active files, unless `period`, s since the last cycle, is 0, and set rates; callers make room."""
    if period > 0:
        world.state[0]["next_cycle_s"] = now + period
    n_links, n_gates, width = int(world.state[0]["n_busy_links"]), len(world.gates), world.link_gates.shape[1]
    if n_links == 0:
        world.gates["free"] = world.gates["capacity"]
        return
    demand, gates = np.empty(n_links), np.empty((n_links, width), np.int32)
    measure(world, period, demand, gates, now)
    share_out(world, demand, gates, np.argsort(demand, kind="stable"), np.empty(n_links), np.empty(n_gates),
              np.empty(n_gates, np.int64), np.empty(n_gates + 1, np.int64), np.empty(n_links * width, np.int32), now)
