"""Writers of the columns of tasks, queues, storages and drives, and of the marks of jobs; a task's status has its own
(`tasks.transitions`)."""

from collections.abc import Sequence
from math import isnan

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import JobMark, JobStatus, QueueStatus
from simgrid_broker.schema import TASKS
from simgrid_broker.schema.grid import OFF
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.datasets import members_of, note_added, replica_tables
from simgrid_broker.world.data.replicas import add_replica_of, drop_replicas_of
from simgrid_broker.world.queues.statistics import count_traffic
from simgrid_broker.world.world import World

RUNNING = int(JobStatus.RUNNING)
CLAIMS = {column.name for column in TASKS.columns if column.unknown}


def set_task(world: World, row: int, **columns: float) -> None:
    """Write columns of a task, in the units of the table, a claim of NaN as 0; its jobs keep their values.

    Running jobs have the disk traffic that their task has now.
    """
    tasks = world.arrays.tasks                          # NumPy writes a row of a column faster than a column of a row
    world.n_moves += 1
    if "diskio" in columns:
        traffic = columns.pop("diskio")
        set_traffic(world.arrays, row, 0.0 if isnan(traffic) else float(traffic))
    for name, value in columns.items():
        tasks[name][row] = 0 if name in CLAIMS and isnan(value) else value


def set_tasks(world: World, rows: np.ndarray, **columns: np.ndarray | float) -> None:
    """Write columns of the tasks in `rows`, one value each or one for all, as `set_task` writes those of one.

    Disk traffic is written for one task alone.
    """
    world.n_moves += len(rows)
    for name, values in columns.items():
        world.arrays.tasks[name][rows] = np.where(np.isnan(values), 0, values) if name in CLAIMS else values


def mark_jobs(world: World, rows: Sequence[int], mark: JobMark) -> None:
    """Add a mark to the jobs in some rows."""
    world.arrays.job_files["marks"][np.asarray(rows, np.int64)] |= np.uint8(mark)


@compiled
def set_traffic(world: Arrays, row, traffic):
    """Write the disk traffic of a task, kB/s per core, and count its running jobs with it."""
    count_traffic_of(world, row, -1)
    world.tasks[row]["diskio"] = traffic
    count_traffic_of(world, row, 1)


@compiled
def count_traffic_of(world: Arrays, row, change):
    """Count the running jobs of a task in or out of the disk traffic of their queues; change: 1 or -1."""
    job = world.live_jobs[row]["first"]
    while job >= 0:
        if world.job_status[job] == RUNNING:
            count_traffic(world, world.jobs[job], change)
        job = world.neighbours[job]["next"]


@compiled
def thaw(world: Arrays, row):
    """Note that brokerage no longer fails for a task."""
    world.tasks[row]["frozen_s"] = np.nan


@compiled
def give_nucleus(world: Arrays, row, site):
    """Give a task a nucleus, one more than it has had."""
    task = world.tasks[row]
    task["nucleus"], task["frozen_s"] = site, np.nan
    task["n_nuclei"] += 1


def add_input(world: World, row: int, number: int) -> None:
    """Add jobs or pieces to the input of a task."""
    world.arrays.tasks["n_jobs"][row] += number
    note_added(world.arrays, row, number)


def return_to(world: World, row: int | np.ndarray, status: int | None = None) -> None:
    """Remember the status to which a task, or each in some rows, returns, by default the one that it has."""
    tasks = world.arrays.tasks
    tasks["old_status"][row] = tasks["status"][row] if status is None else status


def set_reason(world: World, row: int | np.ndarray, reason: str) -> None:
    """Write why a broker or its scouts stopped a task, or each in some rows, into errorDialog; "" clears it."""
    world.arrays.tasks["errordialog"][row] = world.vocabularies["reasons"].index(reason) if reason else -1


def add_attempts(world: World, row: int, number: int) -> None:
    """Allow more attempts at each input of a task, and more failures if these are limited."""
    tasks = world.arrays.tasks
    tasks["max_attempt"][row] += number
    tasks["max_failure"][row] += number if tasks["max_failure"][row] else 0


def set_scout_inputs(world: World, row: int, pieces: int) -> None:
    """Limit a task to its scouts: pieces of input that may be used, 0 = all."""
    world.arrays.scout_inputs[row] = pieces


def split_by_files(world: World, row: int, most_files: int) -> None:
    """Withdraw nFilesPerJob and nGBPerJob from a task, and raise a limit of the files of its jobs."""
    split = world.arrays.splitting[row]
    split["nfilesperjob"], split["ngbperjob"] = 0, 0
    if split["nmaxfilesperjob"]:
        split["nmaxfilesperjob"] = max(split["nmaxfilesperjob"], most_files)


def limit_size(world: World, row: int, gb: float | None) -> None:
    """Set nGBPerJob of a task, GB; None leaves it."""
    if gb is not None:
        world.arrays.splitting["ngbperjob"][row] = gb


