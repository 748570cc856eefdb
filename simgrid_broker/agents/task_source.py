"""ProdSys and the clients: tasks arrive at their times."""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.world.task_transitions import register


def task_source(control: Control) -> Process:
    """Register tasks."""
    times = control.arrays.tasks["arrival_s"]
    moments, first = np.unique(times, return_index=True)
    last = np.append(first, len(times))[1:]
    for moment, begin, end in zip(moments.tolist(), first.tolist(), last.tolist(), strict=True):
        if moment > control.now:
            yield control.env.timeout(moment - control.now)
        for row in range(begin, end):
            register(control.world, row, control.now)
        control.books.live_tasks.add(range(begin, end))
