"""Keyed random numbers: the two implementations agree, the numbers are uniform, and no key hangs on another."""

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker import luck

KEYS = st.integers(0, 2**40)


def assert_mean(samples, expected, sigma, errors=4):
    """The mean lies within four standard errors of what theory says (chance failure 6 in 100 000 for each call)."""
    error = sigma / np.sqrt(len(samples))
    found = np.mean(samples)
    assert abs(found - expected) < errors * error, f"{found:.6g}, not {expected:.6g} +- {error:.2g}"


@given(seed=KEYS, stream=st.sampled_from(sorted(luck.STREAMS)), a=KEYS, b=KEYS, c=KEYS)
def test_uniforms_equals_uniform_bit_for_bit(seed, stream, a, b, c):
    found = np.zeros(2)
    luck.fill_uniforms(seed, luck.STREAMS[stream], np.array([0, a]), b, c, found)
    assert float(luck.uniforms(seed, stream, a, b, c)) == luck.uniform(seed, luck.STREAMS[stream], a, b, c) == found[1]


@given(a=KEYS, b=KEYS, n_rows=st.integers(0, 4), columns=st.lists(KEYS, max_size=5, unique=True))
def test_a_number_of_a_table_follows_from_its_row_and_the_key_of_its_column(a, b, n_rows, columns):
    whole = luck.table(1, luck.STREAMS["work"], a, b, n_rows, np.array(columns, np.int64))
    assert whole.shape == (n_rows, len(columns))
    assert len(np.unique(whole)) == whole.size and ((0 < whole) & (whole < 1)).all()
    for k, key in enumerate(columns):
        assert luck.table(1, luck.STREAMS["work"], a, b, n_rows + 2, np.array([key]))[:n_rows, 0].tolist() == (
            whole[:, k].tolist())


def test_keys_of_tasks_and_of_names_are_all_different_and_not_negative():
    of_streams = [luck.keys(luck.key_of(name), np.arange(20_000)) for name in ("one", "two")]
    names = luck.keys_of(tuple(f"queue {k}" for k in range(2000)))
    found = np.concatenate([*of_streams, names])
    assert len(np.unique(found)) == len(found) and found.min() >= 0
    assert luck.keys(luck.key_of("one"), 7) == of_streams[0][7]
    attempts = {luck.key_of_attempt(task, chunk, attempt)
                for task in (1, 2) for chunk in range(50) for attempt in (1, 2)}
    assert len(attempts) == 200 and min(attempts) >= 0


def test_keys_broadcast():
    numbers = luck.uniforms(1, "work", np.arange(3)[:, None], np.arange(4))
    assert numbers.shape == (3, 4)
    assert numbers[2, 1] == luck.uniforms(1, "work", 2, 1)


def test_a_number_does_not_hang_on_what_else_is_asked():
    assert luck.uniforms(1, "work", np.arange(100))[57] == luck.uniforms(1, "work", 57)


def test_every_number_lies_between_0_and_1():
    numbers = luck.uniforms(1, "work", np.arange(100_000))
    assert 0 < numbers.min() and numbers.max() < 1


@pytest.mark.parametrize("which", [0, 1, 2, 3], ids=["seed", "first key", "second key", "third key"])
def test_numbers_are_uniform_along_each_part_of_the_key(which):
    key = [7, 3, 2, 1]
    if which:
        key[which] = np.arange(100_000)
        numbers = luck.uniforms(key[0], "fate", *key[1:])
    else:
        numbers = np.array([float(luck.uniforms(seed, "fate", *key[1:])) for seed in range(5_000)])
    assert_mean(numbers, 1 / 2, np.sqrt(1 / 12))
    assert_mean(numbers**2, 1 / 3, np.sqrt(4 / 45))
    in_bins = np.bincount((numbers * 100).astype(int), minlength=100) * (100 / len(numbers))
    # chi-square of 99 degrees of freedom: mean 99, deviation 14.1; 99 + 5 deviations fails once in a million runs
    assert np.sum((in_bins - 1) ** 2) * len(numbers) / 100 < 99 + 5 * np.sqrt(2 * 99)


