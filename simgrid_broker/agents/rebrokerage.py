"""What the two rebrokerages of copyArchive see, and the jobs that they take back.

What lives here: counting what piles up, gathering groups of analysis jobs. What does not: which of them are taken back
(policy), and when (`copy_archive`).

Source: PanDA brokerage documentation, Timeout Rules; JEDI TWiki, job rebrokerage; lifecycle reference, 4.4 and 4.5.
Simplified: the jobs of a task at a queue are one group, whatever their job definition.
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker.names import ANALYSIS_LABELS, JOB_QUEUED, JobStatus
from simgrid_broker.policy.analysis_rebrokerage import QUIET_S, WaitingGroups, groups_to_rebroker
from simgrid_broker.policy.fast_rebrokerage import jobs_to_take_back, queues_left_alone

S = JobStatus
NOBODY = np.zeros(0, np.int32)
BEFORE_DISPATCH = (S.DEFINED, S.ASSIGNED)
PROGRESS = (S.ACTIVATED, S.THROTTLED, S.SENT, S.RUNNING, S.HOLDING, S.MERGING, S.TRANSFERRING)
"""Statuses of the active table that show that something happens to a group; source: lifecycle reference, 4.5."""
ENDED_WELL = (S.FINISHED, S.CANCELLED)
"""Ends that do so, too: all but failed and closed."""


def piled_up(control) -> np.ndarray:
    """Rows of the jobs that fast rebrokerage takes back: the oldest of each queue and share that has too many."""
    arrays = control.world.arrays
    queues, counts = arrays.queues, arrays.counts.sum(axis=2)        # (n_queues, n_shares, n_status)
    left_alone = queues_left_alone(queues["num_slots"], queues["status"], queues["disable_reassign"], control.edition)
    excess = jobs_to_take_back(counts[..., JOB_QUEUED].sum(axis=2), counts[..., S.RUNNING],
                               control.world.vocabularies["shares"], control.cfg, left_alone)
    if not excess.any():
        return NOBODY
    rows = np.flatnonzero((arrays.jobs["panda_id"] > 0) & np.isin(arrays.jobs["status"], JOB_QUEUED))
    jobs = arrays.jobs[rows]
    rows = rows[np.lexsort((jobs["panda_id"], jobs["share"], jobs["queue"]))].astype(np.int32)
    pair = arrays.jobs["queue"][rows].astype(np.int64) * excess.shape[1] + arrays.jobs["share"][rows]
    place = np.arange(len(rows)) - np.searchsorted(pair, pair)       # age within the queue and share, oldest 0
    return rows[place < excess.ravel()[pair]]


class LiveJobs(NamedTuple):
    """Analysis jobs that are alive, (n,) each: row, task, queue, PanDA identifier and status."""

    row: np.ndarray
    task: np.ndarray
    queue: np.ndarray
    panda_id: np.ndarray
    status: np.ndarray


class AnalysisJobs:
    """Looks after the groups of analysis jobs, and remembers which of them had jobs that ended well lately."""

    def __init__(self, control):
        self.control = control
        self.analysis = np.isin(control.world.vocabularies["labels"], ANALYSIS_LABELS)
        self.ended: list[tuple[np.ndarray, np.ndarray]] = []         # group and time of jobs that ended well
        if self.analysis.any() and control.edition == "deployed":
            control.fabric.watchers.append(self.watch)

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Remember the groups of the analysis jobs among those that have just ended well."""
        tasks, queues = self.control.world.arrays.tasks, self.control.world.arrays.queues
        chosen = self.analysis[tasks["label"][rows["task"]]] & np.isin(rows["status"], ENDED_WELL)
        if chosen.any():
            rows, times = rows[chosen], times[chosen]
            group = rows["task"].astype(np.int64) * len(queues) + rows["queue"]
            self.ended.append((group, times[np.arange(len(rows)), rows["status"]]))

    def waiting(self) -> np.ndarray:
        """Rows of the jobs that analysis rebrokerage takes back, youngest first."""
        jobs = self._live()
        queued = np.isin(jobs.status, JOB_QUEUED)
        if not queued.any():
            return NOBODY
        n_queues = len(self.control.world.arrays.queues)
        group = jobs.row if self.control.edition == "documented" else jobs.task.astype(np.int64) * n_queues + jobs.queue
        names, place = np.unique(group[queued], return_inverse=True)
        groups = self._groups(jobs, group, queued, names)
        chosen = groups_to_rebroker(groups, self.control.cfg, self.control.edition, self.control.now)[place]
        found, ids = jobs.row[queued][chosen], jobs.panda_id[queued][chosen]
        return found[np.argsort(-ids)].astype(np.int32)

    def _live(self) -> LiveJobs:
        """The analysis jobs that are alive."""
        arrays = self.control.world.arrays
        if not self.analysis.any():
            return LiveJobs(*[NOBODY] * 5)
        alive = np.flatnonzero(arrays.jobs["panda_id"] > 0)
        rows = alive[self.analysis[arrays.tasks["label"][arrays.jobs["task"][alive]]]]
        return LiveJobs(rows, *(arrays.jobs[name][rows] for name in ("task", "queue", "panda_id", "status")))

    def _groups(self, jobs: LiveJobs, group: np.ndarray, queued: np.ndarray, names: np.ndarray) -> WaitingGroups:
        """The groups called `names`, ascending, with what their jobs have gone through; group: (n_jobs,)."""
        arrays, world = self.control.world.arrays, self.control.world
        if self.control.edition == "documented":
            made, activated = queued, np.zeros(len(queued), bool)
            progress = np.full(len(names), np.nan)
        else:
            made = np.isin(jobs.status, BEFORE_DISPATCH)
            activated = queued & ~made
            progress = self._progress(jobs, group, names)
        times = arrays.job_times
        _, first = np.unique(group[queued], return_index=True)
        queue, task = jobs.queue[queued][first], jobs.task[queued][first]
        return WaitingGroups(
            arrays.queues["status"][queue], arrays.queues["disable_reassign"][queue],
            oldest(names, group[activated], jobs.panda_id[activated], times[jobs.row[activated], S.ACTIVATED]),
            latest(names, group[made], times[jobs.row[made], S.PENDING]), progress,
            arrays.tasks["working_group"][task], world.vocabularies["working_groups"])

    def _progress(self, jobs: LiveJobs, group: np.ndarray, names: np.ndarray) -> np.ndarray:
        """When something last happened to each group, s, NaN = never or long ago."""
        self.control.fabric.empty_outboxes()
        self.ended = [piece for piece in self.ended if (self.control.now - piece[1] < QUIET_S).any()]
        moving = np.isin(jobs.status, PROGRESS)
        entered = self.control.world.arrays.job_times[jobs.row[moving], jobs.status[moving]]
        return latest(names, np.concatenate([group[moving], *(piece[0] for piece in self.ended)]),
                      np.concatenate([entered, *(piece[1] for piece in self.ended)]))


def latest(names: np.ndarray, group: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Latest moment of each group in `names`, ascending, (n,); NaN if it has none; others are passed over."""
    known = np.isin(group, names)
    found = np.full(len(names), -np.inf)
    np.maximum.at(found, np.searchsorted(names, group[known]), moment[known])
    return np.where(np.isinf(found), np.nan, found)


def oldest(names: np.ndarray, group: np.ndarray, panda_id: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Moment of the job with the smallest identifier in each group in `names`, ascending, (n,); NaN if it has none."""
    order = np.lexsort((panda_id, group))
    own, first = np.unique(group[order], return_index=True)
    found = np.full(len(names), np.nan)
    found[np.searchsorted(names, own)] = moment[order][first]
    return found
