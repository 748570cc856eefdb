"""Setting single values of a draft by dotted key, from the command line or from a program.

A key goes from the top of the scenario through names and positions: `duration`, `grid.queues.CERN.corecount`,
`shares.Analysis.value`, `incidents[0].at`. The rest after `gdpconfig.` is one key, dots and blanks included.
A name that itself has dots is found if it exists; elements of a list are found by their `name` or their position.
A star in place of a name means all names, or positions, braces some: `grid.queues.*.maxtime`, `incidents.*.at`,
`grid.queues.{CERN,BNL}.status`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import PurePath
from types import NoneType
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticUndefined

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.gdpconfig import laid_over
from simgrid_broker.scenario.loading.documents import read_value
from simgrid_broker.scenario.loading.origins import (
    COMMAND_LINE,
    PYTHON,
    Assignment,
    Draft,
    Key,
    Whole,
    value_at,
)
from simgrid_broker.scenario.loading.validate import bare, inside, is_part
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.schema.part import fields_by_key, keys_meant

SEVERAL = re.compile(r"(?P<where>.+?)\.(?:\*|\{(?P<names>[^{}]+)\})(?P<rest>\..+)?")
"""A key with a star or braces in place of a name."""


class NoSuchKey(ValueError):
    """A dotted key that names nothing; `nearest` are names that may have been meant."""

    def __init__(self, message: str, nearest: tuple[str, ...] = ()):
        super().__init__(message)
        self.nearest = nearest


def from_command_line(text: str) -> Assignment:
    """The assignment `dotted.key=value`; raises ValueError with what is wrong."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError("write dotted.key=value")
    return Assignment(key.strip(), read_value(value), COMMAND_LINE)


def from_python(values: Mapping[str, object]) -> tuple[Assignment, ...]:
    """Assignments by dotted key; NumPy numbers, paths and tuples become YAML's types."""
    return tuple(Assignment(key, plain(value), PYTHON) for key, value in values.items())


def assigned(draft: Draft, assignment: Assignment, model: type[Whole] = Scenario) -> Draft:
    """`draft` with one value set, or that of several names; None removes an entry. Raises NoSuchKey."""
    names = spread(draft.values, assignment.key, model)
    if names != [assignment.key]:
        return reduce(lambda part, name: assigned(part, replace(assignment, key=name), model), names, draft)
    key = located(draft.values, assignment.key, model)
    if key[0] == "gdpconfig" and isinstance(draft.values.get("gdpconfig"), dict):
        kept = laid_over(draft.values["gdpconfig"], dict.fromkeys(map(str, key[1:])))
        draft = replace(draft, values=draft.values | {"gdpconfig": kept})
    values = _with(draft.values, model, key, assignment.value)
    marks = {old: origin for old, origin in draft.marks.items() if old[:len(key)] != key}
    return replace(draft, values=values, marks=marks | {key: assignment.origin})


def spread(values: dict, text: str, model: type[Whole] = Scenario) -> list[str]:
    """The keys that `text` means in the `values` of a `model`, with each name that a star or braces mean.

    Raises NoSuchKey where a star means none.
    """
    found = None if text.startswith("gdpconfig.") else SEVERAL.fullmatch(text)
    if found is None:
        return [text]
    names = (found["names"].split(",") if found["names"]
             else _names_in(value_at(values, located(values, found["where"], model))))
    if not names:
        raise NoSuchKey(f"{found['where']} has no entries")
    return [key for name in names for key in spread(values, f"{found['where']}.{name.strip()}{found['rest']}", model)]


def _names_in(here: Any) -> list[str]:
    """Names of the entries of a mapping, and names, or else positions, of the elements of a list."""
    if isinstance(here, (list, tuple)):
        return [str(each.get("name", place) if isinstance(each, dict) else place) for place, each in enumerate(here)]
    return list(here) if isinstance(here, dict) else []


