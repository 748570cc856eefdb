"""Waits of jobs that are seen late or not to the end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_run import JobStatus, job, run_of

from simgrid_broker import metrics
from simgrid_broker.metrics import waiting
from simgrid_broker.metrics.waiting import Waits


def waits(*jobs):
    entry, left, started = zip(*jobs, strict=True)
    return Waits(np.array(entry, float), np.array(left, float), np.array(started, bool))


def test_remissions_of_the_textbook():
    """Freireich et al., Blood 21 (1963) 699, 6-mercaptopurine: the median of the product-limit estimate is 23 weeks."""
    weeks = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
    ended = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    estimate = waits(*zip([0] * 21, weeks, ended, strict=True)).quantiles((0.10, 0.25, 0.50, 0.90))
    np.testing.assert_array_equal(estimate, [6, 13, 23, np.nan])


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40), st.sampled_from((0.05, 0.25, 0.5, 0.75, 0.95)))
def test_without_censoring_it_is_the_sample_quantile(hours, at):
    expected = np.quantile(hours, at, method="inverted_cdf")
    assert waits(*((0, hour, True) for hour in hours)).quantiles([at]) == [expected]


def test_starts_some_at_once_give_the_estimate_of_all_at_once(monkeypatch):
    rng = np.random.default_rng(3)
    entry = rng.integers(0, 9, 200)
    seen, at = Waits(entry, entry + rng.integers(0, 20, 200), rng.random(200) < 0.8), (0.05, 0.3, 0.5, 0.95, 1)
    expected = seen.quantiles(at)
    assert np.isfinite(expected[:4]).all() and len(set(expected)) == len(at)
    for number in (1, 2, 7, 100):
        monkeypatch.setattr(waiting, "AT_ONCE", number)
        np.testing.assert_array_equal(seen.quantiles(at), expected)


def test_censored_exponential_waits_keep_their_quantiles():
    rng = np.random.default_rng(5)
    wait, give_up = rng.exponential(2, 40_000), rng.exponential(3, 40_000)
    seen = Waits(np.zeros(len(wait)), np.minimum(wait, give_up), wait <= give_up)
    np.testing.assert_allclose(seen.quantiles((0.5, 0.9)), 2 * np.log((2, 10)), rtol=0.03)
    assert seen.mean() == pytest.approx(2, rel=0.03)
    assert np.median(seen.exit[seen.started]) < 1                     # while starts alone are biased


def test_jobs_that_were_waiting_when_the_window_began_count_from_then_on(tmp_path):
    """A job comes each hour and waits for 2 h; the window lasts from 2 to 6 h."""
    run = run_of(tmp_path, 2, 6, jobs=[
        job(activated=hour, running=hour + 2, finished=hour + 3) if hour <= 4 else
        job(activated=hour, status=JobStatus.ACTIVATED) for hour in np.arange(-1.5, 6)])
    row = metrics.wide(metrics.waiting_times(run, None)).iloc[0]
    assert (row.wait_km_p50, row.wait_little) == (pytest.approx(2), pytest.approx(2))


def test_jobs_that_never_start_have_no_quantiles(tmp_path):
    run = run_of(tmp_path, 2, 6, jobs=[job(activated=1, status=JobStatus.ACTIVATED)])
    row = metrics.wide(metrics.waiting_times(run, None)).iloc[0]
    assert np.isnan([row.wait_km_p50, row.wait_little]).all()
