"""JEDI's queue filler: pins production tasks to queues that have their input and too little to do.

Source: lifecycle reference, 7.1; panda-server, AtlasQueueFillerWatchDog. The documents do not name it. Simplified: of
jobs that began to run, those since the start of the run are known.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.fabric.jobs.effects import jobs_of
from simgrid_broker.names import Cause, JobStatus, QueueStatus
from simgrid_broker.policy import queues as rules
from simgrid_broker.policy.queues import FILLS_QUEUES
from simgrid_broker.schema.tasks import RAM_UNITS
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.world.columns import set_task
from simgrid_broker.world.data.locality import endpoints_with_input, has_input
from simgrid_broker.world.tasks.input_files import files_left
from simgrid_broker.world.users.metrics import Starts

S = JobStatus
MOVED = S.DEFINED, S.ASSIGNED, S.ACTIVATED
"""Statuses of the jobs of a pinned task that are closed at other queues."""

Key = tuple[int, int]
"""A PanDA queue and a resource type."""
OF_MEMORY = "ramunit", "baseramcount", "ramcount"
"""Columns of tasks that say how much memory their jobs need."""


class Candidates(NamedTuple):
    """Tasks that may be pinned somewhere, by their rows, (n,), and their files: ready and remaining, (n,) each."""

    rows: np.ndarray
    ready: np.ndarray
    remaining: np.ndarray

    def some(self, places: np.ndarray) -> "Candidates":
        """Select candidates at some places, by number or mask."""
        return Candidates(*(column[places] for column in self))


def queue_filler(control: Control) -> Process:
    """Fill queues, if the edition of PanDA's brokerage does."""
    if FILLS_QUEUES[control.edition] and control.policies.dispatch.binds_jobs:
        yield from control.every(control.periods.queue_filler, QueueFiller(control).cycle, "queue_filler")


