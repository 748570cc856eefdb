"""Gantt chart of task phases."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from simgrid_broker.metrics import FINAL_TASK, phase_of, wide
from simgrid_broker.report.canvas import NO_MARKS, Marks, dress, legend, rows_axis, time_axis
from simgrid_broker.report.palette import INK, PHASE_COLOURS
from simgrid_broker.report.words import shortened

LONGEST = 34
"""Maximum length of a task's name beside the axes."""
ENDS = {"done": ("o", "#009E73"), "finished": ("D", "#56B4E9"), "failed": ("X", "#D55E00"),
        "aborted": ("s", "#CC79A7"), "broken": ("P", INK)}
"""Mark and colour of each final status of a task."""


def gantt(table: pd.DataFrame, axes: Axes, end_s: float, marks: Marks = NO_MARKS) -> Axes:
    """A row per task, coloured by phase, the first task at the top, with a mark at its end."""
    rows = wide(table)
    names = {task: f"{task} {shortened(str(name), LONGEST)}" for task, name in
             zip(rows.jeditaskid, rows.name, strict=True)}
    place = {task: len(names) - 1 - k for k, task in enumerate(names)}
    dress(axes, ylabel="task: jeditaskid and name", grid="x")
    unit = time_axis(axes, end_s, marks)
    rows = rows.assign(y=rows.jeditaskid.map(place))
    rows["phase"] = rows.status.map(phase_of)
    for phase, stays in rows[~rows.status.isin(FINAL_TASK)].groupby("phase"):
        axes.barh(stays.y, (stays.end - stays.start) / unit, 0.74, stays.start / unit, linewidth=0,
                  color=PHASE_COLOURS[phase])
    for status, ends in rows[rows.status.isin(FINAL_TASK)].groupby("status"):
        mark, colour = ENDS[status]
        axes.scatter(ends.start / unit, ends.y, s=26, marker=mark, color=colour, edgecolor="white", linewidth=0.6,
                     zorder=4, clip_on=False)
    rows_axis(axes, list(names.values())[::-1])
    legend(axes, 1, handles=_legend(rows), loc="upper left", bbox_to_anchor=(1, 1))
    return axes


def _legend(rows: pd.DataFrame) -> list:
    """Legend entries of the phases that occur, in lifecycle order, then of the final statuses."""
    seen = set(rows.phase[(rows.end > rows.start) & ~rows.status.isin(FINAL_TASK)])
    ends = set(rows.status)
    return [*(Patch(color=colour, label=phase) for phase, colour in PHASE_COLOURS.items() if phase in seen),
            *(Line2D([], [], linestyle="", marker=mark, color=colour, label=status)
              for status, (mark, colour) in ENDS.items() if status in ends)]
