"""Work queues of the JobGenerator and their numbers, each as old as in PanDA; lifecycle reference, 1.6, 2.3, 2.4."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, product

import numpy as np

from simgrid_broker import luck
from simgrid_broker.names import ANALYSIS_LABELS, GROUP_ATTRIBUTES, JobStatus, QueueStatus, TaskStatus
from simgrid_broker.policy.jobs.resource_types import with_memory
from simgrid_broker.policy.tasks.selection import BEFORE_A_TURN, by_priority, in_turn
from simgrid_broker.policy.tasks.throttle import FEW_URGENT, TERMS, Standby, with_standby
from simgrid_broker.schema.queues import standby_slots
from simgrid_broker.turns.plane import Plane
from simgrid_broker.views import InputAt, Task, WorkQueueCounts
from simgrid_broker.world.data.datasets import replicas_version
from simgrid_broker.world.jobs.loads import QueuedPriority, QueuedWalltime, queued_priority, queued_walltime
from simgrid_broker.world.shares import AlignedQueue
from simgrid_broker.world.views import observe

TASK_SELECTION = luck.STREAMS["task_selection"]
CHANGING = ("jeditaskid", "priority", "nucleus", "ramcount", "cputime", "share", "preassigned")
"""Columns of a task that may change while brokers know it, or that another task in its row has."""
PRIORITY_AGE_S, WALLTIME_AGE_S = 60.0, 300.0
"""Greatest age of the highest priority and of the wall time of queued jobs, s; lifecycle reference, 1.3 and 2.4."""


Keys = tuple[tuple[int, int], ...]


def keys_of(queue: AlignedQueue) -> Keys:
    """The accounts and resource types whose tasks a work queue has."""
    return tuple(product(queue.accounts, queue.types))


class WorkQueues:
    """Tasks of each work queue with input for jobs, highest priority first; read again at an age of `age_s`."""

    def __init__(self, control: Plane, age_s: float):
        self.control, self.age_s = control, age_s
        self.read_at = -math.inf
        self.views: dict[int, tuple] = {}
        self.raised: dict[tuple[int, int], tuple] = {}
        self.tasks: dict[bool, dict[tuple[int, int], np.ndarray]] = {}
        self.serve(())
        self.forget(np.zeros(0, np.int64))
        control.books.newcomers.append(self.forget)
        self.analysis = np.isin(control.world.vocabularies["labels"], ANALYSIS_LABELS)

    def forget(self, rows: np.ndarray) -> None:
        """Forget the tasks that were in some rows."""
        self.changing = self.control.arrays.tasks[list(CHANGING)]        # a view of the table until it grows
        for row in rows.tolist():
            self.views.pop(row, None)
        gone = set(rows.tolist())
        self.raised = {key: view for key, view in self.raised.items() if key[0] not in gone}

    def serve(self, queues: Sequence[Keys]) -> None:
        """Note which of some work queues have tasks at each reading, `has_input`, (n,) bool; queues: `keys_of` each."""
        self.places_of = defaultdict[tuple[int, int], list[int]](list)
        for place, keys in enumerate(queues):
            for key in keys:
                self.places_of[key].append(place)
        self.has_input = np.zeros(len(queues), bool)

    def sleeps(self) -> bool:
        """True if no work queue will have tasks before one arrives."""
        return not self.tasks and not len(self.control.books.live_tasks.rows)

    def pass_by(self, at: float) -> None:
        """Note a time at which the tasks would have been read, of which there were none."""
        if at - self.read_at >= self.age_s:
            self.read_at = at

    def tasks_of(self, keys: Keys) -> list[tuple[bool, np.ndarray]]:
        """Rows of the tasks of one work queue, the highest priority first, older ones before younger.

        Those of production and of analysis apart, with whether they are analysis; JEDI generates jobs for each label.
        """
        if self.control.now - self.read_at >= self.age_s:
            self._read()
        return [(analysis, self._merged(found)) for analysis, tasks in self.tasks.items()
                if (found := [tasks[key] for key in keys if key in tasks])]

    def _merged(self, found: list[np.ndarray]) -> np.ndarray:
        """Rows of the tasks of several accounts and types, ordered as those of each are."""
        if len(found) == 1:
            return found[0]
        rows, tasks = np.concatenate(found), self.control.arrays.tasks
        return rows[by_priority(tasks["jeditaskid"][rows], tasks["priority"][rows],
                                scouting=tasks["status"][rows] == TaskStatus.SCOUTING)]

    def in_turn(self, rows: np.ndarray, attribute: str, express_ratio: float, key: int, number: int) -> np.ndarray:
        """Tasks in an order in which groups by an attribute take turns; key, number: of the generator and its turn."""
        column = GROUP_ATTRIBUTES.get(attribute)
        if column is None or len(rows) < 2:
            return rows
        tasks, seed = self.control.arrays.tasks, self.control.seed

        def uniforms(kind: int, of: np.ndarray) -> np.ndarray:
            if kind == BEFORE_A_TURN:
                return luck.uniforms(seed, "task_selection", key, number, 3 * of + kind)
            found = np.empty(len(of))
            luck.fill_uniforms(seed, TASK_SELECTION, tasks["luck"][rows[of]], number, kind, found)
            return found
        return rows[in_turn(tasks["priority"][rows], tasks[column][rows], express_ratio, uniforms)]

    def view(self, row: int, level: int = 0) -> tuple:
        """View of a task and its input by site, kept until it changes; level: of ramCount, 0 = the task's own."""
        world = self.control.world
        state = self.changing[row].item(), self.control.books.scouts.changes[row], replicas_version(world.arrays, row)
        known = self.views.get(row)
        if known is None or known[0] != state:
            known = state, observe.task(world, row), observe.job_input(world, row)
            self.views[row] = known
        return known[1:] if level == 0 else (self._raised(row, level, known[1]), known[2])

    def input_at_queues(self, row: int) -> InputAt:
        """The input of a task at each PanDA queue."""
        return observe.input_at_queues(self.control.world, row)

    def _raised(self, row: int, level: int, task: Task) -> Task:
        """View of a task for inputs with a raised ramCount, kept until that of the task changes."""
        known = self.raised.get((row, level))
        if known is None or known[0] is not task:
            known = task, with_memory(task, level, self.control.world.scenario.resource_types.values())
            self.raised[row, level] = known
        return known[1]

    def _read(self) -> None:
        self.tasks = observe.tasks_by_work_queue(self.control.world, self.control.books.live_tasks.rows, self.analysis)
        self.has_input[:] = False
        self.has_input[[place for key in chain(*self.tasks.values()) for place in self.places_of[key]]] = True
        self.read_at = self.control.now
        if len(self.views) > 2 * len(self.control.books.live_tasks.rows) + 100:
            wanted = set(self.control.books.live_tasks.rows.tolist())
            self.views = {row: view for row, view in self.views.items() if row in wanted}
            self.raised = {key: view for key, view in self.raised.items() if key[0] in wanted}


