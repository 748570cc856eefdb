"""Rucio's RSE expressions as far as the data carousel uses them: conditions joined by `&`, endpoints left out by `\\`.

Source: Rucio, RSE expressions; lifecycle reference, 7.5. Not supported: union (`|`) and parentheses.
"""

from typing import NamedTuple

TEXTS = ("type", "rse")
"""Attributes that are compared as text."""
NUCLEUS, FREE = "datapolicynucleus", "freespace"
"""Attribute of endpoints of nuclei, and that of free space, TB."""


class Rse(NamedTuple):
    """Requirements of conditions on an endpoint."""

    rse: str
    type: str
    nucleus: bool
    free_tb: float


def matches(expression: str, rse: Rse) -> bool:
    """True if an endpoint meets all conditions of an expression and is not left out."""
    wanted, *left_out = expression.split("\\")
    return all(_holds(term.strip(), rse) for term in wanted.split("&")) and not any(
        _holds(term.strip(), rse) for term in left_out)


def problem(expression: str) -> str | None:
    """Problem of an expression, None if it can be read."""
    for term in expression.replace("\\", "&").split("&"):
        name, sign, value = _parts(term.strip())
        if any(character in term for character in "|()"):
            return f"union and parentheses are not supported: {term.strip()!r}"
        if not name or (sign and not value):
            return f"expected a condition such as type=DATADISK or freespace>300, or an endpoint: {term.strip()!r}"
        if sign and (name not in (*TEXTS, NUCLEUS, FREE) or (sign != "=") != (name == FREE)):
            return f"unknown condition {term.strip()!r}; known: type=, rse=, {NUCLEUS}=, {FREE}> and {FREE}<"
        if name == FREE and sign and not value.replace(".", "", 1).isdigit():
            return f"expected a number of TB: {term.strip()!r}"
    return None


def _parts(term: str) -> tuple[str, str, str]:
    for sign in "=<>":
        if sign in term:
            return term.partition(sign)
    return term, "", ""


def _holds(term: str, rse: Rse) -> bool:
    """True if one condition holds; a name alone is that of an endpoint."""
    name, sign, value = _parts(term)
    if not sign:
        return name == rse.rse
    if name == FREE:
        return rse.free_tb > float(value) if sign == ">" else rse.free_tb < float(value)
    if name == NUCLEUS:
        return rse.nucleus == (value.lower() in ("true", "1"))
    return getattr(rse, name) == value
