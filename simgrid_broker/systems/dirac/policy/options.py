"""Options of DIRAC: limits at a site that make a negative condition, and those without effect.

Limits are by attribute of a job (JobType, OwnerGroup, ...) and its value. Attributes that are blocked together exclude
only task queues with all of them, as in DIRAC (`conditions.negative_condition`). Source: DIRAC reference, 8.2 and 8.3.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from simgrid_broker.errors import did_you_mean, nearest
from simgrid_broker.systems.dirac.policy.edition import Edition, cpu_classes
from simgrid_broker.systems.dirac.policy.priorities import correction_remarks, whole_option

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
