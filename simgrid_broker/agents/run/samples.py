"""Samples of shares, queues, links and storages on a period, and snapshots at the times given in the scenario."""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.own import records
from simgrid_broker.policy.brokerage.analysis.gate import slots_of_class_a
from simgrid_broker.policy.jobs.resource_types import with_memory
from simgrid_broker.policy.shares.dispatch import targets
from simgrid_broker.turns.tagging import Tagger
from simgrid_broker.units import HOUR
from simgrid_broker.views import Task
from simgrid_broker.world import invariants
from simgrid_broker.world.series import BACKLOG, backlog
from simgrid_broker.world.snapshot.tasks import Waits
from simgrid_broker.world.snapshot.writing import snapshot_of
from simgrid_broker.world.views import observe


@records(BACKLOG)
def sampler(control: Control) -> Process:
    """Take samples, the first at time 0 and the others on the period: on the hour, not at a random phase."""
    tagger = Tagger(control.world, control.world.scenario.shares_in_use)
    while True:
        take_sample(control, tagger)
        yield control.env.timeout(control.periods.sampler)


def take_sample(control: Control, tagger: Tagger | None = None) -> None:
    """Write the series and all that has ended, at most once for each moment; check the invariants if asked to.

    tagger: finds the share of tasks that wait for their parents, None = the work of tasks is not counted.
    """
    series, world = control.books.series, control.world
    if series.sampled_at == control.now:
        return
    control.fabric.empty_outboxes()
    if control.recorder.validate:
        invariants.check(control.arrays)
    if world.scenario.record.series:
        of_leaves = targets(world.tree, observe.share_usage(world))[world.tree.leaves]
        for name, rows in series.rows(control.now, of_leaves):
            control.recorder.write(name, rows)
        if tagger is not None and control.now % HOUR < control.periods.sampler:          # the first of each hour
            rows, tasks = control.books.live_tasks.rows, control.arrays.tasks
            new = rows[tasks["share"][rows] < 0].tolist()
            shares = {row: tagger.share_of(tasks, row) for row in new}
            control.recorder.write("backlog", backlog(control.arrays, rows, control.now, shares))
    control.books.decisions.flush(control.now, control.recorder.write)
    series.sampled_at = control.now


def snapshots(control: Control) -> Process:
    """Write snapshots."""
    for at in sorted(set(control.world.scenario.record.snapshots)):
        yield control.env.timeout(at - control.now)
        control.recorder.keep_snapshot(snapshot_now(control))


def snapshot_now(control: Control, asked: Waits | None = None) -> dict:
    """The snapshot of this moment; asked: about which a broker is asked, alone in place of what waits."""
    def raised(row: int, level: int) -> Task:
        return with_memory(observe.task(control.world, row), level, control.world.scenario.resource_types.values())
    return snapshot_of(control.world, control.brokers.snapshot, control.books.live_tasks.rows,
                       control.books.planned_merges(), raised, control.policies.loaded,
                       slots_of_class_a(control.cfg) if control.policies.asks_about_users else None, asked)
