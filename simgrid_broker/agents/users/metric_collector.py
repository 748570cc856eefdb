"""PanDA's metric collector: classes of queues by the waits of analysis jobs, and the running slots of users.

Waits are those of merge jobs of users and of functional tests, as PanDA measures them, known when a job has ended;
a grid without such jobs has queues of class mid only. Source: brokerage reference, sections 11.1 to 11.3; lifecycle
reference, 4 (periods).
"""

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
)
from simgrid_broker.policy.users import classes
from simgrid_broker.world.jobs.loads import queued_power
from simgrid_broker.world.pilot_status import queues_whose_mode
from simgrid_broker.world.rows import copied
from simgrid_broker.world.users.jobs import ACTIVE, CORES, FREE
from simgrid_broker.world.views.observe import share_usage

S = JobStatus
WAITING = (S.ACTIVATED, S.SENT)


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
        ended = copied(rows, analysis)
        self.control.world.analysis.ends.note(ended, times[np.flatnonzero(analysis), ended["status"]])
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
        jobs, times = self.control.arrays.jobs, self.control.arrays.job_times
        rows = np.flatnonzero(self.measuring[jobs["processing_type"]] & (jobs["panda_id"] > 0))
        rows = rows[self.analysis[self.control.arrays.tasks["label"][jobs["task"][rows]]]]
        status, queue = jobs["status"][rows], jobs["queue"][rows]
        rows = rows[np.isin(status, WAITING) | ((status == S.STARTING) & self.pushed[queue])]
        return jobs["queue"][rows].astype(np.int64), self.control.now - times[rows, S.ACTIVATED]

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
