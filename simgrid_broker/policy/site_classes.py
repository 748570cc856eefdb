"""Classes of queues by how long analysis jobs wait there; source: brokerage reference, section 11.2 (D65)."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np

from simgrid_broker.names import SiteClass
from simgrid_broker.units import DAY, HOUR

WINDOW_S = 4 * DAY
"""Age of the oldest wait that counts, s."""
HALF_LIFE_S = {"documented": 6 * HOUR, "deployed": 12 * HOUR}
"""Age at which a wait counts half, s, by edition (D65)."""
CONFIDENCE = 0.95
"""Probability of the upper limit of the wait."""
LONGEST_S = 999_999.0
"""Highest value of that limit, s."""
HI_S, LO_S = 3600.0, 10_800.0
"""Rank up to which a queue can always be hi, and up to which it is never lo, s."""
HI_QUANTILE, LO_QUANTILE = 0.333, 0.667
"""Quantiles of the ranks of all queues that divide the classes."""
FEW_LONG = 3
"""Number of jobs that may wait longer than the mean at a queue of class hi."""
ALIVE_S = DAY
"""Time within which a job must have started at a queue of class hi, s."""


class Waits(NamedTuple):
    """Waits of analysis jobs at the queues, from activated to running.

    mean_s, upper_s: weighted mean and upper limit, s, (n_queues,) each, NaN = no job started within the window;
    n_long, long_s: jobs that now wait longer than the mean, and their mean age, s, (n_queues,) each.
    """

    mean_s: np.ndarray
    upper_s: np.ndarray
    n_long: np.ndarray
    long_s: np.ndarray


def weights_of(age_s: np.ndarray, edition: str) -> np.ndarray:
    """Weight of each wait by the time since the job began to run, s, (n,); 0 outside the window."""
    return np.where(age_s <= WINDOW_S, 2.0 ** (-age_s / HALF_LIFE_S[edition]), 0.0)


def upper_limits(queue: np.ndarray, wait_s: np.ndarray, weight: np.ndarray,
                 n_queues: int) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and upper 95 % limit of the waits at each queue, s, (n_queues,) each, NaN without a wait.

    queue, wait_s, weight: of jobs that have started, (n,) each. The limit is that of Student's t distribution with as
    many degrees of freedom as the sum of the weights, with the mean as location and the standard deviation as scale.
    """
    degrees, first, second = (np.bincount(queue, weight * power, n_queues) for power in (1.0, wait_s, wait_s ** 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = first / degrees
        deviation = np.sqrt(np.maximum(second / degrees - mean ** 2, 0.0))
    upper, spread = mean.copy(), deviation > 0
    if spread.any():
        upper[spread] += deviation[spread] * _student()(degrees[spread], CONFIDENCE)
    return mean, np.where(degrees > 0, np.minimum(upper, LONGEST_S), np.nan)


def _student() -> Callable:
    """Quantiles of Student's t distribution, from SciPy, which takes longer to load than a small run to begin."""
    return import_module("scipy.special").stdtrit


def waits(started: tuple[np.ndarray, np.ndarray, np.ndarray], waiting: tuple[np.ndarray, np.ndarray],
          n_queues: int, edition: str) -> Waits:
    """Waits at each queue.

    started: queue, wait and time since the start, s, of jobs that have started, (n,) each; waiting: queue and age, s,
    of activated jobs, of sent ones, and of starting ones at push queues, (m,) each.
    """
    queue, wait_s, age_s = started
    mean, upper = upper_limits(queue, wait_s, weights_of(age_s, edition), n_queues)
    where, age_s = waiting
    long = age_s > mean[where]                                          # False where no mean is known
    n_long = np.bincount(where[long], minlength=n_queues)
    total_s = np.bincount(where[long], age_s[long], n_queues)
    return Waits(mean, upper, n_long, np.where(n_long > 0, total_s / np.maximum(n_long, 1), mean))


def with_recent_starts(queue: np.ndarray, age_s: np.ndarray, n_queues: int) -> np.ndarray:
    """Queues where an analysis job started within a day, (n_queues,) bool; arguments as of `waits`."""
    return np.bincount(queue[age_s <= ALIVE_S], minlength=n_queues) > 0


def site_classes(found: Waits, is_grid: np.ndarray, is_alive: np.ndarray, edition: str) -> np.ndarray:
    """Class of each queue, `SiteClass`, (n_queues,); mid where nothing is known.

    is_grid: queues of the grid, whose ranks make the quantiles, (n_queues,) bool; is_alive: queues where a job started
    within 24 h (documented: an analysis job), (n_queues,) bool.
    """
    rank = np.maximum(found.upper_s, found.long_s)
    ranked = found.upper_s if edition == "documented" else rank
    among = ranked[is_grid & ~np.isnan(ranked)]
    low, high = np.quantile(among, (HI_QUANTILE, LO_QUANTILE)) if len(among) else (0.0, 0.0)
    low, high = max(low, HI_S), max(high, LO_S)
    if edition == "documented":
        hi = (rank < low) & (found.n_long < FEW_LONG)
    else:
        hi = (rank <= low) | ((found.upper_s <= low) & (found.n_long <= FEW_LONG))
    hi &= is_alive
    return np.where(hi, SiteClass.HI, np.where(rank > high, SiteClass.LO, SiteClass.MID))
