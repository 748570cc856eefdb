"""ProdSys and the clients: tasks arrive at their times; each block of them is drawn when the one before has arrived."""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.world.tasks.transitions import register


def task_source(control: Control) -> Process:
    """Register tasks."""
    yield from _arrive(control, np.arange(len(control.arrays.tasks)))
    for rows in control.books.blocks():
        yield from _arrive(control, rows)


def _arrive(control: Control, rows: np.ndarray) -> Process:
    """Register the tasks of a block; rows: in order of arrival."""
    moments, first = np.unique(control.arrays.tasks["arrival_s"][rows], return_index=True)
    last = np.append(first, len(rows))[1:]
    for moment, begin, end in zip(moments.tolist(), first.tolist(), last.tolist(), strict=True):
        if moment > control.now:
            yield control.env.timeout(moment - control.now)
        for row in rows[begin:end].tolist():
            register(control.world, row, control.now)
        control.books.live_tasks.add(rows[begin:end])
