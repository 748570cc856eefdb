"""The world of a snapshot: the tables as they would stand at its moment, for decisions only; nothing in it can move.

Work that other tasks owe to nuclei becomes a task for each entry, output on its way a transfer for each site, so that
views are taken of them as of those of a run.
"""

from collections.abc import Sequence

import numpy as np

from simgrid_broker.names import TaskStatus, TransferKind
from simgrid_broker.scenario.snapshot import NucleusNumbers, Snapshot
from simgrid_broker.scenario.snapshot_task import TASK_BROKERAGE, SnapshotTask
from simgrid_broker.scenario.work.tasklist import TaskList, fill, new_rows
from simgrid_broker.schema import SPLITTING
from simgrid_broker.schema.grid import LINK_NUMBERS
from simgrid_broker.schema.queues import QUEUE_NUMBERS, QueueNumbers
from simgrid_broker.schema.tasks import AS_PRIORITY, Chain, TaskClaims
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.build import build
from simgrid_broker.world.jobs.counts import COUNTED, TypesAt, take_snapshot
from simgrid_broker.world.jobs.counts import Snapshot as Statistics
from simgrid_broker.world.queues.statistics import unwritable_sites
from simgrid_broker.world.shares import leaf_shares
from simgrid_broker.world.snapshot.told import Owed
from simgrid_broker.world.world import World


def world_of(snapshot: Snapshot) -> World:
    """World at the moment of a checked snapshot; row k is task k of the snapshot, other rows come behind."""
    world = build(snapshot.scenario(), _task_list(snapshot))
    world.state["now_s"] = snapshot.time
    _fill_counts(world, snapshot)
    _fill_queues(world, snapshot)
    if snapshot.storage_mapping is not None:
        sites = world.vocabularies["sites"]
        world.places.map_output({world.vocabularies["queues"].index(queue): sites.index(site)
                                 for queue, site in snapshot.storage_mapping.items()})
    _fill_traffic(world, snapshot)
    world.owed = _owed(world, snapshot)
    return world


def statistics_of(world: World, snapshot: Snapshot) -> Statistics:
    """What JEDI knew at the moment of the snapshot, jobs placed since it last looked included."""
    at = snapshot.time if snapshot.statistics_at is None else snapshot.statistics_at
    statistics = take_snapshot(world.arrays, at, by_queue=True)
    statistics.activity.update(_told_activity(world, snapshot))
    statistics.known = _known(world, snapshot)
    statistics.types_at = _types_at(world, snapshot)
    queues, shares = world.vocabularies["queues"], world.vocabularies["shares"]
    for row in snapshot.placed:
        statistics.place(shares.index(row.share), 0, [(queues.index(row.queue), row.jobs)])
    return statistics


def _told_activity(world: World, snapshot: Snapshot) -> dict[str, np.ndarray]:
    """Columns of `views.LOAD` that no table of the world holds, (n_queues,) each."""
    told = [snapshot.queues.get(name, QueueNumbers()) for name in world.vocabularies["queues"]]
    found = {column.name: np.array([column.of(each) for each in told], column.dtype) for column in QUEUE_NUMBERS}
    closed = set(np.array(world.vocabularies["sites"])[unwritable_sites(world.arrays)])
    for number, each in enumerate(told):
        found["transferring_unwritable"][number] += sum(jobs for nucleus, jobs in each.transferring_to.items()
                                                        if nucleus in closed)
    if any(each.cores_starting is not None for each in told):
        by_count = take_snapshot(world.arrays, 0.0).activity["cores_starting"]
        found["cores_starting"] = np.array([by_count[number] if each.cores_starting is None else each.cores_starting
                                            for number, each in enumerate(told)])
    return found


def _types_at(world: World, snapshot: Snapshot) -> dict[int, TypesAt]:
    """Resource types of the jobs that tasks have at PanDA queues, by jeditaskid."""
    queues, types = world.vocabularies["queues"], world.vocabularies["resource_types"]
    numbers = world.arrays.tasks["jeditaskid"].tolist()
    return {number: tuple((queues.index(name), tuple(map(types.index, kinds)))
                          for name, kinds in task.next_jobs.resource_types.items())
            for number, task in zip(numbers, snapshot.tasks.values(), strict=False)}


def _known(world: World, snapshot: Snapshot) -> np.ndarray:
    """Shares and resource types of which there are statistics at a queue: those with a row, even without any job."""
    words, counts = world.vocabularies, world.arrays.counts
    known = np.zeros(counts.shape[:3], bool)
    for row in snapshot.jobs:
        known[words["queues"].index(row.queue), words["shares"].index(row.share),
              words["resource_types"].index(row.resource_type)] = True
    return known


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
    said = [task.word() for task in tasks]
    vocabularies["user_parameters"] = {word: number for number, word in enumerate(dict.fromkeys(("", *said)))}
    rows["user_parameters"][:len(tasks)] = [vocabularies["user_parameters"][word] for word in said]
    for words in vocabularies.values():
        words.setdefault("", len(words))
    site, fraction, tape = _replicas(snapshot, sites, len(rows))
    return TaskList(rows, site, fraction, {name: tuple(words) for name, words in vocabularies.items()},
                    replica_tape=tape, splitting=_splitting(tasks, len(rows)))


