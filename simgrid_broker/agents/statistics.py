"""The database jobs that rebuild the job statistics, and the order of shares that dispatch reads from them.

Source: lifecycle reference, section 1.3 (JOBS_SHARE_STATS is rebuilt once a minute).
"""

from simgrid_broker.policy.dispatch import sloppy_fraction
from simgrid_broker.policy.shares import share_order
from simgrid_broker.world import observe
from simgrid_broker.world.counts import take_snapshot


def statistics(control):
    """The process that refreshes what brokers, throttlers and dispatch know."""
    order = control.policies.dispatch_order
    control.fabric.dispatch_by("share" in order.keys, "priority" in order.keys,
                               sloppy_fraction(control.cfg, control.edition))

    by_queue = control.edition == "deployed" or bool(control.world.scenario.record.snapshots)

    def refresh():
        world = control.world
        control.snapshot = take_snapshot(world.arrays, control.now, control.fabric.orders, by_queue)
        world.network.read_queues(world.arrays)
        world.arrays.share_order[:] = share_order(world.tree, observe.share_usage(world))
    yield control.every(control.periods.statistics, refresh, "statistics")
