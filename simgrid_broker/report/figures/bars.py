"""Plots without a time axis: bars, distributions, pairs and heat maps."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from simgrid_broker.metrics import matrix, wide
from simgrid_broker.report.drawing.layout import (
    LEFT,
    LONGEST,
    TICK,
    amount_axis,
    blocks,
    cells,
    columns_beside,
    dress,
    extent,
    gaps,
    handles_of,
    legend_above,
    legend_beside,
    patches,
    rows_axis,
    widen,
)
from simgrid_broker.report.drawing.text_widths import fitted, height, widest, width
from simgrid_broker.report.figures.colours import categories
from simgrid_broker.report.words import BASE, INK, ON_HEAT, OTHERS, RUN_COLOURS, number, spoken
from simgrid_broker.units import HOUR, MINUTE, format_seconds

WAIT_TICKS = tuple(t / HOUR for t in (0, MINUTE, 3 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR,
                                      12 * HOUR, 24 * HOUR, 72 * HOUR, 240 * HOUR, 720 * HOUR))
"""Round waiting times for axis ticks, h."""
DARK = 0.6
"""Fraction of the largest value above which numbers are white."""
NUMBER = 7.0
"""Size of the numbers in a heat map, points."""
SMALLEST = 4.5
"""Size below which numbers are left out, points."""
SLANT = np.radians(35)
"""Angle of the names above a heat map."""


def waiting_boxes(table: pd.DataFrame, axes: Axes, by: str = "share") -> Axes:
    """Waiting times by group: line 5 to 95 %, box 25 to 75 %, mark at the median, job counts at the right."""
    rows = wide(table).iloc[::-1].reset_index(drop=True)
    dress(axes, xlabel="time from activated to running", grid="x")
    _boxes(axes, rows, rows.index.to_numpy(float), BASE[0], 0.62)
    _wait_axis(axes, rows.wait_p05.min(), rows.wait_p95.max())
    rows_axis(axes, rows[by])
    columns_beside(axes, [(head, rows[name].map(number).to_dict()) for name, head in (
        ("started", "started"), ("still_waiting", "still\nwaiting"), ("taken_back", "with-\ndrawn"))])
    return axes


def waiting_pair(table: pd.DataFrame, axes: Axes, by: str = "share",
                 xlabel: str = "time from activated to running") -> Axes:
    """Waiting times of two runs (column `run`), the boxes of each group one above the other."""
    names = list(dict.fromkeys(table[by]))[::-1]
    dress(axes, xlabel=xlabel, grid="x")
    shortest_h, longest_h = np.inf, 0.0
    for (run, waits), colour, shift in zip(table.groupby("run", sort=False), RUN_COLOURS, (0.2, -0.2), strict=False):
        rows = wide(waits.drop(columns="run"))
        _boxes(axes, rows, np.array([names.index(name) for name in rows[by]]) + shift, colour, 0.3, run)
        shortest_h = np.nanmin([shortest_h, rows.wait_p05.min()])
        longest_h = np.nanmax([longest_h, rows.wait_p95.max()])
    _wait_axis(axes, shortest_h, longest_h)
    rows_axis(axes, names)
    legend_above(axes, handles_of(axes))
    return axes


def stacked_bars(table: pd.DataFrame, axes: Axes, rows: str, parts: str, xlabel: str, most: int = 15,
                 most_parts: int = 7) -> Axes:
    """Horizontal bars of the `most` largest `rows`, stacked by `parts`; all but `most_parts` parts are combined."""
    values = matrix(table, rows, parts)
    amounts = np.nan_to_num(values.to_numpy())
    order, by_size = (np.argsort(-amounts.sum(axis=axis), kind="stable") for axis in (1, 0))
    order, rest = order[:most][::-1], by_size[most_parts:]
    shown = {values.columns[part]: amounts[order, part] for part in by_size[:most_parts]}
    colours = categories(list(shown)) | {f"others ({len(rest)})": OTHERS}
    if len(rest):
        shown[f"others ({len(rest)})"] = amounts[np.ix_(order, rest)].sum(axis=1)
    dress(axes, xlabel=xlabel, grid="x")
    base = np.zeros(len(order))
    for part, lengths in shown.items():
        blocks(axes, base, np.arange(len(order)) - 0.36, lengths, 0.72, facecolor=colours[part], edgecolor="white",
               linewidth=0.4, label=part)
        base += lengths
    rows_axis(axes, values.index[order])
    legend_beside(axes, patches({part: colours[part] for part in shown}))
    amount_axis(axes, base.max(initial=0))
    return axes


def cause_bars(table: pd.DataFrame, axes: np.ndarray, metrics: Sequence[tuple[str, str]]) -> np.ndarray:
    """Attempts that did not finish by cause, one panel per metric; `metrics` gives names and axis labels."""
    rows = wide(table).iloc[::-1].reset_index(drop=True)
    names = [f"{spoken(row.cause)} ({row.status})" for row in rows.itertuples()]
    rows_axis(axes[0], names)
    gaps(axes, across=0.3)
    for k, (panel, (metric, label)) in enumerate(zip(axes, metrics, strict=True)):
        dress(panel, xlabel=label, grid="x")
        panel.barh(rows.index, rows[metric], 0.7, color=BASE[3])
        rows_axis(panel, names if k == 0 else [""] * len(names))
        texts = [number(round(value)) for value in rows[metric]]
        amount_axis(panel, rows[metric].max(), widest(texts, TICK) + 0.1)
        for y, text in enumerate(texts):
            panel.annotate(text, (rows[metric][y], y), (4, 0), textcoords="offset points", fontsize=TICK, va="center",
                           color=INK)
    return axes


def link_bars(table: pd.DataFrame, axes: Axes, most: int = 15) -> Axes:
    """Part of the time in which bytes moved (bar), in the busiest sample (mark), of the `most` busiest links.

    At the right: volume moved.
    """
    rows = wide(table).head(most).iloc[::-1].reset_index(drop=True)
    dress(axes, xlabel="% of the time in which bytes moved: bar mean, mark busiest sample", grid="x")
    axes.barh(rows.index, rows.utilisation, 0.7, color=BASE[0])
    axes.scatter(rows.peak_utilisation, rows.index, marker="|", s=90, color=INK, linewidth=1.6)
    rows_axis(axes, rows.source + " → " + rows.destination)
    columns_beside(axes, [("moved (TB)", rows.moved.map(number).to_dict())])
    amount_axis(axes, rows.peak_utilisation.max())
    return axes


def pair_bars(table: pd.DataFrame, axes: Axes, by: str, xlabel: str, most: int = 15) -> Axes:
    """One metric of two runs (columns base and changed) as pairs of bars, largest first."""
    size = table[["base", "changed"]].max(axis=1)
    rows = table.loc[size.sort_values(ascending=False, kind="stable").index[:most][::-1]].reset_index(drop=True)
    dress(axes, xlabel=xlabel, grid="x")
    for name, label, colour, shift in (("base", "A", RUN_COLOURS[0], 0.2), ("changed", "B", RUN_COLOURS[1], -0.2)):
        axes.barh(rows.index + shift, rows[name].fillna(0), 0.38, color=colour, label=label)
    rows_axis(axes, rows[by])
    legend_above(axes, handles_of(axes))
    amount_axis(axes, rows[["base", "changed"]].max().max())
    return axes


def heat_map(table: pd.DataFrame, axes: Axes, rows: str, columns: str, order: Sequence[str], label: str) -> Axes:
    """The value of each pair of `rows` and `columns`, the first row at the top; pairs without a value stay empty.

    order: columns from left to right; columns that the table does not have are omitted.
    """
    present = set(table[columns])
    names, heads = list(dict.fromkeys(table[rows])), [head for head in order if head in present]
    values = matrix(table, rows, columns).reindex(index=names, columns=heads).to_numpy(float)
    largest = np.nanmax(values) if np.isfinite(values).any() else 1.0
    dress(axes, xlabel=label, grid="")
    cells(axes, np.clip(values / (largest or 1.0), 0, 1))
    _heat_labels(axes, names, heads)
    axes.tick_params(length=0)
    _heat_numbers(axes, values, DARK * largest)
    return axes


def _heat_labels(axes: Axes, names: Sequence, heads: Sequence) -> None:
    """Write names at the left and slanted heads above, with margins for both."""
    above = [fitted(str(head), TICK, LONGEST) for head in heads]
    beside = [fitted(str(name), TICK, LONGEST) for name in names]
    axes.set_xticks(range(len(heads)), above)
    axes.tick_params("x", labelrotation=np.degrees(SLANT), bottom=False, labelbottom=False, top=True, labeltop=True)
    axes.set_yticks(range(len(names)), beside)
    widen(axes, left=max(widest(beside, TICK) + 0.14, LEFT), top=widest(above, TICK) * np.sin(SLANT) + 0.25)
    cell = extent(axes)[0] / len(heads)
    behind = [width(head, TICK) * np.cos(SLANT) - (len(heads) - k - 0.5) * cell for k, head in enumerate(above)]
    widen(axes, right=max(behind) + 0.1)


def _heat_numbers(axes: Axes, values: np.ndarray, dark: float) -> None:
    """Write the values into their cells, white above `dark`; small, or not at all, where cells are narrow."""
    texts = {place: f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}"
             for place, value in np.ndenumerate(values) if np.isfinite(value)}
    cell_width, cell_height = (inches / n for inches, n in zip(extent(axes), values.shape[::-1], strict=True))
    size = NUMBER * min(1, cell_width / (widest(texts.values(), NUMBER) + 0.06), cell_height / height(1, NUMBER))
    for (y, x), text in texts.items() if size >= SMALLEST else ():
        axes.text(x, y, text, ha="center", va="center", fontsize=size, color=ON_HEAT if values[y, x] > dark else INK)


def _boxes(axes: Axes, rows: pd.DataFrame, y: np.ndarray, colour: str, height: float, label: str | None = None) -> None:
    """Draw the quantiles of each row as line, box and median mark at height y."""
    axes.hlines(y, rows.wait_p05, rows.wait_p95, color=colour, linewidth=1.2)
    axes.barh(y, rows.wait_p75 - rows.wait_p25, height, rows.wait_p25, color=colour, alpha=0.55, label=label)
    axes.vlines(rows.wait_p50, y - height / 2, y + height / 2, color=INK, linewidth=1.8)


def _wait_axis(axes: Axes, shortest_h: float, longest_h: float) -> None:
    """Set a logarithmic axis in hours, linear below one minute, that starts at the round time before the data."""
    axes.set_xscale("symlog", linthresh=MINUTE / HOUR, linscale=0.4)
    top = 1.3 * longest_h if longest_h > 0 else 1.0
    bottom = max((tick for tick in WAIT_TICKS if tick <= shortest_h and tick < longest_h), default=0.0)
    axes.set_xticks([tick for tick in WAIT_TICKS if bottom <= tick <= top])
    axes.minorticks_off()
    axes.set_xlim(bottom, top)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda hours, _: format_seconds(hours * HOUR) if hours else "0"))
