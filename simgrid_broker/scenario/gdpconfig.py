"""gdpconfig in a scenario: typing values of keys, and the values in force with their origins.

Where several components have a key, `KEY` sets all of them and `component.KEY` wins in its component.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from simgrid_broker.editions import family_of
from simgrid_broker.errors import nearest
from simgrid_broker.gdpconfig import ALIASES, COMPONENTS, REGISTRY, GdpconfigKey, find, split
from simgrid_broker.scenario.loading.origins import DEFAULT, Finding, Key, Origin


@dataclass(frozen=True)
class Setting:
    """One key of one component with a value that was set; name: how it was addressed."""

    name: str
    entry: GdpconfigKey
    key: str
    value: object

    @property
    def target(self) -> tuple[str, str]:
        """(component, key), by which values in force are kept."""
        return self.entry.component, self.key

    def holds(self, edition: str) -> bool:
        """True if the value is one, and not what an edition takes for unset."""
        return self.value is not None and not (family_of(edition) in self.entry.zero_is_unset and self.value == 0)


def settings(values: Mapping[str, object]) -> tuple[tuple[Setting, ...], tuple[Finding, ...]]:
    """Settings that a mapping of names to values makes, and the faults in it.

    A value of None unsets the key. Of two names for the same key of the same component, `component.KEY` wins; a name
    that has no effect at all because of that is a finding.
    """
    by_target, findings = {}, []
    for name in sorted(values, key=lambda name: split(name)[0] is not None):
        matches = find(name)
        if not matches:
            findings.append(_unknown(name, values[name]))
        for match in matches:
            try:
                value = typed(match.entry, values[name])
            except ValueError as error:
                findings.append(Finding(("gdpconfig", name), values[name], str(error)))
                break
            by_target[match.entry.component, match.key] = Setting(name, match.entry, match.key, value)
    return tuple(by_target.values()), (*findings, *_without_effect(values, by_target, findings))


def values_as_written(scenario) -> Iterator[tuple[Key, str, object]]:
    """Place, name and value of every key that a scenario sets, at the start or by an incident."""
    yield from ((("gdpconfig", name), name, value) for name, value in scenario.gdpconfig.items())
    yield from ((("incidents", k, "value"), one.key, one.value) for k, one in enumerate(scenario.incidents)
                if one.what == "gdpconfig" and one.key)


def json_as_written(scenario, key: str) -> Iterator[tuple[Key, Any]]:
    """Places and values of one key; text that is no JSON is refused elsewhere."""
    for place, name, value in values_as_written(scenario):
        if any(match.entry.key == key for match in find(name)):
            try:
                yield place, json.loads(value) if isinstance(value, str) else value
            except ValueError:
                continue


def typed(entry: GdpconfigKey, value: object) -> object:
    """`value` as PanDA types it; None stays None; raises ValueError with what was expected.

    A bool is true for the text "true" in any case; unlike in PanDA, text that is neither true nor false is refused
    instead of being read as false (brokerage reference, section 0.1).
    """
    if value is None:
        return None
    unit = f" ({entry.unit})" if entry.unit else ""
    found = _READERS[entry.type](value.item() if hasattr(value, "item") else value, unit)
    if entry.type in ("int", "float") and not entry.at_least <= found <= entry.at_most:
        raise ValueError(f"expected {'a whole number' if entry.type == 'int' else 'a number'}{unit}, {entry.range}")
    return found


def laid_over(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """`base` without the names whose every key `over` sets under another name, so that `over` wins."""
    targets = {target for name in over for target in _targets(name)}
    return {name: value for name, value in base.items()
            if name in over or not _targets(name) or not _targets(name) <= targets}


def in_force(scenario) -> dict[tuple[str, str], object]:
    """Value of each (component, key): all defaults, and over them what `scenario.gdpconfig` sets.

    A 0 that the edition takes for unset is not set. A member of a family has a value only if it was set; the default of
    a family is at the key without placeholders, as in ("jobbroker", "NQUEUELIMITSITE").
    """
    return DEFAULTS | {setting.target: setting.value for setting in _held(scenario)}


def origins_in_force(scenario) -> dict[tuple[str, str], Origin]:
    """Origin of each value in force, by (component, key)."""
    written = {setting.target: scenario.origin(f"gdpconfig.{setting.name}") for setting in _held(scenario)}
    return dict.fromkeys(DEFAULTS, DEFAULT) | written


def _held(scenario) -> list[Setting]:
    """Settings of a scenario or snapshot, without what its edition takes for unset."""
    return [setting for setting in settings(scenario.gdpconfig)[0] if setting.holds(scenario.edition)]


def _targets(name: str) -> set[tuple[str, str]]:
    """All (component, key) that a name sets; empty for an unknown name."""
    return {(match.entry.component, match.key) for match in find(name)}


def _without_effect(values, by_target, findings) -> list[Finding]:
    """A finding for each name whose every key was set under another name."""
    used = {setting.name for setting in by_target.values()} | {finding.key[1] for finding in findings}
    return [Finding(("gdpconfig", name), value, "has no effect, because component.KEY is set, too; keep one of them")
            for name, value in values.items() if name not in used]


def _unknown(name: str, value: object) -> Finding:
    if isinstance(value, Mapping) and ALIASES.get(name, name) in COMPONENTS:
        inside = [f"{name}.{key}" for key in value]
        return Finding(("gdpconfig", name), value, f"keys of a component are written as {name}.KEY: value",
                       tuple(word for key in inside for word in nearest(key, [entry.name for entry in REGISTRY])[:1]))
    bare = name.rpartition(".")[2]
    elsewhere = tuple(match.entry.name for match in find(bare))
    spellings = [entry.name for entry in REGISTRY] if "." in name else [entry.key for entry in REGISTRY]
    return Finding(("gdpconfig", name), value, "unknown key", elsewhere or nearest(name, spellings))


def _bool(value, unit: str) -> bool:
    text = str(value).lower()
    if text not in ("true", "false") or not isinstance(value, (bool, str)):
        raise ValueError("expected true or false")
    return text == "true"


def _int(value, unit: str) -> int:
    number = _float(value, unit, f"expected a whole number{unit}")
    if not number.is_integer():
        raise ValueError(f"expected a whole number{unit}")
    return value if isinstance(value, int) else int(number)


def _float(value, unit: str, expected: str | None = None) -> float:
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else float("nan")
    except (ValueError, OverflowError):
        number = float("nan")
    if not isfinite(number):
        raise ValueError(expected or f"expected a number{unit}")
    return number


def _str(value, unit: str) -> str:
    if not isinstance(value, str):
        raise ValueError("expected text")
    return value


def _json(value, unit: str) -> object:
    """A list or mapping, or its JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError("expected JSON") from None
    if not isinstance(value, (list, dict)):
        raise ValueError("expected a list or a mapping, or JSON text of one")
    return value


_READERS: dict[str, Callable] = {"bool": _bool, "int": _int, "float": _float, "str": _str, "json": _json}


DEFAULTS = {(entry.component, entry.prefix): typed(entry, entry.default) for entry in REGISTRY
            if not entry.is_family or entry.default is not None}
"""Value of each (component, key) when nothing is set; families with a default at their key without placeholders."""
