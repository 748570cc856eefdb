"""Remarks on a scenario, and which policies read which keys of gdpconfig."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import FunctionType
from typing import Any

from simgrid_broker import policy
from simgrid_broker.gdpconfig import REGISTRY, Component, GdpconfigKey
from simgrid_broker.policy.job_brokerage.question import KEYS
from simgrid_broker.scenario import Scenario, cross_checks, find


def remarks(scenario: Scenario) -> tuple[str, ...]:
    """Warnings about legal but suspicious settings, and remarks from the importers; one sentence each."""
    return (*cross_checks.remarks(scenario), *settings_without_effect(scenario))


def settings_without_effect(scenario: Scenario) -> Iterator[str]:
    """Keys of gdpconfig that nothing in the simulator reads, or nothing in the edition of the scenario."""
    for name in cross_checks.settings_of(scenario):
        read = [match.entry for match in find(name) if match.entry in readers()]
        if not read:
            yield f"gdpconfig key {name!r} has no effect: nothing in the simulator reads it."
        elif not any(scenario.edition in entry.editions for entry in read):
            yield f"gdpconfig key {name!r} has no effect: only the {read[0].editions[0]} edition reads it."


@cache
def readers() -> dict[GdpconfigKey, tuple[str, ...]]:
    """The public functions that read each key, as `policy.scouts.measure`; a key that nothing reads is missing.

    A family falls back to the key without placeholders, so what reads the family reads that key, too.
    """
    named: dict[str, set[GdpconfigKey]] = {}
    for info in walk_packages(policy.__path__, f"{policy.__name__}."):
        module, short = import_module(info.name), info.name.partition(".")[2]
        named |= {f"{short}.{name}": set(_keys_named(thing)) for name, thing in vars(module).items()
                  if isinstance(_plain(thing), FunctionType) and thing.__module__ == module.__name__ and name[0] != "_"}
    general = {(entry.component, entry.key): entry for entry in REGISTRY}
    for keys in named.values():
        keys |= {general[fallback] for key in keys if (fallback := (key.component, key.prefix)) in general}
    return {entry: reading for entry in REGISTRY if (reading := tuple(sorted(
        name for name, keys in named.items() if entry in keys)))}


def _keys_named(function: Callable) -> Iterator[GdpconfigKey]:
    """Keys that a function names, as keys of a component or as columns of a task's record.

    Private functions, and others of a task's record, count as part of the function that uses them.
    """
    plain = _plain(function)
    codes = list(_codes(plain.__code__))
    names = [name for code in codes for name in code.co_names]
    if _asks_a_record(plain):
        yield from (KEYS[text] for code in codes for text in code.co_consts if isinstance(text, str) and text in KEYS)
    for name in names:
        thing = plain.__globals__.get(name)
        if isinstance(thing, type) and issubclass(thing, Component):
            yield from (entry for entry in map(vars(thing).get, names) if isinstance(entry, GdpconfigKey))
        elif isinstance(thing, tuple):
            yield from (entry for entry in thing if isinstance(entry, GdpconfigKey))
        elif (isinstance(_plain(thing), FunctionType) and (name[0] == "_" or _asks_a_record(_plain(thing)))
              and _plain(thing) is not plain):
            yield from _keys_named(thing)


def _asks_a_record(function: FunctionType) -> bool:
    """Whether a function is given the record of a task, in which keys of gdpconfig are columns."""
    arguments = function.__code__.co_varnames[:function.__code__.co_argcount]
    return "task" in arguments and not {"cfg", "cache"} & set(arguments)


def _plain(thing: object) -> Any:
    """A compiled function as it was written; anything else unchanged."""
    return getattr(thing, "py_func", thing)


def _codes(code) -> Iterator:
    """A code object and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            yield from _codes(constant)
