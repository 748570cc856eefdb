"""Wall time, power and highest priority of queued jobs, for the throttler of the deployed edition and share throttling.

Source: lifecycle reference, sections 2.4 and 2.6 (maxWalltime of a job).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.groups import account_of_job, n_special, of_shares
from simgrid_broker.world.rows import fetch_ahead, find_in_status, has_no_pieces

S = JobStatus
ACTIVATED = int(S.ACTIVATED)
WITH_WALLTIME, WITH_PRIORITY = (sum(1 << status for status in statuses) for statuses in (
    (S.DEFINED, S.ACTIVATED, S.STARTING), (S.DEFINED, S.ASSIGNED, S.ACTIVATED)))
"""Statuses of the jobs whose wall times are added up, and of those whose priorities count, a bit for each."""
NO_PRIORITY = -(2**31)


class QueuedWalltime(NamedTuple):
    """Requested wall time of defined, activated and starting jobs.

    walltime_s: by account (`groups`) and resource type, (n_accounts, n_types), s, scaled up for jobs without a limit,
    NaN = no job has a limit.
    """

    walltime_s: np.ndarray

    def total_s(self, accounts: Sequence[int], types: Sequence[int]) -> float | None:
        """Requested wall time in some accounts and resource types, s; None = unknown."""
        total = float(sum(self.walltime_s[account, kind] for account in accounts for kind in types))
        return None if math.isnan(total) else total


class QueuedPriority(NamedTuple):
    """Highest priority of defined, assigned and activated jobs, and how many have it.

    priority, n_highest: by account (`groups`) and resource type, (n_accounts, n_types).
    """

    priority: np.ndarray
    n_highest: np.ndarray

    def highest(self, accounts: Sequence[int], types: Sequence[int]) -> tuple[int, int]:
        """Highest priority in some accounts and resource types, and the number of jobs with it."""
        at = [(account, kind) for account in accounts for kind in types]
        highest = max(self.priority[place] for place in at)
        return int(highest), int(sum(self.n_highest[place] for place in at if self.priority[place] == highest))


def queued_power(arrays: Arrays) -> np.ndarray:
    """Power that the activated jobs of each leaf share would use, (n_shares,), HS06."""
    pseudo = arrays.pseudo_queues
    power = np.zeros((len(arrays.queues), arrays.counts.shape[2]))     # of a job
    for kind in range(power.shape[1]):
        mine = (pseudo["resource_type"] == kind) | (pseudo["resource_type"] < 0)
        power[pseudo["queue"][mine], kind] = pseudo["corecount"][mine]
    power *= arrays.queues["corepower"][:, None]
    activated = of_shares(arrays.counts[:, :, :, ACTIVATED], len(arrays.hs06_milli))
    return np.einsum("qst,qt->s", activated, power)


@compiled
def limit_of_queue_or_build(world: Arrays, job):
    """Limit of the wall time of a job, s: of its queue, or the lower one of build jobs; lifecycle reference, 2.6."""
    settings, limit = world.settings[0], world.queues[job["queue"]]["maxtime_s"]
    if has_no_pieces(job) and job["processing_type"] == settings["build"]:
        return min(limit, settings["build_walltime_s"] + world.tasks[job["task"]]["basewalltime_s"])
    return limit


@compiled
def max_walltime(world: Arrays, job):
    """maxWalltime of a job, s: its task's claim at this power; else, and for merge jobs, the limit of the queue.

    Build jobs have a limit of their own, where there is one.
    """
    task = world.tasks[job["task"]]
    if has_no_pieces(job):
        return limit_of_queue_or_build(world, job)
    if task["cputime"] <= 0:
        return world.queues[job["queue"]]["maxtime_s"]
    if task["cpuefficiency"] <= 0:
        return np.float64(task["basewalltime_s"])
    return task["basewalltime_s"] + task["cputime"] * job["n_events"] / (
        job["hs06_milli"] * 1e-3 * task["cpuefficiency"] / 100.0)


def max_walltimes(arrays: Arrays, rows: np.ndarray) -> np.ndarray:
    """`max_walltime` of the jobs in `rows`, (n,), s."""
    jobs = arrays.jobs[rows]
    tasks = arrays.tasks[jobs["task"]]
    rate = np.where(tasks["cpuefficiency"] > 0, jobs["hs06_milli"] * 1e-5 * tasks["cpuefficiency"], np.inf)
    claimed = tasks["basewalltime_s"] + tasks["cputime"] * jobs["n_events"] / rate
    return np.where((tasks["cputime"] > 0) & (jobs["n_chunks"] > 0), claimed, arrays.queues["maxtime_s"][jobs["queue"]])


@compiled
def add_walltimes(world: Arrays, rows, walltime_s, n_jobs, n_known):
    """Add the wall time of queued jobs, their number, and the number of those with a wall time to three tables.

    rows: room for as many jobs as there are.
    """
    n = find_in_status(world, WITH_WALLTIME, rows)
    for place in range(n):
        fetch_ahead(world, rows, n, place)
        job = world.jobs[rows[place]]
        account, kind, walltime = account_of_job(world, job), job["resource_type"], max_walltime(world, job)
        n_jobs[account, kind] += 1
        if walltime < np.inf:
            n_known[account, kind] += 1
            walltime_s[account, kind] += walltime


@compiled
def find_highest(world: Arrays, rows, priority, n_highest):
    """Fill the tables of `QueuedPriority`, initialised with NO_PRIORITY and 0; merge jobs do not count.

    rows: room for as many jobs as there are.
    """
    n = find_in_status(world, WITH_PRIORITY, rows)
    for place in range(n):
        fetch_ahead(world, rows, n, place)
        job = world.jobs[rows[place]]
        account, kind = account_of_job(world, job), job["resource_type"]
        if has_no_pieces(job) or job["priority"] < priority[account, kind]:
            continue
        if job["priority"] > priority[account, kind]:
            priority[account, kind], n_highest[account, kind] = job["priority"], 0
        n_highest[account, kind] += 1


def _shape(arrays: Arrays) -> tuple[int, int]:
    """Shape of tables by account and resource type."""
    return len(arrays.hs06_milli) + uncompiled(n_special)(arrays), arrays.counts.shape[2]


def queued_walltime(arrays: Arrays) -> QueuedWalltime:
    """Current `QueuedWalltime`."""
    shape = _shape(arrays)
    walltime_s, n_jobs, n_known = np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    add_walltimes(arrays, np.empty(len(arrays.jobs), np.int32), walltime_s, n_jobs, n_known)
    scaled = walltime_s * n_jobs / np.where(n_known > 0, n_known, np.nan)
    return QueuedWalltime(np.where(n_jobs > 0, scaled, 0.0))


def queued_priority(arrays: Arrays) -> QueuedPriority:
    """Current `QueuedPriority`."""
    shape = _shape(arrays)
    found = QueuedPriority(np.full(shape, NO_PRIORITY, np.int64), np.zeros(shape, np.int64))
    find_highest(arrays, np.empty(len(arrays.jobs), np.int32), *found)
    return found
