"""Text layout for a terminal and for reference tables: wrapped cells, paragraphs, counted nouns."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from shutil import get_terminal_size
from textwrap import wrap

GAP = "  "
WIDEST = 34
"""Maximum width of columns other than the first, which is never wrapped, and the last."""
NARROWEST = 24
"""Minimum width of the last column."""


@dataclass(frozen=True)
class Section:
    """One table of the reference: title, description, head and rows of text; key: name within its topic."""

    title: str
    about: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    key: str = ""


@dataclass(frozen=True)
class Topic:
    """A topic of `describe`: name, short description, and a function that returns its sections."""

    name: str
    about: str
    sections: Callable[[], list[Section]]


def terminal_width() -> int:
    """Width of the terminal, 110 without a terminal, at most 140."""
    return min(get_terminal_size((110, 24)).columns, 140)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Container[int] = (),
          width: int | None = None) -> str:
    """A table with cells wrapped to fit `width` (default: the terminal); columns in `numbers` are right-aligned."""
    cells = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(1, *(len(row[k]) for row in cells)) for k in range(len(head) - 1)]
    widths[1:] = [min(width, WIDEST) for width in widths[1:]]
    before = sum(widths) + len(GAP) * len(widths)
    left = max((terminal_width() if width is None else width) - before, NARROWEST)
    widths.append(min(max(1, *(len(row[-1]) for row in cells)), left))
    lines = [_row(row, widths, numbers) for row in cells]
    return "\n".join([lines[0], "-" * (before + widths[-1]), *lines[1:]])


def paragraph(text: str, indent: str = "") -> str:
    """Text wrapped to the terminal; lines after the first begin with `indent`."""
    return "\n".join(wrap(text, terminal_width(), subsequent_indent=indent, break_on_hyphens=False))


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: "1 site", "10 sites"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _row(row: Sequence[str], widths: Sequence[int], numbers: Container[int]) -> str:
    """One row of a table, over several lines if a cell is wrapped."""
    cells = [wrap(cell, width, break_on_hyphens=False, break_long_words=False)
             for cell, width in zip(row, widths, strict=True)]
    return "\n".join(
        GAP.join(part.rjust(width) if k in numbers else part.ljust(width)
                 for k, (part, width) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in zip_longest(*cells, fillvalue=""))
