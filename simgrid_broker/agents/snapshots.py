"""The photographer: at the scenario's times it writes down all that the brokers would see.

What lives here: when. What does not: what a snapshot holds (world) and where it goes (`Control.keep_snapshot`).
"""

from simgrid_broker.world.to_snapshot import snapshot_of


def snapshots(control):
    """The process that takes snapshots."""
    yield _snapshots(control)


def _snapshots(control):
    for at in sorted(set(control.world.scenario.record.snapshots)):
        yield control.env.timeout(at - control.now)
        control.keep_snapshot(snapshot_of(control.world, control.snapshot, control.live_tasks.rows,
                                          control.config_changes))
