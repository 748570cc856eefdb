"""Validating plain values against the models: the errors of pydantic as findings in plain words; and a snapshot as
PanDA reads its tables: rows may name things that are gone, and numbers may be out of range.

Rows about queues that are gone are never asked for, so they are left out; jobs of a share or resource type that is gone
still count at their queue, and replicas at a storage that no queue has are still complete.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError, ValidationInfo

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.loading.origins import (
    BOOLEAN,
    MISSING,
    NULL,
    Finding,
    Key,
    Whole,
    dotted,
    items_of,
    value_at,
)
from simgrid_broker.schema.part import LATEST, fields_by_key, keys_meant

W = TypeVar("W", bound=Whole)
UNWRITTEN: dict[str, Any] = {"name": "unnamed", "duration": LATEST}
"""Stand-ins for required top-level values that cannot be read, so that the rest can be checked."""


@dataclass
class Validation(Generic[W]):
    """The valid part of a scenario or a snapshot, and the findings about the rest.

    whole: the model without the values that cannot be read, None if too little remains; gone: the names in entries
    that were left out; old_keys: positions in the original lists of the elements of shortened ones; out_of_range:
    numbers of a lenient snapshot that are read whatever their limits.
    """

    model: type[W]
    whole: W | None = None
    findings: list[Finding] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    old_keys: dict[Key, Key] = field(default_factory=dict)
    out_of_range: list[Finding] = field(default_factory=list)

    def old_key(self, key: Key) -> Key:
        """Key in the values as written of the value at `key` of `whole`."""
        old, new = Key(), Key()
        for step in key:
            new = (*new, step)
            old = self.old_keys.get(new, (*old, step))
        return old


def validated(values: dict, model: type[W], lenient: bool = False) -> Validation[W]:
    """Validate `values` as a `model`, leaving out what is wrong until the rest is valid.

    lenient: numbers of tasks have no limits.
    """
    checked, left_out = Validation(model), set[Key]()
    while True:
        checked.old_keys, checked.out_of_range = {}, []
        try:
            checked.whole = model.model_validate(_kept(values, left_out, checked.old_keys),
                                                 context=checked.out_of_range if lenient else None)
            break
        except ValidationError as error:
            errors = [(checked.old_key(found["loc"][:-1] if found["loc"][-1:] == ("[key]",) else found["loc"]), found)
                      for found in error.errors(include_url=False)]         # [key] marks a wrong name of an entry
        if not left_out:
            checked.findings = [_finding(model, key, found) for key, found in errors]
        more = {_to_leave_out(key, found) for key, found in errors} - left_out
        left_out |= more
        if not more or () in left_out:
            break
    known = {found.key for found in checked.findings}
    checked.findings += [found for found in _booleans_for_numbers(model, values) if found.key not in known]
    checked.gone = {name for key in left_out for name in _names(value_at(values, key), key)}
    return checked


def without(values: dict, keys: set[Key]) -> dict:
    """A copy of values without those at `keys`."""
    return _kept(values, keys, {})


def is_optional(model: type[Whole], key: Key) -> bool:
    """True if the value at `key` may be missing."""
    parent = _kind_at(model, key[:-1])
    return not is_part(parent) or not fields_by_key(parent)[str(key[-1])].is_required()


def inside(kind: Any, step: str | int) -> Any:
    """Type of the value at `step` in a value of type `kind`; Any where the models do not say."""
    kind = bare(kind)
    if is_part(kind):
        found = kind.model_fields.get(str(step)) or fields_by_key(kind).get(str(step))
        return Any if found is None else found.annotation
    arguments = get_args(kind)
    return {dict: arguments[-1:], tuple: arguments[:1]}.get(get_origin(kind), (Any,))[0]


def bare(kind: Any) -> Any:
    """`kind` without annotations and without None."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = next(part for part in get_args(kind) if part is not NoneType)
    return kind


