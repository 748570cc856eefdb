"""JEDI's PostProcessor: ends tasks that have nothing left or were told to end; lifecycle reference, section 2.8."""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks.commands import PREPARABLE, SETTLED, final_status
from simgrid_broker.world.columns import return_to, take_done
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.world import World

T = TaskStatus
PENDING, PREPARED = T.PENDING, T.PREPARED
COMMANDED = T.TOABORT, T.PASSED, T.TOBROKEN, T.SCOUTED
"""Statuses that this agent ends, whatever jobs there are."""


def post_processor(control: Control) -> Process:
    """End tasks, then assess scouts."""
    waiting: dict[int, None] = {}

    def finish() -> None:
        waiting.update(dict.fromkeys(take_done(control.world)))
        ended: list[int] = []
        for row in [*waiting]:
            if settled(control, row, ended):
                del waiting[row]
        send_on(control, ended)
        if ended:
            control.books.end_tasks(ended)
        control.books.scouts.assess(control.now)
    yield from control.every(control.periods.post_processor, finish, "postprocessor")


def send_on(control: Control, ended: list[int]) -> None:
    """End the tasks that were told to end or have a broken input, and let scouted tasks continue."""
    tasks = control.arrays.tasks
    rows = control.books.live_tasks.in_status(*COMMANDED)
    if not len(rows):
        return
    status = tasks["status"][rows]
    for row in rows[status == T.TOABORT].tolist():
        end(control, row, T.ABORTED, ended)
    for row in rows[status == T.PASSED].tolist():
        end(control, row, final_status_of(control.world, row), ended)
    for row in rows[status == T.TOBROKEN].tolist():
        end(control, row, T.BROKEN, ended)
    for row in rows[status == T.SCOUTED].tolist():
        control.books.scouts.release(row)
        set_status(control.world, row, T.RUNNING, control.now)


def settled(control: Control, row: int, ended: list[int]) -> bool:
    """End a task with nothing left once its status allows; returns whether it needs no further look."""
    world, task = control.world, control.arrays.tasks[row]
    status, n_failed = task["status"].item(), task["n_failed"].item()
    if task["n_finished"].item() + n_failed != task["n_jobs"].item() or status in SETTLED:
        return True
    if status == PENDING and task["old_status"] in PREPARABLE:
        status = task["old_status"].item()
        set_status(world, row, T(status), control.now)
    if status not in PREPARABLE:
        return False
    if control.books.open_inputs.is_open(row) or control.books.submissions.is_open(row):
        set_status(world, row, T.DEFINED, control.now)       # the ContentsFeeder sends it on when more input arrives
        return True
    set_status(world, row, PREPARED, control.now)
    final = final_status_of(world, row)
    if final is T.FINISHED and n_failed and uses_exhausted(world, row):
        return_to(world, row, T.RUNNING)                     # where a retry continues
        set_status(world, row, T.EXHAUSTED, control.now)
    else:
        end(control, row, final, ended)
    return True


def uses_exhausted(world: World, row: int) -> bool:
    """True if a task with failed input waits for a command; source: JEDI TWiki, task status."""
    name = world.vocabularies["task_names"][world.arrays.tasks["name"][row]]
    return any(campaign.name == name and campaign.useExhausted for campaign in world.scenario.workload.campaigns)


def end(control: Control, row: int, status: TaskStatus, ended: list[int]) -> None:
    """Give a task its final status and append it to the tasks that have just ended."""
    set_status(control.world, row, status, control.now)
    ended.append(row)


def final_status_of(world: World, row: int) -> TaskStatus:
    """Final status of a task by its input and its parent."""
    tasks = world.arrays.tasks
    task = tasks[row]
    above = world.parent_of(row)
    parent = None if above is None else T(tasks["status"][above])
    return final_status(int(task["n_jobs"]), int(task["n_finished"]), parent)
