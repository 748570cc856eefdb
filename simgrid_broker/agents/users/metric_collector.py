"""PanDA's metric collector and task evaluator: classes of queues and of analysis tasks, and the running slots of users.

Waits are those of merge jobs of users and of functional tests, as PanDA measures them, known when a job has ended;
a grid without such jobs has queues of class mid only. Source: brokerage reference, sections 11.1 to 11.3; lifecycle
reference, 2.11 and 4 (periods).
"""

from collections.abc import Mapping

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import (
    ANALYSIS_LABELS,
    EXPRESS_ANALYSIS,
    JOB_TYPE_OF_TESTS,
    PMERGE,
    USER_ANALYSIS,
    USER_OF_TESTS,
    JobStatus,
    TaskClass,
)
from simgrid_broker.policy.users import classes
from simgrid_broker.schema.series import TASK_CLASSES
from simgrid_broker.world.jobs.loads import queued_power
from simgrid_broker.world.pilot_status import queues_whose_mode
from simgrid_broker.world.users.jobs import ACTIVE, CORES, FREE
from simgrid_broker.world.views.observe import share_usage
from simgrid_broker.world.views.users import OLDEST_SLOTS_S

S = JobStatus
WAITING = np.isin(np.arange(len(S)), (S.ACTIVATED, S.SENT, S.STARTING))
"""Statuses of the jobs that wait for a pilot, (n_status,) bool; starting ones do at queues that fetch jobs."""


def metric_collector(control: Control) -> Process:
    """Measure analysis, if there can be any."""
    if any(label in ANALYSIS_LABELS for label in control.world.vocabularies["labels"]):
        yield from control.every(control.periods.metric_collector, MetricCollector(control).look, "metric_collector")


