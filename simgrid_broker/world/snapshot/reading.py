"""The world of a snapshot: the tables as they would stand at its moment, for decisions only; nothing in it can move.

Work that other tasks owe to nuclei becomes a task for each entry, output on its way a transfer for each site, so that
views are taken of them as of those of a run.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter

import numpy as np

from simgrid_broker.compiled import uncompiled
from simgrid_broker.names import JobStatus, TaskStatus, TransferKind
from simgrid_broker.scenario.snapshot import (
    JOB_BROKERAGE,
    TASK_BROKERAGE,
    JobNumbers,
    NucleusNumbers,
    Snapshot,
    SnapshotTask,
)
from simgrid_broker.scenario.work.tasklist import TaskList, fill, new_rows
from simgrid_broker.schema import SPLITTING
from simgrid_broker.schema.grid import LINK_NUMBERS
from simgrid_broker.schema.part import LARGEST_WHOLE
from simgrid_broker.schema.queues import QUEUE_NUMBERS, QueueNumbers
from simgrid_broker.schema.tasks import AS_PRIORITY, Chain, TaskClaims
from simgrid_broker.world.arrays import DATASET, Arrays
from simgrid_broker.world.build import build
from simgrid_broker.world.data.datasets import Secondary, secondary_tables
from simgrid_broker.world.data.replicas import add_replica_of
from simgrid_broker.world.jobs.counts import COUNTED, take_snapshot
from simgrid_broker.world.jobs.counts import Snapshot as Statistics
from simgrid_broker.world.queues.statistics import is_unwritable
from simgrid_broker.world.shares import leaf_shares
from simgrid_broker.world.snapshot.records import NucleusWork
from simgrid_broker.world.world import World

NUMBERS_OF = attrgetter(*(status.word for status in COUNTED))
"""Numbers of jobs of a row of statistics, in the order of `COUNTED`."""


class Numbers:
    """Numbers of the names to which a snapshot refers, looked up here alone; checks have refused the others.
    """

    def __init__(self, world: World):
        self._by_name = {kind: {name: number for number, name in enumerate(world.vocabularies[kind])}
                         for kind in ("queues", "shares", "resource_types", "sites")}

    def __call__(self, kind: str, name: str) -> int:
        """Number of a name in a vocabulary."""
        return self._by_name[kind][name]


def world_of(snapshot: Snapshot) -> World:
    """World at the moment of a checked snapshot; row k is task k of the snapshot, other rows come behind."""
    world = build(snapshot.scenario(), _task_list(snapshot), whole=_named_whole(snapshot))
    numbers = Numbers(world)
    _hold_secondaries(world, snapshot)
    world.state["now_s"] = snapshot.time
    _fill_counts(world, snapshot, numbers)
    _fill_queues(world, snapshot, numbers)
    if snapshot.storage_mapping is not None:
        world.places.map_output({numbers("queues", queue): numbers("sites", site)
                                 for queue, site in snapshot.storage_mapping.items()})
    _fill_traffic(world, snapshot, numbers)
    world.nucleus_work = _work_of_nuclei(world, snapshot)
    return world


def _hold_secondaries(world: World, snapshot: Snapshot) -> None:
    """Put the secondary datasets of the tasks behind the others, where they lie."""
    known = [(row, task.secondaries) for row, task in enumerate(snapshot.tasks.values()) if task.secondaries]
    if not known:
        return
    sites, before = world.vocabularies["sites"], len(world.arrays.datasets)
    more = [one for _, of in known for one in of]
    datasets, numbers = np.zeros(len(more), DATASET), iter(range(before, before + len(more)))
    datasets["first_replica"] = -1
    datasets["bytes"], datasets["n_files"] = [one.bytes for one in more], [one.files for one in more]
    lists = [[Secondary(next(numbers), one.bytes_per_job, one.files_per_job, False) for one in of] for _, of in known]
    world.arrays = world.arrays.with_arrays(datasets=np.concatenate([world.arrays.datasets, datasets]),
                                            **secondary_tables(lists, len(world.arrays.jobs)))
    for number, one in enumerate(more, start=before):
        for name, at in one.input.items():
            for part, tape in ((at.disk, 0), (at.tape, 1)):
                if part > 0:
                    world.make_room()
                    world.arrays.replicas["tape"][add_replica_of(world.arrays, number, sites.index(name), part)] = tape
    for place, (row, _) in enumerate(known):
        world.arrays.splitting["secondaries"][row] = 1 + place


def _named_whole(snapshot: Snapshot) -> list[int]:
    """Numbers of the unified queues if merge jobs are pre-assigned, else of those to which a task is."""
    of_jobs = [task for task in snapshot.tasks.values() if task.broker == JOB_BROKERAGE and snapshot.whole_queues]
    around = any(task.next_jobs.premerge is not None for task in of_jobs)
    named = {name for task in of_jobs for name in task.site}
    return [number for number, (name, queue) in enumerate(snapshot.grid.queues.items())
            if queue.unified and (around or name in named)]


def statistics_of(world: World, snapshot: Snapshot) -> Statistics:
    """Statistics of JEDI at the moment of the snapshot, jobs placed since it last looked included."""
    at = snapshot.time if snapshot.statistics_at is None else snapshot.statistics_at
    numbers, jeditaskids = Numbers(world), world.arrays.tasks["jeditaskid"].tolist()
    statistics = take_snapshot(world.arrays, at, world.arrays.counts.copy())
    statistics.activity.update(_activity(world, snapshot, statistics.activity))
    statistics.known = np.zeros(world.arrays.counts.shape[:3], bool)       # those with a row, even without any job
    statistics.known[_places(numbers, snapshot.jobs)] = True
    statistics.types_at = {
        jeditaskid: tuple((numbers("queues", name), sum(1 << numbers("resource_types", kind) for kind in {*kinds}))
                          for name, kinds in task.next_jobs.resource_types.items())
        for jeditaskid, task in zip(jeditaskids, snapshot.tasks.values(), strict=False)}
    for placed in snapshot.placed:
        statistics.place(numbers("shares", placed.share), 0, [(numbers("queues", placed.queue), placed.jobs)])
    return statistics


def _activity(world: World, snapshot: Snapshot, by_count: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Columns of `views.LOAD` that no table of the world holds, (n_queues,) each; by_count: those of the counts."""
    queues = [snapshot.queues.get(name, QueueNumbers()) for name in world.vocabularies["queues"]]
    columns = {column.name: np.array([column.of(queue) for queue in queues], column.dtype) for column in QUEUE_NUMBERS}
    closed = {name for site, name in enumerate(world.vocabularies["sites"])
              if uncompiled(is_unwritable)(world.arrays, site)}
    columns["transferring_unwritable"] += [sum(jobs for nucleus, jobs in queue.transferring_to.items()
                                               if nucleus in closed) for queue in queues]
    columns["cores_starting"] = np.array([counted if queue.cores_starting is None else queue.cores_starting for
                                          queue, counted in zip(queues, by_count["cores_starting"], strict=True)])
    return columns


