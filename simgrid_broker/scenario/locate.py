"""Where each value was written, and what is wrong there."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from simgrid_broker.errors import Problem

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
    the finding is meaningless.
    """

    key: Key
    value: object
    expected: str
    nearest: tuple[str, ...] = ()
    of_absence: bool = False
    unknown: str | None = None
    depends_on: tuple[Key, ...] = ()


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
