"""JEDI's TaskRefiner with the ContentsFeeder: share, resource type, and the way to brokerage or to job generation.

Simplified: the content of input datasets is known at once.
"""

from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.resource_types import resource_type_of
from simgrid_broker.policy.tagging import UNDEFINED, TagRule, tag
from simgrid_broker.schema.tasks import RAM_UNITS
from simgrid_broker.world.share_tree import leaf_shares
from simgrid_broker.world.task_transitions import set_status

FIRST_TRY_S = 6 * 3600.0
"""A task that enters `assigning` counts as last touched so long ago; source: brokerage reference, section 1.1."""

ANALYSIS_LABELS, SERVER_RETRIES = ("user", "panda"), 2
"""Labels whose failed jobs the server tries again by itself, and how often; source: lifecycle reference, 3.5."""

PRODUCTION_LABELS = ("managed", "test")
"""Labels whose tasks get a nucleus; source: lifecycle reference, section 2.8."""


def task_refiner(control):
    """The process that refines tasks."""
    rules = [TagRule(leaf, share.prodsourcelabel, share.workinggroup, share.campaign, share.processingtype,
                     share.transpath, share.rtype)
             for leaf, share in enumerate(leaf_shares(control.world.scenario.shares))]

    def refine():
        for row in control.live_tasks.in_status(TaskStatus.REGISTERED).tolist():
            _refine(control, row, rules)
    yield control.every(control.periods.task_refiner, refine, "refiner")


def _refine(control, row: int, rules) -> None:
    """Tag one task and send it on; without a share or a resource type it is broken."""
    world, now = control.world, control.now
    task, words = world.arrays.tasks[row], world.vocabularies
    label = words["labels"][task["label"]]
    if task["share"] < 0:
        task["share"] = tag(rules, dict(
            prodsourcelabel=label, workinggroup=words["working_groups"][task["working_group"]],
            campaign=words["campaigns"][task["campaign"]], transpath=words["transpaths"][task["transpath"]],
            processingtype=words["processing_types"][task["processing_type"]]))
    bounds = tuple(world.scenario.resource_types.values())
    task["resource_type"] = resource_type_of(bounds, int(task["corecount"]), float(task["ramcount"]),
                                             RAM_UNITS[task["ramunit"]], float(task["baseramcount"]))
    if task["share"] == UNDEFINED or task["resource_type"] == UNDEFINED:
        set_status(world, row, TaskStatus.BROKEN, now)
        control.live_tasks.remove([row])
        control.write("tasks", world.arrays.tasks[row:row + 1], world.arrays.task_times[row:row + 1])
        return
    task["server_retries"] = SERVER_RETRIES if label in ANALYSIS_LABELS else 0
    set_status(world, row, TaskStatus.DEFINED, now)
    if label in PRODUCTION_LABELS:
        set_status(world, row, TaskStatus.ASSIGNING, now)
        task["modification_s"], task["frozen_s"] = now - FIRST_TRY_S, now
    else:
        set_status(world, row, TaskStatus.READY, now)
