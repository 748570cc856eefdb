"""A snapshot as PanDA reads its tables: rows may name things that are gone, and numbers may be out of range.

Rows about queues that are gone are never asked for, so they are left out; jobs of a share or resource type that is gone
still count at their queue, and replicas at a storage that no queue has are still complete.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import ValidationError, ValidationInfo

from simgrid_broker.scenario.loading.origins import BOOLEAN, MISSING, NULL, Finding, Key, Whole, dotted, value_at
from simgrid_broker.scenario.loading.validate import is_optional, without

MOST_EXAMPLES = 3
"""Examples in a remark."""
OF_RANGES = {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}
"""Kinds of pydantic's errors about numbers out of range."""
OPEN_LIMITS = ("greater_than", "less_than")
"""Kinds of errors about numbers that must not be the limit itself."""
OTHER_WORDS = dict(status="paused", capability="mcore", ramunit="MB", scope="default",
                   read_lan="PROBING", write_lan="PROBING", read_wan="PROBING", write_wan="PROBING")
"""Words that decide as all do that PanDA compares with none of its own, by key."""
WITHOUT_SHARES = "Undefined"
"""Name of a share that PanDA gives to tasks which no share takes."""
LEFT_OUT = object()
"""Reading of a value that decides as if it were not there."""
UNKNOWN_SPACE = 1e18
"""Space of a storage that is not described, bytes: it stops nothing."""
OUT_OF_RANGE = "numbers are out of range, and are read as they are"
TOO_LARGE = "numbers are out of range, and are read as the largest that has a meaning"
LEAST = {"maxrss": 1, "maxwdir": 1, "maxtime": 1}
"""Readings of limits below their range, MB and s: no job fits, as 0 alone is no limit."""


