"""What decisions may see of the world, as the frozen dataclasses of `views`.

What lives here: one function for each view. What does not: deciding, and the true values of jobs, which no view holds.
"""

import numpy as np

from simgrid_broker import views
from simgrid_broker.names import JobStatus, TaskStatus
from simgrid_broker.schema.tasks import RAM_UNITS

S = JobStatus
OPEN_TASKS = (TaskStatus.READY, TaskStatus.SCOUTING, TaskStatus.RUNNING, TaskStatus.PENDING)
"""Tasks whose remaining work burdens their nucleus; source: brokerage reference, section 1.4."""


def queues(world) -> views.Queues:
    """Candidates of job brokerage: every pseudo-queue with its queue's description."""
    arrays, grid = world.arrays, world.scenario.grid
    pseudo = arrays.pseudo_queues
    of = arrays.queues[pseudo["queue"]]
    policies = [queue.fairsharepolicy for queue in grid.queues.values()]
    pull_ups = np.array([queue.workflow == "pull_ups" for queue in grid.queues.values()], bool)
    return views.Queues(
        slot_corecount=of["corecount"].astype(np.int64),
        pull_ups=(of["unified"] == 1) & pull_ups[pseudo["queue"]], names=world.vocabularies["pseudo_queues"],
        queue=pseudo["queue"].astype(np.int64),
        site=of["site"].astype(np.int64), resource_type=pseudo["resource_type"].astype(np.int64),
        status=of["status"].copy(), production=of["production"] == 1, analysis=of["analysis"] == 1,
        corecount=pseudo["corecount"].astype(np.int64), corepower=of["corepower"].copy(),
        maxrss_mb=pseudo["maxrss_mb"].copy(), minrss_mb=pseudo["minrss_mb"].copy(), maxtime_s=of["maxtime_s"].copy(),
        mintime_s=of["mintime_s"].copy(), maxwdir_mb=of["maxwdir_mb"].copy(), direct_io=of["direct_io"] == 1,
        opportunistic=of["opportunistic"] == 1, transferringlimit=of["transferringlimit"].copy(),
        fairsharepolicy=tuple(policies[queue] for queue in pseudo["queue"]), version=world.queues_version)


def task(world, row: int) -> views.Task:
    """A task as the brokers may know it."""
    t, words = world.arrays.tasks[row], world.vocabularies
    n_jobs = int(t["n_jobs"] - t["n_finished"] - t["n_failed"])
    return views.Task(
        jeditaskid=int(t["jeditaskid"]), share=int(t["share"]), gshare=words["shares"][t["share"]],
        prodsourcelabel=words["labels"][t["label"]], processingtype=words["processing_types"][t["processing_type"]],
        workinggroup=words["working_groups"][t["working_group"]], currentpriority=int(t["priority"]),
        corecount=int(t["corecount"]), resource_type=int(t["resource_type"]), ramcount=float(t["ramcount"]),
        ramunit=RAM_UNITS[t["ramunit"]], baseramcount=float(t["baseramcount"]), cputime=float(t["cputime"]),
        cpuefficiency=float(t["cpuefficiency"]), basewalltime_s=float(t["basewalltime_s"]),
        n_events_per_job=int(t["n_events_per_job"]), n_files_per_job=int(t["n_input_files"]),
        input_bytes_per_job=float(t["input_bytes_per_job"]), output_bytes_per_job=float(t["output_bytes_per_job"]),
        workdisk_bytes=float(t["workdiskcount_mb"]) * 1e6, iointensity=float(t["iointensity"]), n_jobs=n_jobs,
        total_input_bytes=float(t["input_bytes_per_job"]) * int(t["n_jobs"]), nucleus=int(t["nucleus"]),
        total_input_files=int(t["n_input_files"]) * int(t["n_jobs"]),
        frozen_for_s=0.0 if np.isnan(t["frozen_s"]) else float(world.state["now_s"] - t["frozen_s"]))


def stats(world, snapshot, share: int, nucleus: int = -1, resource_type: int | None = None) -> views.Stats:
    """What JEDI knows of the grid for one share and nucleus; jobs made since the snapshot count as placed.

    With a resource type also the numbers of that type alone, which only the edition `deployed` asks for.
    """
    load = snapshot.load[share].get(resource_type)
    if load is None:
        load = snapshot.load[share][resource_type] = _load(world, snapshot, share, resource_type)
    store, link = snapshot.around.get("store"), snapshot.around.get(nucleus)
    if store is None:
        store = snapshot.around["store"] = stores(world)
    if link is None:
        link = snapshot.around[nucleus] = links_to(world, nucleus)
    return views.Stats(snapshot.taken_at, load, store, link)


def _load(world, snapshot, share: int, resource_type: int | None) -> np.ndarray:
    """Job numbers of a share at each PanDA queue, (n_queues,) of LOAD."""
    queues, numbers = world.arrays.queues, snapshot.by_share[share]
    columns = dict(running=numbers[S.RUNNING], assigned=numbers[S.ASSIGNED], activated=numbers[S.ACTIVATED],
                   starting=numbers[S.STARTING], defined=numbers[S.DEFINED], placed=snapshot.placed[share],
                   n_batch_job=snapshot.workers, num_slots=queues["num_slots"],
                   transferring=snapshot.by_share[:, S.TRANSFERRING].sum(axis=0),
                   running_all=snapshot.by_share[:, S.RUNNING].sum(axis=0))
    if resource_type is not None:
        typed = snapshot.counts[:, share, resource_type]
        columns |= dict(running_of_type=typed[:, S.RUNNING], assigned_of_type=typed[:, S.ASSIGNED],
                        queued_of_type=typed[:, S.DEFINED] + typed[:, S.ACTIVATED] + typed[:, S.STARTING])
    return views.records(views.LOAD, len(queues), **columns)


