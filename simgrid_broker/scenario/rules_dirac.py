"""Rules between the parts of a snapshot of DIRAC's task queues."""

from collections.abc import Collection, Iterator, Mapping
from math import isfinite
from typing import Any

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.dirac_snapshot import DiracRequests, DiracSnapshot
from simgrid_broker.scenario.loading.origins import Finding, Key
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.rules_dirac_options import SCHEDULING, option_findings
from simgrid_broker.scenario.shares import leaf_names
from simgrid_broker.schema.dirac import ATTRIBUTES_OF_RUN


def dirac_findings(snapshot: DiracSnapshot) -> Iterator[Finding]:
    """Everything that is wrong between the parts of a snapshot."""
    yield from unknown_jobs(snapshot)
    yield from unreadable_conditions(snapshot)
    yield from option_findings(snapshot.operations)


def group_findings(scenario: Scenario) -> Iterator[Finding]:
    """Groups name leaf shares, each at most one group."""
    leaves, taken = leaf_names(scenario), dict[str, str]()
    for name, group in scenario.dirac.groups.items():
        for position, share in enumerate(group.shares):
            key = ("dirac", "groups", name, "shares", position)
            if share not in leaves:
                yield Finding(key, share, "unknown leaf share", nearest(share, leaves), of_absence=True)
            elif share in taken:
                yield Finding(key, share, f"belongs to the group {taken[share]!r} already")
            taken[share] = name
    known = {*scenario.dirac.groups, *(leaf for leaf in leaves if leaf not in taken)}
    for queue, pilot in scenario.dirac.pilots.items():
        if not pilot.is_generic and pilot.group not in known:
            yield Finding(("dirac", "pilots", queue, "group"), pilot.group, "a private pilot needs the name of a group",
                          nearest(pilot.group, known))
    yield from misfits_in_run(scenario, known)


def misfits_in_run(scenario: Scenario, groups: Collection[str]) -> Iterator[Finding]:
    """Options of the right shape whose limits name sites, queues, attributes and groups of the run."""
    above = ("dirac", *SCHEDULING)
    wrong = list(option_findings(scenario.dirac.operations, ("dirac",)))
    yield from wrong
    for name in () if wrong else ("RunningLimit", "MatchingDelay"):
        for site, options in scenario.dirac.operations.get("JobScheduling", {}).get(name, {}).items():
            if site not in scenario.grid.sites:
                yield Finding((*above, name, site), site, "unknown site", nearest(site, scenario.grid.sites))
            yield from unknown_in_limits((*above, name, site), options, groups)
            for branch, more in options.items() if name == "RunningLimit" else ():
                for queue, limits in more.items() if branch == "CEs" else ():
                    key = (*above, name, site, branch, queue)
                    if queue not in scenario.grid.queues:
                        yield Finding(key, queue, "unknown queue", nearest(queue, scenario.grid.queues))
                    yield from unknown_in_limits(key, limits, groups)


def unknown_in_limits(key: Key, options: Mapping[str, Any], groups: Collection[str]) -> Iterator[Finding]:
    """Attributes that jobs of a run do not have, and unknown groups."""
    for attribute, values in options.items():
        if attribute in ("CEs", "Burst"):
            continue
        if attribute not in ATTRIBUTES_OF_RUN:
            yield Finding((*key, attribute), attribute, f"expected {', '.join(ATTRIBUTES_OF_RUN)}",
                          nearest(attribute, ATTRIBUTES_OF_RUN))
        for group in values if attribute == "OwnerGroup" else ():
            if group not in groups:
                yield Finding((*key, attribute, group), group, "unknown group", nearest(group, groups))


def request_findings(asked: DiracRequests) -> Iterator[Finding]:
    """A list of requests has at least one, and its numbers are finite."""
    if not asked.requests:
        yield Finding(("requests",), None, "at least one request is needed", depends_on=(("requests", 0),))
    for position, request in enumerate(asked.requests):
        for name, given in request.model_dump(exclude_unset=True).items():
            if any(isinstance(value, float) and not isfinite(value)
                   for value in (given if isinstance(given, list) else [given])):
                yield Finding(("requests", position, name), given, "expected a finite number")


def unknown_jobs(snapshot: DiracSnapshot) -> Iterator[Finding]:
    """Jobs that are named elsewhere are among the jobs."""
    known = {job.id + k for job in snapshot.jobs for k in range(job.count)}
    named: list[tuple[Key, str]] = [(("set_priorities", number), number) for number in snapshot.set_priorities]
    named += [(("after_recalculate_remove", k), str(job)) for k, job in enumerate(snapshot.after_recalculate_remove)]
    for key, number in named:
        if not number.isdecimal() or int(number) not in known:
            yield Finding(key, number, "no job of the snapshot has this id", nearest(number, map(str, known)),
                          of_absence=True)


def unreadable_conditions(snapshot: DiracSnapshot) -> Iterator[Finding]:
    """Negative conditions are mappings of attributes to a value or a list of values."""
    given = snapshot.negative
    for position, ban in enumerate(given if isinstance(given, list) else [given] if given is not None else []):
        key = ("negative", position) if isinstance(given, list) else ("negative",)
        if not isinstance(ban, dict):
            yield Finding(key, ban, "expected a negative condition, {attribute: [values]}")
            continue
        for attribute, values in ban.items():
            if any(isinstance(value, (dict, list)) for value in (values if isinstance(values, list) else [values])):
                yield Finding((*key, attribute), values, "expected a value or a list of values")
