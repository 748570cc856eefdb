"""The server's Setupper and Adder: new jobs are set up, and ended payloads handled; lifecycle reference, 3.1, 7.2.

For jobs that clients submit without a task in JEDI the Setupper itself finds a queue. Those of one owner and kind are
counted in one row of the table of tasks, which no cycle of JEDI looks at: all of its input has jobs. Simplified: the
server asks the rules of JEDI's job brokerage, of analysis for jobs of users.
"""

from collections import Counter
from math import inf

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.jedi.task_refiner import Tagger, refine
from simgrid_broker.agents.panda.builder import Builder, builds
from simgrid_broker.names import TASK_ENDS, TaskStatus
from simgrid_broker.turns.job_tables import JobTables
from simgrid_broker.turns.turn import Outcome
from simgrid_broker.turns.work_queues import WorkQueues
from simgrid_broker.world.shares import WorkQueueMap
from simgrid_broker.world.tasks.transitions import set_status

T = TaskStatus
TAKES_JOBS = T.DEFINED, T.READY, T.RUNNING, T.PENDING


class DirectJobs:
    """Submitted jobs of a trace that have no queue yet: their number, and when they are brokered again, by task row."""

    def __init__(self, control: Control):
        self.control = control
        self.tagger = Tagger(control.world, control.world.scenario.shares_in_use)
        self.work_queues, self.map = WorkQueues(control, inf), WorkQueueMap(control.world.scenario)
        self.tables = JobTables(control, self.work_queues, is_direct=True)
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
        tables, numbers = self.tables, np.array([self.waiting[row] for row in rows.tolist()])
        hand = tables.begin_directly(numbers, self.names_queue[self.control.arrays.tasks["preassigned"][rows]])
        while (outcome := tables.go_on(rows)) != Outcome.OVER:
            queue = self._queue_named(int(rows[hand["task"]])) if outcome == Outcome.ASK else None
            if queue is None:
                tables.act(outcome, rows)
            else:
                tables.answer_by_name(queue)
        for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
            self._note(row, self.waiting[row] - number, number)
        self.control.fabric.make_jobs(tables.take_orders())

    def _note(self, row: int, sent: int, left: int) -> None:
        """Note how many jobs of a task were sent and how many were left, which are brokered again later."""
        if left:
            self.due_s[row], self.waiting[row] = self.control.now + self.control.periods.job_generator, left
        else:
            del self.waiting[row]
        if sent:
            self.control.books.submissions.add_input(row, sent)
            self._set_running(row)

    def _queue_named(self, row: int) -> int | None:
        """Candidate that the jobs of a task name, if it has slots of their resource type."""
        task, _ = self.work_queues.view(row)
        if not len(task.preassigned):
            return None
        queues = self.control.brokers.queues
        named = np.isin(queues.queue, task.preassigned) & np.isin(queues.resource_type, (task.resource_type, -1))
        return int(np.argmax(named)) if named.any() else None

    def _set_running(self, row: int) -> None:
        status = self._status(row)
        if status == T.DEFINED:                            # all of its jobs had ended
            set_status(self.control.world, row, T.READY, self.control.now)
        if status in (T.DEFINED, T.READY):
            set_status(self.control.world, row, T.RUNNING, self.control.now)


def setupper(control: Control) -> Process:
    """Send jobs without a task in JEDI to their queues, and set up pending jobs, those first that wait for none."""
    direct_jobs = DirectJobs(control) if control.books.submissions.as_jobs else None
    builder = Builder(control) if builds(control) else None

    def set_up() -> None:
        if direct_jobs is not None:
            direct_jobs.send()
        if builder is not None:
            builder.look()
        control.fabric.set_up_jobs(control.now)
    yield from control.every(control.periods.setupper, set_up, "setupper")


def adder(control: Control) -> Process:
    """Handle ended payloads."""
    yield from control.every(control.periods.adder, lambda: control.fabric.add_jobs(control.now), "adder")
