"""Estimates that outliers hardly move: Huber's location and line, and effects of two factors by medians.

Sources: Huber, Robust Estimation of a Location Parameter, Annals of Mathematical Statistics 35, 1964; Tukey,
Exploratory Data Analysis, 1977 (median polish).
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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
    value = float(least_squares(lambda centre: (kept - centre) / width, [middle], loss="huber", f_scale=TURN).x[0])
    pulls = np.clip((kept - value) / width, -TURN, TURN)
    within = float((np.abs(pulls) < TURN).mean())
    error = width * float(np.sqrt((pulls**2).mean() / len(kept))) / within if within else np.nan
    return Estimate(value, error, len(kept))


def line(x: np.ndarray, y: np.ndarray) -> tuple[Estimate, Estimate]:
    """Intercept, at least 0, and slope of y over x, both positive, for errors in proportion to x.

    Unknown for fewer than three values, and if all x are the same.
    """
    if len(x) < 3 or np.ptp(x) <= 1e-6 * np.median(x):
        return UNKNOWN, UNKNOWN

    def off(chosen):
        return (chosen[0] + chosen[1] * x - y) / x
    slope = float(np.median(y / x))
    fit = np.array([0.0, slope])
    for _ in range(3):                                       # the spread is that about the line found before
        width = spread(off(fit)) or 1e-9 * slope
        solved = least_squares(lambda chosen, width=width: off(chosen) / width, fit, loss="huber", f_scale=TURN,
                               bounds=([0, 0], np.inf), x_scale=[float(np.median(x)), slope])
        fit = solved.x
    errors = np.sqrt(np.clip(np.diag(np.linalg.pinv(solved.jac.T @ solved.jac)), 0, None))
    return Estimate(float(fit[0]), float(errors[0]), len(x)), Estimate(float(fit[1]), float(errors[1]), len(x))


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
    graph = coo_array((np.ones(len(rows)), (rows, n_rows + columns)), shape=(n_rows + n_columns,) * 2)
    return connected_components(graph, directed=False)[1][n_rows:]
