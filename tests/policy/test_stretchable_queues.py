"""What becomes of the shares of work queues without tasks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.policy.shares.dispatch import stretched, values_in_use
from simgrid_broker.views import ShareTree

pytestmark = pytest.mark.rule("stretched", "values_in_use")

TREE = ShareTree(("root", "P", "P1", "P2", "N"), np.array([-1, 0, 1, 1, 0]), np.array([100.0, 60, 45, 15, 40]),
                 np.array([2, 3, 4]))
"""A partition of 60 % with sub queues 3 : 1, and a queue of 40 %."""


def values(shares, active, stretchable):
    return stretched(np.array(shares, float), np.array(active, bool), np.array(stretchable, bool)).tolist()


@pytest.mark.parametrize(("shares", "active", "stretchable", "found"), [
    pytest.param([50, 30, 20], [1, 1, 1], [0, 1, 0], [50, 30, 20], id="L1: all have tasks: nothing is handed on"),
    pytest.param([50, 30, 20], [0, 1, 1], [0, 0, 0], [0, 60, 40], id="L1: without stretchable ones in proportion"),
    pytest.param([50, 30, 20], [0, 1, 1], [0, 0, 1], [0, 30, 70], id="L1: a stretchable one gets all"),
    pytest.param([40, 30, 20, 10], [0, 1, 1, 1], [0, 0, 1, 1], [0, 30, 20 + 40 * 2 / 3, 10 + 40 / 3],
                 id="L1: several in proportion to their shares"),
    pytest.param([50, 30, 20], [0, 1, 1], [1, 0, 0], [0, 60, 40], id="L1: one without tasks takes nothing"),
    pytest.param([50, 30, 20], [0, 0, 0], [0, 0, 1], [50, 30, 20], id="L1: nobody has tasks"),
    pytest.param([50, 0], [0, 1], [0, 0], [50, 0], id="L1: only a queue of no share has tasks"),
    pytest.param([0.5, 0.5], [0, 1], [0, 0], [0, 1], id="L1: small values are values"),
    pytest.param([0.5, 0.3, 0.2], [0, 1, 1], [0, 0, 1], [0, 0.3, 0.7], id="L1: also of stretchable queues"),
    pytest.param([50, 0, 50], [0, 1, 1], [0, 1, 0], [0, 0, 100], id="L1: a queue of no share stays so"),
])
def test_unused_shares(shares, active, stretchable, found):
    assert values(shares, active, stretchable) == pytest.approx(found)


@pytest.mark.parametrize(("active", "stretchable", "found"), [
    pytest.param([0, 1, 2], [], [60, 45, 15, 40], id="all active"),
    pytest.param([1, 2], [], [60, 0, 60, 40], id="a sub queue hands on within its partition"),
    pytest.param([0, 2], ["N"], [60, 60, 0, 40], id="whoever stretches outside"),
    pytest.param([2], [], [0, 0, 0, 100], id="a partition without tasks"),
    pytest.param([0], ["P2"], [100, 100, 0, 0], id="a queue without tasks"),
])
def test_partitions(active, stretchable, found):
    mask = np.array([name in stretchable for name in TREE.names])
    assert values_in_use(TREE, active, mask).value[1:].tolist() == pytest.approx(found)


BEHIND = ShareTree(("root", "N", "P", "P1", "P2"), np.array([-1, 0, 0, 2, 2]), np.array([1.0, 0.4, 0.6, 0.45, 0.15]),
                   np.array([1, 3, 4]))
"""The same shares, as fractions, with the partition behind the other queue."""


@pytest.mark.parametrize(("active", "found"), [
    pytest.param([0, 2], [0.4, 0.6, 0, 0.6], id="the last sub queue alone keeps its partition active"),
    pytest.param([1], [0, 1, 1, 0], id="a sub queue alone"),
    pytest.param([0, 1, 2], [0.4, 0.6, 0.45, 0.15], id="all active"),
])
def test_partitions_whose_sub_queues_stand_last(active, found):
    nothing = np.zeros(5, bool)
    assert values_in_use(BEHIND, active, nothing).value[1:].tolist() == pytest.approx(found)


def test_a_partition_of_no_share_gives_none():
    tree = ShareTree(TREE.names, TREE.parent, np.array([100.0, 0, 45, 15, 100]), TREE.leaves)
    assert values_in_use(tree, [0, 1, 2], np.zeros(5, bool)).value.tolist() == [100, 0, 45, 15, 100]


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans(), st.booleans()), min_size=1, max_size=8))
def test_nothing_is_lost(queues):
    shares, active, stretchable = zip(*queues, strict=True)
    found = values(shares, active, stretchable)
    assert sum(found) == pytest.approx(sum(shares))
    assert all(now >= before - 1e-9 for now, before, busy in zip(found, shares, active, strict=True) if busy)
