"""Trends of a run's series over the window of its figures: whether the warm-up was long enough."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from simgrid_broker.metrics.kept import kept
from simgrid_broker.metrics.shares import ShareSamples, running_samples
from simgrid_broker.metrics.tidy import tidy, wide
from simgrid_broker.metrics.window import window_of
from simgrid_broker.records import Run

BATCHES = 12
TREND = 0.576
"""Kendall's tau of 12 batch means that is exceeded by chance in 1 % of stationary series; source: Kendall, Rank
Correlation Methods, table of the distribution of S (S = 38 of 66 pairs)."""
CHANGE = 0.1
"""Relative change from the first to the last third of the window above which a trend matters."""
SHARE_CHANGE = 1.0
"""The same for delivered power, % points of all power."""


@kept
def drift(run: Run) -> pd.DataFrame:
    """Trends of activated jobs, running cores and delivered power of leaf shares over the window.

    Dimensions series (activated, running_cores or delivered) and share ("" = all). Metrics: first and last, means of
    the first and last third of the window (jobs, cores or % of all power); trend: Kendall's tau of the means of 12
    batches; drifts: 1 if the trend is significant at 1 % and the change exceeds 10 % of the mean and, for delivered
    power, 1 % point. Empty with less than 2 samples for each batch.
    """
    samples = running_samples(run)
    units = {"first": "", "last": "", "trend": "", "drifts": ""}
    rows = list(_rows(samples)) if len(samples.times) >= 2 * BATCHES else []
    return tidy(pd.DataFrame(rows, columns=["series", "share", *units]), ["series", "share"], units, window_of(run))


def drifting(run: Run) -> pd.DataFrame:
    """The series of `drift` that drift, largest relative change first; one row each, wide."""
    rows = wide(drift(run))
    rows = rows[rows.drifts > 0]
    change = (rows["last"] - rows["first"]).abs() / (rows["last"] + rows["first"])
    return rows.assign(change=change).sort_values("change", ascending=False, kind="stable").drop(columns="change")


def _rows(samples: ShareSamples) -> Iterator[tuple]:
    for name in ("activated", "running_cores"):
        yield name, "", *_trend(getattr(samples, name)[:, 0], 0.0)
    delivered = samples.percent("hs06")
    for leaf, name in zip(samples.tree.leaves, samples.tree.leaf_names, strict=True):
        yield "delivered", name, *_trend(delivered[:, leaf], SHARE_CHANGE)


def _trend(values: np.ndarray, least: float) -> tuple[float, float, float, bool]:
    """Means of the first and last third, Kendall's tau of the batch means, and whether the series drifts."""
    means = np.array([batch.mean() for batch in np.array_split(values, BATCHES)])
    first, last = means[:BATCHES // 3].mean(), means[-BATCHES // 3:].mean()
    signs = np.sign(means[None, :] - means[:, None])[np.triu_indices(BATCHES, 1)]
    changed = abs(last - first) > max(CHANGE * abs(values.mean()), least)
    return first, last, signs.mean(), changed and abs(signs.mean()) >= TREND
