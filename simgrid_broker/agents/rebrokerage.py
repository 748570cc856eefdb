"""What the two rebrokerages of copyArchive see, and the jobs that they take back.

What lives here: counting what piles up, gathering groups of analysis jobs. What does not: which of them are taken back
(policy), and when (`copy_archive`).

Source: PanDA brokerage documentation, Timeout Rules; JEDI TWiki, job rebrokerage; lifecycle reference, 4.4 and 4.5.
Simplified: the jobs of a task at a queue are one group, whatever their job definition.
"""

import numpy as np

from simgrid_broker.agents.control import Control
from simgrid_broker.fabric.timeouts import CREATED, RULE
from simgrid_broker.names import ANALYSIS_LABELS, JOB_QUEUED, JobStatus
from simgrid_broker.policy.analysis_rebrokerage import QUIET_S, WaitingGroups, groups_to_rebroker, least_wait
from simgrid_broker.policy.fast_rebrokerage import jobs_to_take_back, queues_left_alone
from simgrid_broker.world.groups import in_resource_queue

S = JobStatus
NOBODY = np.zeros(0, np.int32)
BEFORE_DISPATCH = (S.DEFINED, S.ASSIGNED)
PROGRESS = (S.ACTIVATED, S.THROTTLED, S.SENT, S.RUNNING, S.HOLDING, S.MERGING, S.TRANSFERRING)
"""Statuses of the active table that show that something happens to a group; source: lifecycle reference, 4.5."""
ENDED_WELL = (S.FINISHED, S.CANCELLED)
"""Ends that do so, too: all but failed and closed."""


def piled_up(control: Control) -> np.ndarray:
    """Rows of the jobs that fast rebrokerage takes back: the oldest of each queue and share that has too many."""
    arrays = control.arrays
    queues, n_shares = arrays.queues, len(arrays.hs06_milli)
    counts = arrays.counts[:, :n_shares].sum(axis=2)                 # (n_queues, n_shares, n_status)
    left_alone = queues_left_alone(queues["num_slots"], queues["status"], queues["disable_reassign"], control.edition)
    excess = jobs_to_take_back(counts[..., JOB_QUEUED].sum(axis=2), counts[..., S.RUNNING],
                               control.world.vocabularies["shares"], control.cfg, left_alone)
    if not excess.any():
        return NOBODY
    rows = np.flatnonzero((arrays.jobs["panda_id"] > 0) & np.isin(arrays.jobs["status"], JOB_QUEUED))
    rows = rows[~in_resource_queue(arrays, arrays.jobs["task"][rows])]
    jobs = arrays.jobs[rows]
    rows = rows[np.lexsort((jobs["panda_id"], jobs["share"], jobs["queue"]))].astype(np.int32)
    pair = arrays.jobs["queue"][rows].astype(np.int64) * excess.shape[1] + arrays.jobs["share"][rows]
    place = np.arange(len(rows)) - np.searchsorted(pair, pair)       # age within the queue and share, oldest 0
    return rows[place < excess.ravel()[pair]]


