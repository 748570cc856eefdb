"""Merge jobs that wait for brokerage, and their tables for compiled turns (`merge_turn`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Self

import numpy as np

from simgrid_broker import luck
from simgrid_broker.names import DecisionKind, JobStatus
from simgrid_broker.policy.brokerage.production.candidates import TERMS
from simgrid_broker.policy.tasks import merging
from simgrid_broker.turns import merge_turn
from simgrid_broker.turns.job_tables import JobTables
from simgrid_broker.turns.merge_turn import MERGE
from simgrid_broker.turns.plane import Plane
from simgrid_broker.turns.turn import Outcome
from simgrid_broker.views import InputAt, JobInput, Premerge, Task, Verdict
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.jobs.counts import account_of_task
from simgrid_broker.world.rows import copied
from simgrid_broker.world.snapshot.tasks import PlannedMerge
from simgrid_broker.world.views import observe

MERGING = int(JobStatus.MERGING)
MOST_CORES = 1 << 16
"""More than mergeCoreCount."""


@dataclass
class Merge:
    """Input of one merge job: the PanDA queue of the outputs, rows and panda_ids of the jobs that wrote them.

    outputs: sums over these; chunk: of the first; changed_at: when the last of them began to wait, s; attempt: of the
    next or present merge job; panda_id: of the last one, 0 = none; stuck_at: since when brokerage finds no queue, s;
    again_at: time of the next brokerage, s.
    """

    task: int
    queue: int
    rows: np.ndarray
    panda_ids: np.ndarray
    outputs: merging.Unmerged
    chunk: int
    changed_at: float
    attempt: int = 1
    panda_id: int = 0
    row: int = -1
    stuck_at: float = inf
    again_at: float = 0.0

    @classmethod
    def of(cls, arrays: Arrays, task: int, queue: int, rows: np.ndarray, attempt: int = 1, panda_id: int = 0) -> Self:
        """The merge of the output of the jobs in `rows`."""
        jobs = copied(arrays.jobs, rows)
        outputs = merging.Unmerged(*(jobs[name].sum() for name in merging.Unmerged._fields))
        return cls(task, queue, rows, jobs["panda_id"], outputs, int(jobs["chunk"][0]),
                   float(arrays.job_times[rows, MERGING].max()), attempt, panda_id)

    @property
    def is_made(self) -> bool:
        """True once its merge job is made."""
        return self.row >= 0

    def premerge(self, now: float) -> Premerge:
        """Place of the output, as brokers see it."""
        return Premerge(self.queue, now - self.changed_at, max(0.0, now - self.stuck_at))


def view_of(control: Plane, merge: Merge) -> tuple[Task, JobInput]:
    """View of a merge job for the job brokerage, and its input by site."""
    world = control.world
    view = merging.merge_task(observe.task(world, merge.task), world.merge_rule(merge.task), merge.outputs,
                              merge.premerge(control.now), tuple(world.scenario.resource_types.values()))
    return view, observe.input_at(world, int(world.arrays.queues["site"][merge.queue]))


class MergeTables(JobTables):
    """The tables of job generation for merge jobs, each of which draws a queue for itself."""

    steps, stream, n_merges = merge_turn, luck.STREAMS["merge_draw"], 64

    def __init__(self, control: Plane):
        super().__init__(control, self)
        self.terms["late"] = False                         # they wait for a worker at the queue that they drew
        self.waiting: Sequence[Merge] = ()

    def broker_all(self, waiting: Sequence[Merge]) -> np.ndarray:
        """Draw a queue for each merge job, (n,) of MERGE."""
        self.waiting, rows = waiting, np.array([merge.task for merge in waiting], np.int64)
        self.begin(self.users.decides)
        if len(rows) > len(self.merges):
            self.merges = np.zeros(2 * len(rows), MERGE)
            self.work = self.work.with_arrays(merges=self.merges)
        for place, merge in enumerate(waiting):
            self.merges[place] = self._asked(merge)
        while (outcome := self.go_on(rows)) != Outcome.OVER:
            self.act(outcome, rows)
        return self.merges[:len(rows)]

    def view(self, row: int, level: int = 0) -> tuple[Task, JobInput]:
        """View of the merge job in hand, and its input."""
        return view_of(self.control, self.waiting[self.hand["task"]])

    def input_at_queues(self, row: int) -> InputAt:
        """The input of the merge job in hand at each PanDA queue."""
        task, parts = self.view(row)
        return observe.output_at_queues(self.control.world, parts, task)

    def asked_about(self, row: int, level: int) -> PlannedMerge:
        """The merge job in hand."""
        return PlannedMerge(row, self.view(row)[0])

    def place_of(self, row: int) -> int:
        """Number of what decides which queues may merge the output in hand."""
        return int(self.merges["place"][self.hand["task"]])

    def broker(self, row: int, level: int, number: int) -> tuple[DecisionKind, Task, Verdict]:
        """As for other jobs, but they wait at the queue that they drew, and what is known of them is not kept."""
        control, (task, parts) = self.control, self.view(row)
        account = account_of_task(control.arrays, row)
        kind, verdict = control.brokers.broker(row, task, parts, number, account, cache=False)
        control.check(kind, PlannedMerge(row, task), verdict)
        return kind, task, verdict

    def _asked(self, merge: Merge) -> tuple:
        """A merge job as a row of MERGE."""
        world, (n_files, size, n_events) = self.control.world, merge.outputs
        rule, bounds = world.merge_rule(merge.task), tuple(world.scenario.resource_types.values())
        lapsed = TERMS[self.control.edition].lapsed(merge.premerge(self.control.now))
        place = 1 + (2 * merge.queue + lapsed) * MOST_CORES + rule.mergeCoreCount
        cores, kind = (world.arrays.tasks[name][merge.task].item() for name in ("corecount", "resource_type"))
        return (world.arrays.queues["site"][merge.queue], place, size, n_files, n_events, rule.mergeRamCount or nan,
                merging.resource_type(rule, cores, kind, bounds), luck.ATTEMPTS * merge.chunk + merge.attempt, -1)
