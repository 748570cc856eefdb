"""Checks of the duration of a run, its work and its incidents."""

from collections.abc import Iterator, Mapping
from numbers import Real

from simgrid_broker.errors import nearest
from simgrid_broker.names import QueueStatus
from simgrid_broker.scenario.checks.commands import COMMAND_RULES
from simgrid_broker.scenario.checks.shares import unknown_member
from simgrid_broker.scenario.gdpconfig import find, settings
from simgrid_broker.scenario.loading.origins import Finding
from simgrid_broker.scenario.model import Incident, Scenario
from simgrid_broker.scenario.work.campaigns import Campaign, Payload, UserActivity

READS = {
    "queue_status": (("queue", "status"), ()),
    "site_outage": (("site",), ("until",)),
    "link_outage": (("source", "destination"), ("until",)),
    "share_target": (("share", "value"), ()),
    "gdpconfig": (("key", "value"), ()),
    "task_priority": (("task", "priority"), ()),
    "task_arrival": (("campaign",), ("jobs",)),
    "storage_status": (("storage", "activity", "status"), ("until",)),
    "task_command": (("task", "command"), ("soft", "nucleus", "queue", "jobs", "includedSite", "excludedSite")),
    "task_share": (("task", "share"), ("running",)),
    "file_loss": (("site", "fraction"), ("until",)),
    "storage_outage": (("storage",), ("until",)),
    "replica_added": (("dataset", "storage"), ("fraction",)),
    "replica_lost": (("dataset", "storage"), ()),
    "dataset_deleted": (("dataset",), ()),
    "network_capacity": (("factor",), ("site", "source", "destination", "backbone", "until")),
}
"""Required and optional fields of each kind of incident."""

MOST_TASKS = 5_000_000
"""Tasks of a stream in one run at the most: some gigabytes."""
STATUSES = {"storage_status": ("an endpoint", ("ON", "OFF", "TEST")), "queue_status": ("a queue", QueueStatus.words())}
"""Nouns whose status each kind of incident sets, and the known statuses; source: formats reference, section 2.2."""


def warm_up_too_long(scenario: Scenario) -> Iterator[Finding]:
    """Something is left of the run after the warm-up."""
    if scenario.warm_up >= scenario.duration:
        yield Finding(("warm_up",), scenario.warm_up, f"must be less than duration, {scenario.duration:.15g} s")


def load_without_work(scenario: Scenario) -> Iterator[Finding]:
    """Jobs that are to keep cores busy have work."""
    for key, stream in streams_with_keys(scenario):
        if is_load_without_work(stream):
            yield Finding((*key, "offered_cores"), stream.offered_cores, "jobs without work are not a load: their "
                          "hs06sec_per_event or basewalltime must be above 0", depends_on=(key,))


def is_load_without_work(stream: Payload) -> bool:
    """True if no number of tasks is the load that a stream offers."""
    return stream.offered_cores is not None and stream.mean_job_core_s <= 0


def too_many_tasks(scenario: Scenario) -> Iterator[Finding]:
    """The tasks of a stream fit into the memory of a computer."""
    for key, stream in streams_with_keys(scenario):
        if is_load_without_work(stream):
            continue
        tasks = stream.tasks_per_s * (scenario.duration + stream.backlog_time) + getattr(stream, "backlog", 0)
        if tasks > MOST_TASKS:
            name = next(name for name in ("offered_cores", "tasks_per_day", "backlog") if getattr(stream, name, None))
            yield Finding((*key, name), getattr(stream, name),
                          f"this makes {tasks:.3g} tasks; a stream may have up to {MOST_TASKS:,} in a run",
                          depends_on=(("duration",), key))


def streams_with_keys(scenario: Scenario) -> Iterator[tuple[tuple, Campaign | UserActivity]]:
    """Campaigns and groups of users with their places in the scenario."""
    for kind in ("campaigns", "users"):
        for position, stream in enumerate(getattr(scenario.workload, kind)):
            yield ("workload", kind, position), stream


def parents_of_campaigns(scenario: Scenario) -> Iterator[Finding]:
    """No chain of parents comes back to where it began."""
    parents = {campaign.name: campaign.parent for campaign in scenario.workload.campaigns}
    for position, campaign in enumerate(scenario.workload.campaigns):
        if _goes_round(campaign.name, parents):
            yield Finding(("workload", "campaigns", position, "parent"), campaign.parent,
                          "the chain of parents must begin with a campaign without one")


