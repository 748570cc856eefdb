"""Rebrokerage of waiting analysis jobs, and fast rebrokerage from queues where a share hardly runs.

Analysis jobs are withdrawn each by itself in `documented`, the jobs of a task at a queue together in `deployed`.
Source: JEDI TWiki, job rebrokerage; PanDA brokerage documentation, Timeout Rules; lifecycle reference, 4.4 and 4.5.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import rebroker
from simgrid_broker.names import JOB_QUEUED, Cause, JobStatus, QueueStatus
from simgrid_broker.policy.jobs.timeouts import IS_DEAD
from simgrid_broker.units import HOUR
from simgrid_broker.views import Gdpconfig

S = JobStatus
BEFORE_DISPATCH = (S.DEFINED, S.ASSIGNED)
PROGRESS = (S.ACTIVATED, S.THROTTLED, S.SENT, S.RUNNING, S.HOLDING, S.MERGING, S.TRANSFERRING)
"""Statuses of the active table that count as progress of a group; source: lifecycle reference, 4.5."""
ENDED_WELL = (S.FINISHED, S.CANCELLED)
"""Final statuses that count as progress: all but failed and closed."""
HAS_ENDED_WELL = np.isin(np.arange(len(S)), ENDED_WELL)
"""True for these statuses, (n_status,)."""
KILL_CODES = {Cause.FAST_REBROKERAGE: 10, Cause.ANALYSIS_REBROKERAGE: 51}
"""Kill codes of both rebrokerages in PanDA; source: lifecycle reference, 4.4 and 4.5."""
QUIET_S = 3 * HOUR
"""Least wait of a group, and time without progress, before it is brokered again, s."""


class Terms(NamedTuple):
    """Terms in which the editions differ.

    by_group: the jobs of a task at a queue are withdrawn together, otherwise each by itself; asks_queue: a paused queue
    and disableReassign turn off fast rebrokerage, and jobs at queues that it leaves alone count for the total of their
    share; one_more: fast rebrokerage takes back the whole excess, and at least one job, otherwise one job fewer (L27);
    dry_run: least number of queued jobs in place of a threshold that is not set, with which no job is withdrawn.
    """

    by_group: bool
    asks_queue: bool
    one_more: bool
    dry_run: float


TERMS = ByEdition(documented=Terms(by_group=False, asks_queue=True, one_more=True, dry_run=np.inf),
                  deployed=Terms(by_group=True, asks_queue=False, one_more=False, dry_run=10))


@dataclass(frozen=True)
class WaitingGroups:
    """Groups of analysis jobs that wait at a queue; all columns (n,), times in s, NaN = none.

    status: of the queue (names.QueueStatus); disable_reassign: of the queue; activated_s: when the oldest job that is
    activated or starting was activated; created_s: when the youngest of the jobs that are defined or assigned and have
    waited for QUIET_S was made (in `documented` the job itself); progress_s: when one of its jobs last changed into a
    status other than closed, failed and starting; working_group: places in `working_groups`.
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
    return QUIET_S if TERMS[edition].by_group else float(patience(working_groups, cfg).min())


def may_be_rebrokered(status: np.ndarray, working_group: np.ndarray, waited_s: np.ndarray,
                      working_groups: tuple[str, ...], cfg: Gdpconfig) -> np.ndarray:
    """Jobs without one of which no group is withdrawn in the deployed edition, (n,) bool: the age of a group is never
    above that of its oldest job, waited_s, s; status: of their queues."""
    return IS_DEAD[status] | (waited_s >= patience(working_groups, cfg)[working_group])


