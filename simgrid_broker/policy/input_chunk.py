"""The smallest jobs that a task's input can be cut into, PanDA's atoms, of which brokerage judges the largest.

Source: brokerage reference, 0.4; `InputChunk.getMaxAtomSize` of PanDA's server.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from simgrid_broker.units import MIB
from simgrid_broker.views import DatasetOfTask, InputFile

MOST_FILES, MOST_FILES_OF_MERGING = 200, 50
"""Most primary files of a job if the task says nothing; source: brokerage reference, 0.4."""


class LargestJob(NamedTuple):
    """Largest figures of the smallest jobs: input, primary input as it counts in MiB, and events."""

    bytes: float
    primary_mib: float
    events: int


class Cut(NamedTuple):
    """Files or events of a job, 0 = not given, and the most files that it may have."""

    files: int
    events: int
    most_files: int


def largest_job(datasets: Mapping[str, DatasetOfTask], cut: Cut) -> LargestJob:
    """The largest job of the primary files and the secondary ones that go with them."""
    primary = next((one for one in datasets.values() if not (one.secondary or one.constituent)), None)
    beside = [one for one in datasets.values() if one.secondary]
    jobs = list(smallest_jobs(list(primary.files.values()), cut)) if primary else []
    sizes = [sum(file.bytes for file in files) for files in jobs]
    for dataset in beside:
        more_of = added(dataset, [len(files) for files in jobs])
        sizes = [size + more for size, more in zip(sizes, more_of, strict=True)]
    return LargestJob(max(sizes, default=0.0), max((sum(map(effective_mib, files)) for files in jobs), default=0.0),
                      max((sum(map(events_of, files)) for files in jobs), default=0))


def smallest_jobs(files: Sequence[InputFile], cut: Cut) -> Iterator[list[InputFile]]:
    """The primary files of each job: as many as are asked for, or as have the events asked for, or one."""
    if cut.files or not cut.events:
        step = cut.files or 1
        yield from (list(files[first:first + step]) for first in range(0, len(files), step))
        return
    chosen: list[InputFile] = []
    for file in files:
        if chosen and (sum(map(events_of, chosen)) + events_of(file) > cut.events or len(chosen) >= cut.most_files):
            yield chosen
            chosen = []
        chosen = [*chosen, file]
    if chosen:
        yield chosen


def events_of(file: InputFile) -> int:
    """Events of a file that jobs read, at least 1."""
    if file.first_event is not None and file.last_event is not None:
        return max(file.last_event - file.first_event + 1, 1)
    return 1 if file.events is None else file.events


def effective_mib(file: InputFile) -> float:
    """Size of a file in proportion to the events that jobs read, MiB."""
    size = file.bytes
    if size and file.events and file.first_event is not None and file.last_event is not None:
        size = int(size * (file.last_event - file.first_event + 1) / file.events)
    return mib(size)


def mib(size: float) -> float:
    """Size of a file, MiB; an unknown one counts as 1 MiB."""
    return size / MIB if size else 1.0


def added(dataset: DatasetOfTask, counts: Iterable[int]) -> Iterator[float]:
    """Bytes of the files of a secondary dataset in each job, by its ratio to the primary files."""
    attributes = dict(item.partition("=")[::2] for item in dataset.attributes.split(",") if item)
    sizes, place = [file.bytes for file in dataset.files.values()], 0
    for count in counts:
        if "nosplit" in attributes:
            yield sum(sizes)
            continue
        wanted = round(count * float(attributes["ratio"])) if attributes.get("ratio") else count
        wanted = min(wanted, len(sizes))
        if "repeat" in attributes:
            yield sum(sizes[(place + k) % len(sizes)] for k in range(wanted)) if sizes else 0.0
        else:
            yield sum(sizes[place:place + wanted])
        place += wanted
