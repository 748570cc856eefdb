"""The retry module: what the rules of RETRYERRORS change after an error before the input is tried again; source: JEDI
TWiki, Memory increase in job retry; lifecycle reference, section 3.4."""

import re
from collections.abc import Sequence
from math import inf, isnan
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.names import COMPENSATION, RAM_LIMITS_MB, PandaError, RetryAction
from simgrid_broker.policy.jobs.resource_types import PER_CORE_UNITS
from simgrid_broker.views import Task

WHOLE_TASK = 0.30
"""Fraction of the inputs from which memory is raised for the whole task; JEDI TWiki, Memory increase in job retry."""
FIXED_UNIT = "MBPerCoreFixed"
"""Unit of ramCount whose value in the task is never raised; source: lifecycle reference, section 3.4."""
CPUTIME_MARGIN = 1.5
"""Safety factor of a cpuTime that was measured; source: JEDI TWiki, HS06sPerEvent."""


class Scope(NamedTuple):
    """Attributes of a task that retry rules can require; None in a rule = any."""

    architecture: str | None = None
    release: str | None = None
    workqueue: str | None = None


class RetryRule(NamedTuple):
    """One row of RETRYERRORS with its action; `errordiag` is matched from the start, None = any diagnostics."""

    errorsource: str
    errorcode: int
    retryaction: RetryAction
    errordiag: str | None = None
    scope: Scope = Scope()
    max_attempt: int | None = None
    active: bool = True


class Handling(NamedTuple):
    """Effect of an error on an input: its attempts, and whether memory or CPU time is raised.

    max_attempt: 1 = no other attempt, None = as many as the task gives it.
    """

    max_attempt: int | None = None
    increase_memory: bool = False
    increase_cputime: bool = False


def concerns(source: str, code: int, diag: str | None, error: PandaError) -> bool:
    """True if a rule is about an error: source and code are equal, and the diagnostics begin as the expression says.

    A dot also matches a newline. Source: lifecycle reference, section 3.4.
    """
    if (source, code) != (error.source, error.code):
        return False
    return not diag or re.match(diag, error.diag, re.DOTALL) is not None


def applies(rule: RetryRule, error: PandaError, scope: Scope) -> bool:
    """True if a rule holds for an error of a job of a task; only active rules do anything."""
    in_scope = all(wanted is None or wanted == found for wanted, found in zip(rule.scope, scope, strict=True))
    return rule.active and in_scope and concerns(rule.errorsource, rule.errorcode, rule.errordiag, error)


def handling(rules: Sequence[RetryRule], error: PandaError, scope: Scope) -> Handling:
    """Combined effect of all rules on an error.

    Of several limits the one with the narrowest scope holds, of equally narrow ones the lowest; no_retry is a limit
    that every attempt has reached. Source: lifecycle reference, section 3.4; retryModule.preprocess_rules.
    """
    found = [rule for rule in rules if applies(rule, error, scope)]
    actions = {rule.retryaction for rule in found}
    limits = [(rule.scope.count(None), rule.max_attempt) for rule in found
              if rule.retryaction == RetryAction.LIMIT_RETRY and rule.max_attempt is not None]
    limit = 1 if RetryAction.NO_RETRY in actions else min(limits)[1] if limits else None
    return Handling(limit, RetryAction.INCREASE_MEMORY in actions, RetryAction.INCREASE_CPUTIME in actions)


class MemoryFailure(NamedTuple):
    """A job that ran out of memory: requested memory (compensation included), cores, memory used."""

    minramcount_mb: float
    corecount: int
    maxpss_mb: float


class TaskMemory(NamedTuple):
    """Memory that a task asks for, and its failures.

    ramcount: NaN = unknown; raised: (ramCount, inputs) for each value that inputs were raised to; n_inputs: all its
    inputs; n_failed: inputs of jobs that failed for memory since the task's own value was raised, this one included.
    """

    ramcount: float
    ramunit: str
    baseramcount: float
    n_inputs: int
    raised: tuple[tuple[int, int], ...] = ()
    n_failed: int = 1

    @property
    def least(self) -> float:
        """The ramCount to compare with: an unknown one is below all others."""
        return -inf if isnan(self.ramcount) else self.ramcount


