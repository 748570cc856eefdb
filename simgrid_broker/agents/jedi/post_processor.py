"""JEDI's PostProcessor: ends tasks that have nothing left or were told to end; lifecycle reference, section 2.8."""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import TASK_ENDS, TASK_PREPARABLE, TaskStatus
from simgrid_broker.policy.tasks.commands import SETTLED
from simgrid_broker.policy.tasks.ends import Ending, after_input, end_of_task, is_over, processor_of
from simgrid_broker.views import DatasetRow
from simgrid_broker.world.columns import return_to, set_reason, take_done
from simgrid_broker.world.data.datasets import datasets_of_task
from simgrid_broker.world.tasks.transitions import set_status

T = TaskStatus
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
    yield from control.every(control.periods.post_processor, finish, "postprocessor", lambda: not waiting)


def send_on(control: Control, ended: list[int]) -> None:
    """End the tasks that were told to end or have a broken input, and let scouted tasks continue."""
    tasks = control.arrays.tasks
    rows = control.books.live_tasks.in_status(*COMMANDED)
    if not len(rows):
        return
    status = tasks["status"][rows]
    for last in (T.TOABORT, T.PASSED, T.TOBROKEN):
        for row in rows[status == last].tolist():
            post_process(control, row, datasets_of(control, row), ended)
    for row in rows[status == T.SCOUTED].tolist():
        control.books.scouts.release(row)
        set_status(control.world, row, T.RUNNING, control.now)


def settled(control: Control, row: int, ended: list[int]) -> bool:
    """End a task with nothing left once its status allows; returns whether it needs no further look."""
    world, status = control.world, control.arrays.tasks["status"].item(row)
    datasets = datasets_of(control, row)
    if status in SETTLED or not is_over(datasets):
        return True
    if status == T.PENDING and control.arrays.tasks["old_status"][row] in TASK_PREPARABLE:
        status = control.arrays.tasks["old_status"].item(row)
        set_status(world, row, T(status), control.now)
    if status not in TASK_PREPARABLE:
        return False
    after = after_input(T(status), datasets)
    if after is not None:
        set_status(world, row, after, control.now)           # of a defined one the ContentsFeeder looks for more input
    if after is T.PREPARED:
        post_process(control, row, datasets, ended)
    return True


def datasets_of(control: Control, row: int) -> tuple[DatasetRow, ...]:
    """Master input and output of a task, to which files may be added while its dataset or its submission is open."""
    books = control.books
    return datasets_of_task(control.arrays, row, books.open_inputs.is_open(row) or books.submissions.is_open(row))


def post_process(control: Control, row: int, datasets: tuple[DatasetRow, ...], ended: list[int]) -> None:
    """Give a task the status that its post-processor finds; one that is over is appended to `ended`."""
    world, words, tasks = control.world, control.world.vocabularies, control.arrays.tasks
    processor = processor_of(words["vos"][tasks["vo"][row]], words["labels"][tasks["label"][row]], control.edition)
    end = end_of_task(ending_of(control, row, datasets), processor, control.edition)
    if end.reason:
        set_reason(world, row, end.reason)
    if end.status is T.EXHAUSTED:
        return_to(world, row, T.RUNNING)                     # where a retry continues
    set_status(world, row, end.status, control.now)
    if end.status in TASK_ENDS:
        ended.append(row)


def ending_of(control: Control, row: int, datasets: tuple[DatasetRow, ...]) -> Ending:
    """A task that is about to end; no input of a run is processed twice."""
    world, tasks = control.world, control.arrays.tasks
    status, goal, fails, exhausts, share = tasks[
        ["status", "goal", "fail_goal_unreached", "use_exhausted", "share"]].item(row)
    above = world.parent_of(row)
    return Ending(T(status), datasets, None if goal < 0 else goal, bool(fails), bool(exhausts),
                  world.vocabularies["shares"][share], None if above is None else T(tasks["status"][above]))
