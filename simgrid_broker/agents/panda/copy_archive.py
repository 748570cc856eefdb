"""The server's copyArchive with the Watcher: fails or closes jobs that stay too long in a status, and rebrokers some.

Fast and analysis rebrokerage run between the stages of the rules: in the deployed edition between rows 10 and 12, and
23 and 25, of its list. Transferring jobs are checked here too, although PanDA leaves them to the datasetManager.
Where brokerage binds no jobs to queues, those that wait for a pilot are left alone, and nothing is rebrokered.
Source: PanDA brokerage documentation, Timeout Rules; JEDI TWiki, job rebrokerage; lifecycle reference, section 4.
Simplified: the jobs of a task at a queue form one group, whatever their job definition.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.fabric.jobs.effects import jobs_of_wanted, oldest_first
from simgrid_broker.fabric.jobs.timeouts import CREATED, RULE
from simgrid_broker.names import ANALYSIS_LABELS, JOB_QUEUED, PRODUCTION_LABELS, Cause, JobMark, JobStatus
from simgrid_broker.policy.jobs import rebrokerage
from simgrid_broker.policy.jobs.timeouts import (
    CLOCKS,
    STAGES,
    TimeoutRule,
    concerning,
    is_only_marked,
    labels_of,
    limits,
    rules,
    with_others,
    without_waiting,
)
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world.arrays import OTHERS_SCAN, TIMEOUT_SCAN, WAITING_SCAN
from simgrid_broker.world.jobs.counts import queued_and_running

RESULTS = {"fail": int(JobStatus.FAILED), "close": int(JobStatus.CLOSED), "cancel": int(JobStatus.CANCELLED)}


def copy_archive(control: Control) -> Process:
    """Apply the timeout rules and the rebrokerages."""
    turns = rebrokerages(control) if control.policies.dispatch.binds_jobs else {}
    basis: tuple[Gdpconfig | None, bool] = None, False
    in_force: Sequence[TimeoutRule] = ()

    def look() -> None:
        nonlocal basis, in_force
        if control.world.free_rows("jobs") == len(control.arrays.jobs):
            return
        if basis[0] is not control.cfg or basis[1] != control.books.has_orphans:
            basis, in_force = (control.cfg, control.books.has_orphans), rules_in_force(control)
        rows, broken = overdue(control, in_force)
        for stage in range(len(STAGES)):
            apply(control, in_force, stage, rows, broken)
            if stage in turns:
                cause, found = turns[stage]
                taken = found()
                control.fabric.take_back(taken, RESULTS["close"], int(cause), control.now)
                if len(taken):
                    control.fabric.empty_outboxes()        # brokers see at once which queues the jobs have left
    yield from control.every(control.periods.copy_archive, look, "copyarchive")


def rules_in_force(control: Control) -> Sequence[TimeoutRule]:
    """The rules that may concern a job now."""
    found = rules(control.cfg, control.edition)
    marks = JobMark.BUILDS | (JobMark.PREMERGE_GONE if control.books.has_orphans else JobMark(0))
    if control.fabric.event_service is not None:
        marks |= JobMark.CONSUMES | JobMark.MERGES_EVENTS
    return concerning(found if control.policies.dispatch.binds_jobs else without_waiting(found), marks)


def rebrokerages(control: Control) -> dict[int, tuple[Cause, Callable[[], np.ndarray]]]:
    """Cause and jobs of the rebrokerage that follows on a stage of the rules."""
    return {0: (Cause.FAST_REBROKERAGE, lambda: piled_up(control)),
            1: (Cause.ANALYSIS_REBROKERAGE, AnalysisJobs(control).waiting)}


def overdue(control: Control, in_force: Sequence[TimeoutRule]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the jobs that break a rule, and the number of the first rule that each breaks."""
    world = control.world
    workflows = np.array([queue.workflow or "" for queue in world.scenario.grid.queues.values()])
    return with_others(in_force, limits(in_force, world.arrays.queues, workflows, control.now),
                       labels_of(in_force, world.vocabularies["labels"]), world.arrays.jobs["queue"],
                       lambda table, limits_s, for_label: control.fabric.overdue(
                           as_table(table), limits_s, for_label, control.now,
                           TIMEOUT_SCAN if table is in_force else OTHERS_SCAN))


