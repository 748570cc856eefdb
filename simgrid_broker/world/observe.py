"""What decisions may see of the world, as the frozen dataclasses of `views`.

What lives here: one function for each view. What does not: deciding, the true values of jobs, which no view holds, and
the nuclei (`nuclei`).
"""

import numpy as np

from simgrid_broker import views
from simgrid_broker.names import JobStatus
from simgrid_broker.schema.tasks import RAM_UNITS

S = JobStatus


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
        fairsharepolicy=tuple(policies[queue] for queue in pseudo["queue"]), version=world.queues_version,
        bare_nucleus=of["bare_nucleus"].astype(np.int8))


def num_slots(world, candidates: views.Queues) -> np.ndarray | None:
    """Slots that are to be filled in advance at each candidate, (n,), -1 = not set; None if no queue sets any."""
    slots = world.arrays.queues["num_slots"]
    return slots[candidates.queue] if np.any(slots >= 0) else None


def task(world, row: int) -> views.Task:
    """A task as the brokers may know it."""
    t, words = world.arrays.tasks[row], world.vocabularies
    n_jobs = int(t["n_jobs"] - t["n_finished"] - t["n_failed"])
    counted = counted_inputs(world, row)
    parent = world.arrays.tasks[t["parent"] - 1] if t["parent"] > 0 else None
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
        total_input_bytes=counted * float(t["input_bytes_per_job"]), nucleus=int(t["nucleus"]),
        total_input_files=round(counted * int(t["n_input_files"])),
        t1weight=int(t["t1weight"]), fullchain=int(t["fullchain"]), inputprestaging=bool(t["inputprestaging"]),
        parent_nucleus=-1 if parent is None else int(parent["nucleus"]),
        parent_fullchain=0 if parent is None else int(parent["fullchain"]),
        frozen_for_s=0.0 if np.isnan(t["frozen_s"]) else float(world.state["now_s"] - t["frozen_s"]))


def counted_inputs(world, row: int) -> float:
    """Inputs of a task that task brokerage counts, in jobs: none if no replica is known, else all or the master's part.

    Source: PanDA brokerage documentation, production task brokerage (taskBrokerOnMaster).
    """
    t = world.arrays.tasks[row]
    if world.arrays.replica_site[row].max() < 0:
        return 0.0
    return int(t["n_jobs"]) * (1.0 - float(t["secondary_fraction"]) * int(t["taskbrokeronmaster"]))


def stats(snapshot, share: int, candidates: views.Queues, num_slots: np.ndarray | None = None,
          resource_type: int | None = None) -> views.Stats:
    """Job numbers of one share at each candidate's queue; jobs made since the snapshot count as defined.

    num_slots: (n,) of Harvester_Slots at the candidates, None if none is set. With a resource type also those of that
    type alone, which only the edition `deployed` asks for.
    """
    of = candidates.queue
    still = snapshot.read.get((share, resource_type))
    if still is None or len(still["running"]) != len(of):
        still = snapshot.read[share, resource_type] = _still_numbers(snapshot, share, of, resource_type)
    defined = (snapshot.by_share[share, S.DEFINED] + snapshot.placed[share]).take(of)
    return views.Stats(taken_at=snapshot.taken_at, defined=defined, num_slots=num_slots, **still)


def _still_numbers(snapshot, share: int, of: np.ndarray, resource_type: int | None) -> dict[str, np.ndarray]:
    """Columns of `Stats` that stay as they are until the next snapshot; of: (n,) queue of each candidate."""
    numbers = snapshot.by_share[share]
    still = dict(running=numbers[S.RUNNING].take(of), assigned=numbers[S.ASSIGNED].take(of),
                 activated=numbers[S.ACTIVATED].take(of), starting=numbers[S.STARTING].take(of),
                 n_batch_job=snapshot.workers.take(of))
    if resource_type is not None:
        typed = snapshot.counts[:, share, resource_type]
        still |= dict(running_of_type=typed[of, S.RUNNING], assigned_of_type=typed[of, S.ASSIGNED],
                      queued_of_type=(typed[:, S.DEFINED] + typed[:, S.ACTIVATED] + typed[:, S.STARTING])[of])
    return still


def input_fraction(world, row: int, candidates: views.Queues) -> np.ndarray | None:
    """Part of a task's input at each candidate's site, (n,), 0 to 1; None if it has no input."""
    arrays = world.arrays
    here, has_input = np.zeros(len(candidates.site)), False
    for site, fraction in zip(arrays.replica_site[row].tolist(), arrays.replica_fraction[row].tolist(), strict=True):
        if site >= 0:
            has_input = True
            here[(candidates.site == site) & (here < fraction)] = fraction
    return here if has_input and arrays.tasks["input_bytes_per_job"][row] > 0 else None


def locality(task: views.Task, fraction: np.ndarray | None, n_jobs: int) -> views.Locality | None:
    """Input of `n_jobs` jobs of a task in bytes and files, from `input_fraction`; None if it has no input."""
    if fraction is None:
        return None
    total, files = task.input_bytes_per_job * n_jobs, task.n_files_per_job * n_jobs
    return views.Locality(total, files, fraction * total, np.ceil((1.0 - fraction) * files))


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
