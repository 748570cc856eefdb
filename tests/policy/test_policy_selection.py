from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_builders import cfg, queues, stats, task

from simgrid_broker.policy.brokerage.production.broker import SCOUTS_PER_BLOCK, broker_jobs, spread_jobs
from simgrid_broker.views import KEPT, Verdict

pytestmark = pytest.mark.rule("spread_jobs")


def verdict(weights, order=None, queued=None, cap=None):
    """All candidates kept, with these weights."""
    weight = np.asarray(weights, float)
    order = np.arange(len(weight)) if order is None else np.asarray(order)
    arrays = (None if column is None else np.asarray(column) for column in (queued, cap))
    return Verdict((), np.full(len(weight), KEPT), weight, order, *arrays)


def spread(verdict_, n_jobs, uniforms, **options):
    """Candidate and size of each block; uniforms: for each block one number for all its candidates, or one for each."""
    numbers = np.empty((len(uniforms), len(verdict_.order)))
    for k, row in enumerate(uniforms):
        numbers[k] = row
    chosen, sizes = spread_jobs(verdict_, n_jobs, numbers, **options)
    return list(zip(chosen.tolist(), sizes.tolist(), strict=True))


def test_blocks_of_25_and_a_rest():
    assert spread(verdict([1.0]), 60, [0.5] * 3) == [(0, 25), (0, 25), (0, 10)]


def test_scouts_go_in_pairs():
    assert spread(verdict([1.0]), 3, [0.5] * 2, block=SCOUTS_PER_BLOCK) == [(0, 2), (0, 1)]


@pytest.mark.parametrize(("numbers", "chosen"), [
    pytest.param((0.5, 0.12), 0, id="1 to 3: the number of the second is below the cube of the first"),
    pytest.param((0.5, 0.13), 1, id="above it"),
    pytest.param((0.999, 0.996), 0, id="just below"), pytest.param((0.5, 0.999), 1, id="far above"),
])
def test_a_candidate_of_three_times_the_weight_wins_with_the_cube_root_of_its_number(numbers, chosen):
    assert spread(verdict([1.0, 3.0]), 1, [numbers]) == [(chosen, 1)]


def test_of_equal_numbers_and_weights_the_first_wins():
    assert spread(verdict([1.0, 1.0]), 1, [(0.5, 0.5)]) == [(0, 1)]
    assert spread(verdict([0.0, 0.0]), 1, [(0.5, 0.5)]) == [(0, 1)]


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=6), st.data())
def test_the_order_of_the_candidates_does_not_count(weights, data):
    numbers = np.array(data.draw(st.lists(st.floats(0.01, 0.99), min_size=len(weights), max_size=len(weights),
                                          unique=True)))
    order = np.array(data.draw(st.permutations(range(len(weights)))))
    (one, _), = spread(verdict(weights), 1, [numbers])
    (other, _), = spread(verdict(weights, order=order), 1, [numbers[order]])
    assert one == other


def test_a_change_of_a_weight_changes_draws_of_that_candidate_only():
    """A candidate that gains weight wins draws, and the others keep all that it does not win."""
    numbers = np.random.default_rng(1).random((2000, 4))
    before, after = (np.array([spread(verdict(weights), 1, [row])[0][0] for row in numbers])
                     for weights in ([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 4.0]))
    changed = before != after
    assert (after[changed] == 2).all() and 0.03 < changed.mean() < 0.10         # 4 / 11 - 3 / 10 = 0.064


def test_a_draw_lowers_the_weight():
    """After 25 jobs on top of none, the weight is a 26th, and the same numbers choose the other queue."""
    numbers = [(0.5, 0.4)] * 2
    assert spread(verdict([1.0, 1.0], queued=[0, 0]), 50, numbers) == [(0, 25), (1, 25)]
    assert spread(verdict([1.0, 1.0]), 50, numbers) == [(0, 25), (0, 25)]
    for power, second in ((25, 1), (27, 0)):
        again = [(0.5, 0.4), (0.9, 0.9 ** power)]
        assert spread(verdict([1.0, 1.0], queued=[0, 0]), 50, again) == [(0, 25), (second, 25)]