class JobNumbers:
    """Job numbers of work queues as the throttler compares them."""

    walltime: QueuedWalltime
    priority: QueuedPriority

    def __init__(self, control: Plane):
        self.control = control
        self.walltime_read_at = self.priority_read_at = -math.inf
        queues, types = control.world.scenario.grid.queues.values(), control.world.vocabularies["resource_types"]
        self.standby = [(number, share, types.index(kind), slots) for number, queue in enumerate(queues)
                        for _, share, kind, slots in standby_slots(queue) if share is not None and kind in types]

    def of(self, queue: AlignedQueue, types: tuple[int, ...], of_type: bool = False) -> WorkQueueCounts:
        """Numbers of a work queue in some resource types, of_type: of one; in `deployed` standby slots count."""
        counts = observe.work_queue_counts(self.control.brokers.snapshot, queue.accounts, types)
        if not self.standby or not TERMS[self.control.edition].standby:
            return counts
        return with_standby(counts, Standby.of(self._standby(queue, types)), of_type)

    def walltime_s(self, queue: AlignedQueue) -> float | None:
        """Wall time that the queued jobs of a work queue request, s, at most five minutes old; None = unknown."""
        if self.control.now - self.walltime_read_at >= WALLTIME_AGE_S:
            self.walltime, self.walltime_read_at = queued_walltime(self.control.arrays), self.control.now
        return self.walltime.total_s(queue.accounts, queue.types)

    def highest_priority(self, queue: AlignedQueue) -> tuple[int, int]:
        """Highest priority of the queued jobs of a work queue and their number, at most a minute old."""
        if self.control.now - self.priority_read_at >= PRIORITY_AGE_S:
            self.priority = queued_priority(self.control.arrays, FEW_URGENT)
            self.priority_read_at = self.control.now
        return self.priority.highest(queue.accounts, queue.types)

    def has_jobs(self, queue: AlignedQueue) -> bool:
        """True if the statistics show any job of a work queue; without one it is inactive."""
        snapshot = self.control.brokers.snapshot
        return any(any(snapshot.by_type[account][kind]) or snapshot.placed_by_type[account, kind] > 0
                   for account in queue.accounts for kind in queue.types)

    def _standby(self, queue: AlignedQueue, types: tuple[int, ...]) -> list[tuple[int, int]]:
        """Standby slots and starting jobs of each queue in standby that name the work queue and one of the types."""
        status, snapshot = self.control.arrays.queues["status"], self.control.brokers.snapshot
        return [(slots, snapshot.jobs_at(number, queue.accounts, (kind,), JobStatus.STARTING))
                for number, share, kind, slots in self.standby
                if share == queue.name and kind in types and status[number] == QueueStatus.STANDBY]