def located(values: dict, text: str, model: type[Whole] = Scenario) -> Key:
    """The key that `text` means in the `values` of a `model`. Raises NoSuchKey."""
    if text.startswith("gdpconfig."):
        return "gdpconfig", text.removeprefix("gdpconfig.")
    rest = re.sub(r"\[(\d+)]", r".\1", text)
    key, kind, here = Key(), model, values
    while rest:
        step, rest = _step(bare(kind), here, rest)
        here = _part(here, bare(kind), step)
        key, kind = (*key, step), inside(kind, step)
    return key


def plain(value: Any) -> Any:
    """`value` as YAML's types."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [plain(inner) for inner in value]
    return value


def _step(kind: Any, here: Any, rest: str) -> tuple[str | int, str]:
    """The first step of `rest` in the value `here` of type `kind`, and what is left of `rest`."""
    first, _, others = rest.partition(".")
    if is_part(kind):
        if first not in fields_by_key(kind):
            raise NoSuchKey(f"unknown key {first!r}", keys_meant(first, kind))
        return first, others
    if get_origin(kind) is tuple or kind is Any and isinstance(here, (list, tuple)):
        return _element(here if isinstance(here, (list, tuple)) else (), rest)
    if get_origin(kind) is not dict and not (kind is Any and isinstance(here, (dict, NoneType))):
        raise NoSuchKey(f"there is nothing to set inside, so not {rest!r} either")
    names = list(here) if isinstance(here, dict) else []
    name = _longest(names, rest)
    if name is None and others and inside(kind, first) is not Any:      # options have any names, and others inside
        raise NoSuchKey(f"unknown name {first!r}", nearest(first, names))
    return (first, others) if name is None else (name, rest[len(name) + 1:])


def _element(elements: Sequence, rest: str) -> tuple[int, str]:
    """Position of the element of a list that `rest` begins with, by name or by number, and what is left."""
    by_name = {element.get("name"): k for k, element in enumerate(elements) if isinstance(element, dict)}
    name = _longest([name for name in by_name if isinstance(name, str)], rest)
    if name is not None:
        return by_name[name], rest[len(name) + 1:]
    first, _, others = rest.partition(".")
    if not first.isdecimal() or int(first) >= len(elements):
        names = [str(name) for name in by_name if name is not None]
        raise NoSuchKey(f"the list has {len(elements)} element(s), none called {first!r}", nearest(first, names))
    return int(first), others


def _longest(names: list[str], rest: str) -> str | None:
    """The longest of `names` that `rest` is, or begins with before a dot."""
    return max((name for name in names if rest == name or rest.startswith(f"{name}.")), key=len, default=None)


def _part(here: Any, kind: Any, step: Any) -> Any:
    """The value at `step` of `here`; where nothing was written, its default in plain kinds."""
    if isinstance(here, (list, tuple)):
        return here[step]
    if isinstance(here, dict) and step in here:
        return here[step]
    if not is_part(kind):
        return None
    default = fields_by_key(kind)[step].get_default(call_default_factory=True)
    return None if default is PydanticUndefined else plain(default)


def _with(here: Any, kind: Any, key: Key, value: Any) -> Any:
    """A copy of the value `here` of type `kind` in which `key` has `value`."""
    kind, (step, *rest) = bare(kind), key
    copy: Any = list(here) if isinstance(here, (list, tuple)) else _mapping(here, kind)
    if rest:
        copy[step] = _with(_part(copy, kind, step), inside(kind, step), tuple(rest), value)
    elif value is None and isinstance(copy, list):
        raise NoSuchKey("an element of a list cannot be removed by itself; write the whole list")
    elif value is None and step in copy:
        del copy[step]
    else:
        copy[step] = value
    return copy


def _mapping(here: Any, kind: Any) -> dict:
    """A copy of `here`; a short form, such as a number for a spread, is written out."""
    if isinstance(here, dict):
        return dict(here)
    try:
        made = kind.model_validate(here) if is_part(kind) and here is not None else None
        return {} if made is None else made.model_dump(mode="json", by_alias=True)
    except ValidationError:
        return {}
