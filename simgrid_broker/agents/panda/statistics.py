"""Job statistics, share tree and gdpconfig as the processes of PanDA and JEDI have them, each as old as its cache, and
the order of the shares in dispatch that follows from them.

Source: lifecycle reference, section 1.3 (JOBS_SHARE_STATS). Simplified: all processes load at the same time.
"""

from math import ceil

import numpy as np

from simgrid_broker.agents.books import Usage
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.policy.jobs.resource_types import OF_ONE_TYPE
from simgrid_broker.policy.shares import dispatch as rules
from simgrid_broker.policy.shares.dispatch import (
    TERMS,
    decayed,
    mean_memory_high,
    share_ranks,
    sloppy_fraction,
    urgent_first,
    values_in_use,
)
from simgrid_broker.turns.plane import unchecked
from simgrid_broker.world.columns import set_mean_memory_high
from simgrid_broker.world.jobs.counts import TypesInUse, take_snapshot
from simgrid_broker.world.pilot_status import queues_whose_mode
from simgrid_broker.world.queues.statistics import mean_memory
from simgrid_broker.world.shares import share_tree, stretchable_nodes
from simgrid_broker.world.views import observe


def share_tree_cache(control: Control) -> Process:
    """Load the share tree."""
    def load() -> None:
        control.world.loaded_tree = share_tree(control.world.shares)
    yield from control.every(control.periods.share_tree, load, "share_tree")


def gdpconfig_cache(control: Control) -> Process:
    """Load the values of gdpconfig."""
    yield from control.every(control.periods.gdpconfig, control.policies.load_config, "gdpconfig")


def statistics(control: Control) -> Process:
    """Refresh the statistics on a period."""
    world = control.world
    in_detail = bool(world.scenario.record.snapshots) or control.check is not unchecked
    by_queue = in_detail or OF_ONE_TYPE[control.edition]
    types, pushed = TypesInUse(), queues_whose_mode(world.arrays, "fetches_jobs")
    any_compared = bool(world.arrays.queues["meanrss"][pushed].any())

    def refresh() -> None:
        control.brokers.snapshot = take_snapshot(world.arrays, control.now, world.job_counts if by_queue else None,
                                                 in_detail, world.job_sums)
        if by_queue:
            control.brokers.snapshot.types_at = types.known_at(world.arrays, control.now)
        world.network.read_queues(world.arrays)
        if any_compared:
            look_at_memory(control, pushed)
        control.books.usage = Usage(control.now, observe.share_usage(world))
    yield from control.every(control.periods.statistics, refresh, "statistics")


def look_at_memory(control: Control, pushed: np.ndarray) -> None:
    """Note the push queues whose jobs use more memory per core than intended."""
    jobs, target = control.brokers.snapshot.activity, control.arrays.queues["meanrss"]
    mean = mean_memory(control.arrays, jobs["running_all"], jobs["starting_all"])
    set_mean_memory_high(control.world, mean_memory_high(target, pushed, *mean, control.cfg))


LOADS = "statistics", "share_tree", "gdpconfig"
"""Work on a period after which what is known of the shares may have changed."""


def share_order(control: Control) -> Process:
    """Set the order of dispatch, then order the shares again whenever what is known of them has changed."""
    order = control.policies.dispatch_order
    control.fabric.dispatch_by(order.by_share, sloppy_fraction(control.cfg, control.edition),
                               urgent_first(order, control.edition),
                               order.by_share and TERMS[control.edition].sloppy, **order.rank)
    yield from control.every(control.periods.share_order, ShareOrder(control).look, "share_order")


class ShareOrder:
    """Remembers from what the order was made, what was served, and past usage where the order of dispatch counts it."""

    def __init__(self, control: Control):
        self.control = control
        self.stretchable = stretchable_nodes(control.world)
        self.made_of: tuple[Usage | None, object, object] = None, None, None
        self.served: tuple[list[int], tuple[str, ...], float] | None = None
        self.usage, self.usage_s = np.zeros(len(control.arrays.hs06_milli)), 0.0

    def look(self) -> float | None:
        """Order the shares if usage, tree or gdpconfig were loaded since this was last done; returns the delay."""
        control, world, known = self.control, self.control.world, self.control.books.usage
        usage, tree, cfg = self.made_of
        if not (world.loaded_tree is tree and control.cfg is cfg and (known is usage or self._is_the_same(known))):
            self._order(known)
        return self._delay()

    def _is_the_same(self, known: Usage) -> bool:
        """True if the shares use as much as when they were ordered, and PanDA's rule asks for nothing else."""
        usage, order = self.made_of[0], self.control.policies.dispatch_order
        return (self.stretchable is None and order.half_life_s == 0 and order.share_order is rules.share_order
                and usage is not None and usage.hs06.tobytes() == known.hs06.tobytes())

    def _delay(self) -> float | None:
        """Time to the first look after the next load, s; None = one period, of which only whole ones add up exactly."""
        control, period = self.control, self.control.periods.share_order
        next_load_s = min(control.due.get(name, control.now) for name in LOADS)
        return ceil((next_load_s - control.now) / period) * period if period == int(period) else None

    def _order(self, known: Usage) -> None:
        """Order the shares by what is known now."""
        control, world = self.control, self.control.world
        self.made_of = known, world.loaded_tree, control.cfg
        world.tree = world.loaded_tree
        if self.stretchable is not None:
            world.tree = values_in_use(world.tree, leaves_with_tasks(control), self.stretchable)
        order = control.policies.dispatch_order
        self.usage = decayed(self.usage, known.hs06, known.taken_at - self.usage_s, order.half_life_s)
        self.usage_s = known.taken_at
        shares = order.shares(world.tree, self.usage)
        served = shares.tolist(), world.tree.names, sloppy_fraction(control.cfg, control.edition)
        if served != self.served:
            self.served = served
            control.fabric.serve_shares(shares, share_ranks(world.tree, shares, control.edition), served[-1])


def leaves_with_tasks(control: Control) -> np.ndarray:
    """Shares with live tasks, which make their queues active (JEDI TWiki, shares)."""
    shares = np.unique(control.arrays.tasks["share"][control.books.live_tasks.rows])
    return shares[shares >= 0]
