"""JEDI's WatchDog, its watchdog of production and its task withholder, which put tasks on hold, exhaust and boost them.

Source: PanDA brokerage documentation (1 hour for production, 20 minutes for analysis); JEDI TWiki, task status,
automatic priority boosting; lifecycle reference, 2.8 to 2.12 and 7.1; panda-server, AtlasTaskWithholderWatchDog, which
the documents do not name. Simplified: each piece of input counts as one file. JEDI boosts and pauses at most every 20
min task by task, here all tasks together, but for those to which an error did not let it come.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.jedi.task_commando import pause
from simgrid_broker.agents.jedi.task_refiner import send_on
from simgrid_broker.fabric.jobs.effects import jobs_of, jobs_of_each, waiting_retries
from simgrid_broker.names import (
    ANALYSIS_LABELS,
    DEFINED_TABLE,
    PRODUCTION_LABELS,
    TASK_ENDS,
    Cause,
    JobStatus,
    TaskStatus,
    ThrottledBy,
)
from simgrid_broker.policy.tasks import watchdogs as rules
from simgrid_broker.policy.tasks.ends import completeness
from simgrid_broker.policy.tasks.watchdogs import ACHIEVED_S, EXHAUSTED_S, TERMS, gives_up_pending, pending_for_s
from simgrid_broker.world.columns import return_to
from simgrid_broker.world.data.datasets import datasets_of_task
from simgrid_broker.world.data.locality import endpoints_with_input, has_input
from simgrid_broker.world.data.replicas import IS_OFF
from simgrid_broker.world.jobs.counts import in_resource_queue
from simgrid_broker.world.tasks.input_files import inputs_to_use
from simgrid_broker.world.tasks.transitions import set_status, throttle

REASSIGNING_S = 300.0
"""Delay after which a reassigned task continues, s; source: lifecycle reference, 2.8."""
PAUSED_S = 600.0
"""Delay after which jobs of a paused task that are not activated are withdrawn, s; lifecycle reference, 2.12."""


def watch_dog(control: Control) -> Process:
    """Reactivate pending tasks (tasks without a nucleus are left to the TaskBroker) and apply the time limits."""
    after_s = ACHIEVED_S[control.edition]

    def look() -> None:
        nonlocal after_s
        give_up_pending(control)
        reactivate(control)
        finish_exhausted(control)
        if control.now >= after_s:
            after_s = control.now + ACHIEVED_S[control.edition]
            finish_achieved(control)
        tasks = control.arrays.tasks
        for row in control.books.live_tasks.in_status(TaskStatus.REASSIGNING).tolist():
            if control.now - tasks["modification_s"][row] > REASSIGNING_S:
                send_on(control, row)
        withdraw_jobs_of_paused(control)
    yield from control.every(control.periods.watch_dog, look, "watchdog")


def reactivate(control: Control) -> None:
    """Return tasks that were pending long enough to their old status."""
    tasks = control.arrays.tasks
    rows = control.books.live_tasks.in_status(TaskStatus.PENDING)
    if not len(rows):
        return
    for label, own in by_label(control, rows[tasks["old_status"][rows] != TaskStatus.ASSIGNING]):
        waited_s = control.now - tasks["modification_s"][own]
        for row in own[waited_s >= patience(control, label, tasks["priority"][own])].tolist():
            set_status(control.world, row, TaskStatus(tasks["old_status"][row]), control.now)


def give_up_pending(control: Control) -> None:
    """Mark tasks exhausted after PENDING_TIMEOUT without a candidate, unless their parent is still active."""
    tasks = control.arrays.tasks
    for label, own in by_label(control, control.books.live_tasks.in_status(TaskStatus.PENDING)):
        for row in own[gives_up_pending(label, control.now - tasks["frozen_s"][own], control.cfg)].tolist():
            parent = control.world.parent_of(row)
            if parent is None or tasks["status"][parent] in TASK_ENDS:
                set_status(control.world, row, TaskStatus.EXHAUSTED, control.now)


def finish_exhausted(control: Control) -> None:
    """Finish exhausted tasks that received no command within the time limit."""
    tasks, limit = control.arrays.tasks, control.periods.exhausted
    rows = control.books.live_tasks.in_status(TaskStatus.EXHAUSTED)
    limit = EXHAUSTED_S[control.edition] if limit is None else limit
    rows = rows[control.now - tasks["modification_s"][rows] > limit]
    if len(rows):
        control.books.commands.give_unasked("finish", rows.tolist(), control.now)


def finish_achieved(control: Control) -> None:
    """Finish tasks at work whose goal is reached: they make no more jobs, and those that they have run to the end."""
    live, goals = control.books.live_tasks, control.arrays.tasks["goal"]
    rows = np.concatenate([live.in_status(TaskStatus.RUNNING), live.in_status(TaskStatus.PENDING)])
    reached = [row for row in rows[goals[rows] >= 0].tolist()
               if completeness(datasets_of_task(control.arrays, row, mutable=False)) >= goals[row]]
    if reached:
        control.books.commands.give_unasked("finish", reached, control.now, soft=True)


def by_label(control: Control, rows: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Rows of tasks by prodSourceLabel."""
    if not len(rows):
        return []
    labels = control.arrays.tasks["label"][rows]
    return [(control.world.vocabularies["labels"][code], rows[labels == code]) for code in np.unique(labels).tolist()]


