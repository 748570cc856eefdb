"""The heap of events: earliest first, of equal times the one that was scheduled first."""

import heapq

from builders import Bench
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.fabric.events import PILOT_LEAVES, remove_first, schedule
from simgrid_broker.world.arrays import EVENT

TIMES = st.sampled_from([0.0, 1.0, 1.5, 2.0, 1e6])
STEPS = st.lists(st.one_of(TIMES, st.none()), max_size=200)
"""A time to schedule at, or None: take the earliest."""


@given(STEPS)
def test_the_order_is_that_of_time_and_then_of_scheduling(steps):
    arrays = Bench().arrays
    known = []
    for row, time in enumerate(steps):
        if time is not None:
            sequence = schedule(arrays, time, PILOT_LEAVES, row)
            heapq.heappush(known, (time, sequence, PILOT_LEAVES, row))
        elif known:
            assert arrays.events[0].tolist() == heapq.heappop(known)
            remove_first(arrays)
    rest = []
    while arrays.state[0]["n_events"]:
        rest.append(arrays.events[0].tolist())
        remove_first(arrays)
    assert rest == sorted(known)


def test_sequence_numbers_rise_from_1():
    arrays = Bench().arrays
    assert [schedule(arrays, 5.0, PILOT_LEAVES, 0) for _ in range(3)] == [1, 2, 3]


def test_an_event_is_small():
    assert EVENT.itemsize == 24
