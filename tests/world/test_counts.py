"""Sums over job counts, and refusals that are counted together or apart."""

import numpy as np
import pytest

from simgrid_broker.world import counts


@pytest.mark.parametrize("seed", range(8))
def test_open_and_closed_candidates_are_counted_apart_as_all_together(seed):
    draw = np.random.default_rng(seed)
    n, n_rules, n_times = 40, 6, 3
    groups = np.stack([np.sort(draw.integers(0, 9, n)), draw.integers(0, 7, n)])
    ranks = np.append(draw.permutation(n_rules), n_rules)
    closed = np.where(draw.random((2, n)) < 0.6, draw.integers(0, n_rules, (2, n)), -2)
    open_, n_open = np.argsort(closed >= 0, axis=1, kind="stable"), np.count_nonzero(closed < 0, axis=1)
    furthest, closed_furthest = np.full((2, 9), -1), np.empty((2, 2, 9), np.int64)
    whole, apart = np.zeros((2, 2, n_rules + 1, 9, 3), np.int64)
    times = np.zeros((2, 2), np.int64)
    for row in range(2):
        counts.furthest_closed(closed, row, groups, ranks, closed_furthest)
    for row in [0, 1] * n_times:
        rule_of = np.where(closed[row] >= 0, closed[row], draw.integers(-1, n_rules, n))
        counts.tally_refusals(whole, row, rule_of, groups, ranks, furthest)
        times[row, row] += 1
        counts.tally_open(apart, row, rule_of, row, open_, n_open, closed_furthest, groups, ranks, furthest)
    counts.tally_closed(apart, times, closed, closed_furthest, groups, furthest)
    assert apart.tolist() == whole.tolist() and not times.any()