class AnalysisJobs:
    """Looks after the groups of analysis jobs, and remembers which of them had jobs that ended well lately."""

    def __init__(self, control: Control):
        self.control = control
        self.analysis = np.isin(control.world.vocabularies["labels"], ANALYSIS_LABELS)
        self.ended: list[tuple[np.ndarray, np.ndarray]] = []         # group and time of jobs that ended well
        if self.analysis.any() and control.edition == "deployed":
            control.fabric.watchers.append(self.watch)

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Remember the groups of the analysis jobs among those that have just ended well."""
        chosen = self.analysis[self.control.arrays.tasks["label"][rows["task"]]]
        chosen &= np.isin(rows["status"], ENDED_WELL)
        if chosen.any():
            rows, times = rows[chosen], times[chosen]
            self.ended.append((self._group(rows["task"], rows["queue"]), times[np.arange(len(rows)), rows["status"]]))

    def waiting(self) -> np.ndarray:
        """Rows of the jobs that analysis rebrokerage takes back, youngest first."""
        control, arrays = self.control, self.control.arrays
        working_groups = control.world.vocabularies["working_groups"]
        if not self.analysis.any():
            return NOBODY
        old = self._rows(JOB_QUEUED, least_wait(working_groups, control.cfg, control.edition))
        if not len(old):
            return NOBODY
        rows, groups = self._jobs(old) if control.edition == "documented" else self._groups(old)
        chosen = rows[groups_to_rebroker(groups, control.cfg, control.edition, control.now)]
        return chosen[np.argsort(-arrays.jobs["panda_id"][chosen])]

    def _group(self, task: np.ndarray, queue: np.ndarray) -> np.ndarray:
        """Number of the group of jobs of a task at a queue."""
        return task.astype(np.int64) * len(self.control.arrays.queues) + queue

    def _rows(self, statuses, longer_than_s: float) -> np.ndarray:
        """Rows of the analysis jobs in some statuses that were made longer ago."""
        n_queues = len(self.control.arrays.queues)
        rule = np.array([(sum(1 << status for status in statuses), CREATED, -2**40, 2**40, 0)], RULE)
        return self.control.fabric.overdue(rule, np.full((1, n_queues), longer_than_s), self.analysis[None],
                                           self.control.now)[0]

    def _jobs(self, rows: np.ndarray) -> tuple[np.ndarray, WaitingGroups]:
        """Jobs as groups of their own."""
        made = self.control.arrays.job_times[rows, S.PENDING]
        return rows, self._seen(rows, np.full(len(rows), np.nan), made, np.full(len(rows), np.nan))

    def _groups(self, old: np.ndarray) -> tuple[np.ndarray, WaitingGroups]:
        """The waiting jobs of all groups that have one of the `old` ones, and of each what its group went through."""
        arrays = self.control.arrays
        task, queue = arrays.jobs["task"], arrays.jobs["queue"]
        names = np.unique(self._group(task[old], queue[old]))
        rows = self._rows(S, -np.inf)
        group = self._group(task[rows], queue[rows])
        concerned = np.isin(group, names)
        rows, group = rows[concerned], group[concerned]
        status = arrays.jobs["status"][rows]
        made, queued = np.isin(status, BEFORE_DISPATCH), np.isin(status, JOB_QUEUED)
        activated, moving = queued & ~made, np.isin(status, PROGRESS)
        entered = arrays.job_times[rows, status]
        self.control.fabric.empty_outboxes()
        self.ended = [piece for piece in self.ended if (self.control.now - piece[1] < QUIET_S).any()]
        progress = latest(names, np.concatenate([group[moving], *(piece[0] for piece in self.ended)]),
                          np.concatenate([entered[moving], *(piece[1] for piece in self.ended)]))
        first = oldest(names, group[activated], arrays.jobs["panda_id"][rows[activated]],
                       arrays.job_times[rows[activated], S.ACTIVATED])
        last = latest(names, group[made], arrays.job_times[rows[made], S.PENDING])
        place = np.searchsorted(names, group[queued])
        return rows[queued], self._seen(rows[queued], first[place], last[place], progress[place])

    def _seen(self, rows: np.ndarray, activated_s, created_s, progress_s) -> WaitingGroups:
        """What the policy sees of the groups of some jobs, one entry for each job."""
        arrays, world = self.control.arrays, self.control.world
        queue, task = arrays.jobs["queue"][rows], arrays.jobs["task"][rows]
        return WaitingGroups(arrays.queues["status"][queue], arrays.queues["disable_reassign"][queue], activated_s,
                             created_s, progress_s, arrays.tasks["working_group"][task],
                             world.vocabularies["working_groups"])


def latest(names: np.ndarray, group: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Latest moment of each group in `names`, ascending, (n,); NaN if it has none; others are passed over."""
    known = np.isin(group, names)
    found = np.full(len(names), -np.inf)
    np.maximum.at(found, np.searchsorted(names, group[known]), moment[known])
    return np.where(np.isinf(found), np.nan, found)


def oldest(names: np.ndarray, group: np.ndarray, panda_id: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Moment of the job with the smallest identifier in each group in `names`, ascending, (n,); NaN if it has none."""
    known = np.isin(group, names)
    order = np.lexsort((panda_id[known], group[known]))
    own, first = np.unique(group[known][order], return_index=True)
    found = np.full(len(names), np.nan)
    found[np.searchsorted(names, own)] = moment[known][order][first]
    return found
