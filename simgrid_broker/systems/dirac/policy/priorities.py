"""Priorities of task queues: shares of groups, corrected by past usage, and divided among owners and their task queues;
the editions of the matching of DIRAC, `documented` the page of 2009, `deployed` the code of version 9; and options:
limits at a site that make a negative condition, and those without effect.

Limits are by attribute of a job (JobType, OwnerGroup, ...) and its value. Attributes that are blocked together exclude
only task queues with all of them, as in DIRAC (`request.negative_condition`). Source: DIRAC reference, sections 8.2,
8.3, 11 to 13 (corrector WMSHistory: 12).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import simgrid_broker.systems.dirac.policy.request as conditions
from simgrid_broker.editions import ByEdition
from simgrid_broker.errors import did_you_mean, nearest
from simgrid_broker.systems.dirac.policy.request import WITHOUT_LIMIT, Edition, cpu_classes
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


DOCUMENTED = Edition(
    name="documented", single=("OwnerDN", "OwnerGroup", "Setup"),
    lists=("SubmitPools", "PilotTypes", "Sites", "GridCEs", "GridMiddlewares", "BannedSites", "LHCbPlatforms"),
    memory=False, cpu_classes=(500, 5000, 50_000, 300_000), configurable=False, longest_first=True, window=10,
    most_jobs=WITHOUT_LIMIT, weight=summed_priority, least_priority=0.0, background=False, pooled=False,
    ce_if_banned=True, limits=False,
    conditions=(conditions.owner_dn, conditions.setup, conditions.cpu_time, conditions.pilot_type, conditions.site,
                conditions.banned_site, conditions.grid_ce, conditions.lhcb_platform))
"""The page "DIRAC Task Queue Matching", r4 of 2009; priorities, on which it is silent, as the code of the next day."""

DEPLOYED = Edition(
    name="deployed", single=("Owner", "OwnerGroup"),
    lists=("Sites", "GridCEs", "BannedSites", "Platforms", "JobTypes", "Tags"), memory=True,
    cpu_classes=(360, 1800, 3600, 21_600, 43_200, 86_400, 172_800, 259_200, 345_600, 518_400, 691_200, 864_000,
                 1_080_000),
    configurable=True, longest_first=False, window=50, most_jobs=5000, weight=mean_priority, least_priority=0.001,
    background=True, pooled=True, ce_if_banned=False, limits=True,
    conditions=(conditions.owner, conditions.cpu_time, conditions.site, conditions.banned_site, conditions.grid_ce,
                conditions.platform, conditions.job_type, conditions.offered_tags, conditions.required_tag,
                conditions.max_ram, *map(conditions.resource_bans, ("Site", "GridCE", "Platform", "JobType", "Tag")),
                conditions.negative_condition))
"""DIRAC 9.1.22, without its quirks (docs/fidelity.md)."""

DIRAC_EDITIONS = ByEdition(DOCUMENTED, DEPLOYED)
"""Matching by edition; releases of PanDA do not change it."""


CES, BURST = "CEs", "Burst"
"""Branches of a site that hold the limits of its CEs, and the capacities of its delays."""
FULL = 1e-9
"""Part of a token that rounding may lose."""

Values = dict[str, list[str]]
"""Blocked values by attribute."""
SCHEDULING = "JobScheduling"
OPTIONS = ("taskQueueCPUTimeIntervals", "EnableSharesCorrection", "ShareCorrections", "RunningLimit", "MatchingDelay",
           "CheckJobLimits", "CheckMatchingDelay")
"""Options below Operations/JobScheduling that act."""
LIMITS = ("RunningLimit", "MatchingDelay")


class Match(NamedTuple):
    """A match at a site: how long ago it was, s, and the attributes of its job."""

    ago_s: float
    attributes: Mapping[str, str]


def over_running_limit(options: Mapping, running: Iterable[tuple[Mapping[str, str], int]], ce: str = "") -> Values:
    """Values of which a site, or one of its CEs, runs as many jobs as its limits allow, or more.

    options: RunningLimit of the site; running: attributes of its jobs in status Running, Matched or Stalled, with their
    number; a CE's limits are compared with the jobs of the whole site.
    """
    running = list(running)
    found: Values = {}
    for branch in (options, options.get(CES, {}).get(ce, {})):
        for attribute, limits in branch.items():
            for value, limit in limits.items() if attribute != CES else ():
                number = sum(jobs for of_jobs, jobs in running if of_jobs.get(attribute) == value)
                if number >= whole_option(limit, 0) and value not in found.get(attribute, ()):
                    found.setdefault(attribute, []).append(value)
    return found


def within_delay(options: Mapping, matches: Iterable[Match]) -> Values:
    """Values of which a site has matched too many jobs too recently.

    options: MatchingDelay of the site, seconds by attribute and value, with capacities in the branch Burst, default 1.
    """
    bursts, matches = options.get(BURST, {}), list(matches)
    found: Values = {}
    for attribute, delays in options.items():
        for value, delay in delays.items() if attribute != BURST else ():
            ages = [match.ago_s for match in matches if match.attributes.get(attribute) == value]
            capacity = max(whole_option(bursts.get(attribute, {}).get(value), 1), 1)
            if tokens_left(float(delay), capacity, ages) < 1 - FULL:
                found.setdefault(attribute, []).append(value)
    return found


def tokens_left(delay_s: float, capacity: int, ages_s: Iterable[float]) -> float:
    """Tokens of a bucket that starts full, gains one each `delay_s` and loses one at each match, given by its age.

    A delay of 0 or less keeps the bucket full.
    """
    if delay_s <= 0:
        return float(capacity)
    tokens, last = float(capacity), None
    for age in (*sorted(ages_s, reverse=True), 0.0):
        if last is not None:
            tokens = min(tokens - 1 + (last - age) / delay_s, capacity)
        last = age
    return tokens


def united(*blocked: Values) -> Values:
    """Blocked values of several limits, attribute by attribute."""
    found: Values = {}
    for values in blocked:
        for attribute, names in values.items():
            found[attribute] = list(dict.fromkeys([*found.get(attribute, []), *names]))
    return found


def option_remarks(operations: Mapping[str, Any], edition: Edition) -> Iterator[str]:
    """A sentence for each option below Operations that an edition does not read as it is written."""
    for name in operations.keys() - {SCHEDULING}:
        yield f"operations.{name} has no effect{did_you_mean(nearest(name, [SCHEDULING]))}"
    scheduling = operations.get(SCHEDULING, {})
    for name in sorted(scheduling.keys() - set(OPTIONS)):
        yield f"operations.{SCHEDULING}.{name} has no effect{did_you_mean(nearest(name, OPTIONS))}"
    for name in () if edition.limits else LIMITS:
        if name in scheduling:
            yield f"{name} has no meaning in the documented edition, which has no limits"
    intervals, classes = scheduling.get("taskQueueCPUTimeIntervals"), cpu_classes(edition, scheduling)
    if intervals is not None and intervals != list(classes) and classes == edition.cpu_classes:
        yield f"taskQueueCPUTimeIntervals {intervals} is not in force: the classes are {', '.join(map(str, classes))}"
    yield from correction_remarks(scheduling)
