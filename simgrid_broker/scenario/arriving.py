"""The tasks of a scenario in order of arrival, drawn block by block: a long scenario never holds all of its tasks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simgrid_broker.luck import keys
from simgrid_broker.scenario.tasklist import TaskList, merged

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
