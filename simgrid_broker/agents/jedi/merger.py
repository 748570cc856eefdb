"""Internal merging: makes merge jobs of output that waits at a site, and finishes jobs whose output was merged.

In PanDA the Closer prepares the input of merge jobs and the JobGenerator makes them without asking the throttler; here
one process does both, at the period of the JobGenerator. Source: JEDI TWiki, Internal Merging and Output merging;
lifecycle reference, 2.14 and 4.2 (row 27).
"""

from dataclasses import dataclass, replace

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import ANALYSIS_LABELS, PMERGE, Cause, JobMark, JobStatus, TaskStatus
from simgrid_broker.policy.brokerage.production.broker import spread_jobs
from simgrid_broker.policy.tasks import merging
from simgrid_broker.views import Premerge, Task
from simgrid_broker.world.columns import mark_jobs
from simgrid_broker.world.jobs.counts import account_of_task
from simgrid_broker.world.snapshot.tasks import PlannedMerge
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.views import observe

T = TaskStatus
MERGING, FINISHED, CANCELLED = int(JobStatus.MERGING), int(JobStatus.FINISHED), int(JobStatus.CANCELLED)
SERVED = (T.READY, T.SCOUTING, T.SCOUTED, T.RUNNING, T.MERGING, T.THROTTLED)
"""Statuses of a task for which merge jobs are made; source: lifecycle reference, 2.14 (even while throttled)."""
IS_SERVED = np.isin(np.arange(len(T)), SERVED)
MERGE_DRAW = luck.STREAMS["merge_draw"]


def merger(control: Control) -> Process:
    """Merge outputs, if any task asks for it."""
    if control.world.merges_output:
        yield from control.every(control.periods.job_generator, Merger(control).cycle, "merger")


@dataclass
class Merge:
    """Input of one merge job: the PanDA queue of the outputs, rows and panda_ids of the jobs that wrote them.

    attempt: of the next or present merge job; panda_id: of the last one, 0 = none; stuck_at: since when brokerage finds
    no queue, s; again_at: time of the next brokerage, s.
    """

    task: int
    queue: int
    rows: np.ndarray
    panda_ids: np.ndarray
    attempt: int = 1
    panda_id: int = 0
    row: int = -1
    stuck_at: float = np.inf
    again_at: float = 0.0


class Merger:
    """Merge jobs that are planned and under way."""

    def __init__(self, control: Control):
        self.control = control
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
        self.waiting = [merge for merge in self.waiting if not self._make(merge)]
        self._set_statuses(others)

    def planned(self) -> list[PlannedMerge]:
        """Merge jobs that wait for brokerage."""
        return [PlannedMerge(merge.task, self._view(merge)[0]) for merge in self.waiting
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
            self._await(replace(merge, rows=rows, panda_ids=control.arrays.jobs["panda_id"][rows],
                                attempt=merge.attempt + 1, stuck_at=np.inf, again_at=0.0))
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
            self._await(Merge(task, queue, rows[part], jobs["panda_id"][part]))

    def _make(self, merge: Merge) -> bool:
        """Broker and make a merge job; returns whether it need not wait: it is made, or its input is gone."""
        control, world, now = self.control, self.control.world, self.control.now
        if not self._is_whole(merge):
            self._forget(merge)
            return True                                     # the rest is gathered again
        if now < merge.again_at or world.arrays.tasks["status"][merge.task] not in SERVED:
            return False
        task, parts = self._view(merge)
        account = account_of_task(world.arrays, merge.task)
        kind, verdict = control.brokers.broker(merge.task, task, parts, 1, account, cache=False)
        control.check(kind, PlannedMerge(merge.task, task), verdict)
        chunk = int(world.arrays.jobs["chunk"][merge.rows[0]])
        begins = luck.ATTEMPTS * chunk + merge.attempt
        chosen, _ = spread_jobs(verdict, 1, control.brokers.uniforms(MERGE_DRAW, task, begins, verdict))
        control.books.decisions.add(kind, now, task, verdict, len(chosen))
        if not len(chosen):
            periods, analysis = control.periods, task.prodsourcelabel in ANALYSIS_LABELS
            merge.stuck_at = min(merge.stuck_at, now)
            merge.again_at = now + (periods.pending_analysis if analysis else periods.pending_production)
            return False
        self._order(merge, task, int(chosen[0]))
        control.brokers.snapshot.place(account, task.resource_type, [(int(control.brokers.queues.queue[chosen[0]]), 1)])
        return True

    def _view(self, merge: Merge) -> tuple:
        """View of a merge job for the job brokerage, and its input by site."""
        world, now = self.control.world, self.control.now
        jobs = world.arrays.jobs[merge.rows]
        changed = world.arrays.job_times[merge.rows, MERGING].max()
        view = merging.merge_task(
            observe.task(world, merge.task), world.merge_rule(merge.task),
            merging.Unmerged(*(jobs[name] for name in merging.Unmerged._fields)),
            Premerge(merge.queue, float(now - changed), max(0.0, now - merge.stuck_at)),
            tuple(world.scenario.resource_types.values()))
        return view, observe.input_at(world, int(world.arrays.queues["site"][merge.queue]))

    def _order(self, merge: Merge, task: Task, number: int) -> None:
        """Make a merge job at a candidate queue."""
        control, world, rule = self.control, self.control.world, self.control.world.merge_rule(merge.task)
        site, there = world.arrays.queues["site"][merge.queue], int(control.brokers.queues.site[number])
        merge.row = control.fabric.make_merge_job(
            (control.now, merge.task, number, merge.attempt, merge.panda_id,
             merging.asked_memory_mb(task.mergeramcount), task.resource_type, task.mergecorecount or task.corecount,
             merging.PRIORITY, self.processing_type, -1 if site == there else site, rule.merge_hs06sec_per_gb,
             rule.merge_memory, rule.merge_failure_rate), merge.rows)
        merge.panda_id = int(world.arrays.jobs["panda_id"][merge.row])
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
