"""The only writer of a task's status.

What lives here: `set_status`, and the story of a task that tried a forbidden move. What does not: the table of the
moves (`states`), and deciding that a task should move.
"""

import numpy as np

from simgrid_broker.errors import ForbiddenMove
from simgrid_broker.names import TaskStatus
from simgrid_broker.world.states import TASK

T = TaskStatus

TASK_MOVES = TASK.pairs
"""Allowed moves of a task, (old, new)."""

BROKEN = T.BROKEN


def register(world, row: int, now: float) -> None:
    """Let a task arrive."""
    world.arrays.tasks["status"][row] = T.REGISTERED
    world.arrays.task_times[row, T.REGISTERED] = now


def set_status(world, row: int, status: TaskStatus, now: float) -> None:
    """Bring a task to `status`; raises ForbiddenMove if that is not allowed."""
    tasks = world.arrays.tasks
    old = tasks["status"][row].item()
    if (old, status) not in TASK_MOVES:
        raise ForbiddenMove(f"task {tasks['jeditaskid'][row]} may not go from {T(old).word} to {status.word} "
                            f"(at {now:.3f} s)\n" + story(world, row))
    tasks["status"][row] = status
    tasks["modification_s"][row] = now
    world.arrays.task_times[row, status] = now


def story(world, row: int) -> str:
    """What a task went through: when it last entered each status, in the order of time."""
    moments = sorted((time, status) for status, time in enumerate(world.arrays.task_times[row]) if not np.isnan(time))
    return "\n".join(f"  {time:14.3f} s  {T(status).word}" for time, status in moments)
