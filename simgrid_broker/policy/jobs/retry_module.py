"""The retry module: what the rules of RETRYERRORS change after an error before the input is tried again; source: JEDI
TWiki, Memory increase in job retry; lifecycle reference, section 3.4."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil, inf, isnan
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import JumboWatchDog, pandaserver_dbproxy, taskrefiner
from simgrid_broker.names import COMPENSATION, RAM_LIMITS_MB, PandaError, RetryAction
from simgrid_broker.policy.jobs.resource_types import PER_CORE_UNITS
from simgrid_broker.units import GIB
from simgrid_broker.views import Gdpconfig, Task

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
    """One row of RETRYERRORS with its action; `errordiag` is matched from the start, None = any diagnostics.

    parameters: those of the action, text by name: maxAttempt of limit_retry, excluded_rules and steps of
    reduce_input_per_job.
    """

    errorsource: str
    errorcode: int
    retryaction: RetryAction
    errordiag: str | None = None
    scope: Scope = Scope()
    parameters: Mapping[str, str] = MappingProxyType({})
    active: bool = True

    @property
    def max_attempt(self) -> int | None:
        """Attempts that limit_retry leaves to an input, None = the rule does not say a whole number."""
        try:
            return int(self.parameters[MAX_ATTEMPT])
        except (KeyError, ValueError):
            return None

    @property
    def width(self) -> int:
        """Attributes of a task that the rule leaves open."""
        return sum(not wanted for wanted in self.scope)


class Handling(NamedTuple):
    """Effect of an error on an input: its attempts, and what is raised or reduced.

    max_attempt: 1 = no other attempt, None = as many as the task gives it; actions: all others, in their order.
    """

    max_attempt: int | None = None
    actions: tuple[RetryRule, ...] = ()


class ErrorClass(NamedTuple):
    """One row of ERROR_CLASSIFICATION."""

    error_source: str
    error_code: int
    error_diag: str | None
    error_class: str
    active: bool = True


MAX_ATTEMPT, SYSTEM = "maxAttempt", "system"
RAISING = (RetryAction.INCREASE_MEMORY, RetryAction.INCREASE_MEMORY_XTIMES, RetryAction.INCREASE_CPUTIME,
           RetryAction.REDUCE_INPUT_PER_JOB)
"""Actions of which the first rule that applies is taken, in the order in which they are done."""
LIMITING = (RetryAction.LIMIT_RETRY, RetryAction.NO_RETRY)
"""Actions of which one rule is taken, after all others."""


def concerns(source: str, code: int, diag: str | None, error: PandaError) -> bool:
    """True if a rule is about an error: source and code are equal, and the diagnostics begin as the expression says.

    A dot also matches a newline; what is no regular expression matches nothing. Source: lifecycle reference, section
    3.4; PanDA, retryModule.safe_match.
    """
    if (source, code) != (error.source, error.code):
        return False
    try:
        return not diag or re.match(diag, error.diag, re.DOTALL) is not None
    except (re.error, TypeError):                     # no expression, or no diagnostics
        return False


def applies(rule: RetryRule, error: PandaError, scope: Scope) -> bool:
    """True if a rule is about an error of a job of a task; it may not be active."""
    in_scope = all(not wanted or wanted == here for wanted, here in zip(rule.scope, scope, strict=True))
    return in_scope and concerns(rule.errorsource, rule.errorcode, rule.errordiag, error)


def selected_documented(rules: Sequence[RetryRule], error: PandaError, scope: Scope) -> Iterator[RetryRule]:
    """Active rules for an error, in order: of several limits the one with the narrowest scope, of equally narrow ones
    the lowest; no_retry goes before any limit. Source: lifecycle reference, section 3.4."""
    about = [rule for rule in rules if rule.active and applies(rule, error, scope)]
    yield from first_of_each(about)
    limits = [rule for rule in about if rule.retryaction == RetryAction.LIMIT_RETRY and rule.max_attempt]
    never = [rule for rule in about if rule.retryaction == RetryAction.NO_RETRY]
    yield from never[:1] or sorted(limits, key=lambda rule: (rule.width, rule.max_attempt))[:1]


def selected_deployed(rules: Sequence[RetryRule], error: PandaError, scope: Scope) -> Iterator[RetryRule]:
    """Rules for an error, in order, whether or not they are active, so that one of these may hide another.

    Source: PanDA, retryModule.preprocess_rules.
    """
    about = [rule for rule in rules if applies(rule, error, scope)]
    yield from first_of_each(about)
    yield from narrowest([rule for rule in about if rule.retryaction in LIMITING])


def first_of_each(rules: Sequence[RetryRule]) -> Iterator[RetryRule]:
    """The first rule of each action that raises or reduces something."""
    for action in RAISING:
        yield from [rule for rule in rules if rule.retryaction == action][:1]


def narrowest(limits: Sequence[RetryRule]) -> list[RetryRule]:
    """The rule with the narrowest scope, as a list; of equally narrow ones the first, with the lesser maxAttempt.

    These are compared as text, so that 10 is less than 9; without maxAttempt in one of them the search ends.
    """
    best = list(limits[:1])
    for rule in limits[1:]:
        if rule.width < best[0].width:
            best = [rule]
        elif rule.width == best[0].width:
            if not all(MAX_ATTEMPT in each.parameters for each in (*best, rule)):
                break
            least = min(best[0].parameters[MAX_ATTEMPT], rule.parameters[MAX_ATTEMPT])
            best = [best[0]._replace(parameters={**best[0].parameters, MAX_ATTEMPT: least})]
    return best


SELECTED = ByEdition(documented=selected_documented, deployed=selected_deployed)
"""Rules for an error, by edition."""


def act(rules: Sequence[RetryRule], errors: Iterable[PandaError], scope: Scope, edition: str,
        apply: Callable[[RetryRule], bool]) -> None:
    """Apply the rules for the errors of a job, in order, until one error has been acted on.

    apply: does what an active rule says, and tells whether this is all for the job; a rule that is not active counts as
    done. Source: PanDA, retryModule.apply_retrial_rules.
    """
    for error in errors:
        done = False
        for rule in SELECTED[edition](rules, error, scope):
            if rule.retryaction != RetryAction.LIMIT_RETRY or rule.max_attempt is not None:
                done |= apply(rule) if rule.active else True
        if done:
            return


def handling(rules: Sequence[RetryRule], error: PandaError, scope: Scope, edition: str) -> Handling:
    """Combined effect of all rules on an error; no_retry is a limit that every attempt has reached."""
    chosen: list[RetryRule] = []

    def choose(rule: RetryRule) -> bool:
        chosen.append(rule)
        return True
    act(rules, [error], scope, edition, choose)
    limits = [1 if rule.retryaction == RetryAction.NO_RETRY else rule.max_attempt for rule in chosen
              if rule.retryaction in LIMITING]
    return Handling(limits[0] if limits else None, tuple(rule for rule in chosen if rule.retryaction in RAISING))


def is_system(classes: Sequence[ErrorClass], errors: Iterable[PandaError]) -> bool:
    """True if the first class of the first error that has one is an active system class: the failure does not count.

    Source: PanDA, retryModule.classify_error.
    """
    first = next((each for error in errors for each in classes if each.error_diag
                  and concerns(each.error_source, each.error_code, each.error_diag, error)), None)
    return first is not None and first.active and first.error_class == SYSTEM


class MemoryFailure(NamedTuple):
    """A job that ran out of memory: requested memory (compensation included), cores, memory used.

    of_slot: the request is for the whole job, and not for a core.
    """

    minramcount_mb: float
    corecount: int
    maxpss_mb: float
    of_slot: bool = True


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

    @property
    def above(self) -> float:
        """Fraction of the inputs that were raised above the task, 0 without input."""
        return sum(count for value, count in self.raised if value > self.least) / max(self.n_inputs, 1)


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
    if task.ramunit != FIXED_UNIT and task.above > WHOLE_TASK:
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
    return _per_core(total_mb - task.baseramcount, failure, task)


def _per_core(memory: float, failure: MemoryFailure, task: TaskMemory) -> float:
    return memory / max(failure.corecount, 1) if task.ramunit in PER_CORE_UNITS and failure.of_slot else memory


def _more_than(used: float, current: float) -> int | None:
    """The value of the list above both figures, or the last; None if it would not be more than the current one."""
    value = _next_above(max(used, current)) or RAM_LIMITS_MB[-1]
    return value if value > current else None


def _next_above(value: float) -> int | None:
    return next((limit for limit in RAM_LIMITS_MB if limit > value), None)


def increased_xtimes(failure: MemoryFailure, task: TaskMemory, step: float = 1.0, most: float = inf) -> NewMemory:
    """The action increase_memory_xtimes: the request of the job times step over ramCount of the task.

    step, most: retryRamStep and retryRamMax of the task, the latter MB of a whole job. For the whole task once more
    than 30 % of the inputs are above it: the next value of the list, or the value itself where it is above the list.
    Source: lifecycle reference, section 3.4; PanDA, increaseRamLimitJobJEDI_xtimes.
    """
    if isnan(task.ramcount) or task.ramcount == 0:
        return NewMemory()
    asked = _per_core(int(failure.minramcount_mb / COMPENSATION), failure, task)
    value = min(asked * step / task.ramcount, most / max(failure.corecount, 1))
    if task.ramunit != FIXED_UNIT and task.above > WHOLE_TASK and value > task.ramcount:
        return NewMemory(of_task=_next_above(value) or value)
    return NewMemory(of_input=value if task.ramcount <= value and asked < value else None)


def ram_steps(rule: RetryRule) -> tuple[float, float]:
    """retryRamStep and retryRamMax, MB, of a rule; in PanDA they are split rules of the task."""
    return float(rule.parameters.get("retryRamStep", 1)), float(rule.parameters.get("retryRamMax", inf))


class FailedForTime(NamedTuple):
    """A job that was killed for its time: events of its input, its cores and wall time, s; maxtime, s, and corepower of
    its queue. 0 = not known."""

    n_events: int
    corecount: int
    walltime_s: float
    maxtime_s: float
    corepower: float


class TaskTime(NamedTuple):
    """CPU time that a task claims, HS06 s per event (NaN = unknown), its base wall time, s, CPU efficiency, %, 0 = not
    known, and finished jobs."""

    cputime: float
    basewalltime_s: float
    cpuefficiency: float
    n_finished: int


FIRST_MARGIN = 1.1
"""Factor of the wall time of a job that was killed; source: PanDA, initialize_cpu_time_task."""
SMALL_HS06S, MILLI = 10, 1000
"""CPU time of an event below which PanDA claims it in thousandths; source: lifecycle reference, section 2.7."""


FROM_FIRST_FAILURE = ByEdition(documented=False, deployed=True)
"""True if increase_cputime follows the failed job until a job of the task has finished, by edition."""


def first_cputime(failure: FailedForTime, task: TaskTime) -> float | None:
    """CPU time of an event, HS06 s, that a task without a finished job claims once a job was killed for its time.

    None = as it was: it claims more, or something is not known. PanDA stores whole numbers, of HS06 s from 10 on, else
    of thousandths. Source: PanDA, initialize_cpu_time_task.
    """
    if task.n_finished or not all((failure.n_events, failure.maxtime_s, failure.corepower, task.basewalltime_s,
                                   task.cpuefficiency)):
        return None
    work = (failure.walltime_s - task.basewalltime_s) * failure.corepower * (failure.corecount or 1)
    value = work * FIRST_MARGIN / (task.cpuefficiency / 100) / failure.n_events * CPUTIME_MARGIN
    if task.cputime > value:
        return None
    return int(value) if value >= SMALL_HS06S else int(value * MILLI) / MILLI


class InputLimits(NamedTuple):
    """Limits of the input of a job, 0 = none: nGBPerJob and nMaxFilesPerJob, in force and as the retry module first
    found them (retryModuleRules)."""

    gb: int = 0
    files: int = 0
    first_gb: int = 0
    first_files: int = 0


RECALCULATED_AFTER_S = 1800.0
"""Age of the last change of a task from which it may be measured again; PanDA, requestTaskParameterRecalculation."""


def may_recalculate(unchanged_s: float) -> bool:
    """True if a task whose last change is so many seconds old may be measured again."""
    return unchanged_s > RECALCULATED_AFTER_S


STEPS = 2, 4, 7
"""Attempts from which a job reads a half, a quarter, and 1 GB or file; source: lifecycle reference, section 3.4."""
EXCLUDED_RULES = ("nEventsPerJob", "nFilesPerJob")
"""Split rules with which the input of jobs is not reduced, unless the rule names others."""


def keeps_input(rule: RetryRule, split_rules: Mapping[str, Any]) -> bool:
    """True if a task has one of the split rules with which reduce_input_per_job does nothing."""
    excluded = rule.parameters.get("excluded_rules")
    return any(split_rules.get(name) for name in (excluded.split(",") if excluded else EXCLUDED_RULES))


def steps_of(rule: RetryRule) -> tuple[int, ...]:
    """Attempts of the three steps of reduce_input_per_job; raises ValueError unless the rule gives three numbers."""
    written = rule.parameters.get("steps")
    low, middle, high = [int(number) for number in written.split(",")] if written else STEPS
    return low, middle, high


def reduced_input(limits: InputLimits, attempt: int, input_bytes: float, n_files: int,
                  steps: Sequence[int] = STEPS) -> InputLimits | None:
    """Limits of the input of the next jobs of a task after an attempt, None = as they were.

    input_bytes, n_files: of the failed job, with which it begins where nothing is limited. Source: lifecycle reference,
    section 3.4; PanDA, reduce_input_per_job.
    """
    if attempt < steps[0]:
        return None
    first_gb = limits.first_gb or limits.gb or ceil(input_bytes / GIB)
    first_files = limits.first_files or limits.files or n_files
    part = 2 if attempt < steps[1] else 4 if attempt < steps[2] else 0
    gb, files = (max(first // part if part else 1, 1) for first in (first_gb, first_files))
    new = InputLimits(gb, files, first_gb, first_files)
    return None if new == limits else new


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


def fewest_ranges(cfg: Gdpconfig) -> int | None:
    """Event ranges below which a retry goes to a single-core queue; None = the cores of its queue alone."""
    return cfg.value(pandaserver_dbproxy.AES_MINEVENTSFORMCORE)


def jumbo_limits(cfg: Gdpconfig) -> dict[str, Any]:
    """Limits of the JumboWatchDog by their names in `systems.events.policy.jumbo.Limits`."""
    dog = JumboWatchDog
    least = cfg.value(dog.JUMBO_MIN_EVENTS_DISABLE)
    enabling, most_events = cfg.value(dog.JUMBO_MIN_EVENTS_ENABLE), cfg.value(dog.JUMBO_MAX_EVENTS)
    most_tasks, enabling = cfg.value(dog.JUMBO_MAX_TASKS), 10 * least if enabling is None else enabling
    return dict(
        least=least, progress=cfg.value(dog.JUMBO_PROG_TO_BOOST), files=cfg.value(dog.JUMBO_MAX_FILES_TO_BOOST),
        disabled_priority=cfg.value(dog.JUMBO_PRIO_DISABLED), most_tasks=most_tasks, enabling=enabling,
        most_events=most_tasks * enabling // 2 if most_events is None else most_events,
        most_priority=cfg.value(dog.JUMBO_MAX_CURR_PRIO), per_task=cfg.value(dog.JUMBO_PER_TASK),
        per_site=cfg.value(dog.JUMBO_PER_SITE))


def conversion_keys(cfg: Gdpconfig) -> dict[str, Any]:
    """Keys of automatic conversion by their names in `systems.events.policy.conversion.Keys`; None = not set."""
    return dict(most_priority=cfg.value(taskrefiner.AES_MAXTASKPRIORITY),
                least_priority=cfg.value(taskrefiner.AES_MINTASKPRIORITY),
                pool_size=cfg.value(taskrefiner.AES_EVENTPOOLSIZE), most_pending=cfg.value(taskrefiner.AES_MAXPENDING),
                n_consumers=cfg.value(taskrefiner.AES_NESCONSUMERS), n_sites=cfg.value(taskrefiner.AES_NSITESPERJOB))