def groups_to_rebroker(groups: WaitingGroups, cfg: Gdpconfig, edition: str, now: float) -> np.ndarray:
    """Which groups of waiting analysis jobs are withdrawn, (n,) bool.

    `documented`: jobs older than the longest wait, unless the queue is paused or has disableReassign.
    `deployed`: groups that have waited for longer than QUIET_S, if the queue is in test or offline, or if they have
    waited at least their longest wait without recent progress. Defined and assigned jobs count only where no activated
    one has waited for QUIET_S.
    """
    limit = patience(groups.working_groups, cfg)[groups.working_group]
    if not TERMS[edition].by_group:
        off = (groups.status == QueueStatus.PAUSED) | (groups.disable_reassign != 0)
        return ~off & (now - groups.created_s > limit)
    activated, created = now - groups.activated_s, now - groups.created_s
    age = np.where(activated > QUIET_S, activated, created)
    quiet = ~(now - groups.progress_s < QUIET_S)
    dead = IS_DEAD[groups.status]
    return (age > QUIET_S) & (dead | (quiet & (age >= limit)))


def histories(group: np.ndarray, status: np.ndarray, panda_id: np.ndarray, times: np.ndarray, of_jedi: np.ndarray,
              ended: tuple[np.ndarray, np.ndarray], now: float) -> tuple[np.ndarray, ...]:
    """Which live jobs are queued, (n,) bool; activated_s, created_s and progress_s of the group of each, (n_queued,).

    group: number of the group of each job, (n,); times: when it came into each status, s, (n, n_status); of_jedi: jobs
    that JEDI made, the others are only taken along; ended: groups and times of jobs that ended well, (k,) each. The
    stateChangeTime of an activated job is that of its assignment, if it was assigned. Source: lifecycle reference, 3.1
    and 4.5.
    """
    names = np.unique(group)
    new, queued = np.isin(status, BEFORE_DISPATCH), np.isin(status, JOB_QUEUED)
    activated, moving = queued & ~new, np.isin(status, PROGRESS)
    assigned = (status == S.ACTIVATED) & ~np.isnan(times[:, S.ASSIGNED])
    changed_s = times[np.arange(len(times)), np.where(assigned, S.ASSIGNED, status)]
    progress = latest(names, *map(np.concatenate, ((group[moving], ended[0]), (changed_s[moving], ended[1]))))
    activated, new = activated & of_jedi, new & of_jedi
    first = oldest(names, group[activated], panda_id[activated], times[activated, S.ACTIVATED])
    old = new & (now - times[:, S.PENDING] > QUIET_S)
    last = latest(names, group[old], times[old, S.PENDING])
    place = np.searchsorted(names, group[queued])
    return queued, first[place], last[place], progress[place]


