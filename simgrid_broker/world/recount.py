"""Sums over the rows of the live jobs, independent of the counts that are kept as jobs move."""

from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.jobs.counts import in_resource_queue
from simgrid_broker.world.queues.slots import slot_of
from simgrid_broker.world.queues.statistics import count_activity
from simgrid_broker.world.users.jobs import count_for_user

SENT, RUNNING = int(JobStatus.SENT), int(JobStatus.RUNNING)


class Recount(NamedTuple):
    """Sums over the live jobs; fields with names of Arrays have the same shape and unit."""

    rows: np.ndarray               # rows of the live jobs
    n_outside: np.ndarray          # (1,), jobs in no sum, because a row that they refer to does not exist
    counts: np.ndarray
    user_counts: np.ndarray
    user_jobs: np.ndarray
    user_queued_cores: np.ndarray
    running_cores: np.ndarray
    user_cores: np.ndarray
    hs06_milli: np.ndarray
    live_types: np.ndarray
    memory_asked: np.ndarray
    disk_traffic: np.ndarray
    transferring_to: np.ndarray
    tasks: np.ndarray
    payloads: np.ndarray           # (n_pseudo_queues,), running payloads
    alive: np.ndarray              # (n_tasks,), jobs
    pieces: np.ndarray             # (n_tasks,), chunks of the jobs


def live(arrays: Arrays) -> np.ndarray:
    """Rows of the jobs that are alive."""
    return np.flatnonzero(arrays.jobs["panda_id"])


def first_groups(arrays: Arrays) -> np.ndarray:
    """Group of share 0 for the jobs of each task, (n_tasks,): 0 unless the task is in a Resource queue."""
    tasks = np.arange(len(arrays.tasks))
    number = arrays.tasks["work_queue"].astype(np.int64) + 1
    return len(arrays.hs06_milli) * in_resource_queue(arrays, tasks) * number


def recount(arrays: Arrays) -> Recount:
    """Sum the rows of the live jobs."""
    n_tasks = len(arrays.tasks)
    sums = Recount(
        live(arrays), np.zeros(1, np.int64), np.zeros_like(arrays.counts), np.zeros_like(arrays.user_counts),
        np.zeros_like(arrays.user_jobs), np.zeros_like(arrays.user_queued_cores),
        np.zeros_like(arrays.running_cores), np.zeros_like(arrays.user_cores), np.zeros_like(arrays.hs06_milli),
        np.zeros_like(arrays.live_types), np.zeros_like(arrays.memory_asked), np.zeros_like(arrays.disk_traffic),
        np.zeros_like(arrays.transferring_to), arrays.tasks,
        np.zeros(len(arrays.pseudo_queues), np.int64), np.zeros(n_tasks, np.int64), np.zeros(n_tasks, np.int64))
    add_up(arrays.jobs, first_groups(arrays), sums)
    return sums


@compiled
def add_up(jobs, first_group, found):
    """Add each live job to the sums in `found`; first_group: (n_tasks,), as of `first_groups`."""
    for row in found.rows:
        job = jobs[row]
        if not belongs(job, first_group, found):
            found.n_outside[0] += 1
            continue
        status, share, user, task = job["status"], job["share"], job["user"], job["task"]
        group = first_group[task] + share
        found.counts[job["queue"], group, job["resource_type"], status] += 1
        found.user_counts[user, status] += 1
        count_for_user(found, job, status, 1)
        count_activity(found, job, status, 1)
        found.alive[task] += 1
        found.live_types[task, job["resource_type"]] += 1
        found.pieces[task] += max(job["n_chunks"], 0)
        if status == SENT or status == RUNNING:
            found.hs06_milli[share] += job["hs06_milli"]
        if status == RUNNING:
            found.running_cores[job["queue"], group, job["resource_type"]] += job["corecount"]
            found.user_cores[user] += job["corecount"]
            if job["due_sequence"] != 0:
                found.payloads[slot_of(job) % len(found.payloads)] += 1


@compiled
def belongs(job, first_group, found):
    """True if all rows to which a job refers exist; otherwise compiled code would write outside the arrays."""
    n_queues, _, n_types, n_status = found.counts.shape
    return (within(job["queue"], n_queues) and within(job["resource_type"], n_types) and within(job["status"], n_status)
            and within(job["task"], len(first_group)) and within(job["share"], len(found.hs06_milli))
            and within(job["user"], len(found.user_cores)) and within(job["user_row"] - 1, len(found.user_jobs))
            and within(job["pseudo_queue"], len(found.payloads)))


@compiled
def within(number, size):
    """True if a table of `size` rows has the row; -1 (unnamed) counts in the last row, as in the world."""
    return -1 <= number < size
