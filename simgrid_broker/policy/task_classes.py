"""Classes of analysis tasks by the slots of their user and their progress, and the use of the shares they belong to.

Source: brokerage reference, section 11.3 (D66 to D68); lifecycle reference, section 2.11.
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker.gdpconfig import anal_jobbroker, analy_eval
from simgrid_broker.names import SiteClass, TaskClass
from simgrid_broker.policy.shares import targets, usage
from simgrid_broker.units import HOUR
from simgrid_broker.views import Gdpconfig, ShareTree

EXPRESS_WALLTIME_S = HOUR
"""Longest wall time of jobs of a task that moved, if it says neither nFilesPerJob nor nEventsPerJob, s."""
BUSY_FROM = 0.85
"""Use over target from which a share is busy whatever waits."""


class Slots(NamedTuple):
    """Running slots of users, (n_users,) each: in queues of class hi, in those of class hi or mid; NaN = unknown."""

    in_hi: np.ndarray
    in_hi_or_mid: np.ndarray


class Progress(NamedTuple):
    """How far tasks are, (n_tasks,) each: input files finished, all input files, and jobs made so far."""

    n_finished: np.ndarray
    n_files: np.ndarray
    n_jobs: np.ndarray


def slots_of_users(user: np.ndarray, cores: np.ndarray, site_class: np.ndarray, n_users: int) -> Slots:
    """Running slots of each user, NaN for users without a running job.

    user, cores: user of rows of jobs, (n,), and their running cores by queue, (n, n_queues): of the shares User
    Analysis and Express Analysis, without merge jobs, tests and queues that are not of the grid; site_class:
    (n_queues,).
    """
    known = np.bincount(user, cores.any(axis=1), n_users) > 0
    return Slots(*(np.where(known, np.bincount(user, cores[:, chosen].sum(axis=1), n_users), np.nan)
                   for chosen in (site_class == SiteClass.HI, site_class >= SiteClass.MID)))


def task_classes(slots: Slots, progress: Progress, is_express: np.ndarray, cfg: Gdpconfig, edition: str) -> np.ndarray:
    """Class of each task, `TaskClass`, (n_tasks,), NaN for tasks of users without known slots that are not express.

    slots: of the user of each task, (n_tasks,) each. In the documented edition a user with as many slots as a threshold
    is below it, and a task is of class S from PROGRESS_TO_BOOST_A on whatever its user has and however many jobs
    remain (D66).
    """
    most_a, most_b = cfg.value(analy_eval.USER_USAGE_THRESHOLD_A), cfg.value(analy_eval.USER_USAGE_THRESHOLD_B)
    below = np.less_equal if edition == "documented" else np.less
    is_a, is_b = below(slots.in_hi, most_a), below(slots.in_hi_or_mid, most_b)
    found = np.where(is_a, TaskClass.A, np.where(is_b, TaskClass.B, TaskClass.C)).astype(np.float64)
    found[np.isnan(slots.in_hi)] = np.nan
    boosted = ~np.isnan(found) & _nearly_done(found, progress, cfg, edition)
    return np.where(is_express | boosted, TaskClass.S, found)


def _nearly_done(found: np.ndarray, progress: Progress, cfg: Gdpconfig, edition: str) -> np.ndarray:
    """Which tasks are nearly done, (n_tasks,) bool."""
    done_pct = 100 * progress.n_finished / np.maximum(progress.n_files, 1)
    if edition == "documented":
        return done_pct >= cfg.value(analy_eval.PROGRESS_TO_BOOST_A)
    left = (progress.n_jobs * (progress.n_files - progress.n_finished) // np.maximum(progress.n_files, 1))
    nearly = np.zeros(len(found), bool)
    for of_class, from_pct, most in ((TaskClass.A, analy_eval.PROGRESS_TO_BOOST_A, analy_eval.MAX_REM_JOBS_TO_BOOST_A),
                                     (TaskClass.B, analy_eval.PROGRESS_TO_BOOST_B, analy_eval.MAX_REM_JOBS_TO_BOOST_B)):
        nearly |= (found == of_class) & (done_pct >= cfg.value(from_pct)) & (left > 0) & (left <= cfg.value(most))
    return nearly


def equivalent_targets(tree: ShareTree, running: np.ndarray, queued: np.ndarray) -> np.ndarray:
    """Target of each node, HS06, (n_nodes,), where busy level-1 shares have got what idle ones leave.

    running, queued: HS06 by leaf, (n_leaves,) each. A level-1 share is idle if it uses less than 85 % of its target,
    and would use less than its target even if half of what is queued ran.
    """
    used, target = usage(tree, running), targets(tree, running)
    level = np.flatnonzero(tree.parent == 0)
    projected = np.minimum(target, np.maximum(used, usage(tree, queued) / 2))
    idle = level[(used[level] < BUSY_FROM * target[level]) & (projected[level] < target[level])]
    busy = np.setdiff1d(level, idle)
    left = (target[idle] - projected[idle]).sum()
    target[busy] += left * target[busy] / (target[busy].sum() + 1)
    return target


def window_of_ends_s(cfg: Gdpconfig) -> float:
    """Window in which ends of jobs count, s."""
    return cfg.value(anal_jobbroker.TW_DONE_JOB_STAT) * HOUR


def leaf_usage(tree: ShareTree, running: np.ndarray, leaf: int) -> float:
    """Use of a leaf share as a fraction of its target; NaN if nothing runs."""
    node = tree.leaves[leaf]
    return _fraction(usage(tree, running)[node], targets(tree, running)[node])


def equivalent_usage(tree: ShareTree, running: np.ndarray, queued: np.ndarray, leaf: int) -> float:
    """Use of the level-1 share of a leaf as a fraction of its `equivalent_targets`; NaN if nothing runs (D67)."""
    node = int(tree.leaves[leaf])
    while tree.parent[node] > 0:
        node = int(tree.parent[node])
    return _fraction(usage(tree, running)[node], equivalent_targets(tree, running, queued)[node])


def _fraction(used: float, target: float) -> float:
    """A use as a fraction of a target; infinite without a target, NaN if there is nothing of either."""
    return float(used / target) if target > 0 else np.inf if used > 0 else np.nan
