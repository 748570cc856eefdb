"""The style shared by all plots, and their conversion to PNG without Matplotlib's global state."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from simgrid_broker.report.palette import FAINT, INK
from simgrid_broker.units import DAY, HOUR, MINUTE

DPI = 150
MOST_LABELS = 8
LEAST_DISTANCE = 0.05
"""Part of the time axis below which the labels of two incidents would overprint."""


@dataclass(frozen=True)
class Marks:
    """Marks on a time axis: the end of the warm-up and the incidents, s."""

    warm_up_s: float = 0.0
    incidents: tuple[tuple[float, str], ...] = ()


NO_MARKS = Marks()


def png(draw, table, size: tuple[float, float], panels: tuple[int, int] = (1, 1)) -> bytes:
    """PNG of what `draw(table, axes)` draws; size: inches; `axes` is an array if there are several panels."""
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(*panels)
    draw(table, axes)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def dress(axes: Axes, xlabel: str = "", ylabel: str = "", grid: Literal["x", "y", "both", ""] = "y") -> Axes:
    """Set axis labels, a light grid and no frame."""
    axes.set_xlabel(xlabel, color=INK, fontsize=9)
    axes.set_ylabel(ylabel, color=INK, fontsize=9)
    axes.tick_params(labelsize=8, colors=INK, length=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(True, axis=grid, color="#E4E4E4", linewidth=0.7)
    return axes


def rows_axis(axes: Axes, names: Sequence[str]) -> None:
    """Label one row per name, the first at the bottom; the axis spans at least three rows to keep bars thin."""
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(min(-0.7, len(names) - 3.7), len(names) - 0.3)


def thousands(axis) -> None:
    """Format the tick labels of an axis with thousands separators."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value == int(value) else f"{value:g}"))


def time_unit(end_s: float) -> tuple[float, str]:
    """Unit for a time axis that ends at `end_s`: length in s, and name."""
    for limit, unit, name in ((3 * MINUTE, 1.0, "s"), (3 * HOUR, MINUTE, "min"), (4 * DAY, HOUR, "h")):
        if end_s <= limit:
            return unit, name
    return DAY, "days"


def time_axis(axes: Axes, end_s: float, marks: Marks, label: bool = True, stack: bool = False) -> float:
    """Set up the time axis up to `end_s`, with warm-up shaded and incidents marked; returns the length of its unit, s.

    stack: the warm-up is drawn pale over the data instead of shaded behind them.
    """
    unit, name = time_unit(end_s)
    axes.set_xlim(0, max(end_s / unit, 1e-9))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=12, steps=[1, 2, 3, 6, 10] if name == "h" else None))
    if label:
        axes.set_xlabel(f"simulated time ({name})", color=INK, fontsize=9)
    if marks.warm_up_s > 0:
        look: dict[str, Any] = {"color": "#F0EEE6", "zorder": 0}
        if stack:
            look = {"color": "white", "alpha": 0.55, "zorder": 2.5}
        axes.axvspan(0, min(marks.warm_up_s, end_s) / unit, linewidth=0, **look)
    incidents = [(at, text) for at, text in marks.incidents if at <= end_s]
    for at, _ in incidents:
        axes.axvline(at / unit, color=FAINT, linewidth=0.8, linestyle=":", zorder=3)
    named = apart(incidents, LEAST_DISTANCE * end_s)
    if label and len(named) <= MOST_LABELS:
        for at, text in named:
            axes.text(at / unit, 1.01, text, transform=axes.get_xaxis_transform(), fontsize=6.5, color=FAINT,
                      rotation=20, ha="left", va="bottom")
    return unit


def apart(marks: Sequence[tuple[float, str]], distance: float) -> list[tuple[float, str]]:
    """Marks in order of time; those closer than `distance` to the first of a group have one text."""
    groups: list[tuple[float, list[str]]] = []
    for at, text in marks:
        if groups and at - groups[-1][0] < distance:
            groups[-1][1].append(text)
        else:
            groups.append((at, [text]))
    return [(at, texts[0] if len(texts) == 1 else f"{texts[0]} and {len(texts) - 1} more") for at, texts in groups]


def label_beside(axes: Axes, heights: Mapping[str, float], colours: Mapping[str, str], x: float = 1.0) -> None:
    """Write each name to the right of the axes at its height (data coordinates), without overlap."""
    low, high = axes.get_ylim()
    names = sorted(heights, key=lambda name: heights[name])
    wanted = np.array([(heights[name] - low) / (high - low) for name in names])
    inches = cast(Figure, axes.figure).get_figheight() * 0.8
    placed = spread(wanted, gap=min(0.135 / inches, 1 / max(len(names), 1)))
    for name, spot, target in zip(names, placed, wanted, strict=True):
        axes.plot([x, x + 0.025], [target, spot], transform=axes.transAxes, color=colours[name], linewidth=1.6,
                  clip_on=False)
        axes.text(x + 0.03, spot, name, transform=axes.transAxes, fontsize=7.5, va="center", color=INK)


def column_beside(axes: Axes, head: str, values: Mapping[float, str], offset: float) -> None:
    """Write values at their heights (data coordinates), right-aligned `offset` points to the right of the axes."""
    for y, text in values.items():
        axes.annotate(text, xy=(1, y), xytext=(offset, 0), xycoords=("axes fraction", "data"), va="center", ha="right",
                      textcoords="offset points", fontsize=8, color=INK, annotation_clip=False)
    axes.annotate(head, xy=(1, 1), xytext=(offset, 3), xycoords="axes fraction", va="bottom", ha="right", color=FAINT,
                  textcoords="offset points", fontsize=7.5, annotation_clip=False)


def spread(wanted: Sequence[float] | np.ndarray, gap: float) -> np.ndarray:
    """Heights close to `wanted` (ascending, 0 to 1), at least `gap` apart and within 0 and 1.

    The mean of an upward and a downward pass, so that clusters spread to both sides.
    """
    steps = gap * np.arange(len(wanted))
    room = 1 - gap * max(len(wanted) - 1, 0)
    free = np.clip(np.asarray(wanted, float) - steps, 0, max(room, 0))
    upward = np.maximum.accumulate(free)
    downward = np.minimum.accumulate(free[::-1])[::-1]
    return (upward + downward) / 2 + steps


def legend(axes: Axes, columns: int = 1, **where) -> None:
    """A legend without a frame."""
    axes.legend(frameon=False, fontsize=8, ncols=columns, labelcolor=INK, **where)
