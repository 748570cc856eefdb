"""What a user should be told about a `fairsharepolicy` before a run.

What lives here: everything in a policy that PanDA reads otherwise than it was meant, with its place. What does not:
what the policy says about a task (`zero_share`), which accepts any text, as PanDA does.

Sources: PanDA brokerage documentation, Zero Share; brokerage reference, section 6.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from simgrid_broker.policy.zero_share import COMPARISONS, FILTERS, expression, valid_types

PRIORITY_KEY = "priority"
KEYS = (PRIORITY_KEY, *FILTERS)
"""Keys of a sub-policy; source: PanDA brokerage documentation, Zero Share."""

_VALUE = re.compile(r"\d+(?:\.\d+)?%?", re.ASCII)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?", re.ASCII)
_ZERO = re.compile(r"0+(?:\.0*)?%?", re.ASCII)
_OPERATOR = re.compile("|".join(sorted(COMPARISONS, key=len, reverse=True)))
_KEY = re.compile(r"[A-Za-z_]*")


@dataclass(frozen=True)
class PolicyProblem:
    """Something in a policy that does not do what it says.

    position: character, counted from 0; what: the piece of text; expected: what should stand there.
    """

    position: int
    what: str
    expected: str

    def __str__(self) -> str:
        return f"character {self.position + 1}, {self.what!r}: {self.expected}"


def problems_of_policy(text: str, edition: str = "documented") -> tuple[PolicyProblem, ...]:
    """Everything that is wrong with a `fairsharepolicy`, in the order of its text; () = nothing."""
    found = [problem for start, part in _pieces(text, ",", 0) for problem in _of_sub_policy(part, start, edition)]
    return tuple(sorted(found, key=lambda problem: problem.position)) if text else ()


def _pieces(text: str, sign: str, start: int) -> Iterator[tuple[int, str]]:
    """Place and text of each piece between the signs."""
    for piece in text.split(sign):
        yield start, piece
        start += len(piece) + 1


def _of_sub_policy(text: str, start: int, edition: str) -> Iterator[PolicyProblem]:
    """What is wrong with `<key><filter>:<value>`; several filters may stand before the value."""
    if not text.strip():
        yield PolicyProblem(start, text, "expected <key><filter>:<value>; without a filter it matches everything")
        return
    *filters, (place, value) = _pieces(text, ":", start)
    if not filters:
        looks_like_value = _VALUE.fullmatch(value.strip())
        yield PolicyProblem(place, value, "expected a filter and a colon before the value" if looks_like_value else
                            "expected a colon and a value, 0 or 100, at the end")
        filters = [] if looks_like_value else [(place, value)]
    else:
        yield from _of_value(value, place)
    seen = set()
    for place, each in filters:
        key = _KEY.match(each.lstrip())[0]
        if key in seen and key in KEYS:
            yield PolicyProblem(place, each, f"{key} is given twice; only the last one counts")
        seen.add(key)
        yield from _of_filter(each, place, key, edition)


def _of_value(value: str, place: int) -> Iterator[PolicyProblem]:
    """A value is a percentage; only 0 and 0% are zero."""
    if not _VALUE.fullmatch(value):
        yield PolicyProblem(place, value, "expected a number with or without %; anything but 0 and 0% is not zero")
    elif _ZERO.fullmatch(value) and value not in ("0", "0%"):
        yield PolicyProblem(place, value, "write 0 or 0%; any other spelling is not zero")


def _of_filter(text: str, place: int, key: str, edition: str) -> Iterator[PolicyProblem]:
    """A filter begins with one of the keys, without a blank before it."""
    if text != text.lstrip():
        yield PolicyProblem(place, text, "a filter must not begin with a blank, else it is none and everything matches")
        place, text = place + len(text) - len(text.lstrip()), text.lstrip()
    if key not in KEYS:
        near = get_close_matches(key.lower(), KEYS, 1)
        comma = "; a comma, not a semicolon, ends a sub-policy" if ";" in text else ""
        yield PolicyProblem(place, text, f"expected one of the keys {', '.join(KEYS)}{comma}"
                            + (f"; did you mean {near[0]!r}?" if near else ""))
    elif key == PRIORITY_KEY:
        yield from _of_priority(text, place)
    elif not text.startswith(key + "="):
        yield PolicyProblem(place, text, f"expected {key}=")
    else:
        yield from _of_pattern(text, place, key, edition)


def _of_priority(text: str, place: int) -> Iterator[PolicyProblem]:
    """A comparison with a number; a broken one counts as matched, whatever the priority."""
    rest = text.removeprefix(PRIORITY_KEY)
    operator = _OPERATOR.match(rest.lstrip())
    if operator is None:
        yield PolicyProblem(place + len(PRIORITY_KEY), rest, f"expected one of {', '.join(COMPARISONS)}; a comparison "
                            "that is none holds for every priority")
    elif not _NUMBER.fullmatch(rest.strip().removeprefix(operator[0]).strip()):
        at = place + len(PRIORITY_KEY) + rest.index(operator[0]) + len(operator[0])
        yield PolicyProblem(at, text[at - place:], "expected a number; a comparison without one holds for every "
                            "priority")


def _of_pattern(text: str, place: int, key: str, edition: str) -> Iterator[PolicyProblem]:
    """`any`, or a regular expression; a type must fit at least one of the valid ones."""
    pattern = text.split("=")[-1]
    at = place + len(text) - len(pattern)
    if "=" in text.removeprefix(key + "="):
        yield PolicyProblem(place, text, "only what stands behind the last = counts")
    if not pattern or pattern != pattern.strip():
        yield PolicyProblem(at, pattern, "expected any, a name or a regular expression, without blanks around it")
        return
    try:
        compiled = expression(pattern)
    except re.error as error:
        yield PolicyProblem(at, pattern, f"no regular expression ({error.msg}); it ends the search, and nothing is "
                            "refused")
        return
    if key == "type" and pattern != "any" and not any(map(compiled.fullmatch, valid_types(edition))):
        near = get_close_matches(pattern, valid_types(edition), 1)
        yield PolicyProblem(at, pattern, f"fits no type; valid are {', '.join(valid_types(edition))}"
                            + (f"; did you mean {near[0]!r}?" if near else ""))