def apply(control: Control, in_force: Sequence[TimeoutRule], stage: int, rows: np.ndarray, broken: np.ndarray) -> None:
    """End the jobs that break the rules of one stage, rule by rule, unless something ended them in the meantime."""
    if not len(rows):
        return
    for number in np.unique(broken).tolist():
        if in_force[number].stage == stage:
            chosen = rows[broken == number]
            end(control, in_force[number], chosen[control.arrays.jobs["panda_id"][chosen] > 0])


def end(control: Control, rule: TimeoutRule, rows: np.ndarray) -> None:
    """End the jobs in some rows as a rule says.

    A running job that it only marks is ended by its pilot, here at once; without a pilot it stays.
    """
    arrays = control.arrays
    jobs, labels = arrays.jobs, control.world.vocabularies["labels"]
    is_production = np.isin(labels, PRODUCTION_LABELS)[arrays.tasks["label"][jobs["task"][rows]]]
    marked = is_only_marked(rule, jobs["status"][rows], is_production)
    told = rows[marked & (jobs["due_sequence"][rows] != 0)]
    control.fabric.take_back(rows[~marked], RESULTS[rule.action], int(rule.cause), control.now)
    control.fabric.take_back(told, RESULTS["cancel"], int(rule.cause), control.now)


def as_table(in_force: Sequence[TimeoutRule]) -> np.ndarray:
    """Rules as the compiled scan reads them, (k,) of RULE."""
    lowest, highest = -2**40, 2**40
    return np.array([(sum(1 << status for status in rule.statuses), CLOCKS.index(rule.clock),
                      lowest if rule.priority_at_least is None else rule.priority_at_least,
                      highest if rule.priority_below is None else rule.priority_below,
                      rule.spares, rule.only, rule.silent_s)
                     for rule in in_force], RULE)


S = JobStatus
NO_JOBS, NO_GROUPS, NO_TIMES = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0)


def piled_up(control: Control) -> np.ndarray:
    """Rows of the jobs that fast rebrokerage withdraws: the oldest of each queue and share with too many."""
    arrays = control.arrays
    queues = arrays.queues
    listed = queues["num_slots"] >= 0
    listed[[*control.world.slots]] = True                # for whichever share or type
    alone = rebrokerage.queues_left_alone(listed, queues["status"], queues["disable_reassign"], control.edition)
    queued, running = queued_and_running(arrays)
    backlog = rebrokerage.Backlog(queued, running, control.world.vocabularies["shares"], alone)
    excess = rebrokerage.jobs_to_take_back(backlog, control.cfg, control.edition)
    if not excess.any():
        return NO_JOBS
    columns = (arrays.jobs[name] for name in ("status", "queue", "share", "panda_id"))
    return rebrokerage.oldest_of_each(excess, *columns).astype(np.int32)


