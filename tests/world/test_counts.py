"""Sums over job counts, and refusals that are counted together or apart."""

import numpy as np
import pytest

from simgrid_broker.bundle import Bundle
from simgrid_broker.world.jobs import counts


class Tables(Bundle):
    """Refusals by rule, and the places of the rules in the order of removal."""

    counts: np.ndarray
    ranks: np.ndarray


class Log(Bundle):
    """Queue and pool of each candidate, and room to find those that came furthest."""

    groups: np.ndarray
    furthest: np.ndarray


@pytest.mark.parametrize("seed", range(8))
def test_open_and_closed_candidates_are_counted_apart_as_all_together(seed):
    draw = np.random.default_rng(seed)
    n, n_rules, n_times = 40, 6, 3
    groups = np.stack([np.sort(draw.integers(0, 9, n)), draw.integers(0, 7, n)])
    ranks = np.append(draw.permutation(n_rules), n_rules)
    places = np.argsort(ranks)
    first = draw.integers(0, n_rules + 1, (2, n))                       # rank at which each is refused for good
    open_ = np.argsort(-first, axis=1, kind="stable")
    furthest = np.empty((2, 9), np.int64)
    whole, apart = np.zeros((2, 2, n_rules + 1, 9, 3), np.int64)
    times = np.zeros((2, 2, n_rules + 1), np.int32)
    for row, cut in [(0, 1), (1, n_rules - 1), (1, 3), (0, 0)] * n_times:
        is_open = first[row] >= cut
        rule_of = places[np.where(is_open, draw.integers(cut, n_rules + 1, n), first[row])]
        rule_of[rule_of == n_rules] = -1                                # none refuses it
        counts.tally_refusals(whole, row, rule_of, groups, ranks, furthest)
        times[row, row, cut] += 1
        tables, log = Tables(counts=apart, ranks=ranks), Log(groups=groups, furthest=furthest)
        counts.tally_open(tables, log, row, rule_of, row, open_, int(is_open.sum()))
    counts.tally_closed(apart, times, first, places, groups, furthest)
    assert apart.tolist() == whole.tolist() and not times.any()
