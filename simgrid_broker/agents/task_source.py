"""ProdSys and the clients: tasks arrive when their time has come."""

import numpy as np

from simgrid_broker.world.task_transitions import register


def task_source(control):
    """The process that registers tasks."""
    yield _arrivals(control)


def _arrivals(control):
    times = control.world.arrays.tasks["arrival_s"]
    moments, first = np.unique(times, return_index=True)
    last = np.append(first, len(times))[1:]
    for moment, begin, end in zip(moments.tolist(), first.tolist(), last.tolist(), strict=True):
        if moment > control.now:
            yield control.env.timeout(moment - control.now)
        for row in range(begin, end):
            register(control.world, row, control.now)
        control.live_tasks.add(range(begin, end))
