"""Commands to tasks: statuses that accept them, limits on retries (lifecycle reference, 2.8)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import PAUSING, retry_task
from simgrid_broker.names import MOST_ATTEMPTS, TASK_NOT_FINAL, TASK_REASSIGNABLE, TaskCommand, TaskStatus

C, T = TaskCommand, TaskStatus

NOT_FINAL = frozenset(TASK_NOT_FINAL)
RETRIED = frozenset((T.FINISHED, T.FAILED, T.EXHAUSTED))

ACCEPTED = {
    C.ABORT: NOT_FINAL - {T.ABORTING, T.TOABORT}, C.FINISH: NOT_FINAL - {T.FINISHING, T.PASSED, T.ABORTING, T.TOABORT},
    C.RETRY: RETRIED, C.INCEXEC: RETRIED | {T.ABORTED, T.DONE},
    C.PAUSE: NOT_FINAL - {T.PAUSED, T.ABORTING, T.TOABORT}, C.RESUME: frozenset((T.PAUSED, T.THROTTLED)),
    C.REASSIGN: frozenset(TASK_REASSIGNABLE), C.AVALANCHE: frozenset((T.SCOUTING,))}
"""Statuses of a task in which it accepts a command; source: lifecycle reference, section 2.8."""

NOT_RETRIED_WITH_PARENT = frozenset((T.ABORTED, T.BROKEN, T.FAILED))
"""Statuses of children that a retry of their parent leaves alone; source: JEDI TWiki, task retry."""

INCREMENT = 5
"""Attempts that a retry adds to files without attempts left; source: lifecycle reference, section 2.13."""

HISTORY = (*retry_task.entries(), *PAUSING)
"""Keys that compare HEP-score hours, efficiencies or failures of a task."""


class Terms(NamedTuple):
    """Terms in which the editions differ.

    retried: statuses in which a task may be retried besides those of ACCEPTED (L15); zero_is_limit: JOB_MAX_ATTEMPT of
    0 is a limit, otherwise it is off (L37).
    """

    retried: tuple[TaskStatus, ...]
    zero_is_limit: bool


TERMS = ByEdition(documented=Terms((), zero_is_limit=False), deployed=Terms((T.ABORTED,), zero_is_limit=True))


def accepts(command: TaskCommand, status: TaskStatus, edition: str) -> bool:
    """True if a task in that status accepts a command; the deployed edition also retries aborted tasks (L15)."""
    if command is C.RETRY and status in TERMS[edition].retried:
        return True
    return status in ACCEPTED[command]


@dataclass(frozen=True)
class Past:
    """History of a task that is to be retried; fractions are NaN where there is nothing to count.

    attempt: how often it was tried before, this one included; failed_hs06_hours, failed_hs06_part: failed HEP-score
    hours, and their fraction of all; failure_part: failed fraction of the jobs that failed or finished; max_attempt:
    largest maxAttempt of its files; cpu_efficiency: median of its finished jobs, %.
    """

    attempt: int
    failed_hs06_hours: float
    failed_hs06_part: float
    failure_part: float
    max_attempt: int
    cpu_efficiency: float


def part_of(failed: float, total: float) -> float:
    """Failed fraction, NaN if there is nothing to count."""
    return failed / total if total else math.nan


def median_or_nan(efficiencies: Sequence[float] | None) -> float:
    """Median of the CPU efficiencies of finished jobs, %, NaN if none has finished."""
    return float(np.median(efficiencies)) if efficiencies else math.nan


def limit_after_retry(attempt: int, *limits: int) -> int:
    """Attempts that a retry allows at a file given up after `attempt`, under the least of its limits; 0 = no limit."""
    known = [limit for limit in limits if limit]
    return min(max(min(known), attempt) + INCREMENT, MOST_ATTEMPTS) if known else 0


def asks_for_history(names: Iterable[str]) -> bool:
    """True if one of these names of gdpconfig, `KEY` or `component.KEY`, is in HISTORY."""
    return any(key.pattern.fullmatch(name.split(".", 1)[-1]) for name in names for key in HISTORY)


def retry_refused(past: Past, label: str, cfg, edition: str) -> tuple[bool, str]:
    """True if a retry exhausts the task, and the key of gdpconfig that prevents the retry, empty if none does.

    The first match counts. 0 is off, except for JOB_MAX_ATTEMPT in the deployed edition (L37); that key rejects the
    command and leaves the task unchanged. Source: lifecycle reference, 2.13 and 8.5.
    """
    for key, value in ((retry_task.TASK_MAX_ATTEMPT, past.attempt),
                       (retry_task.MAX_FAILED_HEP_SCORE_HOURS, past.failed_hs06_hours),
                       (retry_task.MAX_FAILED_HEP_SCORE_RATE, past.failed_hs06_part),
                       (retry_task.MAX_JOB_FAILURE_RATE, past.failure_part)):
        limit = cfg.value(key, label=label)
        if limit is not None and value >= limit:
            return True, f"{key.prefix}_{label}"
    limit = cfg.value(retry_task.JOB_MAX_ATTEMPT, label=label)
    if limit is not None and (limit or TERMS[edition].zero_is_limit) and past.max_attempt >= limit:
        return False, f"JOB_MAX_ATTEMPT_{label}"
    limit = cfg.value(retry_task.MIN_CPU_EFFICIENCY, label=label)
    if limit is not None and past.cpu_efficiency < limit:
        return True, f"MIN_CPU_EFFICIENCY_{label}"
    return False, ""


SETTLED = (T.ABORTING, T.TOABORT, T.FINISHING, T.PASSED, T.DONE, T.FINISHED, T.FAILED, T.ABORTED, T.BROKEN)
"""Statuses of a task that has ended or that a command is ending."""