def _task_list(snapshot: Snapshot) -> TaskList:
    """Rows of the tasks, of the work that other tasks owe to nuclei, and of the parents that the tasks name."""
    tasks = list(snapshot.tasks.values())
    claims = tasks + [TaskClaims(n_jobs=1, events_per_job=1, cputime=work.hs06sec,
                                 **work.model_dump(exclude={"hs06sec"})) for work in snapshot.work]
    parents = {k: task.parent for k, task in enumerate(tasks) if task.parent is not None}
    rows = new_rows(len(claims) + len(parents))
    sites, shares = list(snapshot.grid.sites), [leaf.name for leaf in leaf_shares(snapshot.shares)]
    names = dict(sites=sites, shares=shares)
    vocabularies = fill(rows[:len(claims)], claims, TaskClaims, names)
    fill(rows[len(claims):], list(parents.values()), Chain, names)
    numbers = [int(name) if task.jeditaskid is None else task.jeditaskid for name, task in snapshot.tasks.items()]
    rows["jeditaskid"][:len(tasks)] = numbers
    rows["luck"][:len(tasks)] = [number if task.luck is None else task.luck
                                 for number, task in zip(numbers, tasks, strict=True)]
    rows["n_nuclei"][:len(tasks)] = [task.n_nuclei for task in tasks]
    rows["status"][:len(tasks)] = [TaskStatus.ASSIGNING if task.broker == TASK_BROKERAGE else TaskStatus.READY
                                   for task in tasks]
    rows["taskpriority"][:len(tasks)] = [AS_PRIORITY if task.taskpriority is None else task.taskpriority
                                         for task in tasks]
    rows["frozen_s"][:len(tasks)] = [snapshot.time - task.frozen_for if task.frozen_for else np.nan for task in tasks]
    rows["status"][len(tasks):], rows["status"][len(claims):] = TaskStatus.RUNNING, TaskStatus.DONE
    rows["jeditaskid"][len(tasks):] = max(numbers, default=0) + 1 + np.arange(len(rows) - len(tasks))
    rows["parent"][list(parents)] = rows["jeditaskid"][len(claims):]
    parameters = [task.word() for task in tasks]
    vocabularies["user_parameters"] = {word: number for number, word in enumerate(dict.fromkeys(("", *parameters)))}
    rows["user_parameters"][:len(tasks)] = [vocabularies["user_parameters"][word] for word in parameters]
    for words in vocabularies.values():
        words.setdefault("", len(words))
    site, fraction, tape = _replicas(snapshot, sites, len(rows))
    return TaskList(rows, site, fraction, {name: tuple(words) for name, words in vocabularies.items()},
                    replica_tape=tape, splitting=_splitting(tasks, len(rows)))


