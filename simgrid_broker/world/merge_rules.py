"""Parameters of merging, by task."""

from simgrid_broker.scenario.campaigns import MergeRule
from simgrid_broker.world.world import World

PLAIN = MergeRule()


def merge_rule(world: World, row: int) -> MergeRule:
    """The parameters of a task's stream; the defaults if it has no stream."""
    name = world.vocabularies["task_names"][world.arrays.tasks["name"][row]]
    workload = world.scenario.workload
    return next((stream for stream in (*workload.campaigns, *workload.users) if stream.name == name), PLAIN)
