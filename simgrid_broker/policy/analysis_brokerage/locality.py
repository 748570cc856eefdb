"""Where the input of an analysis task lies: which queues a loop with data locality asks, and how much each weighs.

Source: brokerage reference, 3.1 (G4), 3.2, 3.4 and 11.5.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import uncompiled
from simgrid_broker.gdpconfig import anal_jobbroker
from simgrid_broker.names import ReplicaState
from simgrid_broker.policy.analysis_brokerage.question import DATA
from simgrid_broker.policy.job_brokerage.completeness import SOURCE, is_complete
from simgrid_broker.units import GIB
from simgrid_broker.views import DatasetAt, Gdpconfig, InputAt, Task

COMPLETE_DISK, INCOMPLETE_DISK, COMPLETE_TAPE, INCOMPLETE_TAPE, COMPLETE_VP, INCOMPLETE_VP = map(int, ReplicaState)
ANY_COMPLETE = COMPLETE_DISK | COMPLETE_TAPE | COMPLETE_VP
VIRTUAL = COMPLETE_VP | INCOMPLETE_VP
TAPE_WEIGHT = 0.001
"""Weight of a dataset that a queue has on tape, where one on disk weighs 1; source: brokerage reference, 3.4."""


class Found(NamedTuple):
    """What the input means for a task.

    at: (n_queues,) of DATA; failure: why the attempt ends, empty = it does not; remotely: other sites can read all of
    it; union: no queue has all datasets, so that those with one count; distributed: a dataset is scattered over sites.
    """

    at: np.ndarray
    failure: str = ""
    remotely: bool = True
    union: bool = False
    distributed: bool = False


class Readable(NamedTuple):
    """How a dataset can be read at all: complete enough on disk or tape, truly complete on disk, over the network."""

    enough: bool
    whole_on_disk: bool
    remotely: bool
    places: tuple[str, ...]


def find_input(given: InputAt, task: Task, candidates: np.ndarray, edition: str, cfg: Gdpconfig) -> Found:
    """Where the input of a task lies, and whether that is enough to begin; candidates: (n_queues,) PanDA queues."""
    at = np.zeros(len(candidates), DATA)
    if not given.datasets:
        return Found(at)
    seen, known = [], []
    for dataset in given.datasets:
        states = np.where(candidates, dataset.states, 0)
        known.append(readable(dataset, cfg))
        scattered = is_distributed(dataset, states)
        seen.append((dataset, states, scattered))
        if not (known[-1].enough or scattered) and not task.allows_incomplete:
            return Found(at, incomplete(dataset.name, known[-1].places))
    distributed = any(scattered for *_, scattered in seen)
    uses_vp = not (task.is_merging or task.avoid_vp or task.is_scouting or task.uselocalio or distributed)
    union = list_queues(at, seen, known, task, uses_vp)
    note_files(at, seen, known, uses_vp)
    return Found(at, "", all(one.remotely for one in known), union, distributed)


def readable(dataset: DatasetAt, cfg: Gdpconfig) -> Readable:
    """How a dataset can be read; virtual placement does not count. Source: brokerage reference, 3.1 (G4) and 2.3 P1."""
    limits = cfg.value(anal_jobbroker.MAX_MISSING_INPUT_FILES), cfg.value(anal_jobbroker.MIN_INPUT_COMPLETENESS)
    enough = whole = remotely = False
    places = []
    for source, on_tape in zip(dataset.sources, dataset.on_tape, strict=True):
        row = np.zeros(1, SOURCE)[0]
        row["part"], row["missing"] = source.part, source.missing
        if not uncompiled(is_complete)(row, *limits):
            continue
        places.append(source.name)
        if source.lan or source.wan:
            enough, remotely = True, remotely or source.wan
            whole = whole or (source.part >= 1 and not on_tape)
    return Readable(enough, whole, remotely, tuple(places))


def is_distributed(dataset: DatasetAt, states: np.ndarray) -> bool:
    """Whether a dataset counts as scattered: no candidate has all of it, and it is; or it is a container."""
    if not states.any():
        return False
    return dataset.container or (dataset.scattered and not (states & ANY_COMPLETE).any())


def incomplete(name: str, places: Sequence[str]) -> str:
    """PanDA's words for a dataset that cannot be read."""
    if not places:
        return f"{name} is incomplete at online storage. "
    one = len(places) == 1
    return (f"{name} is only complete at {','.join(places)}. But the storage{' is' if one else 's are'} currently in "
            f"downtime or offline, or {'isn' if one else 'aren'}'t associated to any online sites. ")


