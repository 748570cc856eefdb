"""Comparisons of what tasks ask for with what queues have: regular expressions, versions and sizes with an operator in
front (`>=12.0`, `==40960`), and the terms in which the editions of software and hardware checks differ.

Sources: PanDA brokerage documentation, GPU requirements; brokerage reference, section 5.2, point 6 (D39). Both sides
are read as PEP 440 has them, so `12.0` equals `12` and `575.57.08` equals `575.57.8`.
"""

import re
import warnings
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from simgrid_broker.editions import ByEdition

OPERATORS = {"==": eq, "=": eq, ">=": ge, "<=": le, ">": gt, "<": lt, "!=": ne}
"""Operators of the documentation."""


class Terms(NamedTuple):
    """Terms in which the editions differ.

    unsupported: operators that no value meets (D39); keeps_wildcards: requirements of wildcards alone stay; open_cpu:
    without `#` the CPU is all of a platform up to a dash, its signs included; nests: bars inside parentheses belong to
    an architecture, otherwise they separate alternatives; needs_arch: CPU alternatives and queues must name an
    architecture; by_transhome: only tasks with a transHome are checked; needs_version: a release without a version is
    impossible; alone: AUTO and ANY hold only if nothing else is listed, and ANY for tasks without wishes only (D37);
    tags_of_all: tags of containers count for all tasks, otherwise only for those that want nothing else; by_cvmfs: a
    tag counts only where CVMFS lacks the repository (D41); last_entry: of each kind of hardware the last entry counts;
    empty_is_any: an empty word in a list matches any (D38); kinds_apart: vendor, model and microarchitecture of a GPU
    may be those of different kinds of nodes; by_cpu: a platform like `(x86_64|aarch64)-el9-gcc13-opt` is also resolved
    by the CPU of a queue; malformed_is_literal: a platform that is no regular expression is a name, otherwise PanDA
    fails on it.
    """

    unsupported: tuple[str, ...]
    keeps_wildcards: bool
    open_cpu: bool
    nests: bool
    needs_arch: bool
    by_transhome: bool
    needs_version: bool
    alone: bool
    tags_of_all: bool
    by_cvmfs: bool
    last_entry: bool
    empty_is_any: bool
    kinds_apart: bool
    by_cpu: bool
    malformed_is_literal: bool


RELEASE_1_0_3 = Terms(
    ("!=",), keeps_wildcards=False, open_cpu=True, nests=False, needs_arch=True, by_transhome=True, needs_version=True,
    alone=True, tags_of_all=True, by_cvmfs=True, last_entry=True, empty_is_any=False, kinds_apart=True, by_cpu=False,
    malformed_is_literal=False)

TERMS = ByEdition(
    documented=Terms((), keeps_wildcards=True, open_cpu=False, nests=True, needs_arch=False, by_transhome=False,
                     needs_version=False, alone=False, tags_of_all=False, by_cvmfs=False, last_entry=False,
                     empty_is_any=True, kinds_apart=False, by_cpu=False, malformed_is_literal=False),
    deployed=RELEASE_1_0_3,
    later={"1.0.4": RELEASE_1_0_3._replace(unsupported=(), by_cpu=True, malformed_is_literal=True)})
"""Terms by edition; source of those of release 1.0.4: its recorded decisions."""

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
    """True if a value meets a constraint; False if either cannot be read."""
    wanted, has = constraint(text), version(value)
    if wanted is None or has is None or wanted[0] in TERMS[edition].unsupported:
        return False
    return OPERATORS[wanted[0]](has, wanted[1])


class BadPattern(ValueError):
    """A text that is no regular expression; `position` counts characters from 0, -1 = unknown."""

    def __init__(self, text: str, reason: str, position: int):
        super().__init__(f"{text!r} is not a regular expression: {reason}")
        self.text, self.reason, self.position = text, reason, position


@lru_cache(maxsize=4096)
def pattern(text: str, ignore_case: bool = False) -> re.Pattern:
    """`text` as a regular expression. Raises BadPattern."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")       # what may mean something else in a later Python means this today
        try:
            return re.compile(text, re.IGNORECASE if ignore_case else 0)
        except re.error as error:
            raise BadPattern(text, error.msg, -1 if error.pos is None else error.pos) from None
        except (OverflowError, RecursionError) as error:
            raise BadPattern(text, str(error), -1) from None


def starts(text: str, value: str) -> bool:
    """True if it matches from the start of `value`, whatever the case (GPU requirements). Raises BadPattern."""
    return pattern(text, True).match(value) is not None


def covers(text: str, value: str) -> bool:
    """True if the expression matches all of `value`. Raises BadPattern."""
    return pattern(text).fullmatch(value) is not None
