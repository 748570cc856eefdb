"""Whether the input of a task can be read: it must be complete, or nearly so, at a storage that jobs or sites may read.

Source: brokerage reference, 2.3 P1 (D23), which the documentation does not have.
"""

from collections.abc import Iterable
from typing import NamedTuple

from simgrid_broker.gdpconfig import jobbroker
from simgrid_broker.policy.rule import candidate_criterion
from simgrid_broker.views import Gdpconfig, InputDataset, Source, Task


class Readable(NamedTuple):
    """How the input of a task can be read.

    failure: why it cannot, empty if it can; best_part: the largest part of the dataset in question at one storage;
    remotely: whether other sites can read all of it.
    """

    failure: str = ""
    best_part: float = 1.0
    remotely: bool = True


def readable(inputs: Iterable[InputDataset], task: Task, cfg: Gdpconfig) -> Readable:
    """How the input can be read; the first dataset that cannot be read decides."""
    remotely = True
    for dataset in inputs:
        if dataset.scattered:
            continue
        found = _whole(dataset, task, cfg)
        if found.failure:
            return found
        remotely = remotely and found.remotely
    return Readable(remotely=remotely)


def _whole(dataset: InputDataset, task: Task, cfg: Gdpconfig) -> Readable:
    enough = [source for source in dataset.sources if is_complete(source, cfg)]
    best = max((source.part for source in dataset.sources), default=0.0)
    remotely = any(source.wan for source in enough)
    if task.inputprestaging:
        return Readable(best_part=best, remotely=remotely or not enough)
    if not enough:
        return Readable(f"{dataset.name} is incomplete at any online storage", best)
    if not (remotely or any(source.lan for source in enough)):
        places = ",".join(sorted(source.name for source in enough))
        return Readable(f"{dataset.name} is only complete at {places} which is currently in downtime or offline", best)
    return Readable(best_part=best, remotely=remotely)


def is_complete(source: Source, cfg: Gdpconfig) -> bool:
    """Whether a replica counts as complete: it lacks little, by MAX_MISSING_INPUT_FILES or MIN_INPUT_COMPLETENESS.

    A replica without any file never counts.
    """
    return source.part > 0 and (source.part >= 1 or source.missing <= cfg.value(jobbroker.MAX_MISSING_INPUT_FILES)
            or 100 * source.part >= cfg.value(jobbroker.MIN_INPUT_COMPLETENESS))


@candidate_criterion("-incomplete", unit="part of the files",
                     says="at most {value} of an input dataset at one storage, {limit} needed where it can be read",
                     applies=lambda task: task["incomplete"] or task["total_bytes"] > 0,
                     panda="check of input datasets", editions=("deployed",),
                     source="brokerage reference, 2.3 P1 (D23)")
def input_incomplete(task, queue, load, link, store, numbers):
    """Refuse every queue if an input dataset is complete, or nearly so, at no storage that may be read."""
    return task["incomplete"], task["best_part"], task["MIN_INPUT_COMPLETENESS"] / 100
