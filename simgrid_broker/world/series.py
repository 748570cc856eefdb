"""Rows of the results: shares, queues, links and storages at one moment; jobs and transfers not ended with the run;
and the backlog: the work that live tasks hold back on the hour, and what keeps it from becoming jobs."""

from collections.abc import Iterator, Mapping

import numpy as np

from simgrid_broker.names import CORES_OF_ANY, JOB_QUEUED, JobStatus, SiteClass, TaskStatus
from simgrid_broker.schema import Column, Table
from simgrid_broker.schema.series import (
    DISPATCH_ACCOUNTS,
    LINK_SERIES,
    QUEUE_SERIES,
    SHARES,
    STORAGE_SERIES,
    WORKER_SERIES,
)
from simgrid_broker.units import HOUR
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.jobs.counts import of_shares
from simgrid_broker.world.recount import live
from simgrid_broker.world.tasks.input_files import find_staged
from simgrid_broker.world.world import World

COUNTED = ("running", "activated", "assigned", "transferring")
"""Statuses whose jobs the series count."""
CORES = ("held_core_s", "held_cores"), ("working_core_s", "working_cores"), ("used_core_s", "used_cores")
"""Accounts of cores and what is counted now, each a part of the one before."""
NUMBERS = ("missed", "cancelled", "started", "empty", *DISPATCH_ACCOUNTS)
"""Numbers of workers, requests and jobs since the sample before."""
ROWS_AT_ONCE = 1 << 15


def accounts_at(table: np.ndarray, now: float) -> dict[str, np.ndarray]:
    """Sums of the accounts of workers up to a time, with those that hold a slot at it, by column, (n,)."""
    names = "n_ever", "n_missed", "n_cancelled", "n_started", "n_empty", *(f"n_{name}" for name in DISPATCH_ACCOUNTS)
    sums = {name: table[name].copy() for name in names}
    return sums | {total: table[total] + now * table[cores] for total, cores in CORES}


def sums_of_links(links: np.ndarray, now: float) -> np.ndarray:
    """Bytes and files delivered, files that failed, s in which bytes moved, and bytes moved, up to now, (5, n)."""
    moving = (links["active_files"] > 0) & (links["rate"] > 0)
    passed = np.where(moving, now - links["updated_s"], 0.0)
    speed = np.minimum(links["rate"], links["file_rate"] * np.maximum(links["active_files"], 1))
    return np.array([links["bytes_done"], links["files_done"], links["files_failed"], links["busy_s"] + passed,
                     links["bytes_moved"] + passed * speed])


