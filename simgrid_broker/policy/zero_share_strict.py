"""What a user should be told about a `fairsharepolicy` before a run.

What lives here: everything in it that PanDA would pass over or never match, with its place. What does not: what it
means (`zero_share`).

Sources: PanDA brokerage documentation, Zero Share; brokerage reference, section 6.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches

from simgrid_broker.names import PROCESSING_GROUPS
from simgrid_broker.policy.zero_share import PRIORITY, TEST_GROUP, UNDOCUMENTED_GROUPS

KEYS = ("priority", "type", "group", "gshare")
"""Keys of a sub-policy; source: PanDA brokerage documentation, Zero Share."""

OTHERS = "others"
EXPECTED = "expected <key><filter>:<value>, such as type=evgen:0%"

_VALUE = re.compile(r"\d+(?:\.\d+)?%?", re.ASCII)
_ZERO = re.compile(r"[0.]+%?")
_KEY = re.compile(r"\w*", re.ASCII)


class MalformedPolicy(ValueError):
    """Something in a `fairsharepolicy` that does not do what it says; position: character, counted from 0."""

    def __init__(self, position: int, reason: str):
        super().__init__(position, reason)
        self.position, self.reason = position, reason

    def __str__(self) -> str:
        return f"character {self.position + 1}: {self.reason}"


def check_policy(text: str, edition: str = "documented") -> tuple[MalformedPolicy, ...]:
    """Everything that is wrong with a `fairsharepolicy`, in the order of its text; () = nothing."""
    if not text:
        return ()
    found, start = [], 0
    for part in text.split(","):
        found += _of_sub_policy(part, start, edition)
        start += len(part) + 1
    return tuple(sorted(found, key=lambda problem: problem.position))


def valid_types(edition: str) -> tuple[str, ...]:
    """What `type=` can match: PanDA's groups of processing types, and `others` for all that are in none.

    `test` is not among those that count in the code (brokerage reference, section 6).
    """
    left_out = UNDOCUMENTED_GROUPS if edition == "documented" else (TEST_GROUP,)
    return tuple(sorted({*PROCESSING_GROUPS.values(), OTHERS} - {*left_out}))


def _of_sub_policy(text: str, start: int, edition: str) -> Iterator[MalformedPolicy]:
    """What is wrong with one sub-policy that begins at `start`."""
    *filters, value = text.split(":")
    if not text.strip():
        yield MalformedPolicy(start, f"an empty sub-policy matches every task; {EXPECTED}")
        return
    if not filters:
        yield from _alone(text, start)
        return
    position, seen = start, set()
    for field in filters:
        yield from _of_filter(field, position, seen, edition)
        position += len(field) + 1
    yield from _of_value(value, position)


def _alone(text: str, start: int) -> Iterator[MalformedPolicy]:
    """What is wrong with a sub-policy without a colon."""
    if _VALUE.fullmatch(text):
        yield MalformedPolicy(start, f"a value without a filter holds for every task; {EXPECTED}")
    else:
        yield MalformedPolicy(start, f"{text!r} has no value and so accepts what it matches; {EXPECTED}")


def _of_filter(field: str, start: int, seen: set[str], edition: str) -> Iterator[MalformedPolicy]:
    """What is wrong with one filter; `seen` is the keys of those before it in the sub-policy."""
    if field != field.lstrip():
        yield MalformedPolicy(start, "a filter after a blank is passed over, so that the sub-policy matches every task")
        return
    key = _KEY.match(field)[0]
    if key not in KEYS or key != "priority" and not field.startswith(f"{key}="):
        yield MalformedPolicy(start, _unknown(field, key))
        return
    if key in seen:
        yield MalformedPolicy(start, f"{key!r} stands here a second time; only the last one counts")
    seen.add(key)
    after, place = field[len(key):], start + len(key)
    yield from (_of_priority(after, place) if key == "priority" else _of_pattern(key, after[1:], place + 1, edition))


def _unknown(field: str, key: str) -> str:
    """What to say of a field that is no filter."""
    if key in KEYS:
        return f"{field!r} is passed over; expected {key}=<text>"
    near = get_close_matches(key.lower(), KEYS, n=1)
    meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(KEYS)}"
    return f"{field!r} is no filter and is passed over, so that the sub-policy may match every task; {meant}"


def _of_priority(text: str, start: int) -> Iterator[MalformedPolicy]:
    """What is wrong with a comparison: a broken one counts as matched."""
    if text != "=any" and not PRIORITY.fullmatch(text):
        yield MalformedPolicy(start, f"the comparison {text!r} cannot be made and so holds for every task; expected "
                              "one of > < >= <= == != and a number")


def _of_pattern(key: str, text: str, start: int, edition: str) -> Iterator[MalformedPolicy]:
    """What is wrong with the text that a task's type, group or share is compared with."""
    if "=" in text:
        yield MalformedPolicy(start, f"only what follows the last `=` of {text!r} counts")
        start, text = start + text.rindex("=") + 1, text[text.rindex("=") + 1:]
    if text != text.strip():
        yield MalformedPolicy(start, f"the blanks in {text!r} count, and nothing has them")
        return
    try:
        matches = re.compile(text.replace("*", ".*")).fullmatch
    except re.error as error:
        yield MalformedPolicy(start, f"{text!r} is no regular expression ({error.msg}), and nobody is refused for it "
                              "or for what follows")
        return
    if key == "type" and text != "any" and not any(map(matches, valid_types(edition))):
        yield MalformedPolicy(start, _no_type(text, edition))


def _no_type(text: str, edition: str) -> str:
    """What to say of a type that matches nothing."""
    known = valid_types(edition)
    if text == TEST_GROUP or PROCESSING_GROUPS.get(text) == TEST_GROUP and edition == "deployed":
        return "PanDA asks no policy for tests"
    if PROCESSING_GROUPS.get(text) == TEST_GROUP:
        return f"{text!r} is matched by nothing; did you mean 'test'?"
    near = get_close_matches(text, known, n=1)
    return (f"no type is {text!r}; " + (f"did you mean {near[0]!r}? " if near else "")
            + f"types are {', '.join(known)}; all that are not listed are `{OTHERS}`")


def _of_value(text: str, start: int) -> Iterator[MalformedPolicy]:
    """What is wrong with a value."""
    if not _VALUE.fullmatch(text):
        yield MalformedPolicy(start, f"{text!r} is no value and so accepts; expected a number, with or without %")
    elif text not in ("0", "0%") and _ZERO.fullmatch(text):
        yield MalformedPolicy(start, f"{text!r} is not zero for PanDA; write 0 or 0%")
