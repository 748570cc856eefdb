"""Zero share: what a queue's `fairsharepolicy` means for a task, and what in it does not do what it says.

Source: PanDA brokerage documentation, Zero Share; brokerage reference, section 6 (D42, D43). As in PanDA, malformed
text never stops a decision: a field that is no known filter is ignored.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

from simgrid_broker.editions import ByEdition
from simgrid_broker.names import PROCESSING_GROUPS

COMPARISONS = {">": gt, "<": lt, ">=": ge, "<=": le, "==": eq, "!=": ne}
UNDOCUMENTED_GROUPS = ("mcore",)
"""Groups of the deployed edition that the documentation does not list; source: D43."""

TEST_GROUP, OTHERS = "test", "others"
"""Group of tests, which a policy may name as documented while the deployed edition asks no policy for them; and the
group of all processing types that are not listed."""

TASK_FIELDS = ("processingtype", "workinggroup", "gshare", "currentpriority", "is_merging")
"""Fields of a task that decide whether a sub-policy matches."""

KEYS = ("priority", "type", "group", "gshare")
"""Keys of a sub-policy; source: PanDA brokerage documentation, Zero Share."""

EXPECTED = "expected <key><filter>:<value>, such as type=evgen:0%"

PRIORITY = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*([-+]?(?:0+|[1-9]\d*|\d+\.\d*|\.\d+))\s*", re.ASCII)
"""A comparison that the deployed edition can evaluate: Python accepts no whole number with a leading 0."""
_VALUE = re.compile(r"\d+(?:\.\d+)?%?", re.ASCII)
_ZERO = re.compile(r"[0.]+%?")
_KEY = re.compile(r"priority|\w*", re.ASCII)


@dataclass(frozen=True)
class SubPolicy:
    """One sub-policy; a filter that is None is absent. `priority` is the comparison as written."""

    zero: bool
    type: str | None = None
    group: str | None = None
    gshare: str | None = None
    priority: str | None = None


class MalformedPolicy(NamedTuple):
    """Part of a `fairsharepolicy` that does not do what it says; position: character, counted from 0."""

    position: int
    reason: str

    def __str__(self) -> str:
        return f"character {self.position + 1}: {self.reason}"


class Terms(NamedTuple):
    """Terms in which the editions differ.

    unmatched: groups of processing types that `type=` does not match; others: those among them that count as `others`;
    spared: groups whose tasks no policy refuses; anchored: `A|B` is anchored as `^A|B$`, each part at one end only,
    otherwise all of it must match; holds_for_merging: the priority filter holds for merge jobs, otherwise never (D42).
    """

    unmatched: tuple[str, ...]
    others: tuple[str, ...]
    spared: tuple[str, ...]
    anchored: bool
    holds_for_merging: bool


TERMS = ByEdition(
    documented=Terms(UNDOCUMENTED_GROUPS, UNDOCUMENTED_GROUPS, (), anchored=False, holds_for_merging=False),
    deployed=Terms((TEST_GROUP,), (), (TEST_GROUP,), anchored=True, holds_for_merging=True))


def parse_policy(text: str) -> tuple[SubPolicy, ...]:
    """The sub-policies of a `fairsharepolicy` in order; any text is accepted, empty text has none."""
    return _read(text, "documented")[0]


def as_read(text: str) -> str:
    """A `fairsharepolicy` with the same decisions as the text, in which only what PanDA reads in it is left.

    A pattern that is no regular expression stays: no task is refused for it or for what follows.
    """
    return ",".join(_written(policy) for policy in parse_policy(text))


def _written(policy: SubPolicy) -> str:
    """A sub-policy as text; one without a filter holds for every task."""
    filters = [f"{key}={value}" for key in KEYS[1:] if (value := getattr(policy, key)) is not None]
    if policy.priority not in (None, "=any"):
        filters.insert(0, f"priority{policy.priority}")
    return ":".join((*(filters or ["type=any"]), "0%" if policy.zero else "100%"))


def check_policy(text: str, edition: str = "documented") -> tuple[MalformedPolicy, ...]:
    """Everything that PanDA would ignore or never match in a `fairsharepolicy`, in the order of its text."""
    return _read(text, edition)[1]


def valid_types(edition: str) -> tuple[str, ...]:
    """Groups that `type=` can match; the deployed edition asks no policy for tests (brokerage reference, section 6)."""
    return tuple(sorted({*PROCESSING_GROUPS.values(), OTHERS} - {*TERMS[edition].unmatched}))


def processing_group(processingtype: str, edition: str) -> str:
    """The group that `type=` addresses: PanDA's group of the processing type, or `others`."""
    group = PROCESSING_GROUPS.get(processingtype, OTHERS)
    return OTHERS if group in TERMS[edition].others else group


