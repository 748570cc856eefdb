"""The share tree in the manifest of a run."""

from dataclasses import dataclass

import numpy as np

from simgrid_broker.records import Run


@dataclass(frozen=True)
class Tree:
    """Nodes of the share tree; node 0 is the root, parents precede their children.

    names, parent, value (% of the whole), level (root 0): (n_nodes,); leaves: (n_leaves,) node of each leaf share;
    below: (n_nodes, n_leaves) whether the leaf is the node or below it.
    """

    names: tuple[str, ...]
    parent: np.ndarray
    value: np.ndarray
    level: np.ndarray
    leaves: np.ndarray
    below: np.ndarray

    @property
    def leaf_names(self) -> tuple[str, ...]:
        """Names of the leaves in their order."""
        return tuple(self.names[node] for node in self.leaves)

    def top_of(self, node: int) -> int:
        """The node of the first level that is `node` or above it."""
        while self.level[node] > 1:
            node = self.parent[node]
        return int(node)


def share_tree(run: Run) -> Tree:
    """The tree in the manifest of `run`."""
    given = run.manifest["share_tree"]
    parent, leaves = np.asarray(given["parent"], int), np.asarray(given["leaves"], int)
    level = np.zeros(len(parent), int)
    below = np.zeros((len(parent), len(leaves)), bool)
    below[leaves, np.arange(len(leaves))] = True
    for node in range(1, len(parent)):
        level[node] = level[parent[node]] + 1
    for node in range(len(parent) - 1, 0, -1):
        below[parent[node]] |= below[node]
    return Tree(tuple(given["names"]), parent, np.asarray(given["value"], float), level, leaves, below)
