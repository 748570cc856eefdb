"""Max-min fair rates: what links get of the doors and backbones that they share, by progressive filling."""

import numpy as np

from simgrid_broker.compiled import compiled


@compiled
def list_members(gates, crossing, first, members):
    """Count the links that cross each gate in `crossing`, and list them, gate by gate from `first` on, in `members`."""
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
                members[first[gate] + crossing[gate]] = k
                crossing[gate] += 1


@compiled
def settle(k, rate, gates, rates, left, crossing):
    """Give a link its rate for good, and take it from what its gates have left."""
    rates[k] = rate
    for place in range(gates.shape[1]):
        gate = gates[k, place]
        if gate >= 0:
            left[gate] = max(left[gate] - rate, 0.0)
            crossing[gate] -= 1


@compiled
def lowest_level(left, crossing):
    """Least rate at which a gate is full if all links through it that are not settled get the same."""
    level = np.inf
    for gate in range(len(left)):
        if crossing[gate] > 0:
            level = min(level, left[gate] / crossing[gate])
    return level


@compiled
def fill(gates, demand, order, rates, left, crossing, first, members):
    """Raise the rates of all links together; each stops at its demand, or when one of its gates is full.

    gates: (n, w), gates that each link crosses, -1 = none; demand: (n,); order: (n,), links by demand; left: capacity
    of each gate, used up; rates: (n,), the result; crossing, first, members: room for `list_members`.
    """
    list_members(gates, crossing, first, members)
    for k in range(len(rates)):
        rates[k] = -1.0
    place = 0
    while place < len(order):
        level = lowest_level(left, crossing)
        begin = place
        while place < len(order) and (rates[order[place]] >= 0 or demand[order[place]] <= level):
            if rates[order[place]] < 0:
                settle(order[place], demand[order[place]], gates, rates, left, crossing)
            place += 1
        if place > begin:                                  # they wanted no more: what they left raises the others
            continue
        for gate in range(len(left)):
            if crossing[gate] > 0 and left[gate] / crossing[gate] <= level:
                for member in range(first[gate], first[gate + 1]):
                    if rates[members[member]] < 0:
                        settle(members[member], level, gates, rates, left, crossing)


def max_min(capacity: np.ndarray, gates: np.ndarray, demand: np.ndarray) -> np.ndarray:
    """Max-min fair rates of links, (n,): none can have more without taking from one that has no more than it.

    capacity: (n_gates,); gates: (n, w) int32, the gates that each link crosses, -1 = none; demand: (n,), finite, what
    each link can use; one unit, 0 and above. Source: Bertsekas and Gallager, Data Networks (1992), section 6.5.2.
    """
    rates, n_gates = np.empty(len(demand)), len(capacity)
    fill(gates, demand, np.argsort(demand, kind="stable"), rates, capacity.astype(float),
         np.empty(n_gates, np.int64), np.empty(n_gates + 1, np.int64), np.empty(gates.size, np.int32))
    return rates
