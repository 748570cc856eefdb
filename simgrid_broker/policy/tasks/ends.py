"""The progress and the end of a task by the rows of its datasets: when scouts are judged or only measured, when nothing
is left of the input, the final status by goal and parent, and what the datasets become.

Source: lifecycle reference, 2.7, 2.8 and corrections; panda-server, `prepareTasksToBeFinished_JEDI`,
`PostProcessorBase`.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.names import TASK_PREPARABLE, TEST_SHARE, TaskStatus
from simgrid_broker.policy.tasks.scouts import enough_finished
from simgrid_broker.views import DatasetRow
from simgrid_broker.views.tasks import OUTPUT_TYPES, PROCESS_TYPES

T = TaskStatus

NO_PARENT_LEFT = (T.FAILED, T.BROKEN, T.ABORTED)
"""Ends after which the datasets of a task have failed and its children do not start."""
WHOLE = 1000
"""Completeness of a task all of whose input was processed, and goal of one that says none, per mille."""
REMOVED = "removed"
"""Status of a dataset that DDM does not know any more."""
ENDED_BY = {T.TOBROKEN: T.BROKEN, T.TOABORT: T.ABORTED, T.PAUSED: T.PAUSED}
"""Final status of a task that is to end whatever its input is."""

NO_INPUT, PARENT_FAILED, NOTHING_SUCCEEDED, BELOW_GOAL = "no_input", "parent_failed", "nothing_succeeded", "below_goal"
PARENT_INCOMPLETE, INCOMPLETE, DUPLICATION = "parent_incomplete", "incomplete", "duplication"
REASONS = (NO_INPUT, PARENT_FAILED, NOTHING_SUCCEEDED, BELOW_GOAL, PARENT_INCOMPLETE, INCOMPLETE, DUPLICATION)
"""Reasons why a task has not become done or finished, as its errorDialog holds them."""


class Processor(NamedTuple):
    """A post-processor: whether it exhausts tasks, pauses those with input processed twice, fails those without any."""

    exhausts: bool
    pauses_duplicated: bool
    fails_without_input: bool


PRODUCTION, ANALYSIS, GENERAL = Processor(True, True, False), Processor(False, False, False), Processor(
    False, False, True)
PROCESSORS = {("atlas", "managed"): PRODUCTION, ("atlas", "test"): PRODUCTION, ("atlas", "user"): ANALYSIS,
              ("atlas", "panda"): ANALYSIS}
"""Post-processors by VO and prodSourceLabel, as PanDA's configuration has them; for all others the general one."""


class Terms(NamedTuple):
    """Terms in which the editions differ.

    processors: PROCESSORS count, otherwise every task ends as one of production; needs_goal: a finished task without
    goal is exhausted whatever its completeness, otherwise its goal is 1000 per mille.
    """

    processors: bool
    needs_goal: bool


TERMS = ByEdition(documented=Terms(processors=False, needs_goal=False),
                  deployed=Terms(processors=True, needs_goal=True))


class Ending(NamedTuple):
    """A task that is about to end; goal: per mille, None = not set; duplicates: files that were processed twice."""

    status: TaskStatus
    datasets: tuple[DatasetRow, ...]
    goal: float | None = None
    failGoalUnreached: bool = False
    useExhausted: bool = False
    share: str = ""
    parent: TaskStatus | None = None
    duplicates: int = 0


class End(NamedTuple):
    """Final status of a task, the status before it if a command may resume it, and the reason, empty without one."""

    status: TaskStatus
    old_status: TaskStatus | None = None
    reason: str = ""


def processor_of(vo: str, label: str, edition: str) -> Processor:
    """The post-processor of a task."""
    return PROCESSORS.get((vo, label), GENERAL) if TERMS[edition].processors else PRODUCTION


def master_inputs(datasets: Iterable[DatasetRow]) -> list[DatasetRow]:
    """Master input of a task, without datasets that were removed."""
    return [one for one in datasets if one.is_master_input and one.status != REMOVED]


def completeness(datasets: Iterable[DatasetRow]) -> float:
    """Processed part of the master input of a task, per mille: of its events, or of its files if no events are known.

    Datasets that were removed are left out.
    """
    masters = master_inputs(datasets)
    events = sum(one.events or 0 for one in masters)
    if events:
        return sum(one.events_used or 0 for one in masters) / events * WHOLE
    files = sum(one.n_files for one in masters)
    return sum(one.finished for one in masters) / files * WHOLE if files else 0.0


def end_of_task(ending: Ending, processor: Processor, edition: str) -> End:
    """End of a task: exhausted or paused if its processor says so, otherwise as its input is.

    Source: panda-server, `doPreCheck`, `doPostProcess`, `doBasicPostProcess`.
    """
    final, reason = final_status(ending, processor)
    if processor.exhausts and final is T.FINISHED and is_exhausted(ending, edition):
        alone, _ = final_status(ending._replace(parent=None), processor)
        return End(T.EXHAUSTED, reason=PARENT_INCOMPLETE if alone is T.DONE else INCOMPLETE)
    if (processor.pauses_duplicated and final in (T.DONE, T.FINISHED) and ending.duplicates > 0
            and ending.share != TEST_SHARE):
        return End(T.PAUSED, final, DUPLICATION)
    return End(final, reason=reason)


def is_exhausted(ending: Ending, edition: str) -> bool:
    """True if a finished task waits for a command: useExhausted, not told to finish, and the goal is not reached."""
    if not ending.useExhausted or ending.status is T.PASSED:
        return False
    if ending.goal is None and TERMS[edition].needs_goal:
        return True
    return completeness(ending.datasets) < (WHOLE if ending.goal is None else ending.goal)


