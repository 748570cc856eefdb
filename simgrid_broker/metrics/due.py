"""Power that each share was due: its target, with what shares without enough work leave to others.

Unused power goes to the siblings of a share first, and then upwards (Global Shares paper, section 2.1).
"""

import numpy as np

from simgrid_broker.metrics.tree import Tree

LAST = 1e-9
"""Weight of a share without a target among its siblings: it is served when all others have what they can use."""


def due_power(tree: Tree, usable: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Power that each node is due, HS06, (n_times, n_nodes).

    usable: what each leaf could use, HS06, (n_times, n_leaves); whole: power to be shared out, (n_times,).
    """
    wanted = usable @ tree.below.T
    found = np.zeros(wanted.shape)
    found[:, 0] = np.minimum(whole, wanted[:, 0])
    for node in range(len(tree.names)):                                 # parents precede their children
        children = np.flatnonzero(tree.parent == node)
        if len(children):
            found[:, children] = shared_out(found[:, node], wanted[:, children], tree.value[children])
    return found


def shared_out(whole: np.ndarray, wanted: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Parts of `whole`, (n_times,), of siblings with these values, (n,), none more than `wanted`, (n_times, n)."""
    weights = np.broadcast_to(np.maximum(values, LAST), wanted.shape)
    satisfied = wanted <= 0
    for _ in values:
        left = whole - np.where(satisfied, wanted, 0).sum(axis=1)
        open_weights = np.where(satisfied, 0, weights)
        total = open_weights.sum(axis=1)
        parts = np.divide(open_weights * left[:, None], total[:, None], out=np.zeros(wanted.shape),
                          where=total[:, None] > 0)
        enough = ~satisfied & (parts >= wanted)
        if not enough.any():
            break
        satisfied = satisfied | enough
    return np.where(satisfied, wanted, parts)


def usable_power(hs06: np.ndarray, running: np.ndarray, activated: np.ndarray) -> np.ndarray:
    """Power that each leaf could use, HS06, (n_times, n_leaves), from (n_times, n_leaves, n_types) each.

    That is what it uses and what its activated jobs would use, each as much as the mean running job of its share and
    type, or of its type, in all no more of a type than is at hand: what the jobs of all shares of that type use. A job
    of a type of which none runs could not have run.
    """
    of_type, number = hs06.sum(axis=1, keepdims=True), running.sum(axis=1, keepdims=True)
    mean = np.broadcast_to(of_type / np.maximum(number, 1), hs06.shape)
    each = np.where(running > 0, hs06 / np.maximum(running, 1), mean)
    return np.minimum(hs06 + activated * each, of_type).sum(axis=2)
