"""Tables of datasets and replicas: those of the scenario at the start, and the input of each task that arrives; its
rows as the rules of progress and end read them; and secondary datasets with replicas of their own: which a task reads,
and how much of its input lies at a site.

A container that a task reads whole has a row for each of its datasets and task, as in JEDI_Datasets. Source: brokerage
reference, 1.2 (T2), 1.3 and 2.6: of a secondary dataset only complete replicas count for jobs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.work.draws import catalogue
from simgrid_broker.scenario.work.synthetic import pieces_of_members
from simgrid_broker.scenario.work.tasklist import TaskList
from simgrid_broker.schema.datasets import SecondaryInput
from simgrid_broker.views import DatasetRow
from simgrid_broker.views.tasks import usable_files
from simgrid_broker.world.arrays import BUNCH, CONTAINER, DATASET, JOB_INPUT, MEMBER, REPLICA, SECONDARY, Arrays
from simgrid_broker.world.data.replicas import (
    add_replica_of,
    drop_replica_of,
    drop_replicas_of,
    expire_of,
    grow_replica_of,
    note_change_of,
    take_space_of,
)
from simgrid_broker.world.rows import REPLICAS
from simgrid_broker.world.tasks.input_files import inputs_to_use, staged_inputs_of


class Secondary(NamedTuple):
    """A row of SECONDARY: number of the dataset, means of a piece of input, whether files are read again, and the key
    of its random draws, which no decision on a snapshot needs."""

    dataset: int
    bytes: float
    files: float
    read_again: bool
    luck: int = 0


def secondary_tables(lists: Sequence[Sequence[Secondary]], n_jobs: int) -> dict[str, np.ndarray]:
    """Tables of the lists of secondary datasets, numbered from 1 on, and of what `n_jobs` rows of jobs read."""
    sizes, most = [len(one) for one in lists], max((len(one) for one in lists), default=0)
    rows = np.zeros(sum(sizes), SECONDARY)
    for row, one in zip(rows, (each for secondaries in lists for each in secondaries), strict=True):
        for name, value in one._asdict().items():
            row[name] = value
    bunches = np.zeros(most, BUNCH)
    bunches["transfer"] = -1
    return dict(secondaries=rows, secondary_lists=np.cumsum([0, 0, *sizes]), bunches=bunches,
                job_inputs=np.zeros((n_jobs if most else 0, max(most, 1)), JOB_INPUT))


@compiled
def secondaries_of(world: Arrays, task_row):
    """First row and end of the secondary datasets of a task in their table."""
    number = world.splitting[task_row]["secondaries"]
    return world.secondary_lists[number], world.secondary_lists[number + 1]


@compiled
def version_of(world: Arrays, task_row):
    """Changes so far of the replicas of what a task reads."""
    version = world.datasets[world.input_dataset[task_row]]["version"]
    first, end = secondaries_of(world, task_row)
    for k in range(first, end):
        version += world.datasets[world.secondaries[k]["dataset"]]["version"]
    return version


@compiled
def own_part(world: Arrays, task_row):
    """Parts of a piece of a task's input that its secondary datasets do not have: of the bytes, and of the files."""
    task, size, files = world.tasks[task_row], 0.0, 0.0
    first, end = secondaries_of(world, task_row)
    for k in range(first, end):
        size += world.secondaries[k]["bytes"]
        files += world.secondaries[k]["files"]
    return max(1.0 - size / max(task["input_bytes_per_job"], 1.0), 0.0), max(1.0 - files / task["n_input_files"], 0.0)


@compiled
def master_bytes(world: Arrays, row):
    """Input of a job without what it reads of secondary datasets with replicas of their own, bytes."""
    size = np.float64(world.jobs[row]["input_bytes"])
    if len(world.job_inputs) > 0:
        for place in range(world.job_inputs.shape[1]):
            size -= world.job_inputs[row, place]["bytes"]
    return max(size, 0.0)


@compiled
def clear_inputs(world: Arrays, row):
    """Note that a new job reads no secondary dataset with replicas of its own."""
    if len(world.job_inputs) > 0:
        for place in range(world.job_inputs.shape[1]):
            read = world.job_inputs[row, place]
            read["bytes"], read["files"], read["awaited"], read["awaited_id"] = 0.0, 0, -1, 0


