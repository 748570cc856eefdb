"""The parameters of merging of a task, which only those that merge their output have.

What lives here: looking them up in the scenario by the name of the task's stream. What does not: the rules (policy).
"""

from simgrid_broker.scenario.campaigns import MergeRule

PLAIN = MergeRule()


def merge_rule(world, row: int) -> MergeRule:
    """The parameters of the stream that a task belongs to; those by default if it belongs to none."""
    name = world.vocabularies["task_names"][world.arrays.tasks["name"][row]]
    workload = world.scenario.workload
    return next((stream for stream in (*workload.campaigns, *workload.users) if stream.name == name), PLAIN)