def list_queues(at: np.ndarray, seen: Sequence[tuple[DatasetAt, np.ndarray, bool]], known: Sequence[Readable],
                task: Task, uses_vp: bool) -> bool:
    """Fill in which queues have the input, and their weights; returns whether those with a part of it count.

    Source: brokerage reference, 3.4.
    """
    every, disk, real = (np.ones(len(at), bool) for _ in range(3))
    any_of, disk_of, real_of = (np.zeros(len(at), bool) for _ in range(3))
    for (_, states, scattered), one in zip(seen, known, strict=True):
        partly = scattered or not one.whole_on_disk
        times = places_of(states, partly)
        held, on_disk = times > 0, places_of(states, partly, tape=False, virtual=uses_vp) > 0
        not_virtual = places_of(states, partly, virtual=False) > 0
        at["weight"] += times * np.where(on_disk, 1.0, TAPE_WEIGHT)
        every, disk, real = every & held, disk & on_disk, real & not_virtual
        any_of, disk_of, real_of = any_of | held, disk_of | on_disk, real_of | not_virtual
    at["listed"], at["real"], union = every, real, False
    single = task.preassigned[0] if len(task.preassigned) == 1 else -1
    if single >= 0:
        at["listed"] = every if every[single] else any_of if any_of[single] else False
    elif disk.any():
        at["listed"] = disk
    elif not every.any() and any_of.any():
        at["listed"], at["real"], union = disk_of if disk_of.any() else any_of, real_of, True
    return union


def places_of(states: np.ndarray, partly: bool, tape: bool = True, virtual: bool = True) -> np.ndarray:
    """How often each queue is listed for a dataset, (n_queues,): complete replicas, else incomplete ones.

    partly: incomplete ones count beside complete ones unless these are on a disk. Where a complete replica is on a
    disk, queues with virtual placement are left out. Source: brokerage reference, 3.4.
    """
    counted = COMPLETE_DISK | INCOMPLETE_DISK
    counted |= (COMPLETE_TAPE | INCOMPLETE_TAPE if tape else 0) | (VIRTUAL if virtual else 0)
    seen = states & counted
    whole, part = (seen & ANY_COMPLETE) > 0, (seen & ~ANY_COMPLETE) > 0
    is_on_disk = bool((seen & COMPLETE_DISK).any())
    if is_on_disk:
        is_real = (states & VIRTUAL) == 0
        whole, part = whole & is_real, part & is_real
    if not whole.any():
        return part.astype(float)
    return whole + part.astype(float) if partly and not is_on_disk else whole.astype(float)


def note_files(at: np.ndarray, seen: Sequence[tuple[DatasetAt, np.ndarray, bool]], known: Sequence[Readable],
               uses_vp: bool) -> None:
    """Fill in whether the files of all datasets are at each queue, or need not be, and the whole GB on disk."""
    at["files"] = at["own_files"] = True
    for (dataset, states, scattered), one in zip(seen, known, strict=True):
        there = np.maximum(np.maximum(dataset.disk_files, dataset.cache_files), dataset.tape_files)
        own = (there >= dataset.n_files) | (not one.whole_on_disk) | (uses_vp & ((states & COMPLETE_VP) > 0))
        at["own_files"] &= own
        at["files"] &= own | scattered
        at["disk_gb"] += dataset.disk_bytes
    at["disk_gb"] = at["disk_gb"] // GIB
