"""The look that all figures share: axes, time axes, labels beside curves, and the way to PNG.

What lives here: everything about a figure that is not its content. What does not: the figures (`series`, `bars`,
`share_figures`). No global state of Matplotlib is touched.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from simgrid_broker.report.palette import FAINT, INK
from simgrid_broker.units import DAY, HOUR, MINUTE

DPI = 150


@dataclass(frozen=True)
class Marks:
    """What a time axis shows beside the data: the end of the warm-up and the incidents, s."""

    warm_up_s: float = 0.0
    incidents: tuple[tuple[float, str], ...] = ()


def png(draw, table, size: tuple[float, float], panels: tuple[int, int] = (1, 1)) -> bytes:
    """The picture that `draw(table, axes)` makes, `size` in inches; axes is an array if there are several panels."""
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(*panels)
    draw(table, axes)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def dress(axes: Axes, xlabel: str = "", ylabel: str = "", grid: str = "y") -> Axes:
    """Labels, light grid and no box."""
    axes.set_xlabel(xlabel, color=INK, fontsize=9)
    axes.set_ylabel(ylabel, color=INK, fontsize=9)
    axes.tick_params(labelsize=8, colors=INK, length=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(True, axis=grid, color="#E4E4E4", linewidth=0.7)
    return axes


def thousands(axis) -> None:
    """Write the numbers of an axis with their thousands separated."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value == int(value) else f"{value:g}"))


def time_unit(end_s: float) -> tuple[float, str]:
    """Unit in which a span of time is drawn: its length in s and its name."""
    for limit, unit, name in ((3 * MINUTE, 1.0, "s"), (3 * HOUR, MINUTE, "min"), (4 * DAY, HOUR, "h")):
        if end_s <= limit:
            return unit, name
    return DAY, "days"


def time_axis(axes: Axes, end_s: float, marks: Marks, label: bool = True) -> float:
    """Prepare the time axis up to `end_s`, with the warm-up shaded and incidents marked; returns its unit in s."""
    unit, name = time_unit(end_s)
    axes.set_xlim(0, max(end_s / unit, 1e-9))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=12, steps=[1, 2, 3, 6, 10] if name == "h" else None))
    if label:
        axes.set_xlabel(f"simulated time ({name})", color=INK, fontsize=9)
    if marks.warm_up_s > 0:
        axes.axvspan(0, min(marks.warm_up_s, end_s) / unit, color="#F0EEE6", zorder=0, linewidth=0)
    for at, what in marks.incidents:
        axes.axvline(at / unit, color=FAINT, linewidth=0.8, linestyle=":", zorder=3)
        if label:
            axes.text(at / unit, 1.01, what, transform=axes.get_xaxis_transform(), fontsize=6.5, color=FAINT,
                      rotation=20, ha="left", va="bottom")
    return unit


def label_beside(axes: Axes, heights: Mapping[str, float], colours: Mapping[str, str], x: float = 1.0) -> None:
    """Write each name to the right of the axes beside its height (data), spread so that none covers another."""
    low, high = axes.get_ylim()
    names = sorted(heights, key=lambda name: heights[name])
    wanted = np.array([(heights[name] - low) / (high - low) for name in names])
    inches = axes.figure.get_figheight() * 0.8
    placed = spread(wanted, gap=min(0.135 / inches, 1 / max(len(names), 1)))
    for name, spot, target in zip(names, placed, wanted, strict=True):
        axes.annotate(name, xy=(x, target), xytext=(x + 0.025, spot), xycoords="axes fraction", fontsize=7.5,
                      textcoords="axes fraction", va="center", ha="left", color=INK, annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "color": colours[name], "linewidth": 1.6, "shrinkA": 0,
                                  "shrinkB": 0})


def spread(wanted: Sequence[float], gap: float) -> np.ndarray:
    """Heights near the `wanted` ones (ascending, 0 to 1) that are at least `gap` apart and stay within 0 and 1."""
    placed = np.array(wanted, float)
    for k in range(1, len(placed)):
        placed[k] = max(placed[k], placed[k - 1] + gap)
    ceiling = 1.0
    for k in range(len(placed) - 1, -1, -1):
        placed[k] = min(placed[k], ceiling)
        ceiling = placed[k] - gap
    return placed


def legend(axes: Axes, columns: int = 1, **where) -> None:
    """A legend without a frame."""
    axes.legend(frameon=False, fontsize=8, ncols=columns, labelcolor=INK, **where)
