"""Quantiles of Student's t distribution, compared with SciPy's."""

import numpy as np
import pytest
from scipy import stats

from simgrid_broker.policy.student import exceeded, upper_quantiles

DEGREES = [0.05, 0.3, 0.999, 1.0, 1.5, 2.0, 3.7, 10.0, 99.5, 1000.0, 250_000.0]


@pytest.mark.parametrize("tail", [0.1, 0.05, 0.001])
def test_quantiles_are_those_of_scipy(tail):
    assert upper_quantiles(np.array(DEGREES), tail) == pytest.approx(stats.t.isf(tail, DEGREES), rel=1e-9)


@pytest.mark.parametrize("degrees", DEGREES)
@pytest.mark.parametrize("value", [0.01, 1.0, 1.645, 30.0])
def test_tails_are_those_of_scipy(degrees, value):
    assert exceeded(degrees, value) == pytest.approx(stats.t.sf(value, degrees), rel=1e-9)


def test_hardly_any_evidence_excludes_hardly_anything():
    few, none = upper_quantiles(np.array([1e-4, 0.0]), 0.05)
    assert few == np.inf
    assert np.isnan(none)
