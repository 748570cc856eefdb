"""Job statistics that brokers, throttler and dispatch read, as old as JOBS_SHARE_STATS; lifecycle reference, 1.3."""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.policy.dispatch import mean_memory_high, share_ranks, sloppy_fraction, urgent_first
from simgrid_broker.policy.shares import values_in_use
from simgrid_broker.world import observe
from simgrid_broker.world.columns import set_mean_memory_high
from simgrid_broker.world.counts import take_snapshot
from simgrid_broker.world.mean_memory import mean_memory
from simgrid_broker.world.share_tree import share_tree
from simgrid_broker.world.types_in_use import TypesInUse
from simgrid_broker.world.work_queues import stretchable_nodes
from simgrid_broker.world.world import World


def statistics(control: Control) -> Process:
    """Set the order of dispatch, then refresh the statistics and the order of shares on a period."""
    order, world = control.policies.dispatch_order, control.world
    control.fabric.dispatch_by(order.by_share, sloppy_fraction(control.cfg, control.edition),
                               urgent_first(order, control.edition),
                               order.by_share and control.edition == "deployed", **order.rank)
    in_detail = bool(world.scenario.record.snapshots)
    by_queue = in_detail or control.edition == "deployed"
    stretchable, types, pushed = stretchable_nodes(world), TypesInUse(), pushed_queues(world)

    def refresh() -> None:
        control.brokers.snapshot = take_snapshot(world.arrays, control.now, by_queue, in_detail)
        if by_queue:
            control.brokers.snapshot.types_at = types.known_at(world.arrays, control.now)
        world.network.read_queues(world.arrays)
        look_at_memory(control, pushed)
        if stretchable is not None:
            world.tree = values_in_use(share_tree(world.shares), leaves_with_tasks(control), stretchable)
        shares = order.shares(world.tree, observe.share_usage(world))
        control.fabric.serve_shares(shares, share_ranks(world.tree, shares, control.edition))
    yield from control.every(control.periods.statistics, refresh, "statistics")


def leaves_with_tasks(control: Control) -> np.ndarray:
    """Shares with live tasks, which make their queues active (JEDI TWiki, shares)."""
    shares = np.unique(control.arrays.tasks["share"][control.books.live_tasks.rows])
    return shares[shares >= 0]


def pushed_queues(world: World) -> np.ndarray:
    """Queues whose jobs are bound before a worker is submitted, (n_queues,) bool; formats reference, section 1.1."""
    return np.array([(queue.workflow or "").startswith("push") for queue in world.scenario.grid.queues.values()], bool)


def look_at_memory(control: Control, pushed: np.ndarray) -> None:
    """Note the push queues whose jobs use more memory per core than intended."""
    target = control.arrays.queues["meanrss"]
    if (pushed & (target != 0)).any():
        set_mean_memory_high(control.world, mean_memory_high(target, pushed, *mean_memory(control.arrays), control.cfg))
