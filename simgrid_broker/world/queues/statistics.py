"""Activity of each PanDA queue over all shares: starts, pilots, cores, memory per core, transfers and disk traffic.

Sources: brokerage reference, section 0.3; lifecycle reference, sections 1.3 and 5.2 (mean memory).
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import JobStatus
from simgrid_broker.units import HOUR
from simgrid_broker.world.arrays import Arrays

PILOTS_OF_S = 3 * HOUR
"""Window in which pilot contacts are counted, s; source: as above."""
S = JobStatus
RUNNING, TRANSFERRING, ACTIVATED, STARTING = map(int, (S.RUNNING, S.TRANSFERRING, S.ACTIVATED, S.STARTING))
PARTS = 1 << 20
"""Parts of a unit, MB or kB/s, in which sums over jobs are kept."""


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
    pseudo = arrays.pseudo_queues
    return Details(arrays.queues["laststart_s"].copy(), pseudo["n_submitted"].copy(), pseudo["n_running"].copy(),
                   arrays.transferring_to.copy())


@compiled
def parts(value):
    """A figure of a job in whole parts, of which sums do not depend on the order of the jobs."""
    return np.int64(round(value * PARTS))


@compiled
def count_traffic(world, job, change):
    """Count a running job in or out of the disk traffic of its queue; change: 1 or -1."""
    of_task = world.tasks[job["task"]]["diskio"]
    if of_task != 0:
        world.disk_traffic[job["queue"]] += change * parts(of_task / job["corecount"])


@compiled
def count_activity(world, job, status, change):
    """Count a job in or out of the sums of its queue in a status; change: 1 or -1; world: Arrays or a recount."""
    if status == RUNNING or status == STARTING:
        column = 1 if status == STARTING else 0
        per_core = np.float64(job["ramcount_mb"]) / job["corecount"]
        world.memory_asked[job["queue"], column] += change * parts(per_core)
        if status == RUNNING:
            count_traffic(world, job, change)
    elif status == TRANSFERRING and job["nucleus"] >= 0:
        world.transferring_to[job["queue"], job["nucleus"]] += change


def activity(arrays: Arrays, by_status: np.ndarray, cores: np.ndarray,
             now: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Submitted and running workers of each queue, and columns of `views.LOAD` over all shares, (n_queues,) each.

    by_status: (n_status, n_queues) jobs; cores: (n_queues,) in use. Before the run every queue had pilots and started
    jobs. A queue has pilots if a worker holds a slot or a pilot requested a job within PILOTS_OF_S.
    """
    workers, (idle_s, n_pilot) = np.zeros(len(cores), np.int64), np.zeros((2, len(cores)))
    asks_jobs = look_at_queues(arrays, float(now), workers, idle_s, n_pilot)
    columns = dict(running_all=by_status[RUNNING], activated_all=by_status[ACTIVATED], starting_all=by_status[STARTING],
                   transferring=by_status[TRANSFERRING], cores_running=cores, idle_s=idle_s, n_pilot=n_pilot,
                   cores_starting=by_status[STARTING] * arrays.queues["corecount"])
    if asks_jobs:
        columns |= dict(transferring_unwritable=np.zeros_like(workers), diskio=np.empty_like(idle_s))
        look_at_jobs(arrays, by_status[RUNNING], columns["transferring_unwritable"], columns["diskio"])
    return workers, columns


@compiled
def look_at_queues(world: Arrays, now, workers, idle_s, n_pilot):
    """Add submitted and running workers to `workers`, 0 before, and fill in the others, columns of `views.LOAD`.

    Returns whether those of `look_at_jobs` are needed: only for closed storages or tasks with diskIO.
    """
    for queue in range(len(workers)):
        idle_s[queue] = now - max(world.queues[queue]["laststart_s"], 0.0)
        n_pilot[queue] = now - world.queues[queue]["lastpilot_s"] <= PILOTS_OF_S
    for pseudo in world.pseudo_queues:
        workers[pseudo["queue"]] += pseudo["n_submitted"] + pseudo["n_running"]
        n_pilot[pseudo["queue"]] += pseudo["n_running"]
    for storage in world.storages:
        if storage["write_wan_off"] == 1:
            return True
    return world.settings[0]["any_diskio"] != 0


@compiled
def look_at_jobs(world: Arrays, running, unwritable, diskio):
    """Fill in columns of `views.LOAD`, `unwritable` 0 before, that only closed storages or disk traffic make needed."""
    for queue in range(len(running)):
        diskio[queue] = world.disk_traffic[queue] / PARTS / max(running[queue], 1)
    for site in range(len(world.sites)):
        for queue in range(len(running) if is_unwritable(world, site) else 0):
            unwritable[queue] += world.transferring_to[queue, site]


@compiled
def is_unwritable(world: Arrays, site):
    """True if the storage of a site receives no files; source: brokerage reference, 2.2."""
    storage = world.sites[site]["storage"]
    return storage >= 0 and world.storages[storage]["write_wan_off"] == 1


def mean_memory(arrays: Arrays, running: np.ndarray, starting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean memory per core that jobs asked for, MB, (n_queues,), NaN = no job: of running, of running and starting.

    running, starting: number of these jobs at each queue, (n_queues,).
    """
    found = np.full((2, len(running)), np.nan)
    average(arrays.memory_asked, running, starting, found)
    return found[0], found[1]


@compiled
def average(memory, running, starting, found):
    """Write what `mean_memory` returns to `found`, (2, n_queues), NaN before; memory: sums of the jobs of both kinds.
    """
    for queue in range(len(running)):
        n_jobs, total = running[queue], memory[queue, 0]
        if n_jobs > 0:
            found[0, queue] = total / PARTS / n_jobs
        n_jobs, total = n_jobs + starting[queue], total + memory[queue, 1]
        if n_jobs > 0:
            found[1, queue] = total / PARTS / n_jobs
