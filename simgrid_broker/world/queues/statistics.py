"""Activity of each PanDA queue over all shares: starts, pilots, cores, memory per core, transfers and disk traffic.

Sources: brokerage reference, section 0.3; lifecycle reference, sections 1.3 and 5.2 (mean memory).
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import JobStatus
from simgrid_broker.units import HOUR
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.rows import used_jobs, used_rows

PILOTS_OF_S = 3 * HOUR
"""Window in which pilot contacts are counted, s; source: as above."""
S = JobStatus
RUNNING, TRANSFERRING, ACTIVATED, STARTING = map(int, (S.RUNNING, S.TRANSFERRING, S.ACTIVATED, S.STARTING))
ACTIVITY = np.dtype([
    ("running_all", "i8"), ("activated_all", "i8"), ("starting_all", "i8"), ("transferring", "i8"),
    ("cores_running", "i8"), ("cores_starting", "i8"), ("idle_s", "f8"), ("n_pilot", "f8")])
"""Columns of `views.LOAD` that follow from counters."""


class Details(NamedTuple):
    """Details of queues that only a written snapshot has, as old as the statistics.

    laststart_s: (n_queues,); submitted, running: (n_pseudo_queues,) workers; transferring_to: (n_queues, n_sites) jobs
    whose output is on its way.
    """

    laststart_s: np.ndarray
    submitted: np.ndarray
    running: np.ndarray
    transferring_to: np.ndarray


def details(arrays: Arrays) -> Details:
    """Details of the queues as they are now."""
    jobs, pseudo = used_jobs(arrays), arrays.pseudo_queues
    rows = jobs[(jobs["panda_id"] > 0) & (jobs["status"] == TRANSFERRING) & (jobs["nucleus"] >= 0)]
    transferring = np.zeros((len(arrays.queues), len(arrays.sites)), np.int64)
    np.add.at(transferring, (rows["queue"], rows["nucleus"]), 1)
    return Details(arrays.queues["laststart_s"].copy(), pseudo["n_submitted"].copy(), pseudo["n_running"].copy(),
                   transferring)


def activity(arrays: Arrays, by_share: np.ndarray, now: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Submitted and running workers of each queue, and columns of `views.LOAD` over all shares, (n_queues,) each.

    by_share: (n_shares, n_status, n_queues) jobs. Before the run every queue had pilots and started jobs. A queue has
    pilots if a worker holds a slot or a pilot requested a job within PILOTS_OF_S.
    """
    workers, found = np.zeros(len(arrays.queues), np.int64), np.zeros(len(arrays.queues), ACTIVITY)
    asks_jobs = look_at_queues(arrays, by_share, float(now), workers, found)
    columns = {name: found[name] for name in ACTIVITY.names or ()}
    return workers, columns | _of_jobs(arrays) if asks_jobs else columns


@compiled
def look_at_queues(world: Arrays, by_share, now, workers, found):
    """Add submitted and running workers to `workers`, and fill in `found`, of ACTIVITY; arguments as of `activity`.

    Returns whether columns without a counter are needed: only for closed storages or tasks with diskIO.
    """
    for queue in range(len(found)):
        one, described = found[queue], world.queues[queue]
        for share in range(len(by_share)):
            numbers = by_share[share]
            one["running_all"] += numbers[RUNNING, queue]
            one["activated_all"] += numbers[ACTIVATED, queue]
            one["starting_all"] += numbers[STARTING, queue]
            one["transferring"] += numbers[TRANSFERRING, queue]
        one["cores_running"] = world.running_cores[queue].sum()
        one["cores_starting"] = one["starting_all"] * described["corecount"]
        one["idle_s"] = now - max(described["laststart_s"], 0.0)
        one["n_pilot"] = now - described["lastpilot_s"] <= PILOTS_OF_S
    for pseudo in world.pseudo_queues:
        workers[pseudo["queue"]] += pseudo["n_submitted"] + pseudo["n_running"]
        found[pseudo["queue"]]["n_pilot"] += pseudo["n_running"]
    for storage in world.storages:
        if storage["write_wan_off"] == 1:
            return True
    return world.settings[0]["any_diskio"] != 0


def _of_jobs(arrays: Arrays) -> dict[str, np.ndarray]:
    """Columns without a counter, from a pass over the jobs."""
    n_queues = len(arrays.queues)
    transferring, running, diskio = np.zeros(n_queues, np.int64), np.zeros(n_queues, np.int64), np.zeros(n_queues)
    look_at_jobs(arrays, unwritable_sites(arrays), transferring, running, diskio)
    return dict(transferring_unwritable=transferring, diskio=diskio / np.maximum(running, 1))


def unwritable_sites(arrays: Arrays) -> np.ndarray:
    """Sites whose storage receives no files, (n_sites,) bool; source: brokerage reference, 2.2."""
    storage = arrays.sites["storage"]
    closed = np.zeros(len(storage), bool)
    closed[storage >= 0] = arrays.storages["write_wan_off"][storage[storage >= 0]] == 1
    return closed


@compiled
def look_at_jobs(world: Arrays, unwritable, transferring, running, diskio):
    """Count jobs transferring to unwritable sites and running jobs, and sum disk traffic per core, by queue."""
    any_unwritable = unwritable.any()
    for row in used_rows(world):
        status, queue = world.job_status[row], world.job_queues[row]
        if status == TRANSFERRING and any_unwritable:
            nucleus = world.jobs[row]["nucleus"]
            transferring[queue] += nucleus >= 0 and unwritable[nucleus]
        elif status == RUNNING:
            running[queue] += 1
            of_task = world.tasks[world.job_tasks[row]]["diskio"]
            if of_task != 0:
                diskio[queue] += of_task / world.jobs[row]["corecount"]


@compiled
def add_memory(world: Arrays, chosen, total_mb, n_jobs):
    """Add memory per core, MB, and number of running (column 0) and starting jobs (1), (n_queues, 2) each.

    chosen: queues that are looked at, (n_queues,) bool.
    """
    for row in used_rows(world):
        status, queue = world.job_status[row], world.job_queues[row]
        if chosen[queue] and (status == RUNNING or status == STARTING):
            job, column = world.jobs[row], 1 if status == STARTING else 0
            total_mb[queue, column] += np.float64(job["ramcount_mb"]) / job["corecount"]
            n_jobs[queue, column] += 1


def mean_memory(arrays: Arrays, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean memory per core that jobs asked for, MB, (n_queues,), NaN = no job: of running, of running and starting.

    chosen: queues that are looked at, (n_queues,) bool; NaN at the others.
    """
    shape = len(arrays.queues), 2
    total_mb, n_jobs = np.zeros(shape), np.zeros(shape, np.int64)
    add_memory(arrays, chosen, total_mb, n_jobs)
    total_mb, n_jobs = np.cumsum(total_mb, axis=1), np.cumsum(n_jobs, axis=1)
    mean = np.divide(total_mb, n_jobs, out=np.full(shape, np.nan), where=n_jobs > 0)
    return mean[:, 0], mean[:, 1]
