"""JEDI's TaskRefiner with the ContentsFeeder: share, resource type, and the way to brokerage or to job generation.

A task with a parent waits until that has ended, and is broken if that has failed (lifecycle reference, section 2.8).
Simplified: the content of input datasets is known at once; a child waits as registered, and finds all of its input.
"""

from simgrid_broker.names import ANALYSIS_LABELS, JUMP_OVER_PRIORITY, PRODUCTION_LABELS, USER_PRIORITY, TaskStatus
from simgrid_broker.policy.resource_types import resource_type_of
from simgrid_broker.policy.tagging import UNDEFINED, TagRule, tag
from simgrid_broker.schema.tasks import N_REPLICAS, RAM_UNITS
from simgrid_broker.world.share_tree import leaf_shares
from simgrid_broker.world.task_transitions import set_status
from simgrid_broker.world.work_queues import WorkQueueMap, attributes

FIRST_TRY_S = 6 * 3600.0
"""A task that enters `assigning` counts as last touched so long ago; source: brokerage reference, section 1.1."""

USER_PRIORITIES = 900, 1100
"""Range of priorities that analysis tasks may choose; source: as below."""

SERVER_RETRIES = 2
"""How often the server tries failed jobs of analysis again by itself; source: lifecycle reference, 3.5."""

TAGGED_BY = ("label", "working_group", "campaign", "transpath", "processing_type", "preassigned")
"""Columns of words by which tasks get their share."""

SUCCESS, FAILURE = (TaskStatus.DONE, TaskStatus.FINISHED), (TaskStatus.FAILED, TaskStatus.ABORTED, TaskStatus.BROKEN)
"""Ends of a parent after which its children begin, or never do."""


def task_refiner(control):
    """The process that refines tasks."""
    tagger = Tagger(control.world, control.world.scenario.shares_in_use)
    queues = WorkQueueMap(control.world.scenario)

    def refine():
        tasks = control.world.arrays.tasks
        rows = control.live_tasks.in_status(TaskStatus.REGISTERED, TaskStatus.REREFINE)
        again = tasks["status"][rows] == TaskStatus.REREFINE
        for row in rows[~again].tolist():
            parent = int(tasks["parent"][row]) - 1
            if parent < 0 or tasks["status"][parent] in SUCCESS:
                _take_output_of(control.world, parent, row)
                _refine(control, row, tagger, queues)
            elif tasks["status"][parent] in FAILURE:
                _break(control, row)
        for row in rows[again].tolist():
            set_status(control.world, row, TaskStatus.DEFINED, control.now)
            send_on(control, row)
    yield control.every(control.periods.task_refiner, refine, "refiner")


def tag_rules(shares) -> list[TagRule]:
    """The rules by which tasks get their share, one for each leaf of the tree."""
    return [TagRule(leaf, share.prodsourcelabel, share.workinggroup, share.campaign, share.processingtype,
                    share.transpath, share.rtype) for leaf, share in enumerate(leaf_shares(shares))]


class Tagger:
    """Tells the share of a task by its words; tasks with the same words are in the same share."""

    def __init__(self, world, shares):
        self.world, self.rules, self.found = world, tag_rules(shares), {}

    def share_of(self, task) -> int:
        """The leaf whose rule a task matches first, UNDEFINED if there is none."""
        codes = tuple(task[column].item() for column in TAGGED_BY)
        if codes not in self.found:
            self.found[codes] = tag(self.rules, self._words(task))
        return self.found[codes]

    def _words(self, task) -> dict[str, str]:
        words = self.world.vocabularies
        return dict(
            prodsourcelabel=words["labels"][task["label"]],
            workinggroup=words["working_groups"][task["working_group"]],
            campaign=words["campaigns"][task["campaign"]], transpath=words["transpaths"][task["transpath"]],
            processingtype=words["processing_types"][task["processing_type"]], rtype=_rtype(self.world, task))


