"""Plain text for a terminal and for reference tables: wrapped cells, paragraphs, counted nouns."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from shutil import get_terminal_size
from textwrap import wrap

GAP = "  "
WIDEST = 34
"""Columns that a column has at the most, other than the first and the last; the first is never wrapped."""
NARROWEST = 24
"""Columns that the last column has at least."""


@dataclass(frozen=True)
class Section:
    """One table of the reference: title, a sentence about it, head and rows of text.

    key: name by which the section can be asked for within its topic; "" = it cannot.
    """

    title: str
    about: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    key: str = ""


@dataclass(frozen=True)
class Topic:
    """What can be asked for: its name, a few words about it, and a function that makes its sections."""

    name: str
    about: str
    sections: Callable[[], list[Section]]


def terminal_width() -> int:
    """Columns to use: those of the terminal, or 110 where there is none; never more than 140."""
    return min(get_terminal_size((110, 24)).columns, 140)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Container[int] = (),
          width: int | None = None) -> str:
    """A table with a line under its head; cells are wrapped so that it fits `width` (default: the terminal's).

    Columns whose positions are in `numbers` stand to the right.
    """
    cells = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(1, *(len(row[k]) for row in cells)) for k in range(len(head) - 1)]
    widths[1:] = [min(width, WIDEST) for width in widths[1:]]
    before = sum(widths) + len(GAP) * len(widths)
    left = max((terminal_width() if width is None else width) - before, NARROWEST)
    widths.append(min(max(1, *(len(row[-1]) for row in cells)), left))
    lines = [_row(row, widths, numbers) for row in cells]
    return "\n".join([lines[0], "-" * (before + widths[-1]), *lines[1:]])


def paragraph(text: str, indent: str = "") -> str:
    """Text wrapped to the terminal; lines after the first are indented."""
    return "\n".join(wrap(text, terminal_width(), subsequent_indent=indent, break_on_hyphens=False))


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: "1 site", "10 sites"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _row(row: Sequence[str], widths: Sequence[int], numbers: Container[int]) -> str:
    """One row of a table, on as many lines as its longest cell needs."""
    cells = [wrap(cell, width, break_on_hyphens=False, break_long_words=False)
             for cell, width in zip(row, widths, strict=True)]
    return "\n".join(
        GAP.join(part.rjust(width) if k in numbers else part.ljust(width)
                 for k, (part, width) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in zip_longest(*cells, fillvalue=""))


def first_sentence(thing) -> str:
    """The first paragraph of a docstring on one line."""
    return " ".join((thing.__doc__ or "").split("\n\n")[0].split())