@compiled
def give_inputs(world: Arrays, row, inputs, k):
    """Let a job read what row k of `inputs`, (n, most of a list) of JOB_INPUT, says, unless these are none."""
    if len(inputs) > 0:
        for place in range(inputs.shape[1]):
            world.job_inputs[row, place] = inputs[k, place]


@compiled
def keep_inputs(world: Arrays, to, of):
    """Let a job read what another has read of secondary datasets with replicas of their own."""
    if len(world.job_inputs) > 0:
        for place in range(world.job_inputs.shape[1]):
            world.job_inputs[to, place] = world.job_inputs[of, place]
            world.job_inputs[to, place]["awaited_id"] = 0


secondaries_of_task, version_of_input = uncompiled(secondaries_of), uncompiled(version_of)
"""As `secondaries_of` and `version_of`, for Python, which asks so seldom that compiling takes longer."""


def inputs_of(jobs: np.ndarray, reads: np.ndarray, secondaries: Sequence[SecondaryInput]) -> np.ndarray:
    """Files and bytes that jobs read of the secondary datasets with replicas of their own, (k, n) of JOB_INPUT.

    jobs, reads: as in `policy.tasks.cutting.Room`; secondaries: all of the task.
    """
    own = [number for number, one in enumerate(secondaries) if one.dataset is not None]
    inputs = np.zeros((len(jobs), len(own)), JOB_INPUT)
    for k, job in enumerate(jobs):
        mine = reads["dataset"][job["first_read"]:job["first_read"] + job["n_reads"]]
        inputs["files"][k] = np.bincount(mine, minlength=len(secondaries))[own]
    inputs["bytes"] = inputs["files"] * np.array([secondaries[number].file_size for number in own])
    return inputs


def numbers_of(arrays: Arrays, row: int) -> list[int]:
    """Numbers of the secondary datasets with replicas of their own that a task reads."""
    first, end = secondaries_of_task(arrays, row)
    return arrays.secondaries["dataset"][first:end].tolist()


FIRST_REPLICAS = 4096
"""Rows of replicas that a world begins with."""
FIRST_MEMBERS = 16
"""Rows of members that a world begins with."""


def input_tables(scenario: Scenario, n_tasks: int) -> dict[str, np.ndarray]:
    """Datasets without replicas: those of the scenario, then one for each of `n_tasks` tasks."""
    named = catalogue(scenario)
    datasets = np.zeros(len(named.names) + n_tasks, DATASET)
    datasets["first_replica"] = -1
    datasets["bytes"][:len(named.names)], datasets["n_files"][:len(named.names)] = named.bytes, named.n_files
    replicas = np.zeros(FIRST_REPLICAS, REPLICA)
    replicas["dataset"] = -1
    return dict(datasets=datasets, replicas=replicas, input_dataset=np.zeros(n_tasks, np.int32),
                **container_tables(n_tasks))


def hold_catalogue(world) -> None:
    """Put the replicas of the scenario's datasets where they lie; their space is in use at the start."""
    named = world.catalogue.replicas
    world.make_room(replicas=len(named))
    for number, site, storage, part, lifetime_s, tape, virtual in named:
        row = add_replica_of(world.arrays, number, site, part)
        replica = world.arrays.replicas[row]
        replica["storage"], replica["tape"], replica["virtual"] = storage, tape, virtual
        replica["bytes"] = 0.0 if virtual else part * world.arrays.datasets["bytes"][number]
        replica["secondary"], replica["expires_s"] = np.isfinite(lifetime_s), lifetime_s
        note_change_of(world.arrays, number)
        if lifetime_s <= 0:
            expire_of(world.arrays, row)


def add_replica_at(world, dataset: str, storage: str, part: float | None) -> None:
    """Put a primary replica of a dataset at a storage, or complete the one that is there; it takes the space."""
    world.make_room()
    arrays, number = world.arrays, world.catalogue.names.index(dataset)
    place, part = world.vocabularies["storages"].index(storage), 1.0 if part is None else part
    old = _at(arrays, number, place)
    held = sum(arrays.replicas["part"][row] for row in old)
    size = max(part - held, 0.0) * arrays.datasets["bytes"][number]
    if not take_space_of(arrays, place, size):
        return                                             # the rule is stuck: there is no room
    row = old[0] if old else add_replica_of(arrays, number, int(arrays.storages["site"][place]), held)
    replica = arrays.replicas[row]
    replica["storage"], replica["tape"] = place, arrays.storages["tape"][place]
    replica["secondary"], replica["expires_s"] = 0, np.inf
    arrays.datasets["deleted"][number] = 0
    grow_replica_of(arrays, row, size)