def queues_of_work(scenario: Scenario) -> Iterator[Finding]:
    """Work that names its queues names each once."""
    for key, stream in streams_with_keys(scenario):
        for place, name in enumerate(stream.site):
            if name in stream.site[:place]:
                yield Finding((*key, "site", place), name, "is named a second time")


def _goes_round(name: str | None, parents: Mapping[str, str | None]) -> bool:
    """True if the chain of parents of a campaign never ends."""
    seen = set()
    while name is not None and name not in seen:
        seen.add(name)
        name = parents.get(name)
    return name is not None


def incident_fields(scenario: Scenario) -> Iterator[Finding]:
    """An incident has all fields that its kind needs, and none that its kind does not read."""
    for position, incident in enumerate(scenario.incidents):
        needed, optional = READS[incident.what]
        key = "incidents", position
        for name in needed:
            if getattr(incident, name) is None:
                yield Finding(key, None, f"{incident.what} needs `{name}`")
        for name in Incident.model_fields:
            if name not in ("at", "what", *needed, *optional) and getattr(incident, name) is not None:
                yield Finding((*key, name), getattr(incident, name), f"{incident.what} does not read this; it reads "
                              + ", ".join((*needed, *optional)))


def incident_status(scenario: Scenario) -> Iterator[Finding]:
    """The status that an incident sets is one of a queue or of an endpoint."""
    for position, incident in enumerate(scenario.incidents):
        if incident.status is not None and incident.what in STATUSES:
            thing, known = STATUSES[incident.what]
            if incident.status not in known:
                yield Finding(("incidents", position, "status"), incident.status, f"unknown status of {thing}",
                              nearest(incident.status, known))


def incident_on_link_to_itself(scenario: Scenario) -> Iterator[Finding]:
    """The link of an outage goes to another site."""
    for position, incident in enumerate(scenario.incidents):
        if incident.source is not None and incident.source == incident.destination:
            yield Finding(("incidents", position, "destination"), incident.destination,
                          "must be another site than the source")


def incident_values(scenario: Scenario) -> Iterator[Finding]:
    """The value that an incident sets has the right type."""
    for position, incident in enumerate(scenario.incidents):
        key, value = ("incidents", position), incident.value
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if incident.what == "share_target" and value is not None and not (is_number and value >= 0):
            yield Finding((*key, "value"), value, "expected a number, 0 or above")
        if incident.what == "gdpconfig" and incident.key is not None:
            for found in settings({incident.key: value})[1]:
                wrong = "value" if find(incident.key) else "key"
                yield Finding((*key, wrong), getattr(incident, wrong), found.expected, found.nearest)
            yield from unknown_member(scenario, (*key, "key"), incident.key, incident.key)


def incident_after_the_end(scenario: Scenario) -> Iterator[Finding]:
    """Incidents happen within the run, unless the run was cut short after the scenario was written."""
    if scenario.origin("duration").kind == "file":
        for position, incident in enumerate(scenario.incidents):
            if incident.at >= scenario.duration:
                yield Finding(("incidents", position, "at"), incident.at,
                              f"must be before the end of the run, {scenario.duration:.15g} s")


def snapshot_after_the_end(scenario: Scenario) -> Iterator[Finding]:
    """Snapshots are taken within the run, unless the run was cut short after the scenario was written."""
    for position, at in enumerate(scenario.record.snapshots):
        if at >= scenario.duration and scenario.origin("duration").kind == "file":
            yield Finding(("record", "snapshots", position), at,
                          f"must be before the end of the run, {scenario.duration:.15g} s")


def sample_of_a_trace(scenario: Scenario) -> Iterator[Finding]:
    """Recorded and simulated jobs are compared job by job."""
    if scenario.workload.trace is not None and 0 < scenario.record.jobs < 1:
        yield Finding(("record", "jobs"), scenario.record.jobs, "must be 1 with a trace, whose jobs are compared with "
                      "the recorded ones, or 0")


def incident_ends_too_early(scenario: Scenario) -> Iterator[Finding]:
    """An outage ends after it began."""
    for position, incident in enumerate(scenario.incidents):
        if incident.until is not None and incident.until <= incident.at:
            yield Finding(("incidents", position, "until"), incident.until, f"must be after `at`, {incident.at:.15g} s")


WORK_RULES = (warm_up_too_long, load_without_work, too_many_tasks, incident_fields, incident_status,
              incident_on_link_to_itself, incident_values, incident_after_the_end, incident_ends_too_early,
              snapshot_after_the_end, sample_of_a_trace, parents_of_campaigns, queues_of_work, *COMMAND_RULES)