def _splitting(tasks: Sequence[SnapshotTask], n: int) -> np.ndarray:
    """How the input of `n` tasks is split, (n,) of `schema.SPLITTING`, of those whose files are not told one by one."""
    rows = SPLITTING.empty(n)
    for row, task in enumerate(tasks):
        if not task.datasets:
            rows["nfilesperjob"][row], rows["neventsperjob"][row] = (task.splitting.nFilesPerJob,
                                                                     task.splitting.nEventsPerJob)
    return rows


def _replicas(snapshot: Snapshot, sites: list[str], n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Site, part of the input, and whether it is on tape, of the replicas of `n` tasks, (n, most replicas) each."""
    found = [[(sites.index(name), part, is_tape) for name, at in task.input.items()
              for part, is_tape in ((at.disk, False), (at.tape, True)) if part > 0] for task in snapshot.tasks.values()]
    most = max(1, *map(len, found))
    site, fraction = np.full((n, most), -1, np.int32), np.zeros((n, most))
    tape = np.zeros((n, most), bool)
    for row, replicas in enumerate(found):
        for place, replica in enumerate(replicas):
            site[row, place], fraction[row, place], tape[row, place] = replica
    return site, fraction, tape


def _fill_counts(world: World, snapshot: Snapshot) -> None:
    """Jobs and cores by queue, share and resource type."""
    arrays, words = world.arrays, world.vocabularies
    queues, shares, types = ({name: number for number, name in enumerate(words[kind])}
                             for kind in ("queues", "shares", "resource_types"))
    for row in snapshot.jobs:
        at = queues[row.queue], shares[row.share], types[row.resource_type]
        for status in COUNTED:
            arrays.counts[*at, status] = getattr(row, status.word)
        arrays.running_cores[at] = row.running * _slot(arrays, at[0], at[2])


def _slot(arrays: Arrays, queue: int, resource_type: int) -> int:
    """Cores of a slot of a resource type at a PanDA queue."""
    pseudo = arrays.pseudo_queues
    mine = pseudo[(pseudo["queue"] == queue) & np.isin(pseudo["resource_type"], (resource_type, -1))]
    return int(mine["corecount"][0]) if len(mine) else int(arrays.queues["corecount"][queue])


def _fill_queues(world: World, snapshot: Snapshot) -> None:
    """Last starts, cores, which the first share takes, and workers, which a queue's first pseudo-queue takes."""
    arrays, queues = world.arrays, world.vocabularies["queues"]
    arrays.queues["laststart_s"] = snapshot.time
    for name, told in snapshot.queues.items():
        number = queues.index(name)
        if told.laststart is not None:
            arrays.queues["laststart_s"][number] = told.laststart
        if told.cores_running is not None:
            arrays.running_cores[number] = 0
            arrays.running_cores[number, 0, 0] = told.cores_running
        if told.pull_ups is not None:
            arrays.queues["pull_ups"][number] = told.pull_ups
        if told.slot_requests:
            world.slots[number] = told.slot_requests
        for row in np.flatnonzero(arrays.pseudo_queues["queue"] == number)[:1]:
            workers = told.workers.values()
            submitted, running = (sum(getattr(each, what) for each in workers) for what in ("submitted", "running"))
            arrays.pseudo_queues["n_submitted"][row] = told.workers_submitted + submitted
            arrays.pseudo_queues["n_running"][row] = told.workers_running + running
    world.forget_expired(snapshot.time)
    world.locked = frozenset(snapshot.locked)


def _owed(world: World, snapshot: Snapshot) -> Owed:
    """Work that the snapshot says nuclei owe."""
    told = [snapshot.nuclei.get(name, NucleusNumbers()) for name in world.vocabularies["sites"]]
    total = np.array([np.nan if each.work is None else each.work for each in told])
    priorities = {priority for each in told for priority in each.work_from}
    return Owed(total, {priority: np.array([each.work_from.get(priority, 0.0) for each in told])
                        for priority in sorted(priorities)})


def _fill_traffic(world: World, snapshot: Snapshot) -> None:
    """What brokers know of links, and one transfer of output for each site to which any is on its way."""
    sites, files = world.vocabularies["sites"], dict[str, int]()
    for link in snapshot.links:
        known = {column.name: value for column in LINK_NUMBERS if (value := column.of(link)) == value}     # not NaN
        world.network.learn(sites.index(link.source), sites.index(link.destination), known)
        files[link.destination] = files.get(link.destination, 0) + link.queued_files + link.queued_express
    sizes = {name: told.queued_bytes for name, told in snapshot.nuclei.items()}
    files |= {name: told.queued_files for name, told in snapshot.nuclei.items() if told.queued_files is not None}
    world.make_room(transfers=len(sites))
    for number, name in enumerate(sites):
        row = world.arrays.transfers[number]
        row["transfer_id"], row["kind"], row["destination"] = number + 1, TransferKind.OUTPUT, number
        row["n_files"] = row["left_files"] = files.get(name, 0)
        row["bytes"] = row["left_bytes"] = sizes.get(name, 0)
