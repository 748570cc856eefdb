"""Differences between runs: settings by the dotted keys that a user would write, and short names."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simgrid_broker.gdpconfig import find
from simgrid_broker.metrics.settings import GDPCONFIG
from simgrid_broker.report.blocks import Lines

ABSENT = "–"
"""Shown for a setting that one side does not have."""


def differing(a: object, b: object, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Dotted keys at which two nested values differ, with both values as text.

    Elements of lists go by their names, `shares.Analysis.value`, where all have one, else by position. A value that
    only one side has is not expanded.
    """
    pairs = _pairs(a, b)
    if pairs is not None:
        for key, one, other in pairs:
            yield from differing(one, other, f"{path}.{key}" if path else key)
    elif a != b:
        yield path, shown(a), shown(b)


def gdpconfig_lines(values: Mapping[str, Any], of: str = "") -> list[Lines]:
    """Keys of gdpconfig among dotted settings as rows of its table in JSON, one for each component of a key.

    Empty without such a key. of: whose values they are.
    """
    rows = [{"app": one.entry.app, "component": one.entry.component, "key": one.key, "value": value,
             "type": one.entry.type} for setting, value in values.items() if setting.startswith(GDPCONFIG)
            for one in find(setting.removeprefix(GDPCONFIG))]
    title = f"Changed keys of gdpconfig{of and ': '}{of}"
    return [Lines(title, "\n".join(map(json.dumps, rows)), "Rows of the table of gdpconfig, to paste; "
                  "`simgrid-broker import gdpconfig` reads them in a list.")] if rows else []


def shown(value: object) -> str:
    """A setting as short text; lists and mappings as their number of entries."""
    if isinstance(value, (Mapping, list)):
        return f"({len(value)} {'entry' if len(value) == 1 else 'entries'})"
    return "none" if value is None else str(value)


def _pairs(a: object, b: object) -> list[tuple[str, Any, Any]] | None:
    """Parts of two values that belong together, with their keys; None for values that are compared as a whole."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return _matched(a, b)
    if not (isinstance(a, list) and isinstance(b, list)):
        return None
    first, second = _by_name(a), _by_name(b)
    if first is not None and second is not None:
        return _matched(first, second)
    return [(str(k), one, other) for k, (one, other) in enumerate(zip(a, b, strict=True))] if len(a) == len(b) else None


def _matched(a: Mapping, b: Mapping) -> list[tuple[str, Any, Any]]:
    return [(str(key), a.get(key, ABSENT), b.get(key, ABSENT)) for key in dict.fromkeys([*a, *b])]


def _by_name(values: Sequence) -> dict[str, Any] | None:
    """The elements by name, if each has one of its own."""
    named = {value["name"]: value for value in values if isinstance(value, Mapping) and value.get("name") is not None}
    return named if values and len(named) == len(values) else None


def differing_names(paths: Sequence[Path]) -> list[str]:
    """The shortest names of some paths that still differ: what they have in common at both ends is left out.

    Equal paths get numbers.
    """
    parts = [path.resolve().with_suffix("").parts if path.suffix in (".yaml", ".yml") else path.resolve().parts
             for path in paths]
    first = next((k for k, steps in enumerate(zip(*parts, strict=False)) if len(set(steps)) > 1),
                 min(map(len, parts)))
    rests = [part[first:] for part in parts]
    while all(rests) and len(rests) > 1 and len({rest[-1] for rest in rests}) == 1 and all(
            len(rest) > 1 for rest in rests):
        rests = [rest[:-1] for rest in rests]
    names = ["/".join(rest) or part[-1] for rest, part in zip(rests, parts, strict=True)]
    return [f"{name} ({names[:k].count(name) + 1})" if names.count(name) > 1 else name for k, name in enumerate(names)]