def lose_replica(world, dataset: str, storage: str) -> int:
    """Remove the replicas of a dataset at a storage; returns the number of the dataset."""
    number = world.catalogue.names.index(dataset)
    for row in _at(world.arrays, number, world.vocabularies["storages"].index(storage)):
        drop_replica_of(world.arrays, row)
    return number


def delete_dataset(world, dataset: str) -> int:
    """Remove a dataset with all its replicas: DDM does not know it any more; returns its number."""
    number = world.catalogue.names.index(dataset)
    world.arrays.datasets["deleted"][number] = 1
    drop_replicas_of(world.arrays, number)
    note_change_of(world.arrays, number)
    return number


def _at(arrays: Arrays, number: int, storage: int) -> list[int]:
    """Rows of the replicas of a dataset at a storage."""
    rows = _rows_of(arrays, arrays.datasets["first_replica"][[number]])
    return rows[arrays.replicas["storage"][rows] == storage].tolist()


def hold_inputs(world, rows: np.ndarray, task_list: TaskList) -> None:
    """Give tasks their datasets: shared ones, or one of their own with the replicas of the list."""
    n_shared, arrays = len(world.catalogue.names), world.arrays
    shared = task_list.shared()
    arrays.input_dataset[rows] = np.where(shared >= 0, shared, n_shared + rows)
    hold_containers(world, rows, task_list)
    site, part, tape = task_list.replica_site, task_list.replica_fraction, task_list.tape()
    task, place = np.nonzero((site >= 0) & (shared < 0)[:, None])
    if not len(task):
        return
    world.make_room(replicas=len(task))
    _fill(world.arrays, n_shared + rows[task], site[task, place], part[task, place], tape[task, place])


def _fill(arrays: Arrays, number: np.ndarray, site: np.ndarray, part: np.ndarray, tape: np.ndarray) -> None:
    """Put replicas, (n,) each, into the lists of datasets that have none yet; those of a dataset stand side by side."""
    n, state = len(number), arrays.state[0]
    free = arrays.n_free[REPLICAS]
    rows = arrays.free_replicas[free - n:free][::-1]
    arrays.n_free[REPLICAS] = free - n
    made = np.zeros(n, REPLICA)
    made["dataset"], made["site"], made["part"], made["tape"] = number, site, part, tape
    made["storage"] = np.where(tape & (_tapes(arrays)[site] >= 0), _tapes(arrays)[site], arrays.sites["storage"][site])
    made["transfer"], made["expires_s"] = -1, np.inf
    begins = np.flatnonzero(np.diff(number, prepend=-1))
    made["next"][:-1] = rows[1:]
    made["next"][np.append(begins[1:], n) - 1] = -1
    arrays.replicas[rows] = made
    count = np.diff(np.append(begins, n))
    for name, values in (("first_replica", rows[begins]), ("n_replicas", count)):
        arrays.datasets[name][number[begins]] = values
    arrays.datasets["version"][number[begins]] += 1
    state["replicas_version"] += len(begins)
    state["most_replicas"] = max(int(state["most_replicas"]), int(count.max()))


def _tapes(arrays: Arrays) -> np.ndarray:
    """The first endpoint with drives of each site, (n_sites,), -1 = none."""
    tapes, numbers = np.full(len(arrays.sites), -1), np.flatnonzero(arrays.storages["drives"] > 0)[::-1]
    tapes[arrays.storages["site"][numbers]] = numbers
    return tapes


def own_input(arrays: Arrays, row: int) -> tuple[float, int]:
    """Bytes and files of the input of a task that shares it with none."""
    task, split = arrays.tasks[row], arrays.splitting[row]
    if split["n_files"] > 0:
        return float(split["n_files"]) * float(split["file_bytes"]), int(split["n_files"])
    n_jobs = int(task["n_jobs"])
    return n_jobs * float(task["input_bytes_per_job"]), n_jobs * max(1, int(task["n_input_files"]))


