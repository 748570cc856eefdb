"""Plots over time: stacked areas, lines and steps; each function draws a tidy table on Axes and returns them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from simgrid_broker.report.canvas import NO_MARKS, Marks, dress, label_beside, legend, thousands, time_axis
from simgrid_broker.report.palette import INK, OTHERS, RUN_COLOURS, categories
from simgrid_broker.report.words import spoken

MOST_LAYERS = 20
"""Maximum number of layers in a stack."""


def layers(table: pd.DataFrame, by: str, order: Sequence[str] | None = None, most: int = MOST_LAYERS) -> pd.DataFrame:
    """Values as (time, name), in the given order or largest first; names beyond the `most` largest are combined."""
    values = table.pivot_table("value", "time_s", by, aggfunc="sum", observed=True)
    by_size = sorted(values.columns, key=lambda name: (-values[name].sum(), name))
    kept = by_size if len(by_size) <= most else by_size[:most - 1]
    names = [name for name in (order or kept) if name in kept]
    rest = [name for name in by_size if name not in kept]
    values = values[names].assign(**({f"others ({len(rest)})": values[rest].sum(axis=1)} if rest else {}))
    return values.fillna(0.0)


def stacked(table: pd.DataFrame, axes: Axes, by: str, ylabel: str, colours: Mapping[str, str] | None = None,
            marks: Marks = NO_MARKS, order: Sequence[str] | None = None, most: int = MOST_LAYERS,
            capacity: float = np.nan) -> Axes:
    """Stacked layers over time, one per name in column `by`, labelled at the right; a line at `capacity` if given."""
    values = layers(table, by, order, most)
    colours = {**categories(list(values.columns)), **(colours or {})}
    colours |= {name: OTHERS for name in values.columns if name.startswith("others (")}
    dress(axes, ylabel=ylabel)
    unit = time_axis(axes, values.index.max(), marks, stack=True)
    axes.stackplot(values.index / unit, values.to_numpy().T, colors=[colours[name] for name in values.columns],
                   linewidth=0.3, edgecolor="white")
    top = values.sum(axis=1).max()
    if capacity > 0:
        axes.axhline(capacity, color=INK, linewidth=1, linestyle="--")
        axes.annotate("all cores", (0.01, capacity), xycoords=("axes fraction", "data"), fontsize=7.5, va="bottom",
                      color=INK)
        top = max(top, capacity)
    axes.set_ylim(0, 1.05 * top if top > 0 else 1)
    thousands(axes.yaxis)
    ends = values.iloc[-1].to_numpy()
    label_beside(axes, dict(zip(values.columns, ends.cumsum() - ends / 2, strict=True)), colours)
    return axes


def lines(table: pd.DataFrame, axes: Axes, by: str, ylabel: str, marks: Marks = NO_MARKS, most: int = 8,
          top: float | None = None) -> Axes:
    """Lines over time for the `most` names in column `by` with the highest final values, labelled at the right."""
    values = table.pivot_table("value", "time_s", by, observed=True)
    names = sorted(values.columns, key=lambda name: (-values[name].iloc[-1], name))[:most]
    colours = categories(names)
    dress(axes, ylabel=ylabel)
    unit = time_axis(axes, values.index.max(), marks)
    for name in names:
        axes.plot(values.index / unit, values[name], color=colours[name], linewidth=1.4)
    axes.set_ylim(0, top or max(1.05 * np.nanmax(values[names].to_numpy()), 1e-9))
    label_beside(axes, {name: values[name].iloc[-1] for name in names}, colours)
    return axes


def panels(table: pd.DataFrame, axes: np.ndarray, metrics: Mapping[str, str], marks: Marks = NO_MARKS) -> np.ndarray:
    """One panel per metric, top to bottom; metrics: names and axis labels."""
    end = table.time_s.max()
    for k, (panel, (metric, label)) in enumerate(zip(axes, metrics.items(), strict=True)):
        one = table[table.metric == metric]
        dress(panel, ylabel=label)
        unit = time_axis(panel, end, marks if k == 0 else Marks(marks.warm_up_s), label=True)
        if k < len(axes) - 1:
            panel.set_xlabel("")
        panel.fill_between(one.time_s / unit, one.value.fillna(0), step="pre", color=RUN_COLOURS[0], alpha=0.25,
                           linewidth=0)
        panel.step(one.time_s / unit, one.value, where="pre", color=RUN_COLOURS[0], linewidth=1.1)
        panel.set_ylim(bottom=0)
        thousands(panel.yaxis)
    return axes


def stacked_rates(table: pd.DataFrame, axes: Axes, by: str, ylabel: str, colours: Mapping[str, str],
                  marks: Marks = NO_MARKS) -> Axes:
    """Bars over time bins (`time_s`, `bin_s`), stacked by the names in column `by`."""
    dress(axes, ylabel=ylabel)
    bins = table[["time_s", "bin_s"]].drop_duplicates()
    unit = time_axis(axes, (bins.time_s + bins.bin_s).max(), marks)
    base = np.zeros(len(bins))
    for name, colour in colours.items():
        values = table.value[table[by] == name].to_numpy()
        if values.any():
            axes.bar(bins.time_s / unit, values, bins.bin_s / unit, base, align="edge", color=colour,
                     label=spoken(name), linewidth=0.4, edgecolor="white")
            base += values
    axes.set_ylim(0, max(1.05 * base.max(), 1e-9))
    thousands(axes.yaxis)
    if base.any():
        legend(axes, 4, loc="lower right", bbox_to_anchor=(1, 1))
    return axes


def overlaid(table: pd.DataFrame, axes: Axes, ylabel: str, marks: Marks = NO_MARKS) -> Axes:
    """One series of two runs (column `run`) as a line each."""
    dress(axes, ylabel=ylabel)
    unit = time_axis(axes, table.time_s.max(), marks)
    for (run, one), colour, style in zip(table.groupby("run", sort=False), RUN_COLOURS, ("-", (0, (5, 1.5))),
                                         strict=False):
        axes.plot(one.time_s / unit, one.value, color=colour, linestyle=style, linewidth=1.5, label=run)
    axes.set_ylim(bottom=0)
    thousands(axes.yaxis)
    legend(axes, 2, loc="lower right", bbox_to_anchor=(1, 1))
    return axes
