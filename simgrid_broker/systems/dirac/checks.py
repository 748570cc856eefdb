"""Checks of the groups, pilots and options of DIRAC in a scenario, and remarks on those without effect."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.dirac_run import ATTRIBUTES_OF_RUN
from simgrid_broker.scenario.loading.origins import Finding, Key
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.shares import leaf_names
from simgrid_broker.systems.dirac.input.options import SCHEDULING, option_findings
from simgrid_broker.systems.dirac.policy.editions import DIRAC_EDITIONS
from simgrid_broker.systems.dirac.policy.options import option_remarks


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


def dirac_without_effect(scenario: Scenario) -> Iterator[str]:
    """Options of DIRAC that have no effect in the edition, or name what no job has."""
    edition, dirac = DIRAC_EDITIONS[scenario.edition], scenario.dirac
    yield from (f"dirac: {remark}." for remark in option_remarks(dirac.operations, edition))
