"""JEDI's PostProcessor: tasks of which nothing is left to do get their final status, and those that were commanded to.

Source: lifecycle reference, section 2.8, final status.
"""

from simgrid_broker.names import TaskStatus
from simgrid_broker.world.task_transitions import set_status

T = TaskStatus

PREPARABLE = (T.READY, T.RUNNING, T.MERGING, T.THROTTLED)
"""Statuses from which a task of which nothing is left goes to its end."""
COMMANDED = (T.ABORTING, T.TOABORT, T.FINISHING, T.PASSED, T.DONE, T.FINISHED, T.FAILED, T.ABORTED, T.BROKEN)
"""Statuses of a task whose end is none of its own, or has come."""
NO_PARENT_LEFT = (T.FAILED, T.BROKEN, T.ABORTED)


def post_processor(control):
    """The process that ends tasks."""
    waiting: dict[int, None] = {}

    def finish():
        arrays, state = control.world.arrays, control.world.state
        waiting.update(dict.fromkeys(arrays.done_tasks[:state["n_done_tasks"]].tolist()))
        state["n_done_tasks"] = 0
        ended: list[int] = []
        for row in [*waiting]:
            if settled(control, row, ended):
                del waiting[row]
        send_on(control, ended)
        if ended:
            control.end_tasks(ended)
        control.scouts.assess()
    yield control.every(control.periods.post_processor, finish, "postproc")


def send_on(control, ended: list[int]) -> None:
    """End the tasks that were commanded to end or have a broken input, and let those go on that have scouted."""
    tasks = control.world.arrays.tasks
    rows = control.live_tasks.in_status(T.TOABORT, T.PASSED, T.TOBROKEN, T.SCOUTED)
    if not len(rows):
        return
    status = tasks["status"][rows]
    for row in rows[status == T.TOABORT].tolist():
        end(control, row, T.ABORTED, ended)
    for row in rows[status == T.PASSED].tolist():
        end(control, row, final_status(tasks, row), ended)
    for row in rows[status == T.TOBROKEN].tolist():
        end(control, row, T.BROKEN, ended)
    for row in rows[status == T.SCOUTED].tolist():
        control.scouts.let_go(row)
        set_status(control.world, row, T.RUNNING, control.now)


def settled(control, row: int, ended: list[int]) -> bool:
    """End a task of which nothing was left when last seen; whether it need not be looked at again for that.

    A task that is paused, scouting or without a nucleus is ended when it is not any more.
    """
    tasks = control.world.arrays.tasks
    task = tasks[row]
    status, old_status = T(task["status"]), T(task["old_status"])
    if task["n_finished"] + task["n_failed"] != task["n_jobs"] or status in COMMANDED:
        return True
    if status is T.PENDING and old_status in PREPARABLE:
        status = old_status
        set_status(control.world, row, status, control.now)
    if status not in PREPARABLE:
        return False
    if control.open_inputs.is_open(row):
        set_status(control.world, row, T.DEFINED, control.now)       # the ContentsFeeder sends it on when more has come
        return True
    set_status(control.world, row, T.PREPARED, control.now)
    final = final_status(tasks, row)
    if final is T.FINISHED and task["n_failed"] and uses_exhausted(control.world, row):
        task["old_status"] = T.RUNNING                         # a retry goes on there
        set_status(control.world, row, T.EXHAUSTED, control.now)
    else:
        end(control, row, final, ended)
    return True


def uses_exhausted(world, row: int) -> bool:
    """Whether a task waits for a person where some of its input was given up; source: JEDI TWiki, task status."""
    name = world.vocabularies["task_names"][world.arrays.tasks["name"][row]]
    return any(campaign.name == name and campaign.useExhausted for campaign in world.scenario.workload.campaigns)


def end(control, row: int, status: TaskStatus, ended: list[int]) -> None:
    """Give a task its final status, and put it behind those that have just got theirs."""
    set_status(control.world, row, status, control.now)
    ended.append(row)


def final_status(tasks, row: int) -> TaskStatus:
    """done if every input was processed, failed if none was, finished otherwise.

    A task with a parent is done only if that is, too, and failed if that came to nothing.
    """
    task = tasks[row]
    if task["n_finished"] == task["n_jobs"]:
        parent = T(tasks["status"][task["parent"] - 1]) if task["parent"] > 0 else T.DONE
        return T.DONE if parent is T.DONE else T.FAILED if parent in NO_PARENT_LEFT else T.FINISHED
    return T.FINISHED if task["n_finished"] else T.FAILED
