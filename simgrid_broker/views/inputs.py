"""The input of a task: its datasets and replicas, and what queues and nuclei hold of it."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np


class Source(NamedTuple):
    """A replica of an input dataset: its part of the files, 0 to 1, how many it lacks, and what may be read from it."""

    name: str
    part: float
    missing: float
    lan: bool
    wan: bool


class InputDataset(NamedTuple):
    """A dataset that jobs read, for its completeness; scattered: on purpose, so that no place need have all of it."""

    name: str
    sources: tuple[Source, ...]
    scattered: bool = False


class Locality(NamedTuple):
    """Input of one task, for the piece of input that is brokered, and its parts at each queue, (n_queues,) of 0 to 1.

    disk_bytes, disk_files: what its storages have on disk; any_bytes, any_files: on disk or tape; complete: (n_queues,)
    whether a storage that it reads has all of every dataset, None = by `any_bytes`; somewhere: whether any storage has;
    inputs: the datasets.
    """

    total_bytes: float
    total_files: int
    disk_bytes: np.ndarray
    disk_files: np.ndarray
    any_bytes: np.ndarray
    any_files: np.ndarray
    complete: np.ndarray | None = None
    somewhere: bool = False
    inputs: tuple[InputDataset, ...] = ()


SOURCE = np.dtype([("site", "i4"), ("part", "f8"), ("missing", "f8"), ("lan", "?"), ("wan", "?"), ("tape", "?"),
                   ("virtual", "?")])
"""A replica of a task's input: its part of the files, 0 to 1, how many it lacks, what may be read from it, and whether
it is on tape, or of virtual placement."""


@dataclass(frozen=True)
class JobInput:
    """Input of a task's jobs: its replicas, (site, part, whether on tape) each, and the datasets.

    site: of each PanDA queue, (n_queues,); told: the input of the next jobs, if a snapshot says it file by file.
    """

    replicas: tuple[tuple[int, float, int], ...]
    inputs: tuple[InputDataset, ...]
    site: np.ndarray
    told: Locality | None = None

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Parts of the input at each queue on disk, and on disk or tape, (n_queues,) each, 0 to 1.

        Of several replicas the best counts, so a complete one on disk makes tape irrelevant (brokerage reference, 1.3).
        """
        disk, tape = np.zeros((2, len(self.site)))
        for site, part, is_tape in self.replicas:
            held = tape if is_tape else disk
            held[self.site == site] = np.maximum(held[self.site == site], part)
        return disk, np.maximum(disk, tape)


class InputOfNuclei(NamedTuple):
    """Input of a task as task brokerage counts it, and what each nucleus holds of it, (n,): on disk, on disk or tape.

    missing: the dataset that no storage which sends files has whole, empty = none.
    """

    total_bytes: float
    total_files: float
    disk_bytes: np.ndarray
    any_bytes: np.ndarray
    any_files: np.ndarray
    missing: str = ""