def _take_output_of(world, parent: int, row: int) -> None:
    """Let the input of a task lie where the output of its parent went: at the parent's nucleus, all of it."""
    nucleus = world.arrays.tasks["nucleus"][parent] if parent >= 0 else -1
    if nucleus >= 0 and world.arrays.replica_site[row].max() >= 0:
        world.arrays.replica_site[row] = (nucleus, *[-1] * (N_REPLICAS - 1))
        world.arrays.replica_fraction[row] = (1, *[0] * (N_REPLICAS - 1))
        world.arrays.replica_tape[row] = 0


def _break(control, row: int) -> None:
    """End a task that cannot be worked on."""
    world = control.world
    set_status(world, row, TaskStatus.TOBROKEN, control.now)
    set_status(world, row, TaskStatus.BROKEN, control.now)
    control.end_tasks([row])


def _refine(control, row: int, tagger: Tagger, queues: WorkQueueMap) -> None:
    """Tag one task and send it on; without a share, a resource type or a work queue that it needs, it is broken."""
    world, now = control.world, control.now
    task = world.arrays.tasks[row]
    if not (map_task(world, row, queues) and tag_task(world, row, tagger)):
        _break(control, row)
        return
    control.retry_module.classify(row)
    control.scouts.begin(row)
    label = world.vocabularies["labels"][task["label"]]
    if label in ANALYSIS_LABELS:
        task["server_retries"] = SERVER_RETRIES
        if control.edition == "deployed":
            task["priority"] = user_priority(int(task["priority"]))
    else:
        task["server_retries"] = 0
    set_status(world, row, TaskStatus.DEFINED, now)
    if label in PRODUCTION_LABELS:
        to_task_broker(control, row)
    else:
        set_status(world, row, TaskStatus.READY, now)


def map_task(world, row: int, queues: WorkQueueMap) -> bool:
    """Give a task its work queue, unless it names one; whether it has one or needs none.

    Where queues take the place of the share tree, its share follows. Source: lifecycle reference, section 1.6.
    """
    if not queues.criteria:
        return True
    task = world.arrays.tasks[row]
    if task["work_queue"] < 0:
        named = queues.queue_of_share.get(int(task["share"]))
        task["work_queue"] = queues.queue_of(attributes(world, row)) if named is None else named
    if task["work_queue"] < 0:
        return not queues.required
    task["share"] = queues.share_of.get(int(task["work_queue"]), int(task["share"]))
    return True


def send_on(control, row: int) -> None:
    """Send a task that was refined before to job generation, or to brokerage if it needs a nucleus and has none."""
    task = control.world.arrays.tasks[row]
    if task["nucleus"] < 0 and control.world.vocabularies["labels"][task["label"]] in PRODUCTION_LABELS:
        to_task_broker(control, row)
    else:
        set_status(control.world, row, TaskStatus.READY, control.now)


def to_task_broker(control, row: int) -> None:
    """Let a task await its nucleus; it is due at once."""
    set_status(control.world, row, TaskStatus.ASSIGNING, control.now)
    task = control.world.arrays.tasks[row]
    task["modification_s"], task["frozen_s"] = control.now - FIRST_TRY_S, control.now


def user_priority(priority: int) -> int:
    """Priority of an analysis task in the code: 1000 unless it is near that, or that of a user who may jump over.

    Source: lifecycle reference, section 3.5; that a user may is told by the priority itself, 1500 or more.
    """
    low, high = USER_PRIORITIES
    return priority if low <= priority <= high or priority >= JUMP_OVER_PRIORITY else USER_PRIORITY


def tag_task(world, row: int, tagger: Tagger) -> bool:
    """Give a task its share, unless it names one, and its resource type; whether both were found."""
    task = world.arrays.tasks[row]
    if task["share"] < 0:
        task["share"] = tagger.share_of(task)
    bounds = tuple(world.scenario.resource_types.values())
    task["resource_type"] = resource_type_of(bounds, int(task["corecount"]), float(task["ramcount"]),
                                             RAM_UNITS[task["ramunit"]], float(task["baseramcount"]))
    return task["share"] != UNDEFINED and task["resource_type"] != UNDEFINED


def _rtype(world, task) -> str:
    """Kind of infrastructure of the first queue that a task names, empty if it names none; lifecycle reference, 1.2."""
    named = world.vocabularies["preassigned"][task["preassigned"]]
    return world.scenario.grid.queues[named.split(",")[0]].resource_type if named else ""
