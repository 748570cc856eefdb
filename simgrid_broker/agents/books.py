"""Books: what agents remember together, beyond the tables of the world."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from simgrid_broker.agents.harvester.harvester import Harvester
from simgrid_broker.agents.jedi.scouts import Scouts
from simgrid_broker.agents.panda.retry_module import RetryModule
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.ledgers.hourly_sums import Group, HourlySums, nothing
from simgrid_broker.ledgers.inputs import LostFiles, OpenInputs, StagingRequests, Submissions
from simgrid_broker.ledgers.live_tasks import Commands, LiveTasks, TaskLedger
from simgrid_broker.names import TASK_ENDS, TaskStatus
from simgrid_broker.policy.tasks.ends import dataset_after, prepared
from simgrid_broker.schema import TASK_DATASETS, Table
from simgrid_broker.schema.datasets import DATASET_STATUSES, DATASET_TYPES
from simgrid_broker.turns.decision_log import DecisionLog
from simgrid_broker.turns.plane import WaitingPlace
from simgrid_broker.turns.policies import Policies
from simgrid_broker.world.data.datasets import datasets_of_task, members_of
from simgrid_broker.world.rows import copied
from simgrid_broker.world.series import Series
from simgrid_broker.world.snapshot.tasks import PlannedMerge
from simgrid_broker.world.tasks.rows import give_back, place
from simgrid_broker.world.tasks.transitions import BROKEN
from simgrid_broker.world.world import World


class Recorder(Protocol):
    """Takes rows and snapshots; `validate` asks for a check of all invariants at every sample."""

    validate: bool

    def write(self, name: str, rows: np.ndarray, times: np.ndarray | None = None) -> None:
        """Record rows of a table, with the times of their transitions where it has any."""

    def keep_snapshot(self, values: dict) -> None:
        """Keep a snapshot for `broker`."""


class Usage(NamedTuple):
    """Power in use by each leaf share, HS06, (n_shares,), and when it was counted, s."""

    taken_at: float
    hs06: np.ndarray


class Books:
    """Live tasks, decisions, commands, and the memory of agents that several of them read.

    planned_merges: gives the merge jobs that wait for brokerage; ended: rows of tasks that are over, which are
    recorded once their last job has ended; outlived: those of them with a job, such as a jumbo job that runs on;
    newcomers: functions of the rows that a block of tasks takes, which forget the tasks that were there before;
    n_broken: tasks without a row any more that fitted no share or resource type; n_cut_cycles: cycles of the
    production watchdog that an error of the production code ended; has_orphans: whether a merge job has lost some of
    its input; usage: of the shares, as old as the statistics.
    """

    def __init__(self, world: World, fabric: Fabric, policies: Policies, recorder: Recorder):
        self.world, self.fabric, self.recorder = world, fabric, recorder
        self.live_tasks = LiveTasks(world)
        self.decisions = DecisionLog(world, policies)
        self.commands = Commands(world, self.live_tasks)
        self.ledger = TaskLedger(world, fabric, self.commands.bring_back)
        self.open_inputs = OpenInputs(world)
        self.harvester = Harvester(world)
        self.waiting_place: WaitingPlace = policies.dispatch.place(world, fabric)
        self.submissions = Submissions(world)
        self.retry_module = RetryModule(world, policies.edition)
        self.scouts = Scouts(world, fabric, policies, self.retry_module)
        self.series = Series(world)
        self.lost_files = LostFiles(world)
        self.staging = StagingRequests(world, recorder.write)
        self.usage = Usage(0.0, np.zeros(len(world.arrays.hs06_milli)))
        self.has_orphans = False
        self.planned_merges: Callable[[], Sequence[PlannedMerge]] = tuple
        fabric.retry_module = self.retry_module.learn
        self.retry_module.record = self.scouts.record = partial(recorder.write, "task_actions")
        self.retry_module.measure_again = self.scouts.measure_again
        self.ended: list[int] = []
        self.outlived: list[int] = []
        self.sums: list[HourlySums] = []
        self.n_broken = self.n_cut_cycles = 0
        self.newcomers: list[Callable[[np.ndarray], None]] = [
            self.decisions.begin, self.ledger.begin, self.open_inputs.begin, self.retry_module.begin,
            self.scouts.renew, self.lost_files.begin, self.submissions.begin]
        for begin in (self.decisions.begin, self.open_inputs.begin):
            begin(np.arange(len(world.arrays.tasks)))

    def has_work(self) -> bool:
        """True if a task or a job is live or a command waits; otherwise none will before `live_tasks.on_arrival`."""
        return bool(len(self.live_tasks.rows) or self.commands.waiting
                    or self.world.free_rows("jobs") < len(self.world.arrays.jobs))

    def hourly_sums(self, table: Table, elsewhere: Callable[[], Iterable[Group]] = nothing) -> HourlySums:
        """Sums that an agent adds up, of which the hour that is open at the end is written as well."""
        self.sums.append(HourlySums(table, self.recorder.write, elsewhere))
        return self.sums[-1]

    def end_tasks(self, rows: list[int]) -> None:
        """Stop looking at tasks that have reached a final status; record them unless a command may revive them."""
        self.live_tasks.remove(rows)
        if not self.commands.bring_back and len(rows):
            self.ended += rows
            self._record_without_jobs(self.outlived + rows)

    def blocks(self) -> Iterator[np.ndarray]:
        """Rows of the tasks that are about to arrive, block by block, which take those of tasks that are gone."""
        for block in self.world.blocks:
            self._give_back()
            rows = place(self.world, block)
            for begin in self.newcomers:
                begin(rows)
            yield rows

    def record_the_rest(self) -> None:
        """Record the tasks that have arrived and are not recorded yet."""
        rows = self.live_tasks.rows
        if self.commands.bring_back:
            rows = np.flatnonzero(~np.isnan(self.world.arrays.task_times[:, TaskStatus.REGISTERED]))
        self._record(np.r_[rows, self.outlived].astype(np.int64))
        self.staging.record_the_rest()
        for sums in self.sums:
            sums.flush()

    def broken_tasks(self) -> int:
        """Tasks so far that fit no share or resource type; tasks broken by their scouts have an errorDialog."""
        return self.n_broken + self._broken(np.arange(len(self.world.arrays.tasks)))

    def _record_without_jobs(self, rows: list[int]) -> None:
        """Record the tasks among some which are over that have no live jobs; the others are recorded later."""
        has_jobs = self.world.arrays.tasks["n_alive"][numbers := np.array(rows, np.int64)] > 0
        self._record(numbers[~has_jobs])
        self.outlived = numbers[has_jobs].tolist()

    def _record(self, rows: np.ndarray) -> None:
        """Record tasks, how the input of those with files was split, and the datasets of containers."""
        arrays = self.world.arrays
        self.recorder.write("tasks", copied(arrays.tasks, rows), arrays.task_times.take(rows, axis=0))
        cut = rows[arrays.splitting["n_files"][rows] > 0]
        if len(cut):
            self.recorder.write("splitting", arrays.splitting[cut])
        for row in rows[arrays.containers["number"][rows] > 0].tolist():
            self.recorder.write("task_datasets", self._datasets_of(row))

    def _datasets_of(self, row: int) -> np.ndarray:
        """Datasets of the container that a task reads whole, and its output last, (n,) of TASK_DATASETS."""
        arrays, members = self.world.arrays, members_of(self.world.arrays, row)
        rows, status = datasets_of_task(arrays, row, mutable=False), TaskStatus(arrays.tasks["status"][row].item())
        found = TASK_DATASETS.empty(len(rows))
        found["jeditaskid"], found["dataset"] = arrays.tasks["jeditaskid"][row], -1
        found["dataset"][:len(members)] = [self.staging.word("datasets", self.staging.name(int(number)))
                                           for number in members["dataset"]]
        found["chunk"][:len(members)] = members["first_piece"]
        for number, one in enumerate(rows):
            last = dataset_after(prepared(one), status) if status in TASK_ENDS else one
            found[["type", "n_pieces", "n_used", "n_finished", "status"]][number] = (
                DATASET_TYPES.index(one.type), last.n_files, one.used, one.finished,
                DATASET_STATUSES.index(last.status))
        return found

    def _give_back(self) -> None:
        """Free the rows of ended tasks to which nothing refers: no live job, live child, or command of the timeline."""
        if not self.ended:
            return
        self.fabric.empty_outboxes()                       # what is in them is about rows of tasks
        if self.outlived:
            self._record_without_jobs(self.outlived)
        rows, tasks = np.array(self.ended, np.int64), self.world.arrays.tasks
        parents = tasks["parent"][self.live_tasks.rows]
        kept = (tasks["n_alive"][rows] > 0) | np.isin(tasks["jeditaskid"][rows], parents[parents > 0])
        kept |= self.commands.concerns(rows) | self.staging.holds(rows)
        self.ended = rows[kept].tolist()
        self.n_broken += self._broken(rows[~kept])
        give_back(self.world, rows[~kept])

    def _broken(self, rows: np.ndarray) -> int:
        tasks = self.world.arrays.tasks
        return int(np.count_nonzero((tasks["status"][rows] == BROKEN) & (tasks["errordialog"][rows] < 0)))
