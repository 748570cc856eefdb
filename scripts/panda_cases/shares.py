"""Rows of PanDA's share table as the share tree of the package."""

from collections import defaultdict

import numpy as np

from simgrid_broker.errors import Problem, SnapshotError
from simgrid_broker.scenario.shares import Share
from simgrid_broker.views import ShareTree
from simgrid_broker.world.shares import share_tree


def nested(rows: list[dict]) -> tuple[Share, ...]:
    """Shares with their children, siblings in the order of the rows; one without a parent is at the top.

    Raises SnapshotError for a share below itself, which PanDA follows without end; others in a ring are below no root.
    """
    below = defaultdict(list)
    for row in rows:
        below[row.get("parent") or None].append(row)

    def of(*above: str | None) -> tuple[Share, ...]:
        if above[0] in above[1:]:
            raise SnapshotError([Problem(None, None, f"shares.{above[0]}", None, "expected no share below itself")])
        return tuple(Share(name=row["name"], value=max(row.get("value") or 0, 0), children=of(row["name"], *above))
                     for row in below[above[0]])
    return of(None)


def tree_and_usage(rows: list[dict], hs_distribution: list[list]) -> tuple[ShareTree, np.ndarray,
                                                                                 tuple[str, ...]]:
    """The tree, the HS06 in use by leaf and the names of the leaves.

    What is used under an unknown name, or none, counts as used: it is a leaf without a target.
    """
    known, hs_distribution = {row["name"] for row in rows}, [(str(name), *of) for name, *of in hs_distribution]
    unknown = dict.fromkeys(name for name, *_ in hs_distribution if name not in known)
    tree = share_tree((*nested(rows), *(Share(name=name, value=0) for name in unknown)))
    leaves = tuple(tree.names[node] for node in tree.leaves)
    used = dict.fromkeys(leaves, 0.0)
    for name, group, hs06 in hs_distribution:
        if group == "executing" and name in used:
            used[name] += hs06 or 0.0
    return tree, np.array(list(used.values())), leaves
