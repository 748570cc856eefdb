"""Rules between the parts of a snapshot of DIRAC's task queues."""

from collections.abc import Iterator
from math import isfinite

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.dirac_snapshot import DiracRequests, DiracSnapshot
from simgrid_broker.scenario.locate import Finding, Key
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.rules_dirac_options import option_findings
from simgrid_broker.scenario.rules_shares import leaf_names


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
    if scenario.dirac.groups and scenario.dispatch == "panda":
        yield Finding(("dirac",), None, "has no effect without `dispatch: dirac`")
    if scenario.dispatch == "dirac" and scenario.policies.job_brokerage != "production":
        yield Finding(("policies", "job_brokerage"), scenario.policies.job_brokerage,
                      "is not asked: with `dispatch: dirac` jobs wait for any queue that can run them")


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
