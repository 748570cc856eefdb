"""Checks of users: queues and other parameters of their tasks, boosts of their jobs in gdpconfig, their accounts."""

from collections.abc import Iterator

from simgrid_broker.errors import nearest
from simgrid_broker.names import ANALYSIS_LABELS, AUTO
from simgrid_broker.scenario.gdpconfig import json_as_written
from simgrid_broker.scenario.loading.origins import Finding, dotted
from simgrid_broker.scenario.model import Grid, Scenario
from simgrid_broker.scenario.terms import TERMS
from simgrid_broker.scenario.work.campaigns import UserActivity, group_names, owner_names, user_names
from simgrid_broker.schema.queues import Queue, in_scope
from simgrid_broker.schema.tasks import UserParameters
from simgrid_broker.systems.dispatch import dispatcher

LISTS = "includedSite", "excludedSite"
ANY_CLOUD = "", "any"


def queues_of_patterns(scenario: Scenario) -> Iterator[Finding]:
    """An item of includedSite or excludedSite without `*` is a PanDA queue."""
    for key, name, pattern in _patterns(scenario):
        if "*" not in pattern and pattern not in scenario.grid.queues and not (pattern == AUTO and name == LISTS[0]):
            yield Finding(key, pattern, "unknown queue; expected a PanDA queue, or a pattern with *",
                          nearest(pattern, scenario.grid.queues))


def one_place(scenario: Scenario) -> Iterator[Finding]:
    """A task names PanDA queues or a DDM endpoint as its site, not both."""
    for position, stream in enumerate(scenario.workload.users):
        if stream.siteEndpoint is not None and stream.site:
            yield Finding(("workload", "users", position, "siteEndpoint"), stream.siteEndpoint,
                          "the task names its queues by `site`; give either of both")


def sites_of_production(scenario: Scenario) -> Iterator[Finding]:
    """Only tasks of users get other queues by a retry."""
    production = [campaign.name for campaign in scenario.workload.campaigns]
    for position, incident in enumerate(scenario.incidents):
        if incident.new_sites and incident.task in production:
            name = next(iter(incident.new_sites))
            yield Finding(("incidents", position, name), incident.new_sites[name], "only tasks of users have this list",
                          nearest(str(incident.task), [group.name for group in scenario.workload.users]))


def patterns_without_queue(scenario: Scenario) -> Iterator[str]:
    """Patterns that match no PanDA queue."""
    for key, _, pattern in _patterns(scenario):
        parts = pattern.split("*")
        if len(parts) > 1 and not any(_fits(queue, parts) for queue in scenario.grid.queues):
            yield _remark(scenario, key, pattern, "matches no PanDA queue")


def unread_parameters(scenario: Scenario) -> Iterator[str]:
    """Parameters of tasks that nothing reads: of production, of a cloud without queues, or of the other edition."""
    clouds = {queue.cloud for queue in scenario.grid.queues.values()}
    for position, stream in enumerate(scenario.workload.users):
        key = "workload", "users", position
        given = [name for name, field in UserParameters.model_fields.items() if getattr(stream, name) != field.default]
        if given and stream.prodsourcelabel not in ANALYSIS_LABELS:
            yield _remark(scenario, (*key, given[0]), getattr(stream, given[0]), "has no effect: only tasks of the "
                          f"labels {' and '.join(sorted(ANALYSIS_LABELS))} are of users for JEDI")
            continue
        yield from _unread_lists(scenario, stream, key)
        yield from _unread_of_jobs(scenario, stream, key)
        if stream.cloud not in ANY_CLOUD and not TERMS[scenario.edition].cloud:
            yield _remark(scenario, (*key, "cloud"), stream.cloud, "has no effect: only the deployed edition reads it")
        elif stream.cloud not in (*ANY_CLOUD, *clouds):
            close = nearest(stream.cloud, sorted(cloud for cloud in clouds if cloud))
            yield _remark(scenario, (*key, "cloud"), stream.cloud, "no queue is of this cloud"
                          + (f"; did you mean {', '.join(close)}" if close else ""))


def _unread_lists(scenario: Scenario, stream: UserParameters, key: tuple) -> Iterator[str]:
    """Queues that a task of a user names without effect: AUTO as documented, an endpoint that no queue reads."""
    if not TERMS[scenario.edition].auto and AUTO in (stream.includedSite or ()):
        yield _remark(scenario, (*key, LISTS[0]), AUTO, "has no effect: only the deployed edition reads it")
    name, grid = stream.siteEndpoint, scenario.grid
    if name is not None and not any(_reads(queue, name, grid) for queue in grid.queues.values()):
        yield _remark(scenario, (*key, "siteEndpoint"), name, "has no effect: no PanDA queue reads it for analysis")


