"""Priorities of task queues: shares of groups, corrected by past usage, and divided among owners and their task queues.

Source: DIRAC reference, sections 11 to 13 (corrector WMSHistory: 12).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from simgrid_broker.systems.dirac.policy.edition import Edition
from simgrid_broker.systems.dirac.policy.task_queues import TaskQueue

DEFAULT_SHARE = 1000
"""JobShare of a group that has none; source: DIRAC reference, sections 11 and 17."""
IDLE_PRIORITY, URGENT_PRIORITY, URGENT_FROM = 1e-5, 1e6, 10
"""Weight of jobs of priority 0, and of those from the third on; source: DIRAC reference, section 4."""
BACKGROUND_UP_TO = 0.1
"""Mean weight of the jobs of a background queue, at most; source: DIRAC reference, 11.2."""
TIME_SPAN, WEIGHT, MAX_OF_SLICE, MAX_OF_ALL = 604_800, 1, 3, 5
"""Defaults of TimeSpan (s), Weight, MaxCorrection of a slice and MaxGlobalCorrection."""
OF_SLICE = {"TimeSpan": TIME_SPAN, "Weight": WEIGHT, "MaxCorrection": MAX_OF_SLICE}
"""Options of a slice with their defaults."""
CORRECTOR = "WMSHistory"


class Group(NamedTuple):
    """A group of owners: its share, whether its owners share jobs (JOB_SHARING), and background queues are allowed."""

    share: float = DEFAULT_SHARE
    job_sharing: bool = False
    allow_background: bool = False


Correct = Callable[[Mapping[str, float], str], dict[str, float]]
"""Corrects the shares of groups (second argument ""), or of the owners of a group."""


def whole_option(given: object, default: int) -> int:
    """A whole number of the configuration, or the default for anything else, as DIRAC reads options.

    Source: DIRAC reference, sections 11 and 12.
    """
    if given is None or isinstance(given, bool):
        return default
    try:
        return int(str(given))
    except ValueError:
        return default


def real_priority(user_priority: int) -> float:
    """Weight of a job in draws; source: DIRAC reference, section 4."""
    if user_priority >= URGENT_FROM:
        return URGENT_PRIORITY
    return float(user_priority) or IDLE_PRIORITY


def summed_priority(numbers: Iterable[tuple[int, int]]) -> float:
    """Sum of the weights of the jobs, from numbers by user priority; `documented`: DIRAC reference, 11.2 (D13)."""
    return sum(real_priority(priority) * number for priority, number in numbers)


def mean_priority(numbers: Iterable[tuple[int, int]]) -> float:
    """Mean of the weights of the jobs, whatever their number; `deployed`: DIRAC reference, 11.2 (D13)."""
    numbers = list(numbers)
    return summed_priority(numbers) / sum(number for _, number in numbers)


def compute_priorities(queues: Iterable[TaskQueue], groups: Mapping[str, Group], edition: Edition,
                       correct: Correct) -> None:
    """Set the priority of every task queue that holds jobs; source: DIRAC reference, section 11.

    An empty task queue still counts as one of its owner and group.
    """
    by_group: dict[str, dict[str, list[TaskQueue]]] = {}
    for queue in queues:
        owner, group = queue.identity.single[:2]
        by_group.setdefault(group, {}).setdefault(owner, []).append(queue)
    shares = correct({name: groups.get(name, Group()).share for name in by_group}, "")
    for name, owners in by_group.items():
        about = groups.get(name, Group())
        for queues_of_entity, share in _entities(name, about, owners, shares[name], correct):
            _divide([queue for queue in queues_of_entity if queue.jobs], share, about, edition)


def _entities(name: str, group: Group, owners: Mapping[str, list[TaskQueue]], share: float,
              correct: Correct) -> Iterable[tuple[list[TaskQueue], float]]:
    """Sharers of the share of a group, with their task queues and shares: DIRAC reference, 11.1."""
    if group.job_sharing:
        return [([queue for queues in owners.values() for queue in queues], share)]
    shares = correct(dict.fromkeys(owners, share / len(owners)), name)
    return [(queues, shares[owner]) for owner, queues in owners.items()]


def _divide(queues: list[TaskQueue], share: float, group: Group, edition: Edition) -> None:
    """Divide the share of an entity among its task queues, in proportion to their weights: DIRAC reference, 11.2."""
    weights = [edition.weight(queue.numbers()) for queue in queues]
    kept_out = [edition.background and group.allow_background and weight <= BACKGROUND_UP_TO for weight in weights]
    total = sum(weight for weight, out in zip(weights, kept_out, strict=True) if not out)
    for queue, weight, out in zip(queues, weights, kept_out, strict=True):
        queue.priority = edition.least_priority if out else max(edition.least_priority, share * weight / total)
    if edition.pooled:
        _pool(queues, edition)


def _pool(queues: Iterable[TaskQueue], edition: Edition) -> None:
    """Give each task queue the sum over those that differ from it in sites and memory only: DIRAC reference, 11.2."""
    pools: dict[tuple, list[TaskQueue]] = {}
    for queue in queues:
        pools.setdefault(queue.identity.pool(edition), []).append(queue)
    for pool in pools.values():
        total = sum(queue.priority for queue in pool)
        for queue in pool:
            queue.priority = total


class Slice(NamedTuple):
    """A time slice of the history: its span, s, its weight, and the bound of its factor."""

    span: int
    weight: float
    bound: float


class Corrector(NamedTuple):
    """A corrector of the shares of all groups ("") or of the owners of one: time slices and the bound of the factor."""

    group: str
    slices: tuple[Slice, ...]
    bound: float


Usage = Mapping[tuple[int, str], Mapping[str, float]]
"""Usage of groups, or of the owners of a group, by (span in s, group or "")."""


def correctors_of(job_scheduling: Mapping[str, Any]) -> tuple[Corrector, ...]:
    """Correctors that the options below Operations/JobScheduling switch on; fractions are read as the default."""
    corrections = job_scheduling.get("ShareCorrections") or {}
    started = corrections.get("ShareCorrectorsToStart", ())
    started = started.split(",") if isinstance(started, str) else started
    if not is_on(job_scheduling.get("EnableSharesCorrection")) or CORRECTOR not in [name.strip() for name in started]:
        return ()
    return tuple(_corrector(options) for options in (corrections.get(CORRECTOR) or {}).values())


def correction_remarks(job_scheduling: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each option of share correction that has no effect, or another than it seems to."""
    corrections = job_scheduling.get("ShareCorrections") or {}
    if corrections and not correctors_of(job_scheduling):
        yield (f"ShareCorrections has no effect without EnableSharesCorrection and ShareCorrectorsToStart: {CORRECTOR}")
    for options in (corrections.get(CORRECTOR) or {}).values():
        if "MaxGlobalCorrectionFactor" in options:
            yield "MaxGlobalCorrectionFactor has no effect; DIRAC reads MaxGlobalCorrection"
        yield from _read_as_default(options, {"MaxGlobalCorrection": MAX_OF_ALL})
        for slice_ in options.values():
            if isinstance(slice_, Mapping):
                yield from _read_as_default(slice_, OF_SLICE)


