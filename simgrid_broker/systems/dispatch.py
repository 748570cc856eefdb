"""The door of dispatchers: where activated jobs wait for workers, and which of them a worker gets."""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from simgrid_broker.plugins import Door

GROUP = "simgrid_broker.dispatchers"
"""Group of entry points that offer dispatchers, by the name that a scenario gives as `dispatch`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Dispatch:
    """A dispatcher, named as messages give it.

    binds_jobs: a decision of a broker binds jobs to one queue, where they wait, so that they can be pinned to it,
    prepared for it, and taken back from it; else they wait for a pilot of any queue that the decision leaves.
    job_rules: rules of the job brokerage of all tasks by edition; None = the brokerages that the scenario names.
    workflow: of all queues, which says how workers come to them; empty = each has its own. place: function of world and
    fabric that makes the place where jobs wait (`turns.plane.WaitingPlace`) and arranges which of them a worker gets.

    agents: generator functions of `control` that act in place of PanDA's pilot streaming. checks, remarks: functions of
    a scenario that names the dispatcher, which give a `Finding` for everything wrong, and sentences on what is legal
    but may not be meant.
    """

    name: str
    binds_jobs: bool
    job_rules: Mapping[str, Any] | None
    workflow: str
    place: Callable[[Any, Any], Any]
    agents: tuple[Callable[[Any], Generator], ...]
    checks: tuple[Callable[[Any], Iterator[Any]], ...]
    remarks: tuple[Callable[[Any], Iterator[str]], ...]


DISPATCHERS = Door(GROUP, Dispatch, (("panda", "simgrid_broker.systems.panda:PANDA"),
                                     ("dirac", "simgrid_broker.systems.dirac.dispatch:DIRAC")))
"""All dispatchers by name."""


def dispatcher(name: str) -> Dispatch:
    """The dispatcher of a name; raises PluginError if there is none."""
    return DISPATCHERS.member(name)