class QueueFiller:
    """Remembers the tasks that it has pinned, by queue and resource type, those that it has released, by hour, and
    since when each queue has had too little to do, s, NaN = it has enough."""

    def __init__(self, control: Control):
        self.control, world = control, control.world
        self.names, self.queues = world.vocabularies["queues"], list(world.scenario.grid.queues.values())
        self.slots = np.maximum(control.arrays.queues["num_slots"], 0)
        self.cores = np.maximum([queue.corecount for queue in self.queues], 1)
        self.containers = [rules.fat_containers(each) for each in world.software]
        self.arm = np.array([rules.is_for_arm_alone(each) for each in world.software], bool)
        self.open = np.array([queue.minrss == 0 and queue.jobseed != "es" for queue in self.queues], bool)
        self.open &= control.arrays.queues["production"] > 0
        self.types = list(world.scenario.resource_types.values())
        self.starts, self.empty_since = Starts(len(self.queues)), np.full(len(self.queues), np.nan)
        self.pinned: dict[Key, list[int]] = {}
        self.released: dict[float, set[int]] = {}

    def cycle(self) -> None:
        """Release tasks that have no reason to be pinned any more, then pin others."""
        self.starts.note(self.control.arrays.queues["n_started"], self.control.now)
        bound = rules.limits_of_filling(self.control.cfg)
        self._release(bound)
        self._fill(bound)

    def _work(self) -> rules.Work:
        """Jobs that the queues have to run, as old as the statistics."""
        seen, now = self.control.brokers.snapshot, self.control.now
        hours = max(min(now, DAY), 1.0) / HOUR
        return rules.Work(seen.jobs_in((S.RUNNING,)), seen.jobs_in((S.ACTIVATED, S.STARTING)), self.slots // self.cores,
                          self.starts.between(now - DAY, now) / hours)

    def _online(self) -> np.ndarray:
        return self.control.arrays.queues["status"] == QueueStatus.ONLINE

    def _release(self, bound: rules.Limits) -> None:
        """Release all tasks of a queue with enough to do, and tasks that make no jobs or have too few files."""
        now, full = self.control.now, ~self._online() | rules.is_full(self._work())
        self.released = {hour: tasks for hour, tasks in self.released.items() if hour >= now - rules.LISTED_S}
        for key, tasks in [*self.pinned.items()]:
            by_force = bool(full[key[0]]) or len(tasks) > bound.tasks
            gone = tasks if by_force else [task for task in tasks if not self._is_served(task, bound)]
            for task in gone:
                self._unpin(task, key[0])
            if not by_force and gone:
                self.released.setdefault(now - now % HOUR, set()).update(gone)
            self.pinned[key] = [task for task in tasks if task not in gone]
            if not self.pinned[key]:
                del self.pinned[key]

    def _is_served(self, task: int, bound: rules.Limits) -> bool:
        """True if a pinned task still makes jobs, and has files enough for them."""
        row = self.control.world.row_of.get(task)
        if row is None or self.control.arrays.tasks["status"][row] not in rules.SERVED:
            return False
        return bool(rules.has_files(*files_left(self.control.arrays, np.array([row])), False, bound)[0])

    def _unpin(self, task: int, queue: int) -> None:
        """Let a task choose its queues again, unless something else has changed that meanwhile."""
        row, world = self.control.world.row_of.get(task), self.control.world
        if row is not None and self._queue_of(row) == self.names[queue]:
            set_task(world, row, preassigned=world.vocabularies["preassigned"].index(""))

    def _queue_of(self, row: int) -> str:
        """Queues that a task names, empty if it names none."""
        return self.control.world.vocabularies["preassigned"][self.control.arrays.tasks["preassigned"][row]]

    def _fill(self, bound: rules.Limits) -> None:
        """Pin tasks to the queues that have lacked jobs for long enough, those that lack most first."""
        work, now = self._work(), self.control.now
        lacking = rules.jobs_to_fill(work)
        seldom = self.arm | np.array([names is not None for names in self.containers], bool)
        empty = self.open & self._online() & rules.may_be_filled(work, seldom, self.slots) & (lacking > 0)
        self.empty_since = np.where(empty, np.where(np.isnan(self.empty_since), now, self.empty_since), np.nan)
        ready = empty & ((now - self.empty_since >= rules.EMPTY_S) | (self.slots > 0))
        if not ready.any():
            return
        tasks, endpoints = self._candidates(bound), cache(self._endpoints)
        if not len(tasks.rows):
            return
        for queue in sorted(np.flatnonzero(ready).tolist(), key=lambda number: -lacking[number]):
            for kind, row in self._chosen(queue, tasks, endpoints, bound):
                self._pin(row, queue, kind, rules.jobs_to_close(lacking[queue]))

    def _endpoints(self, row: int) -> set[int]:
        return endpoints_with_input(self.control.arrays, row)

    def _candidates(self, bound: rules.Limits) -> Candidates:
        """The tasks that may be pinned somewhere, highest priority first."""
        arrays, listed = self.control.arrays, {task for tasks in self.released.values() for task in tasks}
        rows = self.control.books.live_tasks.in_status(*rules.SERVED)
        tasks, words = arrays.tasks, self.control.world.vocabularies
        free = np.isin(tasks["label"][rows], [k for k, word in enumerate(words["labels"]) if word == rules.LABEL])
        free &= np.isin(tasks["preassigned"][rows], [k for k, word in enumerate(words["preassigned"]) if not word])
        free &= (tasks["eventservice"][rows] == 0) & has_input(arrays, rows)
        rows = rows[free & ~np.isin(tasks["jeditaskid"][rows], [*listed])]
        found = Candidates(rows, *files_left(arrays, rows))
        found = found.some(found.remaining >= bound.remaining)
        return found.some(rules.by_priority(tasks["priority"][found.rows]))

    def _chosen(self, queue: int, tasks: Candidates, endpoints: Callable[[int], set[int]],
                bound: rules.Limits) -> Iterator[tuple[int, int]]:
        """Resource type and row of the tasks that are pinned to a queue now; endpoints: with the input of a task."""
        arrays, places = self.control.arrays, self.control.world.places
        disks = {number for number in places.reads[queue] if not arrays.storages["tape"][number]}
        rows = tasks.rows[self._suits(queue, tasks, bound)] if disks else tasks.rows[:0]
        types = arrays.tasks["resource_type"][rows]
        for kind, bounds in enumerate(self.types):
            capability, most = self.queues[queue].capability, bounds.maxcore
            if (capability == "score" and (bounds.mincore or 0) > 1) or (capability == "mcore" and most == 1):
                continue
            room = bound.tasks - len(self.pinned.get((queue, kind), ()))
            for row in rows[types == kind].tolist():
                if room > 0 and not self._queue_of(row) and endpoints(row) & disks:
                    room -= 1
                    yield kind, row

    def _suits(self, queue: int, candidates: Candidates, bound: rules.Limits) -> np.ndarray:
        """Tasks that the kind of a queue allows, (n,) bool."""
        rows, ready, remaining = candidates
        tasks, words, noun = self.control.arrays.tasks, self.control.world.vocabularies, self.queues[queue]
        held_to, containers = rules.processing_type(noun.fairsharepolicy), self.containers[queue]
        if held_to is None:
            return np.zeros(len(rows), bool)
        memory = {name: tasks[name][rows] for name in OF_MEMORY}
        per_core = np.array([unit != "MB" for unit in RAM_UNITS], bool)[memory["ramunit"]]
        found = rules.has_files(ready, remaining, containers is not None, bound)
        found &= rules.fits_memory(memory, per_core, noun.corecount, noun.maxrss or np.inf)
        if held_to:
            found &= np.array([word == held_to for word in words["processing_types"]], bool)[
                tasks["processing_type"][rows]]
        if self.arm[queue]:
            found &= np.array([rules.ARM in word for word in words["architectures"]], bool)[tasks["architecture"][rows]]
        if containers is not None:
            found &= np.array([word in containers for word in words["container_names"]], bool)[
                tasks["container_name"][rows]]
        return found

    def _pin(self, row: int, queue: int, kind: int, jobs: int) -> None:
        """Pin a task to a queue, and close some of its jobs elsewhere a little later."""
        world = self.control.world
        task = int(self.control.arrays.tasks["jeditaskid"][row])
        self.pinned.setdefault((queue, kind), []).append(task)
        set_task(world, row, preassigned=world.vocabularies["preassigned"].index(self.names[queue]))
        self.control.env.process(self._reassign(task, queue, jobs))

    def _reassign(self, task: int, queue: int, most: int) -> Process:
        """Close the oldest jobs of a pinned task that wait at other queues."""
        yield self.control.env.timeout(rules.REASSIGN_S)
        row, arrays = self.control.world.row_of.get(task), self.control.arrays
        if (row is None or self._queue_of(row) != self.names[queue]
                or arrays.tasks["status"][row] not in rules.SERVED):
            return
        rows = jobs_of(arrays, [row], *MOVED)
        rows = rows[arrays.jobs["queue"][rows] != queue][:most]
        if len(rows):
            self.control.fabric.take_back(rows, int(S.CLOSED), int(Cause.REASSIGNED), self.control.now)
