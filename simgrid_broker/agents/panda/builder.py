"""Build jobs of users' tasks: one at each site makes the library for which the jobs of the task there wait, as defined.

In PanDA the JobGenerator makes build jobs with the first jobs at a site, the Activator and the analysis watchdog let
the others go on; here the Setupper asks this book for both. Source: lifecycle reference, 2.6 and 2.12; panda-server,
JobGenerator and AtlasAnalWatchDog; JEDI TWiki, broken tasks.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import nan

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.control import Control
from simgrid_broker.fabric.jobs.effects import jobs_of
from simgrid_broker.names import BUILD, Cause, JobStatus, TaskStatus
from simgrid_broker.policy.jobs import build_jobs
from simgrid_broker.policy.jobs.resource_types import resource_type_of
from simgrid_broker.schema.tasks import UserParameters, builds_library

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
        self.control.fabric.limit_build_jobs(self.processing_type, build_jobs.max_walltime_s(self.control.cfg))
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
        if row is not None and build_jobs.breaks_task(
                self.failures[task], control.arrays.tasks["status"][row] == TaskStatus.SCOUTING):
            control.books.scouts.stop(row, build_jobs.BUILD_FAILURES, TaskStatus.TOBROKEN, control.now)
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
            if not build_jobs.is_usable(library.made_s, control.now):
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
        cores = build_jobs.corecount(int(arrays.tasks["corecount"][row]), is_unified, int(job["corecount"]))
        number, kind = self._place(job, cores)
        library.attempt += 1
        library.made_s = nan
        site = luck.key_of(world.vocabularies["sites"][key[1]])
        fails = luck.uniforms(world.scenario.seed, "build_fate", int(arrays.tasks["luck"][row]), site, library.attempt)
        made = control.fabric.make_build_job((
            control.now, row, number, job["chunk"], library.attempt,
            build_jobs.memory_asked(cores, float(queue["maxrss_mb"])), kind, cores,
            build_jobs.PRIORITY + int(arrays.tasks["priority_boost"][row]), self.processing_type, rule.build_hs06sec,
            rule.build_memory, bool(fails < rule.build_failure_rate)))
        library.panda_id = int(control.arrays.jobs["panda_id"][made])
        self.under_way[library.panda_id] = key

    def _place(self, job: np.void, cores: int) -> tuple[int, int]:
        """Pseudo-queue of a build job at the queue of another job, and its resource type."""
        world, arrays = self.control.world, self.control.arrays
        kind = resource_type_of(tuple(world.scenario.resource_types.values()), cores, build_jobs.MB_PER_CORE * cores,
                                "MB", 0)
        own = np.flatnonzero(arrays.pseudo_queues["queue"] == job["queue"])
        types = arrays.pseudo_queues["resource_type"][own]
        fitting = own[(types == kind) | (types < 0)]
        if kind < 0 or not len(fitting):
            return int(job["pseudo_queue"]), int(job["resource_type"])
        return int(fitting[0]), kind