@pytest.mark.parametrize(("queued", "cap", "chosen"), [
    pytest.param([19, 0], [20, 20], [0, 1], id="below the cap a queue takes a whole block"),
    pytest.param([20, 0], [20, 20], [1], id="at the cap it takes nothing"),
    pytest.param([20, 20], [20, 20], [], id="when all are full generation ends"),
    pytest.param([20, 0], [np.inf, 20], [0, 0, 0, 0], id="no cap"),
])
def test_caps(queued, cap, chosen):
    result = spread(verdict([100.0, 1.0]), 100, [0.1] * 4, queued=np.array(queued), cap=np.array(cap))
    assert [candidate for candidate, _ in result] == chosen


def test_the_verdict_brings_its_own_caps():
    assert spread(verdict([1.0], queued=[3], cap=[3]), 25, [0.5]) == []
    assert spread(verdict([1.0], queued=[3], cap=[3]), 25, [0.5], queued=np.array([2])) == [(0, 25)]


def test_bootstrap_queues_are_used_first_and_once():
    picked = spread(verdict([0.0, 2.0, 0.0]), 125, [(0.1, 0.5, 0.9), *[0.5] * 4])
    assert picked == [(2, 25), (0, 25), (1, 25), (1, 25), (1, 25)]


def test_only_bootstrap_queues():
    assert spread(verdict([0.0, 0.0]), 100, [0.1] * 4) == [(0, 25), (1, 25)]


def test_nobody_to_draw():
    assert spread(verdict([]), 25, [0.5]) == []
    assert spread(verdict([1.0]), 0, []) == []


def test_too_few_numbers_are_refused():
    for shape in ((2, 1), (3, 2)):
        with pytest.raises(ValueError, match=f"3 blocks of jobs at 1 queues .* numbers, not {shape[0]} x {shape[1]}"):
            spread_jobs(verdict([1.0]), 51, np.full(shape, 0.5))


def test_an_idle_grid_is_filled_one_block_a_queue():
    """Documented: a queue without running jobs takes jobs as long as it has none."""
    decision = broker_jobs(task(), queues(4), stats(4, running=[0] * 4), None, cfg())
    numbers = np.random.default_rng(1).random((20, 4))
    assert sorted(c for c, _ in spread(decision, 500, numbers)) == [0, 1, 2, 3]


@given(st.lists(st.floats(0, 10), min_size=1, max_size=10), st.integers(0, 300),
       st.lists(st.floats(0.001, 0.999), min_size=12, max_size=12), st.integers(0, 100))
def test_whatever_is_drawn_is_in_order_and_within_bounds(weights, n_jobs, uniforms, cap):
    queued = np.zeros(len(weights))
    result = spread(verdict(weights), n_jobs, uniforms, queued=queued, cap=np.full(len(weights), float(cap)))
    assert sum(size for _, size in result) <= n_jobs
    assert all(0 < size <= 25 for _, size in result)
    taken = Counter()
    for candidate, size in result:
        if weights[candidate] > 0:
            assert taken[candidate] < cap
            taken[candidate] += size
        else:
            assert candidate not in taken
            taken[candidate] = size


def test_drawn_shares_follow_the_weights():
    """With 4 000 keyed draws the share of each queue lies within four standard errors (chance failure ~ 1 in 5 000)."""
    weights = np.array([1.0, 2.0, 5.0])
    n = 4000
    counts = Counter(spread(verdict(weights), 1, [row])[0][0] for row in np.random.default_rng(1).random((n, 3)))
    p = weights / weights.sum()
    for k in range(3):
        assert abs(counts[k] / n - p[k]) < 4 * np.sqrt(p[k] * (1 - p[k]) / n)
