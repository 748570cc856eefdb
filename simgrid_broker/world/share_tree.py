"""The share tree of a scenario as arrays."""

import numpy as np

from simgrid_broker.names import ROOT_SHARE
from simgrid_broker.views import ShareTree


def share_tree(shares) -> ShareTree:
    """Tree of the scenario's shares, values normalised so that all leaves sum to 100.

    Top-down: value of a child = value of the parent x its value / sum of its siblings; source: lifecycle reference,
    section 1.1 (PanDA GlobalShares).
    """
    names, parents, values, leaves = [ROOT_SHARE], [-1], [100.0], []

    def add(children, parent):
        total = sum(share.value for share in children)
        for share in children:
            names.append(share.name)
            parents.append(parent)
            values.append(values[parent] * share.value / total if total else 0.0)
            node = len(names) - 1
            if share.children:
                add(share.children, node)
            else:
                leaves.append(node)

    add(shares, 0)
    return ShareTree(tuple(names), np.array(parents), np.array(values), np.array(leaves))


def with_value(shares, name: str, value: float):
    """The shares with the value of `name` replaced."""
    return tuple(share.model_copy(update={"value": value} if share.name == name else
                                  {"children": with_value(share.children, name, value)}) for share in shares)


def leaf_shares(shares) -> list:
    """The leaves of the scenario's share tree, depth first; their positions are the numbers of the shares."""
    found = []
    for share in shares:
        found += leaf_shares(share.children) if share.children else [share]
    return found
