"""Analysis rebrokerage: waiting analysis jobs are withdrawn and brokered again.

In `documented` each job is a group of its own; in `deployed` the jobs of a task at a queue are one. Sources: JEDI
TWiki, job rebrokerage; lifecycle reference, section 4.5.
"""

from dataclasses import dataclass

import numpy as np

from simgrid_broker.gdpconfig import rebroker
from simgrid_broker.names import QueueStatus
from simgrid_broker.policy.timeouts import DEAD_STATUSES
from simgrid_broker.units import HOUR
from simgrid_broker.views import Gdpconfig

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
