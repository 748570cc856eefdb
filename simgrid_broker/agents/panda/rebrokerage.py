"""Jobs that the two rebrokerages of copyArchive withdraw.

Source: PanDA brokerage documentation, Timeout Rules; JEDI TWiki, job rebrokerage; lifecycle reference, 4.4 and 4.5.
Simplified: the jobs of a task at a queue form one group, whatever their job definition.
"""

from collections.abc import Iterable

import numpy as np

from simgrid_broker.agents.control import Control
from simgrid_broker.fabric.commands import jobs_of_wanted, oldest_first
from simgrid_broker.fabric.jobs.timeouts import CREATED, RULE
from simgrid_broker.names import ANALYSIS_LABELS, JOB_QUEUED, JobStatus
from simgrid_broker.policy.jobs import rebrokerage as rules
from simgrid_broker.world.jobs.counts import in_resource_queue, queued_and_running

S = JobStatus
NO_JOBS, NO_GROUPS, NO_TIMES = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0)


def piled_up(control: Control) -> np.ndarray:
    """Rows of the jobs that fast rebrokerage withdraws: the oldest of each queue and share with too many."""
    arrays = control.arrays
    queues = arrays.queues
    listed = queues["num_slots"] >= 0
    listed[[*control.world.slots]] = True                # for whichever share or type
    left_alone = rules.queues_left_alone(listed, queues["status"], queues["disable_reassign"], control.edition)
    excess = rules.jobs_to_take_back(*queued_and_running(arrays), control.world.vocabularies["shares"], control.cfg,
                                     control.edition, left_alone)
    if not excess.any():
        return NO_JOBS
    jobs = arrays.jobs
    rows = np.flatnonzero(np.isin(jobs["status"], JOB_QUEUED))            # a free row keeps the last status of its job
    rows = rows[excess[jobs["queue"][rows], jobs["share"][rows]] > 0]
    rows = rows[~in_resource_queue(arrays, jobs["task"][rows])].astype(np.int32)
    return rows[rules.oldest_of_each(excess, jobs["queue"][rows], jobs["share"][rows], jobs["panda_id"][rows])]


class AnalysisJobs:
    """Analysis rebrokerage; remembers when jobs of each group last ended well, in the deployed edition."""

    def __init__(self, control: Control):
        self.control = control
        self.analysis = np.isin(control.world.vocabularies["labels"], ANALYSIS_LABELS)
        self.ended: list[tuple[np.ndarray, np.ndarray]] = []         # groups and times, s
        if self.analysis.any() and rules.TERMS[control.edition].by_group:
            control.fabric.watchers.append(self.watch)

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note the groups of analysis jobs that have just ended well."""
        chosen = self.analysis[self.control.arrays.tasks["label"][rows["task"]]]
        chosen &= np.isin(rows["status"], rules.ENDED_WELL)
        if chosen.any():
            places = np.flatnonzero(chosen)
            self.ended.append((self._group(rows, places), times[places, rows["status"][places]]))

    def waiting(self) -> np.ndarray:
        """Rows of the jobs that analysis rebrokerage withdraws, youngest first."""
        control = self.control
        if not self.analysis.any():
            return NO_JOBS
        old = self._rows(JOB_QUEUED, rules.least_wait(control.world.vocabularies["working_groups"], control.cfg,
                                                      control.edition))
        if not len(old):
            return NO_JOBS
        rows, groups = self._groups(old) if rules.TERMS[control.edition].by_group else self._jobs(old)
        chosen = rows[rules.groups_to_rebroker(groups, control.cfg, control.edition, control.now)]
        return np.flip(oldest_first(control.arrays, chosen)).copy()

    def _group(self, jobs: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Numbers of the groups, jobs of a task at a queue, of the jobs in some rows of a table, (n_rows,)."""
        return jobs["jeditaskid"][rows] * len(self.control.arrays.queues) + jobs["queue"][rows]

    def _rows(self, statuses: Iterable[int], longer_than_s: float) -> np.ndarray:
        """Rows of the analysis jobs in some statuses that were made longer ago."""
        limits = np.full((1, len(self.control.arrays.queues)), longer_than_s)
        rule = np.array([(sum(1 << status for status in statuses), CREATED, -2**40, 2**40, 0)], RULE)
        return self.control.fabric.overdue(rule, limits, self.analysis[None], self.control.now)[0]

    def _jobs(self, rows: np.ndarray) -> tuple[np.ndarray, rules.WaitingGroups]:
        """Each job as a group of its own."""
        unknown = np.full(len(rows), np.nan)
        return rows, self._seen(rows, unknown, self.control.arrays.job_times[rows, S.PENDING], unknown)

    def _groups(self, old: np.ndarray) -> tuple[np.ndarray, rules.WaitingGroups]:
        """Waiting jobs of all groups with one of the `old` ones, and the history of the group of each."""
        control, arrays = self.control, self.control.arrays
        jobs, times = arrays.jobs, arrays.job_times
        has_old = np.zeros(len(arrays.tasks), bool)
        has_old[jobs["task"][old]] = True
        rows = jobs_of_wanted(arrays, has_old)
        group = self._group(jobs, rows)
        concerned = np.isin(group, self._group(jobs, old))
        rows, group = rows[concerned], group[concerned]
        control.fabric.empty_outboxes()
        self.ended = [piece for piece in self.ended if (control.now - piece[1] < rules.QUIET_S).any()]
        groups, moments = zip(*self.ended, strict=True) if self.ended else ((), ())
        queued, *history = rules.histories(group, jobs["status"][rows], jobs["panda_id"][rows], times[rows],
                                           np.concatenate([NO_GROUPS, *groups]), np.concatenate([NO_TIMES, *moments]))
        return rows[queued], self._seen(rows[queued], *history)

    def _seen(self, rows: np.ndarray, activated_s: np.ndarray, created_s: np.ndarray,
              progress_s: np.ndarray) -> rules.WaitingGroups:
        """View of the groups of some jobs, one entry for each job."""
        arrays = self.control.arrays
        queue, task = arrays.jobs["queue"][rows], arrays.jobs["task"][rows]
        return rules.WaitingGroups(arrays.queues["status"][queue], arrays.queues["disable_reassign"][queue],
                                   activated_s, created_s, progress_s, arrays.tasks["working_group"][task],
                                   self.control.world.vocabularies["working_groups"])
