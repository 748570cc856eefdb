"""Origins of values and findings about them, and the base of the models that one file and those it extends describe."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from pydantic import PrivateAttr

from simgrid_broker.errors import Problem, ScenarioError, wrong_type
from simgrid_broker.schema.part import Part

Key = tuple[str | int, ...]
"""Steps from the top of a scenario to a value: names in mappings, positions in lists."""


@dataclass(frozen=True)
class Origin:
    """Where a value comes from.

    kind: "default", "file", "command line", "python", "synthetic grid" or "CRIC"; file and line say where it was
    written, or where the synthetic or imported grid that contains it was requested.
    """

    kind: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        if self.kind == "file":
            return str(place)
        return self.kind if place is None else f"{self.kind} ({place})"

    def problem(self, key: str, value: object, expected: str, nearest: tuple[str, ...] = ()) -> Problem:
        """A problem with the value of a dotted key written here."""
        file = self.file or (self.kind if self == COMMAND_LINE else None)
        return Problem(file, self.line, key, value, expected, nearest)


DEFAULT = Origin("default")
COMMAND_LINE = Origin("command line")
PYTHON = Origin("python")
SYNTHETIC, CRIC = "synthetic grid", "CRIC"
"""Kinds of origin of grids that are generated and imported."""


@dataclass(frozen=True)
class Assignment:
    """One value that is set after the files were read; key as text, as `set_values.located` reads it."""

    key: str
    value: object
    origin: Origin


@dataclass(frozen=True)
class Draft:
    """Values as YAML has them, not yet validated, the origin of each key, and values to be set afterwards.

    expanded: the grid is already generated or imported, so `grid.synthetic` and the like only record its source.
    """

    values: dict
    marks: Mapping[Key, Origin] = field(default_factory=dict)
    assignments: tuple[Assignment, ...] = ()
    expanded: bool = False

    def place(self, key: Key) -> Origin:
        """Origin of `key`, or of the nearest part of the scenario around it that was written."""
        while key and key not in self.marks:
            key = key[:-1]
        return self.marks.get(key, DEFAULT)

    def origins(self) -> dict[str, Origin]:
        """Origin of each key that was written, by dotted key."""
        return {dotted(key): self.marks[key] for key in keys_of(self.values) if key in self.marks}


@dataclass(frozen=True)
class Finding:
    """A validation problem: path of the key, its value, and what was expected.

    of_absence: the finding reports a name as missing, so it is dropped while entries that could not be read are left
    out; unknown: the missing name, where that is not the value itself; depends_on: keys of other values without which
    the finding is meaningless; thing: kind of the thing that is missing, as `Refers` names it; limit: that a number
    exceeds; kind: pydantic's word for the error, NULL where a value is null, "" = of a check between parts.
    """

    key: Key
    value: object
    expected: str
    nearest: tuple[str, ...] = ()
    of_absence: bool = False
    unknown: str | None = None
    depends_on: tuple[Key, ...] = ()
    thing: str = ""
    limit: float | None = None
    kind: str = ""


NULL, MISSING, BOOLEAN = "null", "missing", "boolean"
"""Kinds of findings: no value, no key, and true or false where a number is expected."""

Rules = tuple[Callable[[Any], Iterator[Finding]], ...]
"""Rules about a scenario, some of them about a snapshot, too."""


def problems_of(draft: Draft, findings: Iterable[Finding]) -> Iterator[Problem]:
    """Findings with the files and lines at which the values were written, and the values as written."""
    for found in findings:
        written = value_at(draft.values, found.key)
        value = found.value if written is None or isinstance(written, (dict, list)) else written
        yield draft.place(found.key).problem(dotted(found.key), value, found.expected, found.nearest)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Problems by file and line, each once."""
    once = []
    for problem in problems:
        once += [] if problem in once else [problem]
    return sorted(once, key=lambda problem: (problem.file or "", problem.line or 0))


def dotted(key: Key) -> str:
    """A key as a user writes it: `grid.queues.CERN.corecount`, `shares[0].value`."""
    text = ""
    for step in key:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def keys_of(values) -> list[Key]:
    """The keys of all values inside `values`, each mapping and list before its contents."""
    return [key for key, _ in items_of(values)]


def items_of(values, key: Key = ()) -> list[tuple[Key, Any]]:
    """The keys of all values inside `values` with the values, each mapping and list before its contents."""
    found: list[tuple[Key, Any]] = []
    for step, value in values.items() if isinstance(values, dict) else enumerate(values):
        found.append(((*key, step), value))
        if isinstance(value, (dict, list, tuple)):
            found += items_of(value, (*key, step))
    return found


def value_at(values, key: Key):
    """The value at `key`, None if there is none."""
    for step in key:
        try:
            values = values[step]
        except (KeyError, IndexError, TypeError):
            return None
    return values


class Whole(Part):
    """Base of `Scenario` and `Snapshot`: everything that one file, with those it extends, describes."""

    error: ClassVar[type[ScenarioError]] = ScenarioError
    changed: ClassVar[Any]
    """`set_values`' implementation of `with_values`, set by `loader`, which imports the models."""
    rebuilt: ClassVar[Any]
    """The implementation of `from_dict`, set by `loader`."""

    _origins: Mapping[str, Origin] = PrivateAttr(default_factory=dict)
    _draft: Draft | None = PrivateAttr(None)
    _remarks: tuple[str, ...] = PrivateAttr(())

    def __eq__(self, other: object) -> bool:
        """Two of a kind are equal if all their values are, whatever the origins of those."""
        return type(other) is type(self) and self.__dict__ == other.__dict__

    @property
    def origins(self) -> Mapping[str, Origin]:
        """Origin of each key that was written, by dotted key (`grid.queues.CERN.corecount`, `shares[0].value`)."""
        return self._origins

    @property
    def import_remarks(self) -> tuple[str, ...]:
        """Remarks on what an import of the grid could not use."""
        return self._remarks

    def origin(self, key: str) -> Origin:
        """Origin of the value of a dotted key; values inside an imported or generated entry have the entry's origin."""
        around = key
        while around not in self._origins and around:
            around = around[:max(around.rfind("."), around.rfind("["), 0)]
        found = self._origins.get(around, DEFAULT)
        return found if around == key or found.kind in (SYNTHETIC, CRIC) else DEFAULT

    def findings(self) -> "Iterable[Finding]":
        """Everything wrong between its parts."""
        return ()

    def with_values(self, values: Mapping[str, object]) -> Self:
        """A copy with values set by dotted key, validated as a whole; None restores a default.

        The sources of the grid are kept, so `{"grid.synthetic.sites": 20}` generates a new grid. Raises ScenarioError.
        """
        if not isinstance(values, Mapping):
            raise wrong_type("with_values", "values by dotted key, as in {'shares.Analysis.value': 30}", values)
        return self.changed(values)

    def with_config(self, values: Mapping[str, object]) -> Self:
        """A copy with gdpconfig keys set, by `KEY` or `component.KEY`. Raises ScenarioError."""
        return self.with_values({f"gdpconfig.{key}": value for key, value in values.items()})

    def to_dict(self) -> dict[str, Any]:
        """All values, defaults included, as JSON-compatible types; `from_dict` reads them back."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The model that `to_dict` wrote; source files of the grid are not needed. Raises ScenarioError."""
        return cls.rebuilt(values)
