"""Random values of the keys of a scenario, derived from the schema: types, limits, units, constraints and examples."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import yaml
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, BeforeValidator

from simgrid_broker import units
from simgrid_broker.gdpconfig import REGISTRY, GdpconfigKey
from simgrid_broker.plugins import AGENT_GROUP, offered
from simgrid_broker.policy import registry
from simgrid_broker.scenario.checks.rows import THINGS
from simgrid_broker.scenario.checks.work import STATUSES
from simgrid_broker.scenario.loading.validate import bare, inside, is_part
from simgrid_broker.scenario.model import Agents, Incident, Policies, Scenario
from simgrid_broker.schema.harvester import options_of
from simgrid_broker.schema.part import LARGEST_WHOLE, Needs, Refers, fields_by_key
from simgrid_broker.schema.queues import Queue
from simgrid_broker.systems.dispatch import DISPATCHERS
from simgrid_broker.systems.worker_mode import MODES

ROOT = Path(__file__).resolve().parents[2]
LARGEST_EXAMPLE = 100_000
"""Bytes of the largest scenario that is read for examples."""

TYPICAL: dict[Callable, float] = {units.seconds: 3600, units.minutes: 60, units.bytes_: 1e9, units.megabytes: 2000,
                                  units.bytes_per_second: 1e8, units.fraction: 0.2, units.sample: 0.5}
"""A usual value by the function that reads its unit."""

DOORS: dict[tuple[type, str], Callable[[], Sequence[str]]] = {
    (Queue, "workflow"): MODES.names, (Scenario, "dispatch"): DISPATCHERS.names,
    (Agents, "own"): lambda: offered(AGENT_GROUP),
    **{(Policies, kind): (lambda kind=kind: registry.names(kind)) for kind in registry.BUILT_IN}}
"""Names that a key may have because the package or another one offers what they name."""


@cache
def examples() -> dict[tuple[type, str], tuple[Any, ...]]:
    """Values that the scenarios of the project give to each key of each part."""
    known: dict[tuple[type, str], dict[str, Any]] = {}
    for path in sorted((ROOT / "scenarios").glob("*.yaml")):
        if path.stat().st_size < LARGEST_EXAMPLE:
            for part, key, value in _written(Scenario, yaml.load(path.read_text(), yaml.CSafeLoader)):
                known.setdefault((part, key), {})[repr(value)] = value
    return {place: tuple(values.values()) for place, values in known.items()}


def _written(kind: Any, value: Any) -> Iterator[tuple[type, str, Any]]:
    """Part, key and value of everything that is written in a value of a type."""
    kind = bare(kind)
    if isinstance(value, dict):
        for key, inner in value.items():
            if is_part(kind) and key in fields_by_key(kind):
                yield kind, key, inner
            yield from _written(inside(kind, key), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _written(inside(kind, 0), inner)


def unwrapped(kind: Any, marks: Iterable[Any] = ()) -> tuple[Any, tuple[Any, ...]]:
    """A type without None and annotations, and all its annotations."""
    found = tuple(marks)
    while get_args(kind) and (hasattr(kind, "__metadata__") or get_origin(kind) in (Union, UnionType)):
        if hasattr(kind, "__metadata__"):
            kind, more = kind.__origin__, kind.__metadata__
            for mark in more:
                found += tuple(getattr(mark, "metadata", ())) or (mark,)
        else:
            kind = next(part for part in get_args(kind) if part is not NoneType)
    return kind, found


class Values:
    """Random values of keys in one scenario, whose names of things are those of `whole`.

    wild: part of the numbers that are drawn from all magnitudes or are a limit.
    """

    def __init__(self, random: Random, whole: Any, wild: float):
        self.random, self.whole, self.wild = random, whole, wild
        self.names = {kind: sorted(members(whole)) for kind, members in THINGS.items()}
        self.made = 0

    def of_key(self, part: type[BaseModel], key: str) -> Any:
        """A value of a key of a part."""
        field, random = fields_by_key(part)[key], self.random
        if (part, key) in DOORS:
            names = DOORS[part, key]()
            many = get_origin(bare(field.annotation)) is tuple
            return random.sample(names, random.randint(0, len(names))) if many else random.choice(names)
        if part is Scenario and key == "gdpconfig":
            return dict(self.setting() for _ in range(random.randint(1, 6)))
        if part is Incident:
            return next(said[key] for said in iter(self.incident, None) if key in said)
        if part is Queue and key == "params":
            return {option: self._option() for option in random.sample(
                list(options_of(self.whole.resource_types)), random.randint(1, 3))}
        written = examples().get((part, key), ())
        if written and _is_free(field.annotation, field.metadata):
            return random.choice(written)
        return self.of_type(field.annotation, field.metadata, field.get_default(call_default_factory=True),
                            field.description or "")

    def _option(self) -> Any:
        """A value of an option of a queue."""
        return self.random.choice([1, 2, 5, 20, 100, 0.5, 1000, "auto", True, "allow", "only",
                                   *self.names["site"][:1]])

    def of_type(self, kind: Any, marks: Iterable[Any] = (), default: Any = None, says: str = "") -> Any:
        """A value of a type with annotations."""
        kind, marks = unwrapped(kind, marks)
        random = self.random
        refers = next((mark for mark in marks if isinstance(mark, Refers)), None)
        if refers is not None:
            names = self.names[refers.to]
            return random.choice(names) if names else "none"
        if get_origin(kind) is Literal:
            return random.choice(get_args(kind))
        if kind is bool:
            return not default if random.random() < 0.8 else random.random() < 0.5
        if kind in (int, float) or (kind is not str and any(isinstance(mark, BeforeValidator) for mark in marks)):
            return self.number(kind is int, marks, default)
        if is_part(kind):
            return self.part(kind)
        if get_origin(kind) is tuple:
            return [self.of_type(get_args(kind)[0], says=says) for _ in range(random.randint(1, 3))]
        if get_origin(kind) is dict:
            return {self._name(get_args(kind)[0]): self.of_type(get_args(kind)[1], says=says)
                    for _ in range(random.randint(1, 3))}
        return self._text(says)

    def _name(self, kind: Any) -> Any:
        """The name of an entry: of a thing that is there, or a new one."""
        if unwrapped(kind)[0] is not str or unwrapped(kind)[1]:
            return self.of_type(kind)
        self.made += 1
        return f"new{self.made}"

    def _text(self, says: str) -> str:
        """A text: the name of one of the things that the description mentions, a pattern of it, or a word."""
        names = [name for kind, members in self.names.items() if re.search(rf"\b{kind}s?\b", says) for name in members]
        word = self.random.choice(names or ["any", "none", "new"])
        return f"{word[:2]}*" if "*" in says and self.random.random() < 0.4 else word

    def number(self, whole: bool, marks: Iterable[Any], default: Any) -> float:
        """A number: near the default, usual in its unit, of any magnitude, or a limit."""
        random, marks = self.random, tuple(marks)
        low = max((mark.ge if isinstance(mark, Ge) else mark.gt for mark in marks if isinstance(mark, (Ge, Gt))),
                  default=0)
        high = min((mark.le if isinstance(mark, Le) else mark.lt for mark in marks if isinstance(mark, (Le, Lt))),
                   default=LARGEST_WHOLE if whole else 1e30)
        reads = next((mark.func for mark in marks if isinstance(mark, BeforeValidator)), None)
        usual = TYPICAL.get(reads, 10) if reads else 10
        at = default if isinstance(default, (int, float)) and default and random.random() < 0.7 else usual
        value = at * random.lognormvariate(0, 0.8)
        if random.random() < self.wild:
            value = random.choice([low, low + 1, high, high / 2, 0, 1, 10 ** random.uniform(-3, 12)])
        value = min(max(value, low), high)
        if any(isinstance(mark, Gt) for mark in marks) and value == low:
            value = low + 1e-3
        return round(value) if whole else float(f"{value:.6g}")

    def part(self, kind: type[BaseModel], extras: float = 0.2) -> dict[str, Any]:
        """A part with its required keys and some others."""
        if kind is Incident:
            return self.incident()
        return {key: self.of_key(kind, key) for key, field in fields_by_key(kind).items()
                if field.is_required() or self.random.random() < extras}

    def incident(self, what: str | None = None) -> dict[str, Any]:
        """An incident of a kind, or of any, with the fields that it needs and some that it may have."""
        random, fields = self.random, Incident.model_fields
        at = round(random.uniform(0, 0.95) * self.whole.duration)
        said: dict[str, Any] = {"at": at, "what": what or random.choice(get_args(fields["what"].annotation))}
        incident = Incident.model_construct(**said)
        for name, read in Incident.reads():
            if read.is_needed(incident) or read.is_read(incident) and random.random() < 0.3:
                said[name] = self.of_type(fields[name].annotation, fields[name].metadata, None,
                                          fields[name].description or "")
        if said["what"] in STATUSES:
            said["status"] = random.choice(STATUSES[said["what"]][1])
        if said["what"] == "gdpconfig":
            said["key"], said["value"] = self.setting()
        if "value" in said and said["what"] != "gdpconfig":
            said["value"] = random.choice([0, 1, 10, 100])
        if "until" in said:
            said["until"] = at + round(random.lognormvariate(8, 1.2)) + 1
        if "task" in said:
            streams = [stream.name for stream in self.whole.workload.streams]
            said["task"] = random.choice(streams) if streams and random.random() < 0.7 else random.randint(1, 30)
        return said

    def setting(self) -> tuple[str, Any]:
        """Name and value of a key of gdpconfig."""
        entry = self.random.choice(REGISTRY)
        members = {name: self._member(name) for name in re.findall(r"<(\w+)>", entry.key)}
        text = self.random.choice([text for text, _ in entry.spellings]).format_map(members)
        return f"{entry.component}.{text}" if self.random.random() < 0.5 else text, self.value_of(entry)

    def _member(self, placeholder: str) -> str:
        """A text for the placeholder of a family of keys."""
        streams = self.whole.workload.streams
        known: Mapping[str, Sequence[str]] = {
            "rtype": self.names["resource type"], "workflow": MODES.names(),
            "label": [stream.prodsourcelabel for stream in streams],
            "type": [stream.processingtype for stream in streams],
            "workingGroup": [stream.workinggroup for stream in streams if stream.workinggroup]}
        return self.random.choice([*(known.get(placeholder) or self.names["leaf share"] or ["any"])])

    def value_of(self, entry: GdpconfigKey) -> Any:
        """A value of a key of gdpconfig."""
        random = self.random
        written = [one for name, one in _settings() if name.rpartition(".")[2] == entry.key]
        if written and random.random() < 0.5:
            return random.choice(written)
        if entry.type == "bool":
            return random.random() < 0.5
        if entry.type in ("int", "float"):
            limits = Ge(entry.at_least), Le(entry.at_most)
            return self.number(entry.type == "int", limits, entry.default)
        return {"json": random.choice([{}, []]), "str": random.choice(["", "workinggroup", "campaign"])}[entry.type]


@cache
def _settings() -> tuple[tuple[str, Any], ...]:
    """Names and values of the keys of gdpconfig in the scenarios of the project."""
    return tuple((name, value) for said in examples().get((Scenario, "gdpconfig"), ()) for name, value in said.items())


def _is_free(kind: Any, marks: Iterable[Any] = ()) -> bool:
    """True if values of a type are texts, or anything, and name no things of a scenario."""
    kind, marks = unwrapped(kind, marks)
    if any(isinstance(mark, (Refers, BeforeValidator)) for mark in marks):
        return False
    return kind in (str, Any, dict) or get_origin(kind) in (tuple, dict) and all(
        inner is ... or _is_free(inner) for inner in get_args(kind))


def needed_by(part: type[BaseModel], key: str) -> tuple[str, ...]:
    """Keys of the same part without which a key has no effect."""
    field = fields_by_key(part)[key]
    return tuple(mark.key for mark in unwrapped(field.annotation, field.metadata)[1] if isinstance(mark, Needs))
