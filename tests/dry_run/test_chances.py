"""Probabilities of the draws: they sum to 1, and the draws follow them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.dry_run.decision import chances_of_nuclei, chances_of_queues
from simgrid_broker.policy.brokerage.production.broker import spread_jobs
from simgrid_broker.policy.brokerage.task.broker import draw
from simgrid_broker.views import KEPT, Verdict


def verdict(weights, order=None, queued=None, cap=None, refused=()):
    """A verdict over candidates with these weights, all kept but those named."""
    refused_by = np.full(len(weights), KEPT)
    refused_by[list(refused)] = 0
    kept = np.flatnonzero(refused_by == KEPT)
    return Verdict(("-x",), refused_by, np.where(refused_by == KEPT, weights, 0.0),
                   kept if order is None else np.array(order, int), queued, cap)


@pytest.mark.parametrize(("weights", "refused", "expected"), [
    pytest.param([1.0, 3.0], (), [0.25, 0.75], id="by weight"),
    pytest.param([1.0, 3.0, 1.0], (1,), [0.5, 0, 0.5], id="refused ones are out"),
    pytest.param([0.0, 0.0], (), [1, 0], id="no weight at all: the first"),
    pytest.param([0.0, 0.0], (0,), [0, 1], id="the first that is left"),
    pytest.param([1.0], (0,), [0], id="nobody"),
])
def test_chances_of_nuclei(weights, refused, expected):
    assert chances_of_nuclei(verdict(weights, refused=refused)).tolist() == expected


@pytest.mark.parametrize(("weights", "queued", "cap", "expected"), [
    pytest.param([1.0, 3.0], [0, 0], [9, 9], [0.25, 0.75], id="by weight"),
    pytest.param([1.0, 3.0], [0, 9], [9, 9], [1, 0], id="at the cap is full"),
    pytest.param([1.0, 3.0], [9, 9], [9, 9], [0, 0], id="all are full"),
    pytest.param([0.0, 3.0, 0.0], [0, 0, 0], [9, 9, 9], [0.5, 0, 0.5], id="bootstrap queues first"),
    pytest.param([0.0, 3.0], [9, 0], [9, 9], [1, 0], id="a bootstrap queue has no cap"),
])
def test_chances_of_queues(weights, queued, cap, expected):
    found = chances_of_queues(verdict(weights, queued=np.array(queued), cap=np.array(cap)))
    assert found.tolist() == expected


WEIGHTS = st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1e3)), min_size=1, max_size=6)


@pytest.mark.rule("draw")
@given(WEIGHTS, st.floats(1e-6, 1 - 1e-6), st.data())
def test_only_what_is_possible_is_drawn(weights, uniform, data):
    each = np.array(data.draw(st.lists(st.floats(1e-6, 1 - 1e-6), min_size=len(weights), max_size=len(weights))))
    queued = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(weights), max_size=len(weights))))
    judged = verdict(weights, queued=queued, cap=np.full(len(weights), 2.0))
    chance = chances_of_queues(judged)
    numbers, _ = spread_jobs(judged, 1, each[None])
    assert chance.sum() == pytest.approx(1 if len(numbers) else 0)
    assert all(chance[k] > 0 for k in numbers)
    nuclei = chances_of_nuclei(judged)
    assert nuclei.sum() == pytest.approx(1) and nuclei[draw(judged, uniform)] > 0


@given(WEIGHTS)
def test_draws_come_as_often_as_told(weights):
    judged = verdict(weights, queued=np.zeros(len(weights)), cap=np.ones(len(weights)))
    numbers = np.random.default_rng(1).random((2000, 1, len(weights)))
    often = np.bincount([int(spread_jobs(judged, 1, row)[0][0]) for row in numbers], minlength=len(weights))
    assert often / 2000 == pytest.approx(chances_of_queues(judged), abs=4.5 * 0.5 / 2000 ** 0.5)     # 4.5 sigma at most