def in_any_range(value: object, handler: Callable, info: ValidationInfo) -> object:
    """A number, however small, at most the largest, where a context lists numbers out of range; a wrap validator."""
    try:
        return handler(value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        if info.context is None or not {found["type"] for found in errors} <= OF_RANGES or not isinstance(
                value, (int, float)):
            raise
        if "le" in errors[0]["ctx"]:
            info.context.append(Finding((info.field_name or "",), value, TOO_LARGE))
            return errors[0]["ctx"]["le"]
        info.context.append(Finding((info.field_name or "",), value, OUT_OF_RANGE))
        return value


class Reading(NamedTuple):
    """A value, or `LEFT_OUT`, as which a lenient snapshot reads what stands at a key, and what a remark says."""

    key: Key
    value: Any
    remark: str


def readable(model: type[Whole], values: dict, findings: list[Finding]) -> tuple[dict | None, Iterable[str]]:
    """Values that can be read, None if none of what is wrong has another reading, and a remark for each kind."""
    readings = [(found, reading) for found in findings if (reading := _reading(model, found)) is not None]
    if not readings:
        return None, ()
    changed = without(values, set())
    for _, reading in readings:
        if reading.value is not LEFT_OUT and (around := value_at(changed, reading.key[:-1])) is not None:
            around[reading.key[-1]] = reading.value
    changed = without(changed, {reading.key for _, reading in readings if reading.value is LEFT_OUT})
    return changed, _remarks([replace(found, expected=reading.remark) for found, reading in readings])


def _reading(model: type[Whole], found: Finding) -> Reading | None:
    """Another reading of a value that cannot be read as it is; None if PanDA has none either."""
    key, value, name = found.key, found.value, str(found.key[-1])
    alone, number = is_optional(model, key), value if isinstance(value, (int, float)) else None
    if name == "type" and found.kind == "literal_error" and key[:2] == ("grid", "queues"):
        return Reading(key[:-1], LEFT_OUT, "queues of types to which no broker sends work are left out")
    if found.limit is not None and number is not None and not (alone and found.kind in OPEN_LIMITS):
        return Reading(key, _nearest_in_range(found), "numbers are out of range, and are read as the nearest that have "
                       "a meaning")
    if found.kind == "literal_error" and name in OTHER_WORDS:
        return Reading(key, OTHER_WORDS[name], "words are unknown, and are read as PanDA reads all others")
    if found.kind in ("int_from_float", BOOLEAN) and number is not None:
        return Reading(key, int(number), "numbers are not whole, and are read without their fractions")
    if found.kind == "string_type" and number is not None:
        return Reading(key, str(value), "numbers are written for text, and are read as such")
    if found.kind == "too_short" and key == ("shares",):
        return Reading(key, [dict(name=WITHOUT_SHARES, value=0)], "no share is there, which is read as one")
    if found.kind in (NULL, "literal_error", "value_error", *OPEN_LIMITS) and alone:
        return Reading(key, LEFT_OUT, "nulls are left out" if found.kind == NULL else "values without a meaning are "
                       "left out")
    if found.kind in (NULL, MISSING, "literal_error") and len(key) > 2 and is_optional(model, key[:-1]):
        return Reading(key[:-1], LEFT_OUT, "rows without a value that they need are left out")
    return None


def _nearest_in_range(found: Finding) -> float:
    """The number as which one out of range is read."""
    limit, value = found.limit, found.value
    assert limit is not None and isinstance(value, (int, float))
    if found.kind in OPEN_LIMITS:
        return limit + 1
    return limit if value > limit or limit > 0 else LEAST.get(str(found.key[-1]), 0)


def as_panda_reads(model: type[Whole], values: dict, findings: list[Finding],
                   out_of_range: list[Finding]) -> tuple[dict | None, Iterable[str]]:
    """Values in which nothing is missing, None if they need no change, and a remark for each kind of finding."""
    missing = [found for found in findings if found.thing]
    return _consistent(model, values, missing) if missing else None, _remarks([*findings, *out_of_range])


def _consistent(model: type[Whole], values: dict, missing: list[Finding]) -> dict:
    """A copy of values with what is missing added or left out, as `ADDED` says."""
    added = [found for found in missing
             if found.thing in ADDED and found.value not in set(_inner_shares(values["shares"]))]
    changed = without(values, {_unread(model, found.key) for found in missing if found not in added})
    for found in added:
        ADDED[found.thing][0](changed, str(found.value))
    return changed


def _inner_shares(shares: Iterable[dict]) -> Iterator[str]:
    """Names of the shares that others are below of."""
    for share in shares:
        if share.get("children"):
            yield from (share["name"], *_inner_shares(share["children"]))


def _unread(model: type[Whole], key: Key) -> Key:
    """Key to leave out where the name at `key` is of nothing: the name, or the row that cannot be without it."""
    return key if not isinstance(key[-1], str) or is_optional(model, key) else key[:-1]


def _add_site(values: dict, name: str) -> None:
    """Add a site without anything."""
    values["grid"]["sites"].setdefault(name, dict(cores=0))


def _add_storage(values: dict, name: str) -> None:
    """Add a storage of unknown space, which is open, at a site of its own."""
    _add_site(values, name)
    values["grid"]["storages"].setdefault(name, dict(site=name, total=UNKNOWN_SPACE, free=UNKNOWN_SPACE))


def _without_mode(values: dict, name: str) -> None:
    """Read queues with a workflow as those that have none."""
    for queue in values["grid"]["queues"].values():
        if queue.get("workflow") == name:
            queue["workflow"] = None


def _add_share(values: dict, name: str) -> None:
    """Add a leaf share without a target."""
    if all(share["name"] != name for share in values["shares"]):
        values["shares"] = [*values["shares"], dict(name=name, value=0)]


ADDED: dict[str, tuple[Callable[[dict, str], None], str]] = {
    "site": (_add_site, "is read as one without queues and storages"),
    "storage": (_add_storage, "is read as one that is open, at a site of its own"),
    "leaf share": (_add_share, "is read as one without a target"),
    "worker mode": (_without_mode, "is read as none")}
"""Things that are read although nothing describes them; by kind, how they are added, and what a remark says."""


def _remarks(findings: list[Finding]) -> Iterator[str]:
    """One line for each kind of finding, with number and examples."""
    by_kind = defaultdict(list)
    for found in findings:
        by_kind[f"an unknown {found.thing} " + ADDED.get(found.thing, (None, "is left out"))[1] if found.thing else
                found.expected].append(found)
    for kind, alike in by_kind.items():
        examples = dict.fromkeys(f"{dotted(found.key)} = {found.value!r}" for found in alike)
        shown = ", ".join(list(examples)[:MOST_EXAMPLES]) + (", ..." if len(examples) > MOST_EXAMPLES else "")
        yield f"{len(alike)} x {kind}: {shown}"
