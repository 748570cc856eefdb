"""Quantiles of Student's t distribution; SciPy's take longer to load than a small run to simulate."""

import math

import numpy as np

from simgrid_broker.compiled import compiled

ACCURACY = 1e-14
"""Relative difference of two steps at which a quantile and a continued fraction have converged."""
MOST_TERMS, MOST_STEPS = 10_000, 60
TINY = 1e-300
LARGEST = 350.0
"""Logarithm of the largest quantile that is told from infinity; its square is still a number."""
FIRST = 1.0
"""Quantile at which the search begins; that of the upper tenth is larger for any degrees of freedom."""


def upper_quantiles(degrees: np.ndarray, tail: float) -> np.ndarray:
    """Values that are exceeded with probability `tail`, at most 0.1, (n,); NaN without positive degrees of freedom.

    degrees: degrees of freedom, whole or not, (n,).
    """
    found = np.empty(len(degrees))
    fill_quantiles(degrees, tail, found)
    return found


@compiled
def fill_quantiles(degrees, tail, found):
    """Write the value that is exceeded with probability `tail` for each degrees of freedom."""
    for k in range(len(degrees)):
        found[k] = _quantile(degrees[k], tail) if degrees[k] > 0 else np.nan


@compiled
def _quantile(degrees, tail):
    """Newton's steps in logarithms, where the tail is concave: after the first, each comes closer from above."""
    at = math.log(FIRST)
    for _ in range(MOST_STEPS):
        value = math.exp(at)
        beyond = exceeded(degrees, value)
        slope = -value * math.exp(_log_density(degrees, value)) / beyond
        step = math.log(beyond / tail) / slope
        at -= step
        if at > LARGEST:
            return math.inf
        if abs(step) < ACCURACY:
            break
    return math.exp(at)


@compiled
def _log_density(degrees, value):
    """Logarithm of the density at a value."""
    return (math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - 0.5 * math.log(degrees * math.pi)
            - (degrees + 1) / 2 * math.log1p(value * value / degrees))


@compiled
def exceeded(degrees, value):
    """Probability of more than a positive value: half of the incomplete beta function of degrees / 2 and 1 / 2."""
    square = value * value
    part, rest = degrees / (degrees + square), square / (degrees + square)
    a, b = degrees / 2, 0.5
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
                     - a * math.log1p(square / degrees) + b * math.log(rest))
    if part < (a + 1) / (a + b + 2):
        return 0.5 * scale * _fraction(a, b, part) / a
    return 0.5 * (1.0 - scale * _fraction(b, a, rest) / b)


@compiled
def _fraction(a, b, x):
    """The continued fraction of the incomplete beta function, by Lentz' method; source: DLMF 8.17.22."""
    c, d = 1.0, 1.0 / _apart(1.0 - (a + b) * x / (a + 1.0))
    found = d
    for m in range(1, MOST_TERMS):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1.0 / _apart(1.0 + term * d)
            c = _apart(1.0 + term / c)
            found *= c * d
        if abs(c * d - 1.0) < ACCURACY:
            break
    return found


@compiled
def _apart(value):
    """A divisor that is not 0."""
    return value if abs(value) > TINY else TINY
