"""Plug-ins: policies, agents, worker modes and dispatchers that other packages offer as entry points."""

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache, wraps
from importlib.metadata import EntryPoint, entry_points
from inspect import isfunction, isgeneratorfunction
from typing import Any, Generic, NamedTuple, TypeVar

from simgrid_broker.errors import PluginError, did_you_mean, nearest

Member = TypeVar("Member")
AGENT_GROUP = "simgrid_broker.agents"
"""Group of entry points that offer agents."""


class Plugin(NamedTuple):
    """A policy or agent from outside the package: its name, what it is, and where it comes from."""

    name: str
    content: Any
    source: str

    def refused(self, why: str) -> PluginError:
        """The error to raise if it cannot be used."""
        return PluginError(f"{self.name!r} ({self.source}) {why}")

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Within, an exception becomes a PluginError that names the plug-in, the exception and the line."""
        try:
            yield
        except (PluginError, MemoryError, StopIteration):
            raise
        except Exception as error:
            raise self.refused(f"raised {_told(error)}, at {self._place(error)}") from error

    def _place(self, error: Exception) -> str:
        """File and line of an exception: the last one in the plug-in's own file, if there is one."""
        frames = traceback.extract_tb(error.__traceback__)[1:]
        own = getattr(getattr(self.content, "__code__", None), "co_filename", None)
        frame = ([frame for frame in frames if frame.filename == own] or frames)[-1]
        return f"{frame.filename}:{frame.lineno}"


def _told(error: BaseException, longest: int = 300) -> str:
    """Kind and message of an exception on one line."""
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:longest]


def offered(group: str) -> tuple[str, ...]:
    """Names of the entry points of a group, sorted; nothing is imported."""
    return _names(group, tuple(sys.path))


@cache
def _names(group: str, path: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the entry points of a group; each load of a scenario asks for those of five groups."""
    return tuple(sorted(_entries(path).select(group=group).names))


@cache
def _entries(_path: tuple[str, ...]) -> Any:
    """All entry points; `_path` is where packages are looked for, whose descriptions take 20 ms to read."""
    return entry_points()


def load(group: str, name: str, known: tuple[str, ...] = ()) -> Plugin:
    """Import the entry point of a name; known: names that need none, for the message.

    Raises PluginError if no package offers it, if several packages offer different ones, or if its import fails.
    """
    found = [entry for entry in entry_points(group=group) if entry.name == name]
    if not found:
        names = (*known, *offered(group))
        raise PluginError(f"no package offers {name!r} as an entry point of {group}; known are "
                          f"{', '.join(names) or 'none'}{did_you_mean(nearest(name, names))}")
    if len({entry.value for entry in found}) > 1:
        raise PluginError(f"several packages offer {name!r} as an entry point of {group}: "
                          + ", ".join(_package(entry) for entry in found))
    entry = found[0]
    source = f"entry point of {group} = {entry.value} in {_package(entry)}"
    try:
        return Plugin(name, entry.load(), source)
    except (Exception, SystemExit) as error:
        raise PluginError(f"{name!r} ({source}) cannot be imported: {_told(error)}") from error


def _package(entry: EntryPoint) -> str:
    """Name and version of a package; the name as PEP 503 normalises it, since build tools spell it in several ways."""
    if entry.dist is None or not entry.dist.name:              # or without METADATA
        return "an unnamed package"
    return f"{re.sub('[-_.]+', '-', entry.dist.name).lower()} {entry.dist.version}"


@dataclass(frozen=True)
class Door(Generic[Member]):
    """Members of one kind by name: those of the package, and those that other packages offer as entry points.

    kind: dataclass of which each member is an instance, so that none lacks an attribute; built_in: where each member of
    the package is, `module:NAME`. It is imported when it is first asked for, as another package's is.
    """

    group: str
    kind: type[Member]
    built_in: tuple[tuple[str, str], ...]

    def names(self) -> tuple[str, ...]:
        """Names of all members, those of the package first; raises PluginError for an entry point with such a name."""
        own = tuple(name for name, _ in self.built_in)
        if taken := [name for name in offered(self.group) if name in own]:
            raise load(self.group, taken[0]).refused("has the name of a member of simgrid_broker itself")
        return own + offered(self.group)

    def member(self, name: str) -> Member:
        """The member of a name; raises PluginError for an unknown name, or for an entry point that cannot be used."""
        return _member(self, name, tuple(sys.path))


@cache
def _member(door: Door[Member], name: str, _path: tuple[str, ...]) -> Member:
    """A member of a door; `_path` is where packages are looked for."""
    built_in = dict(door.built_in)
    if name in built_in:
        return EntryPoint(name, built_in[name], door.group).load()
    plugin = load(door.group, name, door.names())
    if not isinstance(plugin.content, door.kind):
        raise plugin.refused(f"must be a {door.kind.__name__}, not {plugin.content!r}")
    member: Any = plugin.content
    return replace(member, **{each.name: _guarded(plugin, getattr(member, each.name)) for each in fields(member)})


def _guarded(plugin: Plugin, value: Any) -> Any:
    """A function of another package that raises PluginError if it fails; generators and anything else unchanged."""
    if isinstance(value, tuple):
        return tuple(_guarded(plugin, each) for each in value)
    if not isfunction(value) or isgeneratorfunction(value):
        return value

    @wraps(value)
    def guarded(*arguments):
        with plugin.blamed():
            return value(*arguments)
    return guarded
