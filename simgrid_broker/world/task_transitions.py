"""The only writer of a task's status.

What lives here: the table of allowed moves of a task, and `set_status`. What does not: deciding that one should move.
"""

import numpy as np

from simgrid_broker.errors import ForbiddenMove
from simgrid_broker.names import TaskStatus

T = TaskStatus

TASK_MOVES = frozenset({
    (T.REGISTERED, T.DEFINED), (T.REGISTERED, T.BROKEN), (T.DEFINED, T.ASSIGNING), (T.DEFINED, T.READY),
    (T.ASSIGNING, T.READY), (T.ASSIGNING, T.PENDING), (T.PENDING, T.ASSIGNING),
    (T.READY, T.RUNNING), (T.READY, T.PENDING), (T.RUNNING, T.PENDING), (T.PENDING, T.READY),
    (T.PENDING, T.RUNNING), (T.READY, T.PREPARED), (T.RUNNING, T.PREPARED), (T.PENDING, T.PREPARED),
    (T.PREPARED, T.DONE), (T.PREPARED, T.FINISHED), (T.PREPARED, T.FAILED),
})
"""Allowed moves of a task; source: lifecycle reference, section 2.8."""

BROKEN = T.BROKEN


def register(world, row: int, now: float) -> None:
    """Let a task arrive."""
    world.arrays.tasks["status"][row] = T.REGISTERED
    world.arrays.task_times[row, T.REGISTERED] = now


def set_status(world, row: int, status: TaskStatus, now: float) -> None:
    """Bring a task to `status`; raises ForbiddenMove if that is not allowed."""
    tasks = world.arrays.tasks
    old = T(tasks["status"][row])
    if (old, status) not in TASK_MOVES:
        raise ForbiddenMove(f"task {tasks['jeditaskid'][row]} may not go from {old.word} to {status.word} "
                            f"(at {now:.3f} s)\n" + story(world, row))
    tasks["status"][row] = status
    tasks["modification_s"][row] = now
    world.arrays.task_times[row, status] = now


def story(world, row: int) -> str:
    """What a task went through: when it last entered each status, in the order of time."""
    moments = sorted((time, status) for status, time in enumerate(world.arrays.task_times[row]) if not np.isnan(time))
    return "\n".join(f"  {time:14.3f} s  {T(status).word}" for time, status in moments)