def is_part(kind: Any) -> bool:
    """True if a type is a part of a scenario, with fields of its own."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _booleans_for_numbers(model: type[Whole], values: dict) -> Iterator[Finding]:
    """A finding for each true or false where a number is expected; pydantic would read them as 1 and 0."""
    for key, value in items_of(values):
        if isinstance(value, bool) and _kind_at(model, key) in (int, float):
            yield Finding(key, value, "expected a number", kind=BOOLEAN)


def _kind_at(model: type[Whole], key: Key) -> Any:
    kind = model
    for step in key:
        kind = inside(kind, step)
    return bare(kind)


def _finding(model: type[Whole], key: Key, error: Mapping[str, Any]) -> Finding:
    """One validation error as a finding; values that fill more than a line are not shown."""
    kind, value = error["type"], None if isinstance(error["input"], (dict, list, tuple)) else error["input"]
    if kind == "missing":
        return Finding(key, None, "is missing" + _description(model, key), kind=MISSING)
    if kind == "extra_forbidden":
        parent = _kind_at(model, key[:-1])
        return Finding(key, value, "unknown key", keys_meant(str(key[-1]), parent))
    known = tuple(re.findall(r"'([^']*)'", error["ctx"]["expected"])) if kind == "literal_error" else ()
    limits = error.get("ctx", {})
    meant = nearest(value, known) if isinstance(value, str) else ()
    if limits.get("le") == 1 and isinstance(value, int | float) and 1 < value <= 100 and _kind_at(model, key) is float:
        meant = (f"{value:g}%",)
    return Finding(key, value, _expected(error), meant,
                   limit=next((limits[name] for name in ("ge", "le", "gt", "lt") if name in limits), None),
                   kind=NULL if error["input"] is None else kind)


def _description(model: type[Whole], key: Key) -> str:
    """Description of the field at `key` in parentheses, to follow a message."""
    parent = _kind_at(model, key[:-1])
    text = fields_by_key(parent)[str(key[-1])].description if is_part(parent) else None
    return f" ({text[0].lower() + text[1:]})" if text else ""


def _expected(error: Mapping[str, Any]) -> str:
    kind, value = error["type"], error["input"]
    if kind == "value_error":
        return str(error["ctx"]["error"]).removeprefix(f"{value!r} ")
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        text = "expected a mapping (lines of `key: value`)"
    elif kind == "tuple_type":
        text = "expected a list"
    elif kind == "too_short":
        text = f"at least {error['ctx']['min_length']} entry is needed"
    elif kind == "string_type":
        text = "expected text; put it in quotes"
    else:
        text = error["msg"].replace("Input should be", "expected")
    return text + (", not null" if value is None else "")


def _to_leave_out(key: Key, error: Mapping[str, Any]) -> Key:
    """Key to leave out so that the error goes away: the value, or its parent if it is required."""
    if error["type"] != "missing":
        return key
    return key if key[0] in UNWRITTEN else key[:-1]


def _kept(values, left_out: set[Key], old_keys: dict[Key, Key], old: Key = (), new: Key = ()):
    """`values` without the keys of `left_out`; elements of lists that move are noted in `old_keys`."""
    if isinstance(values, dict):
        kept = {name: _kept(value, left_out, old_keys, (*old, name), (*new, name))
                for name, value in values.items() if (*old, name) not in left_out}
        return kept if old else {name: value for name, value in UNWRITTEN.items() if (name,) in left_out} | kept
    if not isinstance(values, (list, tuple)):
        return values
    listed: list[Any] = []
    for position, value in enumerate(values):
        if (*old, position) not in left_out:
            here = (*new, len(listed))
            old_keys[here] = (*old, position)
            listed.append(_kept(value, left_out, old_keys, (*old, position), here))
    return listed


def _names(value, key: Key) -> Iterator[str]:
    """All text in an entry that is left out, and its own name; nothing for a single value."""
    if isinstance(value, (dict, list, tuple)):
        yield str(key[-1]) if key else ""
        yield from _texts(value)


def _texts(value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)


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
