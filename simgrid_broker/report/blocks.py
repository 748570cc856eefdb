"""Building blocks of a page: plots, tables, notes and headline figures, grouped in sections."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple
from urllib.parse import quote

import pandas as pd

REPORT = "report.html"
"""Name of the page of a run, a comparison or a study in its folder."""


class Mark(NamedTuple):
    """An incident on a time axis: its begin and end, s, the same for a change that stays, and a short name."""

    at_s: float
    until_s: float
    name: str


@dataclass(frozen=True)
class Marks:
    """Common marks of all time axes of a run: their beginning, s, and the incidents on them."""

    start_s: float = 0.0
    incidents: tuple[Mark, ...] = ()


NO_MARKS = Marks()


def drawn_by(name: str, **options: Any) -> Callable:
    """The function `module.function` of the figures with some options, imported when it draws: only then is Matplotlib
    needed.
    """
    return partial(_draw, name, options)


def _draw(name: str, options: dict, table: pd.DataFrame, axes: Any) -> Any:
    module, _, function = name.partition(".")
    return getattr(import_module(f"{__package__}.figures.{module}"), function)(table, axes, **options)


@dataclass(frozen=True)
class Plot:
    """A plot made by `draw(table, axes)` from a tidy table; `reading` explains it in one or two sentences.

    name: stem of the files in plots/; size: inches; panels: rows and columns of Axes.
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
    """A table with an explanation below it.

    indent: indentation level of each row's first cell; mixed: rows hold different quantities, so decimals are chosen
    per cell instead of per column; anchor: kind of thing in the first column, for the addresses of rows by `address`.
    """

    title: str
    frame: pd.DataFrame
    reading: str = ""
    indent: tuple[int, ...] = ()
    mixed: bool = False
    anchor: str = ""


def address(kind: str, name: object) -> str:
    """Address of the row of a thing on the page, without #: `share-MC%2016`."""
    return f"{kind}-{quote(str(name), safe='')}"


class Link(NamedTuple):
    """A cell that links to a file, by its path relative to the page, or by # and an address to a part of the page.

    query: encoded, with its question mark.
    """

    text: str
    path: str
    query: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Note:
    """A paragraph; a warning if `strong`."""

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Lines:
    """Lines to copy as they are, with a title and an explanation."""

    title: str
    text: str
    reading: str = ""


@dataclass(frozen=True)
class Tiles:
    """Headline figures: label, value and explanation."""

    tiles: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Row:
    """Tables side by side where the page is wide enough."""

    tables: tuple[TableBlock, ...]


Block = Plot | TableBlock | Note | Lines | Tiles | Row


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading; `name` is its anchor."""

    name: str
    title: str
    blocks: tuple[Block, ...]


def table_or_note(table: TableBlock, otherwise: str) -> TableBlock | Note:
    """The table; a note if it has no rows."""
    return table if len(table.frame) else Note(otherwise)


def plot_or_note(plot: Plot, otherwise: str, metric: str | None = None) -> Plot | Note:
    """The plot; a note if its table has no value (of `metric`, if given) or its curves would have one point only."""
    table = plot.table if metric is None else plot.table[plot.table.metric == metric]
    if not table.value.notna().any():
        return Note(f"{plot.title}: {otherwise}")
    if "time_s" in table and "bin_s" not in table and table.time_s.nunique() < 2:
        return Note(f"{plot.title}: not drawn, because there is only one sample.")
    return plot
