"""Classes of queues by the waits of analysis jobs."""

import numpy as np
import pytest
from scipy import stats

from simgrid_broker.names import SiteClass
from simgrid_broker.policy.users.classes import (
    Waits,
    has_class,
    site_classes,
    upper_limits,
    waits,
    weights_of,
    with_recent_starts,
)
from simgrid_broker.units import DAY, HOUR

HI, MID, LO = SiteClass.HI, SiteClass.MID, SiteClass.LO
ALL = np.ones(3, bool)


def classes(upper_s, edition="deployed", n_long=(0, 0, 0), long_s=None, is_grid=ALL, is_alive=ALL):
    """Classes of queues with these upper limits of the wait, s."""
    upper = np.array(upper_s, float)
    found = Waits(upper / 2, upper, np.array(n_long), upper / 2 if long_s is None else np.array(long_s, float))
    return site_classes(found, np.array(is_grid), np.array(is_alive), edition).tolist()


@pytest.mark.rule("classes.weights_of")
@pytest.mark.parametrize(("age_h", "documented", "deployed"), [
    pytest.param(0, 1.0, 1.0, id="just started"),
    pytest.param(6, 0.5, 0.5 ** 0.5, id="six hours ago"),
    pytest.param(12, 0.25, 0.5, id="twelve hours ago"),
    pytest.param(96, 0.5 ** 16, 0.5 ** 8, id="four days ago"),
    pytest.param(96.0002, 0.0, 0.0, id="longer ago"),
])
def test_recent_waits_weigh_more(age_h, documented, deployed):
    for edition, expected in (("documented", documented), ("deployed", deployed)):
        assert weights_of(np.array([age_h * HOUR]), edition)[0] == pytest.approx(expected)


@pytest.mark.rule("upper_limits")
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_the_upper_limit_is_a_quantile_of_students_distribution(unit):
    wait, weight = unit * np.array([100.0, 300.0, 500.0]), np.array([1.0, 2.0, 1.0])
    mean, upper = upper_limits(np.zeros(3, np.int64), wait, weight, 2)
    assert mean[0] == pytest.approx(unit * 300)
    assert upper[0] == pytest.approx(stats.t.ppf(0.95, df=4, loc=unit * 300, scale=unit * np.sqrt(20_000)))
    assert np.isnan([mean[1], upper[1]]).all()                                  # no job started at the second queue


@pytest.mark.rule("upper_limits")
@pytest.mark.parametrize(("wait", "weight", "expected"), [
    pytest.param([700.0, 700.0], [1.0, 1.0], 700.0, id="equal waits have no spread"),
    pytest.param([1.0, 99_999.0], [1e-3, 1e-3], 999_999.0, id="hardly any evidence: the longest limit"),
])
def test_limits_at_the_edges(wait, weight, expected):
    assert upper_limits(np.zeros(2, np.int64), np.array(wait), np.array(weight), 1)[1][0] == expected


@pytest.mark.rule("classes.waits")
def test_long_jobs_wait_longer_than_the_mean():
    started = np.array([0, 0]), np.array([100.0, 300.0]), np.array([0.0, 0.0])
    waiting = np.array([0, 0, 0, 1]), np.array([200.0, 201.0, 401.0, 9000.0])
    found = waits(started, waiting, 2, "deployed")
    assert found.n_long.tolist() == [2, 0]                       # at the mean is not above it; no mean, no long jobs
    assert found.long_s[0] == 301.0 and np.isnan(found.long_s[1])
    assert waits(started, (waiting[0][2:], waiting[1][2:]), 2, "deployed").long_s[0] == 401.0
    assert waits(started, (waiting[0][:1], waiting[1][:1]), 2, "deployed").long_s[0] == 200.0       # none: the mean


