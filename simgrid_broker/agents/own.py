"""Agents of other packages and of the caller, in addition to those of the package."""

import inspect
from collections.abc import Callable, Iterable

from simgrid_broker import plugins

GROUP = "simgrid_broker.agents"
"""Group of entry points that offer agents."""


def own_agents(names: Iterable[str], functions: Iterable[Callable]) -> list[plugins.Plugin]:
    """Agents by entry point, then those given; raises PluginError unless each is a generator function."""
    found = [plugins.load(GROUP, name) for name in names]
    found += [plugins.Plugin(getattr(each, "__name__", repr(each)), each, f"given to simulate, of module "
                             f"{getattr(each, '__module__', '?')}") for each in functions]
    for agent in found:
        if not inspect.isgeneratorfunction(agent.content):
            raise agent.refused(f"must be a generator function of one argument, `control`, not {agent.content!r}")
    return found
