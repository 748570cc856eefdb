"""Rows of tasks: the kinds of those with recorded jobs."""

from types import SimpleNamespace

import numpy as np

from simgrid_broker.world.tasks.rows import kinds_of_tasks


def test_tasks_of_one_kind_agree_in_all_columns():
    tasks = np.array([(0, 1), (1, 0), (0, 1), (1, 1), (0, 1)], [("share", "i2"), ("corecount", "i2")])
    arrays = SimpleNamespace(tasks=tasks, trace=np.array([(1,), (2,), (3,), (4,)], [("jeditaskid", "i8")]))
    rows, kinds = kinds_of_tasks(arrays, ("share", "corecount"))
    assert (rows.tolist(), kinds.tolist()) == ([0, 1, 3], [0, 1, 0, 2, -1])
