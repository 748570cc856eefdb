"""Rules on DIRAC's options below Operations/JobScheduling: which are mappings of which values.

Values that DIRAC reads as a default, such as fractions where it expects whole numbers, are left to it.
"""

from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import Any, NamedTuple

from simgrid_broker.scenario.loading.origins import Finding, Key

SCHEDULING = ("operations", "JobScheduling")
EACH = "*"
"""Any name that a mapping does not list."""
MOST = 2**53
"""Largest number that an option may have."""


class Value(NamedTuple):
    """A value of an option: whether it can be read, and what was expected."""

    fits: Callable[[Any], bool]
    expected: str


def number(given: Any) -> float | None:
    """A number that an option gives, also as text, inf if it is too large for a float; None for anything else."""
    try:
        return None if isinstance(given, bool) else float(given)
    except OverflowError:
        return inf
    except (TypeError, ValueError):
        return None


def is_within(given: Any, least: float) -> bool:
    """True if an option gives a number from `least` on."""
    found = number(given)
    return found is not None and least <= found <= MOST


def is_whole(given: Any, least: int) -> bool:
    """True if an option gives a whole number from `least` on."""
    return isinstance(given, (int, str)) and is_within(given, least) and float(given).is_integer()


def is_text(given: Any) -> bool:
    """True if an option is text."""
    return isinstance(given, str)


def names_only(given: Any) -> bool:
    """True if an option is text or a list of texts."""
    return is_text(given) or (isinstance(given, list) and all(map(is_text, given)))


ANY = Value(lambda given: True, "")
AT_LEAST_ONE = Value(lambda given: number(given) is None or is_within(given, 1), "expected a whole number >= 1")
WEIGHT = Value(lambda given: number(given) is None or is_within(given, 0), "expected a whole number >= 0")
LIMITS = {EACH: {EACH: Value(lambda given: is_whole(given, 0), "expected a whole number >= 0")}}
BURSTS = {EACH: {EACH: Value(lambda given: is_whole(given, 1), "expected a whole number >= 1")}}
SECONDS = Value(lambda given: is_within(given, -MOST), "expected a number of seconds")
NAMES = Value(names_only, "expected a name or a list of names")
SLICE = {"TimeSpan": AT_LEAST_ONE, "Weight": WEIGHT, "MaxCorrection": AT_LEAST_ONE, EACH: ANY}
OPTIONS: dict[str, Any] = {
    "RunningLimit": {EACH: {"CEs": {EACH: LIMITS}, **LIMITS}},
    "MatchingDelay": {EACH: {"Burst": BURSTS, EACH: {EACH: SECONDS}}},
    "ShareCorrections": {"ShareCorrectorsToStart": NAMES, "WMSHistory": {EACH: {
        "Group": Value(is_text, "expected the name of a group"), "MaxGlobalCorrection": AT_LEAST_ONE,
        "MaxGlobalCorrectionFactor": ANY, "UpdateHistoryPeriod": AT_LEAST_ONE, EACH: SLICE}}, EACH: ANY},
    EACH: ANY}
"""Shape of each option; source: DIRAC reference, sections 8 and 12."""


def option_findings(operations: Mapping[str, Any], above: Key = ()) -> Iterator[Finding]:
    """Everything that is wrong with the options of DIRAC at a key."""
    scheduling = operations.get("JobScheduling", {})
    yield from misfits((*above, *SCHEDULING), scheduling, OPTIONS)


def misfits(key: Key, given: Any, shape: Any) -> Iterator[Finding]:
    """The values at and below a key that do not have a shape: a `Value`, or a mapping of shapes by name."""
    if isinstance(shape, Value):
        if not shape.fits(given):
            yield Finding(key, given, shape.expected)
    elif not isinstance(given, dict):
        yield Finding(key, given, "expected a mapping of options")
    else:
        for name, value in given.items():
            yield from misfits((*key, name), value, shape.get(name, shape[EACH]))