def give_size(arrays: Arrays, row: int) -> None:
    """Give the input of one task its size: its files land, take space and expire then as those of shared datasets."""
    arrays.datasets["bytes"][arrays.input_dataset[row]], arrays.datasets["n_files"][
        arrays.input_dataset[row]] = own_input(arrays, row)


def forget_inputs(world, rows: np.ndarray) -> None:
    """Take the datasets of tasks that are gone, and their replicas, out of the tables; their files are expired data."""
    arrays, n_shared = world.arrays, len(world.catalogue.names)
    numbers = n_shared + rows
    replica_rows = _rows_of(arrays, arrays.datasets["first_replica"][numbers])
    replicas = arrays.replicas[replica_rows]
    for row in replica_rows[(replicas["bytes"] > 0) & (replicas["storage"] >= 0)].tolist():
        if not arrays.replicas["expired"][row]:
            expire_of(arrays, row)
        storage = arrays.storages[arrays.replicas["storage"][row]]
        storage["expired_replica_bytes"] = max(storage["expired_replica_bytes"] - arrays.replicas["bytes"][row], 0.0)
    arrays.replicas["dataset"][replica_rows] = -1
    free = arrays.n_free[REPLICAS]
    arrays.free_replicas[free:free + len(replica_rows)] = replica_rows
    arrays.n_free[REPLICAS] = free + len(replica_rows)
    arrays.input_dataset[rows] = numbers
    forget_containers(world, rows)
    version = arrays.datasets["version"][numbers]
    arrays.datasets[numbers] = np.zeros((), DATASET)
    arrays.datasets["version"][numbers], arrays.datasets["first_replica"][numbers] = version + 1, -1


def _rows_of(arrays: Arrays, first: np.ndarray) -> np.ndarray:
    """Rows of the replicas in the lists that begin with `first`, -1 = an empty one."""
    lists, row = [np.zeros(0, np.int32)], first[first >= 0]
    while len(row):
        lists.append(row)
        row = arrays.replicas["next"][row]
        row = row[row >= 0]
    return np.concatenate(lists)


def replicas_version(arrays: Arrays, task: int) -> tuple[int, int]:
    """Number of the dataset that a task reads, of a container the one in hand, and changes so far of the replicas of
    this and of its secondary datasets."""
    return int(arrays.input_dataset[task]), int(version_of_input(arrays, task))


