"""A snapshot as PanDA reads its tables: rows may name things that are gone, and numbers may be out of range.

Rows about queues that are gone are never asked for, so they are left out; jobs of a share or resource type that is gone
still count at their queue, and replicas at a storage that no queue has are still complete.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from pydantic import ValidationError, ValidationInfo

from simgrid_broker.scenario.loading.origins import Finding, Key, Whole, dotted, value_at
from simgrid_broker.scenario.loading.validate import is_optional, without

MOST_EXAMPLES = 3
"""Examples in a remark."""
OF_RANGES = {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}
"""Kinds of pydantic's errors about numbers out of range."""
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


def within_range(model: type[Whole], values: dict, findings: list[Finding]) -> tuple[dict | None, Iterable[str]]:
    """Values with numbers in range and without nulls, None if none of them can be read so, and a remark for each kind.

    A number below its range is 0, or the smallest limit in `LEAST`; one above it is the largest; a null is left out.
    """
    beyond = [found for found in findings if found.limit is not None and isinstance(found.value, (int, float))]
    nulls = [found for found in findings if found.of_null and is_optional(model, found.key)]
    if not beyond and not nulls:
        return None, ()
    changed = without(values, {found.key for found in nulls})
    for found in beyond:
        value_at(changed, found.key[:-1])[found.key[-1]] = _nearest_in_range(found)
    return changed, _remarks([replace(found, expected=text) for text, alike in (
        ("numbers are out of range, and are read as the nearest that have a meaning", beyond),
        ("nulls are left out", nulls)) for found in alike])


def _nearest_in_range(found: Finding) -> float:
    """The number as which one out of range is read."""
    limit, value = found.limit, found.value
    assert limit is not None and isinstance(value, (int, float))
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


def _add_share(values: dict, name: str) -> None:
    """Add a leaf share without a target."""
    if all(share["name"] != name for share in values["shares"]):
        values["shares"] = [*values["shares"], dict(name=name, value=0)]


ADDED: dict[str, tuple[Callable[[dict, str], None], str]] = {
    "site": (_add_site, "is read as one without queues and storages"),
    "storage": (_add_storage, "is read as one that is open, at a site of its own"),
    "leaf share": (_add_share, "is read as one without a target")}
"""Things that are there although nothing describes them; by kind, how they are added, and what a remark says."""


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
