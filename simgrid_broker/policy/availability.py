"""Input of a task at the storages of a PanDA queue, file by file.

Source: brokerage reference, 2.5 and 2.6.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker.names import ReplicaState
from simgrid_broker.views import DatasetAt, DatasetOfTask, InputDataset, Locality, Replica, Source

DATABASE_RELEASE = re.compile(r"ddo.*v\d{6}")
"""Names of database releases, which come from CVMFS where there is any; source: brokerage reference, 2.6."""


class Endpoint(NamedTuple):
    """A storage: its name, what it is, and what may be read from it."""

    name: str
    tape: bool
    is_datadisk: bool
    lan: bool
    wan: bool


class Terms(NamedTuple):
    """Terms on which files count as there: merge jobs take any replica as complete; by_file: single files count."""

    merging: bool
    by_file: bool


def is_read(dataset: DatasetOfTask) -> bool:
    """True if jobs read files of a dataset."""
    return not (dataset.is_pseudo or dataset.constituent)


def with_replicas(dataset: DatasetOfTask, datasets: Mapping[str, DatasetOfTask]) -> DatasetOfTask:
    """A container that says no replicas of its own with those of its datasets, whose files at a storage are added."""
    if dataset.replicas or not dataset.constituents:
        return dataset
    files: dict[str, int] = {}
    for name in dataset.constituents:
        for place, replica in datasets[name].replicas.items() if name in datasets else ():
            files[place] = files.get(place, 0) + replica.files
    return dataset.model_copy(update=dict(replicas={place: Replica(files=number) for place, number in files.items()}))


def found_at(datasets: Mapping[str, DatasetOfTask], endpoints: Sequence[Endpoint], reads: Sequence[tuple[int, ...]],
             has_cvmfs: Sequence[bool], terms: Terms) -> Locality:
    """Parts of the input at each queue, (n_queues,); reads: the storages of each, has_cvmfs: whether it has CVMFS."""
    known = {name: with_replicas(one, datasets) for name, one in datasets.items() if is_read(one)}
    inputs = tuple(completeness(name, one, endpoints) for name, one in known.items())
    sizes = {lfn: file.bytes for one in known.values() for lfn, file in one.files.items()}
    total, n_files = sum(sizes.values()), len(sizes)
    whole = _complete_places(known, endpoints)
    disk, anywhere = np.zeros((2, len(reads))), np.zeros((2, len(reads)))
    complete = np.zeros(len(reads), bool)
    for queue, storages in enumerate(reads):
        on_disk, held = _files_at(known, endpoints, storages, has_cvmfs[queue], terms)
        for parts, lfns in ((disk, on_disk), (anywhere, held)):
            if n_files:
                parts[:, queue] = sum(sizes[lfn] for lfn in lfns) / (total or 1), len(lfns) / n_files
        complete[queue] = any(endpoints[k].is_datadisk and endpoints[k].name in whole for k in storages)
    return Locality(total, n_files, disk[0], disk[1], anywhere[0], anywhere[1], complete, bool(whole), inputs)


def is_database(name: str) -> bool:
    """True if a dataset is a database release."""
    return name.startswith("ddo")


def completeness(name: str, dataset: DatasetOfTask, endpoints: Sequence[Endpoint]) -> InputDataset:
    """The replicas of a dataset."""
    by_name = {endpoint.name: endpoint for endpoint in endpoints}
    sources = [Source(place, replica.files / (of or 1), of - replica.files, by_name[place].lan, by_name[place].wan)
               for place, replica in dataset.replicas.items()
               for of in (dataset.n_files or 0 if replica.of_files is None else replica.of_files,)]
    scattered = dataset.distributed or not dataset.has_rules or dataset.n_files is None
    return InputDataset(name, tuple(sources), scattered)


def _complete_places(datasets: Mapping[str, DatasetOfTask], endpoints: Sequence[Endpoint]) -> set[str]:
    """Names of the storages with a complete replica of every dataset that is not scattered."""
    places: set[str] | None = None
    for name, dataset in datasets.items():
        if (known := completeness(name, dataset, endpoints)).scattered:
            continue
        found = {source.name for source in known.sources if source.part >= 1}
        places = found if places is None else places & found
    return places or set()


def _files_at(datasets: Mapping[str, DatasetOfTask], endpoints: Sequence[Endpoint], storages: tuple[int, ...],
              has_cvmfs: bool, terms: Terms) -> tuple[set[str], set[str]]:
    """LFNs on disk, or in a cache, and on disk or tape, at a queue that reads `storages`; nothing if it reads none."""
    on_disk, held = set[str](), set[str]()
    for name, dataset in datasets.items() if storages else ():
        if has_cvmfs and DATABASE_RELEASE.fullmatch(name):
            on_disk |= dataset.files.keys()
            held |= dataset.files.keys()
            continue
        places = [endpoints[k] for k in storages]
        have = [one for one in places if _has_all(dataset, one.name, terms)]
        if have:
            held |= dataset.files.keys()
            on_disk |= dataset.files.keys() if any(not one.tape for one in have) else set()
        elif terms.by_file and not dataset.secondary and "repeat" not in dataset.attributes.split(","):
            disks, any_place = {one.name for one in places if not one.tape}, {one.name for one in places}
            on_disk |= {lfn for lfn in dataset.files if disks & {*dataset.file_replicas.get(lfn, ())}}
            held |= {lfn for lfn in dataset.files if any_place & {*dataset.file_replicas.get(lfn, ())}}
    return on_disk, held


def _has_all(dataset: DatasetOfTask, place: str, terms: Terms) -> bool:
    """True if a storage offers every file of a dataset."""
    if place in dataset.virtual:
        return True
    replica = dataset.replicas.get(place)
    if replica is None:
        return False
    of = dataset.n_files if replica.of_files is None else replica.of_files
    return terms.merging or replica.files == of


# ---- analysis --------------------------------------------------------------------------------------------------------

def analysis_datasets(datasets: Mapping[str, DatasetOfTask], endpoints: Sequence[Endpoint],
                      reads: Sequence[tuple[int, ...]], has_cvmfs: Sequence[bool]) -> tuple[DatasetAt, ...]:
    """The datasets of an analysis task at each queue; arguments as for `found_at`.

    Source: brokerage reference, 2.6 and 3.4.
    """
    tape = {endpoint.name: endpoint.tape for endpoint in endpoints}
    found = []
    for name, one in datasets.items():
        if not is_read(one):
            continue
        places = [[endpoints[k].name for k in storages] for storages in reads]
        states = np.array([_states(one, known, tape) for known in places], np.int64)
        counts = np.array([_counts(one, known, tape) for known in places], float).reshape(-1, 3)
        cached = np.array([has and DATABASE_RELEASE.fullmatch(name) is not None for has in has_cvmfs], bool)
        sources = completeness(name, one, endpoints).sources
        found.append(DatasetAt(
            name, states, len(one.files), counts[:, 0], counts[:, 1], np.where(cached, len(one.files), 0),
            counts[:, 2], sources, tuple(tape[source.name] for source in sources), one.distributed,
            name.endswith("/") or bool(one.constituents)))
    return tuple(found)


def _states(dataset: DatasetOfTask, places: Sequence[str], tape: Mapping[str, bool]) -> int:
    """Replicas of a dataset at some storages, as bits of `names.ReplicaState`."""
    found = ReplicaState(0)
    for place in places:
        if place in dataset.virtual:
            found |= ReplicaState.COMPLETE_VP
        elif (replica := dataset.replicas.get(place)) is not None:
            of = dataset.n_files if replica.of_files is None else replica.of_files
            if replica.files == of:
                found |= ReplicaState.COMPLETE_TAPE if tape[place] else ReplicaState.COMPLETE_DISK
            else:
                found |= ReplicaState.INCOMPLETE_TAPE if tape[place] else ReplicaState.INCOMPLETE_DISK
    return int(found)


def _counts(dataset: DatasetOfTask, places: Sequence[str], tape: Mapping[str, bool]) -> tuple[float, float, float]:
    """Files on disk and on tape at some storages, and bytes on disk: all of a complete replica, else file by file.

    Files of secondary datasets count only where a replica is complete.
    """
    disks, tapes = ({place for place in places if tape[place] == on_tape} for on_tape in (False, True))
    state, lfns = _states(dataset, places, tape), set(dataset.files)
    if state & (ReplicaState.COMPLETE_DISK | ReplicaState.COMPLETE_TAPE):
        on_disk = lfns if state & ReplicaState.COMPLETE_DISK else set()
        on_tape = lfns if state & ReplicaState.COMPLETE_TAPE else set()
    elif dataset.secondary:
        on_disk = on_tape = set()
    else:
        on_disk, on_tape = ({lfn for lfn in lfns if known & {*dataset.file_replicas.get(lfn, ())}}
                            for known in (disks, tapes))
    return len(on_disk), len(on_tape), sum(dataset.files[lfn].bytes for lfn in on_disk)
