"""Intervals of means and differences over replications, seeds that separate these, and estimates that resist outliers.

Values that are not finite (a figure that a run does not have) are left out and do not count. Sources: Huber, Robust
Estimation of a Location Parameter, Annals of Mathematical Statistics 35, 1964; Tukey, Exploratory Data Analysis, 1977
(median polish). What only calibration takes from SciPy is imported when it is used: workers of all studies load this.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from simgrid_broker import metrics
from simgrid_broker.records import Run

LEVEL = 0.95
"""Probability with which an interval contains the true value."""
POWER = 0.8
"""Probability of separating a difference from chance for which numbers of seeds are planned."""
FEWEST = 8
"""Fewest values of a bootstrap interval."""
DRAWS = 2000
"""Resamples of a bootstrap."""
ROUNDING = 1e-12
"""Spread of values, relative to the largest, that comes from rounding."""
MOST_SEEDS = 10_000
"""Number of seeds from which on a difference counts as not to be separated."""
NUMBERS = np.arange(2, MOST_SEEDS + 1)
"""Numbers of pairs of runs among which the first that suffices is looked for."""


@dataclass(frozen=True)
class Interval:
    """A mean with its standard error, its confidence interval, and the number of values; NaN where undefined."""

    value: float
    error: float
    low: float
    high: float
    count: int

    def columns(self) -> dict[str, float]:
        """The fields by name, as the columns of a table."""
        return asdict(self)


def bounded(interval: Interval, most: float = math.inf) -> Interval:
    """The interval of a mean of values from 0 to `most`, cut there: it contains the true mean as often, as that is not
    beyond. An interval whose mean is beyond stays as it is."""
    low, high = interval.low, interval.high
    return replace(interval, low=0.0 if low < 0 <= interval.value else low,
                   high=most if high > most >= interval.value else high)


def student(values: Sequence[float] | np.ndarray, level: float = LEVEL) -> Interval:
    """Student's interval of the mean of independent values; without bounds for fewer than two."""
    kept = _finite(values)
    error = _error(kept)
    half = error * stdtrit(len(kept) - 1, (1 + level) / 2) if len(kept) > 1 else np.nan
    value = float(kept.mean()) if len(kept) else np.nan
    return Interval(value, error, value - half, value + half, len(kept))


def bootstrap(values: Sequence[float] | np.ndarray, level: float = LEVEL, draws: int = DRAWS,
              seed: int = 0) -> Interval:
    """Bootstrap-t interval of the mean, which follows the skewness of the values; without bounds for fewer than eight,
    whose resamples are too much alike.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 12.5.
    """
    kept = _finite(values)
    plain = student(kept, level)
    if len(kept) < FEWEST:
        return Interval(plain.value, plain.error, np.nan, np.nan, plain.count)
    if plain.error == 0:
        return plain
    drawn = kept[np.random.default_rng(seed).integers(len(kept), size=(draws, len(kept)))]
    errors = drawn.std(axis=1, ddof=1) / math.sqrt(len(kept))
    varied = errors > 1e-12 * plain.error                       # a resample of one value repeated has no error
    ratios = (drawn.mean(axis=1)[varied] - plain.value) / errors[varied]
    above, below = np.quantile(ratios, [(1 + level) / 2, (1 - level) / 2])
    return Interval(plain.value, plain.error, plain.value - above * plain.error, plain.value - below * plain.error,
                    plain.count)


def paired(base: Sequence[float] | np.ndarray, changed: Sequence[float] | np.ndarray, level: float = LEVEL) -> Interval:
    """Interval of the mean of changed - base, values at one position having the same seed; raises ValueError if their
    numbers differ.
    """
    base, changed = np.asarray(base, float), np.asarray(changed, float)
    if base.shape != changed.shape:
        raise ValueError(f"pairs need equally many values, not {len(base)} and {len(changed)}")
    return student(changed - base, level)


def unpaired(base: Sequence[float] | np.ndarray, changed: Sequence[float] | np.ndarray,
             level: float = LEVEL) -> Interval:
    """Welch's interval of the difference of two means of independent values; count: the smaller number of values."""
    first, second = _finite(base), _finite(changed)
    count = min(len(first), len(second))
    value = float(second.mean() - first.mean()) if count else np.nan
    error, freedom = welch(first, second)
    half = error * stdtrit(freedom, (1 + level) / 2) if freedom > 0 else np.nan
    return Interval(value, error, value - half, value + half, count)


