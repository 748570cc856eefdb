"""The progress of a task by the rows of its datasets: when scouts are judged or only measured, and when nothing is left
of the input. Source: lifecycle reference, 2.7, 2.8 and corrections; panda-server, `prepareTasksToBeFinished_JEDI`."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from simgrid_broker.names import TASK_PREPARABLE, TaskStatus
from simgrid_broker.policy.tasks import scouts
from simgrid_broker.views import DatasetRow
from simgrid_broker.views.tasks import INPUT_TYPES, PROCESS_TYPES

T = TaskStatus

READ = "finished", "done", "failed", "removed"
"""Statuses of master datasets of which nothing is awaited."""
MUTABLE, TO_UPDATE = "mutable", "toupdate"


class Look(Enum):
    """Why the PostProcessor takes up a task: nothing is left, or its scouts; MEASURED: these are only measured."""

    NONE, OVER, EARLY, MEASURED, FORCED = range(5)


class Progress(NamedTuple):
    """A task in the eyes of the PostProcessor.

    due: its scouts were not looked at for ten minutes; tried: what is counted of their jobs, pairs of job and status of
    file in the deployed edition; measured: walltimeUnit is set; forced: avalanche was asked for.
    """

    status: TaskStatus
    datasets: tuple[DatasetRow, ...]
    due: bool
    tried: scouts.Scouting
    measured: bool = False
    forced: bool = False
    locked: bool = False


class Step(NamedTuple):
    """Status that a task gets, None = it stays as it is, and its datasets afterwards."""

    status: TaskStatus | None
    datasets: tuple[DatasetRow, ...]


def is_over(datasets: Iterable[DatasetRow]) -> bool:
    """True if no master dataset has files that await a job or its end."""
    return not any(awaits_jobs(one) for one in datasets if one.is_master and one.status not in READ)


def awaits_jobs(dataset: DatasetRow) -> bool:
    """True if files that may be used have not been processed or given up, or none was used; not set = none may be."""
    usable = dataset.to_be_used or 0
    return usable > dataset.finished + dataset.failed or (dataset.used == 0 and usable > 0)


def look_of(task: Progress, edition: str) -> Look:
    """Why the PostProcessor takes up a task in this cycle; a locked one waits."""
    if task.locked:
        return Look.NONE
    if (task.status in TASK_PREPARABLE or task.status is T.SCOUTING) and is_over(task.datasets):
        return Look.OVER
    if task.due and task.tried.finished > 0:
        if task.status is T.SCOUTING and scouts.enough_finished(task.tried, edition):
            return Look.EARLY
        if task.status in (T.SCOUTING, T.RUNNING) and not task.measured:
            return Look.MEASURED
    return Look.FORCED if task.status is T.SCOUTING and task.forced else Look.NONE


def judged(succeeded: bool, exhausts: bool) -> TaskStatus:
    """Status of a task whose scouts are judged; an avalanche that was asked for counts as success."""
    if not succeeded:
        return T.TOBROKEN
    return T.EXHAUSTED if exhausts else T.SCOUTED


def after_input(status: TaskStatus, datasets: Sequence[DatasetRow]) -> Step:
    """Status of a task of which nothing is left: prepared, or defined if its input may grow, or registered.

    It stays as it is if a master dataset in status ready has files that may not be used yet.
    """
    ready = [one for one in datasets if one.status == "ready" and one.type in PROCESS_TYPES]
    for one in ready:
        if one.state == MUTABLE and not one.secondary:
            return Step(T.DEFINED, tuple(map(reopened, datasets)))
        if not one.secondary and one.n_files > one.finished + one.failed:
            return Step(None, tuple(datasets))
    if any(one.state == MUTABLE and not one.secondary and one.type in INPUT_TYPES for one in datasets):
        return Step(T.DEFINED, tuple(map(reopened, datasets)))
    whole = any(not one.secondary and one.n_files == one.finished for one in ready)
    return Step(T.REGISTERED if status is T.PREPROCESSING and whole else T.PREPARED, tuple(map(prepared, datasets)))


def reopened(dataset: DatasetRow) -> DatasetRow:
    """A dataset of a task that waits for more input: the ContentsFeeder reads a mutable one again."""
    return dataset._replace(status=TO_UPDATE) if dataset.state == MUTABLE else dataset


def prepared(dataset: DatasetRow) -> DatasetRow:
    """A dataset of a task that is prepared for its end: input is done, finished or failed by its files."""
    if dataset.type in ("output", "log"):
        return dataset._replace(status="prepared")
    if dataset.status != "ready" or dataset.type not in PROCESS_TYPES:
        return dataset
    if dataset.secondary or dataset.n_files == dataset.finished:
        return dataset._replace(status="done")
    return dataset._replace(status="finished" if dataset.finished else "failed")
