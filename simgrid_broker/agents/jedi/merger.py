"""Internal merging: makes merge jobs of output that waits at a site, and finishes jobs whose output was merged.

In PanDA the Closer prepares the input of merge jobs and the JobGenerator makes them without asking the throttler; here
one process does both, at the period of the JobGenerator. Source: JEDI TWiki, Internal Merging and Output merging;
lifecycle reference, 2.14 and 4.2 (row 27).
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import ANALYSIS_LABELS, PMERGE, Cause, JobMark, JobStatus, TaskStatus
from simgrid_broker.policy.tasks import merging
from simgrid_broker.turns.merge_tables import Merge, MergeTables, view_of
from simgrid_broker.world.columns import mark_jobs
from simgrid_broker.world.snapshot.tasks import PlannedMerge
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.views import observe

T = TaskStatus
MERGING, FINISHED, CANCELLED = int(JobStatus.MERGING), int(JobStatus.FINISHED), int(JobStatus.CANCELLED)
SERVED = (T.READY, T.SCOUTING, T.SCOUTED, T.RUNNING, T.MERGING, T.THROTTLED)
"""Statuses of a task for which merge jobs are made; source: lifecycle reference, 2.14 (even while throttled)."""
IS_SERVED = np.isin(np.arange(len(T)), SERVED)


def merger(control: Control) -> Process:
    """Merge outputs, if any task asks for it."""
    if control.world.merges_output:
        yield from control.every(control.periods.job_generator, Merger(control).cycle, "merger")


class Merger:
    """Merge jobs that are planned and under way."""

    def __init__(self, control: Control):
        self.control, self.tables = control, MergeTables(control)
        self.waiting: list[Merge] = []
        self.under_way: dict[int, Merge] = {}
        self.ended: list[tuple[int, int, int]] = []
        self.members = np.zeros(0, np.int64)                 # panda_id of the job in each row that a merge reads
        self.processing_type = control.world.vocabularies["processing_types"].index(PMERGE)
        control.fabric.watchers.append(self.watch)
        control.books.planned_merges = self.planned

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note merge jobs that have ended."""
        for job in rows[(rows["n_chunks"] == 0) & (rows["processing_type"] == self.processing_type)]:
            self.ended.append((int(job["panda_id"]), int(job["status"]), int(job["cause"])))

    def cycle(self) -> None:
        """Handle merge jobs that have ended, make new ones, and update the status of tasks."""
        if not self.control.is_unchanged("merger", int(self.control.world.state["n_job_moves"])):
            self._mark_orphans()
        self.control.fabric.empty_outboxes()
        ended, self.ended = self.ended, []
        for panda_id, status, cause in ended:
            self._settle(self.under_way.pop(panda_id), status, cause)
        arrays, short = self.control.arrays, len(self.control.arrays.jobs) - len(self.members)
        self.members = np.pad(self.members, (0, short)) if short > 0 else self.members
        jobs, others = observe.jobs_before_merging(arrays, IS_SERVED[self.control.world.statuses], self.members)
        self._gather(jobs)
        self._make()
        self._set_statuses(others)

    def planned(self) -> list[PlannedMerge]:
        """Merge jobs that wait for brokerage."""
        return [PlannedMerge(merge.task, view_of(self.control, merge)[0]) for merge in self.waiting
                if self.under_way.get(merge.panda_id) is not merge and self._is_whole(merge)]

    def _is_whole(self, merge: Merge) -> bool:
        """True if all jobs of a merge still wait for it."""
        return bool(observe.count_merging(self.control.arrays, merge.rows, merge.panda_ids) == len(merge.rows))

    def _alive(self, merge: Merge) -> np.ndarray:
        """Which jobs of a merge still wait for it, (n,) bool."""
        jobs = self.control.arrays.jobs
        return (jobs["panda_id"][merge.rows] == merge.panda_ids) & (jobs["status"][merge.rows] == MERGING)

    def _mark_orphans(self) -> None:
        """Mark merge jobs that lost some of their input, which copyArchive kills after a while."""
        control, panda_ids = self.control, self.control.arrays.jobs["panda_id"]
        rows = [merge.row for panda_id, merge in self.under_way.items()
                if panda_ids[merge.row] == panda_id and not self._is_whole(merge)]
        control.books.has_orphans = bool(rows)
        mark_jobs(control.world, rows, JobMark.PREMERGE_GONE)

    def _settle(self, merge: Merge, status: int, cause: int) -> None:
        """Finish the jobs of a merge that succeeded; otherwise retry the rest, or cancel it after three attempts."""
        control, rows = self.control, merge.rows[self._alive(merge)]
        self._forget(merge)
        if status == FINISHED:
            control.fabric.finish_merged(rows, control.now)
        elif cause == Cause.TIMEOUT_MERGING or not len(rows):
            return                                          # the rest is gathered again
        elif merge.attempt < merging.ATTEMPTS:
            self._await(Merge.of(control.arrays, merge.task, merge.queue, rows, merge.attempt + 1, merge.panda_id))
        else:
            control.fabric.take_back(rows, CANCELLED, int(Cause.MERGE_FAILED), control.now)

    def _await(self, merge: Merge) -> None:
        """Let a merge wait to be made; its jobs are in no other one."""
        self.members[merge.rows] = merge.panda_ids
        self.waiting.append(merge)

    def _forget(self, merge: Merge) -> None:
        """Let the jobs of a merge be in others."""
        self.members[merge.rows[self.members[merge.rows] == merge.panda_ids]] = 0

    def _gather(self, jobs: np.ndarray) -> None:
        """Plan merge jobs for every place at which all jobs of a task are done; jobs: `observe.jobs_before_merging`."""
        arrays = self.control.arrays
        for task, chosen in merging.ready(arrays.tasks["jeditaskid"][jobs["task"]], jobs["queue"],
                                          arrays.queues["site"][jobs["queue"]], jobs["chunk"], jobs["waits"],
                                          self.control.edition):
            self._plan(self.control.world.row_of[task], jobs["row"][chosen])

    def _plan(self, task: int, rows: np.ndarray) -> None:
        """Plan the merge jobs of outputs at one place."""
        control, arrays = self.control, self.control.arrays
        jobs, queue = arrays.jobs[rows], int(arrays.jobs["queue"][rows[0]])
        limits = merging.merge_limits(control.world.merge_rule(task), float(arrays.queues["maxwdir_mb"][queue]) * 1e6,
                                      float(np.nan_to_num(arrays.tasks["workdiskcount_mb"][task])) * 1e6,
                                      control.edition)          # one that says no scratch gets the least of a merge job
        outputs = merging.Unmerged(*(jobs[name] for name in merging.Unmerged._fields))
        for part in merging.cut(outputs, limits):
            self._await(Merge.of(arrays, task, queue, rows[part]))

    def _make(self) -> None:
        """Broker and make the merge jobs that are due; drop those without all input, whose rest is gathered again."""
        control, tasks, whole = self.control, self.control.arrays.tasks, list[Merge]()
        for merge in self.waiting:
            if self._is_whole(merge):
                whole.append(merge)
            else:
                self._forget(merge)
        due = [merge for merge in whole if control.now >= merge.again_at and tasks["status"][merge.task] in SERVED]
        if due:
            for merge, drawn in zip(due, self.tables.broker_all(due), strict=True):
                if drawn["candidate"] < 0:
                    self._put_off(merge)
                else:
                    self._order(merge, drawn)
        self.waiting = [merge for merge in whole if self.under_way.get(merge.panda_id) is not merge]

    def _put_off(self, merge: Merge) -> None:
        """Broker a merge job again after a while."""
        control = self.control
        merge.stuck_at = min(merge.stuck_at, control.now)
        analysis = control.world.vocabularies["labels"][control.arrays.tasks["label"][merge.task]] in ANALYSIS_LABELS
        merge.again_at = control.now + (
            control.periods.pending_analysis if analysis else control.periods.pending_production)

    def _order(self, merge: Merge, drawn: np.void) -> None:
        """Make a merge job at the queue that it drew; drawn: of MERGE."""
        control, arrays, rule = self.control, self.control.arrays, self.control.world.merge_rule(merge.task)
        there, cores = int(control.brokers.queues.site[drawn["candidate"]]), int(arrays.tasks["corecount"][merge.task])
        merge.row = control.fabric.make_merge_job(
            (control.now, merge.task, drawn["candidate"], merge.attempt, merge.panda_id,
             merging.asked_memory_mb(float(drawn["mergeramcount"])), drawn["resource_type"],
             rule.mergeCoreCount or cores, merging.PRIORITY, self.processing_type,
             -1 if drawn["site"] == there else drawn["site"], rule.merge_hs06sec_per_gb, rule.merge_memory,
             rule.merge_failure_rate), merge.rows)
        merge.panda_id = int(control.arrays.jobs["panda_id"][merge.row])
        self.under_way[merge.panda_id] = merge

    def _set_statuses(self, others: np.ndarray) -> None:
        """Set tasks with only merging left to `merging`, and tasks with other work to `running`; others: with jobs that
        do not wait to be merged."""
        control, rows = self.control, self.control.books.live_tasks.in_status(T.RUNNING, T.MERGING)
        status, n_alive, merges = (control.arrays.tasks[name][rows] for name in ("status", "n_alive", "mergeoutput"))
        new = merging.new_status(status, observe.has_other_work(control.arrays, others)[rows],
                                 (n_alive > 0) & (merges != 0))
        for k in np.flatnonzero(new != status).tolist():
            set_status(control.world, int(rows[k]), T(new[k]), control.now)