def _read_as_default(options: Mapping[str, Any], defaults: Mapping[str, int]) -> Iterator[str]:
    for name, default in defaults.items():
        if name in options and whole_option(options[name], -1) == -1:
            yield f"{name} {options[name]!r} is not a whole number; DIRAC reads {default}"


def is_on(option: object) -> bool:
    """Test for an option that is true; DIRAC reads y, yes, true, 1 and on."""
    return str(option).lower() in ("y", "yes", "true", "1", "on")


def corrected(shares: Mapping[str, float], group: str, correctors: Iterable[Corrector],
              usage: Usage) -> dict[str, float]:
    """Shares of groups (`group` ""), or of the owners of a group, after each corrector of theirs in turn."""
    found = dict(shares)
    for corrector in correctors:
        history = [usage.get((piece.span, group), {}) for piece in corrector.slices]
        if corrector.group == group and history and all(history):     # one slice without data: no history at all
            factors = _factors(found, corrector, history)
            found = {name: share * factors[name] for name, share in found.items()}
    return found


def _corrector(options: Mapping[str, Any]) -> Corrector:
    slices = [_slice(option) for option in options.values() if isinstance(option, Mapping)]
    total = sum(piece.weight for piece in slices) or 1.0
    return Corrector(options.get("Group", ""), tuple(piece._replace(weight=piece.weight / total) for piece in slices),
                     whole_option(options.get("MaxGlobalCorrection"), MAX_OF_ALL))


def _slice(options: Mapping[str, Any]) -> Slice:
    return Slice(whole_option(options.get("TimeSpan"), TIME_SPAN), whole_option(options.get("Weight"), WEIGHT),
                 whole_option(options.get("MaxCorrection"), MAX_OF_SLICE))


def _factors(shares: Mapping[str, float], corrector: Corrector,
             history: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Factor of each share: expected over used part, by slice, bounded.

    What is absent from a slice gets its whole bound, unweighted, as in DIRAC; usage 0 counts as absent (DIRAC fails).
    """
    expected, sums = sum(shares.values()), dict.fromkeys(shares, 0.0)
    used_at_all = False
    for piece, used in zip(corrector.slices, history, strict=True):
        total = sum(used.get(name, 0) for name in shares)
        if not total or not expected:
            continue
        used_at_all = True
        for name, share in shares.items():
            if part := used.get(name, 0) / total:
                sums[name] += piece.weight * _within(share / expected / part, piece.bound)
            else:
                sums[name] += piece.bound
    return {name: _within(factor, corrector.bound) if used_at_all else 1.0 for name, factor in sums.items()}


def _within(factor: float, bound: float) -> float:
    return min(max(factor, 1 / bound), bound)
