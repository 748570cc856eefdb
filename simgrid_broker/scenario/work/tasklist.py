"""The work of a run as one table of tasks, and its tasks in order of arrival, drawn block by block.

A long scenario never holds all of its tasks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simgrid_broker.luck import keys
from simgrid_broker.names import InputLan
from simgrid_broker.schema import SPLITTING, TASKS, TRACE
from simgrid_broker.schema.attribute import columns_of
from simgrid_broker.schema.jobs import TRACE_VOCABULARIES
from simgrid_broker.schema.part import Part
from simgrid_broker.schema.tasks import N_REPLICAS, VOCABULARY_OF


@dataclass(frozen=True)
class TaskList:
    """All tasks of a run, or those that arrive within a time, sorted by arrival.

    rows: (n,) of `schema.TASKS`, with consecutive jeditaskids; `share` is -1 unless the task names a leaf,
    `resource_type` and `nucleus` are -1 unless given. Sites, leaf shares, resource types are numbered in the scenario's
    order. replica_site: (n, N_REPLICAS) site that holds input, -1 = none; replica_fraction: (n, N_REPLICAS) part of
    the input held there, 0 to 1. A task without input has no replicas. vocabularies: words of each vocabulary in
    `VOCABULARY_OF`. remarks: what an importer could not use. replica_tape: (n, N_REPLICAS) bool, whether a replica is
    on tape; None = all are on disk. splitting: (n,) of `schema.SPLITTING`, how jobs are cut from files; None = no task
    has files. trace: of `schema.TRACE`, what was recorded of the jobs of a trace; trace_words: words of its
    vocabularies. dataset: (n,), number of the shared dataset that each task reads, of a whole container of the first,
    -1 = it has input of its own; None = all have. container: (n,), number of the container that each task reads whole,
    in the order of `Catalogue.members`, -1 = none; None = no task does.
    """

    rows: np.ndarray
    replica_site: np.ndarray
    replica_fraction: np.ndarray
    vocabularies: Mapping[str, tuple[str, ...]]
    remarks: tuple[str, ...] = ()
    replica_tape: np.ndarray | None = None
    splitting: np.ndarray | None = None
    trace: np.ndarray = field(default_factory=lambda: TRACE.empty(0))
    trace_words: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict.fromkeys(TRACE_VOCABULARIES, ()))
    dataset: np.ndarray | None = None
    container: np.ndarray | None = None

    def tape(self) -> np.ndarray:
        """True where a replica is on tape, (n, N_REPLICAS) bool."""
        return np.zeros(self.replica_site.shape, bool) if self.replica_tape is None else self.replica_tape

    def shared(self) -> np.ndarray:
        """Number of the shared dataset that each task reads, (n,), -1 = none."""
        return np.full(len(self.rows), -1) if self.dataset is None else self.dataset

    def containers(self) -> np.ndarray:
        """Number of the container that each task reads whole, (n,), -1 = none."""
        return np.full(len(self.rows), -1) if self.container is None else self.container

    def split(self) -> np.ndarray:
        """Split of the input of each task, (n,) of `schema.SPLITTING`."""
        found = SPLITTING.empty(len(self.rows)) if self.splitting is None else self.splitting.copy()
        found["jeditaskid"] = self.rows["jeditaskid"]
        return found


def new_rows(n: int) -> np.ndarray:
    """Rows of `n` registered tasks, (n,) of `schema.TASKS`, of which nothing is known."""
    rows = TASKS.empty(n)
    for column in TASKS.columns:
        if column.none is not None:
            rows[column.name] = column.none
    rows["allowinputlan"] = InputLan.USE
    return rows


def fill(rows: np.ndarray, nouns: Sequence[Part], sheet: type[Part], names: Mapping[str, Sequence[str]]) -> dict:
    """Fill the columns of a sheet from nouns, one a row or one for all; returns the words by vocabulary, numbered.

    names: members of the scenario's vocabularies, `sites` and `shares`.
    """
    found = {}
    for column in columns_of(sheet):
        values = [column.of(noun) for noun in nouns]
        if column.name in VOCABULARY_OF:
            known = found[column.codes] = {word: k for k, word in enumerate(dict.fromkeys(values))}
            values = [known[value] for value in values]
        elif column.codes and column.codes in names:
            values = [value if value == column.none else names[column.codes].index(value) for value in values]
        rows[column.name] = values
    return found


def no_replicas(n: int) -> tuple[np.ndarray, np.ndarray]:
    """`replica_site` and `replica_fraction` of `n` tasks without input, both (n, N_REPLICAS)."""
    return np.full((n, N_REPLICAS), -1, np.int32), np.zeros((n, N_REPLICAS))


def merged(parts: Sequence[TaskList], first: int = 1) -> TaskList:
    """One list of all tasks: sorted by arrival, then by part and place in it; vocabularies united in that order.

    first: jeditaskid of the first task. At most one part stems from a trace.
    """
    rows = TASKS.joined([part.rows for part in parts])
    vocabularies = {}
    for column, vocabulary in VOCABULARY_OF.items():
        numbers: dict[str, int] = {}
        codes = [np.array([numbers.setdefault(word, len(numbers)) for word in part.vocabularies[vocabulary]],
                          np.int64)[part.rows[column]] for part in parts]
        rows[column] = np.concatenate([np.empty(0, np.int64), *codes])
        vocabularies[vocabulary] = tuple(numbers)
    order = np.argsort(rows["arrival_s"], kind="stable")
    rows = rows[order]
    rows["jeditaskid"] = first + np.arange(len(rows))
    site, fraction = no_replicas(0)
    site = np.concatenate([site, *(part.replica_site for part in parts)])[order]
    fraction = np.concatenate([fraction, *(part.replica_fraction for part in parts)])[order]
    tape = np.concatenate([site[:0] > 0, *(part.tape() for part in parts)])[order]
    splitting = SPLITTING.joined([part.split() for part in parts])[order]
    remarks = tuple(remark for part in parts for remark in part.remarks)
    dataset = np.concatenate([np.zeros(0, np.int64), *(part.shared() for part in parts)])[order]
    container = np.concatenate([np.zeros(0, np.int64), *(part.containers() for part in parts)])[order]
    return TaskList(rows, site, fraction, vocabularies, remarks, tape, splitting, *_traced(parts, order, first),
                    dataset, container)


def _traced(parts: Sequence[TaskList], order: np.ndarray,
            first: int) -> tuple[np.ndarray, Mapping[str, tuple[str, ...]]]:
    """Recorded jobs of the part that has any, under the numbers that their tasks get, and the words of their codes.

    order: (n,) place of each task among the parts put one behind the other.
    """
    number, before = np.argsort(order) + first, 0
    for part in parts:
        if len(part.trace):
            rows = part.trace.copy()
            rows["jeditaskid"] = number[before + part.trace["jeditaskid"] - 1]
            return rows, part.trace_words
        before += len(part.rows)
    return TRACE.empty(0), dict.fromkeys(TRACE_VOCABULARIES, ())


BLOCK = 2048
"""Tasks of a block, or more if they arrive at one moment."""


@dataclass(frozen=True)
class Stream:
    """Tasks of one stream of work, which are drawn when they are asked for.

    arrival_s: (n,), ascending; index: their numbers in the stream, (n,); key: of their draws; parent_key: of the stream
    whose tasks of the same numbers make their input; draw(places): tasks at some places.
    """

    key: int
    arrival_s: np.ndarray
    index: np.ndarray
    draw: Callable[[slice], TaskList]
    parent_key: int | None = None

    @cached_property
    def nothing(self) -> TaskList:
        """None of its tasks, but all of its words."""
        return self.draw(slice(0, 0))

    def between(self, begin_s: float, end_s: float) -> slice:
        """Places of the tasks that arrive in [begin, end)."""
        return slice(*np.searchsorted(self.arrival_s, (begin_s, end_s)).tolist())

    def tasks(self, places: slice) -> TaskList:
        """The tasks at some places."""
        return self.draw(places) if places.stop > places.start else self.nothing


@dataclass(frozen=True)
class Arrivals:
    """All tasks of a scenario: those of streams, and those of a trace, which are known from the beginning."""

    streams: Sequence[Stream]
    recorded: TaskList | None = None

    @property
    def times(self) -> np.ndarray:
        """When each task arrives, (n_tasks,), s; the place of a task is its jeditaskid - 1."""
        recorded = [] if self.recorded is None else [self.recorded.rows["arrival_s"]]
        return np.sort(np.concatenate([np.zeros(0), *(stream.arrival_s for stream in self.streams), *recorded]))

    def all(self) -> TaskList:
        """All tasks in one list."""
        return self._between(-np.inf, np.inf)

    def blocks(self) -> Iterator[TaskList]:
        """All tasks in successive lists, at least one; with a trace in one list, as its jobs are in memory anyway."""
        times = self.times[:0] if self.recorded is not None else self.times
        ends = np.unique(times[BLOCK::BLOCK])
        ends = ends[ends > times[:1]]
        for begin_s, end_s in zip((-np.inf, *ends), (*ends, np.inf), strict=True):
            yield self._between(begin_s, end_s)

    def _between(self, begin_s: float, end_s: float) -> TaskList:
        """The tasks that arrive in [begin, end), under their numbers."""
        places = [stream.between(begin_s, end_s) for stream in self.streams]
        before = sum(int(np.searchsorted(stream.arrival_s, begin_s)) for stream in self.streams)
        found = merged([*(stream.tasks(chosen) for stream, chosen in zip(self.streams, places, strict=True)),
                        *([] if self.recorded is None else [self.recorded])], 1 + before)
        self._name_parents(found.rows, places)
        return found

    def _name_parents(self, rows: np.ndarray, places: Sequence[slice]) -> None:
        """Give each task of a stream with a parent the jeditaskid of the task of the same number, its contemporary."""
        row_of = {luck: row for row, luck in enumerate(rows["luck"].tolist())}
        for stream, chosen in zip(self.streams, places, strict=True):
            if stream.parent_key is not None:
                index = stream.index[chosen]
                own, parents = (keys(key, index).tolist() for key in (stream.key, stream.parent_key))
                for child, parent in zip(own, parents, strict=True):
                    rows["parent"][row_of[child]] = rows["jeditaskid"][row_of[parent]]
