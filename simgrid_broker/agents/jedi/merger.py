"""Internal merging: makes merge jobs of output that waits at a site, and finishes jobs whose output was merged.

In PanDA the Closer prepares the input of merge jobs and the JobGenerator makes them without asking the throttler; here
one process does both, at the period of the JobGenerator. Source: JEDI TWiki, Internal Merging and Output merging;
lifecycle reference, 2.14 and 4.2 (row 27).
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import compress
from math import isnan

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
"""True for those, (n_statuses,)."""
ENDS_BY_MERGING = np.isin(np.arange(len(T)), (T.RUNNING, T.MERGING))
"""Statuses of a task that say whether only merging is left, (n_statuses,) bool."""
NOT_SEEN = -1
"""Version of a task whose jobs are to be looked at in any case."""


def merger(control: Control) -> Process:
    """Merge outputs, if any task asks for it."""
    if control.world.merges_output:
        yield from control.every(control.periods.job_generator, Merger(control).cycle, "merger")


class Merger:
    """Merge jobs that are planned and under way.

    under_way: by the row of their task and their panda_id; orphans: panda_ids of those that have lost some of their
    input; n_past: jobs that no longer waited when these were last looked for, or their own merges were over; members:
    panda_id of the job in each row that a merge reads; seen, others, jobs: as of `observe.jobs_before_merging`.
    """

    def __init__(self, control: Control):
        self.control, self.tables = control, MergeTables(control)
        self.waiting: list[Merge] = []
        self.under_way: defaultdict[int, dict[int, Merge]] = defaultdict(dict)
        self.orphans: set[int] = set()
        self.n_past = 0
        self.ended: list[tuple[int, int, int, int]] = []
        self.members, self.seen, self.others = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool)
        self.jobs = np.empty((6, 0), np.int64)
        self.processing_type = control.world.vocabularies["processing_types"].index(PMERGE)
        control.fabric.watchers.append(self.watch)
        control.books.planned_merges = self.planned

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note merge jobs that have ended."""
        merges = (rows["n_chunks"] == 0) & (rows["processing_type"] == self.processing_type)
        if merges.any():
            self.ended += rows[["task", "panda_id", "status", "cause"]][merges].tolist()

    def cycle(self) -> None:
        """Handle merge jobs that have ended, make new ones, and update the status of tasks."""
        self._mark_orphans()
        self.control.fabric.empty_outboxes()                  # others, too, know then what has ended
        ended, self.ended = self.ended, []
        for task, panda_id, status, cause in ended:
            self._settle(self._ended(task, panda_id), status, cause)
        self.n_past = self._past()
        tasks = self.control.books.live_tasks.in_status(*SERVED)
        tasks = tasks[self.control.arrays.tasks["mergeoutput"][tasks] != 0]
        has_other_work = self._gather(tasks)
        if self.waiting:
            self._make()
        self._set_statuses(tasks, has_other_work)

    def _make_room(self) -> None:
        """Lengthen what is kept of each task and each job to the rows of their tables."""
        new_tasks, new_jobs = (len(table) - len(known) for table, known in (
            (self.control.arrays.tasks, self.seen), (self.control.arrays.jobs, self.members)))
        if new_tasks:
            self.seen, self.others = np.pad(self.seen, (0, new_tasks)), np.pad(self.others, (0, new_tasks))
        if new_jobs:
            self.members = np.pad(self.members, (0, new_jobs))
            self.jobs = np.empty((6, len(self.members)), np.int64)

    def _ended(self, task: int, panda_id: int) -> Merge:
        """The merge of a merge job that has ended, which is no longer under way."""
        merge = self.under_way[task].pop(panda_id)
        if not self.under_way[task]:
            del self.under_way[task]
        return merge

    def planned(self) -> list[PlannedMerge]:
        """Merge jobs that wait for brokerage."""
        return [PlannedMerge(merge.task, view_of(self.control, merge)[0])
                for merge in compress(self.waiting, self._are_whole(self.waiting))]

    def _are_whole(self, merges: Sequence[Merge]) -> np.ndarray:
        """Which merges have all their jobs still waiting, (n,) bool."""
        whole, numbers = np.empty(len(merges), bool), np.array([len(merge.rows) for merge in merges])
        if merges:
            rows, panda_ids = (np.concatenate(jobs) for jobs in zip(*((merge.rows, merge.panda_ids)
                                                                      for merge in merges), strict=True))
            observe.mark_whole(self.control.arrays, rows, panda_ids, numbers, whole)
        return whole

    def _alive(self, merge: Merge) -> np.ndarray:
        """Which jobs of a merge still wait for it, (n,) bool."""
        jobs = self.control.arrays.jobs
        return (jobs["panda_id"][merge.rows] == merge.panda_ids) & (jobs["status"][merge.rows] == MERGING)

    def _mark_orphans(self) -> None:
        """Mark merge jobs that lost some of their input, which copyArchive kills after a while."""
        control, panda_ids = self.control, self.control.arrays.jobs["panda_id"]
        if self._past() == self.n_past and not self.orphans and not control.is_awake:
            return
        self._make_room()
        tasks = np.fromiter(self.under_way, np.int64, len(self.under_way))
        changed = control.is_awake | (control.arrays.live_jobs["version"][tasks] != self.seen[tasks])
        if not (changed.any() or self.orphans):
            return
        merges = [merge for has_changed, of_task in zip(changed.tolist(), self.under_way.values(), strict=True)
                  if has_changed or self.orphans
                  for merge in of_task.values() if has_changed or merge.panda_id in self.orphans]
        orphans = [merge for merge in compress(merges, ~self._are_whole(merges))
                   if panda_ids[merge.row] == merge.panda_id]
        self.orphans, control.books.has_orphans = {merge.panda_id for merge in orphans}, bool(orphans)
        mark_jobs(control.world, [merge.row for merge in orphans], JobMark.PREMERGE_GONE)

    def _past(self) -> int:
        """Jobs so far that no longer wait to be merged."""
        return int(self.control.world.state["n_past_merging"])

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
        self.seen[merge.task] = NOT_SEEN
        self.members[merge.rows[self.members[merge.rows] == merge.panda_ids]] = 0

    def _gather(self, tasks: np.ndarray) -> np.ndarray:
        """Plan merge jobs for every place at which all jobs of a task are done; returns which tasks have other work."""
        self._make_room()
        if self.control.is_awake:
            self.seen[tasks] = NOT_SEEN
        has_other_work = np.empty(len(tasks), bool)
        n = observe.jobs_before_merging(self.control.arrays, tasks, self.members, (self.seen, self.others),
                                        has_other_work, self.jobs)
        rows, number, queue, site, chunk, waits = self.jobs[:, :n]
        for task, chosen in merging.ready(number, queue, site, chunk, waits, self.control.edition) if n else ():
            self._plan(self.control.world.row_of[task], rows[chosen])
        return has_other_work

    def _plan(self, task: int, rows: np.ndarray) -> None:
        """Plan the merge jobs of outputs at one place."""
        control, arrays = self.control, self.control.arrays
        queue, scratch_mb = int(arrays.jobs["queue"][rows[0]]), float(arrays.tasks["workdiskcount_mb"][task])
        limits = merging.merge_limits(control.world.merge_rule(task), float(arrays.queues["maxwdir_mb"][queue]) * 1e6,
                                      0.0 if isnan(scratch_mb) else scratch_mb * 1e6,
                                      control.edition)          # one that says no scratch gets the least of a merge job
        outputs = merging.Unmerged(*(arrays.jobs[name][rows] for name in merging.Unmerged._fields))
        for part in merging.cut(outputs, limits):
            self._await(Merge.of(arrays, task, queue, rows[part]))

    def _make(self) -> None:
        """Broker and make the merge jobs that are due; drop those without all input, whose rest is gathered again."""
        control, statuses, are_whole = self.control, self.control.world.statuses, self._are_whole(self.waiting)
        for merge in compress(self.waiting, ~are_whole):
            self._forget(merge)
        whole = [*compress(self.waiting, are_whole)]
        due = [merge for merge in whole if control.now >= merge.again_at and IS_SERVED[statuses[merge.task]]]
        if due:
            for merge, drawn in zip(due, self.tables.broker_all(due), strict=True):
                if drawn["candidate"] < 0:
                    self._put_off(merge)
                else:
                    self._order(merge, drawn)
        self.waiting = [merge for merge in whole if not merge.is_made]

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
        self.under_way[merge.task][merge.panda_id] = merge

    def _set_statuses(self, tasks: np.ndarray, has_other_work: np.ndarray) -> None:
        """Set tasks with only merging left to `merging`, and those with other work to `running`, (k,) each."""
        control = self.control
        status = control.world.statuses[tasks]
        new = merging.new_status(status, has_other_work, control.arrays.tasks["n_alive"][tasks] > 0)
        for k in np.flatnonzero((new != status) & ENDS_BY_MERGING[status]).tolist():
            set_status(control.world, int(tasks[k]), T(new[k]), control.now)
