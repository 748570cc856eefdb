"""Whether the input of a task can be read: it must be complete, or nearly so, at a storage that jobs or sites may read.

Source: brokerage reference, 2.3 P1 (D23), which the documentation does not have.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.gdpconfig import jobbroker
from simgrid_broker.policy.rule import candidate_criterion
from simgrid_broker.views import SOURCE, Gdpconfig, InputDataset, Task

FINE, INCOMPLETE, CLOSED = range(3)
"""Whether a dataset can be read: it can, it is complete at no storage, or only where it cannot be read."""


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
    sources, n = np.zeros(max(len(dataset.sources), 1), SOURCE), len(dataset.sources)
    for row, source in zip(sources, dataset.sources, strict=False):
        row["part"], row["missing"], row["lan"], row["wan"] = source[1:]
    problem, best, remotely = reading_of(sources, n, task.inputprestaging, *(
        float(cfg.value(key)) for key in (jobbroker.MAX_MISSING_INPUT_FILES, jobbroker.MIN_INPUT_COMPLETENESS)))
    if problem == INCOMPLETE:
        return Readable(f"{dataset.name} is incomplete at any online storage", best)
    if problem == CLOSED:
        enough = zip(enough_at(sources, n, cfg), dataset.sources, strict=False)
        places = ",".join(sorted(source.name for is_enough, source in enough if is_enough))
        return Readable(f"{dataset.name} is only complete at {places} which is currently in downtime or offline", best)
    return Readable(best_part=best, remotely=bool(remotely))


def enough_at(sources: np.ndarray, n: int, cfg: Gdpconfig) -> list[bool]:
    """Which of the first `n` sources count as complete."""
    limits = cfg.value(jobbroker.MAX_MISSING_INPUT_FILES), cfg.value(jobbroker.MIN_INPUT_COMPLETENESS)
    return [bool(uncompiled(is_complete)(source, *limits)) for source in sources[:n]]


@compiled
def reading_of(sources, n, is_staged, most_missing, least_percent):
    """How a dataset with `n` sources, of `views.SOURCE`, can be read: problem, largest part, whether by other sites.

    problem: FINE, INCOMPLETE or CLOSED; is_staged: it is brought from tape first, and so need not be complete yet;
    most_missing, least_percent: MAX_MISSING_INPUT_FILES and MIN_INPUT_COMPLETENESS.
    """
    best, n_enough, nearby, remotely = 0.0, 0, False, False
    for k in range(n):
        source = sources[k]
        best = max(best, source["part"])
        if is_complete(source, most_missing, least_percent):
            n_enough += 1
            nearby, remotely = nearby or source["lan"], remotely or source["wan"]
    if is_staged:
        return FINE, best, remotely or n_enough == 0
    if n_enough == 0:
        return INCOMPLETE, best, True
    return (FINE, best, remotely) if nearby or remotely else (CLOSED, best, True)


@compiled
def is_complete(source, most_missing, least_percent):
    """Whether a replica counts as complete: it lacks little, by MAX_MISSING_INPUT_FILES or MIN_INPUT_COMPLETENESS.

    A replica without any file never counts.
    """
    return source["part"] > 0 and (source["part"] >= 1 or source["missing"] <= most_missing
                                   or 100 * source["part"] >= least_percent)


@candidate_criterion("-incomplete", unit="part of the files",
                     says="at most {value} of an input dataset at one storage, {limit} needed where it can be read",
                     applies=lambda task: task["incomplete"] or task["total_bytes"] > 0,
                     panda="check of input datasets", editions=("deployed",),
                     source="brokerage reference, 2.3 P1 (D23)")
def input_incomplete(task, queue, load, link, store, numbers):
    """Refuse every queue if an input dataset is complete, or nearly so, at no storage that may be read."""
    return task["incomplete"], task["best_part"], task["MIN_INPUT_COMPLETENESS"] / 100
