"""Intervals contain the truth as often as they say; differences of many figures are corrected for their number."""

import math

import numpy as np
import pytest

from simgrid_broker.experiments.figures import most_of
from simgrid_broker.experiments.intervals import (
    batch_means,
    bootstrap,
    bounded,
    chance,
    holm,
    mser5,
    paired,
    seeds_needed,
    student,
    unpaired,
)

SERVERS, ARRIVAL, SERVICE = 2, 1.0, 1.0
STUDIES, RUNS = 400, 10


def erlang_wait(servers=SERVERS, load=ARRIVAL / SERVICE):
    """Mean wait in an M/M/c queue with service time 1 (Erlang's C formula)."""
    terms = [load ** k / math.factorial(k) for k in range(servers)]
    last = load ** servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last) / (servers - load)


def waits(n_queues, n_customers, seed):
    """Waits of successive customers of independent M/M/c queues that start empty, (n_customers, n_queues)."""
    luck = np.random.default_rng(seed)
    free = np.zeros((n_queues, SERVERS))                      # time until each server is free, by Kiefer and Wolfowitz
    found = np.empty((n_customers, n_queues))
    for number in range(n_customers):
        free = np.maximum(free - luck.exponential(1 / ARRIVAL, (n_queues, 1)), 0)
        free.sort(axis=1)
        found[number] = free[:, 0]
        free[:, 0] += luck.exponential(1 / SERVICE, n_queues)
    return found


@pytest.fixture(scope="module")
def queues():
    """Waits of the customers of STUDIES times RUNS queues, after their warm-up."""
    return waits(STUDIES * RUNS, 1300, seed=5)[100:]


@pytest.mark.parametrize("method", [student, bootstrap])
def test_95_percent_intervals_of_replications_contain_the_mean_wait_as_often_as_they_say(queues, method):
    means = queues.mean(axis=0).reshape(STUDIES, RUNS)
    found = [method(values) for values in means]
    covered = np.mean([interval.low <= erlang_wait() <= interval.high for interval in found])
    assert 0.92 <= covered <= 0.98                            # 0.95 within 2.8 standard errors of 400 trials


def test_95_percent_intervals_of_batch_means_contain_the_mean_wait_as_often_as_they_say(queues):
    series = queues.T.reshape(-1, 4 * queues.shape[0])[:STUDIES]        # four queues after each other: a long run
    found = [batch_means(one)[0] for one in series]
    covered = np.mean([interval.low <= erlang_wait() <= interval.high for interval in found])
    assert 0.91 <= covered <= 0.98


def test_the_warm_up_of_a_queue_that_starts_full_is_cut():
    luck = np.random.default_rng(2)
    series = luck.normal(10, 1, 400)
    series[:60] += np.linspace(30, 0, 60)
    cut = mser5(series)
    assert cut.found and 40 <= cut.samples <= 70


@pytest.mark.parametrize("series", [
    pytest.param(np.arange(200.0), id="drifts to the end"), pytest.param(np.ones(19), id="three batches")])
def test_no_warm_up_is_recommended_for_a_series_that_does_not_settle(series):
    assert not mser5(series).found


def test_correlated_batches_are_said_to_be_so():
    assert not batch_means(np.arange(100.0))[1]
    assert batch_means(np.random.default_rng(1).normal(size=1000))[1]


@pytest.mark.parametrize(("values", "half"), [
    pytest.param([1.0, 3.0], 12.7062, id="two, the fewest with bounds"),
    pytest.param([1.0, 2.0, 3.0], 4.3027 / math.sqrt(3), id="three")])
def test_students_interval_of_few_values(values, half):
    interval = student(values)
    assert (interval.value, interval.count) == (2.0, len(values))
    assert [interval.value - interval.low, interval.high - interval.value] == pytest.approx([half, half], rel=1e-4)


def test_values_that_differ_by_rounding_have_no_error_and_waits_are_bounded():
    assert student([0.1 + 0.2, 0.3, 0.3]).error == 0 and student([0.0, 0.0]).error == 0
    wait = bounded(student([0.1, 3.0]))
    assert (wait.low, wait.value) == (0.0, 1.55) and wait.high > 10
    assert bounded(student([-1.0, -3.0])).low < -2 and math.isnan(bounded(student([2.0])).low)