@pytest.mark.rule("classes.site_classes")
@pytest.mark.parametrize(("upper_h", "expected"), [
    pytest.param((0.2, 0.5, 0.9), [HI, HI, HI], id="all below an hour"),
    pytest.param((0.5, 2.9, 3.0), [HI, MID, MID], id="never lo up to three hours"),
    pytest.param((0.5, 2.9, 3.0001), [HI, MID, LO], id="lo beyond them"),
    pytest.param((2.0, 5.0, 9.0), [HI, MID, LO], id="thirds of the queues"),
    pytest.param((2.0, np.nan, 9.0), [HI, MID, LO], id="without a wait mid"),
    pytest.param((np.nan, np.nan, np.nan), [MID, MID, MID], id="no wait at all"),
])
def test_ranks_make_classes(upper_h, expected):
    assert classes(np.array(upper_h) * HOUR) == expected


@pytest.mark.rule("classes.site_classes")
def test_a_queue_at_an_hour_is_hi_as_deployed_only():
    assert classes([3600, 3600, 99_999], n_long=(9, 9, 9))[:2] == [HI, HI]
    assert classes([3600, 60, 60], n_long=(3, 0, 0), long_s=(4000, 30, 30), is_grid=[False, True, False])[0] == HI
    assert classes([3600, 3600, 3600], edition="documented")[:2] == [MID, MID]


@pytest.mark.rule("classes.site_classes")
@pytest.mark.parametrize(("n_long", "documented", "deployed"), [
    pytest.param(2, MID, HI, id="two"),
    pytest.param(3, MID, HI, id="three"),
    pytest.param(4, MID, MID, id="four"),
])
def test_few_long_jobs_are_forgiven_as_deployed(n_long, documented, deployed):
    for edition, expected in (("documented", documented), ("deployed", deployed)):
        assert classes([600, 600, 600], edition, (n_long, 0, 0), (4000, 300, 300))[0] == expected


@pytest.mark.rule("classes.site_classes")
@pytest.mark.parametrize(("n_long", "expected"), [(2, HI), (3, MID)])
def test_as_documented_three_long_jobs_are_too_many_even_if_they_are_not_old(n_long, expected):
    assert classes([600, 600, 600], "documented", (n_long, 0, 0))[0] == expected


@pytest.mark.rule("classes.site_classes")
def test_quantiles_are_of_ranks_as_deployed_and_of_limits_as_documented():
    old = (4 * HOUR, 9 * HOUR, 20 * HOUR)
    assert classes([60, 60, 60], "documented", (9, 9, 9), old) == [LO, LO, LO]
    assert classes([60, 60, 60], "deployed", (9, 9, 9), old) == [HI, MID, LO]


@pytest.mark.rule("classes.site_classes")
def test_hi_needs_a_job_in_a_day_and_quantiles_are_of_the_grid():
    assert classes([600, 600, 600], is_alive=[False, True, True]) == [MID, HI, HI]
    days = np.array([2.0, 5.0, 40.0]) * DAY
    assert classes(days) == [HI, MID, LO]
    assert classes(days, is_grid=[True, False, False]) == [HI, LO, LO]


@pytest.mark.rule("classes.site_classes", "has_class")
def test_without_a_rank_on_the_grid_all_are_mid_in_the_code_and_unmeasured_queues_have_no_class():
    assert classes([600, 99_999, 600], is_grid=[False] * 3) == [MID, MID, MID]
    assert classes([600, 99_999, 600], "documented", is_grid=[False] * 3) == [HI, LO, HI]
    assert has_class(Waits(*np.array([[1.0, 1.0, np.nan], [1.0, np.nan, 1.0], [0, 0, 0], [1.0, 1.0, 1.0]]))).tolist(
        ) == [True, False, True]


@pytest.mark.rule("with_recent_starts")
def test_a_queue_is_alive_for_a_day_after_a_start():
    queue, age_s = np.array([0, 1, 1]), np.array([DAY, DAY + 1, 9 * DAY])
    assert with_recent_starts(queue, age_s, 3).tolist() == [True, False, False]
