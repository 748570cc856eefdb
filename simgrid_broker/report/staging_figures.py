"""Plot of what waits for tape, is staged, and is on disk; the function draws a tidy table on Axes."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from simgrid_broker.report import canvas
from simgrid_broker.report.blocks import NO_MARKS, Marks
from simgrid_broker.report.colours import categories


def progress(table: pd.DataFrame, axes: np.ndarray, panels: Mapping[str, str], marks: Marks = NO_MARKS) -> np.ndarray:
    """One panel per metric, top to bottom, with one line per tape; panels: metrics and axis labels."""
    tapes = list(dict.fromkeys(table.tape))
    colours = categories(tapes)
    for k, (panel, (metric, label)) in enumerate(zip(axes, panels.items(), strict=True)):
        one = table[table.metric == metric]
        canvas.dress(panel, ylabel=label)
        unit = canvas.time_axis(panel, one.time_s.max(), marks if k == 0 else Marks(marks.start_s))
        if k < len(axes) - 1:
            panel.set_xlabel("")
        for tape in tapes:
            own = one[one.tape == tape]
            panel.step(own.time_s / unit, own.value, where="post", color=colours[tape], linewidth=1.4, label=tape)
        canvas.value_axis(panel, one.value)
    canvas.gaps(axes, down=0.35)
    canvas.legend_above(axes[0], canvas.handles_of(axes[0]))
    return axes
