"""Storages of a nucleus: the part of a task's input on them, dataset by dataset, and those for output by storage token.

Source: brokerage reference, 1.2 (T2, T5) and 1.3.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker.policy.availability import Endpoint, is_database, is_read
from simgrid_broker.views import DatasetOfTask, InputOfNuclei, Replica

LOG = "log"
"""Type field of datasets of logs, the fifth of their names, which task brokerage does not look at."""
TYPE_FIELD = 4


class Amount(NamedTuple):
    """Files and bytes."""

    files: float
    bytes: float


def counted(datasets: Mapping[str, DatasetOfTask], on_master: bool) -> dict[str, DatasetOfTask]:
    """Datasets that task brokerage looks at; on_master: the primary input alone (taskBrokerOnMaster)."""
    return {name: one for name, one in datasets.items() if is_read(one) and not is_database(name)
            and name.split(".")[TYPE_FIELD:][:1] != [LOG] and not (on_master and one.secondary)}


def input_of_nuclei(datasets: Mapping[str, DatasetOfTask], on_master: bool, endpoints: Sequence[Endpoint],
                    reads: Sequence[Sequence[int]]) -> InputOfNuclei:
    """Input at each nucleus, and whether all of it can be read; reads: storages of input of each nucleus."""
    by_name, looked_at = {one.name: one for one in endpoints}, counted(datasets, on_master)
    held = np.zeros((len(reads), 3))
    total_files, total_bytes, missing = 0.0, 0.0, ""
    for name, one in looked_at.items():
        parts = [datasets[part] for part in one.constituents if part in datasets] or [one]
        if not missing and not any(map(lambda part: _is_whole_somewhere(part, by_name), parts)):
            missing = name
        size = _total(parts[-1])                       # of a container PanDA keeps the size of its last dataset
        total_files, total_bytes = total_files + size.files, total_bytes + size.bytes
        for place, storages in enumerate(reads):
            own = {endpoints[k].name: endpoints[k] for k in storages}
            held[place] += sum(np.array(_held(part, own)) for part in parts)
    return InputOfNuclei(total_bytes, total_files, held[:, 0], held[:, 1], held[:, 2], missing)


def _total(dataset: DatasetOfTask) -> Amount:
    """Size of a dataset as its first replica counts it."""
    for replica in dataset.replicas.values():
        return _whole(dataset, replica)
    return Amount(0.0, 0.0)


def _whole(dataset: DatasetOfTask, replica: Replica) -> Amount:
    """Size of a dataset as one of its replicas counts it."""
    files = (dataset.n_files or 0) if replica.of_files is None else replica.of_files
    return Amount(files, dataset.bytes if replica.of_bytes is None else replica.of_bytes)


def _found(dataset: DatasetOfTask, replica: Replica) -> Amount:
    """Part of a dataset at the place of a replica."""
    whole = _whole(dataset, replica)
    share = replica.files / whole.files * whole.bytes if whole.files else 0.0
    return Amount(replica.files, share if replica.bytes is None else replica.bytes)


def _is_whole_somewhere(dataset: DatasetOfTask, by_name: Mapping[str, Endpoint]) -> bool:
    """True if a storage that sends files has all of a dataset."""
    return any(by_name[name].wan and 0 < replica.files == _whole(dataset, replica).files
               for name, replica in dataset.replicas.items())


def _held(dataset: DatasetOfTask, own: Mapping[str, Endpoint]) -> tuple[float, float, float]:
    """Bytes on disk, bytes on disk or tape, and files on either, at the best of a nucleus' storages.

    A complete replica on disk is all that counts; of others the best one, since PanDA does not add them.
    """
    disk, anywhere, files = 0.0, 0.0, 0.0
    for name, replica in _at(dataset, own):
        found, whole = _found(dataset, replica), _whole(dataset, replica)
        if not own[name].tape:
            if whole.files > 0 and found.files == whole.files:
                return found.bytes, found.bytes, found.files
            disk = max(disk, found.bytes)
        anywhere, files = max(anywhere, found.bytes), max(files, found.files)
    return disk, anywhere, files


def _at(dataset: DatasetOfTask, own: Mapping[str, Endpoint]) -> Iterator[tuple[str, Replica]]:
    """Replicas at a nucleus."""
    return ((name, replica) for name, replica in dataset.replicas.items() if name in own)


# ---- output ----------------------------------------------------------------------------------------------------------

DISTRIBUTED, DESTINATION = "ddd:", "dst:"
"""Beginnings of tokens of datasets that stay where they are made, and that go to a storage."""
NO_STORAGE = -1


def wanted(tokens: Iterable[str]) -> tuple[str, ...]:
    """Storage tokens of the output: each once, without those of datasets that stay distributed."""
    return tuple(dict.fromkeys(token.removeprefix(DESTINATION) for token in tokens
                               if not token.startswith(DISTRIBUTED)))


def matching(token: str, storages: Sequence[tuple[str, str]]) -> int:
    """Position of the storage for a token among (name, type) pairs, NO_STORAGE if none fits.

    That is the one of this name, else the first whose name matches the token as a regular expression or whose type is
    the token without ATLAS.
    """
    kind = token.replace("ATLAS", "", 1)
    names = [name for name, _ in storages]
    if token in names:
        return names.index(token)
    return next((place for place, (name, its_type) in enumerate(storages)
                 if re.search(token, name) or its_type == kind), NO_STORAGE)
