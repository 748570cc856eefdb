"""What a scenario says of single users: boosts of their jobs in gdpconfig, and their accounts."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.accounts import group_names, user_names
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
    for key, entries in _boosts(scenario):
        for entry in entries if isinstance(entries, list) else ():
            if _wrong(entry):
                continue
            name, named = entry["name"], group_names if entry["type"] == "group" else user_names
            known = named(scenario.workload)
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


def _owners(scenario: Scenario) -> list[str]:
    """Users and working groups of the work; a trace has names of its own."""
    return [*user_names(scenario.workload), *group_names(scenario.workload)] if scenario.workload.trace is None else []


def owners_of_accounts(scenario: Scenario) -> Iterator[Finding]:
    """An account is of a user or working group of the work."""
    known = _owners(scenario)
    for name in scenario.accounts:
        if known and not (name in known or "*" in name and any(fnmatchcase(one, name) for one in known)):
            yield Finding(("accounts", name), name, "unknown user or working group", nearest(name, known[:MOST_NAMES]))


def accounts_without_effect(scenario: Scenario) -> Iterator[str]:
    """Accounts, or their parts, that nothing reads: without users, without a quota, or in the documented edition."""
    if scenario.accounts and scenario.workload.trace is None and not _owners(scenario):
        yield str(scenario.origin("accounts").problem(
            "accounts", None, "has no effect: the work has neither users nor working groups"))
    for name, account in scenario.accounts.items():
        key = f"accounts.{name}"
        if not (account.quota or any(account.local_quotas.values())) and (account.held or account.output_lifetime):
            part = "held" if account.held else "output_lifetime"
            yield str(scenario.origin(f"{key}.{part}").problem(f"{key}.{part}", None, "has no effect without a quota"))
        for part in ("local_quotas", "permissions"):
            if getattr(account, part) and scenario.edition == "documented":
                yield str(scenario.origin(f"{key}.{part}").problem(
                    f"{key}.{part}", None, "has no effect: only the deployed edition reads it"))
