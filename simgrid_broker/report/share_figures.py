"""Plots of delivered power against target power, by share."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

import simgrid_broker.report.canvas as canvas
from simgrid_broker.metrics import NEAR, wide
from simgrid_broker.report.canvas import NO_MARKS, Marks
from simgrid_broker.report.palette import INK, RUN_COLOURS
from simgrid_broker.report.words import shortened

PANEL_COLUMNS = 4
LONGEST_TITLE = 30
RATIO_LIMIT = 2.0
"""Largest ratio of delivered to target power that is drawn to scale."""


def delivered_stack(table: pd.DataFrame, axes: Axes, colours: Mapping[str, str], marks: Marks = NO_MARKS) -> Axes:
    """Delivered power of the leaves over time, % of all power in use, beside a column of their targets."""
    shares = [name for name in colours if (table.share == name).any()]
    values = _by_time(table, "delivered", shares).fillna(0.0)
    targets = _by_time(table, "target", shares).ffill().iloc[-1].fillna(0.0)
    canvas.dress(axes, ylabel="delivered power (% of all in use)", grid="")
    unit = canvas.time_axis(axes, values.index.max(), marks, stack=True)
    end = values.index.max() / unit
    axes.stackplot(values.index / unit, values.to_numpy().T, colors=[colours[name] for name in shares], linewidth=0.3,
                   edgecolor="white")
    axes.set_ylim(0, 100)
    axes.set_xlim(0, 1.06 * end)
    bottom = targets.cumsum() - targets
    axes.bar(np.full(len(shares), 1.02 * end), targets, 0.04 * end, bottom, align="edge", linewidth=0.3,
             color=[colours[name] for name in shares], edgecolor="white")
    axes.text(1.04 * end, 101, "target", ha="center", va="bottom", fontsize=8, color=INK)
    canvas.label_beside(axes, dict(bottom + targets / 2), colours)
    return axes


def share_panels(table: pd.DataFrame, axes: np.ndarray, shares: Sequence[str], colours: Mapping[str, str],
                 marks: Marks = NO_MARKS) -> np.ndarray:
    """One small panel per share: delivered against target over time, grey where no work was waiting."""
    panels = np.atleast_1d(axes).ravel()
    columns = {name: _by_time(table, name, shares) for name in ("delivered", "target", "activated")}
    for k, (panel, share) in enumerate(zip(panels, shares, strict=False)):
        one = pd.DataFrame({name: values[share] for name, values in columns.items()})
        share_panel(one, panel, share, colours[share], marks, label=k >= len(shares) - PANEL_COLUMNS)
        panel.set_ylabel("% of power" if k % PANEL_COLUMNS == 0 else "", fontsize=8)
    for panel in panels[len(shares):]:
        panel.set_visible(False)
    return axes


def share_panel(one: pd.DataFrame, axes: Axes, share: str, colour: str, marks: Marks = NO_MARKS,
                label: bool = True) -> Axes:
    """The panel of one share; columns: delivered, target (%) and activated (jobs); index: time, s."""
    canvas.dress(axes)
    unit = canvas.time_axis(axes, one.index.max(), Marks(marks.warm_up_s), label)
    times = one.index / unit
    inside = one[one.index >= marks.warm_up_s] if one.index.max() > marks.warm_up_s else one
    top = 1.2 * np.nanmax([*inside.delivered, *inside.target, 1e-9])
    axes.fill_between(times, 0, top, where=(one.activated == 0) & one.delivered.notna(), step="mid", color="#DDDDDD",
                      linewidth=0)
    axes.fill_between(times, one.delivered.fillna(0), color=colour, alpha=0.55, linewidth=0)
    axes.plot(times, one.delivered, color=colour, linewidth=1.2)
    axes.plot(times, one.target, color=INK, linewidth=1.1, linestyle="--")
    axes.set_ylim(0, top)
    axes.set_title(shortened(share, LONGEST_TITLE), fontsize=8.5, color=INK, loc="left", pad=3)
    axes.tick_params(labelsize=7, labelbottom=label)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 3, 6, 10]))
    return axes


def compliance_tree(table: pd.DataFrame, axes: np.ndarray) -> np.ndarray:
    """Every node of the tree in two panels: delivered power with a mark at the target, and their ratio."""
    nodes = wide(table, "delivered", "target", "deviation", "near")
    nodes = nodes[nodes.level > 0].iloc[::-1].reset_index(drop=True)
    power, ratio = axes
    canvas.dress(power, xlabel="delivered (% of power in use); mark: target", grid="x")
    shade = [("#0072B2", "#56B4E9", "#A9D5F0")[min(level, 3) - 1] for level in nodes.level]
    power.barh(nodes.index, nodes.delivered.fillna(0), height=0.72, color=shade)
    power.vlines(nodes.target, nodes.index - 0.42, nodes.index + 0.42, color=INK, linewidth=1.8)
    power.set_xlim(0, 1.08 * np.nanmax([*nodes.delivered, *nodes.target, 1e-9]))
    _tree_labels(power, nodes)
    _ratios(ratio, nodes, shade)
    canvas.column_beside(ratio, "mean abs.\ndeviation\n(% points)", _decimals(nodes.deviation, 2), 55)
    canvas.column_beside(ratio, "samples within\n10 % of target\n(%)", _decimals(nodes.near, 0), 122)
    return axes


def _tree_labels(axes: Axes, nodes: pd.DataFrame) -> None:
    axes.set_yticks(nodes.index, ["      " * (row.level - 1) + row.share for row in nodes.itertuples()], fontsize=8)
    for label, level in zip(axes.get_yticklabels(), nodes.level, strict=True):
        label.set_fontweight("bold" if level == 1 else "normal")
        label.set_horizontalalignment("left")
    axes.tick_params(axis="y", length=0, pad=5 * max(len(label.get_text()) for label in axes.get_yticklabels()))
    axes.set_ylim(-0.7, len(nodes) - 0.3)


def _ratios(axes: Axes, nodes: pd.DataFrame, colours: Sequence[str]) -> None:
    """Draw delivered / target as dots; values above RATIO_LIMIT as arrows at the end of the axis."""
    canvas.dress(axes, xlabel="delivered / target; grey: within 10 %", grid="x")
    ratio = nodes.delivered / nodes.target.where(nodes.target > 0)
    beyond = ratio > RATIO_LIMIT
    axes.axvspan(1 - NEAR, 1 + NEAR, color="#E4E4E4", linewidth=0, zorder=0)
    axes.axvline(1, color=INK, linewidth=1)
    axes.hlines(nodes.index, 1, ratio.clip(upper=RATIO_LIMIT), color=colours, linewidth=1.5)
    for which, shape, size in ((~beyond, "o", 26), (beyond, ">", 40)):
        axes.scatter(ratio[which].clip(upper=RATIO_LIMIT), nodes.index[which], marker=shape, s=size, zorder=3,
                     color=[colour for colour, shown in zip(colours, which, strict=True) if shown])
    axes.set_xlim(0, RATIO_LIMIT * 1.03)
    axes.set_yticks([])
    axes.set_ylim(-0.7, len(nodes) - 0.3)


def compliance_pair(table: pd.DataFrame, axes: Axes) -> Axes:
    """Delivered power of the leaves in two runs (columns base and changed) around the target of the second."""
    rows = table.iloc[::-1].reset_index(drop=True)
    canvas.dress(axes, xlabel="delivered power (% of all in use); black mark: target of B", grid="x")
    axes.hlines(rows.index, rows.base, rows.changed, color="#CCCCCC", linewidth=3)
    axes.vlines(rows.target, rows.index - 0.4, rows.index + 0.4, color=INK, linewidth=1.6)
    for name, label, colour, shape in (("base", "A", RUN_COLOURS[0], "o"), ("changed", "B", RUN_COLOURS[1], "D")):
        axes.scatter(rows[name], rows.index, color=colour, marker=shape, s=34, label=label, zorder=3)
    canvas.rows_axis(axes, rows.share)
    axes.set_xlim(left=0)
    canvas.legend(axes, 2, loc="lower right", bbox_to_anchor=(1, 1))
    return axes


def _decimals(values: pd.Series, digits: int) -> dict[float, str]:
    """Values by height as text; a dash for NaN."""
    return {y: "–" if np.isnan(value) else f"{value:.{digits}f}" for y, value in values.items()}


def _by_time(table: pd.DataFrame, metric: str, shares: Sequence[str]) -> pd.DataFrame:
    """Values of one metric as (time, share) for the named leaves."""
    one = table[table.metric == metric]
    return one.pivot_table("value", "time_s", "share", aggfunc="first", dropna=False).reindex(columns=list(shares))