def has_zero_share(policy: str, *, processingtype: str, workinggroup: str, gshare: str, currentpriority: int,
                   is_merging: bool, edition: str) -> bool:
    """True if the first sub-policy that matches the task says zero; without a match it does not.

    As documented a policy may name tests (`type=test:0%`); as deployed tests are never refused.
    """
    place = first_match(policy, processingtype=processingtype, workinggroup=workinggroup, gshare=gshare,
                        currentpriority=currentpriority, is_merging=is_merging, edition=edition)
    return place is not None and parse_policy(policy)[place].zero


def first_match(policy: str, *, processingtype: str, workinggroup: str, gshare: str, currentpriority: int,
                is_merging: bool, edition: str) -> int | None:
    """Place of the first sub-policy that matches the task, None if none does; arguments as above."""
    group = processing_group(processingtype, edition)
    if group in TERMS[edition].spared:
        return None
    for place, sub in enumerate(parse_policy(policy)):
        try:
            matches = (_matches(sub.type, group, edition) and _matches(sub.group, workinggroup or "", edition)
                       and (not gshare or _matches(sub.gshare, gshare, edition))
                       and _priority_matches(sub.priority, currentpriority, is_merging, edition))
        except re.error:
            return None                         # as in PanDA: an error while matching refuses no task
        if matches:
            return place
    return None


def _matches(pattern: str | None, value: str, edition: str) -> bool:
    """True if a filter holds; in the deployed edition `A|B` is anchored as `^A|B$`, each part at one end only."""
    if pattern in (None, "any"):
        return True
    expression = pattern.replace("*", ".*")
    found = re.search(f"^{expression}$", value) if TERMS[edition].anchored else re.fullmatch(expression, value)
    return found is not None


def _priority_matches(expression: str | None, priority: int, is_merging: bool, edition: str) -> bool:
    """True if the priority filter holds; for merge jobs it is ignored (documented) or always holds (D42)."""
    if expression in (None, "any"):
        return True
    if is_merging:
        return TERMS[edition].holds_for_merging
    comparison = PRIORITY.fullmatch(expression)
    return comparison is None or COMPARISONS[comparison[1]](priority, float(comparison[2]))


@cache
def _read(text: str, edition: str) -> tuple[tuple[SubPolicy, ...], tuple[MalformedPolicy, ...]]:
    """The sub-policies and the problems of a `fairsharepolicy`."""
    policies, problems, start = [], [], 0
    for part in text.split(",") if text else ():
        policy, found = _sub_policy(part, start, edition)
        policies.append(policy)
        problems += found
        start += len(part) + 1
    return tuple(policies), tuple(sorted(problems, key=lambda problem: problem.position))