def withdraw_jobs_of_paused(control: Control) -> None:
    """Withdraw the jobs of paused tasks that are not yet activated; source: lifecycle reference, 2.8 and 2.12."""
    tasks = control.arrays.tasks
    rows = control.books.live_tasks.in_status(TaskStatus.PAUSED)
    if not len(rows):
        return
    rows = rows[control.now - tasks["modification_s"][rows] > PAUSED_S]
    if tasks["n_alive"][rows].any():
        jobs = jobs_of(control.arrays, rows, *DEFINED_TABLE)
        control.fabric.take_back(jobs, int(JobStatus.CLOSED), int(Cause.REASSIGNED), control.now)


def patience(control: Control, label: str, priority: np.ndarray) -> np.ndarray:
    """Time that tasks of a prodSourceLabel stay pending, by priority, (n,), s."""
    usual = control.periods.pending_analysis if label in ANALYSIS_LABELS else control.periods.pending_production
    return pending_for_s(label, priority, usual, control.edition)


T = TaskStatus


def production_watch_dog(control: Control) -> Process:
    """Check running production tasks."""
    dog = ProductionWatchDog(control)
    yield from control.every(control.periods.watch_dog, dog.cycle, "prodwatchdog")


class ProductionWatchDog:
    """Remembers when it last checked all tasks, which an error left out, and until when it throttled each how often."""

    def __init__(self, control: Control):
        self.control = control
        words = control.world.vocabularies
        self.production = np.isin(words["labels"], PRODUCTION_LABELS)
        self.looked_s, self.left = -np.inf, np.zeros(0, np.int64)
        self.n_throttled: dict[int, int] = {}
        self.until_s: dict[int, float] = {}
        control.books.newcomers.append(self.forget)
        self.express = words["shares"].index(rules.EXPRESS) if rules.EXPRESS in words["shares"] else -1

    def forget(self, rows: np.ndarray) -> None:
        """Forget the tasks that were in some rows."""
        for row in rows.tolist():
            self.n_throttled.pop(row, None)
            self.until_s.pop(row, None)

    def cycle(self) -> None:
        """Boost and pause tasks; release those that were throttled long enough, and throttle others; judge scouts.

        An error of the production code on the way ends the cycle; tasks that it did not come to are next.
        """
        rows = self.control.books.live_tasks.in_status(T.RUNNING)
        tasks = self.control.arrays.tasks
        rows = rows[self.production[tasks["label"][rows]]]
        if self.control.now - self.looked_s >= rules.LOOK_AGAIN_S:
            self.looked_s, self.left = self.control.now, rows
        elif len(self.left):
            self.left = self.left[np.isin(self.left, rows)]
        self.left, stopped = self._look(self.left)
        if stopped:
            self.control.books.n_cut_cycles += 1
            return
        self._release()
        rows = rows[tasks["status"][rows] == T.RUNNING]
        if len(rows) and (often := rules.may_be_throttled(tasks["max_attempt"][rows], *self._read(rows))).any():
            for row, jobs in zip(rows[often].tolist(), jobs_of_each(self.control.arrays, rows[often]), strict=True):
                self._throttle(row, self.control.arrays.jobs[jobs])
        self.control.books.scouts.judge_running(PRODUCTION_LABELS, self.control.now)

    def _look(self, rows: np.ndarray) -> tuple[np.ndarray, bool]:
        """Boost and pause running tasks, queue by queue; rows that are left by an error, and whether there was one."""
        control = self.control
        if not len(rows):
            return rows, False
        queue, boosts, moves = self._queue_of(rows), list[int](), list[int]()
        left, stops = rows[:0], False
        for k in self._concerned(rows, queue).tolist():
            row = int(rows[k])
            boosted, moved, paused, stops = rules.actions(self._watched(row), control.cfg, control.edition)
            boosts += [row] * boosted
            moves += [row] * moved
            if paused:
                self._pause(row)
            if stops:
                left = rows[queue > queue[k]]
                break
        if boosts or moves:
            self._boost(np.array(boosts, np.int64), np.array(moves, np.int64))
        return left, stops

    def _queue_of(self, rows: np.ndarray) -> np.ndarray:
        """Place of the queue and resource type of tasks in the order of JEDI, (n,): Resource queues come first."""
        tasks, n_types = self.control.arrays.tasks, len(self.control.world.vocabularies["resource_types"])
        special = np.where(in_resource_queue(self.control.arrays, rows), tasks["work_queue"][rows].astype(np.int64), -1)
        return rules.queue_places(special, tasks["share"][rows].astype(np.int64), tasks["resource_type"][rows], n_types)

    def _concerned(self, rows: np.ndarray, queue: np.ndarray) -> np.ndarray:
        """Positions of the tasks about which anything might be done, by queue and number."""
        tasks = self.control.arrays.tasks
        n_over = tasks["n_finished"][rows] + tasks["n_failed"][rows]
        n_jobs = rules.all_jobs(tasks["n_jobs"][rows], *self._read(rows))
        concerned = rules.nearly_done(tasks["n_jobs"][rows], n_over, n_jobs, self.control.edition)
        concerned &= (tasks["priority"][rows] < rules.BOOST_PRIORITY) | (
            (self.express >= 0) & (tasks["share"][rows] != self.express))        # the others are boosted already
        may_pause = self.control.cfg.once(rules.may_pause)
        places = np.flatnonzero(concerned | (may_pause & (tasks["failed_attempts"][rows] > 0)))
        places = places[[self._parent_is_complete(row) for row in rows[places].tolist()]] if len(places) else places
        return places[rules.in_turn(queue[places], tasks["jeditaskid"][rows[places]])]

    def _parent_is_complete(self, row: int) -> bool:
        """True unless a task has a parent that is not complete."""
        status, parent = self.control.arrays.tasks["status"], self.control.world.parent_of(row)
        return rules.is_watched(status[row], parent is not None, -1 if parent is None else status[parent],
                                self.control.edition)

    def _watched(self, row: int) -> rules.Watched:
        """A task as its rules see it; every share takes tasks of its own label only."""
        task, words, rows = self.control.arrays.tasks[row], self.control.world.vocabularies, np.array([row])
        special = bool(in_resource_queue(self.control.arrays, rows)[0])
        queue = words["work_queues"][task["work_queue"]] if special else words["shares"][task["share"]]
        return rules.Watched(
            words["labels"][task["label"]], queue, int(task["priority"]),
            not special and self.express >= 0 and bool(task["share"] != self.express), int(task["n_jobs"]),
            int(task["n_finished"] + task["n_failed"]), int(rules.all_jobs(task["n_jobs"], *self._read(rows))[0]),
            bool(task["no_auto_pause"]), words["request_types"][task["requesttype"]],
            self.control.books.ledger.failure_rates(row))

    def _boost(self, low: np.ndarray, slow: np.ndarray) -> None:
        """Give tasks and their jobs, running ones as well, priority 900, and others the share Express."""
        control, changed = self.control, np.union1d(low, slow)
        for row in changed.tolist():
            control.books.ledger.changes(row)
        jobs = jobs_of(control.arrays, changed)
        if len(low):
            control.fabric.set_priority(low, rules.BOOST_PRIORITY, jobs)
        if len(slow):
            control.fabric.set_share(slow, self.express, jobs, running=True)

    def _read(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Jobs made of tasks, pieces of their input read for them, and whether jobs are cut from files, (n,) each."""
        tasks, splitting = self.control.arrays.tasks, self.control.arrays.splitting
        return tasks["n_attempts"][rows], tasks["next_chunk"][rows], splitting["n_files"][rows] > 0

    def _pause(self, row: int) -> None:
        """Pause a task that fails too often, as documented with all running tasks of the same request type."""
        control, tasks = self.control, self.control.arrays.tasks
        same = np.array([row])
        if not rules.TERMS[control.edition].pauses_with and control.world.vocabularies["request_types"][
                tasks["requesttype"][row]]:
            running = control.books.live_tasks.in_status(T.RUNNING)
            same = running[(tasks["requesttype"][running] == tasks["requesttype"][row])
                           & (tasks["label"][running] == tasks["label"][row])]
        for other in same.tolist():
            if tasks["status"][other] == T.RUNNING:
                pause(control, other)

    def _throttle(self, row: int, jobs: np.ndarray) -> None:
        """Throttle a task for a while if attempts at its input have failed too often; jobs: its live ones."""
        control, arrays = self.control, self.control.arrays
        waiting = waiting_retries(arrays, row)
        n_new = int(arrays.tasks["n_jobs"][row] - arrays.tasks["next_chunk"][row])
        attempt, failures = (np.concatenate([jobs[name], waiting[name]]) for name in ("attempt", "failures"))
        step = rules.throttle_step(*rules.failures_of_files(attempt, failures, n_new), self.n_throttled.get(row, 0),
                                   control.edition)
        if step:
            self.n_throttled[row] = step
            self.until_s[row] = control.now + rules.throttled_for_s(step)
            throttle(control.world, row, ThrottledBy.ATTEMPTS, control.now)

    def _input(self, row: int) -> tuple[int, int, int]:
        """Pieces of the input of a task, those to be used, and those that are over."""
        task = self.control.arrays.tasks[row]
        over = int(task["n_finished"] + task["n_failed"])
        return int(task["n_jobs"]), int(inputs_to_use(self.control.arrays, row)), over

    def _release(self) -> None:
        """Release tasks that were throttled long enough; forget those whose status a command has changed."""
        control, tasks = self.control, self.control.arrays.tasks
        for row, until_s in [*self.until_s.items()]:
            if tasks["status"][row] != T.THROTTLED:
                del self.until_s[row]
            elif rules.goes_on(control.now - until_s, [self._input(row)], control.edition):
                del self.until_s[row]
                set_status(control.world, row, T(tasks["old_status"][row]), control.now)


S = JobStatus


def task_withholder(control: Control) -> Process:
    """Withhold tasks, if the edition does."""
    if TERMS[control.edition].withholds:
        yield from control.every(control.periods.task_withholder, lambda: withhold(control), "task_withholder")


def withhold(control: Control) -> None:
    """Look at the tasks of each share that are heavy and of low priority enough."""
    world, tasks = control.world, control.arrays.tasks
    rows = control.books.live_tasks.in_status(*rules.WITHHELD)
    shares, labels = world.vocabularies["shares"], world.vocabularies["labels"]
    always_closed = _closed_endpoints(control)
    for label in (name for name in rules.LABELS if name in labels):
        own = rows[tasks["label"][rows] == labels.index(label)]
        bound = rules.withheld_from(label, control.cfg)
        chosen = rules.concerned(tasks["iointensity"][own], tasks["priority"][own], bound)
        own = own[chosen & has_input(control.arrays, own)]
        for share in np.unique(tasks["share"][own]).tolist():
            closed = _busy_endpoints(control, share, shares[share]) | always_closed
            for row in own[tasks["share"][own] == share].tolist():
                if rules.is_withheld(endpoints_with_input(control.arrays, row), closed):
                    return_to(world, row)
                    set_status(world, row, TaskStatus.PENDING, control.now)


def _busy_endpoints(control: Control, share: int, name: str) -> set[int]:
    """Endpoints from which the queues read that have too many queued jobs of a share; tape of their sites included."""
    seen, places = control.brokers.snapshot, control.world.places
    busy = rules.busy(seen.jobs_in(rules.QUEUED, share), seen.jobs_in((S.RUNNING,), share), name, control.cfg)
    sites = control.arrays.storages["site"]
    found: set[int] = set()
    for queue in np.flatnonzero(busy).tolist():
        found |= {*places.reads[queue]}
        if not places.lists_storages[queue]:
            site = int(places.site[queue])
            found |= {*np.flatnonzero(sites == site).tolist(), -1 - site}
    return found


def _closed_endpoints(control: Control) -> set[int]:
    """Endpoints from which queues read by default, and that are blacklisted: they take no files."""
    storages = control.arrays.storages
    return {reads[0] for reads in control.world.places.reads if reads and storages["write_wan_off"][reads[0]] == IS_OFF}
