"""Markdown of tables, and of text that is not Markdown."""

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], code: Sequence[int]) -> str:
    """A Markdown table; columns whose positions are in `code` hold code, several pieces with commas between them."""
    lines = [head, ["---"] * len(head)]
    lines += [[as_code(cell) if k in code else plain(cell) for k, cell in enumerate(row)] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def plain(text: str) -> str:
    """Text with Markdown's special characters escaped; between backticks only bars are special."""
    pieces = text.split("`")
    return "`".join(re.sub(r"([|])" if k % 2 else r"([|<*_])", r"\\\1", piece) for k, piece in enumerate(pieces))


def as_code(text: str) -> str:
    """Each element of a list as code, with bars escaped, which would end the cell."""
    return ", ".join("`" + piece.replace("|", "\\|") + "`" for piece in text.split(", ")) if text else ""
