"""PanDA's dispatch: jobs wait at the queue that brokerage gave them, and the server asks for workers there."""

from collections.abc import Generator
from importlib import import_module
from typing import TYPE_CHECKING

from simgrid_broker.systems.dispatch import Dispatch

if TYPE_CHECKING:
    from simgrid_broker.agents.control import Control
    from simgrid_broker.fabric.fabric import Fabric
    from simgrid_broker.views import Queues, Task, Verdict
    from simgrid_broker.world.world import World


class AtTheirQueues:
    """The heaps of activated jobs at each queue, which need no arrangement."""

    def __init__(self, world: "World", fabric: "Fabric"):
        pass

    def place(self, row: int, level: int, task: "Task", verdict: "Verdict", queues: "Queues", now: float) -> None:
        """Leave the jobs at the queue to which they are bound."""


def pilot_streaming(control: "Control") -> Generator:
    """Ask for workers; the agent is imported when it starts, as metrics ask a dispatcher what it is without a run."""
    yield from import_module("simgrid_broker.agents.panda.pilot_streaming").pilot_streaming(control)


PANDA = Dispatch(name="PanDA", binds_jobs=True, job_rules=None, workflow="", place=AtTheirQueues,
                 agents=(pilot_streaming,), checks=(), remarks=())
"""A pilot gets the best job of its queue: of the share furthest below its target, then by priority and age."""
