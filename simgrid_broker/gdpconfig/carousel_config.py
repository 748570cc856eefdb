r"""DATA_CAROUSEL_CONFIG, version 1, with PanDA's fields and defaults, and the RSE expressions in it.

RSE expressions are Rucio's: conditions joined by `&`, endpoints left out by `\`; not supported: union (`|`) and
parentheses. Sources: lifecycle reference, 7.5; panda-server, DataCarousel; Rucio, RSE expressions.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

DESTINATION = "type=DATADISK&datapolicynucleus=True&freespace>300"
"""Where data is staged to if the configuration of its tape says nothing else; free space in TB."""


class TapeConfig(NamedTuple):
    """Entry of DATA_CAROUSEL_CONFIG for a physical tape; max_staging_ratio is not read, as in PanDA."""

    active: bool = False
    max_size: int = 10_000
    max_staging_ratio: int = 50
    destination_expression: str = DESTINATION


class RseConfig(NamedTuple):
    """Entry for an endpoint: only its physical tape and whether it is a source are read."""

    tape: str
    active: bool | None = None
    max_size: int | None = None
    max_staging_ratio: int | None = None


class Config(NamedTuple):
    """DATA_CAROUSEL_CONFIG as it is read; early_access_users has no effect in PanDA either."""

    tapes: Mapping[str, TapeConfig] = {}
    rses: Mapping[str, RseConfig] = {}
    excluded_destinations: frozenset[str] = frozenset()

    def tape_of(self, rse: str) -> str:
        """Physical tape of an endpoint, which has a tape of its own name if nothing is said."""
        return self.rses[rse].tape if rse in self.rses else rse

    def is_active(self, rse: str) -> bool:
        """True if data is staged from an endpoint: its tape is active, and it is not switched off itself."""
        tape = self.tapes.get(self.tape_of(rse))
        return tape is not None and tape.active and not (rse in self.rses and self.rses[rse].active is False)


def config_from(said: Mapping[str, Any]) -> Config:
    """The configuration as JSON gives it; null is the default."""
    tapes, rses = ({name: {key: value for key, value in one.items() if value is not None}
                    for name, one in (said.get(f"source_{kind}_config") or {}).items()} for kind in ("tapes", "rses"))
    return Config({name: TapeConfig(**one) for name, one in tapes.items()},
                  {name: RseConfig(**one) for name, one in rses.items()},
                  frozenset(said.get("excluded_destinations") or ()))


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
