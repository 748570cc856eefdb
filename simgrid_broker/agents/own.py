"""Agents of other packages and of the caller, in addition to those of the package."""

import inspect
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any

import simpy

from simgrid_broker import plugins
from simgrid_broker.agents.control import Control

GROUP = "simgrid_broker.agents"
"""Group of entry points that offer agents."""


def own_agents(names: Iterable[str], functions: Iterable[Callable]) -> list[plugins.Plugin]:
    """Agents by entry point, then those given; raises PluginError unless each is a generator function."""
    found = [plugins.load(GROUP, name) for name in names]
    found += [plugins.Plugin(getattr(each, "__name__", repr(each)), each, f"given to simulate, of module "
                             f"{getattr(each, '__module__', '?')}") for each in functions]
    for agent in found:
        if not (inspect.isgeneratorfunction(agent.content) and _takes_one(agent.content)):
            raise agent.refused(f"must be a generator function of one argument, `control`, not {agent.content!r}")
    return found


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
    return process


def _takes_one(function: Callable) -> bool:
    """Whether a function can be called with one argument."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    return True