def _sub_policy(text: str, start: int, edition: str) -> tuple[SubPolicy, list[MalformedPolicy]]:
    """A sub-policy that begins at `start`, and its problems; PanDA reads its value as a filter, too."""
    filters: dict[str, str] = {}
    problems: list[MalformedPolicy] = []
    position = start
    *fields, value = text.split(":")
    for field in fields:
        problems += _filter(field, position, filters, edition)
        position += len(field) + 1
    list(_filter(value, position, filters, edition))
    if not text.strip():
        problems = [MalformedPolicy(start, f"an empty sub-policy matches every task; {EXPECTED}")]
    elif not fields:
        problems = [MalformedPolicy(start, f"a value without a filter holds for every task; {EXPECTED}"
                                    if _VALUE.fullmatch(value) else
                                    f"{text!r} has no value and so accepts what it matches; {EXPECTED}")]
    elif not _VALUE.fullmatch(value):
        problems.append(MalformedPolicy(position, f"{value!r} is no value and so accepts; expected a number, with or "
                                        "without %"))
    elif value not in ("0", "0%") and _ZERO.fullmatch(value):
        problems.append(MalformedPolicy(position, f"{value!r} is not zero for PanDA; write 0 or 0%"))
    return SubPolicy(value in ("0", "0%"), **filters), problems


def _filter(field: str, start: int, filters: dict[str, str], edition: str) -> Iterator[MalformedPolicy]:
    """Add a filter to those of its sub-policy; its problems."""
    key = _KEY.findall(field)[0]
    after, place = field[len(key):], start + len(key)
    if field != field.lstrip():
        yield MalformedPolicy(start, "a filter after a blank is passed over, so that the sub-policy matches every task")
    elif key not in KEYS or key != "priority" and not after.startswith("="):
        yield MalformedPolicy(start, _unknown(field, key))
    else:
        if key in filters:
            yield MalformedPolicy(start, f"{key!r} stands here a second time; only the last one counts")
        filters[key] = after if key == "priority" else after.split("=")[-1]
        if key != "priority":
            yield from _of_pattern(key, after[1:], place + 1, edition)
        elif after != "=any" and not PRIORITY.fullmatch(after):
            yield MalformedPolicy(place, f"the comparison {after!r} cannot be made and so holds for every task; "
                                  "expected one of > < >= <= == != and a number")


def _unknown(field: str, key: str) -> str:
    """The problem of a field that is no filter."""
    if key in KEYS:
        return f"{field!r} is passed over; expected {key}=<text>"
    near = get_close_matches(key.lower(), KEYS, n=1)
    meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(KEYS)}"
    return f"{field!r} is no filter and is passed over, so that the sub-policy may match every task; {meant}"


def _of_pattern(key: str, text: str, start: int, edition: str) -> Iterator[MalformedPolicy]:
    """Problems of the text that a task's type, group or share is compared with."""
    if "=" in text:
        yield MalformedPolicy(start, f"only what follows the last `=` of {text!r} counts")
        start, text = start + text.rindex("=") + 1, text[text.rindex("=") + 1:]
    if text != text.strip():
        yield MalformedPolicy(start, f"the blanks in {text!r} count, and nothing has them")
        return
    try:
        matches = re.compile(text.replace("*", ".*")).fullmatch
    except (re.error, OverflowError) as error:
        yield MalformedPolicy(start, f"{text!r} is no regular expression ({error}), and no task is refused for it "
                              "or for what follows")
        return
    if key == "type" and text != "any" and not any(map(matches, valid_types(edition))):
        yield MalformedPolicy(start, _no_type(text, edition))


def _no_type(text: str, edition: str) -> str:
    """The problem of a type that matches nothing."""
    known = valid_types(edition)
    if text == TEST_GROUP or PROCESSING_GROUPS.get(text) in TERMS[edition].spared:
        return "PanDA asks no policy for tests"
    if PROCESSING_GROUPS.get(text) == TEST_GROUP:
        return f"{text!r} is matched by nothing; did you mean 'test'?"
    near = get_close_matches(text, known, n=1)
    return (f"no type is {text!r}; " + (f"did you mean {near[0]!r}? " if near else "")
            + f"types are {', '.join(known)}; all that are not listed are `{OTHERS}`")
