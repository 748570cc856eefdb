"""The keys of a scenario file and of a snapshot as they may be written: type, unit, default, meaning."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from simgrid_broker import units
from simgrid_broker.cli.text import Section
from simgrid_broker.experiments.study_file import SensitivityFile, SweepFile, TuneFile
from simgrid_broker.policy.registry import BUILT_IN, names
from simgrid_broker.scenario.loading.validate import bare
from simgrid_broker.scenario.model import Policies, Scenario
from simgrid_broker.scenario.snapshot import Snapshot
from simgrid_broker.scenario.work.input_files import BytesSpread, FractionSpread, MegabytesSpread, NumberSpread, Spread
from simgrid_broker.schema.part import Part, fields_by_key
from simgrid_broker.systems.dirac.input.snapshot import DiracRequest, DiracSnapshot
from simgrid_broker.wording import first_sentence

HEAD = ("key", "type", "unit", "default", "meaning")

PARSED = {units.seconds: ("time", "s"), units.minutes: ("time", "min"), units.bytes_: ("size", "bytes"),
          units.megabytes: ("size", "MB"), units.bytes_per_second: ("rate", "bytes/s"),
          units.fraction: ("fraction", ""), units.sample: ("true, false or fraction", "")}
"""Kind of value and unit of a bare number, by the function that reads it."""

PLAIN = {bool: "true or false", int: "whole number", float: "number", str: "text", Path: "file", Any: "anything"}
"""Kinds of value that need no more words."""

SPREADS = {BytesSpread: "bytes", MegabytesSpread: "MB", FractionSpread: "", NumberSpread: "", Spread: ""}
"""Quantities that differ from task to task, and their units."""

LIMITS = (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<"))


@dataclass(frozen=True)
class KeyedPart:
    """A part of a scenario or a snapshot: the topic it is asked for by, its dotted key, its model, and of which."""

    topic: str
    key: str
    model: type[Part]
    whole: str = "scenario"

    def section(self) -> Section:
        """Its keys."""
        rows = tuple(_row(self.model, name, field) for name, field in fields_by_key(self.model).items())
        title = f"{self.key} in a {self.whole}" if self.key else f"top level of a {self.whole}"
        return Section(title, first_sentence(self.model.__doc__), HEAD, rows)


def parts() -> tuple[KeyedPart, ...]:
    """Every part of a scenario, outer ones first; quantities with a spread are the last."""
    keyed = _inside(KeyedPart("scenario", "", Scenario), ())
    return (*keyed, KeyedPart("spread", "any quantity that differs from task to task", Spread))


def snapshot_parts() -> tuple[KeyedPart, ...]:
    """Every part of a snapshot that is not also in a scenario, outer ones first, all under the topic `snapshot`."""
    keyed = _inside(KeyedPart("snapshot", "", Snapshot, "snapshot"), parts())
    return tuple(replace(part, topic="snapshot") for part in keyed)


def match_parts() -> tuple[KeyedPart, ...]:
    """Every part of a snapshot of DIRAC's task queues and of requests to them, all under the topic `match`."""
    keyed = [*_inside(KeyedPart("match", "", DiracSnapshot, "snapshot of task queues"), ()),
             *_inside(KeyedPart("match", "", DiracRequest, "match request"), ())]
    return tuple(replace(part, topic="match") for part in keyed)


def study_parts() -> tuple[KeyedPart, ...]:
    """Every part of the study files, all under the topic `study`."""
    keyed: list[KeyedPart] = []
    for model, verb in ((SweepFile, "sweep"), (SensitivityFile, "sensitivity"), (TuneFile, "tune")):
        keyed += _inside(KeyedPart("study", "", model, f"study file of `{verb}`"), tuple(keyed))
    return tuple(replace(part, topic="study") for part in keyed)


def _inside(outermost: KeyedPart, others: tuple[KeyedPart, ...]) -> list[KeyedPart]:
    """A part and all parts inside it, each model once, without the known ones."""
    inner, seen = [outermost], {part.model for part in others}
    for part in inner:
        for name, field in fields_by_key(part.model).items():
            model, step = _model_in(field.annotation)
            if model is not None and model not in seen | {each.model for each in inner}:
                key = f"{part.key}.{name}" if part.key else name
                inner.append(KeyedPart(name, key + step, model, part.whole))
    return inner