@pytest.mark.parametrize(("one", "other"), [
    pytest.param((1, "work", 5, 0, 0), (1, "memory", 5, 0, 0), id="another stream"),
    pytest.param((1, "work", 5, 0, 0), (2, "work", 5, 0, 0), id="another seed"),
    pytest.param((1, "work", 5, 6, 0), (1, "work", 6, 5, 0), id="keys that change places"),
    pytest.param((1, "work", 5, 0, 0), (5, "work", 1, 0, 0), id="seed and key that change places"),
    pytest.param((1, "work", 0, 0, 1), (1, "work", 0, 1, 0), id="the same number elsewhere in the key"),
])
def test_different_keys_give_different_numbers(one, other):
    assert luck.uniforms(*one) != luck.uniforms(*other)


@pytest.mark.parametrize("shift", [1, 2, 20, 1000])
def test_neighbouring_keys_are_not_correlated(shift):
    numbers = luck.uniforms(1, "work", np.arange(100_000 + shift)) - 0.5
    # the mean product of independent uniforms is 0 with deviation 1/12
    assert_mean(numbers[shift:] * numbers[:-shift], 0.0, 1 / 12)


@pytest.mark.parametrize("stream", sorted(set(luck.STREAMS) - {"work"}))
def test_streams_are_not_correlated(stream):
    keys = np.arange(50_000)
    product = (luck.uniforms(1, "work", keys) - 0.5) * (luck.uniforms(1, stream, keys) - 0.5)
    assert_mean(product, 0.0, 1 / 12)


def test_streams_have_numbers_of_their_own():
    assert len(set(luck.STREAMS.values())) == len(luck.STREAMS)


def test_normal_quantile_equals_that_of_the_standard_library():
    edges = [1e-300, 2.0**-54, 0.075, 0.5, 0.925, 1 - 1e-16]
    numbers = np.concatenate([luck.uniforms(1, "work", np.arange(2_000)), edges])
    known = [NormalDist().inv_cdf(u) for u in numbers]
    np.testing.assert_allclose(luck.normal_quantile(numbers), known, rtol=1e-13, atol=1e-15)


def test_normal_quantile_keeps_the_shape():
    assert luck.normal_quantile(np.full((2, 3), 0.5)).tolist() == [[0.0] * 3] * 2
    assert luck.normal_quantile(0.5).shape == ()


@given(st.floats(2.0**-53, 0.5), st.floats(2.0**-53, 0.5))
def test_normal_quantile_is_odd_and_rises(one, other):
    low, high = sorted((one, other))
    assert luck.normal_quantile_of(low) <= luck.normal_quantile_of(high)
    assert luck.normal_quantile_of(1 - low) >= luck.normal_quantile_of(1 - high)
    rounding = 2.0**-53 / low                        # of 1 - low
    assert luck.normal_quantile_of(1 - low) == pytest.approx(-luck.normal_quantile_of(low), rel=rounding, abs=1e-12)


def test_the_last_number_is_below_1():
    assert (float(2**52 - 1) + 0.5) * luck._UNIT < 1


@pytest.mark.parametrize(("begins", "n_jobs", "chunks"), [
    pytest.param(0, 6, [0], id="the first jobs"), pytest.param(6, 50, [25, 50], id="behind six jobs"),
    pytest.param(5, 50, [25, 50], id="behind five jobs"), pytest.param(26, 5, [26], id="a few jobs without a multiple"),
    pytest.param(26, 24, [26], id="up to the one before it"), pytest.param(26, 25, [50], id="with the multiple"),
    pytest.param(0, 55, [0, 25, 50], id="three blocks"), pytest.param(1, 55, [25, 50, 51], id="the last has none"),
    pytest.param(24, 30, [25, 50], id="each begins right before one"),
    pytest.param(1, 74, [25, 50, 51], id="the last ends right before one"),
])
def test_the_draw_of_a_block_is_keyed_by_the_chunk_that_is_a_multiple_of_its_size(begins, n_jobs, chunks):
    keys = [int(luck.key_of_block(luck.ATTEMPTS * begins + 3, number, 25, n_jobs)) for number in range(len(chunks))]
    assert keys == [luck.ATTEMPTS * chunk + 3 for chunk in chunks]
    drawn = luck.draws_of_blocks(1, 2, 7, luck.ATTEMPTS * begins + 3, 25, n_jobs, np.array([11, 12]))
    assert drawn.tolist() == [luck.table(1, 2, 7, key, 1, np.array([11, 12]))[0].tolist() for key in keys]