def replica_tables(arrays: Arrays, datasets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Site (-1 = none), part of the files, and whether on tape, of the replicas of datasets, (n, most) each."""
    row = arrays.datasets["first_replica"][datasets]
    columns: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    while not columns or (row >= 0).any():
        known = row >= 0
        replica = arrays.replicas[row]
        columns.append((np.where(known, replica["site"], -1), np.where(known, replica["part"], 0.0),
                        known & (replica["tape"] > 0)))
        row = np.where(known, replica["next"], -1)
    site, part, tape = (np.stack(column, axis=1) for column in zip(*columns, strict=True))
    return site, part, tape


class MemberRows:
    """Which rows of `arrays.members` are free: first rows of such blocks by length, and rows used so far."""

    def __init__(self) -> None:
        self.free: dict[int, list[int]] = {}
        self.n_used = 0

    def take(self, number: int) -> int:
        """First of so many rows side by side; the caller makes room for `n_used`."""
        known = self.free.get(number)
        if known:
            return known.pop()
        self.n_used += number
        return self.n_used - number

    def give_back(self, first: int, number: int) -> None:
        """Free such a block."""
        self.free.setdefault(number, []).append(first)


def container_tables(n_tasks: int) -> dict[str, np.ndarray]:
    """Tables of tasks that read no container."""
    return dict(containers=np.zeros(n_tasks, CONTAINER), members=np.zeros(FIRST_MEMBERS, MEMBER))


def hold_containers(world, rows: np.ndarray, task_list: TaskList) -> None:
    """Give the tasks of a list that read whole containers their members."""
    containers, of_tasks = list(world.catalogue.members.values()), task_list.containers()
    for place in np.flatnonzero(of_tasks >= 0).tolist():
        numbers = containers[of_tasks[place]]
        first = world.member_rows.take(len(numbers))
        world.make_room_for_members(world.member_rows.n_used)
        _fill_members(world.arrays, int(rows[place]), first, numbers)


def _fill_members(arrays: Arrays, row: int, first: int, numbers: np.ndarray) -> None:
    """Fill the rows of the members of one task from `first` on; numbers: of the datasets, (n,)."""
    task, files, size = arrays.tasks[row], arrays.datasets["n_files"][numbers], arrays.datasets["bytes"][numbers]
    pieces = pieces_of_members(files, arrays.splitting[row], int(task["n_input_files"]))
    members = arrays.members[first:first + len(numbers)]
    secondary = task["input_bytes_per_job"] - size.sum() / pieces.sum()
    members["dataset"], members["n_pieces"], members["used"] = numbers, pieces, 0
    members["n_finished"], members["n_failed"] = 0, 0
    members["piece_bytes"] = size / pieces + secondary
    members["first_piece"], members["first_file"] = np.cumsum(pieces) - pieces, np.cumsum(files) - files
    arrays.containers[row], arrays.input_dataset[row] = (first, len(numbers), first), numbers[0]


def forget_containers(world, rows: np.ndarray) -> None:
    """Free the members of tasks that are gone."""
    containers = world.arrays.containers
    for row in rows[containers["number"][rows] > 0].tolist():
        world.member_rows.give_back(int(containers["first"][row]), int(containers["number"][row]))
    containers[rows] = np.zeros((), CONTAINER)


def datasets_of(arrays: Arrays, row: int) -> list[int]:
    """Numbers of the datasets that a task reads."""
    if not arrays.containers["number"][row]:
        return [int(arrays.input_dataset[row])]
    return members_of(arrays, row)["dataset"].tolist()


def members_of(arrays: Arrays, row: int) -> np.ndarray:
    """The members of the container that a task reads whole, (n,) of MEMBER, not a copy; none of another task."""
    container = arrays.containers[row]
    return arrays.members[container["first"]:container["first"] + container["number"]]


def note_added(arrays: Arrays, row: int, pieces: int) -> None:
    """Note that pieces were added to the input of a task: those of a container belong to its last dataset."""
    if arrays.containers["number"][row]:
        members_of(arrays, row)["n_pieces"][-1:] += pieces


def datasets_of_task(arrays: Arrays, row: int, mutable: bool) -> tuple[DatasetRow, ...]:
    """Master input and output of a task, in pieces of input; mutable: whether the last input may still grow.

    Input is one dataset, or those of the container that the task reads whole.
    """
    pieces, used, finished, failed = arrays.tasks[["n_jobs", "next_chunk", "n_finished", "n_failed"]].item(row)
    if arrays.containers["number"].item(row):
        masters = container_rows(arrays, row)
    else:
        usable = staged_inputs_of(arrays, row)
        masters = [DatasetRow(n_files=pieces, to_be_used=usable_files(dict(ready=usable, staging=pieces - usable)),
                              used=used, finished=finished, failed=failed)]
    if mutable:
        masters[-1] = masters[-1]._replace(state="mutable")
    return *masters, DatasetRow("output", n_files=finished + failed, to_be_used=None, finished=finished, failed=failed)


@compiled
def usable_pieces(pieces, used, left):
    """Pieces of a dataset of a container that may be used, if `left` more of the whole container may be."""
    return used + max(0, min(pieces - used, left))


usable_pieces_of = uncompiled(usable_pieces)
"""As `usable_pieces`, for Python."""


def container_rows(arrays: Arrays, row: int) -> list[DatasetRow]:
    """The datasets of the container that a task reads whole; scouts use the first new pieces of all."""
    left, found = int(inputs_to_use(arrays, row)) - int(arrays.tasks["next_chunk"][row]), []
    for pieces, used, finished, failed in members_of(arrays, row)[
            ["n_pieces", "used", "n_finished", "n_failed"]].tolist():
        usable = usable_pieces_of(pieces, used, left)
        left -= usable - used
        found.append(DatasetRow(n_files=pieces, to_be_used=usable, used=used, finished=finished, failed=failed))
    return found