def _model_in(annotation: Any) -> tuple[type[Part] | None, str]:
    """The part that a type holds, and how the key of one of them goes on; None for plain values and quantities."""
    kind = bare(annotation)
    arguments = get_args(kind)
    if get_origin(kind) is dict and _is_part(bare(arguments[1])):
        return bare(arguments[1]), ".<tier>" if bare(arguments[0]) is int else ".<name>"
    if get_origin(kind) is tuple and _is_part(arguments[0]):
        return arguments[0], "[]"
    return (kind, "") if _is_part(kind) else (None, "")


def _is_part(kind: Any) -> bool:
    """True if a type is a part with keys of its own."""
    return isinstance(kind, type) and issubclass(kind, Part) and kind not in SPREADS


def _row(model: type[Part], name: str, field: FieldInfo) -> tuple[str, ...]:
    kind, unit = _kind(field.annotation, field.metadata)
    meaning = field.description or ""
    if model is Policies:
        meaning += f"; known: {', '.join(names(name))}" if name in BUILT_IN else ""
    return name, kind + _limits(field), unit, _default(field), meaning


def _kind(annotation: Any, metadata: list) -> tuple[str, str]:
    kind, (head, unit) = bare(annotation), _parsed([*metadata, *_metadata(annotation)])
    model, _ = _model_in(annotation)
    arguments = get_args(kind)
    if head:
        return head, unit
    if get_origin(kind) is Literal:
        return " | ".join(map(str, arguments)), ""
    if kind in SPREADS:
        return "quantity", SPREADS[kind]
    if get_origin(kind) is dict:
        return f"mapping of {'tiers' if bare(arguments[0]) is int else 'names'}", ""
    if get_origin(kind) is tuple:
        return "list" + ("" if model else f" of {_element(arguments[0])}"), _kind(arguments[0], [])[1]
    return ("mapping" if model else PLAIN[kind]), ""


def _element(kind: Any) -> str:
    word = _kind(kind, [])[0]
    return word if word in (PLAIN[str], PLAIN[Any]) or get_origin(bare(kind)) is Literal else word + "s"


def _parsed(metadata: list) -> tuple[str, str]:
    """Kind and unit by the parser that the metadata name; empty if they name none."""
    for mark in metadata:
        if getattr(mark, "func", None) in PARSED:
            return PARSED[mark.func]
    return "", ""


def _limits(field: FieldInfo) -> str:
    marks = [*field.metadata, *_metadata(field.annotation)]
    if _parsed(marks) == PARSED[units.fraction]:
        return ""
    limits = [f"{sign} {getattr(mark, name):g}" for name, sign in LIMITS for mark in marks if hasattr(mark, name)]
    return f" {', '.join(dict.fromkeys(limits))}" if limits else ""


def _default(field: FieldInfo) -> str:
    """The default as it might be written; `required` if it must be given, a dash if there is none."""
    value = field.get_default(call_default_factory=True)
    if field.is_required() or value is PydanticUndefined:
        return "required"
    if isinstance(value, Spread):
        return f"{value.median:g}"
    if isinstance(value, Part):
        return "its defaults"
    if isinstance(value, (dict, tuple)):
        return ", ".join(map(_written, value)) or "-"
    if isinstance(value, (bool, NoneType)) or value == "":
        return {True: "true", False: "false"}.get(value, "-") if value != "" else "-"
    return f"{value:.10g}" if isinstance(value, (int, float)) else str(value)


def _written(element: Any) -> str:
    if not isinstance(element, Part):
        return str(element)
    values = element.model_dump(exclude_defaults=True, by_alias=True)
    return "{" + ", ".join(f"{name}: {value}" for name, value in values.items()) + "}"


def _metadata(annotation: Any) -> Iterator[Any]:
    """Everything that annotations inside a type say, limits of nested fields included."""
    while get_origin(annotation) in (Annotated, Union, UnionType):
        if get_origin(annotation) is Annotated:
            for mark in annotation.__metadata__:
                yield from getattr(mark, "metadata", [mark])
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
