"""A match request: the description of a resource, checked as DIRAC checks it."""

import string
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

WILDCARD = "any"
WHOLE = ("CPUTime", "MaxRAM", "JobID")
"""Fields of a request that are whole numbers."""
NEVER_EMPTY = ("CPUTime", "Owner", "OwnerGroup")
"""Fields of which an empty list is an error."""
ONE_NUMBER = ("MaxRAM", "JobID")
"""Fields of which several values are an error."""
TAGS = ("Tag", "RequiredTag")
"""Fields of which an empty text is a value; for others it is no condition."""

Values = tuple[Any, ...]
Ban = Mapping[str, Values]
"""A negative condition: values by attribute."""


class Malformed(ValueError):
    """A request, or a negative condition, to which DIRAC answers with an error; kind: type, required tags or query."""

    def __init__(self, kind: str, text: str):
        self.kind = kind
        super().__init__(text)


@dataclass(frozen=True)
class Request:
    """A checked request.

    values: the fields that are given, each a tuple; sharing: groups with JOB_SHARING; named_ce: task queues must name
    the GridCE, because the site of the pilot is banned; bans: negative conditions, which exclude a task queue together.
    """

    values: Mapping[str, Values]
    sharing: frozenset[str] = frozenset()
    named_ce: bool = False
    bans: tuple[Ban, ...] = ()

    def given(self, name: str) -> Values:
        """Values of a field that are a condition: () if it is missing, empty or holds the wildcard."""
        return self._conditions.get(name, ())

    @cached_property
    def _conditions(self) -> Mapping[str, Values]:
        return {name: values for name, values in self.values.items() if not has_wildcard(values)}


def has_wildcard(values: Values) -> bool:
    """True if ANY is among the values, whatever its case and punctuation; blanks count: DIRAC reference, 7.2."""
    return any(isinstance(value, str) and _without_punctuation(value).lower() == WILDCARD for value in values)


def checked_request(given: Mapping[str, Any], fields: Iterable[str], sharing: Collection[str] = (), *,
                    named_ce: bool = False, negative: Any = None) -> Request:
    """A request with its values checked; raises Malformed.

    fields: those that have a meaning in the edition; sharing, named_ce: as of a `Request`; negative: a negative
    condition, or a list of them. Source: DIRAC reference, 7.1, 7.4 and 8.1. An empty list of CPU times, owners or
    groups, and several memories or job ids, are refused by name, where DIRAC fails (quirk malformed_request).
    """
    if given.get("CPUTime") is None:
        raise Malformed("type", "CPUTime is missing")
    values = {name: _values(name, given[name]) for name in fields if given.get(name) is not None}
    if values.get("JobID") == ():
        del values["JobID"]
    for name in ONE_NUMBER:
        if len(values.get(name, (0,))) != 1:
            raise Malformed("query", f"{name} {given[name]!r} is not one number")
    required = values.get("RequiredTag", ())
    if not has_wildcard(required) and not set(required) <= set(values.get("Tag", ())):
        raise Malformed("required tags", f"RequiredTag {', '.join(required) or repr('')} is not among the Tag of the "
                        f"resource ({', '.join(values.get('Tag', ())) or 'none'})")
    return Request(values, frozenset(sharing), named_ce, _bans(negative))


def _values(name: str, given: Any) -> Values:
    """The values of one field as a tuple; raises Malformed."""
    kind, called = (int, "a whole number") if name in WHOLE else (str, "text")
    if given == "" and name not in (*TAGS, *NEVER_EMPTY):
        return ()
    values = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if wrong := [value for value in values if not isinstance(value, kind) or isinstance(value, bool)]:
        raise Malformed("type", f"{name} {wrong[0]!r} is not {called}")
    if not values and name in NEVER_EMPTY:
        raise Malformed("query", f"{name} is an empty list")
    return values


def _bans(negative: Any) -> tuple[Ban, ...]:
    """Negative conditions with the attributes that are known; raises Malformed if one has none of these."""
    bans: list[Ban] = []
    for ban in negative if isinstance(negative, (list, tuple)) else [negative] if negative else []:
        known = {name: tuple(values) if isinstance(values, (list, tuple)) else (values,)
                 for name, values in ban.items() if name in BANNED_BY}
        if ban and not known:
            raise Malformed("query", f"the negative condition on {', '.join(ban)} has no known attribute; known are "
                            + ", ".join(BANNED_BY))
        bans += [known] if known else []
    return tuple(bans)


BANNED_BY = {"Owner": "Owner", "OwnerGroup": "OwnerGroup", "CPUTime": "CPUTime", "Site": "Sites", "GridCE": "GridCEs",
             "Platform": "Platforms", "JobType": "JobTypes", "Tag": "Tags"}
"""Attributes of negative conditions, with the fields of a task queue that they concern."""


def _without_punctuation(text: str) -> str:
    return text.translate(_PUNCTUATION)


_PUNCTUATION = str.maketrans("", "", string.punctuation)