class Series:
    """Samples of a world; the figures of links are differences to the sample before, taken at `sampled_at`, s."""

    def __init__(self, world: World):
        self.world = world
        self.links_before, self.transfers_before = np.zeros((5, len(world.arrays.links))), (0, 0)
        self.sampled_at: float | None = None
        self.workers_before = accounts_at(world.arrays.worker_accounts, 0.0)
        pseudo = world.arrays.pseudo_queues
        self.pools = np.unique(np.stack([pseudo["queue"], pseudo["pool"]]), axis=1)      # of each PanDA queue

    def rows(self, now: float, targets: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Tables with their rows at this moment; targets: HS06 of each leaf share, (n_shares,)."""
        sums = self.world.job_sums
        for name, rows in (("shares", self._shares(sums.types_by_group, targets)),
                           ("queues", self._queues(sums.by_status)), ("links", self._links(now)),
                           ("storages", self._storages()), ("workers", self._workers(now))):
            if len(rows):
                rows["time_s"] = now
                yield name, rows

    def _shares(self, by_type: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """One row for each share and resource type; by_type: jobs, (n_groups, n_types, n_status)."""
        arrays = self.world.arrays
        numbers = of_shares(by_type[None], len(arrays.hs06_milli))[0]
        running = of_shares(arrays.running_cores, len(arrays.hs06_milli))
        n_shares, n_types, _ = numbers.shape
        rows = SHARES.empty(n_shares * n_types)
        rows["share"], rows["resource_type"] = np.divmod(np.arange(len(rows)), n_types)
        rows["target_hs06"] = np.repeat(targets, n_types)
        rows["running_cores"] = running.sum(axis=0, dtype=np.int64).ravel()
        rows["hs06"] = (running * arrays.queues["corepower"][:, None, None]).sum(axis=0).ravel()
        for name in COUNTED:
            rows[name] = numbers[:, :, JobStatus.of(name)].ravel()
        rows["queued"] = numbers[:, :, JOB_QUEUED].sum(axis=2).ravel()
        return rows

    def _queues(self, by_status: np.ndarray) -> np.ndarray:
        """One row for each PanDA queue; by_status: jobs, (n_status, n_queues)."""
        arrays = self.world.arrays
        rows = QUEUE_SERIES.empty(len(arrays.queues))
        rows["queue"], rows["status"] = np.arange(len(rows)), arrays.queues["status"]
        for name in COUNTED:
            rows[name] = by_status[JobStatus.of(name)]
        rows["running_cores"] = arrays.running_cores.sum(axis=(1, 2), dtype=np.int64)
        for name, number in (("workers_submitted", "n_submitted"), ("workers_running", "n_running")):
            rows[name] = np.bincount(arrays.pseudo_queues["queue"], arrays.pseudo_queues[number], len(rows))
        pools = arrays.pools[self.pools[1]]
        rows["free_cores"] = np.bincount(self.pools[0], (pools["closed"] == 0) * pools["free_cores"], len(rows))
        rows["site_class"] = self.world.analysis.site_class - SiteClass.LO
        return rows

    def _workers(self, now: float) -> np.ndarray:
        """One row for each PanDA queue and resource type with workers since the sample before."""
        pseudo = self.world.arrays.pseudo_queues
        accounts = accounts_at(self.world.arrays.worker_accounts, now)
        since = {name: accounts[name] - before for name, before in self.workers_before.items()}
        self.workers_before = accounts
        numbers = np.flatnonzero((pseudo["n_submitted"] > 0) | (since["held_core_s"] > 0) | (since["n_ever"] > 0)
                                 | (since["n_cancelled"] > 0))
        rows = WORKER_SERIES.empty(len(numbers))
        for name, column in (("waiting", "n_submitted"), ("running", "n_running"), ("queue", "queue"),
                             ("resource_type", "resource_type")):
            rows[name] = pseudo[column][numbers]
        for name in NUMBERS:
            rows[name] = since[f"n_{name}"][numbers]
        rows["submitted"] = (since["n_ever"] - since["n_missed"])[numbers]
        held, working, used = (since[total][numbers] / HOUR for total, _ in CORES)
        rows["used_core_h"], rows["idle_core_h"], rows["wasted_core_h"] = used, held - working, working - used
        return rows

    def _links(self, now: float) -> np.ndarray:
        """One row for each link with files waiting or under way, or on which files moved since the sample before.

        Only these are read in full: most links have no files and have not changed.
        """
        links, (_, files_before, failed_before, busy_before, _) = self.world.arrays.links, self.links_before
        before, self.transfers_before = self.transfers_before, self._transfers()
        if before == self.transfers_before == (0, before[1]):
            return LINK_SERIES.empty(0)
        numbers = np.flatnonzero((links["queued_files"] > 0) | (links["files_done"] != files_before)
                                 | (links["files_failed"] != failed_before) | (links["busy_s"] != busy_before))
        links = links[numbers]
        done = sums_of_links(links, now)
        since = done - self.links_before[:, numbers]
        self.links_before[:, numbers] = done
        busy = (since[:-1] > 0).any(axis=0) | (links["queued_files"] > 0)
        numbers, links, since = numbers[busy], links[busy], since[:, busy]
        rows = LINK_SERIES.empty(len(numbers))
        rows["source"], rows["destination"] = np.divmod(numbers, len(self.world.arrays.sites))
        for name in ("queued_files", "active_files", "active_limit"):
            rows[name] = links[name]
        rows["queued_output"] = links["queued_output"] + links["queued_express"]
        rows["mbps_hour"] = self.world.network.throughput(numbers)
        rows["bytes"], rows["files"], rows["files_failed"], moved_s, rows["bytes_moved"] = since
        if self.sampled_at is not None:
            rows["utilisation"] = moved_s / (now - self.sampled_at)
        return rows

    def _transfers(self) -> tuple[int, int]:
        """Transfers that wait or are under way, and those ever made: without any of the former none moves."""
        arrays = self.world.arrays
        return len(arrays.transfers) - self.world.free_rows("transfers"), int(arrays.state[0]["transfer_id"])

    def _storages(self) -> np.ndarray:
        storages = self.world.arrays.storages
        rows = STORAGE_SERIES.empty(len(storages))
        rows["storage"] = np.arange(len(rows))
        for name in ("total_bytes", "free_bytes", "expired_bytes", "written_bytes", "deleted_bytes", "min_free_bytes",
                     "read_bytes", "mounted"):
            rows[name] = storages[name]
        return rows


def unfinished_jobs(arrays: Arrays, now: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows and transition times of all live jobs, in batches, without the outcome drawn for them.

    Run times end now, or at the outage for jobs lost with their site.
    """
    rows = live(arrays)
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[begin:begin + ROWS_AT_ONCE]
        jobs, times = arrays.jobs.take(some), arrays.job_times[some]
        running = jobs["status"] == JobStatus.RUNNING
        last = np.where(jobs["due_sequence"] != 0, now, jobs["modification_s"])
        jobs["walltime_s"] = np.where(running, last - times[:, JobStatus.RUNNING], jobs["walltime_s"])
        for name in ("cause", "cputime_s", "stage_out_s"):
            jobs[name][running] = 0
        yield jobs, times


def unfinished_transfers(arrays: Arrays) -> np.ndarray:
    """Rows of all transfers that wait or are in progress, in order of submission."""
    transfers = arrays.transfers[arrays.transfers["transfer_id"] != 0]
    return transfers[np.argsort(transfers["transfer_id"])]


BACKLOG = Table("backlog", "the work without jobs of the tasks of one share, resource type, status and reason on an "
                "hour", (
    Column("time_s", "f8", "s", "simulator", "When the tasks were counted"),
    Column("share", "i2", "", "JEDI_Tasks gshare", "Leaf share, also of a task that waits for its parent",
           codes="shares"),
    Column("resource_type", "i2", "", "JEDI_Tasks resource_type", "Resource type; null = not known yet",
           codes="resource_types"),
    Column("status", "i2", "", "JEDI_Tasks status", "Status", codes="task_status"),
    Column("errordialog", "i2", "", "JEDI_Tasks errorDialog", "Rule that left no candidate, of a task that waits for a "
           "nucleus or a queue; what scouts stopped an exhausted one for", codes="reasons"),
    Column("throttled_by", "i1", "", "lifecycle reference, 2.10", "Why a throttled task is throttled",
           codes="throttled_by"),
    Column("tasks", "i8", "tasks", "JEDI_Tasks", "Tasks"),
    Column("jobs", "f8", "jobs", "JEDI_Datasets nFilesToBeUsed", "Jobs that all input without a job makes"),
    Column("ready_cores", "f8", "cores", "JEDI_Dataset_Contents", "Cores of the jobs that its input could make now"),
    Column("input_cores", "f8", "cores", "lifecycle reference, 7.5", "Cores of those whose input is still on tape"),
    Column("scouts_cores", "f8", "cores", "lifecycle reference, 2.7", "Cores of those that scouts hold back until they "
           "have been assessed"),
))

WITH_REASON = np.isin(np.arange(len(TaskStatus)), (TaskStatus.PENDING, TaskStatus.ASSIGNING, TaskStatus.EXHAUSTED))
KEY = ("time_s", "share", "resource_type", "status", "errordialog", "throttled_by")
PARTS = ("ready_cores", "input_cores", "scouts_cores")


def backlog(arrays: Arrays, rows: np.ndarray, now: float, shares: Mapping[int, int]) -> np.ndarray:
    """The work that the tasks in `rows` hold, (n,) of BACKLOG.

    shares: of the rows of tasks that have none yet. Jobs are counted from pieces of input: of a task whose jobs are cut
    from files as many as it has made of each so far, before the first one those of the smallest size.
    """
    tasks, status = arrays.tasks, arrays.tasks["status"][rows]
    found = BACKLOG.empty(len(rows))
    found["time_s"] = now
    for name in KEY[1:]:
        found[name] = tasks[name][rows]
    found["share"] = [share if share >= 0 else shares.get(row, share)
                      for row, share in zip(rows.tolist(), found["share"].tolist(), strict=True)]
    found["errordialog"] = np.where(WITH_REASON[status], found["errordialog"], -1)
    found["throttled_by"] = np.where(status == TaskStatus.THROTTLED, found["throttled_by"], -1)
    pieces = _pieces(arrays, rows)
    of_piece = _jobs_of_piece(arrays, rows)
    cores = np.where(tasks["corecount"][rows] > 0, tasks["corecount"][rows], CORES_OF_ANY) * of_piece
    found["tasks"], found["jobs"] = 1, sum(pieces) * of_piece
    for name, some in zip(PARTS, pieces, strict=True):
        found[name] = some * cores
    return BACKLOG.summed(found, KEY)


def _pieces(arrays: Arrays, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Pieces of tasks without a job: those that are ready, on tape, and behind scouts, (n,) each."""
    n_jobs, used = (arrays.tasks[name][rows].astype(np.int64) for name in ("n_jobs", "next_chunk"))
    staged = np.empty(len(rows), np.int64)
    find_staged(arrays, rows, staged)
    scouts = arrays.scout_inputs[rows]
    usable = np.where(scouts > 0, np.minimum(scouts, n_jobs), n_jobs)
    again = arrays.ram_levels["waiting"][rows].sum(axis=1)
    return (again + np.maximum(staged - used, 0), np.maximum(usable - np.maximum(staged, used), 0),
            np.maximum(n_jobs - np.maximum(usable, used), 0))


def _jobs_of_piece(arrays: Arrays, rows: np.ndarray) -> np.ndarray:
    """Jobs for each piece of the input of tasks, (n,), at most 1."""
    used, split = arrays.tasks["next_chunk"][rows], arrays.splitting[rows]
    at_once = np.where(split["neventsperjob"] > 0, 1, np.maximum(split["nfilesperjob"], 1))
    made = np.minimum(arrays.tasks["n_attempts"][rows], used) / np.maximum(used, 1)
    return np.where(split["n_files"] == 0, 1.0, np.where(used > 0, made, 1 / at_once))
