"""Where the warm-up of a series ends, and the error of the mean of one long run."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.experiments.intervals import LEVEL, Interval, student
from simgrid_broker.records import Run

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