def _reads(queue: Queue, storage: str, grid: Grid) -> bool:
    """True if a queue reads a storage for analysis, by its endpoints or, without any, as that of its site."""
    if queue.endpoints is None:
        return queue.atlas_site == grid.storages[storage].site
    readable = [one for one in queue.endpoints if one.read and not grid.storages[one.storage].blacklisted_read]
    return any(one.storage == storage for one in in_scope(readable, analysis=True))


def _unread_of_jobs(scenario: Scenario, stream: UserActivity, key: tuple) -> Iterator[str]:
    """Parameters about the jobs of a task of a user that make no difference."""
    if stream.nSitesPerJob > 1 and not (stream.nEventsPerWorker or stream.useJobCloning):
        yield _remark(scenario, (*key, "nSitesPerJob"), stream.nSitesPerJob, "brokerage looks for so many queues, but "
                      "jobs go to one: only consumers of event service (nEventsPerWorker) and clones (useJobCloning) "
                      "go to several")
    if stream.buildSpec and not (dispatch := dispatcher(scenario.dispatch)).binds_jobs:
        yield _remark(scenario, (*key, "buildSpec"), True,
                      f"has no effect: {dispatch.name}'s jobs have no site before they run")


def _patterns(scenario: Scenario) -> Iterator[tuple[tuple, str, str]]:
    """Place, key and text of every item of a list of queues."""
    for position, stream in enumerate(scenario.workload.users):
        for name in LISTS:
            for place, pattern in enumerate(getattr(stream, name) or ()):
                yield ("workload", "users", position, name, place), name, pattern
    for position, incident in enumerate(scenario.incidents):
        for name, patterns in incident.new_sites.items():
            for place, pattern in enumerate(patterns):
                yield ("incidents", position, name, place), name, pattern


def _fits(name: str, parts: list[str]) -> bool:
    """True if a name has the parts of a pattern in their order; the deployed edition looks anywhere in it."""
    begin = 0
    for part in parts:
        begin = name.find(part, begin)
        if begin < 0:
            return False
        begin += len(part)
    return True


def _remark(scenario: Scenario, key: tuple, value: object, why: str) -> str:
    return str(scenario.origin(dotted(key)).problem(dotted(key), value, why))


USER_PARAMETER_RULES = queues_of_patterns, one_place, sites_of_production


BOOSTS = "USER_JOB_PRIO_BOOST_DICTS"
KINDS = ("user", "group")
FIELDS = ("name", "type", "prio", "expire")
MOST_NAMES = 200
"""Names of users that are compared with an unknown one."""


def _boosts(scenario: Scenario) -> Iterator[tuple[tuple, object]]:
    """Places and values of boosts at the start."""
    return ((key, entries) for key, entries in json_as_written(scenario, BOOSTS) if key[0] == "gdpconfig")


def boosts_of_users(scenario: Scenario) -> Iterator[Finding]:
    """Boosts are a list of {name, type, prio}, at the start and in incidents."""
    for key, entries in json_as_written(scenario, BOOSTS):
        if not isinstance(entries, list):
            yield Finding(key, entries, "expected a list of {name, type, prio}")
            continue
        for position, entry in enumerate(entries):
            wrong = _wrong_boost(entry)
            if wrong:
                yield Finding((*key, position), entry, *wrong)


def boosts_without_effect(scenario: Scenario) -> Iterator[str]:
    """Boosts of users and groups that no stream has, and dates, which a run does not have."""
    for key, entries in _boosts(scenario):
        for entry in entries if isinstance(entries, list) else ():
            if _wrong_boost(entry):
                continue
            name, named = entry["name"], group_names if entry["type"] == "group" else user_names
            known = named(scenario.workload)
            if name not in known and scenario.workload.trace is None:
                close = nearest(name, known[:MOST_NAMES])
                yield (f"gdpconfig key {key[-1]!r} has no effect on {entry['type']} {name!r}: no task is of that "
                       f"{entry['type']}{'; did you mean ' + ', '.join(close) if close else ''}.")
            if "expire" in entry:
                yield f"expire of {name!r} in gdpconfig key {key[-1]!r} has no effect: a run has no calendar."


def _wrong_boost(entry: object) -> tuple[str, tuple[str, ...]] | None:
    """The fault of an entry, and nearest names; None if it is right."""
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


def accounts_without_effect(scenario: Scenario) -> Iterator[str]:
    """Accounts, or their parts, that nothing reads: without users, or without a quota."""
    if scenario.accounts and scenario.workload.trace is None and not owner_names(scenario.workload):
        yield _remark(scenario, ("accounts",), None, "has no effect: the work has neither users nor working groups")
    for name, account in scenario.accounts.items():
        if not (account.quota or any(account.local_quotas.values())) and (account.held or account.output_lifetime):
            part = "held" if account.held else "output_lifetime"
            yield _remark(scenario, ("accounts", name, part), None, "has no effect without a quota")
