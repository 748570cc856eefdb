"""Snapshot agent: writes a broker snapshot at the times given in the scenario."""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.world.to_snapshot import snapshot_of


def snapshots(control: Control) -> Process:
    """Write snapshots."""
    for at in sorted(set(control.world.scenario.record.snapshots)):
        yield control.env.timeout(at - control.now)
        control.recorder.keep_snapshot(snapshot_of(control.world, control.brokers.snapshot,
                                                   control.books.live_tasks.rows, control.policies.changes))