def latest(names: np.ndarray, group: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Latest moment of each group in `names`, ascending, (n,), NaN if it has none; other groups are ignored."""
    known = np.isin(group, names)
    found = np.full(len(names), -np.inf)
    np.fmax.at(found, np.searchsorted(names, group[known]), moment[known])
    return np.where(np.isinf(found), np.nan, found)


def oldest(names: np.ndarray, group: np.ndarray, panda_id: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Moment of the job with the smallest PandaID of each group in `names`, ascending, (n,), NaN if it has none."""
    known = np.isin(group, names)
    order = np.lexsort((panda_id[known], group[known]))
    own, first = np.unique(group[known][order], return_index=True)
    found = np.full(len(names), np.nan)
    found[np.searchsorted(names, own)] = moment[known][order][first]
    return found


# ---- fast rebrokerage ----------------------------------------------------------------------------------------------

def queues_left_alone(listed: np.ndarray, status: np.ndarray, disable_reassign: np.ndarray,
                      edition: str) -> np.ndarray:
    """Queues exempt from fast rebrokerage, (n_queues,) bool: those listed in Harvester_Slots.

    In the documented edition it is a timeout rule, which a paused queue and disableReassign turn off; the deployed
    edition ignores both. status: of names.QueueStatus; all (n_queues,).
    """
    if not TERMS[edition].asks_queue:
        return listed
    return listed | (status == QueueStatus.PAUSED) | (disable_reassign != 0)


@dataclass(frozen=True)
class Backlog:
    """Jobs by queue and share of which fast rebrokerage judges.

    queued: defined, assigned, activated and starting jobs; running: running jobs; both (n_queues, n_shares), without
    the jobs of Resource queues. shares: names of the shares; left_alone: (n_queues,) bool, `queues_left_alone`.
    """

    queued: np.ndarray
    running: np.ndarray
    shares: tuple[str, ...]
    left_alone: np.ndarray

    def thresholds(self, cfg: Gdpconfig) -> np.ndarray:
        """Least number of queued jobs of each share, (n_shares,), NaN where it is not set."""
        own = (cfg.value(rebroker.FAST_REBRO_THRESHOLD_NQUEUE, gshare=share) for share in self.shares)
        return np.array([np.nan if value is None else value for value in own], float)

    def total(self, edition: str) -> np.ndarray:
        """Queued jobs of each share at all queues, (n_shares,); in `deployed` only at those not left alone."""
        return (self.queued if TERMS[edition].asks_queue else self.queued[~self.left_alone]).sum(axis=0)

    def margin(self, cfg: Gdpconfig, edition: str) -> np.ndarray:
        """Queued jobs above the largest of the three thresholds, (n_queues, n_shares)."""
        least = self.thresholds(cfg)
        most = (self.running * cfg.value(rebroker.FAST_REBRO_THRESHOLD_NQNR_RATIO),
                np.where(np.isnan(least), TERMS[edition].dry_run, least),
                self.total(edition) * cfg.value(rebroker.FAST_REBRO_THRESHOLD_NQUEUE_FRAC))
        return np.minimum.reduce([self.queued - limit for limit in most])

    def overshoot(self, cfg: Gdpconfig, edition: str) -> np.ndarray:
        """Queues and shares above all three thresholds, (n_queues, n_shares) bool, dry runs included.

        Source: lifecycle reference, 4.4. The documents compare ratios, the code products.
        """
        if not TERMS[edition].asks_queue:
            return (self.margin(cfg, edition) > 0) & ~self.left_alone[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):          # no running job: larger than any ratio
            crowded = self.queued / self.running > cfg.value(rebroker.FAST_REBRO_THRESHOLD_NQNR_RATIO)
            large = self.queued / self.total(edition) > cfg.value(rebroker.FAST_REBRO_THRESHOLD_NQUEUE_FRAC)
        return crowded & large & (self.queued > self.thresholds(cfg)) & ~self.left_alone[:, None]


def jobs_to_take_back(backlog: Backlog, cfg: Gdpconfig, edition: str) -> np.ndarray:
    """Jobs to close at each queue and share, (n_queues, n_shares) int64, oldest first.

    Shares without a key of their own are exempt. The excess over the smallest margin is withdrawn, at least one job; in
    the deployed edition one job fewer (L27).
    """
    exempt = np.isnan(backlog.thresholds(cfg))
    if exempt.all():
        return np.zeros(backlog.queued.shape, np.int64)
    excess = np.ceil(backlog.margin(cfg, edition)) - (not TERMS[edition].one_more)
    withdrawn = backlog.overshoot(cfg, edition) & ~exempt
    return np.where(withdrawn, np.maximum(excess, TERMS[edition].one_more), 0).astype(np.int64)


def oldest_of_each(excess: np.ndarray, status: np.ndarray, queue: np.ndarray, share: np.ndarray,
                   panda_id: np.ndarray) -> np.ndarray:
    """Positions of the oldest `excess[queue, share]` queued jobs of each queue and share, (k,), of any work queue.

    status, queue, share, panda_id: of jobs, (n,); a smaller PandaID is older.
    """
    rows = np.flatnonzero(np.isin(status, JOB_QUEUED))            # a free row keeps the last status of its job
    rows = rows[excess[queue[rows], share[rows]] > 0]
    order = rows[np.lexsort((panda_id[rows], share[rows], queue[rows]))]
    pair = queue[order].astype(np.int64) * excess.shape[1] + share[order]
    age = np.arange(len(order)) - np.searchsorted(pair, pair)        # oldest of the queue and share: 0
    return order[age < excess.ravel()[pair]]
