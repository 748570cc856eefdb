"""The database jobs that rebuild the job statistics, and the order of shares that dispatch reads from them.

Source: lifecycle reference, section 1.3 (JOBS_SHARE_STATS is rebuilt once a minute).
"""

import numpy as np

from simgrid_broker.policy.dispatch import sloppy_fraction
from simgrid_broker.policy.shares import share_order
from simgrid_broker.policy.work_queues import values_in_use
from simgrid_broker.world import observe
from simgrid_broker.world.counts import take_snapshot
from simgrid_broker.world.share_tree import share_tree
from simgrid_broker.world.work_queues import stretchable_nodes


def statistics(control):
    """The process that refreshes what brokers, throttlers and dispatch know."""
    order = control.policies.dispatch_order
    control.fabric.dispatch_by("share" in order.keys, "priority" in order.keys,
                               sloppy_fraction(control.cfg, control.edition))

    by_queue = control.edition == "deployed" or bool(control.world.scenario.record.snapshots)

    stretchable = stretchable_nodes(control.world)

    def refresh():
        world = control.world
        control.snapshot = take_snapshot(world.arrays, control.now, control.fabric.orders, by_queue)
        world.network.read_queues(world.arrays)
        if stretchable is not None:
            world.tree = values_in_use(share_tree(world.shares), leaves_with_tasks(control), stretchable)
        world.arrays.share_order[:] = share_order(world.tree, observe.share_usage(world))
    yield control.every(control.periods.statistics, refresh, "statistics")


def leaves_with_tasks(control) -> np.ndarray:
    """Shares that have live tasks; a queue with such tasks is active (JEDI TWiki, shares)."""
    shares = np.unique(control.world.arrays.tasks["share"][control.live_tasks.rows])
    return shares[shares >= 0]
