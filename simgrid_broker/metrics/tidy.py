"""Conversion between wide tables and the long form of all metrics.

Put together column by column: pandas' `melt` and `pivot` take several milliseconds for a table of any size.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from simgrid_broker.metrics.window import Window

LABELS = ("metric", "value", "unit", "window")
"""The columns after the dimensions."""


def tidy(table: pd.DataFrame, dims: Sequence[str], figures: Mapping[str, str], window: Window | str) -> pd.DataFrame:
    """Long table: `dims`, metric, value, unit, window; `figures` gives the unit of each column that is a figure."""
    n_rows, n_figures = len(table), len(figures)
    again = np.tile(np.arange(n_rows), n_figures)
    values = np.empty((n_figures, n_rows))
    for place, name in enumerate(figures):
        values[place] = table[name].to_numpy(float, na_value=np.nan)
    number = np.repeat(np.arange(n_figures), n_rows)
    metric = pd.Categorical.from_codes(number, list(figures))          # an empty table keeps its metrics
    units = np.array(list(figures.values()), object)
    return pd.DataFrame({name: table[name].array.take(again) for name in dims} | {
        "metric": metric, "value": values.ravel(), "unit": pd.Series(units[number], dtype=object),
        "window": str(window)})


def wide(table: pd.DataFrame, *metrics: str) -> pd.DataFrame:
    """One row per combination of dimensions, one column per metric (default: all), in order of appearance.

    Raises ValueError for a metric that has two values.
    """
    dims = [name for name in table.columns if name not in LABELS]
    if metrics:
        table = table[table.metric.isin(metrics)]
    elif len(table):
        metrics = tuple(table.metric.unique())
    else:
        metrics = tuple(table.metric.cat.categories)
    row, first = _rows_of(table, dims)
    firsts = table.take(first)
    column = pd.Index(metrics).get_indexer(table.metric)
    if len(np.unique(row * len(metrics) + column)) < len(table):
        raise ValueError("a metric has two values for one combination of dimensions")
    values = np.full((len(metrics), len(firsts)), np.nan)
    values[column, row] = table.value
    figures = dict(zip(metrics, values, strict=True))
    return pd.DataFrame({name: firsts[name].array for name in dims} | figures)


def _rows_of(table: pd.DataFrame, dims: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Number of the combination of dimensions in each row, in order of appearance, and where each appears first."""
    row = np.zeros(len(table), np.int64)
    for name in dims:
        codes, values = pd.factorize(table[name], use_na_sentinel=False)
        row = pd.factorize(row * len(values) + codes)[0]             # again, so that no product is too large
    return row, np.unique(row, return_index=True)[1]


def matrix(table: pd.DataFrame, rows: str, columns: str, values: str = "value") -> pd.DataFrame:
    """Sums of `values` for each pair of the values of two columns, both in their order, NaN for a pair without rows."""
    groups = table.astype({values: float}).groupby([rows, columns], observed=True)[values]
    return groups.sum(min_count=1).unstack().sort_index(axis=1)
