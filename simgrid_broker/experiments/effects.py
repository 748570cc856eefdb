"""The effect of what a study varies on a figure, drawn for a paper."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from simgrid_broker.errors import Problem, StudyError, nearest
from simgrid_broker.experiments.figures import differences
from simgrid_broker.experiments.intervals import student
from simgrid_broker.report.blocks import drawn_by
from simgrid_broker.report.words import SUMMARY_LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN = (3.4, 2.5)
"""Inches of a figure in one column of a paper."""


def effect_plot(results: pd.DataFrame, varied: list[str], figure: str, key: str | None = None,
                path: str | Path | None = None, size: tuple[float, float] = COLUMN) -> "Figure":
    """Figure of a study over a setting with 95 % intervals, or of its differences between groups without settings.

    results, varied: of a `Study`; key: default: the first setting, over all values of the others. With `path` it is
    written there, as vectors for .pdf and .svg. Raises StudyError for a figure or key that the study does not have.
    """
    part = results[results.figure == figure].dropna(subset="value")
    if not len(part):
        raise StudyError([Problem(None, None, "figure", figure, "no finished run of the study has a value of it",
                                  nearest(figure, list(dict.fromkeys(results.figure))))])
    if key is not None and key not in varied:
        raise StudyError([Problem(None, None, "key", key, "is no setting of the study", nearest(key, varied))])
    label = f"{SUMMARY_LABELS.get(figure, figure)} ({part.unit.iloc[0]})" if part.unit.iloc[0] else figure
    draw, table = _over_key(part, key or varied[0], label) if varied else _by_group(part, figure, label)
    canvas: Any = import_module("simgrid_broker.report.drawing.canvas")
    return canvas.for_print(draw, table, size, path)


def _over_key(part: pd.DataFrame, key: str, label: str) -> tuple[Any, pd.DataFrame]:
    """Means at each value of a setting; those over the other settings come first, for each seed."""
    means = part.groupby([key, "seed"], sort=False).value.mean()
    rows = [{key: value, "line": "", **student(means[value].to_numpy()).columns()}
            for value in dict.fromkeys(part[key])]
    return drawn_by("studies.response", x=key, ylabel=label), pd.DataFrame(rows)


def _by_group(part: pd.DataFrame, figure: str, label: str) -> tuple[Any, pd.DataFrame]:
    """Differences of each group from the first."""
    base = part.group.iloc[0]
    table = differences(part, base, (figure,)).rename(columns={"group": "name", "difference": "value"})
    if not len(table):
        raise StudyError([Problem(None, None, "figure", figure, "the study has one group of runs without varied "
                                  "settings, so there is no effect to draw")])
    return drawn_by("studies.forest", xlabel=f"{label}, less {base}"), table.assign(group="difference")
