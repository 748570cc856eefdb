"""JEDI's TaskRefiner and ContentsFeeder: tasks get share and resource type, open datasets files, and go to a broker.

A task waits for the end of its parent, and is broken if the parent has failed (lifecycle reference, section 2.8).
Simplified: the content of input datasets is known at once, unless they are open until they are frozen; a child waits as
registered, and finds all of its input. Source: JEDI TWiki, open dataset handling; lifecycle reference, 2.1 and 2.8.
"""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import ANALYSIS_LABELS, PRODUCTION_LABELS, TASK_ENDS, TaskStatus
from simgrid_broker.policy.tasks.data_carousel import config_of, exceeds_tape_quota
from simgrid_broker.policy.users import tasks as user_tasks
from simgrid_broker.turns.tagging import Tagger, limit_for_users, refines, tag_task
from simgrid_broker.world.columns import move_input, return_to, set_task
from simgrid_broker.world.data.datasets import datasets_of, numbers_of
from simgrid_broker.world.shares import WorkQueueMap, attributes
from simgrid_broker.world.tasks.input_files import staged_inputs_of
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.world import World

FIRST_TRY_S = 6 * 3600.0
"""Time before `assigning` at which a task counts as last modified, s; source: brokerage reference, section 1.1."""

SERVER_RETRIES = 2
"""Retries of failed analysis jobs by the server alone; source: lifecycle reference, 3.5."""

MOVE_INPUT = 48
"""Question of the draw that decides whether the input of a task may be moved."""

SUCCESS, FAILURE = (TaskStatus.DONE, TaskStatus.FINISHED), (TaskStatus.FAILED, TaskStatus.ABORTED, TaskStatus.BROKEN)
"""Ends of a parent after which its children start, or are broken."""
ENDS, NONE = SUCCESS + FAILURE, np.zeros(0, np.int64)

DEFINED, REREFINE, STAGED, READY = TaskStatus.DEFINED, TaskStatus.REREFINE, TaskStatus.STAGED, TaskStatus.READY
AGAIN = int(REREFINE)
NEW = int(TaskStatus.REGISTERED), AGAIN
"""Statuses of the tasks that are to be refined; NumPy compares whole numbers faster than members of enumerations."""


def task_refiner(control: Control) -> Process:
    """Refine tasks."""
    tagger = Tagger(control.world, control.world.scenario.shares_in_use)
    queues = WorkQueueMap(control.world.scenario)
    live_tasks = control.books.live_tasks

    def look_at_new() -> np.ndarray:
        tasks, rows = control.arrays.tasks, live_tasks.in_status(*NEW)
        again = tasks["status"][rows] == AGAIN
        for row in rows[~again].tolist():
            parent = control.world.parent_of(row)
            above = None if parent is None else tasks["status"].item(parent)
            if above is None or above in SUCCESS:
                if parent is not None and (nucleus := int(tasks["nucleus"][parent])) >= 0:
                    move_input(control.world, row, nucleus)          # the output of the parent is there
                if reads_deleted(control.world, row):
                    _break(control, row)
                elif control.books.staging.is_needed(row):
                    _stage_first(control, row, tagger, queues)
                elif refine(control, row, tagger, queues):
                    _send_first(control, row)
            elif above in FAILURE:
                _break(control, row)
        return rows[again]

    def refine_all() -> None:
        again = NONE if control.is_unchanged("refiner", live_tasks.moves(*NEW, *ENDS)) else look_at_new()
        for row in live_tasks.in_status(STAGED).tolist():
            if refine(control, row, tagger, queues):
                _send_when_staged(control, row)
        for row in live_tasks.in_status(DEFINED).tolist():
            if control.arrays.tasks["inputprestaging"][row] and not control.books.open_inputs.is_open(row):
                _send_when_staged(control, row)
        for row in again.tolist():
            set_status(control.world, row, DEFINED, control.now)
            send_on(control, row)
    yield from control.every(control.periods.task_refiner, refine_all, "refiner", lambda: True)


def reads_deleted(world: World, row: int) -> bool:
    """True if DDM does not know a dataset that a task reads: the ContentsFeeder then breaks it; JEDI TWiki, dataset
    status."""
    deleted = world.arrays.datasets["deleted"]
    return bool(np.count_nonzero(deleted[:len(world.catalogue.names)])) and any(    # no other dataset is ever deleted
        deleted[number] for number in (*datasets_of(world.arrays, row), *numbers_of(world.arrays, row)))


def _break(control: Control, row: int) -> None:
    """End a task that cannot be processed."""
    world = control.world
    set_status(world, row, TaskStatus.TOBROKEN, control.now)
    set_status(world, row, TaskStatus.BROKEN, control.now)
    control.books.end_tasks([row])


def refine(control: Control, row: int, tagger: Tagger, queues: WorkQueueMap) -> bool:
    """Tag and define a task, or break it without a share, resource type or required work queue; whether it is defined.
    """
    world = control.world
    if control.fabric.event_service is not None:
        control.fabric.event_service.refining(row)
    if not (map_task(world, row, queues) and tag_task(world, row, tagger) and accepted(control, row)):
        _break(control, row)
        return False
    world.count_for_users([row])
    control.books.retry_module.classify(row)
    control.books.scouts.begin(row)
    label = world.vocabularies["labels"][world.arrays.tasks["label"][row]]
    set_task(world, row, server_retries=SERVER_RETRIES if label in ANALYSIS_LABELS else 0)
    if refines(label, control.edition):
        refine_for_users(control, row)
    set_status(world, row, DEFINED, control.now)
    return True


