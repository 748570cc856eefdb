"""The plane of a run: what turns of brokerage read and write beside their own tables."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from simgrid_broker.ledgers.live_tasks import LiveTasks
from simgrid_broker.names import DecisionKind
from simgrid_broker.turns.brokers import Brokers
from simgrid_broker.turns.decision_log import DecisionLog
from simgrid_broker.turns.policies import Policies
from simgrid_broker.views import Gdpconfig, Queues, Task, Verdict
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.snapshot.tasks import InHand, PlannedMerge
from simgrid_broker.world.world import World


class TaskChanges(Protocol):
    """Source of the number of changes of each task beside its row, (n_tasks,)."""

    @property
    def changes(self) -> np.ndarray:
        """The numbers; growing replaces them."""


class WaitingPlace(Protocol):
    """Place in which activated jobs wait for a worker."""

    def place(self, row: int, level: int, task: Task, verdict: Verdict, queues: Queues, now: float) -> object:
        """Let the next jobs of the task in a row wait for the queues that a verdict has left."""


class Memory(Protocol):
    """Ledgers that turns read and write; newcomers: functions of rows that new tasks take."""

    newcomers: list[Callable[[np.ndarray], None]]

    @property
    def decisions(self) -> DecisionLog:
        """Log of decisions."""

    @property
    def live_tasks(self) -> LiveTasks:
        """Tasks that have arrived and are not over."""

    @property
    def scouts(self) -> TaskChanges:
        """Changes of tasks by what their scouts measured."""

    @property
    def waiting_place(self) -> WaitingPlace:
        """Place where activated jobs wait."""


class Check(Protocol):
    """Check of the decisions of a run.

    sites: the candidates of task brokerage.
    """

    def __call__(self, kind: DecisionKind, asked: InHand | PlannedMerge, verdict: Verdict,
                 sites: np.ndarray | None = None) -> None:
        """Check a decision that is made and has not taken effect."""


def unchecked(kind: DecisionKind, asked: InHand | PlannedMerge, verdict: Verdict, sites: np.ndarray | None = None
              ) -> None:
    """No check."""


class Plane(Protocol):
    """World, brokers, policies and ledgers of a run, at its time now, s; check: of its decisions."""

    world: World
    policies: Policies
    brokers: Brokers
    seed: int
    check: Check

    @property
    def books(self) -> Memory:
        """Ledgers of the run."""

    @property
    def now(self) -> float:
        """Simulated time, s."""

    @property
    def arrays(self) -> Arrays:
        """Tables of the world as they are now; growing replaces them."""

    @property
    def cfg(self) -> Gdpconfig:
        """gdpconfig in force now."""

    @property
    def edition(self) -> str:
        """Edition of the rules."""
