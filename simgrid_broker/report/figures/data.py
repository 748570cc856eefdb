"""Plots of data over time and of recorded against simulated jobs.

Over time: doors and links beside their limits, the space of storages, staging from tape.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from simgrid_broker.metrics import matrix, wide
from simgrid_broker.report.blocks import NO_MARKS, Marks
from simgrid_broker.report.drawing import layout
from simgrid_broker.report.drawing.layout import dress, handles_of, legend_above, rows_axis
from simgrid_broker.report.figures.colours import categories
from simgrid_broker.report.words import BASE, INK, LEVEL_COLOURS
from simgrid_broker.units import HOUR

STORAGE_TITLE = 8.0
"""Size of the names of storages above their panels, points."""
STYLES = ("--", ":")
"""Lines of limits, in their order."""


def limited_panels(table: pd.DataFrame, axes: np.ndarray, names: Sequence[str], by: str,
                   texts: Mapping[str, str], marks: Marks = NO_MARKS) -> np.ndarray:
    """A panel for each name in column `by`: a metric over time, and other metrics as lines above which it cannot be.

    texts: label of the axis by the metric, then the text in a legend by each limit.
    """
    (value, ylabel), *others = texts.items()
    limits = dict(others)
    for panel, name, is_last in layout.small_panels(axes, names, ylabel, (0.62, 0.34, 0.42)):
        one = matrix(table[(table[by] == name) & table.value.notna()], "time_s", "metric")
        _panel(one.reindex(columns=[value, *limits]), panel, limits, marks, is_last)
    _legend(np.atleast_1d(axes).flat[0], limits)
    return axes


def _panel(one: pd.DataFrame, axes: Axes, limits: Mapping[str, str], marks: Marks, label: bool) -> None:
    """One panel; columns: the metric, then its limits; index: time, s."""
    unit = layout.time_axis(axes, one.index.max(), Marks(marks.start_s), label, most_ticks=6)
    times, values = one.index / unit, one.iloc[:, 0]
    axes.fill_between(times, 0, values.fillna(0), step="pre", color=BASE[0], alpha=0.35, linewidth=0)
    axes.step(times, values, where="pre", color=BASE[0], linewidth=1.0, label=one.columns[0])
    for (limit, text), style in zip(limits.items(), STYLES, strict=False):
        axes.step(times, one[limit], where="pre", color=INK, linewidth=1.0, linestyle=style, label=text)
    axes.set_ylim(0, 1.08 * np.nanmax([*one.to_numpy(float).ravel(), 1e-9]))


def _legend(axes: Axes, limits: Mapping[str, str]) -> None:
    """Name the lines above the first panel."""
    handles = [axes.plot([], [], color=INK, linewidth=1.0, linestyle=style, label=text)[0]
               for text, style in zip(limits.values(), STYLES, strict=False)]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1.16), ncols=len(handles), frameon=False,
                fontsize=8, borderaxespad=0)


def levels(table: pd.DataFrame, axes: np.ndarray, marks: Marks = NO_MARKS) -> np.ndarray:
    """One panel per storage: used, expired and free space, TB, and the level up to which it may be filled."""
    storages = list(dict.fromkeys(table.storage))
    for panel, storage, is_last in layout.small_panels(axes, storages, "TB", (0.5, 0.65, 0.36), STORAGE_TITLE):
        _level_panel(matrix(table[table.storage == storage], "time_s", "metric"), panel, marks, is_last)
    first = np.atleast_1d(axes).flat[0]
    handles = layout.handles_of(first)
    first.figure.legend(handles=handles, frameon=False, fontsize=layout.TICK, ncols=len(handles), labelcolor=INK,
                            loc="upper right", borderaxespad=0.2)
    return axes


def _level_panel(one: pd.DataFrame, axes: Axes, marks: Marks, label: bool) -> None:
    """The panel of one storage; columns: used, expired, free and min_free, TB; index: time, s."""
    unit = layout.time_axis(axes, one.index.max(), Marks(marks.start_s), label, most_ticks=5)
    times, size = one.index / unit, one.used + one.expired + one.free
    below = np.zeros(len(one))
    for name, colour in LEVEL_COLOURS.items():
        axes.fill_between(times, below, below + one[name], color=colour, linewidth=0, label=name)
        below = below + one[name]
    axes.plot(times, size - one.min_free, color=INK, linewidth=1.1, linestyle="--", label="filled but for the minimum")
    axes.set_ylim(0, max(1.02 * size.max(), 1e-9))


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
