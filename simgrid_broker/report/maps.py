"""Heat maps with a number in each cell."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from simgrid_broker.report.canvas import dress
from simgrid_broker.report.palette import INK
from simgrid_broker.report.words import shortened

COLOURS = "Blues"
DARK = 0.6
"""Fraction of the largest value above which numbers are white."""
LONGEST = 28
"""Maximum length of a name beside the axes."""


def heat_map(table: pd.DataFrame, axes: Axes, rows: str, columns: str, order: Sequence[str], label: str) -> Axes:
    """The value of each pair of `rows` and `columns`, the first row at the top; pairs without a value stay empty.

    order: columns from left to right; columns that the table does not have are omitted.
    """
    present = set(table[columns])
    names, heads = list(dict.fromkeys(table[rows])), [head for head in order if head in present]
    cells = table.pivot_table("value", rows, columns, aggfunc="sum").reindex(index=names, columns=heads)
    values = cells.to_numpy(float)
    largest = np.nanmax(values) if np.isfinite(values).any() else 1.0
    dress(axes, xlabel=label, grid="")
    axes.imshow(np.ma.masked_invalid(values), aspect="auto", cmap=COLOURS, vmin=0, vmax=largest or 1.0)
    axes.set_xticks(range(len(heads)), heads, rotation=35, ha="left", fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(names)), [shortened(str(name), LONGEST) for name in names], fontsize=8)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    for (y, x), value in np.ndenumerate(values):
        if np.isfinite(value):
            axes.text(x, y, _two_digits(value), ha="center", va="center", fontsize=7,
                      color="white" if value > DARK * largest else INK)
    return axes


def _two_digits(value: float) -> str:
    """A number in a cell: whole from 10 on, two significant digits below."""
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}"
