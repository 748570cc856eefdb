"""Agents of other packages and of the caller, which join those of the package; tables that agents declare."""

import inspect
from collections.abc import Callable, Collection, Generator, Iterable
from functools import partial
from typing import Any

import numpy as np
import simpy

from simgrid_broker import plugins
from simgrid_broker.agents.control import Control
from simgrid_broker.schema import FIXED_WORDS, RECORDED, Column, Table

TYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
"""Types of the columns of a table: truth, whole numbers (of which codes are signed) and numbers, by size in bytes."""


def records(*tables: Table) -> Callable[[Callable], Callable]:
    """Declare the tables that an agent records with `control.recorder.write(name, columns)`; a decorator of agents."""
    def declare(agent: Callable) -> Callable:
        vars(agent)["tables"] = tables
        return agent
    return declare


def as_plugins(agents: Iterable[Callable]) -> list[plugins.Plugin]:
    """Agents of the package and of its dispatcher as those of others are given."""
    return [plugins.Plugin(agent.__name__, agent, f"of module {agent.__module__}") for agent in agents]


def tables_of(agents: Iterable[plugins.Plugin], vocabularies: Collection[str] | None = None,
              taken: Collection[str] = ()) -> dict[str, Table]:
    """Tables that agents declare, by name.

    vocabularies: those of the world, to which codes can refer, None = any; taken: names that no table may have, nor
    those of the package's. Raises PluginError for a name that is taken, and for a table that cannot be recorded.
    """
    tables: dict[str, Table] = {}
    for agent in agents:
        for table in getattr(agent.content, "tables", ()):
            if not isinstance(table, Table):
                raise agent.refused(f"declares {table!r}, which is no `Table`")
            if not table.name.isidentifier() or table.name in {*RECORDED, *taken, *tables}:
                raise agent.refused(f"declares a table {table.name!r}: the name is taken, or not a word")
            words = None if vocabularies is None else {*vocabularies, *FIXED_WORDS, *table.words}
            if why := _hindrance(table, words):
                raise agent.refused(f"declares a table {table.name!r} that cannot be recorded: {why}")
            tables[table.name] = table
    return tables


def _hindrance(table: Table, vocabularies: Collection[str] | None) -> str:
    """Why a table cannot be recorded, empty if it can."""
    names = [column.name for column in table.recorded]
    if not names or len(set(names)) < len(names):
        return f"its columns are {', '.join(names) or 'none'}; it needs some, each of its own name"
    return next(filter(None, (_fault(column, vocabularies) for column in table.columns)), "")


def _fault(column: Column, vocabularies: Collection[str] | None) -> str:
    """Why a column cannot be recorded, empty if it can."""
    if column.dtype not in TYPES:
        return f"{column.name} is of the type {column.dtype!r}; the types are {', '.join(TYPES)}"
    if column.codes is not None and np.dtype(column.dtype).kind != "i":
        return f"{column.name} has codes and is of the type {column.dtype!r}; the types of codes are i1, i2, i4, i8"
    if column.codes is not None and vocabularies is not None and column.codes not in vocabularies:
        return f"{column.name} has codes of {column.codes!r}; the vocabularies are {', '.join(sorted(vocabularies))}"
    return ""


def own_agents(names: Iterable[str], functions: Iterable[Callable]) -> list[plugins.Plugin]:
    """Agents by entry point, then those given; raises PluginError unless each is a generator function."""
    agents = [plugins.load(plugins.AGENT_GROUP, name) for name in names]
    agents += [plugins.Plugin(getattr(each, "__name__", repr(each)), each, f"given to simulate, of module "
                             f"{getattr(each, '__module__', '?')}") for each in functions]
    for agent in agents:
        if not (inspect.isgeneratorfunction(agent.content) and _takes_one(agent.content)):
            raise agent.refused(f"must be a generator function of one argument, `control`, not {agent.content!r}")
    return agents


def guarded(agent: plugins.Plugin) -> Callable[[Control], Generator[simpy.Event, Any, Any]]:
    """An agent of another package that raises PluginError if it raises, or yields what the clock does not know."""
    def process(control: Control) -> Generator[simpy.Event, Any, Any]:
        steps = agent.content(control)
        advance = partial(next, steps)
        while True:
            try:
                with agent.blamed():
                    event = advance()
            except StopIteration as end:
                return end.value
            if not (isinstance(event, simpy.Event) and event.env is control.env):
                raise agent.refused(f"must yield events of control.env, such as a timeout, not {event!r}")
            try:
                advance = partial(steps.send, (yield event))
            except Exception as thrown:             # a failed event, or an interrupt of the process
                advance = partial(steps.throw, thrown)
    process.__name__ = agent.name                   # for which SimPy's process counts cycles
    return process


def _takes_one(function: Callable) -> bool:
    """True if a function can be called with one argument."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    return True
