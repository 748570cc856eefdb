"""Plots of recorded against simulated jobs."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from simgrid_broker.metrics import wide
from simgrid_broker.report.drawing.canvas import dress, handles_of, legend_above, rows_axis
from simgrid_broker.report.figures.colours import categories
from simgrid_broker.report.words import INK
from simgrid_broker.units import HOUR

LARGEST_ERROR = 200.0
"""Error up to which the axis may go, %; longer lines leave the picture."""


def job_by_job(table: pd.DataFrame, axes: Axes) -> Axes:
    """Simulated over recorded wall time on logarithmic axes, h (columns where, recorded_s, simulated_s)."""
    dress(axes, xlabel="recorded wall time, h", ylabel="simulated wall time, h", grid="both")
    places = list(dict.fromkeys(table["where"]))
    for place, colour in categories(places).items():
        one = table[table["where"] == place]
        axes.scatter(one.recorded_s / HOUR, one.simulated_s / HOUR, s=7, alpha=0.5, color=colour, linewidth=0,
                     label=place)
    times = table[["recorded_s", "simulated_s"]].to_numpy(float) / HOUR
    span = np.nanmin(times) / 1.2, 1.2 * np.nanmax(times)
    axes.plot(span, span, color=INK, linewidth=0.9, label="the same")
    axes.set(xscale="log", yscale="log", xlim=span, ylim=span)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    legend_above(axes, handles_of(axes))
    return axes


def errors(table: pd.DataFrame, axes: Axes, by: str, kind: str = "where",
           xlabel: str = "simulated less recorded, % of recorded") -> Axes:
    """Quantiles of errors, %, by group, those of each `kind` in a colour: line, box and a mark at the median."""
    rows = wide(table)
    names, kinds = list(dict.fromkeys(rows[by]))[::-1], list(dict.fromkeys(rows[kind]))
    dress(axes, xlabel=xlabel, grid="x")
    axes.axvline(0, color=INK, linewidth=0.9)
    height = 0.7 / len(kinds)
    for number, (name, colour) in enumerate(categories(kinds).items()):
        one = rows[rows[kind] == name]
        at = np.array([names.index(group) for group in one[by]]) + height * ((len(kinds) - 1) / 2 - number)
        axes.hlines(at, one.error_p05, one.error_p95, color=colour, linewidth=1.2)
        axes.barh(at, one.error_p75 - one.error_p25, 0.85 * height, one.error_p25, color=colour, alpha=0.55, label=name)
        axes.vlines(one.error_p50, at - 0.42 * height, at + 0.42 * height, color=INK, linewidth=1.8)
    _around_zero(axes, rows)
    rows_axis(axes, names)
    legend_above(axes, handles_of(axes))
    return axes


def _around_zero(axes: Axes, rows: pd.DataFrame) -> None:
    """An axis of errors that shows zero and at least one percent to both sides."""
    low, high = min(rows.error_p05.min(), -1.0), max(rows.error_p95.max(), 1.0)
    margin = 0.04 * (high - low)
    axes.set_xlim(max(low - margin, -105.0), min(high + margin, LARGEST_ERROR))
