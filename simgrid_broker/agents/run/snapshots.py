"""Snapshot agent: writes a broker snapshot at the times given in the scenario."""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.policy.brokerage.analysis.gate import slots_of_class_a
from simgrid_broker.policy.jobs.resource_types import with_memory
from simgrid_broker.views import Task
from simgrid_broker.world.snapshot.writing import snapshot_of
from simgrid_broker.world.views import observe


def snapshots(control: Control) -> Process:
    """Write snapshots."""
    for at in sorted(set(control.world.scenario.record.snapshots)):
        yield control.env.timeout(at - control.now)
        control.recorder.keep_snapshot(snapshot_now(control))


def snapshot_now(control: Control) -> dict:
    """The snapshot of this moment."""
    def raised(row: int, level: int) -> Task:
        return with_memory(observe.task(control.world, row), level, control.world.scenario.resource_types.values())
    return snapshot_of(control.world, control.brokers.snapshot, control.books.live_tasks.rows,
                       control.books.planned_merges(), raised, control.policies.changes,
                       slots_of_class_a(control.cfg) if control.policies.asks_about_users else None)