def _splitting(tasks: Sequence[SnapshotTask], n: int) -> np.ndarray:
    """Split parameters of `n` tasks, (n,) of `schema.SPLITTING`; 0 of a task whose files are listed one by one."""
    rows = SPLITTING.empty(n)
    for row, task in enumerate(tasks):
        if not task.datasets:
            rows["nfilesperjob"][row], rows["neventsperjob"][row] = (task.splitting.nFilesPerJob,
                                                                     task.splitting.nEventsPerJob)
    return rows


def _replicas(snapshot: Snapshot, sites: list[str], n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Site, part of the input, and whether it is on tape, of the replicas of `n` tasks, (n, most replicas) each."""
    replicas_of = [[(sites.index(name), part, is_tape) for name, at in task.input.items()
              for part, is_tape in ((at.disk, False), (at.tape, True)) if part > 0] for task in snapshot.tasks.values()]
    most = max((1, *map(len, replicas_of)))
    site, fraction = np.full((n, most), -1, np.int32), np.zeros((n, most))
    tape = np.zeros((n, most), bool)
    for row, replicas in enumerate(replicas_of):
        for place, replica in enumerate(replicas):
            site[row, place], fraction[row, place], tape[row, place] = replica
    return site, fraction, tape


def _places(numbers: Numbers, jobs: Sequence[JobNumbers]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queue, share and resource type of each row of numbers; the type that is not there comes last."""
    places = [(numbers("queues", row.queue), numbers("shares", row.share),
               -1 if row.resource_type is None else numbers("resource_types", row.resource_type)) for row in jobs]
    queue, share, kind = np.array(places, np.int64).reshape(-1, 3).T
    return queue, share, kind


def _fill_counts(world: World, snapshot: Snapshot, numbers: Numbers) -> None:
    """Jobs and cores by queue, share and resource type; sums are at most LARGEST_WHOLE, as a table holds no more.

    Of a lenient snapshot jobs, and the tasks that ask, may be of no type that is there.
    """
    arrays, rows = world.arrays, snapshot.jobs
    if not snapshot.strict or any(row.resource_type is None for row in rows):
        world.arrays = arrays = arrays.with_arrays(counts=_with_no_type(arrays.counts),
                                                   running_cores=_with_no_type(arrays.running_cores))
    places = queue, _, kind = _places(numbers, rows)
    jobs = np.array([NUMBERS_OF(row) for row in rows], np.int64).reshape(-1, len(COUNTED))
    cores = np.minimum(jobs[:, COUNTED.index(JobStatus.RUNNING)] * _slots(arrays)[queue, kind], LARGEST_WHOLE)
    for counts, number in ((arrays.counts[..., COUNTED[0]:COUNTED[-1] + 1], jobs), (arrays.running_cores, cores)):
        total = np.zeros(counts.shape, np.int64)
        np.add.at(total, places, number)
        counts[:] = np.minimum(total, LARGEST_WHOLE)


def _with_no_type(counts: np.ndarray) -> np.ndarray:
    """Empty counts by queue, share and resource type with a row for jobs of no type that is there."""
    n_queues, n_shares, n_types, *rest = counts.shape
    return np.zeros((n_queues, n_shares, n_types + 1, *rest), counts.dtype)


def _slots(arrays: Arrays) -> np.ndarray:
    """Cores of a slot of each resource type at each PanDA queue, (n_queues, n_types): of its first pseudo-queue."""
    pseudo = arrays.pseudo_queues
    cores = np.repeat(arrays.queues["corecount"][:, None], arrays.running_cores.shape[2], axis=1).astype(np.int64)
    for queue, kind, corecount in reversed(pseudo[["queue", "resource_type", "corecount"]].tolist()):
        cores[queue, kind if kind >= 0 else slice(None)] = corecount
    return cores


def _fill_queues(world: World, snapshot: Snapshot, numbers: Numbers) -> None:
    """Last starts, cores, which the first share takes, and workers, which a queue's first pseudo-queue takes."""
    arrays = world.arrays
    arrays.queues["laststart_s"] = snapshot.time
    for name, queue in snapshot.queues.items():
        number = numbers("queues", name)
        if queue.laststart is not None:
            arrays.queues["laststart_s"][number] = queue.laststart
        if queue.cores_running is not None:
            arrays.running_cores[number] = 0
            arrays.running_cores[number, 0, 0] = queue.cores_running
        if queue.pull_ups is not None:
            arrays.queues["pull_ups"][number] = queue.pull_ups
        if queue.slot_requests:
            world.slots[number] = queue.slot_requests
        for row in np.flatnonzero(arrays.pseudo_queues["queue"] == number)[:1]:
            workers = queue.workers.values()
            submitted, running = (sum(getattr(each, what) for each in workers) for what in ("submitted", "running"))
            waiting = min(queue.workers_submitted + submitted, LARGEST_WHOLE)
            arrays.pseudo_queues["n_submitted"][row] = waiting
            arrays.pseudo_queues["n_running"][row] = min(queue.workers_running + running, LARGEST_WHOLE - waiting)
    world.forget_expired(snapshot.time)
    world.locked = frozenset(snapshot.locked)


def _work_of_nuclei(world: World, snapshot: Snapshot) -> NucleusWork:
    """Work of nuclei that the snapshot gives beside `work` and `tasks`."""
    nuclei = [snapshot.nuclei.get(name, NucleusNumbers()) for name in world.vocabularies["sites"]]
    total = np.array([np.nan if nucleus.work is None else nucleus.work for nucleus in nuclei])
    priorities = {priority for nucleus in nuclei for priority in nucleus.work_from}
    return NucleusWork(total, {priority: np.array([nucleus.work_from.get(priority, 0.0) for nucleus in nuclei])
                               for priority in sorted(priorities)})


def _fill_traffic(world: World, snapshot: Snapshot, numbers: Numbers) -> None:
    """Numbers of links, and one transfer of output for each site to which any is on its way."""
    sites, files = world.vocabularies["sites"], dict[str, int]()
    for link in snapshot.links:
        known = {column.name: value for column in LINK_NUMBERS if (value := column.of(link)) == value}     # not NaN
        world.network.learn(numbers("sites", link.source), numbers("sites", link.destination), known)
        files[link.destination] = files.get(link.destination, 0) + link.queued_files + link.queued_express
    sizes = {name: nucleus.queued_bytes for name, nucleus in snapshot.nuclei.items()}
    files |= {name: nucleus.queued_files for name, nucleus in snapshot.nuclei.items()
              if nucleus.queued_files is not None}
    world.make_room(transfers=len(sites))
    for number, name in enumerate(sites):
        row = world.arrays.transfers[number]
        row["transfer_id"], row["kind"], row["destination"] = number + 1, TransferKind.OUTPUT, number
        row["n_files"] = row["left_files"] = min(files.get(name, 0), LARGEST_WHOLE)
        row["bytes"] = row["left_bytes"] = sizes.get(name, 0)
