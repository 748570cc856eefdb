"""Redistribution of the shares of work queues without tasks; JEDI TWiki, shares (L1: not in the deployed edition)."""

from dataclasses import replace

import numpy as np

from simgrid_broker.views import ShareTree


def stretched(values: np.ndarray, active: np.ndarray, stretchable: np.ndarray) -> np.ndarray:
    """Values of siblings, (n,), with those of inactive ones redistributed; the sum is unchanged.

    The stretchable active siblings get it in proportion to their values, without any of these all active siblings do.
    Without an active sibling nothing changes.
    """
    takers = active & stretchable & (values > 0)
    takers = takers if takers.any() else active & (values > 0)
    if not takers.any():
        return values
    unused = values[~active].sum()
    taking = np.where(takers, values, 0.0)
    return np.where(active, values, 0.0) + unused * (taking / taking.sum())


def values_in_use(tree: ShareTree, active_leaves, stretchable: np.ndarray) -> ShareTree:
    """The tree with the values in force while only some leaves have tasks.

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
