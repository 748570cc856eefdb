"""Plots of delivered power against target power, by share."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from simgrid_broker.metrics import NEAR, matrix, wide
from simgrid_broker.report.blocks import NO_MARKS, Marks
from simgrid_broker.report.drawing import layout
from simgrid_broker.report.drawing.text_widths import POINTS, fitted, width
from simgrid_broker.report.figures.colours import share_colours
from simgrid_broker.report.figures.series import stacked
from simgrid_broker.report.words import GRID, INK, RUN_COLOURS, SHADE

Groups = Mapping[str, Sequence[str]]
"""Leaf shares by the share at the top of the tree that they are below."""
COLUMN = 0.015, 0.05
"""Sides of the column of targets behind the end of the time axis, parts of its width."""
INDENT = 0.16
"""Indentation of a share below its parent, inches."""
RATIO_LIMIT = 2.0
"""Largest ratio of delivered to target power that is drawn to scale."""


def delivered_stack(table: pd.DataFrame, axes: Axes, groups: Groups, marks: Marks = NO_MARKS) -> Axes:
    """Delivered power of the leaves over time, % of all power in use, beside a column of their targets."""
    colours = share_colours(groups)
    shares = [name for name in colours if (table.share == name).any()]
    values = _by_time(table, "delivered", shares).fillna(0.0)
    targets = _by_time(table, "target", shares).ffill().iloc[-1].fillna(0.0)
    layout.dress(axes, ylabel="delivered power (% of all in use)", grid="")
    layout.room_beside(axes, shares, COLUMN[1])
    layout.widen(axes, top=0.3)
    unit = layout.time_axis(axes, values.index.max(), marks)
    axes.stackplot(values.index / unit, values.to_numpy().T, labels=shares, linewidth=0.3, edgecolor="white",
                   colors=[colours[name] for name in shares])
    axes.set_ylim(0, 100)
    bottom = targets.cumsum() - targets
    axes.bar(np.full(len(shares), 1 + COLUMN[0]), targets, COLUMN[1] - COLUMN[0], bottom, align="edge", linewidth=0.3,
             color=[colours[name] for name in shares], edgecolor="white", transform=axes.get_yaxis_transform(),
             clip_on=False)
    axes.annotate("target", (1 + sum(COLUMN) / 2, 1), (0, 3), xycoords="axes fraction", textcoords="offset points",
                  ha="center", va="bottom", fontsize=layout.TICK, color=INK)
    layout.label_beside(axes, dict(bottom + targets / 2), colours, COLUMN[1])
    return axes


def running_cores(table: pd.DataFrame, axes: Axes, groups: Groups, **options: Any) -> Axes:
    """Running cores by share, in the order of the tree."""
    colours = share_colours(groups)
    return stacked(table, axes, by="share", colours=colours, **options)


def share_panels(table: pd.DataFrame, axes: np.ndarray, shares: Sequence[str], groups: Groups,
                 marks: Marks = NO_MARKS) -> np.ndarray:
    """One small panel per share: delivered against target over time, grey where no work was waiting."""
    colours = share_colours(groups)
    columns = {name: _by_time(table, name, shares) for name in ("delivered", "target", "activated")}
    for panel, share, is_last in layout.small_panels(axes, shares, "% of power", (0.28, 0.5, 0.36)):
        one = pd.DataFrame({name: values[share] for name, values in columns.items()})
        _share_panel(one, panel, colours[share], marks, is_last)
    return axes


def _share_panel(one: pd.DataFrame, axes: Axes, colour: str, marks: Marks, label: bool) -> None:
    """The panel of one share; columns: delivered, target (%) and activated (jobs); index: time, s."""
    unit = layout.time_axis(axes, one.index.max(), Marks(marks.start_s), label, most_ticks=5)
    times = one.index / unit
    top = 1.2 * np.nanmax([*one.delivered, *one.target, 1e-9])
    axes.fill_between(times, 0, top, where=(one.activated == 0) & one.delivered.notna(), step="mid", color=SHADE,
                      linewidth=0)
    axes.fill_between(times, one.delivered.fillna(0), color=colour, alpha=0.55, linewidth=0)
    axes.plot(times, one.delivered, color=colour, linewidth=1.2, label="delivered")
    axes.plot(times, one.target, color=INK, linewidth=1.1, linestyle="--", label="target")
    axes.set_ylim(0, top)


def compliance_tree(table: pd.DataFrame, axes: np.ndarray) -> np.ndarray:
    """Every node of the tree in two panels: delivered power with a mark at the target, and their ratio."""
    nodes = wide(table, "delivered", "target", "deviation", "near")
    nodes = nodes[nodes.level > 0].iloc[::-1].reset_index(drop=True)
    power, ratio = axes
    _tree_labels(power, nodes)
    layout.columns_beside(ratio, [("mean abs.\ndeviation\n(% points)", _decimals(nodes.deviation, 2)),
                                  ("samples within\n10 % of due\n(%)", _decimals(nodes.near, 0))])
    layout.gaps(axes, across=0.25)
    layout.dress(power, xlabel="delivered (% of power in use); mark: target", grid="x")
    shade = [("#0072B2", "#56B4E9", "#A9D5F0")[min(level, 3) - 1] for level in nodes.level]
    power.barh(nodes.index, nodes.delivered.fillna(0), height=0.72, color=shade)
    power.vlines(nodes.target, nodes.index - 0.42, nodes.index + 0.42, color=INK, linewidth=1.8)
    layout.amount_axis(power, np.nanmax([*nodes.delivered, *nodes.target, 1e-9]))
    _ratios(ratio, nodes, shade)
    return axes


def _tree_labels(axes: Axes, nodes: pd.DataFrame) -> None:
    """Write the names of shares at the left, indented below their parents."""
    names = [fitted(row.share, layout.TICK, layout.LONGEST - INDENT * (row.level - 1)) for row in nodes.itertuples()]
    weights = np.where(nodes.level == 1, "bold", "normal")
    starts = INDENT * (nodes.level - 1).to_numpy()
    room = max(start + width(name, layout.TICK, weight)
               for start, name, weight in zip(starts, names, weights, strict=True)) + 0.1
    layout.widen(axes, left=room + 0.05)
    axes.set_yticks([])
    axes.set_ylim(-0.7, len(nodes) - 0.3)
    for y, (start, name, weight) in enumerate(zip(starts, names, weights, strict=True)):
        axes.annotate(name, (0, y), ((start - room) * POINTS, 0), xycoords=axes.get_yaxis_transform(), va="center",
                      textcoords="offset points", fontsize=layout.TICK, fontweight=weight, color=INK,
                      annotation_clip=False)


def _ratios(axes: Axes, nodes: pd.DataFrame, colours: Sequence[str]) -> None:
    """Draw delivered / target as dots; values above RATIO_LIMIT as arrows at the end of the axis."""
    layout.dress(axes, xlabel="delivered / target; grey: within 10 %", grid="x")
    ratio = nodes.delivered / nodes.target.where(nodes.target > 0)
    beyond = ratio > RATIO_LIMIT
    axes.axvspan(1 - NEAR, 1 + NEAR, color=GRID, linewidth=0, zorder=0)
    axes.axvline(1, color=INK, linewidth=1)
    axes.hlines(nodes.index, 1, ratio.clip(upper=RATIO_LIMIT), color=colours, linewidth=1.5)
    for which, shape, size in ((~beyond, "o", 26), (beyond, ">", 40)):
        axes.scatter(ratio[which].clip(upper=RATIO_LIMIT), nodes.index[which], marker=shape, s=size, zorder=3,
                     color=[colour for colour, shown in zip(colours, which, strict=True) if shown])
    axes.set_xlim(0, RATIO_LIMIT * 1.03)
    axes.set_yticks([])
    axes.set_ylim(-0.7, len(nodes) - 0.3)


def compliance_pair(table: pd.DataFrame, axes: Axes) -> Axes:
    """Delivered power of the leaves in two runs (columns base and changed) around their targets (base_target,
    target).
    """
    rows = table.iloc[::-1].reset_index(drop=True)
    layout.dress(axes, xlabel="delivered power (% of all in use); marks: targets", grid="x")
    axes.hlines(rows.index, rows.base, rows.changed, color="#CCCCCC", linewidth=3)
    for name, label, colour, shape in (("base", "A", RUN_COLOURS[0], "o"), ("changed", "B", RUN_COLOURS[1], "D")):
        target, low, high = (rows.base_target, 0.02, 0.4) if name == "base" else (rows.target, -0.4, -0.02)
        axes.vlines(target, rows.index + low, rows.index + high, color=colour, linewidth=1.8,
                    label=f"target of {label}")
        axes.scatter(rows[name], rows.index, color=colour, marker=shape, s=34, label=label, zorder=3)
    layout.rows_axis(axes, rows.share)
    layout.legend_above(axes, layout.handles_of(axes))
    layout.amount_axis(axes, rows[["base", "changed", "target", "base_target"]].max().max())
    return axes


def _decimals(values: pd.Series, digits: int) -> dict[float, str]:
    """Values by height as text; a dash for NaN."""
    return {y: "–" if np.isnan(value) else f"{value:.{digits}f}" for y, value in values.items()}


def _by_time(table: pd.DataFrame, metric: str, shares: Sequence[str]) -> pd.DataFrame:
    """Values of one metric as (time, share) for the named leaves."""
    one = table[table.metric == metric]
    return matrix(one, "time_s", "share").reindex(columns=list(shares))
