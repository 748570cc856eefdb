"""The only writer of a task's status."""

import numpy as np

from simgrid_broker.errors import ForbiddenMove
from simgrid_broker.names import TaskStatus, ThrottledBy
from simgrid_broker.world.columns import return_to
from simgrid_broker.world.states import TASK
from simgrid_broker.world.world import World

T = TaskStatus

TASK_MOVES = TASK.pairs

BROKEN, THROTTLED, REGISTERED = T.BROKEN, T.THROTTLED, T.REGISTERED


def register(world: World, row: int, now: float) -> None:
    """Set the first status of a task that arrives."""
    world.arrays.tasks["status"][row] = world.statuses[row] = REGISTERED
    world.status_changes[REGISTERED] += 1
    world.arrays.task_times[row, REGISTERED] = now


def set_status(world: World, row: int, status: TaskStatus, now: float) -> None:
    """Move a task to `status`; raises ForbiddenMove if the move is not allowed."""
    arrays = world.arrays
    task = arrays.tasks[row]                                     # columns of one row are read faster than rows of one
    old = task["status"].item()
    if (old, status) not in TASK_MOVES:
        raise ForbiddenMove(f"task {task['jeditaskid']} may not go from {T(old).word} to {status.word} "
                            f"(at {now:.3f} s)\n" + story(world, row))
    if old == THROTTLED:
        task["throttled_total_s"] += now - arrays.task_times[row, THROTTLED]
    task["status"], task["modification_s"], world.statuses[row] = status, now, status
    world.status_changes[old] += 1
    world.status_changes[status] += 1
    arrays.task_times[row, status] = now


def throttle(world: World, row: int, cause: ThrottledBy, now: float) -> None:
    """Throttle a task, which is to return to the status that it has."""
    return_to(world, row)
    world.arrays.tasks["throttled_by"][row] = cause
    set_status(world, row, T.THROTTLED, now)


def story(world: World, row: int) -> str:
    """History of a task for an error message: last entry into each status, in order of time."""
    moments = sorted((time, status) for status, time in enumerate(world.arrays.task_times[row]) if not np.isnan(time))
    return "\n".join(f"  {time:14.3f} s  {T(status).word}" for time, status in moments)
