"""The server: Setupper and Adder, by which new jobs are set up and ended payloads handled (lifecycle reference, 3.1,
7.2), and the build jobs of tasks of users: one at each site makes the library for which the jobs of the task there
wait, as defined.

For jobs that clients submit without a task in JEDI the Setupper itself finds a queue. Those of one owner and kind are
counted in one row of the table of tasks, which no cycle of JEDI looks at: all of its input has jobs. Simplified: the
server asks the rules of job brokerage of JEDI, of analysis for jobs of users.

In PanDA the JobGenerator makes build jobs with the first jobs at a site, the Activator and the analysis watchdog let
the others go on; here the Setupper asks this book for both. Source: lifecycle reference, 2.6 and 2.12; panda-server,
JobGenerator and AtlasAnalWatchDog; JEDI TWiki, broken tasks.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import inf, nan

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.jedi.task_refiner import refine
from simgrid_broker.fabric.jobs.effects import jobs_of
from simgrid_broker.names import BUILD, TASK_ENDS, Cause, JobStatus, TaskStatus
from simgrid_broker.policy.jobs.resource_types import resource_type_of
from simgrid_broker.policy.users import tasks as rules
from simgrid_broker.schema.tasks import UserParameters, builds_library
from simgrid_broker.turns.job_tables import DirectTables
from simgrid_broker.turns.tagging import Tagger
from simgrid_broker.turns.turn import Outcome
from simgrid_broker.turns.work_queues import WorkQueues
from simgrid_broker.world.shares import WorkQueueMap
from simgrid_broker.world.tasks.transitions import set_status

FINISHED, FAILED, CANCELLED = int(JobStatus.FINISHED), int(JobStatus.FAILED), int(JobStatus.CANCELLED)


def builds(control: Control) -> bool:
    """Test whether any task has a build step, and a queue is chosen before its jobs wait."""
    words = control.world.vocabularies["user_parameters"]
    return control.policies.dispatch.binds_jobs and any(map(builds_library, words))


@dataclass
class Library:
    """The library of a task at a site; made_s: when it was made, s, NaN = it is not; panda_id: of its build job.

    attempt: build jobs so far; waiting: row and panda_id of the jobs that wait for it.
    """

    made_s: float = nan
    panda_id: int = 0
    attempt: int = 0
    waiting: list[tuple[int, int]] = field(default_factory=list)


class Builder:
    """Libraries by task and site, build jobs under way, and how many of each task have failed."""

    def __init__(self, control: Control):
        self.control = control
        words = control.world.vocabularies
        self.rules = [UserParameters.of_word(word) for word in words["user_parameters"]]
        self.building = np.array([rule.buildSpec for rule in self.rules])
        self.processing_type = words["processing_types"].index(BUILD)
        self.libraries: dict[tuple[int, int], Library] = {}
        self.under_way: dict[int, tuple[int, int]] = {}
        self.ended: list[tuple[int, int, float]] = []
        self.failures = Counter[int]()
        control.fabric.watchers.append(self.watch)
        control.books.newcomers.append(self.forget)

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note build jobs that have ended, and when."""
        for number in np.flatnonzero((rows["n_chunks"] == 0) & (rows["processing_type"] == self.processing_type)):
            job = rows[number]
            self.ended.append((int(job["panda_id"]), int(job["status"]), float(times[number, job["status"]])))

    def forget(self, _rows: np.ndarray) -> None:
        """Forget the libraries of tasks that are gone."""
        alive = self.control.world.row_of
        self.libraries = {key: library for key, library in self.libraries.items() if key[0] in alive}
        self.failures = Counter({task: number for task, number in self.failures.items() if task in alive})

    def look(self) -> None:
        """Let jobs go on whose library is made, cancel those whose is not, and hold back new ones without one."""
        self.control.fabric.limit_build_jobs(self.processing_type, rules.max_walltime_s(self.control.cfg))
        if self.under_way:
            self.control.fabric.empty_outboxes()
        ended, self.ended = self.ended, []
        for panda_id, status, ended_s in ended:
            key = self.under_way.pop(panda_id)
            self._settle(self.libraries.get(key), status, ended_s)
            if status == FAILED:
                self._note_failure(key[0])
        self._hold()

    def _settle(self, library: Library | None, status: int, ended_s: float) -> None:
        """Let the jobs that wait for a library go on, or cancel them, whose input is then tried again."""
        if library is None:
            return
        control, jobs = self.control, self.control.arrays.jobs
        waiting, library.waiting = library.waiting, []
        rows = np.array([row for row, number in waiting if jobs["panda_id"][row] == number], np.int64)
        if status == FINISHED:
            library.made_s = ended_s
            control.fabric.go_on(rows)
        else:
            control.fabric.take_back(rows, CANCELLED, int(Cause.BUILD_FAILED), control.now)

    def _note_failure(self, task: int) -> None:
        """Count a failed build job, and break a scouting task with too many of them."""
        control, row = self.control, self.control.world.row_of.get(task)
        self.failures[task] += 1
        if row is not None and rules.breaks_task(
                self.failures[task], control.arrays.tasks["status"][row] == TaskStatus.SCOUTING):
            control.books.scouts.stop(row, rules.BUILD_FAILURES, TaskStatus.TOBROKEN, control.now)
            control.fabric.take_back(jobs_of(control.arrays, np.array([row])), CANCELLED, int(Cause.TASK_ABORTED),
                                     control.now)

    def _hold(self) -> None:
        """Hold back new jobs without a library, and have it built."""
        control, arrays = self.control, self.control.arrays
        inbox = arrays.pending[:int(control.world.state["n_pending"])].copy()
        jobs = arrays.jobs[inbox["row"]]
        is_new = ((jobs["panda_id"] == inbox["panda_id"]) & (jobs["n_chunks"] > 0)
                  & (jobs["status"] == JobStatus.PENDING))
        wanted = is_new & self.building[arrays.tasks["user_parameters"][jobs["task"]]]
        held = []
        for place in np.flatnonzero(wanted).tolist():
            job = jobs[place]
            key = int(job["jeditaskid"]), int(arrays.queues["site"][job["queue"]])
            library = self.libraries.setdefault(key, Library())
            if not rules.is_usable(library.made_s, control.now):
                held.append(place)
                library.waiting.append((int(inbox["row"][place]), int(inbox["panda_id"][place])))
                if library.panda_id not in self.under_way:
                    self._build(key, library, job)
        control.fabric.hold_for_library(np.array(held, np.int64), control.now)

    def _build(self, key: tuple[int, int], library: Library, job: np.void) -> None:
        """Make the build job of a library, at the queue of the first job that waits for it."""
        control, world, arrays = self.control, self.control.world, self.control.arrays
        row, queue = int(job["task"]), arrays.queues[job["queue"]]
        rule = self.rules[arrays.tasks["user_parameters"][row]]
        is_unified = bool(arrays.pseudo_queues["resource_type"][job["pseudo_queue"]] >= 0)
        cores = rules.corecount(int(arrays.tasks["corecount"][row]), is_unified, int(job["corecount"]))
        number, kind = self._place(job, cores)
        library.attempt += 1
        library.made_s = nan
        site = luck.key_of(world.vocabularies["sites"][key[1]])
        fails = luck.uniforms(world.scenario.seed, "build_fate", int(arrays.tasks["luck"][row]), site, library.attempt)
        made = control.fabric.make_build_job((
            control.now, row, number, job["chunk"], library.attempt,
            rules.memory_asked(cores, float(queue["maxrss_mb"])), kind, cores,
            rules.PRIORITY + int(arrays.tasks["priority_boost"][row]), self.processing_type, rule.build_hs06sec,
            rule.build_memory, bool(fails < rule.build_failure_rate)))
        library.panda_id = int(control.arrays.jobs["panda_id"][made])
        self.under_way[library.panda_id] = key

    def _place(self, job: np.void, cores: int) -> tuple[int, int]:
        """Pseudo-queue of a build job at the queue of another job, and its resource type."""
        world, arrays = self.control.world, self.control.arrays
        kind = resource_type_of(tuple(world.scenario.resource_types.values()), cores, rules.MB_PER_CORE * cores,
                                "MB", 0)
        own = np.flatnonzero(arrays.pseudo_queues["queue"] == job["queue"])
        types = arrays.pseudo_queues["resource_type"][own]
        fitting = own[(types == kind) | (types < 0)]
        if kind < 0 or not len(fitting):
            return int(job["pseudo_queue"]), int(job["resource_type"])
        return int(fitting[0]), kind


T = TaskStatus
TAKES_JOBS = T.DEFINED, T.READY, T.RUNNING, T.PENDING


class DirectJobs:
    """Submitted jobs of a trace that have no queue yet: their number, and when they are brokered again, by task row."""

    def __init__(self, control: Control):
        self.control = control
        self.tagger = Tagger(control.world, control.world.scenario.shares_in_use)
        self.work_queues, self.map = WorkQueues(control, inf), WorkQueueMap(control.world.scenario)
        self.tables = DirectTables(control, self.work_queues)
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
        return self.control.arrays.tasks["status"].item(row)

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
    yield from control.every(control.periods.setupper, set_up, "setupper", lambda: not (direct_jobs or builder))


def adder(control: Control) -> Process:
    """Handle ended payloads."""
    yield from control.every(control.periods.adder, lambda: control.fabric.add_jobs(control.now), "adder", lambda: True)