def stores(world) -> np.ndarray:
    """The storage that takes each site's output, (n_sites,) of STORE."""
    arrays = world.arrays
    number = arrays.sites["storage"]
    storage = np.zeros(len(number), arrays.storages.dtype)
    storage[number >= 0] = arrays.storages[number[number >= 0]]
    usable = storage["free_bytes"] + storage["expired_bytes"] - storage["min_free_bytes"]
    return views.records(views.STORE, len(number), present=number >= 0, usable_bytes=usable, read_lan=True,
                         write_lan=True, read_wan=storage["read_wan_off"] == 0, write_wan=storage["write_wan_off"] == 0)


def links_to(world, nucleus: int) -> np.ndarray:
    """The way from each site to a nucleus, (n_sites,) of LINK; nothing is known of it if there is no nucleus (-1)."""
    return world.network.links_to(nucleus)


def input_fraction(world, row: int) -> np.ndarray | None:
    """Part of a task's input at each site, (n_sites,), 0 to 1; None if it has no input."""
    arrays = world.arrays
    if arrays.tasks["input_bytes_per_job"][row] <= 0 or not (arrays.replica_site[row] >= 0).any():
        return None
    here = np.zeros(len(arrays.sites))
    for site, fraction in zip(arrays.replica_site[row].tolist(), arrays.replica_fraction[row].tolist(), strict=True):
        if site >= 0:
            here[site] = max(here[site], fraction)
    return here


def locality(task: views.Task, fraction: np.ndarray | None, n_jobs: int) -> views.Locality | None:
    """Input of `n_jobs` jobs of a task, from `input_fraction`; None if it has no input."""
    if fraction is None:
        return None
    total, files = task.input_bytes_per_job * n_jobs, task.n_files_per_job * n_jobs
    return views.Locality(total, files, fraction, fraction, fraction, fraction)


def nuclei(world, row: int, remaining_work: np.ndarray, priority_work: np.ndarray | None = None) -> views.Nuclei:
    """Candidates of task brokerage for one task.

    remaining_work: (n_sites,), HS06 s, of all tasks; priority_work: the same of the task's share at its priority or
    above, which only the edition `deployed` asks for.
    """
    arrays = world.arrays
    site = np.flatnonzero(arrays.sites["nucleus"])
    has_storage = arrays.sites["storage"][site] >= 0
    storage = arrays.storages[np.where(has_storage, arrays.sites["storage"][site], 0)]
    t = arrays.tasks[row]
    here = np.zeros(len(site))
    for replica, fraction in zip(arrays.replica_site[row], arrays.replica_fraction[row], strict=True):
        here[site == replica] = np.maximum(here[site == replica], fraction)
    incoming = arrays.links["queued_files"].reshape(len(arrays.sites), -1)[:, site].sum(axis=0)
    return views.Nuclei(
        site=site, active=np.ones(len(site), bool), has_storage=has_storage,
        read_wan=storage["read_wan_off"] == 0, write_wan=storage["write_wan_off"] == 0,
        free_bytes=storage["free_bytes"].copy(), expired_bytes=storage["expired_bytes"].copy(),
        total_bytes=storage["total_bytes"].copy(), min_free_bytes=storage["min_free_bytes"].copy(),
        priority_work_hs06s=None if priority_work is None else priority_work[site],
        remaining_work_hs06s=remaining_work[site],
        queued_output_files=incoming, local_input_bytes=here * float(t["input_bytes_per_job"]) * int(t["n_jobs"]),
        local_input_files=here * int(t["n_input_files"]) * int(t["n_jobs"]))


def remaining_work(world, rows) -> np.ndarray:
    """Work that the tasks in `rows` still owe their nuclei by their own claim, (n_sites,), HS06 s."""
    tasks = world.arrays.tasks[rows]
    tasks = tasks[np.isin(tasks["status"], OPEN_TASKS) & (tasks["nucleus"] >= 0)]
    left = tasks["n_jobs"] - tasks["n_finished"] - tasks["n_failed"]
    work = np.zeros(len(world.arrays.sites))
    np.add.at(work, tasks["nucleus"], claimed_work(tasks, left))
    return work


def claimed_work(tasks, n_jobs):
    """CPU work of `n_jobs` jobs as their tasks claim it, HS06 s; 300 HS06 s an event where they claim none.

    Source: brokerage reference, section 1.4.
    """
    cputime = np.where(tasks["cputime"] > 0, tasks["cputime"], 300.0)
    return n_jobs * tasks["n_events_per_job"] * cputime


def share_usage(world) -> np.ndarray:
    """Power in use by each leaf share, (n_shares,), HS06."""
    return world.arrays.hs06_milli * 1e-3


def work_queue_counts(snapshot, share: int, resource_types) -> views.WorkQueueCounts:
    """Job numbers of a share in one resource type, or in a list of them; jobs made since the snapshot are defined."""
    numbers = snapshot.by_type[share, resource_types]
    numbers = (numbers if numbers.ndim == 1 else numbers.sum(axis=0)).tolist()
    return views.WorkQueueCounts(
        running=numbers[S.RUNNING], not_running=numbers[S.ASSIGNED] + numbers[S.ACTIVATED] + numbers[S.STARTING],
        defined=numbers[S.DEFINED] + int(snapshot.placed_by_type[share, resource_types].sum()),
        waiting=numbers[S.WAITING])
