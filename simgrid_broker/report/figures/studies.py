"""Plots of studies: intervals, bands over time, maps and curves of responses; each draws a tidy table on Axes."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from simgrid_broker.report.blocks import NO_MARKS, Marks
from simgrid_broker.report.drawing.layout import (
    LABEL,
    TICK,
    cells,
    dress,
    handles_of,
    legend_above,
    rows_axis,
    thousands,
    time_axis,
    value_axis,
    widen,
)
from simgrid_broker.report.figures.colours import categories
from simgrid_broker.report.words import FAINT, INK, ON_HEAT, number

APART = 0.008
"""Part of the axis by which the error bars of several lines are moved apart."""
PALEST = 0.06
"""Opacity of the cell with the smallest value."""
DARK = 0.55
"""Part of the range of a map above which its cells are dark and their texts white."""


def forest(table: pd.DataFrame, axes: Axes, by: str = "group", xlabel: str = "difference, % of the base") -> Axes:
    """Differences with intervals, a row each (columns name, value, low, high, is_real); filled marks are real.

    by: column of the groups, which have a colour each.
    """
    names, groups = list(dict.fromkeys(table.name))[::-1], list(dict.fromkeys(table[by]))
    colours, place = categories(groups), {name: k for k, name in enumerate(names)}
    dress(axes, xlabel=xlabel, grid="x")
    rows_axis(axes, names)
    axes.axvline(0, color=INK, linewidth=0.9)
    gap = 0.7 / len(groups)
    for k, group in enumerate(groups):
        rows = table[table[by] == group]
        heights = rows.name.map(place).to_numpy(float) + gap * ((len(groups) - 1) / 2 - k)
        axes.hlines(heights, rows.low, rows.high, color=colours[group], linewidth=1.6)
        for real in (True, False):
            chosen = (rows.is_real == real).to_numpy()
            axes.scatter(rows.value[chosen], heights[chosen], s=30, zorder=3, edgecolor=colours[group],
                         facecolor=colours[group] if real else "white", linewidth=1.3)
    handles = [Line2D([], [], color=colours[group], marker="o", label=str(group)) for group in groups]
    handles += [Line2D([], [], linestyle="", marker="o", color=FAINT, label="real"),
                Line2D([], [], linestyle="", marker="o", markerfacecolor="white", color=FAINT, label="may be chance")]
    legend_above(axes, handles)
    return axes


def bands(table: pd.DataFrame, axes: Axes, ylabel: str, marks: Marks = NO_MARKS) -> Axes:
    """Means over time with bands (columns group, time_s, value, low, high)."""
    dress(axes, ylabel=ylabel)
    unit = time_axis(axes, table.time_s.max(), marks)
    colours = categories(list(dict.fromkeys(table.group)))
    for group, one in table.groupby("group", sort=False):
        axes.fill_between(one.time_s / unit, one.low, one.high, color=colours[group], alpha=0.2, linewidth=0)
        axes.plot(one.time_s / unit, one.value, color=colours[group], linewidth=1.5, label=str(group))
    value_axis(axes, table[["value", "low", "high"]])
    legend_above(axes, handles_of(axes))
    return axes


def spread_of_runs(table: pd.DataFrame, axes: Axes, xlabel: str = "value, % of the mean") -> Axes:
    """Single runs as dots and the interval of their mean as a line, a row for each name (columns name, value, low,
    high), all in % of the mean.
    """
    names = list(dict.fromkeys(table.name))[::-1]
    dress(axes, xlabel=xlabel, grid="x")
    rows_axis(axes, names)
    axes.axvline(100, color=INK, linewidth=0.9)
    place = table.name.map({name: k for k, name in enumerate(names)})
    axes.hlines(place, table.low, table.high, color="#9CC3DF", linewidth=7, label="95 % interval of the mean")
    axes.scatter(table.value, place, s=20, color="#0072B2", edgecolor="white", linewidth=0.6, zorder=3,
                 label="one run")
    legend_above(axes, handles_of(axes))
    return axes


def moved(table: pd.DataFrame, axes: Axes, xlabel: str) -> Axes:
    """Values before and after, a row each (columns name, before, value, low, high); the latter with intervals."""
    rows = table.iloc[::-1].reset_index(drop=True)
    dress(axes, xlabel=xlabel, grid="x")
    axes.hlines(rows.index, np.minimum(rows.before, rows.value), np.maximum(rows.before, rows.value), color=FAINT,
                linewidth=0.9)
    axes.scatter(rows.before, rows.index, s=30, facecolor="white", edgecolor=FAINT, linewidth=1.3, zorder=3,
                 label="before")
    axes.errorbar(rows.value, rows.index, xerr=[rows.value - rows.low, rows.high - rows.value], linestyle="",
                  marker="o", markersize=5, color="#0072B2", ecolor="#0072B2", capsize=2, zorder=4, label="after")
    rows_axis(axes, rows.name)
    legend_above(axes, handles_of(axes))
    return axes


def response(table: pd.DataFrame, axes: Axes, x: str, ylabel: str) -> Axes:
    """A figure over a setting with error bars, a line for each group of the other settings (columns `x`, line, value,
    low, high); settings that are no numbers are at equal distances.
    """
    dress(axes, xlabel=x, ylabel=ylabel)
    lines = list(dict.fromkeys(table.line))
    colours, places = categories(lines), _places(table[x])
    span = (max(places.values()) - min(places.values())) or 1
    for k, line in enumerate(lines):
        one = table[table.line == line]
        at = [places[value] + APART * span * (k - (len(lines) - 1) / 2) for value in one[x]]
        axes.errorbar(at, one.value, yerr=[one.value - one.low, one.high - one.value], color=colours[line], capsize=3,
                      marker="o", markersize=4, linewidth=1.4, label=str(line) or None)
    _settings_axis(axes, table, x)
    if len(lines) > 1:
        legend_above(axes, handles_of(axes))
    return axes


def heat_map(table: pd.DataFrame, axes: Axes, x: str, y: str, label: str) -> Axes:
    """A figure over two settings as coloured cells with the mean and half the width of its interval (columns `x`, `y`,
    value, low, high).
    """
    across, up = (_sorted(table[name]) for name in (x, y))
    values = np.full((len(up), len(across)), np.nan)
    for row in table.to_dict("records"):
        values[up.index(row[y]), across.index(row[x])] = row["value"]
    dress(axes, xlabel=x, ylabel=y, grid="")
    low, high = np.nanmin(values), np.nanmax(values)
    cells(axes, PALEST + (1 - PALEST) * (values - low) / ((high - low) or 1.0))
    axes.invert_yaxis()
    axes.set_xticks(range(len(across)), [_spoken(value) for value in across])
    axes.set_yticks(range(len(up)), [_spoken(value) for value in up])
    for row in table.to_dict("records"):
        dark = high > low and (row["value"] - low) / (high - low) > DARK
        axes.text(across.index(row[x]), up.index(row[y]), _with_error(row), ha="center", va="center", fontsize=TICK,
                  color=ON_HEAT if dark else INK)
    axes.set_title(f"{label}: {number(low)} to {number(high)}", fontsize=LABEL, color=INK, loc="right", pad=4, y=1)
    widen(axes, left=1.1, right=0.1, top=0.32)
    return axes


def scattered(table: pd.DataFrame, axes: Axes, x: str, ylabel: str) -> Axes:
    """A figure over a setting of a sample of points with error bars (columns x, value, low, high)."""
    dress(axes, xlabel=x, ylabel=ylabel)
    places = _places(table[x])
    at = [places[value] for value in table[x]]
    axes.errorbar(at, table.value, yerr=[table.value - table.low, table.high - table.value], linestyle="", marker="o",
                  markersize=4, color="#0072B2", ecolor="#9CC3DF", capsize=2)
    _settings_axis(axes, table, x)
    return axes


def effects(table: pd.DataFrame, axes: Axes, xlabel: str, kinds: Sequence[str]) -> Axes:
    """Bars with error bars, a row for each name and a colour for each kind (columns name, kind, value, error)."""
    names = list(dict.fromkeys(table.name))[::-1]
    dress(axes, xlabel=xlabel, grid="x")
    rows_axis(axes, names)
    colours, high = categories(list(kinds)), 0.75 / len(kinds)
    for k, kind in enumerate(kinds):
        one = table[table.kind == kind]
        at = one.name.map({name: place for place, name in enumerate(names)}) + high * ((len(kinds) - 1) / 2 - k)
        errors = one.error.fillna(0) if one.error.notna().any() else None
        axes.barh(at, one.value, 0.9 * high, color=colours[kind], label=kind, xerr=errors,
                  error_kw={"ecolor": INK, "elinewidth": 1, "capsize": 2})
    axes.axvline(0, color=INK, linewidth=0.9)
    legend_above(axes, handles_of(axes))
    return axes


def trade_off(table: pd.DataFrame, axes: Axes, xlabel: str, ylabel: str) -> Axes:
    """Trials by two objectives (columns x, y, kind), the kinds in colours of their own, in the order of the table."""
    dress(axes, xlabel=xlabel, ylabel=ylabel, grid="both")
    kinds = list(dict.fromkeys(table.kind))
    for (kind, one), colour in zip(((kind, table[table.kind == kind]) for kind in kinds),
                                   categories(kinds).values(), strict=True):
        axes.scatter(one.x, one.y, s=26, color=colour, edgecolor="white", linewidth=0.5, label=kind)
    thousands(axes.xaxis)
    thousands(axes.yaxis)
    legend_above(axes, handles_of(axes))
    return axes


def _settings_axis(axes: Axes, table: pd.DataFrame, x: str) -> None:
    """Set an axis of the values of a setting, and that of the figure over it."""
    if _all_numbers(table[x]):
        thousands(axes.xaxis)
    else:
        places = _places(table[x])
        axes.set_xticks(list(places.values()), [str(value) for value in places])
    value_axis(axes, table[["value", "low", "high"]])


def _with_error(row: dict) -> str:
    """A mean and half the width of its interval, which has two digits, as many behind the point as the mean."""
    half = (row["high"] - row["low"]) / 2
    if not (np.isfinite(half) and half > 0):
        return number(float(f"{row['value']:.4g}")) + ("\n± 0" if half == 0 else "")
    decimals = max(1 - int(np.floor(np.log10(half))), 0)
    return f"{row['value']:,.{decimals}f}\n± {half:,.{decimals}f}"


def _spoken(value: object) -> str:
    """A value of a setting on an axis: a whole number with separators of thousands."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _all_numbers(values: pd.Series) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _sorted(values: pd.Series) -> list:
    """The different values: numbers by size, others in order of appearance."""
    single = list(dict.fromkeys(values))
    return sorted(single) if _all_numbers(values) else single


def _places(values: pd.Series) -> dict:
    """Coordinate of each value on an axis."""
    if _all_numbers(values):
        return {value: value for value in values}
    return {value: place for place, value in enumerate(dict.fromkeys(values))}
