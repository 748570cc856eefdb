"""The candidates of job brokerage."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from simgrid_broker.schema import PSEUDO_QUEUES, QUEUES
from simgrid_broker.schema.attribute import texts_of
from simgrid_broker.schema.queues import PublishedSoftware, Queue, WorkerNodeGpu


@dataclass(frozen=True)
class QueueSoftware:
    """Software and hardware of one PanDA queue.

    published: None = CRIC has no entry; gpus: what worker nodes reported; cpu_levels: (CPU level, its part in %).
    """

    releases: tuple[str, ...] = ("ANY",)
    published: PublishedSoftware | None = None
    gpus: tuple[WorkerNodeGpu, ...] = ()
    cpu_levels: tuple[tuple[str, float], ...] = ()


QUEUE = np.dtype([
    *((column.seen_as or column.name, column.seen) for column in (*PSEUDO_QUEUES.seen, *QUEUES.seen)),
    ("storage", "i4"),               # endpoint that takes output; -1 = none
    ("storage_site", "i4"),          # site of that endpoint, else that of the queue
    ("locked", "?"),                 # another broker holds a lock on it
    ("place", "i4"),                 # place of its name in the alphabet
])
"""A pseudo-queue as brokers see it: numbers and flags, each described in its sheet (`schema.queues`)."""

TEXTS = {column.name: column for column in texts_of(Queue)}
"""Texts of a queue that brokers see."""


@dataclass(frozen=True)
class Queues:
    """The candidates of job brokerage: pseudo-queues, (n,). Limits are numbers or inf, never sentinels.

    records: (n,) of QUEUE, of which compiled criteria read; texts: columns of TEXTS. A column of either is also an
    attribute: `queues.maxrss_mb`, `queues.jobseed`. software_of_all: CRIC's entry ALL, sources of containers.
    """

    names: tuple[str, ...]
    records: np.ndarray
    texts: Mapping[str, tuple[str, ...]]
    software: tuple[QueueSoftware, ...]
    software_of_all: PublishedSoftware | None = None
    version: int = 0               # grows whenever any of the above changes
    reads: tuple[tuple[int, ...], ...] | None = None   # endpoints of input; None = those that take output
    reads_analysis: tuple[tuple[int, ...], ...] = ()   # the same for analysis

    def __getattr__(self, column: str) -> Any:
        """A column, (n,), as an array of numbers or a tuple of texts; raises AttributeError for an unknown one."""
        if column in TEXTS:
            return self.texts[column]
        if column not in (QUEUE.names or ()):
            raise AttributeError(f"queues have no column {column!r}")
        found = vars(self)[column] = np.ascontiguousarray(self.records[column])      # fields of records are slow
        return found

    @cached_property
    def distinct_software(self) -> tuple[tuple[QueueSoftware, ...], np.ndarray]:
        """The different objects in `software`, and the number of each candidate's object, (n,)."""
        distinct = {id(one): one for one in self.software}
        number = {key: k for k, key in enumerate(distinct)}
        return tuple(distinct.values()), np.array([number[id(one)] for one in self.software], np.int64)

    def distinct(self, text: str) -> tuple[tuple[str, ...], np.ndarray]:
        """The different values of a column of TEXTS, and the number of each candidate's value, (n,)."""
        if text not in self._distinct:
            number = {value: k for k, value in enumerate(dict.fromkeys(self.texts[text]))}
            self._distinct[text] = tuple(number), np.array([number[value] for value in self.texts[text]], np.int64)
        return self._distinct[text]

    @cached_property
    def _distinct(self) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        return {}

    def has_in_name(self, word: str) -> np.ndarray:
        """Candidates with a word in the name, whatever the case, (n,) bool; not to be changed."""
        if word not in self._has_in_name:
            self._has_in_name[word] = np.array([word in name.lower() for name in self.names], bool)
        return self._has_in_name[word]

    @cached_property
    def _has_in_name(self) -> dict[str, np.ndarray]:
        return {}

    @cached_property
    def queue_and_cores(self) -> tuple[tuple[int, int], ...]:
        """PanDA queue and cores of each candidate, as plain numbers."""
        return tuple(zip(self.queue.tolist(), self.corecount.tolist(), strict=True))


def same_type(first: int, production: np.ndarray, analysis: np.ndarray) -> np.ndarray:
    """Queues of the type of queue `first`, or of type unified, (n,) bool: production and analysis, of the queues.

    Source: PanDA's `DataServiceUtils.getSitesShareDDM`.
    """
    alike = (production == production[first]) & (analysis == analysis[first])
    return alike | (production & analysis)
