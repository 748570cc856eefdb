"""Groups of jobs for counting: by share and Resource queue.

What lives here: the group of a job, and sums over groups. What does not: the counts (`transitions`, `counts`).

JEDI's numbers of a share leave out the jobs of Resource queues, which have numbers of their own (lifecycle reference,
section 1.6), while dispatch and usage go by share. So group share + n_shares x k holds the jobs of a share in the k-th
Resource queue, counted from 1, and k = 0 stands for none. Without Resource queues the groups are the shares.
"""

import numpy as np

from simgrid_broker.compiled import compiled


@compiled
def group_of(world, job):
    """Group in which a live job is counted."""
    n_shares = len(world.hs06_milli)
    if world.counts.shape[1] == n_shares:
        return np.int64(job["share"])
    work_queue = np.int64(world.tasks[job["task"]]["work_queue"])
    special = n_shares * (work_queue + 1)
    return np.int64(job["share"]) + (special if special < world.counts.shape[1] else 0)


def n_special(arrays) -> int:
    """Number of Resource queues."""
    return arrays.counts.shape[1] // len(arrays.hs06_milli) - 1


def of_shares(numbers: np.ndarray, n_shares: int) -> np.ndarray:
    """Numbers by share out of numbers by group; the groups are on axis 1."""
    if numbers.shape[1] == n_shares:
        return numbers
    return numbers.reshape(len(numbers), -1, n_shares, *numbers.shape[2:]).sum(axis=1)


def of_accounts(numbers: np.ndarray, n_shares: int, axis: int = 0) -> np.ndarray:
    """Numbers as JEDI's throttler and brokers see them: each share without Resource queues, then each of these."""
    if numbers.shape[axis] == n_shares:
        return numbers
    ahead = np.moveaxis(numbers, axis, 0)
    special = ahead[n_shares:].reshape(-1, n_shares, *ahead.shape[1:]).sum(axis=1)
    return np.moveaxis(np.concatenate([ahead[:n_shares], special]), 0, axis)


def account_of(arrays, row: int) -> int:
    """Where JEDI counts the jobs of a task: its share, or n_shares + k for the k-th Resource queue from 0."""
    special = n_special(arrays)
    if special and 0 <= (work_queue := int(arrays.tasks["work_queue"][row])) < special:
        return len(arrays.hs06_milli) + work_queue
    return int(arrays.tasks["share"][row])


def in_resource_queue(arrays, tasks: np.ndarray) -> np.ndarray:
    """Whether each of some task rows belongs to a Resource queue, (n,) bool."""
    work_queue = arrays.tasks["work_queue"][tasks]
    return (work_queue >= 0) & (work_queue < n_special(arrays))
