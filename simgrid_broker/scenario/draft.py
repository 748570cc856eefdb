"""A scenario that is written but not yet checked: plain values, and where each of them was written.

What lives here: `Draft`, and laying one draft over another. What does not: reading files (`loader`), setting single
values (`overrides`), and deciding whether a draft is a scenario (`resolve`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simgrid_broker.scenario.gdpconfig import laid_over
from simgrid_broker.scenario.origin import DEFAULT, Origin

Key = tuple[str | int, ...]
"""Steps from the top of a scenario to a value: names in mappings, positions in lists."""


@dataclass(frozen=True)
class Assignment:
    """One value that is set after the files were read; key as text, as `overrides.located` reads it."""

    key: str
    value: object
    origin: Origin


@dataclass(frozen=True)
class Draft:
    """What was written: values as YAML has them, the origin of each key, and values to be set afterwards.

    expanded: the grid was already made up or imported, so `grid.synthetic` and the like only say where it came from.
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


def overlaid(base: Draft, over: Draft) -> Draft:
    """`over` laid over `base`: mappings merge, everything else replaces, None removes an entry that `base` has."""
    below = dict(base.values)
    if isinstance(below.get("gdpconfig"), dict) and isinstance(over.values.get("gdpconfig"), dict):
        below["gdpconfig"] = laid_over(below["gdpconfig"], over.values["gdpconfig"])
    values = merged(below, over.values)
    marks = {key: over.marks.get(key) or base.marks[key] for key in keys_of(values)
             if key in over.marks or key in base.marks}
    return Draft(values, marks)


def merged(base, over):
    """The value `over` laid over the value `base`."""
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    result = dict(base)
    for name, value in over.items():
        if value is None and name in base:
            del result[name]
        else:
            result[name] = merged(base.get(name), value)
    return result


def keys_of(values, key: Key = ()) -> Iterator[Key]:
    """The keys of all values inside `values`, each mapping and list before what is in it."""
    if isinstance(values, dict):
        steps = values.items()
    elif isinstance(values, (list, tuple)):
        steps = enumerate(values)
    else:
        return
    for step, value in steps:
        yield (*key, step)
        yield from keys_of(value, (*key, step))


def value_at(values, key: Key):
    """The value at `key`, None if there is none."""
    for step in key:
        try:
            values = values[step]
        except (KeyError, IndexError, TypeError):
            return None
    return values
