"""Input to come and input lost: submissions of a trace, open datasets, files that incidents lose or bring back; and
requests of the data carousel: which datasets on tape tasks have asked for, and how far each is."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np

from simgrid_broker import luck
from simgrid_broker.names import COMPLETE, TASK_ENDS, StagingStatus, TaskStatus
from simgrid_broker.policy.tasks.data_carousel import Config, source
from simgrid_broker.schema.series import STAGING
from simgrid_broker.world.columns import add_input, lose_files, restore_files, set_task
from simgrid_broker.world.data.datasets import datasets_of, give_size, own_input
from simgrid_broker.world.data.replicas import is_shared, most_on_disk_of, note_unstaged
from simgrid_broker.world.tasks.rows import in_order, recorded_of_tasks, renewed
from simgrid_broker.world.world import World


class Submissions:
    """Recorded jobs in the order in which they are submitted; as_jobs: they go to the server without the JobGenerator.

    to_come: (n_tasks,) jobs of each task that are not among its input yet; a task begins with none.
    """

    def __init__(self, world: World):
        self.world, work = world, world.scenario.workload
        self.as_jobs = work.trace is not None and work.trace.enters_as == "jobs"
        self.times_s, self.rows = in_order(world.arrays)
        self.to_come = recorded_of_tasks(world.arrays)
        self.n_submitted = 0

    def begin(self, rows: np.ndarray) -> None:
        """Know that tasks which come later, beside a trace or without one, get no more input than they have."""
        self.to_come = renewed(self.world, self.to_come, rows, 0)

    @property
    def next_s(self) -> float | None:
        """When the next job is submitted; None after the last one."""
        return self.times_s[self.n_submitted] if self.n_submitted < len(self.rows) else None

    def is_open(self, row: int) -> bool:
        """True if a task will get more input."""
        return bool(self.to_come[row] > 0)

    def take(self, now: float) -> dict[int, int]:
        """Number of jobs that have been submitted since the last call, by the row of their task."""
        first, self.n_submitted = self.n_submitted, bisect_right(self.times_s, now, self.n_submitted)
        taken = dict[int, int]()                             # most often there is one, for which a Counter takes longer
        for row in self.rows[first:self.n_submitted]:
            taken[row] = taken.get(row, 0) + 1
        return taken

    def add_input(self, row: int, number: int) -> None:
        """Add the next `number` jobs of a task to its input."""
        add_input(self.world, row, number)
        self.to_come[row] -= number


class OpenInputs:
    """Open datasets by row: pieces in the end, how they arrive; tasks begin with those present, at least one."""

    def __init__(self, world: World):
        self.world = world
        self.rows: dict[int, tuple] = {}
        names, work = world.vocabularies["task_names"], world.scenario.workload
        self.streams = [(names.index(stream.name), stream.open_input) for stream in (*work.campaigns, *work.users)
                        if stream.open_input is not None and stream.name in names]

    def begin(self, rows: np.ndarray) -> None:
        """Open the datasets of tasks that are about to arrive."""
        tasks = self.world.arrays.tasks
        for row in rows.tolist() if self.streams else ():
            self.rows.pop(row, None)
        for name, how in self.streams:
            for row in rows[tasks["name"][rows] == name].tolist():
                self.rows[row] = (int(tasks["n_jobs"][row]), how)
                self.read(row, float(tasks["arrival_s"][row]))

    def is_open(self, row: int) -> bool:
        """True if more files may arrive."""
        return row in self.rows

    def read(self, row: int, now: float) -> bool:
        """Find the files that are present now; returns whether there are new ones. A complete dataset is closed."""
        total, how = self.rows[row]
        task = self.world.arrays.tasks[row]
        age = (now - task["arrival_s"]) / how.frozen_after
        known = total if age >= 1 else max(1, math.floor(total * (how.at_first + (1 - how.at_first) * age)))
        if age >= 1:
            del self.rows[row]
        grown = known > task["n_jobs"]
        set_task(self.world, row, n_jobs=known)
        return bool(grown)

    def close(self, row: int) -> None:
        """Remove the dataset of a task that is over."""
        del self.rows[row]


class LostFiles:
    """Losses in force, by incident: its tasks by jeditaskid, with the fraction of each that was lost before."""

    def __init__(self, world: World):
        self.world = world
        self.losses: dict[int, tuple] = {}                  # incident, tasks and fractions, by identity of the first

    def lose(self, incident) -> None:
        """Lose files at a site; files with a complete copy elsewhere are copied back."""
        rows = np.arange(len(self.world.arrays.tasks))
        self.losses[id(incident)] = incident, dict[int, float]()
        self._apply(incident, rows)

    def restore(self, incident) -> None:
        """Bring back the files of an incident, to tasks that are over and have no row any more as little as to others
        that incexec does not revive."""
        _, before = self.losses.pop(id(incident))
        known = [(self.world.row_of[task], lost) for task, lost in before.items() if task in self.world.row_of]
        restore_files(self.world, np.array([row for row, _ in known], np.int64), np.array([lost for _, lost in known]))

    def begin(self, rows: np.ndarray) -> None:
        """Lose the files of tasks that come."""
        for incident, _ in self.losses.values():
            self._apply(incident, rows)

    def _apply(self, incident, rows: np.ndarray) -> None:
        """Lose the files of the tasks in some rows."""
        concerned, before = lose_files(self.world, incident.site, incident.fraction, rows)
        numbers = self.world.arrays.tasks["jeditaskid"][concerned].tolist()
        self.losses[id(incident)][1].update(zip(numbers, before.tolist(), strict=True))


S, T = StagingStatus, TaskStatus

OVER = (*TASK_ENDS, T.EXHAUSTED, T.ABORTING, T.TOABORT, T.TOBROKEN)
"""Statuses of tasks that need no staging any more; source: panda-server, DataCarousel."""


@dataclass
class Request:
    """A request to stage a dataset; tasks: jeditaskids; source, destination: storages; times in s, NaN = not yet.

    reading: whether a drive reads it, or it waits for one.
    """

    number: int
    dataset: int
    source: int
    tape: str
    files: int
    bytes: float
    share: int
    requested_s: float
    to_pin: bool = False
    destination: int = -1
    status: StagingStatus = S.QUEUED
    tasks: list[int] = field(default_factory=list)
    reading: bool = False
    read_bytes: float = 0.0
    staged_files: int = 0
    started_s: float = nan
    mounting_s: float = nan
    read_s: float = nan
    finished_s: float = nan


class StagingRequests:
    """Requests by dataset; write: takes the rows of those that are over.

    can_stage: whether a storage has drives, (n_storages,) bool; names, codes: those of datasets and tapes with a
    request, and of datasets of containers, so far; sent: by dataset, rows and identifiers of the transfers of files
    that drives have read.
    """

    def __init__(self, world: World, write: Callable[[str, np.ndarray], None]):
        self.world, self.write = world, write
        self.requests: dict[int, Request] = {}
        self.sent: dict[int, list[tuple[int, int]]] = {}
        self.n_requests = 0
        self.names = {name: list[str]() for name in ("datasets", "tapes")}
        self.codes = {name: dict[str, int]() for name in self.names}
        words: dict[str, Any] = {**self.names}             # they grow while the run goes on
        world.vocabularies |= words
        storages = world.scenario.grid.storages
        self.can_stage = np.array([storage.tape and storage.drives is not None for storage in storages.values()], bool)
        self.has_tape = bool(self.can_stage.any())

    def is_needed(self, row: int) -> bool:
        """True if a task waits for input to come from tape."""
        return bool(self.needed(row))

    def needed(self, row: int) -> list[int]:
        """Datasets that a task waits for to come from tape: no replica on disk is complete, or the rule of each has
        ended."""
        arrays = self.world.arrays
        if not self.has_tape or not arrays.tasks["inputprestaging"][row]:
            return []
        return [number for number in datasets_of(arrays, row)
                if self._size(row, number) > 0 and self.tapes_of(number) and not any(
                    replica["part"] >= COMPLETE and not replica["expired"] for replica in self.on_disk(number))]

    def size(self, row: int) -> float:
        """Size of the datasets that a task waits for to come from tape, bytes."""
        return sum(self._size(row, number) for number in self.needed(row))

    def _size(self, row: int, number: int) -> float:
        """Size of a dataset that a task reads, bytes."""
        dataset = self.world.arrays.datasets[number]
        return float(dataset["bytes"]) if is_shared(dataset) else own_input(self.world.arrays, row)[0]

    def is_own(self, number: int) -> bool:
        """True if a dataset is the input of one task alone."""
        return number >= len(self.world.catalogue.names)

    def name(self, number: int) -> str:
        """Name of a dataset; that of a task alone has the number of the task."""
        names = self.world.catalogue.names
        return f"task.{self.world.arrays.tasks['jeditaskid'][number - len(names)]}.input" if self.is_own(
            number) else names[number]

    def key(self, number: int) -> int:
        """Key of the random draws of a dataset."""
        names = self.world.catalogue.names
        return int(self.world.arrays.tasks["luck"][number - len(names)]) if self.is_own(
            number) else luck.key_of(names[number])

    def holds(self, rows: np.ndarray) -> np.ndarray:
        """Mask of the tasks, (n,) bool, whose own input a request or files under way need."""
        if not self.has_tape:
            return np.zeros(len(rows), bool)
        transfers = self.world.arrays.transfers
        needed = [*self.requests, *transfers["dataset"][transfers["transfer_id"] != 0].tolist()]
        return np.isin(rows + len(self.world.catalogue.names), needed)

    def is_under_way(self, number: int, destination: int) -> bool:
        """True if files of a dataset that drives have read are on their way to a site."""
        transfers = self.world.arrays.transfers
        left = [(row, known) for row, known in self.sent.get(number, ()) if transfers["transfer_id"][row] == known]
        self.sent[number] = left
        return any(transfers["destination"][row] == destination for row, _ in left)

    def replicas(self, number: int) -> Iterator[np.void]:
        """Replicas of a dataset that have files."""
        arrays = self.world.arrays
        place = int(arrays.datasets["first_replica"][number])
        while place >= 0:
            replica = arrays.replicas[place]
            place = int(replica["next"])
            if replica["part"] > 0 and not replica["virtual"]:
                yield replica

    def on_disk(self, number: int) -> Iterator[np.void]:
        """Replicas of a dataset on disk."""
        return (replica for replica in self.replicas(number) if not replica["tape"])

    def tapes_of(self, number: int) -> dict[str, float]:
        """Endpoints of tape with drives that have a dataset whole, each with its draw."""
        names = self.world.vocabularies["storages"]
        found = (names[replica["storage"]] for replica in self.replicas(number)
                 if replica["tape"] and self.can_stage[replica["storage"]] and replica["part"] >= COMPLETE)
        return {name: self.draw(number, name) for name in found}

    def draw(self, number: int, name: str) -> float:
        """A number in (0, 1) of a dataset and an endpoint, or a share."""
        return float(luck.uniforms(self.world.scenario.seed, "tape_draw", self.key(number), luck.key_of(name)))

    def ask(self, row: int, config: Config, now: float) -> None:
        """Let a task ask for the datasets that it waits for; tasks with the same input share the requests."""
        for number in self.needed(row):
            self._ask(number, row, config, now)

    def _ask(self, number: int, row: int, config: Config, now: float) -> None:
        request = self.requests.get(number)
        if request is not None and request.status is S.DONE:
            self.end(request, S.RETIRED, now)
            request = None
        if request is None:
            if self.is_own(number):
                give_size(self.world.arrays, row)
            request = self.requests[number] = self._new(number, row, config, now)
            self.note_staged(request)
        request.tasks.append(int(self.world.arrays.tasks["jeditaskid"][row]))

    def _new(self, number: int, row: int, config: Config, now: float) -> Request:
        arrays = self.world.arrays
        self.n_requests += 1
        expired = [int(replica["storage"]) for replica in self.on_disk(number) if replica["part"] >= COMPLETE]
        request = Request(self.n_requests, number, -1, "", int(arrays.datasets["n_files"][number]),
                          float(arrays.datasets["bytes"][number]), int(arrays.tasks["share"][row]), now,
                          to_pin=bool(expired), destination=(*expired, -1)[0])
        self.choose_tape(request, config)
        return request

    def choose_tape(self, request: Request, config: Config) -> None:
        """Choose the tape, of those that have the dataset of a request, from which it is staged."""
        name = source(self.tapes_of(request.dataset), config)
        request.source, request.tape = self.world.vocabularies["storages"].index(name), config.tape_of(name)

    def has_rule(self, row: int) -> bool:
        """True if there is a rule for any input of a task, or no request any more."""
        found = [self.requests[number] for number in datasets_of(self.world.arrays, row) if number in self.requests]
        return not found or any(request.status is not S.QUEUED for request in found)

    def live_tasks(self, request: Request) -> list[int]:
        """Rows of the tasks of a request that are not over."""
        rows = (self.world.row_of.get(task) for task in request.tasks)
        status = self.world.arrays.tasks["status"]
        return [row for row in rows if row is not None and status[row] not in OVER]

    def note_staged(self, request: Request) -> None:
        """Note how much of a dataset is on disk, of which jobs may be made."""
        on_disk = float(most_on_disk_of(self.world.arrays, request.dataset))
        request.staged_files = int(on_disk * request.files + 0.5)
        note_unstaged(self.world.arrays, request.dataset,
                      1.0 - on_disk if request.status in (S.QUEUED, S.STAGING) else 0.0)

    def end(self, request: Request, status: StagingStatus, now: float) -> None:
        """End a request, whose dataset may then be asked for once more, and record it."""
        if request.status is not S.DONE:
            request.finished_s = now
        request.status = status
        self.note_staged(request)
        del self.requests[request.dataset]
        self._record([request])

    def record_the_rest(self) -> None:
        """Record the requests that are not over."""
        self._record([*self.requests.values()])

    def _record(self, requests: list[Request]) -> None:
        rows = STAGING.empty(len(requests))
        for row, request in zip(rows, requests, strict=True):
            for name in ("source", "destination", "status", "share", "bytes", "read_bytes", "staged_files",
                         "requested_s", "started_s", "mounting_s", "read_s", "finished_s"):
                row[name] = getattr(request, name)
            row["request"], row["tasks"], row["total_files"] = request.number, len(request.tasks), request.files
            row["dataset"] = self.word("datasets", self.name(request.dataset))
            row["tape"] = self.word("tapes", request.tape)
        if len(rows):
            self.write("staging", rows)

    def word(self, kind: str, name: str) -> int:
        """Code of the name of a dataset or tape in the tables."""
        words, codes = self.names[kind], self.codes[kind]
        if name not in codes:
            codes[name] = len(words)
            words.append(name)
        return codes[name]
