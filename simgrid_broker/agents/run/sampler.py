"""Sampler: writes time series of shares, queues, links and storages at a fixed period."""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.policy.shares.tree import targets
from simgrid_broker.world import invariants
from simgrid_broker.world.views import observe


def sampler(control: Control) -> Process:
    """Take samples, the first at time 0 and the others on the period: on the hour, not at a random phase."""
    while True:
        take_sample(control)
        yield control.env.timeout(control.periods.sampler)


def take_sample(control: Control) -> None:
    """Write the series and all that has ended, at most once for each moment; check the invariants if asked to."""
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
    control.books.decisions.flush(control.now, control.recorder.write)
    series.sampled_at = control.now
