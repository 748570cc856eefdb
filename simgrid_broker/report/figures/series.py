"""Plots over time of areas, lines, steps and phases of tasks; each function draws a tidy table on Axes."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from simgrid_broker.metrics import FINAL_TASK, matrix, phase_of, wide
from simgrid_broker.report.blocks import NO_MARKS, Marks
from simgrid_broker.report.drawing.layout import (
    SIDE,
    blocks,
    dress,
    gaps,
    handles_of,
    label_beside,
    legend_above,
    legend_beside,
    patches,
    room_beside,
    rows_axis,
    thousands,
    time_axis,
    value_axis,
)
from simgrid_broker.report.figures.colours import categories
from simgrid_broker.report.words import INK, OTHERS, PHASE_COLOURS, RUN_COLOURS, spoken

MOST_LAYERS = 20
FLATTENED = 3.0
"""Ratio of all cores to the most in use above which a line at all cores is left out."""
ENDS = {"done": ("o", "#009E73"), "finished": ("D", "#56B4E9"), "failed": ("X", "#D55E00"),
        "aborted": ("s", "#CC79A7"), "broken": ("P", INK)}


def layers(table: pd.DataFrame, by: str, order: Sequence[str] | None = None, most: int = MOST_LAYERS) -> pd.DataFrame:
    """Values as (time, name), in the given order or largest first; names beyond the `most` largest are combined."""
    values = matrix(table, "time_s", by)
    size = dict(zip(values.columns, np.nansum(values.to_numpy(), axis=0).tolist(), strict=True))
    by_size = sorted(size, key=lambda name: (-size[name], name))
    kept = by_size if len(by_size) <= most else by_size[:most - 1]
    shown = values[[name for name in (order or kept) if name in kept]].fillna(0.0)
    if rest := by_size[len(kept):]:
        shown[f"others ({len(rest)})"] = values[rest].sum(axis=1)
    return shown


def stacked(table: pd.DataFrame, axes: Axes, by: str, ylabel: str, colours: Mapping[str, str] | None = None,
            marks: Marks = NO_MARKS, most: int = MOST_LAYERS, capacity: float = np.nan) -> Axes:
    """Stacked layers over time, one per name in column `by`, labelled at the right; a line at `capacity` if given.

    colours: of names, in the order of their layers; without them the largest layer is the lowest.
    """
    values = layers(table, by, list(colours or ()), most)
    colours = {**categories(list(values.columns)), **(colours or {})}
    colours |= {name: OTHERS for name in values.columns if name.startswith("others (")}
    dress(axes, ylabel=ylabel)
    room_beside(axes, values.columns)
    unit = time_axis(axes, values.index.max(), marks)
    axes.stackplot(values.index / unit, values.to_numpy().T, labels=list(values.columns), linewidth=0.3,
                   edgecolor="white", colors=[colours[name] for name in values.columns])
    top = _with_capacity(axes, values.sum(axis=1).max(), capacity)
    axes.set_ylim(0, 1.05 * top if top > 0 else 1)
    thousands(axes.yaxis)
    ends = values.iloc[-1].to_numpy()
    label_beside(axes, dict(zip(values.columns, ends.cumsum() - ends / 2, strict=True)), colours)
    return axes


def _with_capacity(axes: Axes, top: float, capacity: float) -> float:
    """Name all cores at a line, or above the axis if that would flatten the layers; returns the end of the axis."""
    if not capacity > 0:
        return top
    if capacity > FLATTENED * top > 0:
        axes.annotate(f"all cores: {capacity:,.0f}, beyond the axis", (0.01, 0.97), xycoords="axes fraction",
                      fontsize=SIDE, va="top", color=INK)
        return 1.1 * top
    axes.axhline(capacity, color=INK, linewidth=1, linestyle="--")
    axes.annotate("all cores", (0.01, capacity), xycoords=("axes fraction", "data"), fontsize=SIDE, va="bottom",
                  color=INK)
    return max(top, capacity)


def lines(table: pd.DataFrame, axes: Axes, by: str, ylabel: str, marks: Marks = NO_MARKS, most: int = 8,
          least: float = 0.0) -> Axes:
    """Lines over time for the `most` names in column `by` with the highest final values, labelled at the right."""
    values = matrix(table[table.value.notna()], "time_s", by)
    names = sorted(values.columns, key=lambda name: (-values[name].iloc[-1], name))[:most]
    colours = categories(names)
    dress(axes, ylabel=ylabel)
    room_beside(axes, names)
    unit = time_axis(axes, values.index.max(), marks)
    for name in names:
        axes.plot(values.index / unit, values[name], color=colours[name], linewidth=1.4, label=name)
    value_axis(axes, values[names], least)
    label_beside(axes, {name: values[name].iloc[-1] for name in names}, colours)
    return axes


def panels(table: pd.DataFrame, axes: np.ndarray, metrics: Mapping[str, str], marks: Marks = NO_MARKS, by: str = ""
           ) -> np.ndarray:
    """One panel per metric, top to bottom; metrics: names and axis labels.

    A line holds for the time before each value; with a column `by` there is one for each of its names, which holds
    from each value on.
    """
    end, names, where = table.time_s.max(), list(dict.fromkeys(table[by])) if by else [""], "post" if by else "pre"
    for k, (panel, (metric, label)) in enumerate(zip(axes, metrics.items(), strict=True)):
        one = table[table.metric == metric]
        dress(panel, ylabel=label)
        unit = time_axis(panel, end, marks, label=k == len(axes) - 1)
        for name, colour in categories(names).items():
            own = one[one[by] == name] if by else one
            panel.step(own.time_s / unit, own.value, where=where, color=colour, linewidth=1.3, label=name or label)
        value_axis(panel, one.value)
    gaps(axes, down=0.35)
    if by:
        legend_above(axes[0], handles_of(axes[0]))
    return axes


def stacked_rates(table: pd.DataFrame, axes: Axes, by: str, ylabel: str, colours: Mapping[str, str],
                  marks: Marks = NO_MARKS) -> Axes:
    """Bars over time bins (`time_s`, `bin_s`), stacked by the names in column `by`."""
    dress(axes, ylabel=ylabel)
    bins = table[["time_s", "bin_s"]].drop_duplicates()
    unit = time_axis(axes, (bins.time_s + bins.bin_s).max(), marks)
    base = np.zeros(len(bins))
    shown = {name: table.value[table[by] == name].to_numpy() for name in colours}
    shown = {name: values for name, values in shown.items() if values.any()}
    for name, values in shown.items():
        blocks(axes, bins.time_s / unit, base, bins.bin_s / unit, values, facecolor=colours[name], edgecolor="white",
               linewidth=0.4, label=spoken(name))
        base += values
    axes.set_ylim(0, max(1.05 * base.max(), 1e-9))
    thousands(axes.yaxis)
    if shown:
        legend_above(axes, patches({spoken(name): colours[name] for name in shown}))
    return axes


def overlaid(table: pd.DataFrame, axes: Axes, ylabel: str, marks: Marks = NO_MARKS) -> Axes:
    """One series of two runs (column `run`) as a line each."""
    dress(axes, ylabel=ylabel)
    unit = time_axis(axes, table.time_s.max(), marks)
    for (run, one), colour, style in zip(table.groupby("run", sort=False), RUN_COLOURS, ("-", (0, (5, 1.5))),
                                         strict=False):
        axes.plot(one.time_s / unit, one.value, color=colour, linestyle=style, linewidth=1.5, label=run)
    value_axis(axes, table.value)
    legend_above(axes, handles_of(axes))
    return axes


def gantt(table: pd.DataFrame, axes: Axes, end_s: float, marks: Marks = NO_MARKS) -> Axes:
    """A row per task, coloured by phase, the first task at the top, with a mark at its end."""
    rows = wide(table)
    rows = rows[rows.end >= marks.start_s]
    names = {task: f"{task} {name}" for task, name in zip(rows.jeditaskid, rows.name, strict=True)}
    place = {task: len(names) - 1 - k for k, task in enumerate(names)}
    dress(axes, ylabel="task: jeditaskid and name", grid="x")
    rows = rows.assign(y=rows.jeditaskid.map(place), phase=rows.status.map(phase_of))
    rows_axis(axes, list(names.values())[::-1])
    legend_beside(axes, _legend(rows))
    unit = time_axis(axes, end_s, marks)
    axes.set_gid(f"{unit} nan")                                # heights are tasks, no values
    for phase, stays in rows[~rows.status.isin(FINAL_TASK)].groupby("phase"):
        blocks(axes, stays.start / unit, stays.y - 0.37, (stays.end - stays.start) / unit, 0.74, linewidth=0,
               facecolor=PHASE_COLOURS[phase], label=phase)
    for status, ends in rows[rows.status.isin(FINAL_TASK)].groupby("status"):
        mark, colour = ENDS[status]
        axes.scatter(ends.start / unit, ends.y, s=26, marker=mark, color=colour, edgecolor="white", linewidth=0.6,
                     zorder=4, clip_on=False)
    return axes


def _legend(rows: pd.DataFrame) -> list[Artist]:
    seen = set(rows.phase[(rows.end > rows.start) & ~rows.status.isin(FINAL_TASK)])
    ends = set(rows.status)
    return [*patches({phase: colour for phase, colour in PHASE_COLOURS.items() if phase in seen}),
            *(Line2D([], [], linestyle="", marker=mark, color=colour, label=status)
              for status, (mark, colour) in ENDS.items() if status in ends)]
