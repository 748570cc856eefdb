"""The only writer of a task's status."""

from collections import Counter

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
    world.n_moves += 1
    world.arrays.task_times[row, REGISTERED] = now


def set_status(world: World, row: int, status: TaskStatus, now: float) -> None:
    """Move a task to `status`; raises ForbiddenMove if the move is not allowed."""
    arrays, tasks, old = world.arrays, world.arrays.tasks, world.arrays.tasks["status"].item(row)
    if (old, status) not in TASK_MOVES:
        raise _forbidden(world, row, status, now)
    if old == THROTTLED:
        tasks["throttled_total_s"][row] += now - arrays.task_times[row, THROTTLED]
    tasks["status"][row], tasks["modification_s"][row], world.statuses[row] = status, now, status
    world.status_changes[old] += 1
    world.status_changes[status] += 1
    world.n_moves += 1
    arrays.task_times[row, status] = now


def set_statuses(world: World, rows: np.ndarray, status: TaskStatus, now: float) -> None:
    """Move the tasks in `rows`, each once, to `status`; raises ForbiddenMove, as `set_status`, before any has moved."""
    arrays, before = world.arrays, world.arrays.tasks["status"][rows]
    left = Counter(before.tolist())
    for old in left:
        if (old, status) not in TASK_MOVES:
            raise _forbidden(world, int(rows[before == old][0]), status, now)
    if THROTTLED in left:
        held = rows[before == THROTTLED]
        arrays.tasks["throttled_total_s"][held] += now - arrays.task_times[held, THROTTLED]
    arrays.tasks["status"][rows], arrays.tasks["modification_s"][rows], world.statuses[rows] = status, now, status
    for old, number in left.items():
        world.status_changes[old] += number
    world.status_changes[status] += len(rows)
    world.n_moves += len(rows)
    arrays.task_times[rows, status] = now


def _forbidden(world: World, row: int, status: TaskStatus, now: float) -> ForbiddenMove:
    """Error about a task that may not go to `status`."""
    task = world.arrays.tasks[row]
    return ForbiddenMove(f"task {task['jeditaskid']} may not go from {T(task['status'].item()).word} to {status.word} "
                         f"(at {now:.3f} s)\n" + story(world, row))


def throttle(world: World, row: int, cause: ThrottledBy, now: float) -> None:
    """Throttle a task, which is to return to the status that it has; on hold, to the one that it had before.

    One that is throttled gets the cause alone.
    """
    status = world.arrays.tasks["status"][row]
    if status not in (T.PENDING, T.THROTTLED):
        return_to(world, row)
    world.arrays.tasks["throttled_by"][row] = cause
    if status != T.THROTTLED:
        set_status(world, row, T.THROTTLED, now)


def story(world: World, row: int) -> str:
    """History of a task for an error message: last entry into each status, in order of time."""
    moments = sorted((time, status) for status, time in enumerate(world.arrays.task_times[row]) if not np.isnan(time))
    return "\n".join(f"  {time:14.3f} s  {T(status).word}" for time, status in moments)
