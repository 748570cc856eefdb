"""Conversion between wide tables and the long form of all metrics."""

from collections.abc import Mapping, Sequence

import pandas as pd

from simgrid_broker.metrics.window import Window

LABELS = ("metric", "value", "unit", "window")
"""The columns after the dimensions."""


def tidy(table: pd.DataFrame, dims: Sequence[str], figures: Mapping[str, str], window: Window | str) -> pd.DataFrame:
    """Long table: `dims`, metric, value, unit, window; `figures` gives the unit of each column that is a figure."""
    long = table.melt(list(dims), list(figures), var_name="metric", value_name="value")
    metric = pd.Categorical(long.metric, list(figures))                # an empty table keeps its metrics
    return long.assign(metric=metric, value=long.value.astype(float), unit=long.metric.map(figures).astype(object),
                       window=str(window))


def wide(table: pd.DataFrame, *metrics: str) -> pd.DataFrame:
    """One row per combination of dimensions, one column per metric (default: all), in order of appearance."""
    dims = [name for name in table.columns if name not in LABELS]
    if metrics:
        table = table[table.metric.isin(metrics)]
    elif len(table):
        metrics = tuple(dict.fromkeys(table.metric))
    else:
        metrics = tuple(table.metric.cat.categories)
    table = table.astype({"metric": object})
    if not dims:
        return table.set_index("metric").value.to_frame().T.reset_index(drop=True)
    order = pd.MultiIndex.from_frame(table[dims].drop_duplicates())
    spread = table.pivot(index=dims, columns="metric", values="value")
    spread = spread.reindex(order if len(dims) > 1 else order.get_level_values(0))
    spread.columns.name = None
    return spread.reindex(columns=list(metrics)).reset_index()
