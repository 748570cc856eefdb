"""Job statistics, share tree and gdpconfig as PanDA's and JEDI's processes have them, each as old as its cache.

Source: lifecycle reference, section 1.3 (JOBS_SHARE_STATS). Simplified: all processes load at the same time.
"""

import numpy as np

from simgrid_broker.agents.books import Usage
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.policy.jobs.resource_types import OF_ONE_TYPE
from simgrid_broker.policy.shares.dispatch import mean_memory_high
from simgrid_broker.turns.plane import unchecked
from simgrid_broker.world.columns import set_mean_memory_high
from simgrid_broker.world.jobs.counts import TypesInUse, take_snapshot
from simgrid_broker.world.pilot_status import queues_whose_mode
from simgrid_broker.world.queues.statistics import mean_memory
from simgrid_broker.world.shares import share_tree
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
    any_pushed = bool(pushed.any())

    def refresh() -> None:
        control.brokers.snapshot = take_snapshot(world.arrays, control.now, by_queue, in_detail)
        if by_queue:
            control.brokers.snapshot.types_at = types.known_at(world.arrays, control.now)
        world.network.read_queues(world.arrays)
        if any_pushed:
            look_at_memory(control, pushed)
        control.books.usage = Usage(control.now, observe.share_usage(world))
    yield from control.every(control.periods.statistics, refresh, "statistics")


def look_at_memory(control: Control, pushed: np.ndarray) -> None:
    """Note the push queues whose jobs use more memory per core than intended."""
    target = control.arrays.queues["meanrss"]
    if (pushed & (target != 0)).any():
        set_mean_memory_high(control.world, mean_memory_high(target, pushed, *mean_memory(control.arrays), control.cfg))
