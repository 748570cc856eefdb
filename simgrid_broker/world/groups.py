"""Groups of jobs for counting: by share and Resource queue.

JEDI's job numbers of a share exclude the jobs of Resource queues, which have numbers of their own (lifecycle reference,
section 1.6), while dispatch and usage go by share. So group share + n_shares x k holds the jobs of a share in the k-th
Resource queue, counted from 1; k = 0: in no Resource queue. Without Resource queues the groups are the shares.
"""

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.world.arrays import Arrays


@compiled
def group_of(world: Arrays, job):
    """Group of a live job."""
    n_shares = len(world.hs06_milli)
    if world.counts.shape[1] == n_shares:
        return np.int64(job["share"])
    work_queue = np.int64(world.tasks[job["task"]]["work_queue"])
    special = n_shares * (work_queue + 1)
    return np.int64(job["share"]) + (special if special < world.counts.shape[1] else 0)


@compiled
def n_special(world: Arrays):
    """Number of Resource queues."""
    return world.counts.shape[1] // len(world.hs06_milli) - 1


def of_shares(numbers: np.ndarray, n_shares: int) -> np.ndarray:
    """Numbers by share from numbers by group; groups are on axis 1."""
    if numbers.shape[1] == n_shares:
        return numbers
    return numbers.reshape(len(numbers), -1, n_shares, *numbers.shape[2:]).sum(axis=1)


def of_accounts(numbers: np.ndarray, n_shares: int, axis: int = 0) -> np.ndarray:
    """Numbers as in JEDI's throttler and brokers: each share without Resource queues, then each Resource queue."""
    if numbers.shape[axis] == n_shares:
        return numbers
    ahead = np.moveaxis(numbers, axis, 0)
    special = ahead[n_shares:].reshape(-1, n_shares, *ahead.shape[1:]).sum(axis=1)
    return np.moveaxis(np.concatenate([ahead[:n_shares], special]), 0, axis)


@compiled
def account_of(world: Arrays, row):
    """Account of a task's jobs in JEDI: its share, or n_shares + k for the k-th Resource queue from 0."""
    task = world.tasks[row]
    if 0 <= task["work_queue"] < n_special(world):
        return np.int64(len(world.hs06_milli) + task["work_queue"])
    return np.int64(task["share"])


@compiled
def account_of_job(world: Arrays, job):
    """Account of a live job, by its own share: that of its group, whatever the share within a Resource queue."""
    group, n_shares = group_of(world, job), len(world.hs06_milli)
    return group if group < n_shares else n_shares + group // n_shares - 1


account_of_task = uncompiled(account_of)
"""As `account_of`, for Python, which asks so seldom that compiling takes longer."""


def in_resource_queue(arrays: Arrays, tasks: np.ndarray) -> np.ndarray:
    """Whether each task belongs to a Resource queue, (n,) bool; tasks: rows, (n,)."""
    work_queue = arrays.tasks["work_queue"][tasks]
    return (work_queue >= 0) & (work_queue < uncompiled(n_special)(arrays))
