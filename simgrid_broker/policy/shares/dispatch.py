"""Global shares: the leaf that a task belongs to, usage, targets and order, and dispatch orders as data for the
compiled dispatcher. An unused share goes to its siblings first, because the order is made level by level.

Source: Global Shares paper, section 2; lifecycle reference, sections 1.2 to 1.4.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.errors import PluginError
from simgrid_broker.gdpconfig import jobdispatch, meanrss
from simgrid_broker.names import RANKED, TEST_SHARE
from simgrid_broker.plugins import Plugin
from simgrid_broker.units import DAY
from simgrid_broker.views import Gdpconfig, ShareTree

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
    return float(np.add.reduce(hs06_by_leaf)) * tree.value / 100


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


@dataclass(frozen=True)
class DispatchOrder:
    """An order of dispatch: first share, then highest rank, then oldest job.

    by_share: False = shares do not count; rank: whole weights of columns of a job (of RANKED), added up; the sum must
    stay below 2**30; share_order: function of the share tree and the HS06 in use by leaf, (n_leaves,), that gives the
    leaves in the order in which pilots look for jobs, called at each refresh of the statistics; half_life_s: time after
    which past use counts half in that HS06, 0 = only present use counts. Raises PluginError for a column that is not in
    RANKED, a weight that is not a whole number, and a half-life that is not a time.
    """

    name: str
    by_share: bool = True
    rank: Mapping[str, int] = field(default_factory=lambda: {"priority": 1})
    share_order: Callable[[ShareTree, np.ndarray], np.ndarray] = share_order
    half_life_s: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.half_life_s < np.inf:
            raise PluginError(f"dispatch order {self.name!r}: half_life_s: {self.half_life_s!r} is not a time from 0 s "
                              "up")
        for column, weight in self.rank.items():
            if column not in RANKED or not isinstance(weight, int):
                raise PluginError(f"dispatch order {self.name!r}: rank {column!r}: {weight!r} is not a whole weight of "
                                  f"one of {', '.join(RANKED)}")

    def shares(self, tree: ShareTree, hs06_by_leaf: np.ndarray) -> np.ndarray:
        """Leaves in the order of dispatch, (n_leaves,); raises PluginError if `share_order` raises or gives something
        else."""
        if self.share_order is share_order:                          # which needs no check
            return share_order(tree, hs06_by_leaf)
        plugin = Plugin(self.name, self.share_order, "dispatch order")
        with plugin.blamed():
            order = np.asarray(self.share_order(tree, hs06_by_leaf))
        whole = order.ndim == 1 and order.dtype.kind in "iu"
        if not whole or sorted(order.tolist()) != list(range(len(tree.leaves))):
            raise plugin.refused(f"must give each of {len(tree.leaves)} leaves once, not {order.tolist()}")
        return order


GLOBAL_SHARES = DispatchOrder("global_shares")
"""PanDA's order: the most under-served share, in it the highest priority, in that the oldest job."""
PRIORITY = DispatchOrder("priority", by_share=False)
"""Priority, then age, whatever the share."""
AGE = DispatchOrder("age", by_share=False, rank={})
"""First come, first served."""
FAIR_SHARE = DispatchOrder("fair_share", half_life_s=DAY)
"""As global_shares, but by the use of the past days, each of which counts half as much as the next."""
LONGEST_FIRST = DispatchOrder("longest_first", by_share=False, rank={"maxwalltime": 1})
"""The job that claims most wall time, whatever share and priority."""
SHORTEST_FIRST = DispatchOrder("shortest_first", by_share=False, rank={"maxwalltime": -1})
"""The job that claims least wall time, whatever share and priority."""
ORDERS = {order.name: order for order in (GLOBAL_SHARES, PRIORITY, AGE, FAIR_SHARE, LONGEST_FIRST, SHORTEST_FIRST)}
"""Orders of the package by name."""


class Terms(NamedTuple):
    """Terms in which the editions differ.

    test_first: leaves of the name `Test` have rank 0, like the first; urgent: urgent jobs go before those of all
    shares; sloppy: a part of the jobs is dispatched by age alone.
    """

    test_first: bool
    urgent: bool
    sloppy: bool


TERMS = ByEdition(documented=Terms(test_first=False, urgent=True, sloppy=False),
                  deployed=Terms(test_first=True, urgent=False, sloppy=True))


def share_ranks(tree: ShareTree, order: np.ndarray, edition: str) -> np.ndarray:
    """Rank of each leaf in dispatch, (n_leaves,): its place in the order of shares; equal ranks compete by job.

    In the deployed edition a leaf of the name `Test` has rank 0, like the first. Source: lifecycle reference, 1.4.
    """
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    if TERMS[edition].test_first:
        ranks[[tree.names[node] == TEST_SHARE for node in tree.leaves]] = 0
    return ranks


def urgent_first(order: DispatchOrder, edition: str) -> bool:
    """True if urgent jobs go before those of all shares: as documented, if the order asks shares.

    Source: JEDI TWiki, express transfers ("ignores fairshare", which on that page is the dispatcher's).
    """
    return TERMS[edition].urgent and order.by_share


def sloppy_fraction(cfg: Gdpconfig, edition: str) -> float:
    """Probability that a job is dispatched by age alone: 0 as documented, 0.11 by default in the deployed edition.

    PanDA draws an integer from 0 to 99 and ignores shares if it is not above the key.
    """
    if not TERMS[edition].sloppy:
        return 0.0
    return min(max((cfg.value(jobdispatch.SLOPPY_DISPATCH_RATIO) + 1) / 100, 0.0), 1.0)


def mean_memory_high(target_mb: np.ndarray, pushed: np.ndarray, running_mb: np.ndarray, with_starting_mb: np.ndarray,
                     cfg: Gdpconfig) -> np.ndarray:
    """Queues that give out only jobs below their target of the mean memory per core, (n_queues,) bool.

    target_mb: meanrss, 0 = none; pushed: whether jobs are bound before submission; the others: mean memory per core of
    running jobs, and of running and starting ones, NaN = there are none. Source: lifecycle reference, section 5.2.
    """
    above = np.fmax(running_mb, with_starting_mb) > target_mb
    return pushed & (target_mb != 0) & above & (not cfg.value(meanrss.IGNORE_MEANRSS))
