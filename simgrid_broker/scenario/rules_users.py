"""What a scenario says of single users: boosts of their jobs in gdpconfig."""

import json
from collections.abc import Iterator

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.gdpconfig import find
from simgrid_broker.scenario.locate import Finding
from simgrid_broker.scenario.model import Scenario

BOOSTS = "USER_JOB_PRIO_BOOST_DICTS"
KINDS = ("user", "group")
FIELDS = ("name", "type", "prio", "expire")
MOST_NAMES = 200
"""Names of users that are compared with an unknown one."""


def boosts_of_users(scenario: Scenario) -> Iterator[Finding]:
    """Boosts are a list of {name, type, prio}."""
    for key, entries in _boosts(scenario):
        if not isinstance(entries, list):
            yield Finding(key, entries, "expected a list of {name, type, prio}")
            continue
        for position, entry in enumerate(entries):
            wrong = _wrong(entry)
            if wrong:
                yield Finding((*key, position), entry, *wrong)


def boosts_without_effect(scenario: Scenario) -> Iterator[str]:
    """Boosts of users and groups that no stream has, and dates, which a run does not have."""
    work = (*scenario.workload.campaigns, *scenario.workload.users)
    groups = [stream.workinggroup for stream in work if stream.workinggroup]
    for key, entries in _boosts(scenario):
        for entry in entries if isinstance(entries, list) else ():
            if _wrong(entry):
                continue
            name, known = entry["name"], groups if entry["type"] == "group" else _users(scenario)
            if name not in known and scenario.workload.trace is None:
                close = nearest(name, known[:MOST_NAMES])
                yield (f"gdpconfig key {key[-1]!r} has no effect on {entry['type']} {name!r}: no task is of that "
                       f"{entry['type']}{'; did you mean ' + ', '.join(close) if close else ''}.")
            if "expire" in entry:
                yield f"expire of {name!r} in gdpconfig key {key[-1]!r} has no effect: a run has no calendar."


def _boosts(scenario: Scenario) -> Iterator[tuple[tuple, object]]:
    """Places and values of the key in gdpconfig; text that is no JSON is refused elsewhere."""
    for name, value in scenario.gdpconfig.items():
        if any(match.entry.key == BOOSTS for match in find(name)):
            try:
                yield ("gdpconfig", name), json.loads(value) if isinstance(value, str) else value
            except ValueError:
                continue


def _wrong(entry: object) -> tuple[str, tuple[str, ...]] | None:
    """What is wrong with an entry, and nearest names; None if it is right."""
    if not isinstance(entry, dict):
        return "expected {name, type, prio}", ()
    for name in entry:
        if name not in FIELDS:
            return f"unknown field {name!r}", nearest(str(name), FIELDS)
    if not isinstance(entry.get("name"), str):
        return "expected a name", ()
    if entry.get("type") not in KINDS:
        return "expected the type user or group", nearest(str(entry.get("type")), KINDS)
    if not isinstance(entry.get("prio"), int) or isinstance(entry["prio"], bool) or not entry["prio"]:
        return "expected prio, a whole number other than 0", ()
    return None


def _users(scenario: Scenario) -> list[str]:
    """Names of all users."""
    named = [stream.username for stream in scenario.workload.campaigns if stream.username]
    return named + [f"{group.name}-{rank:04d}" for group in scenario.workload.users
                    for rank in range(1, group.users + 1)]
