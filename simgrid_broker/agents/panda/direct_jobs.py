"""Jobs that clients submit to PanDA without a task in JEDI: the server itself finds a queue for each.

The jobs of one owner and kind are counted in one row of the table of tasks, which no cycle of JEDI looks at: all of its
input has jobs. Source: lifecycle reference, section 7.2 (Setupper). Simplified: the server asks the rules of JEDI's job
brokerage, of analysis for jobs of users.
"""

from collections import Counter
from collections.abc import Callable
from math import inf

import numpy as np

import simgrid_broker.turns.direct_cycle as direct_cycle
import simgrid_broker.turns.job_cycle as job_cycle
from simgrid_broker import luck
from simgrid_broker.agents.control import Control
from simgrid_broker.agents.jedi.task_refiner import Tagger, refine
from simgrid_broker.names import TASK_ENDS, TaskStatus
from simgrid_broker.policy.brokerage.production.selection import spread_jobs
from simgrid_broker.policy.jobs.resource_types import asked_ramcount
from simgrid_broker.turns.job_tables import JobTables
from simgrid_broker.turns.work_queues import WorkQueues
from simgrid_broker.views import Task
from simgrid_broker.world.jobs.counts import account_of_task
from simgrid_broker.world.shares import WorkQueueMap
from simgrid_broker.world.tasks.transitions import set_status

T = TaskStatus
TAKES_JOBS = T.DEFINED, T.READY, T.RUNNING, T.PENDING
NOTHING = np.zeros(0, np.int64)
QUEUE_DRAW = luck.STREAMS["queue_draw"]


class DirectJobs:
    """Submitted jobs of a trace that have no queue yet: their number, and when they are brokered again, by task row."""

    def __init__(self, control: Control):
        self.control = control
        self.tagger = Tagger(control.world, control.world.scenario.shares_in_use)
        self.work_queues, self.map = WorkQueues(control, inf), WorkQueueMap(control.world.scenario)
        self.tables = JobTables(control, self.work_queues)
        self.cycle: Callable[..., int] = self.tables.deciding(direct_cycle.send)
        self.names_queue = np.array([bool(word) for word in control.world.vocabularies["preassigned"]])
        self.waiting = Counter[int]()
        self.due_s: dict[int, float] = {}

    def send(self) -> None:
        """Make the jobs that have been submitted and for which there is a queue."""
        now = self.control.now
        self.waiting.update(self.control.books.submissions.take(now))
        if not self.waiting:
            return
        rows = [row for row in self.waiting if self.due_s.get(row, 0) <= now]
        for row in rows:
            if self._status(row) == T.REGISTERED and refine(self.control, row, self.tagger, self.map):
                set_status(self.control.world, row, T.READY, now)
            if self._status(row) in TASK_ENDS:
                del self.waiting[row]
        rows = [row for row in rows if self._status(row) in TAKES_JOBS]
        if rows:
            self._send(np.array(rows, np.int64))

    def _status(self, row: int) -> int:
        return self.control.arrays.tasks["status"][row].item()     # a number of NumPy is compared slowly

    def _send(self, rows: np.ndarray) -> None:
        """Order the jobs that wait of the tasks in `rows`, as far as there are queues for them."""
        control, tables = self.control, self.tables
        left = np.array([self.waiting[row] for row in rows.tolist()])
        asks = self.names_queue[control.arrays.tasks["preassigned"][rows]]
        state = tables.begin(control.now, tables.users.decides)
        while (reason := self._go_on(rows, left, asks)) != job_cycle.OVER:
            row = int(rows[state["task"]])
            if reason == job_cycle.ASK:
                left[state["task"]] -= self._ask(row, int(state["wanted"]))
                state["task"] += 1
            else:
                tables.act(reason, row)
        for row, number in zip(rows.tolist(), left.tolist(), strict=True):
            self._note(row, self.waiting[row] - number, number)
        control.fabric.make_jobs(tables.take_orders())

    def _go_on(self, rows: np.ndarray, left: np.ndarray, asks: np.ndarray) -> int:
        """Go on with the tasks in `rows`, as `direct_cycle.send`."""
        control, tables, users = self.control, self.tables, self.tables.users
        return self.cycle(control.arrays, tables.tables, tables.desk, control.world.sight, tables.kinds.tables,
                          control.books.decisions.watch, users.tables, users.desk, users.kinds.tables, users.known,
                          rows, left, asks)

    def _note(self, row: int, sent: int, left: int) -> None:
        """Note how many jobs of a task were sent and how many were left, which are brokered again later."""
        if left:
            self.due_s[row], self.waiting[row] = self.control.now + self.control.periods.job_generator, left
        else:
            del self.waiting[row]
        if sent:
            self.control.books.submissions.add_input(row, sent)
            self._set_running(row)

    def _ask(self, row: int, number: int) -> int:
        """Order up to `number` jobs of a task that names its queue, or by an own brokerage; returns how many."""
        control, placed = self.control, []
        task, parts = self.work_queues.view(row)
        queues = self._queues_named(task, number)
        if not len(queues):
            queues = self._queues_found(row, task, parts, number)
        for place in queues.tolist():
            queue, cores = control.brokers.queues.queue_and_cores[place]
            self.tables.order((control.now, row, place, 1, asked_ramcount(task, cores), 0, task.resource_type))
            placed.append((queue, 1))
        if placed:
            control.brokers.snapshot.place(account_of_task(control.arrays, row), task.resource_type, placed)
        return len(placed)

    def _queues_named(self, task: Task, number: int) -> np.ndarray:
        """The queue that the jobs name, if it has slots of their resource type, once for each job."""
        if not len(task.preassigned):
            return NOTHING
        queues = self.control.brokers.queues
        named = np.isin(queues.queue, task.preassigned) & np.isin(queues.resource_type, (task.resource_type, -1))
        return np.flatnonzero(named)[:1].repeat(number)

    def _queues_found(self, row: int, task: Task, parts, number: int) -> np.ndarray:
        """Candidate that job brokerage draws for each job, (k,); fewer than `number` if all others are full."""
        control, world = self.control, self.control.world
        kind, verdict = control.brokers.broker(row, task, parts, number, account_of_task(world.arrays, row))
        control.books.waiting_place.place(row, 0, task, verdict, control.brokers.queues, control.now)
        first = int(world.arrays.tasks["next_chunk"][row])
        uniforms = control.brokers.uniforms(QUEUE_DRAW, task, luck.ATTEMPTS * first + 1, verdict, number)
        found, _ = spread_jobs(verdict, number, uniforms, block=1)
        control.books.decisions.add(kind, control.now, task, verdict, len(found))
        control.brokers.note_use(task, np.unique(control.brokers.queues.queue[found]).tolist())
        return found

    def _set_running(self, row: int) -> None:
        status = self._status(row)
        if status == T.DEFINED:                            # all of its jobs had ended
            set_status(self.control.world, row, T.READY, self.control.now)
        if status in (T.DEFINED, T.READY):
            set_status(self.control.world, row, T.RUNNING, self.control.now)
