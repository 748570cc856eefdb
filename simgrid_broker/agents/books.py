"""Books: what agents remember together, beyond the tables of the world."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from simgrid_broker.agents.command_book import CommandBook
from simgrid_broker.agents.decision_log import DecisionLog
from simgrid_broker.agents.live_tasks import LiveTasks
from simgrid_broker.agents.open_inputs import OpenInputs
from simgrid_broker.agents.policies import Policies
from simgrid_broker.agents.retry_module import RetryModule
from simgrid_broker.agents.scouts import Scouts
from simgrid_broker.agents.submissions import Submissions
from simgrid_broker.agents.task_ledger import TaskLedger
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.names import TaskStatus
from simgrid_broker.world.series import Series
from simgrid_broker.world.tasks_to_snapshot import PlannedMerge
from simgrid_broker.world.world import World


class Recorder(Protocol):
    """Takes rows and snapshots; `validate` asks for a check of all invariants at every sample."""

    validate: bool

    def write(self, name: str, rows: np.ndarray, times: np.ndarray | None = None) -> None:
        """Record rows of a table, with the times of their transitions where it has any."""

    def keep_snapshot(self, values: dict) -> None:
        """Keep a snapshot for `broker`."""


class Books:
    """Live tasks, decisions, commands, and the memory of agents that several of them read.

    lost_files: by incident, the rows of tasks that lost input and the fraction of each that was lost before.
    planned_merges: gives the merge jobs that wait for brokerage.
    """

    def __init__(self, world: World, fabric: Fabric, policies: Policies, recorder: Recorder):
        self.world, self.recorder = world, recorder
        self.live_tasks = LiveTasks(world)
        self.decisions = DecisionLog(world, policies)
        self.commands = CommandBook(world)
        self.ledger = TaskLedger(world, fabric, self.commands.bring_back)
        self.open_inputs = OpenInputs(world)
        self.submissions = Submissions(world)
        self.retry_module = RetryModule(world, policies.edition)
        self.scouts = Scouts(world, fabric, policies, self.retry_module)
        self.series = Series(world)
        self.lost_files: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.planned_merges: Callable[[], Sequence[PlannedMerge]] = tuple
        fabric.retry_module = self.retry_module.learn

    def end_tasks(self, rows: list[int]) -> None:
        """Stop looking at tasks that have reached a final status; record them unless a command may revive them."""
        self.live_tasks.remove(rows)
        arrays = self.world.arrays
        if not self.commands.bring_back and len(rows):
            self.recorder.write("tasks", arrays.tasks[rows], arrays.task_times[rows])

    def unwritten_tasks(self) -> np.ndarray:
        """Rows of the tasks that have arrived and are not recorded yet, (n,)."""
        if not self.commands.bring_back:
            return self.live_tasks.rows
        return np.flatnonzero(~np.isnan(self.world.arrays.task_times[:, TaskStatus.REGISTERED]))
