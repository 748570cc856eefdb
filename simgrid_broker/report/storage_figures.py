"""Plot of what storages hold over time; the function draws a tidy table on Axes."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from simgrid_broker.metrics import matrix
from simgrid_broker.report import canvas
from simgrid_broker.report.blocks import NO_MARKS, Marks
from simgrid_broker.report.lettering import fitted
from simgrid_broker.report.palette import INK, LEVEL_COLOURS

TITLE = 8.0
"""Font size of the name above a panel."""


def levels(table: pd.DataFrame, axes: np.ndarray, marks: Marks = NO_MARKS) -> np.ndarray:
    """One panel per storage: used, expired and free space, TB, and the level up to which it may be filled."""
    panels, n_columns = np.atleast_1d(axes).ravel(), np.atleast_2d(axes).shape[1]
    storages = list(dict.fromkeys(table.storage))
    canvas.widen(panels[0], top=0.5)
    canvas.gaps(panels, across=0.65, down=0.36)
    for k, (panel, storage) in enumerate(zip(panels, storages, strict=False)):
        one = matrix(table[table.storage == storage], "time_s", "metric")
        level_panel(one, panel, storage, marks, label=k >= len(storages) - n_columns)
        panel.set_ylabel("TB" if k % n_columns == 0 else "", fontsize=TITLE)
    for panel in panels[len(storages):]:
        panel.set_visible(False)
    handles = canvas.handles_of(panels[0])
    panels[0].figure.legend(handles=handles, frameon=False, fontsize=canvas.TICK, ncols=len(handles), labelcolor=INK,
                            loc="upper right", borderaxespad=0.2)
    return axes


def level_panel(one: pd.DataFrame, axes: Axes, storage: str, marks: Marks, label: bool) -> None:
    """The panel of one storage; columns: used, expired, free and min_free, TB; index: time, s."""
    canvas.dress(axes)
    unit = canvas.time_axis(axes, one.index.max(), Marks(marks.start_s), label, most_ticks=5)
    times, size = one.index / unit, one.used + one.expired + one.free
    below = np.zeros(len(one))
    for name, colour in LEVEL_COLOURS.items():
        axes.fill_between(times, below, below + one[name], color=colour, linewidth=0, label=name)
        below = below + one[name]
    axes.plot(times, size - one.min_free, color=INK, linewidth=1.1, linestyle="--", label="filled but for the minimum")
    axes.set_ylim(0, max(1.02 * size.max(), 1e-9))
    axes.set_title(fitted(storage, TITLE, canvas.extent(axes)[0]), fontsize=TITLE, color=INK, loc="left", pad=3, y=1)
    axes.tick_params(labelsize=7, labelbottom=label)