def _stage_first(control: Control, row: int, tagger: Tagger, queues: WorkQueueMap) -> None:
    """Let a task wait until its input is staged; break one of users with too much of it.

    Source: lifecycle reference, 2.8 and 7.5.
    """
    world = control.world
    size = control.books.staging.size(row)
    is_user = world.vocabularies["labels"][world.arrays.tasks["label"][row]] in ANALYSIS_LABELS
    if (not (map_task(world, row, queues) and tag_task(world, row, tagger))
            or (is_user and exceeds_tape_quota(size, control.cfg))):
        _break(control, row)
        return
    control.books.staging.ask(row, config_of(control.cfg), control.now)
    set_status(world, row, TaskStatus.STAGING, control.now)


def _send_when_staged(control: Control, row: int) -> None:
    """Send a task on as soon as jobs can be made of some of its input; until then it is on hold."""
    if staged_inputs_of(control.arrays, row) > 0:
        _send_first(control, row)
    else:
        return_to(control.world, row)
        set_status(control.world, row, TaskStatus.PENDING, control.now)


def map_task(world: World, row: int, queues: WorkQueueMap) -> bool:
    """Give a task its work queue unless it names one; returns whether it has one or needs none.

    Where queues replace the share tree, its share follows. Source: lifecycle reference, section 1.6.
    """
    if not queues.criteria:
        return True
    task = world.arrays.tasks[row]
    if task["work_queue"] < 0:
        named = queues.queue_of_share.get(int(task["share"]))
        set_task(world, row, work_queue=queues.queue_of(attributes(world, row)) if named is None else named)
    if task["work_queue"] < 0:
        return not queues.required
    set_task(world, row, share=queues.share_of.get(int(task["work_queue"]), int(task["share"])))
    return True


def _send_first(control: Control, row: int) -> None:
    """Send a new task to task brokerage if it is production, even one that names its nucleus, else to job generation.
    """
    if control.world.vocabularies["labels"][control.arrays.tasks["label"][row]] in PRODUCTION_LABELS:
        to_task_broker(control, row)
    else:
        set_status(control.world, row, READY, control.now)


def send_on(control: Control, row: int) -> None:
    """Send a refined task to job generation, or to task brokerage if it needs a nucleus and has none."""
    if control.arrays.tasks["nucleus"].item(row) < 0:
        _send_first(control, row)
    else:
        set_status(control.world, row, READY, control.now)


def to_task_broker(control: Control, row: int) -> None:
    """Send a task to the TaskBroker; it is due at once."""
    set_status(control.world, row, TaskStatus.ASSIGNING, control.now)
    set_task(control.world, row, modification_s=control.now - FIRST_TRY_S, frozen_s=control.now)


def refine_for_users(control: Control, row: int) -> None:
    """Set what the production code sets for a task of users."""
    world, tasks, words = control.world, control.arrays.tasks, control.world.vocabularies
    boost = user_tasks.priority_boost(words["users"][tasks["user"][row]],
                                      words["working_groups"][tasks["working_group"][row]], control.cfg)
    set_task(world, row, priority=priority_of_user(control, row), priority_boost=boost)
    limit_for_users(world, row, control.cfg)


def priority_of_user(control: Control, row: int) -> int:
    """Priority of a task of users: by the permissions of the account, or raised for a part of all tasks."""
    world, tasks, words = control.world, control.arrays.tasks, control.world.vocabularies
    jumps = user_tasks.jumps_the_queue(world.user_output.permissions.get(tasks["user"].item(row), ""),
                                       bool(words["working_groups"][tasks["working_group"][row]]))
    found = user_tasks.user_priority(tasks["priority"].item(row), jumps)
    uniform = luck.uniform(control.seed, luck.STREAMS["task_draw"], tasks["luck"].item(row), MOVE_INPUT, 0)
    return user_tasks.MOVING_PRIORITY if not jumps and user_tasks.moves_input(uniform, control.cfg) else found


def accepted(control: Control, row: int) -> bool:
    """True if the server accepts a task that has just arrived: its user has not too many others."""
    if not user_tasks.TERMS[control.edition].limits_tasks:
        return True
    tasks = control.arrays.tasks
    user, label = tasks["user"].item(row), tasks["label"].item(row)
    most = user_tasks.most_active_tasks(control.world.vocabularies["labels"][label], control.cfg)
    if most is None:
        return True
    rows = control.books.live_tasks.in_status(*user_tasks.ACTIVE)
    mine = (tasks["user"][rows] == user) & (tasks["label"][rows] == label) & (rows != row)
    return bool(np.count_nonzero(mine) <= most)


T = TaskStatus


def contents_feeder(control: Control) -> Process:
    """Read open datasets on a period, if the workload has any."""
    if control.books.open_inputs.streams:
        yield from control.every(control.periods.contents_feeder, lambda: feed(control), "contents")


def feed(control: Control) -> None:
    """Look at every open dataset of a task that has arrived and is not over."""
    tasks, open_inputs = control.arrays.tasks, control.books.open_inputs
    live = set(control.books.live_tasks.rows.tolist())
    for row in [*open_inputs.rows]:
        status = T(tasks["status"][row])
        if row not in live:
            if status in TASK_ENDS:
                open_inputs.close(row)
            continue
        grown = open_inputs.read(row, control.now)
        if status is T.DEFINED and (grown or not open_inputs.is_open(row)):
            send_on(control, row)
        task = tasks[row]
        if not open_inputs.is_open(row) and task["n_finished"] + task["n_failed"] == task["n_jobs"]:
            control.fabric.nothing_left(row)