def final_status(ending: Ending, processor: Processor) -> tuple[TaskStatus, str]:
    """Final status of a task, and why it has failed; with failGoalUnreached a finished one below its goal fails.

    Source: panda-server, `getFinalTaskStatus`.
    """
    if ending.status in ENDED_BY:
        return ENDED_BY[ending.status], ""
    status, reason = status_of_input(ending, processor)
    goal_counts = ending.failGoalUnreached and (not ending.useExhausted or ending.status is T.PASSED)
    goal = WHOLE if ending.goal is None else ending.goal
    if status is T.FINISHED and goal_counts and completeness(ending.datasets) < goal:
        return T.FAILED, BELOW_GOAL
    return status, reason


def status_of_input(ending: Ending, processor: Processor) -> tuple[TaskStatus, str]:
    """done if all master input was processed, failed if none was, finished otherwise, and why it has failed.

    A task with a parent is done only if the parent is done and no input may still grow, and failed if the parent
    failed, broke or was aborted.
    """
    masters = master_inputs(ending.datasets)
    files, finished = sum(one.n_files for one in masters), sum(one.finished for one in masters)
    if processor.fails_without_input and files == finished == 0:
        return T.FAILED, NO_INPUT
    if files != finished:
        return (T.FINISHED, "") if finished else (T.FAILED, NOTHING_SUCCEEDED)
    if ending.parent is None:
        return T.DONE, ""
    if ending.parent in NO_PARENT_LEFT:
        return T.FAILED, PARENT_FAILED
    mutable = any(one.is_master_input and one.state == "mutable" for one in ending.datasets)
    return (T.FINISHED if mutable or ending.parent is not T.DONE else T.DONE), ""


def dataset_after(dataset: DatasetRow, status: TaskStatus) -> DatasetRow:
    """A dataset of a task that has ended: all fail with the task, otherwise output is finished or done.

    Output counts only files that are there. It is done also if there is none of it, as in panda-server. The datasets
    of an exhausted task stay as they are. Source: panda-server, `doBasicPostProcess`.
    """
    if status is T.EXHAUSTED:
        return dataset
    output = dataset.type in OUTPUT_TYPES
    after = dataset.status
    if status in NO_PARENT_LEFT:
        after = "failed"
    elif output:
        after = "finished" if 0 < dataset.finished < dataset.n_files else "done"
    elif dataset.type.startswith(("trn_", "tmpl_")):
        after = "done"
    return dataset._replace(status=after, n_files=dataset.finished if output else dataset.n_files)



READ = "finished", "done", "failed", "removed"
"""Statuses of master datasets of which nothing is awaited."""
MUTABLE, TO_UPDATE = "mutable", "toupdate"


class Look(IntEnum):
    """Why the PostProcessor takes up a task: nothing is left, or its scouts; MEASURED: these are only measured."""

    NONE, OVER, EARLY, MEASURED, FORCED = range(5)


NONE, OVER, EARLY, MEASURED, FORCED = map(int, Look)
SCOUTING, RUNNING = int(T.SCOUTING), int(T.RUNNING)
IS_PREPARABLE = np.isin(np.arange(len(T)), TASK_PREPARABLE)


def is_over(datasets: Iterable[DatasetRow]) -> bool:
    """True if no master dataset has files that await a job or its end; where it is not known, none may be used."""
    return not any(awaits(one.to_be_used or 0, one.used, one.finished, one.failed) for one in datasets
                   if one.is_master and one.status not in READ)


@compiled
def awaits_jobs(usable, used, finished, failed):
    """True if files of a dataset that may be used have not been processed or given up, or none was used."""
    return usable > finished + failed or (used == 0 and usable > 0)


awaits = uncompiled(awaits_jobs)
"""As `awaits_jobs`, for Python."""


@compiled
def look_of(status, nothing_left, is_due, finished, of, is_measured, is_forced):
    """Look that the PostProcessor takes at a task in this cycle.

    is_due: its scouts were not looked at for ten minutes; finished, of: jobs, and the scouts of which half must have
    finished, in the deployed edition pairs of job and status of file; is_measured: walltimeUnit is set; is_forced:
    avalanche was asked for.
    """
    if (IS_PREPARABLE[status] or status == SCOUTING) and nothing_left:
        return OVER
    if is_due and finished > 0:
        if status == SCOUTING and enough_finished(finished, of):
            return EARLY
        if (status == SCOUTING or status == RUNNING) and not is_measured:
            return MEASURED
    return FORCED if status == SCOUTING and is_forced else NONE


def judged(succeeded: bool, exhausts: bool) -> TaskStatus:
    """Status of a task whose scouts are judged; an avalanche that was asked for counts as success."""
    if not succeeded:
        return T.TOBROKEN
    return T.EXHAUSTED if exhausts else T.SCOUTED


def after_input(status: TaskStatus, datasets: Sequence[DatasetRow]) -> TaskStatus | None:
    """Status of a task of which nothing is left: prepared, or defined if its input may grow, or registered.

    It stays as it is, None, if a master dataset in status ready has files that may not be used yet.
    """
    ready = [one for one in datasets if one.status == "ready" and one.is_master]
    for one in ready:
        if one.state == MUTABLE:
            return T.DEFINED
        if one.n_files > one.finished + one.failed:
            return None
    if any(one.state == MUTABLE and one.is_master_input for one in datasets):
        return T.DEFINED
    whole = status is T.PREPROCESSING and any(one.n_files == one.finished for one in ready)
    return T.REGISTERED if whole else T.PREPARED


def datasets_after_input(after: TaskStatus | None, datasets: Sequence[DatasetRow]) -> tuple[DatasetRow, ...]:
    """The datasets of a task of which nothing is left, by the status that it gets."""
    return tuple(datasets if after is None else map(reopened if after is T.DEFINED else prepared, datasets))


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
