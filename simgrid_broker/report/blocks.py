"""What a page is made of: plots, tables, notes, headline figures, and sections of them.

What lives here: the shapes, and the saving of plots beside their tables. What does not: HTML (`page`) and the choice of
what to show (`sections`, `comparison`). A new figure is one more block in a section, a new section one more function
in a tuple.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from simgrid_broker.records import write_whole
from simgrid_broker.report.canvas import png


@dataclass(frozen=True)
class Plot:
    """A figure: `draw(table, axes)` draws the tidy `table`; `reading` says in one sentence how to read it.

    name: of the files in plots/; size: inches; panels: rows and columns of Axes.
    """

    name: str
    title: str
    table: pd.DataFrame
    draw: Callable
    reading: str
    size: tuple[float, float] = (10.0, 4.2)
    panels: tuple[int, int] = (1, 1)


@dataclass(frozen=True)
class TableBlock:
    """A table for the page: one line says what it shows.

    indent: depth of each row's first cell; mixed: each row is a figure of its own, so digits are chosen by cell and not
    by column.
    """

    title: str
    frame: pd.DataFrame
    reading: str = ""
    indent: tuple[int, ...] = ()
    mixed: bool = False


@dataclass(frozen=True)
class Note:
    """A sentence; a warning if `strong`."""

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Tiles:
    """Headline figures: label, value and what it means."""

    tiles: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Row:
    """Tables side by side, where the page is wide enough."""

    tables: tuple[TableBlock, ...]


Block = Plot | TableBlock | Note | Tiles | Row


@dataclass(frozen=True)
class Section:
    """A headed part of a page."""

    name: str
    title: str
    blocks: tuple[Block, ...]


def plot_or_note(plot: Plot, otherwise: str, metric: str | None = None) -> Plot | Note:
    """The plot, or a sentence that says why there is none.

    There is none if its table has no value (of `metric`, if one is named), or a curve would have a single point.
    """
    table = plot.table if metric is None else plot.table[plot.table.metric == metric]
    if not table.value.notna().any():
        return Note(f"{plot.title}: {otherwise}")
    if "time_s" in table and "bin_s" not in table and table.time_s.nunique() < 2:
        return Note(f"{plot.title}: there is only one sample.")
    return plot


def save_plot(plot: Plot, folder: Path) -> bytes:
    """Write `<name>.png` and its table `<name>.csv` into `folder` and return the picture.

    Raises OutputError if the disk refuses.
    """
    picture = png(plot.draw, plot.table, plot.size, plot.panels)
    write_whole(folder / f"{plot.name}.png", picture)
    write_whole(folder / f"{plot.name}.csv", plot.table.to_csv(index=False, lineterminator="\n"))
    return picture