class MetricCollector:
    """Remembers how long the jobs that measure queues have waited, and when they started."""

    def __init__(self, control: Control):
        self.control, world = control, control.world
        words, queues = world.vocabularies, world.scenario.grid.queues.values()
        self.analysis = np.isin(words["labels"], ANALYSIS_LABELS)
        self.measuring = np.isin(words["processing_types"], (PMERGE, JOB_TYPE_OF_TESTS))
        self.with_class = np.isin(words["shares"], (USER_ANALYSIS, EXPRESS_ANALYSIS))
        self.tests = np.isin(words["users"], (USER_OF_TESTS,))
        self.is_grid = np.array([queue.resource_type == "GRID" for queue in queues], bool)
        self.pushed = queues_whose_mode(world.arrays, "fetches_jobs")
        self.begun = [(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))]         # queue, wait, start of each job
        control.fabric.watchers.append(self.watch)

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note the ends of analysis jobs, and the waits of those that measure queues."""
        analysis = self.analysis[self.control.arrays.tasks["label"][rows["task"]]]
        if not analysis.any():
            return
        self.control.world.analysis.ends.note(rows, times, analysis)
        chosen = analysis & self.measuring[rows["processing_type"]] & ~np.isnan(times[:, S.RUNNING])
        if chosen.any():
            started_s = times[chosen, S.RUNNING]
            self.begun.append((rows["queue"][chosen].astype(np.int64), started_s - times[chosen, S.ACTIVATED],
                               started_s))

    def look(self) -> None:
        """Count starts, ends, slots, and use of shares; classify queues if their classes are old."""
        control, metrics = self.control, self.control.world.analysis
        control.fabric.empty_outboxes()
        metrics.starts.note(control.arrays.queues["n_started"], control.now)
        metrics.to_running_rate = metrics.starts.rate(control.now)
        metrics.ends.window_s = classes.window_of_ends_s(control.cfg)
        metrics.ends.forget(control.now)
        self._measure_shares()
        if control.now - metrics.sites_at >= control.periods.site_classes:
            metrics.site_class, metrics.has_class = self._site_classes()
            metrics.sites_at = control.now
        slots = self._slots()
        metrics.in_hi, metrics.in_hi_or_mid, metrics.slots_at = slots.in_hi, slots.in_hi_or_mid, control.now

    def _site_classes(self) -> tuple[np.ndarray, np.ndarray]:
        """Class of each queue now, and which queues have one."""
        control, n_queues = self.control, len(self.is_grid)
        queue, wait_s, started_s = (np.concatenate(column) for column in zip(*self.begun, strict=True))
        recent = control.now - started_s <= classes.WINDOW_S
        self.begun = [(queue[recent], wait_s[recent], started_s[recent])]
        queue, wait_s, started_s = self.begun[0]
        found = classes.waits((queue, wait_s, control.now - started_s), self._waiting(), n_queues, control.edition)
        if classes.TERMS[control.edition].of_analysis:
            alive = classes.with_recent_starts(queue, control.now - started_s, n_queues)
        else:
            alive = control.world.analysis.starts.between(control.now - classes.ALIVE_S, control.now) > 0
        return classes.site_classes(found, self.is_grid, alive, control.edition), classes.has_class(found)

    def _waiting(self) -> tuple[np.ndarray, np.ndarray]:
        """Queue and age, s, of the measuring jobs that wait, (n,) each."""
        if not self.measuring.any():
            return np.zeros(0, np.int64), np.zeros(0)
        arrays, jobs = self.control.arrays, self.control.arrays.jobs
        rows = np.flatnonzero(WAITING[arrays.job_status])
        rows = rows[self.analysis[arrays.tasks["label"][arrays.job_tasks[rows]]]]
        rows = rows[self.measuring[jobs["processing_type"][rows]] & (jobs["panda_id"][rows] > 0)]
        queue = arrays.job_queues[rows].astype(np.int64)
        waits = (arrays.job_status[rows] != S.STARTING) | self.pushed[queue]
        return queue[waits], self.control.now - arrays.job_times[rows[waits], S.ACTIVATED]

    def _measure_shares(self) -> None:
        """Measure the use of each share of users, and of its level-1 share."""
        world, metrics = self.control.world, self.control.world.analysis
        running, queued = share_usage(world), queued_power(world.arrays)
        for leaf in np.flatnonzero(self.with_class).tolist():
            metrics.leaf_usage[leaf] = classes.leaf_usage(world.loaded_tree, running, leaf)
            metrics.equivalent_usage[leaf] = classes.equivalent_usage(world.loaded_tree, running, queued, leaf)
        metrics.shares_at = self.control.now

    def _slots(self) -> classes.Slots:
        """Running slots of each user."""
        world, metrics = self.control.world, self.control.world.analysis
        user, _, share = world.user_rows.table.T
        rows = np.flatnonzero(share != FREE)
        rows = rows[self.with_class[share[rows]] & ~self.tests[user[rows]]]
        jobs = world.arrays.user_jobs[rows]
        return classes.slots_of_users(
            classes.Users(user[rows], jobs[:, :, CORES], jobs[:, :, ACTIVE]),
            classes.Queues(metrics.site_class, self.is_grid, metrics.has_class), len(self.tests), self.control.edition)


def task_evaluator(control: Control) -> Process:
    """Classify tasks, if there can be tasks of User Analysis or Express Analysis."""
    words = control.world.vocabularies
    of_user = np.isin(words["shares"], (USER_ANALYSIS, EXPRESS_ANALYSIS))
    of_express = np.isin(words["shares"], (EXPRESS_ANALYSIS,))
    analysis, is_test = np.isin(words["labels"], ANALYSIS_LABELS), np.isin(words["users"], (USER_OF_TESTS,))

    def look() -> None:
        tasks, metrics = control.arrays.tasks, control.world.analysis
        rows = control.books.live_tasks.rows
        rows = rows[(tasks["share"][rows] >= 0) & analysis[tasks["label"][rows]]]
        rows = rows[classes.is_evaluated(
            tasks["status"][rows], of_user[tasks["share"][rows]], is_test[tasks["user"][rows]],
            control.now - tasks["modification_s"][rows], control.edition)]
        user = tasks["user"][rows]
        known = control.now - metrics.slots_at <= OLDEST_SLOTS_S
        slots = classes.Slots(*(np.where(known, number[user], np.nan)
                                for number in (metrics.in_hi, metrics.in_hi_or_mid)))
        found = classes.task_classes(slots, progress(control, rows), of_express[tasks["share"][rows]], control.cfg,
                                     control.edition)
        has_class = ~np.isnan(found)
        before, metrics.task_class = metrics.task_class, dict(zip(
            tasks["jeditaskid"][rows[has_class]].tolist(), found[has_class].astype(np.int64).tolist(), strict=True))
        metrics.tasks_at = control.now
        if control.world.scenario.record.series:
            control.recorder.write("task_classes", changes(before, metrics.task_class, control.now))
    if analysis.any() and of_user.any():
        yield from control.every(control.periods.task_evaluator, look, "task_evaluator")


def changes(before: Mapping[int, int], after: Mapping[int, int], now: float) -> np.ndarray:
    """Rows about tasks whose class has changed, (n,) of TASK_CLASSES; before, after: `TaskClass` by jeditaskid."""
    found = [(now, task, number - TaskClass.C) for task, number in after.items() if before.get(task) != number]
    found += [(now, task, -1) for task in before if task not in after]
    return np.array(found, TASK_CLASSES.dtype)


def progress(control: Control, rows: np.ndarray) -> classes.Progress:
    """Progress of tasks, as `task_classes.Progress`."""
    tasks = control.arrays.tasks
    return classes.Progress(*(tasks[name][rows] for name in ("n_finished", "n_failed", "n_jobs", "n_attempts")))