def limit_input(world: World, row: int, gb: float, n_files: int) -> None:
    """Limit the input of the jobs of a task, GB and files."""
    split = world.arrays.splitting[row]
    split["ngbperjob"], split["nmaxfilesperjob"] = gb, n_files


def limit_walltime(world: World, row: int, most_s: float, always: bool = False) -> None:
    """Limit the wall time of the jobs of a task, s; always: even if it says how many files or events a job has."""
    split = world.arrays.splitting[row]
    if always or not (split["nfilesperjob"] or split["neventsperjob"]):
        split["maxwalltime"] = most_s / 3600


def move_input(world: World, row: int, site: int) -> None:
    """Put all input of a task at one site, on disk; a task without input keeps none."""
    number = world.arrays.input_dataset[row]
    if world.arrays.datasets["first_replica"][number] >= 0:
        drop_replicas_of(world.arrays, number)
        add_replica_of(world.arrays, number, site, 1.0)


def lose_files(world: World, site: str, fraction: float, tasks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lose a fraction of the files at a site; returns the rows of the tasks concerned and what each had lost before.

    tasks: rows of the tasks whose files are looked at.

    Tasks with all their input at another site as well lose none; of a container the files are lost evenly.
    """
    arrays, place = world.arrays, world.vocabularies["sites"].index(site)
    gone = fraction * _only_at(arrays, arrays.input_dataset[tasks], place)
    for k in np.flatnonzero(arrays.containers["number"][tasks]).tolist():
        members = members_of(arrays, int(tasks[k]))
        parts = _only_at(arrays, members["dataset"], place)
        gone[k] = np.nan if np.isnan(parts).all() else fraction * np.average(np.nan_to_num(parts),
                                                                             weights=members["n_pieces"])
    rows, gone = tasks[~np.isnan(gone)], gone[~np.isnan(gone)]
    before = arrays.input_loss["lost"][rows].copy()
    arrays.input_loss["lost"][rows] = 1 - (1 - before) * (1 - gone)
    return rows, before


def _only_at(arrays: Arrays, datasets: np.ndarray, site: int) -> np.ndarray:
    """Part of each dataset that no other site has, (n,); NaN = the site has none of it, or another has all."""
    replica, part, _ = replica_tables(arrays, datasets)
    held = replica == site
    elsewhere = np.where(held | (replica < 0), 0, part).max(axis=1)
    only = np.minimum(1 - elsewhere, np.where(held, part, 0).max(axis=1))
    return np.where(held.any(axis=1) & (elsewhere < 1), only, np.nan)


def restore_files(world: World, rows: np.ndarray, lost: np.ndarray) -> None:
    """Set the fraction of the input of tasks that is lost to what it was before, (n,)."""
    world.arrays.input_loss["lost"][rows] = lost


def set_queue_status(world: World, queue: str, status: str) -> None:
    """Change the status of a queue in CRIC."""
    world.n_moves += 1
    world.arrays.queues["status"][world.vocabularies["queues"].index(queue)] = QueueStatus.of(status)


def set_mean_memory_high(world: World, high: np.ndarray) -> None:
    """Note the queues that give out only jobs below their target of the mean memory, (n_queues,) bool."""
    world.arrays.queues["mean_memory_high"] = high


def set_activity(world: World, storage: str, activity: str, status: str) -> None:
    """Change the status of an activity (read_wan, ...) of an endpoint in CRIC; brokers look at its replicas again."""
    arrays, number = world.arrays, world.vocabularies["storages"].index(storage)
    arrays.storages[f"{activity}_off"][number] = OFF[status]
    held = (arrays.replicas["storage"] == number) & (arrays.replicas["dataset"] >= 0)
    arrays.datasets["version"][np.unique(arrays.replicas["dataset"][held])] += 1
    world.state["replicas_version"] += 1


def take_done(world: World) -> list[int]:
    """Rows of the tasks that came to have nothing left since this was last asked."""
    if number := world.arrays.state["n_done_tasks"].item():
        world.arrays.state["n_done_tasks"] = 0
    return world.arrays.done_tasks[:number].tolist()


def mount(world: World, storage: int) -> None:
    """Let a drive of an endpoint of tape take up a dataset."""
    world.arrays.storages["mounted"][storage] += 1


def unmount(world: World, storage: int) -> None:
    """Give a drive back."""
    world.arrays.storages["mounted"][storage] -= 1


def read_from_tape(world: World, storage: int, size: float) -> None:
    """Count bytes that a drive has read, which it holds until they are passed on or given up."""
    for name in ("read_bytes", "held_bytes"):
        world.arrays.storages[name][storage] += size


def let_go(world: World, storage: int, size: float, passed: bool) -> None:
    """Count bytes that a drive holds no longer: passed on to a disk or a link, or given up."""
    world.arrays.storages["held_bytes"][storage] -= size
    world.arrays.storages["passed_bytes" if passed else "dropped_bytes"][storage] += size
