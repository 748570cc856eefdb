"""Jobs in DIRAC's task queues: by age, one of the oldest is taken, and an empty task queue leaves the draw."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.fabric.task_queues import one_of_the_oldest, put_waiting, stop_waiting
from simgrid_broker.world.arrays import AGE
from simgrid_broker.world.task_queues import Draw, draw_tables

pytestmark = pytest.mark.rule("task_queues.put_waiting", "task_queues.stop_waiting", "task_queues.one_of_the_oldest")


def tables(panda_ids):
    """A draw with one task queue, and jobs that do not wait yet."""
    draw, nodes = Draw(**draw_tables(1, 1, 1)), np.zeros(len(panda_ids), AGE)
    draw.task_queues["priority"], draw.accepts[:] = 1.0, True
    nodes["panda_id"] = panda_ids
    return draw, nodes


def listed(draw, nodes):
    """PandaIDs of the waiting jobs in the order of the list, read in both directions."""
    forth, back = [], []
    for found, row, following in ((forth, draw.task_queues["head"][0], "sibling"),
                                  (back, draw.task_queues["tail"][0], "previous")):
        while row >= 0:
            found.append(int(nodes["panda_id"][row]))
            row = nodes[following][row]
    assert forth == back[::-1]
    return forth


@given(st.permutations(range(1, 8)), st.sets(st.integers(0, 6)))
def test_the_list_is_by_age_whatever_the_order_of_arrival_and_departure(panda_ids, gone):
    draw, nodes = tables(panda_ids)
    for row in range(7):
        put_waiting(draw, nodes, 0, row)
    for row in gone:
        stop_waiting(draw, nodes, 0, row)
    left = sorted(panda_id for row, panda_id in enumerate(panda_ids) if row not in gone)
    assert listed(draw, nodes) == left and draw.task_queues["n_jobs"][0] == len(left) == 7 - len(gone)
    assert draw.n_open[0] == (1 if left else 0)


@pytest.mark.parametrize(("window", "luck", "panda_id"), [
    (50, 0.0, 1), (50, 0.999, 60 - 10), (60, 0.999, 60), (10, 0.5, 6), (99, 0.5, 31)])
def test_one_of_the_oldest_is_taken(window, luck, panda_id):
    draw, nodes = tables(range(60, 0, -1))
    for row in range(60):
        put_waiting(draw, nodes, 0, row)
    assert nodes["panda_id"][one_of_the_oldest(draw, nodes, 0, window, luck)] == panda_id
