"""Dispatch orders as data for the compiled dispatcher; Global Shares paper, section 2.3; lifecycle reference, 1.4."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.errors import PluginError
from simgrid_broker.gdpconfig import jobdispatch, meanrss
from simgrid_broker.names import RANKED, TEST_SHARE
from simgrid_broker.plugins import Plugin
from simgrid_broker.policy.shares.tree import share_order
from simgrid_broker.units import DAY
from simgrid_broker.views import Gdpconfig, ShareTree


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