def welch(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Standard error of the difference of two means and its degrees of freedom (Welch and Satterthwaite)."""
    if min(len(first), len(second)) < 2:
        return np.nan, np.nan
    parts = np.array([first.var(ddof=1) / len(first), second.var(ddof=1) / len(second)])
    if not parts.any():
        return 0.0, float(len(first) + len(second) - 2)
    return float(np.sqrt(parts.sum())), float(
        parts.sum() ** 2 / (parts ** 2 / np.array([len(first) - 1, len(second) - 1])).sum())


def chance(value: float, error: float, freedom: float) -> float:
    """Probability of a difference at least as large without a cause (two-sided t test); NaN without an error."""
    if not (np.isfinite(value) and np.isfinite(error) and freedom > 0):
        return np.nan
    if error == 0:
        return 1.0 if value == 0 else 0.0
    return float(2 * stdtr(freedom, -abs(value) / error))


def holm(chances: Sequence[float] | np.ndarray) -> np.ndarray:
    """Probabilities corrected for their number, (n,): NaN stays NaN and does not count.

    Of all true null hypotheses together, the probability that any of those with a corrected value below 5 % is rejected
    is 5 %. Source: Holm, Scand. J. Statist. 6 (1979) 65.
    """
    chances = np.asarray(chances, float)
    corrected = np.full(chances.shape, np.nan)
    order = np.argsort(chances, kind="stable")[:np.isfinite(chances).sum()]
    steps = chances[order] * (len(order) - np.arange(len(order)))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def seeds_needed(value: float, spread: float, comparisons: int = 1, level: float = LEVEL,
                 power: float = POWER) -> float:
    """Number of pairs of runs that separate a difference of this size from chance with probability `power`.

    spread: standard deviation of the differences of pairs; comparisons: how many are tested together. inf for more than
    MOST_SEEDS, NaN without a spread.
    """
    if not (np.isfinite(value) and np.isfinite(spread)):
        return np.nan
    if spread == 0 or value == 0:
        return 2.0 if value else math.inf
    tail = 1 - (1 - level) / 2 / max(comparisons, 1)
    enough = np.flatnonzero((_errors_apart(tail, power) * spread / value) ** 2 <= NUMBERS)
    return float(NUMBERS[enough[0]]) if len(enough) else math.inf


@lru_cache(32)
def _errors_apart(tail: float, power: float) -> np.ndarray:
    """Errors of a mean by which it must differ from 0 to be told from chance, for each of NUMBERS, (n,)."""
    return stdtrit(NUMBERS - 1, tail) + stdtrit(NUMBERS - 1, power)


def _finite(values: Sequence[float] | np.ndarray) -> np.ndarray:
    values = np.asarray(values, float)
    return values[np.isfinite(values)]


def _error(values: np.ndarray) -> float:
    """Standard error of the mean; NaN for fewer than two values, 0 for values that differ by rounding alone."""
    if len(values) < 2:
        return np.nan
    spread = float(values.std(ddof=1))
    return spread / math.sqrt(len(values)) if spread > ROUNDING * float(np.abs(values).max()) else 0.0


MSER_BATCH = 5
"""Samples of a batch of MSER-5."""
BATCHES = 20
"""Batches of `batch_means`: with 10 to 30 the interval neither misses correlation nor grows much (Schmeiser, Oper.
Res. 30 (1982) 556)."""
CORRELATED = 0.42
"""Correlation of successive means of 20 batches above which they are hardly independent: exceeded by chance in 2.5 %
(1.96 / sqrt(20), less the bias of 1 / 20)."""


@dataclass(frozen=True)
class Truncation:
    """Number of samples at the beginning of a series that its mean should leave out.

    found: false if the series is too short, or still drifts in its second half: then no number can be recommended.
    """

    samples: int
    found: bool


def mser5(series: np.ndarray) -> Truncation:
    """Warm-up of a series by MSER-5: the cut that minimises the standard error of the mean of what is left.

    The cut is sought in the first half; one at its end means that the run is too short. Source: White, Cobb and Spratt,
    Proc. 2000 Winter Simulation Conference, 755; Hoad, Robinson and Davies, J. Oper. Res. Soc. 61 (2010) 1632.
    """
    series = np.asarray(series, float)
    n_batches = len(series) // MSER_BATCH
    if n_batches < 4:
        return Truncation(0, False)
    means = series[:n_batches * MSER_BATCH].reshape(n_batches, MSER_BATCH).mean(axis=1)
    last = n_batches // 2
    scores = [means[cut:].var() / (n_batches - cut) for cut in range(last + 1)]
    best = int(np.argmin(scores))
    return Truncation(best * MSER_BATCH, best < last)


def batch_means(series: np.ndarray, batches: int = BATCHES, level: float = LEVEL) -> tuple[Interval, bool]:
    """Interval of the mean of one stationary series by the means of equal batches, and whether these are independent.

    Samples that do not fill a batch are left out at the beginning. Without bounds for fewer samples than two a batch.
    """
    series = np.asarray(series, float)
    if len(series) < 2 * batches:
        return Interval(float(series.mean()) if len(series) else np.nan, np.nan, np.nan, np.nan, 0), False
    size = len(series) // batches
    means = series[len(series) - size * batches:].reshape(batches, size).mean(axis=1)
    gaps = means - means.mean()
    whole = float((gaps ** 2).sum())
    correlation = float((gaps[1:] * gaps[:-1]).sum()) / whole if whole else 0.0
    return student(means, level), correlation <= CORRELATED


def steadiness(run: Run) -> pd.DataFrame:
    """Warm-up of the series of a run by MSER-5, and their means after the scenario's warm-up with batch-means errors.

    One row each for activated jobs and running cores: series, suggested_s (NaN if the run is too short to say),
    warm_up_s, value, error, low, high, count (batches), independent, unit, window.
    """
    units, window, rows = {"activated": "jobs", "running_cores": "cores"}, metrics.window_of(run), []
    totals = metrics.totals_over_time(run, *units)
    for name, unit in units.items():
        series = totals[name]
        cut = mser5(series.to_numpy())
        mean, independent = batch_means(series.to_numpy()[window.holds(series.index)])
        rows.append({"series": name, "suggested_s": series.index[cut.samples] if cut.found else np.nan,
                     "warm_up_s": window.start_s, **mean.columns(), "independent": independent, "unit": unit,
                     "window": str(window)})
    return pd.DataFrame(rows)


TURN = 1.345
"""Multiple of the spread beyond which a value counts less: 95 % of the efficiency of the mean for normal errors."""
MAD = 1.4826
"""Standard deviation of normal errors over the median of their sizes."""
POLISHES, SETTLED = 50, 1e-9
"""Most passes of the polish, and the change below which it ends."""


class Estimate(NamedTuple):
    """A value with its standard error and the number of values behind it; NaN = unknown."""

    value: float
    error: float
    n_values: int


UNKNOWN = Estimate(np.nan, np.nan, 0)


def spread(values: np.ndarray) -> float:
    """Robust standard deviation: the median distance from the median, scaled to normal errors."""
    return MAD * float(np.median(np.abs(values - np.median(values)))) if len(values) else np.nan


def location(values: np.ndarray) -> Estimate:
    """Huber's estimate of the centre of the finite ones among `values`."""
    kept = np.asarray(values, float)
    kept = kept[np.isfinite(kept)]
    if not len(kept):
        return UNKNOWN
    middle, width = float(np.median(kept)), spread(kept)
    if width == 0:
        return Estimate(middle, 0.0, len(kept))
    value = float(import_module("scipy.optimize").least_squares(
        lambda centre: (kept - centre) / width, [middle], loss="huber", f_scale=TURN).x[0])
    pulls = np.clip((kept - value) / width, -TURN, TURN)
    within = float((np.abs(pulls) < TURN).mean())
    error = width * float(np.sqrt((pulls**2).mean() / len(kept))) / within if within else np.nan
    return Estimate(value, error, len(kept))


def polished(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Effects of rows and of columns whose sums come closest to `values`, by medians in turn; (n_rows,), (n_columns,).

    rows, columns: (n,) numbers from 0. In each part that shares no row with others, the median effect of the columns,
    each as often as it occurs, is 0.
    """
    of_rows, of_columns = np.zeros(rows.max() + 1), np.zeros(columns.max() + 1)
    for _ in range(POLISHES):
        of_rows = medians(values - of_columns[columns], rows, len(of_rows))
        before, of_columns = of_columns, medians(values - of_rows[rows], columns, len(of_columns))
        if np.abs(of_columns - before).max() < SETTLED:
            break
    of_part = parts(rows, columns)[columns]
    middles = medians(of_columns[columns], of_part, of_part.max() + 1)[of_part]
    of_rows[rows] += middles
    of_columns[columns] -= middles
    return of_rows, of_columns


def medians(values: np.ndarray, groups: np.ndarray, number: int) -> np.ndarray:
    """Median of the values of each group, (number,); 0 for a group without any."""
    order = np.lexsort((values, groups))
    counts = np.bincount(groups, minlength=number)
    begins = np.cumsum(counts) - counts
    middle = np.zeros(number)
    some = counts > 0
    low, high = begins + np.maximum(counts - 1, 0) // 2, begins + counts // 2
    middle[some] = (values[order][low[some]] + values[order][high[some]]) / 2
    return middle


def parts(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Number of the part of each column, (n_columns,): columns of different parts have no row in common."""
    n_rows, n_columns = rows.max() + 1, columns.max() + 1
    graph = import_module("scipy.sparse").coo_array((np.ones(len(rows)), (rows, n_rows + columns)),
                                                    shape=(n_rows + n_columns,) * 2)
    return import_module("scipy.sparse.csgraph").connected_components(graph, directed=False)[1][n_rows:]
