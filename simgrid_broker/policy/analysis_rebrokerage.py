"""Analysis rebrokerage: waiting jobs are withdrawn and brokered again, in `documented` each by itself, in `deployed`
the jobs of a task at a queue together; source: JEDI TWiki, job rebrokerage; lifecycle reference, section 4.5."""

from dataclasses import dataclass

import numpy as np

from simgrid_broker.gdpconfig import rebroker
from simgrid_broker.names import JOB_QUEUED, JobStatus, QueueStatus
from simgrid_broker.policy.timeouts import DEAD_STATUSES
from simgrid_broker.units import HOUR
from simgrid_broker.views import Gdpconfig

S = JobStatus
BEFORE_DISPATCH = (S.DEFINED, S.ASSIGNED)
PROGRESS = (S.ACTIVATED, S.THROTTLED, S.SENT, S.RUNNING, S.HOLDING, S.MERGING, S.TRANSFERRING)
"""Statuses of the active table that count as progress of a group; source: lifecycle reference, 4.5."""
ENDED_WELL = (S.FINISHED, S.CANCELLED)
"""Final statuses that count as progress: all but failed and closed."""
QUIET_S = 3 * HOUR
"""Least wait of a group, and time without progress, before it is brokered again, s."""


@dataclass(frozen=True)
class WaitingGroups:
    """Groups of analysis jobs that wait at a queue; all columns (n,), times in s, NaN = none.

    status: of the queue (names.QueueStatus); disable_reassign: of the queue; activated_s: when the oldest job that is
    activated or starting was activated; created_s: when the youngest job that is defined or assigned was made (in
    `documented` the job itself); progress_s: when one of its jobs last changed into a status other than closed, failed
    and starting; working_group: places in `working_groups`.
    """

    status: np.ndarray
    disable_reassign: np.ndarray
    activated_s: np.ndarray
    created_s: np.ndarray
    progress_s: np.ndarray
    working_group: np.ndarray
    working_groups: tuple[str, ...]


def patience(working_groups: tuple[str, ...], cfg: Gdpconfig) -> np.ndarray:
    """Longest wait of jobs of each working group, s, (n,); source: lifecycle reference, section 4.5."""
    hours = [cfg.value(rebroker.ANALY_TIMEOUT_OF_GROUP, workingGroup=name) for name in working_groups]
    return np.array(hours, float) * HOUR


def least_wait(working_groups: tuple[str, ...], cfg: Gdpconfig, edition: str) -> float:
    """Age of a job up to which it stays, s: groups without an older job need not be gathered."""
    return float(patience(working_groups, cfg).min()) if edition == "documented" else QUIET_S


def groups_to_rebroker(groups: WaitingGroups, cfg: Gdpconfig, edition: str, now: float) -> np.ndarray:
    """Which groups of waiting analysis jobs are withdrawn, (n,) bool.

    `documented`: jobs older than the longest wait, unless the queue is paused or has disableReassign.
    `deployed`: groups that have waited for longer than QUIET_S, if the queue is in test or offline, or if they have
    waited at least their longest wait without recent progress.
    """
    limit = patience(groups.working_groups, cfg)[groups.working_group]
    if edition == "documented":
        off = (groups.status == QueueStatus.PAUSED) | (groups.disable_reassign != 0)
        return ~off & (now - groups.created_s > limit)
    ages = np.stack([now - groups.activated_s, now - groups.created_s])
    candidate = ages > QUIET_S
    quiet = ~(now - groups.progress_s < QUIET_S)
    dead = np.isin(groups.status, DEAD_STATUSES)
    return (candidate & (dead | (quiet & (ages >= limit)))).any(axis=0)


@dataclass(frozen=True)
class GroupJobs:
    """Live jobs of groups of analysis jobs; all columns (n,), times in s.

    group: number of the group; created_s, activated_s and entered_s: when the job was made, activated and came into
    its present status.
    """

    group: np.ndarray
    status: np.ndarray
    panda_id: np.ndarray
    created_s: np.ndarray
    activated_s: np.ndarray
    entered_s: np.ndarray


def histories(jobs: GroupJobs, ended: np.ndarray, ended_s: np.ndarray) -> tuple[np.ndarray, ...]:
    """Which jobs are queued, (n,) bool; and activated_s, created_s and progress_s of the group of each, (n_queued,).

    ended, ended_s: groups and times of jobs that ended well, (k,). Source: lifecycle reference, section 4.5.
    """
    names = np.unique(jobs.group)
    new, queued = np.isin(jobs.status, BEFORE_DISPATCH), np.isin(jobs.status, JOB_QUEUED)
    activated, moving = queued & ~new, np.isin(jobs.status, PROGRESS)
    progress = latest(names, np.concatenate([jobs.group[moving], ended]),
                      np.concatenate([jobs.entered_s[moving], ended_s]))
    first = oldest(names, jobs.group[activated], jobs.panda_id[activated], jobs.activated_s[activated])
    last = latest(names, jobs.group[new], jobs.created_s[new])
    place = np.searchsorted(names, jobs.group[queued])
    return queued, first[place], last[place], progress[place]


def latest(names: np.ndarray, group: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Latest moment of each group in `names`, ascending, (n,), NaN if it has none; other groups are ignored."""
    known = np.isin(group, names)
    found = np.full(len(names), -np.inf)
    np.maximum.at(found, np.searchsorted(names, group[known]), moment[known])
    return np.where(np.isinf(found), np.nan, found)


def oldest(names: np.ndarray, group: np.ndarray, panda_id: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Moment of the job with the smallest PandaID of each group in `names`, ascending, (n,), NaN if it has none."""
    known = np.isin(group, names)
    order = np.lexsort((panda_id[known], group[known]))
    own, first = np.unique(group[known][order], return_index=True)
    found = np.full(len(names), np.nan)
    found[np.searchsorted(names, own)] = moment[known][order][first]
    return found
