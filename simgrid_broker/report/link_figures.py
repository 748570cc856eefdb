"""Plots of doors and links over time, beside what limits them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import simgrid_broker.report.canvas as canvas
from simgrid_broker.metrics import matrix
from simgrid_broker.report.blocks import NO_MARKS, Marks
from simgrid_broker.report.lettering import fitted
from simgrid_broker.report.palette import BASE, INK

TITLE = 8.5
"""Size of the titles of panels, points."""
STYLES = ("--", ":")
"""Lines of limits, in their order."""


def limited_panels(table: pd.DataFrame, axes: np.ndarray, names: Sequence[str], by: str, value: str,
                   limits: Mapping[str, str], ylabel: str, marks: Marks = NO_MARKS) -> np.ndarray:
    """A panel for each name in column `by`: a metric over time, and other metrics as lines above which it cannot be.

    limits: metrics, with what a legend calls them.
    """
    panels, n_columns = np.atleast_1d(axes).ravel(), np.atleast_2d(axes).shape[1]
    canvas.widen(panels[0], top=0.62)
    canvas.gaps(panels, across=0.34, down=0.42)
    for k, (panel, name) in enumerate(zip(panels, names, strict=False)):
        one = matrix(table[(table[by] == name) & table.value.notna()], "time_s", "metric")
        _panel(one.reindex(columns=[value, *limits]), panel, name, limits, marks, label=k >= len(names) - n_columns)
        panel.set_ylabel(ylabel if k % n_columns == 0 else "", fontsize=8)
    for panel in panels[len(names):]:
        panel.set_visible(False)
    _legend(panels[0], limits)
    return axes


def _panel(one: pd.DataFrame, axes: Axes, name: str, limits: Mapping[str, str], marks: Marks, label: bool) -> None:
    """One panel; columns: the metric, then its limits; index: time, s."""
    canvas.dress(axes)
    unit = canvas.time_axis(axes, one.index.max(), Marks(marks.start_s), label, most_ticks=6)
    times, values = one.index / unit, one.iloc[:, 0]
    axes.fill_between(times, 0, values.fillna(0), step="pre", color=BASE[0], alpha=0.35, linewidth=0)
    axes.step(times, values, where="pre", color=BASE[0], linewidth=1.0)
    for limit, style in zip(limits, STYLES, strict=False):
        axes.step(times, one[limit], where="pre", color=INK, linewidth=1.0, linestyle=style)
    axes.set_ylim(0, 1.08 * np.nanmax([*one.to_numpy(float).ravel(), 1e-9]))
    axes.set_title(fitted(name, TITLE, canvas.extent(axes)[0]), fontsize=TITLE, color=INK, loc="left", pad=3, y=1)
    axes.tick_params(labelsize=7, labelbottom=label)


def _legend(axes: Axes, limits: Mapping[str, str]) -> None:
    """Name the lines above the first panel."""
    handles = [axes.plot([], [], color=INK, linewidth=1.0, linestyle=style, label=text)[0]
               for text, style in zip(limits.values(), STYLES, strict=False)]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1.16), ncols=len(handles), frameon=False,
                fontsize=8, borderaxespad=0)
