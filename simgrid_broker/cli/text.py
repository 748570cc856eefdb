"""Text layout for a terminal and for reference tables: wrapped cells, paragraphs, counted nouns."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from shutil import get_terminal_size
from textwrap import wrap

GAP = "  "
WIDEST = 34
"""Maximum width of columns other than the first, which is never wrapped, and the last."""
SHORTEST = 12
"""Width of the first column down to which it gives room to others; longer cells stand above their rows."""
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
    """A table with cells wrapped to fit `width` (default: the terminal); columns in `numbers` are right-aligned.

    Where the other columns leave too little room for a long last one, its cells stand below their rows; many narrow
    columns stand closer.
    """
    cells, most = [tuple(head), *(tuple(row) for row in rows)], terminal_width() if width is None else width
    widths = [max(1, *(len(row[k]) for row in cells)) for k in range(len(head))]
    widths[1:-1] = [min(width, WIDEST) for width in widths[1:-1]]
    least = [width if k in numbers or not k else max(len(word) for row in cells for word in (*row[k].split(), "-"))
             for k, width in enumerate(widths)]
    is_long = widths[-1] > NARROWEST and len(widths) > 1
    least[-1] = max(least[-1], NARROWEST if is_long else 1)
    gap = GAP if sum(least) + len(GAP) * (len(widths) - 1) <= most or is_long else GAP[:1]
    widths = narrowed(widths, least, most - len(gap) * (len(widths) - 1))
    below = is_long and sum(widths) + len(gap) * (len(widths) - 1) > most
    if below:
        gap = GAP if sum(least[:-1]) + len(GAP) * (len(widths) - 2) <= most else GAP[:1]
        widths = narrowed(widths[:-1], least[:-1], most - len(gap) * (len(widths) - 2))
    if (excess := sum(widths) + len(gap) * (len(widths) - 1) - most) > 0:
        widths[0] = min(widths[0], max(widths[0] - excess, SHORTEST))
    lines = [_row(row[:len(widths)], widths, numbers, gap) + (
        "\n" + _below(row[-1], most) if below and row[-1] else "") for row in cells]
    whole = (max(map(len, "\n".join(lines).splitlines())) if below or excess > 0
             else sum(widths) + len(gap) * (len(widths) - 1))
    return "\n".join([lines[0], "-" * whole, *lines[1:]])


def narrowed(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths of columns that fit in a room, the widest made narrower first, none below its least width."""
    found = list(widths)
    while sum(found) > room and (wide := [k for k, width in enumerate(found) if width > least[k]]):
        last = len(found) - 1
        k = last if last in wide and found[last] > NARROWEST else max(wide, key=lambda k: found[k])
        found[k] -= 1
    return found


def _below(cell: str, width: int) -> str:
    """A cell on lines of its own."""
    return "\n".join(wrap(cell, max(width, NARROWEST), initial_indent=GAP * 2, subsequent_indent=GAP * 2,
                          break_on_hyphens=False, break_long_words=False))


def paragraph(text: str, indent: str = "") -> str:
    """Text wrapped to the terminal; lines after the first begin with `indent`."""
    return "\n".join(wrap(text, terminal_width(), subsequent_indent=indent, break_on_hyphens=False))


def log_line(text: str, indent: str) -> str:
    """A line as of a log, wrapped as `paragraph` only where there is a terminal: a file can be searched for it."""
    return paragraph(text, indent) if get_terminal_size((0, 0)).columns else text


def command(text: str) -> str:
    """A command of the shell, over several lines if it is wider than the terminal, each of which begins an option."""
    if len(text) <= terminal_width():
        return text
    first, *options = text.split(" --")
    return " \\\n".join([first, *(f"      --{option}" for option in options)])


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: "1 site", "10 sites"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _row(row: Sequence[str], widths: Sequence[int], numbers: Container[int], gap: str) -> str:
    """One row of a table, over several lines if a cell is wrapped; a first cell that is too long stands above it."""
    if len(row[0]) > widths[0] and any(row[1:]):
        return row[0] + "\n" + _row(("", *row[1:]), widths, numbers, gap)
    cells = [wrap(cell, width, break_on_hyphens=False, break_long_words=False)
             for cell, width in zip(row, widths, strict=True)]
    return "\n".join(
        gap.join(part.rjust(width) if k in numbers else part.ljust(width)
                 for k, (part, width) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in zip_longest(*cells, fillvalue=""))
