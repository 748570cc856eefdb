"""Shares of work queues: what becomes of the part of queues that have no tasks.

What lives here: the values in force of a tree whose leaves may be without tasks. What does not: usage and the order of
shares (`shares`), and which queues have tasks (agents).

Source: JEDI TWiki, shares. L1: the production code does not redistribute; there the values stay as they are.
"""

from dataclasses import replace

import numpy as np

from simgrid_broker.views import ShareTree


def stretched(values: np.ndarray, active: np.ndarray, stretchable: np.ndarray) -> np.ndarray:
    """Values of siblings, (n,), when those that are not active hand theirs on; the sum stays the same.

    The stretchable ones among the active get all of it in proportion to their values; where there is none, every active
    one does. Without any active one nothing is handed on.
    """
    takers = active & stretchable & (values > 0)
    takers = takers if takers.any() else active & (values > 0)
    if not takers.any():
        return values
    unused = values[~active].sum()
    taking = np.where(takers, values, 0.0)
    return np.where(active, values, 0.0) + unused * (taking / taking.sum())


def values_in_use(tree: ShareTree, active_leaves, stretchable: np.ndarray) -> ShareTree:
    """The tree with the values that hold while only some leaves have tasks.

    active_leaves: numbers of the leaves with tasks; stretchable: (n_nodes,) bool. A node is active if one below it is.
    """
    active = np.zeros(len(tree.names), bool)
    active[tree.leaves[np.asarray(active_leaves, np.int64)]] = True
    for node in range(len(active) - 1, 0, -1):                      # children stand behind their parents
        active[tree.parent[node]] |= active[node]
    value = tree.value.copy()
    for node in range(len(value)):
        children = np.flatnonzero(tree.parent == node)
        if len(children) and tree.value[node] > 0:
            now = stretched(tree.value[children], active[children], stretchable[children])
            value[children] = now * value[node] / tree.value[node]
    return replace(tree, value=value)