class NewMemory(NamedTuple):
    """New ramCount of the whole task and of the job's own input, in the task's unit; None = as it was."""

    of_task: float | None = None
    of_input: float | None = None


def increase_memory(edition: str, failure: MemoryFailure, task: TaskMemory) -> NewMemory:
    """The action increase_memory in an edition."""
    return INCREASE[edition](failure, task)


def increased_documented(failure: MemoryFailure, task: TaskMemory) -> NewMemory:
    """The next value of the list above max(maxPSS, current ramCount); for all once 30 % of the jobs have failed so.

    Both figures are per core, without baseRamCount, if the unit is per core. Nothing is raised above the last value.
    Source: JEDI TWiki, Memory increase in job retry.
    """
    asked = round(failure.minramcount_mb / COMPENSATION)
    current = _in_unit(asked, failure, task) if task.ramunit in PER_CORE_UNITS else asked
    used = _in_unit(failure.maxpss_mb, failure, task)
    if task.ramunit != FIXED_UNIT and task.n_failed >= WHOLE_TASK * task.n_inputs:
        behind = task.least <= max(used, current)
        return NewMemory(of_task=_more_than(used, max(current, task.least)) if behind else None)
    return NewMemory(of_input=_more_than(used, current))


def increased_deployed(failure: MemoryFailure, task: TaskMemory) -> NewMemory:
    """The deployed increase: only the requested memory counts, and the inputs with a raised value decide on the task.

    Source: lifecycle reference, section 3.4, increase_memory in detail.
    """
    asked = _in_unit(int(failure.minramcount_mb / COMPENSATION), failure, task)
    above = sum(count for value, count in task.raised if value > task.least)
    if task.ramunit != FIXED_UNIT and above / task.n_inputs > WHOLE_TASK:
        highest = max((value for value, count in task.raised if count), default=0)
        need = max(asked, 0)
        need = highest - 1 if highest > need else need
        if need > 0:
            return NewMemory(of_task=_raised_task(need, task))
    value = _next_above(asked)
    return NewMemory() if value is None or task.least > value else NewMemory(of_input=value)


INCREASE = ByEdition(documented=increased_documented, deployed=increased_deployed)
"""New memory after a failure, by edition."""


def _raised_task(need: float, task: TaskMemory) -> float | None:
    if task.least > need or task.least >= RAM_LIMITS_MB[-1]:
        return None
    return _next_above(max(task.least, need)) or RAM_LIMITS_MB[-1]


def _in_unit(total_mb: float, failure: MemoryFailure, task: TaskMemory) -> float:
    """Memory of a whole job as a ramCount: without baseRamCount, and per core where the unit is."""
    rest = total_mb - task.baseramcount
    return rest / max(failure.corecount, 1) if task.ramunit in PER_CORE_UNITS else rest


def _more_than(used: float, current: float) -> int | None:
    """The value of the list above both figures, or the last; None if it would not be more than the current one."""
    value = _next_above(max(used, current)) or RAM_LIMITS_MB[-1]
    return value if value > current else None


def _next_above(value: float) -> int | None:
    return next((limit for limit in RAM_LIMITS_MB if limit > value), None)


def increased_cputime(task: Task, n_events: int, slot_hs06: float, maxtime_s: float) -> float:
    """CPU time of an event, HS06 s, that a task claims once a job was killed at maxtime; not below what it was.

    It stays as it was, NaN = unknown, without maxtime or a claim of cpuEfficiency.
    The value that scouts would measure if the job had just ended; PanDA's own figure is not documented. With it
    brokerage expects at least 1.5 times the wall time of that queue, base time aside. Source of the measure: JEDI
    TWiki, HS06sPerEvent.
    """
    if maxtime_s == inf or isnan(task.cpuefficiency):
        return task.cputime
    used = max(0.0, maxtime_s - task.basewalltime_s) * slot_hs06 * task.cpuefficiency / 100
    return float(np.fmax(task.cputime, used * CPUTIME_MARGIN / n_events))          # an unknown one is less
