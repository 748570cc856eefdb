"""Max-min fair rates: textbook topologies by hand, and what holds for every topology."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.fabric.transfers.links import fill, filling

PLENTY = 1e9
"""A demand that no gate meets."""


def rates(capacity, crossed, demand=None):
    """Rates of links that cross the gates listed for each."""
    width = max([len(gates) for gates in crossed] + [1])
    gates = np.array([[*one, *[-1] * (width - len(one))] for one in crossed], np.int32).reshape(len(crossed), width)
    wanted = np.full(len(crossed), PLENTY) if demand is None else np.array(demand, float)
    tables = filling(gates, wanted, np.array(capacity, float))
    fill(tables)
    return tables.rates


@pytest.mark.parametrize(("capacity", "crossed", "demand", "expected"), [
    pytest.param([10], [[0]], None, [10], id="a link alone has its door"),
    pytest.param([10], [[0], [0]], None, [5, 5], id="two share a door"),
    pytest.param([10], [[0], [0], [0]], [1, PLENTY, PLENTY], [1, 4.5, 4.5], id="what one does not want, others share"),
    pytest.param([10], [[0], [0]], [3, 4], [3, 4], id="a door that is not full"),
    pytest.param([10], [[0], [0]], [5, 5], [5, 5], id="demands that just fill it"),
    pytest.param([10, 4], [[0], [0, 1]], None, [6, 4], id="the other door of one link is narrower"),
    pytest.param([10, 10], [[0, 1], [0], [1]], None, [5, 5, 5], id="parking lot of two: the long link and two short"),
    pytest.param([1, 2], [[0, 1], [0], [1]], None, [0.5, 0.5, 1.5], id="parking lot of two capacities"),
    pytest.param([3, 3, 3], [[0, 1, 2], [0], [1], [2]], None, [1.5] * 4, id="parking lot of three"),
    pytest.param([9, 3, 30], [[0, 1], [0, 2], [0, 2]], None, [3, 3, 3], id="all doors full at one level"),
    pytest.param([10, 1], [[0, 1], [0, 1], [0]], None, [0.5, 0.5, 9], id="a narrow backbone frees the door"),
    pytest.param([1, 1, 1], [[0], [0, 1], [1], [1], [2]], None, [2 / 3, 1 / 3, 1 / 3, 1 / 3, 1],
                 id="five sessions over three lines: thirds where three meet, the rest of the line before it, all"),
    pytest.param([6, 6, 6, 6, 4], [[0, 4, 2], [1, 4, 3], [0, 2]], None, [2, 2, 4],
                 id="dumbbell: two through the bar, one beside it"),
    pytest.param([2, 4, 8, 7], [[0, 3], [1, 3], [2, 3]], None, [2, 2.5, 2.5],
                 id="star: the hub's door is shared by those that their own doors leave more"),
    pytest.param([0, 10], [[0, 1], [1]], None, [0, 10], id="a closed door"),
    pytest.param([10], [[0], []], [PLENTY, 7], [10, 7], id="a link without a door has what it wants"),
    pytest.param([10], [[0], [0]], [0, PLENTY], [0, 10], id="a link that wants nothing"),
    pytest.param([], [[]], [7], [7], id="no doors at all"),
    pytest.param([10], [], None, [], id="no links"),
    pytest.param([12, 8], [[0, 1], [0, 1], [0], [0]], [1, PLENTY, 2, PLENTY], [1, 4.5, 2, 4.5],
                 id="demand and doors bind in turn"),
])
def test_by_hand(capacity, crossed, demand, expected):
    assert rates(capacity, crossed, demand).tolist() == pytest.approx(expected)


@st.composite
def topologies(draw):
    n_gates = draw(st.integers(1, 5))
    capacity = draw(st.lists(st.integers(0, 20), min_size=n_gates, max_size=n_gates))
    crossed = draw(st.lists(st.sets(st.integers(0, n_gates - 1), max_size=3), min_size=1, max_size=8))
    demand = draw(st.lists(st.integers(0, 15), min_size=len(crossed), max_size=len(crossed)))
    return capacity, [sorted(gates) for gates in crossed], demand


@given(topologies())
def test_nothing_can_have_more_without_taking_from_one_that_has_no_more(topology):
    capacity, crossed, demand = topology
    found = rates(*topology)
    used = [sum(rate for rate, gates in zip(found, crossed, strict=True) if gate in gates)
            for gate in range(len(capacity))]
    assert all(u <= c + 1e-9 for u, c in zip(used, capacity, strict=True))
    for rate, gates, wanted in zip(found, crossed, demand, strict=True):
        assert 0 <= rate <= wanted
        stopped = [gate for gate in gates if used[gate] >= capacity[gate] - 1e-9 and rate >= max(
            other for other, theirs in zip(found, crossed, strict=True) if gate in theirs) - 1e-9]
        assert rate == wanted or stopped
