"""Versions and sizes with an operator in front: `>=12.0`, `==40960`.

Sources: PanDA brokerage documentation, GPU requirements; brokerage reference, section 5.2, point 6 (D39). Both sides
are read as PEP 440 has them, so `12.0` equals `12` and `575.57.08` equals `575.57.8`.
"""

import re
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne

from packaging.version import InvalidVersion, Version

OPERATORS = {"==": eq, "=": eq, ">=": ge, "<=": le, ">": gt, "<": lt, "!=": ne}
"""Operators of the documentation."""
UNSUPPORTED = {"documented": (), "deployed": ("!=",)}
"""Operators that an edition does not know, so that no value meets the constraint; source: D39."""

_CONSTRAINT = re.compile(r"([=<>!]+)(.+)", re.DOTALL)


@lru_cache(maxsize=4096)
def constraint(text: str) -> tuple[str, Version] | None:
    """Operator and version of a constraint; None if there is no known operator or no version."""
    found = _CONSTRAINT.fullmatch(text)
    wanted = version(found[2]) if found and found[1] in OPERATORS else None
    return (found[1], wanted) if found and wanted else None


@lru_cache(maxsize=4096)
def version(value: str | float) -> Version | None:
    """A version, or a size in MB as a version; None for other text."""
    try:
        return Version(value if isinstance(value, str) else f"{value:.15g}")
    except (InvalidVersion, ValueError):      # the second for numbers with thousands of digits
        return None


def satisfies(value: str | float, text: str, edition: str) -> bool:
    """Whether a value meets a constraint; False if either cannot be read."""
    wanted, has = constraint(text), version(value)
    if wanted is None or has is None or wanted[0] in UNSUPPORTED[edition]:
        return False
    return OPERATORS[wanted[0]](has, wanted[1])
