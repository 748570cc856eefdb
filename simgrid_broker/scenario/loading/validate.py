"""Validating plain values against the models: pydantic's errors as findings in plain words."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.loading.origins import BOOLEAN, MISSING, NULL, Finding, Key, Whole, items_of, value_at
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