@pytest.mark.parametrize(("figure", "values", "most"), [
    ("shares.Analysis.delivered", [90.0, 99.0], 100.0), ("core_occupancy", [90.0, 99.0], 100.0),
    ("shares.Analysis.delivered", [101.0, 109.0], math.inf), ("doors.CERN.use", [90.0, 99.0], math.inf),
    ("wait_p50", [90.0, 99.0], math.inf)])
def test_an_interval_of_a_part_of_a_whole_ends_at_100_percent(figure, values, most):
    whole = student(values)
    assert bounded(whole, most_of(figure)).high == min(whole.high, most) and whole.high > 100


@pytest.mark.parametrize(("values", "mean", "count"), [
    pytest.param([], math.nan, 0, id="none"), pytest.param([2.0], 2.0, 1, id="one"),
    pytest.param([2.0, np.nan, np.inf], 2.0, 1, id="one that is known")])
def test_too_few_values_have_no_bounds_and_unknown_ones_do_not_count(values, mean, count):
    for interval in (student(values), bootstrap(values)):
        assert interval.count == count and interval.value == pytest.approx(mean, nan_ok=True)
        assert all(map(math.isnan, (interval.low, interval.high, interval.error)))


def test_a_bootstrap_interval_follows_the_skewness_and_needs_eight_values():
    skewed = np.exp(np.random.default_rng(1).normal(0, 1, 30))
    found = bootstrap(skewed)
    assert found.high - found.value > 1.2 * (found.value - found.low) and found.low > 0
    assert math.isnan(bootstrap(skewed[:7]).low) and bootstrap(skewed[:8]).low < bootstrap(skewed[:8]).value
    assert bootstrap([2.0] * 8).low == 2.0


def test_pairs_with_common_luck_are_narrower_than_two_means():
    luck = np.random.default_rng(3).normal(0, 10, 12)
    base, changed = luck, luck + 1 + np.random.default_rng(4).normal(0, 0.5, 12)
    narrow, wide = paired(base, changed), unpaired(base, changed)
    assert narrow.value == pytest.approx(wide.value)
    assert (narrow.high - narrow.low) * 10 < wide.high - wide.low
    assert narrow.low > 0 > wide.low


def test_pairs_need_equally_many_values():
    with pytest.raises(ValueError, match="not 2 and 3"):
        paired([1, 2], [1, 2, 3])


def test_holm_corrects_by_rank_and_leaves_unknown_ones_out():
    assert holm([0.01, np.nan, 0.04, 0.03]) == pytest.approx([0.03, np.nan, 0.06, 0.06], nan_ok=True)
    assert holm([0.6, 0.9]) == pytest.approx([1.0, 1.0])


def test_false_alarms_of_fifty_equal_figures_are_rare_after_correction():
    luck, alarms = np.random.default_rng(9), 0
    for _ in range(200):
        gaps = luck.normal(size=(8, 50))
        found = [student(column) for column in gaps.T]
        alarms += bool((holm([chance(one.value, one.error, 7) for one in found]) < 0.05).any())
    assert alarms <= 20                                       # 10 expected, standard deviation 3.1


@pytest.mark.parametrize(("value", "error", "expected"), [
    pytest.param(0.0, 0.0, 1.0, id="no difference at all"), pytest.param(1.0, 0.0, 0.0, id="the same in every pair"),
    pytest.param(np.nan, 1.0, np.nan, id="unknown"), pytest.param(2.7764, 1.0, 0.05, id="at the bound")])
def test_chance_of_a_difference(value, error, expected):
    assert chance(value, error, 4) == pytest.approx(expected, abs=1e-4, nan_ok=True)


def test_the_planned_number_of_seeds_separates_the_difference_in_four_of_five_studies():
    needed = int(seeds_needed(0.5, 1.0))
    luck = np.random.default_rng(11).normal(0.5, 1.0, (1000, needed))
    found = [student(values) for values in luck]
    assert needed == pytest.approx(34, abs=1)
    assert np.mean([one.low > 0 for one in found]) == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize(("value", "spread", "expected"), [
    pytest.param(0.0, 1.0, math.inf, id="no difference"), pytest.param(1.0, 0.0, 2.0, id="no spread"),
    pytest.param(np.nan, 1.0, math.nan, id="unknown"), pytest.param(1e-4, 1.0, math.inf, id="hopeless")])
def test_seeds_that_are_needed_at_the_edges(value, spread, expected):
    assert seeds_needed(value, spread) == pytest.approx(expected, nan_ok=True)


def test_more_comparisons_need_more_seeds():
    assert seeds_needed(0.5, 1.0, comparisons=20) > seeds_needed(0.5, 1.0)
