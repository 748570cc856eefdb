"""Global shares: the leaf that a task belongs to, usage, targets and order; an unused share goes to its siblings first,
because the order is made level by level.

Source: Global Shares paper, section 2; lifecycle reference, sections 1.2 and 1.3.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from simgrid_broker.views import ShareTree

UNDEFINED = -1
"""Leaf of a task that no rule matches; PanDA declares such a task broken."""
BLANK = " "
"""Text of an empty working group."""


@dataclass(frozen=True)
class TagRule:
    """Regular expressions of one leaf, matched from the start of a field; None matches everything."""

    leaf: int
    prodsourcelabel: str | None = None
    workinggroup: str | None = None
    campaign: str | None = None
    processingtype: str | None = None
    transpath: str | None = None
    rtype: str | None = None

    @cached_property
    def patterns(self) -> tuple[tuple[str, re.Pattern], ...]:
        """The fields that the rule tests, compiled; raises re.error for an invalid expression."""
        expressions = ((field.name, getattr(self, field.name)) for field in fields(self) if field.name != "leaf")
        return tuple((name, re.compile(text)) for name, text in expressions if text is not None)


def tag(rules: Iterable[TagRule], task: Mapping[str, str]) -> int:
    """Leaf of the first rule that matches, UNDEFINED if none does.

    `task` gives the fields of `TagRule` by name; a field that is empty or missing is not tested, except the working
    group, which is then a blank. `rtype` is the CRIC resource_type of the first queue that the task names.
    """
    for rule in rules:
        if all(_matches(name, pattern, task.get(name) or "") for name, pattern in rule.patterns):
            return rule.leaf
    return UNDEFINED


def _matches(name: str, pattern: re.Pattern, value: str) -> bool:
    if not value:
        if name != "workinggroup":
            return True
        value = BLANK
    return pattern.match(value) is not None


NO_TARGET_RATIO = 1e6
"""Value of executing / target where the target is 0; source: lifecycle reference, section 1.3."""


def usage(tree: ShareTree, hs06_by_leaf: np.ndarray) -> np.ndarray:
    """HS06 in use at each node, (n_nodes,): a leaf's own, the sum of the children elsewhere."""
    return np.array(_sums(tree, hs06_by_leaf))


def targets(tree: ShareTree, hs06_by_leaf: np.ndarray) -> np.ndarray:
    """Target of each node, HS06, (n_nodes,): its normalised value, a percentage, of the HS06 in use."""
    return float(np.sum(hs06_by_leaf)) * tree.value / 100


def share_order(tree: ShareTree, hs06_by_leaf: np.ndarray) -> np.ndarray:
    """Leaf indices, (n_leaves,), the most under-served first.

    At every node the children are sorted by executing / target; ties keep the order of the table.
    """
    ratio = [used / target if target > 0 else NO_TARGET_RATIO for used, target in zip(
        _sums(tree, hs06_by_leaf), targets(tree, hs06_by_leaf).tolist(), strict=True)]
    children, leaf_at = tree.children, tree.leaf_at
    ordered, stack = [], [0]
    while stack:
        node = stack.pop()
        if node in leaf_at:
            ordered.append(leaf_at[node])
        else:
            stack.extend(reversed(sorted(children[node], key=ratio.__getitem__)))
    return np.array(ordered, np.int64)


def decayed(past: np.ndarray, hs06_by_leaf: np.ndarray, elapsed_s: float, half_life_s: float) -> np.ndarray:
    """Mean use of the shares, (n_shares,), in which the past counts half as much with each half-life; 0 s = no past.

    past: the mean `elapsed_s` ago; since then the use was `hs06_by_leaf`. It is the fair share of batch systems, for
    example HTCondor's PRIORITY_HALFLIFE; PanDA's shares are of the present use alone (Global Shares paper, 2.1).
    """
    if half_life_s == 0:
        return hs06_by_leaf
    kept = 0.5 ** (elapsed_s / half_life_s)
    return kept * past + (1 - kept) * hs06_by_leaf


def _sums(tree: ShareTree, hs06_by_leaf: np.ndarray) -> list[float]:
    """HS06 at each node; parents come before their children, so iterating backwards sums upwards."""
    sums = [0.0] * len(tree.parent)
    for node, hs06 in zip(tree.leaves.tolist(), np.asarray(hs06_by_leaf).tolist(), strict=True):
        sums[node] = float(hs06)
    parents = tree.parent.tolist()
    for node in range(len(sums) - 1, 0, -1):
        sums[parents[node]] += sums[node]
    return sums


# ---- shares of work queues -----------------------------------------------------------------------------------------

def stretched(values: np.ndarray, active: np.ndarray, stretchable: np.ndarray) -> np.ndarray:
    """Values of siblings, (n,), with those of inactive ones redistributed as documented (L1); the sum is unchanged.

    The stretchable active siblings get it in proportion to their values, without any of these all active siblings do.
    Without an active sibling nothing changes. Source: JEDI TWiki, shares.
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