class AnalysisJobs:
    """Analysis rebrokerage; remembers when jobs of each group last ended well, in the deployed edition."""

    def __init__(self, control: Control):
        self.control = control
        self.analysis = np.isin(control.world.vocabularies["labels"], ANALYSIS_LABELS)
        self.ended: list[tuple[np.ndarray, np.ndarray]] = []         # groups and times, s
        if self.analysis.any() and rebrokerage.TERMS[control.edition].by_group:
            control.fabric.watchers.append(self.watch)

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note the groups of analysis jobs that have just ended well."""
        chosen = self.analysis[self.control.arrays.tasks["label"][rows["task"]]]
        chosen &= rebrokerage.HAS_ENDED_WELL[rows["status"]]
        if chosen.any():
            places = np.flatnonzero(chosen)
            self.ended.append((self._group(rows, places), times[places, rows["status"][places]]))

    def waiting(self) -> np.ndarray:
        """Rows of the jobs that analysis rebrokerage withdraws, youngest first."""
        control = self.control
        if not self.analysis.any():
            return NO_JOBS
        old = self._rows(JOB_QUEUED, rebrokerage.least_wait(control.world.vocabularies["working_groups"], control.cfg,
                                                      control.edition))
        by_group = rebrokerage.TERMS[control.edition].by_group
        if by_group and len(old):
            control.fabric.empty_outboxes()
            self.ended = [piece for piece in self.ended if (control.now - piece[1] < rebrokerage.QUIET_S).any()]
            old = old[self._may_go(old)]
        if not len(old):
            return NO_JOBS
        rows, groups = self._groups(old) if by_group else self._jobs(old)
        chosen = rows[rebrokerage.groups_to_rebroker(groups, control.cfg, control.edition, control.now)]
        return np.flip(oldest_first(control.arrays, chosen)).copy()

    def _group(self, jobs: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Numbers of the groups, jobs of a task at a queue, of the jobs in some rows of a table, (n_rows,)."""
        return jobs["jeditaskid"][rows] * len(self.control.arrays.queues) + jobs["queue"][rows]

    def _rows(self, statuses: Iterable[int], longer_than_s: float) -> np.ndarray:
        """Rows of the analysis jobs in some statuses that were made longer ago."""
        limits = np.full((1, len(self.control.arrays.queues)), longer_than_s)
        rule = np.array([(sum(1 << status for status in statuses), CREATED, -2**40, 2**40, 0, 0, 0.0)], RULE)
        return self.control.fabric.overdue(rule, limits, self.analysis[None], self.control.now, WAITING_SCAN)[0]

    def _may_go(self, rows: np.ndarray) -> np.ndarray:
        """Which of some waiting jobs may have a group to be withdrawn, (n,) bool."""
        control, arrays = self.control, self.control.arrays
        queue, task = arrays.jobs["queue"][rows], arrays.jobs["task"][rows]
        return rebrokerage.may_be_rebrokered(
            arrays.queues["status"][queue], arrays.tasks["working_group"][task],
            control.now - arrays.job_times[rows, S.PENDING], control.world.vocabularies["working_groups"], control.cfg)

    def _jobs(self, rows: np.ndarray) -> tuple[np.ndarray, rebrokerage.WaitingGroups]:
        """Each job as a group of its own."""
        unknown = np.full(len(rows), np.nan)
        return rows, self._seen(rows, unknown, self.control.arrays.job_times[rows, S.PENDING], unknown)

    def _groups(self, old: np.ndarray) -> tuple[np.ndarray, rebrokerage.WaitingGroups]:
        """Waiting jobs of all groups with one of the `old` ones, and the history of the group of each."""
        control, arrays = self.control, self.control.arrays
        jobs, times = arrays.jobs, arrays.job_times
        has_old = np.zeros(len(arrays.tasks), bool)
        has_old[jobs["task"][old]] = True
        rows = jobs_of_wanted(arrays, has_old)
        group = self._group(jobs, rows)
        concerned = np.isin(group, self._group(jobs, old))
        rows, group = rows[concerned], group[concerned]
        groups, moments = zip(*self.ended, strict=True) if self.ended else ((), ())
        of_jedi = arrays.job_files["marks"][rows] & JobMark.NOT_JEDI == 0
        ended = np.concatenate([NO_GROUPS, *groups]), np.concatenate([NO_TIMES, *moments])
        queued, *history = rebrokerage.histories(group, jobs["status"][rows], jobs["panda_id"][rows], times[rows],
                                                 of_jedi, ended, control.now)
        return rows[queued], self._seen(rows[queued], *history)

    def _seen(self, rows: np.ndarray, activated_s: np.ndarray, created_s: np.ndarray,
              progress_s: np.ndarray) -> rebrokerage.WaitingGroups:
        """View of the groups of some jobs, one entry for each job."""
        arrays = self.control.arrays
        queue, task = arrays.jobs["queue"][rows], arrays.jobs["task"][rows]
        return rebrokerage.WaitingGroups(arrays.queues["status"][queue], arrays.queues["disable_reassign"][queue],
                                   activated_s, created_s, progress_s, arrays.tasks["working_group"][task],
                                   self.control.world.vocabularies["working_groups"])
