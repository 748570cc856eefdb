"""Checks of the duration of a run, its work, its incidents, and commands to tasks, which a run must be able to obey."""

from collections.abc import Iterator, Mapping
from numbers import Real

from simgrid_broker.editions import ByEdition, family_of
from simgrid_broker.errors import first_three, nearest
from simgrid_broker.gdpconfig import PAUSING, find
from simgrid_broker.names import PRODUCTION_LABELS, QueueStatus
from simgrid_broker.scenario.checks.grid import EVENTS_ALONE
from simgrid_broker.scenario.checks.shares import unknown_member
from simgrid_broker.scenario.gdpconfig import in_force, settings, values_as_written
from simgrid_broker.scenario.loading.origins import Finding
from simgrid_broker.scenario.model import Incident, Scenario
from simgrid_broker.scenario.shares import leaf_names, shares_with_keys
from simgrid_broker.scenario.work.campaigns import Campaign, Payload, UserActivity
from simgrid_broker.scenario.work.event_rule import CONVERTS
from simgrid_broker.schema.grid import Storage
from simgrid_broker.schema.queues import has_option

TASK_INCIDENTS = ("task_priority", "task_share", "task_command")

THROTTLED_FROM = 6
"""Attempts that inputs must have for a task to be throttled; source: lifecycle reference, section 2.10."""

LIVE, HELD, ENDING, ENDED, ABORTED = "at work", "paused", "finishing", "over", "aborted"
"""States of a task as far as commands go; `at work` has exhausted tasks in it, `paused` throttled ones."""

EFFECT = {"abort": ((LIVE, HELD, ENDING), ABORTED), "finish": ((LIVE, HELD), ENDING), "pause": ((LIVE, ENDING), HELD),
          "resume": ((HELD,), LIVE), "reassign": ((LIVE,), LIVE), "avalanche": ((LIVE,), LIVE),
          "incexec": ((LIVE, ENDED, ABORTED), LIVE)}
"""Where a command can be carried out, and what the task is then; source: lifecycle reference, section 2.8."""

RETRY = ByEdition(((LIVE, ENDED), LIVE), ((LIVE, ENDED, ABORTED), LIVE))
"""As above for retry, which the deployed edition also accepts for aborted tasks (L15)."""


def command_options(scenario: Scenario) -> Iterator[Finding]:
    """A command gets no field that only other commands read."""
    for key, incident in _of_kind(scenario, "task_command"):
        reads = [name for name, read in Incident.reads() if incident.command in read.commands.split()]
        for name, read in Incident.reads():
            if read.commands and getattr(incident, name) is not None and name not in reads:
                yield Finding((*key, name), getattr(incident, name), f"{incident.command} does not read this; it reads "
                              f"{', '.join(reads) or 'nothing but the task'}")


def share_of_command(scenario: Scenario) -> Iterator[Finding]:
    """A task goes to a share that takes tasks."""
    inner = [share.name for _, share in shares_with_keys(scenario.shares_in_use) if share.children]
    for key, incident in _of_kind(scenario, "task_share"):
        if incident.share in inner:
            yield Finding((*key, "share"), incident.share, "expected a share without children, as only those take "
                          "tasks", nearest(incident.share, leaf_names(scenario)))


def task_of_command(scenario: Scenario) -> Iterator[Finding]:
    """The task of an incident is the number of one, or the name of a stream of work; a trace has names of its own."""
    work = scenario.workload
    names = [stream.name for stream in work.streams]
    for what in TASK_INCIDENTS:
        for key, incident in _of_kind(scenario, what):
            task = incident.task
            if isinstance(task, int) and task < 1:
                yield Finding((*key, "task"), task, "expected the number of a task, 1 or above")
            elif isinstance(task, str) and task not in names and work.trace is None:
                yield Finding((*key, "task"), task, "unknown campaign or group of users", nearest(task, names))


def impossible_command(scenario: Scenario) -> Iterator[Finding]:
    """A command can be carried out in some run: resume needs a pause, and pause a task that was not aborted."""
    said = [(key, incident) for key, incident in _of_kind(scenario, "task_command")
            if incident.task is not None and incident.command is not None]
    said.sort(key=lambda one: one[1].at)
    for place, (key, incident) in enumerate(said):
        possible = _possible(scenario, incident.task, [other for _, other in said[:place]])
        where = _effect(scenario, incident)[0]
        if not possible & set(where):
            yield Finding((*key, "command"), incident.command, f"the task can only be {' or '.join(sorted(possible))} "
                          f"by then, and {incident.command} needs one that is {' or '.join(where)}")


def _possible(scenario: Scenario, task: int | str | None, before: list[Incident]) -> set[str]:
    """States of a task after some commands; of those to others only such count as may be about the same task.

    A name covers many tasks, and more may arrive later.
    """
    first = {LIVE, ENDED} | ({HELD} if _held_by_itself(scenario) else set())
    possible = set(first)
    for incident in before:
        same, related = incident.task == task, isinstance(incident.task, str) != isinstance(task, str)
        if not (same or related):
            continue
        where, after = _effect(scenario, incident)
        met = possible & set(where)
        left = possible - met if same and isinstance(task, int) else possible
        possible = left | ({after} if met else set())
        if possible & {LIVE, HELD, ENDING}:
            possible |= first if LIVE in possible else {ENDED} if ENDING in possible else set()
    return possible


def _effect(scenario: Scenario, incident: Incident) -> tuple[tuple[str, ...], str]:
    """Where the command of an incident can be carried out, and what the task is then."""
    return RETRY[scenario.edition] if incident.command == "retry" else EFFECT[incident.command or ""]


def _held_by_itself(scenario: Scenario) -> bool:
    """True if tasks may be paused or throttled without a command."""
    keys = (*scenario.gdpconfig, *(one.key or "" for one in scenario.incidents if one.what == "gdpconfig"))
    work = scenario.workload
    return (work.trace is not None or any(match.entry in PAUSING for name in keys for match in find(name))
            or any((stream.max_attempt or 0) >= THROTTLED_FROM and stream.prodsourcelabel in PRODUCTION_LABELS
                   for stream in work.streams))


def _of_kind(scenario: Scenario, what: str) -> Iterator[tuple[tuple, Incident]]:
    for position, incident in enumerate(scenario.incidents):
        if incident.what == what:
            yield ("incidents", position), incident


COMMAND_RULES = (command_options, share_of_command, task_of_command, impossible_command)


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
        key = "incidents", position
        for name, read in Incident.reads():
            if getattr(incident, name) is None:
                if read.is_needed(incident):
                    yield Finding(key, None, f"{incident.what} needs `{name}`")
            elif not read.is_read(incident):
                yield Finding((*key, name), getattr(incident, name), f"{incident.what} does not read this; it reads "
                              + ", ".join(other for other, mark in Incident.reads() if mark.is_read(incident)))


def incident_status(scenario: Scenario) -> Iterator[Finding]:
    """The status that an incident sets is one of a queue or of an endpoint."""
    for position, incident in enumerate(scenario.incidents):
        if incident.status is not None and incident.what in STATUSES:
            thing, known = STATUSES[incident.what]
            if incident.status not in known:
                yield Finding(("incidents", position, "status"), incident.status,
                              f"unknown status of {thing}; known are {', '.join(known)}",
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


def replica_at_object_store(scenario: Scenario) -> Iterator[Finding]:
    """No incident puts a replica into an object store."""
    stores = scenario.grid.storages.keys() - scenario.grid.data_storages.keys()
    for position, incident in enumerate(scenario.incidents):
        if incident.what in ("replica_added", "replica_lost") and incident.storage in stores:
            yield Finding(("incidents", position, "storage"), incident.storage, EVENTS_ALONE)


WORK_RULES = (warm_up_too_long, load_without_work, too_many_tasks, incident_fields, incident_status,
              incident_on_link_to_itself, incident_values, incident_after_the_end, incident_ends_too_early,
              replica_at_object_store, snapshot_after_the_end, sample_of_a_trace, parents_of_campaigns, queues_of_work,
              *COMMAND_RULES)


# ---- event service ---------------------------------------------------------------------------------------------------

NO_EVENTS = "std"
"""Value of jobseed at a queue without event service."""


def event_service_as_asked(scenario: Scenario) -> Iterator[str]:
    """Streams whose consumers share less than they ask for, and jumbo jobs that no queue takes."""
    takes_jumbo = any(has_option(queue, "useJumboJobs") for queue in scenario.grid.queues.values())
    with_events = sum(queue.jobseed != NO_EVENTS for queue in scenario.grid.queues.values())
    for stream in scenario.workload.streams:
        name, events = stream.name, stream.events_per_job
        n_queues, kind = (len(scenario.grid.queues), "queues, so that some clones of a job share one"
                          ) if stream.useJobCloning else (with_events, "queues with event service in their jobseed")
        if stream.nEventsPerWorker and stream.input is None and stream.nEventsPerWorker > events:
            yield (f"nEventsPerWorker of {name!r}, {stream.nEventsPerWorker}, is above the {events} events of a job, "
                   "so that the consumers of an input share one range.")
        if stream.nJumboJobs and stream.nEventsPerWorker and (stream.site or not takes_jumbo):
            yield f"nJumboJobs of {name!r} has no effect: " + (
                "tasks that name their queue have no jumbo jobs." if stream.site
                else "no queue has useJumboJobs in its catchall.")
        if (stream.esConvertible or stream.esFraction) and (
                stream.nEventsPerWorker or not CONVERTS[scenario.edition]):
            yield (f"esConvertible and esFraction of {name!r} have no effect: " + (
                "a task with nEventsPerWorker is one of event service." if stream.nEventsPerWorker
                else "only the deployed edition converts tasks."))
        if stream.nSitesPerJob > max(n_queues, 1):
            yield f"nSitesPerJob of {name!r}, {stream.nSitesPerJob}, is above the {n_queues} {kind}."


UNREAD_OF_STORES = ("read_lan", "read_wan", "blacklisted_read", "door_out", "door_in")
"""Keys of storages that nothing reads of an object store."""


def object_stores_without_effect(scenario: Scenario) -> Iterator[str]:
    """Object stores that no queue or no work uses, what nothing reads of them, and mergeEsOnOS without any."""
    grid, streams = scenario.grid, scenario.workload.streams
    named = {name: queue.objectstores for name, queue in grid.queues.items() if queue.objectstores}
    stores = {name: storage for name, storage in grid.storages.items() if storage.is_object_store}
    converts = CONVERTS[scenario.edition]
    for name, storage in stores.items():
        if name not in named.values():
            yield f"Object store {name!r} stays empty: no queue has it in objectstores."
        changed = {incident.activity for incident in scenario.incidents
                   if incident.what == "storage_status" and incident.storage == name}
        for key in UNREAD_OF_STORES:
            if key in changed or getattr(storage, key) != Storage.model_fields[key].default:
                yield (f"{key} of object store {name!r} has no effect: merge jobs read it over the links of its site, "
                       "whatever its own status.")
    if named and not any(one.nEventsPerWorker or converts and (one.esConvertible or one.esFraction) for one in streams):
        yield f"objectstores of {first_three([*named])} has no effect: no stream has nEventsPerWorker."
    for stream in streams:
        if stream.mergeEsOnOS and not named:
            yield f"mergeEsOnOS of {stream.name!r} has no effect: no queue has objectstores."


POOL_KEYS = ("AES_EVENTPOOLSIZE", "AES_MAXPENDING")
"""Keys of automatic conversion, both of which must be above 0."""
PRIORITY_KEYS = ("AES_MINTASKPRIORITY", "AES_MAXTASKPRIORITY")
CONSUMER_KEYS = ("AES_NESCONSUMERS", "AES_NSITESPERJOB")
"""Keys that give parameters to converted tasks, also to those that esFraction draws."""


def never_converted(scenario: Scenario) -> Iterator[str]:
    """Convertible tasks that no value of gdpconfig, at the start or by an incident, lets become event service."""
    streams = [one.name for one in scenario.workload.campaigns if one.esConvertible and not one.nEventsPerWorker]
    if not streams or not CONVERTS[scenario.edition]:
        return
    later = {match.entry.key for place, name, _ in values_as_written(scenario) if place[0] == "incidents"
             for match in find(name)}
    held = {key: value for (component, key), value in in_force(scenario).items() if component == "taskrefiner"}
    unset = [key for key in POOL_KEYS if not held[key] and key not in later]
    if unset:
        yield (f"esConvertible of {streams[0]!r} has no effect: tasks are converted while there are few events, for "
               f"which gdpconfig needs {' and '.join(unset)} above 0.")
    low, high = held["AES_MINTASKPRIORITY"], held["AES_MAXTASKPRIORITY"]
    if isinstance(low, int) and isinstance(high, int) and low > high and not later.intersection(PRIORITY_KEYS):
        yield (f"esConvertible of {streams[0]!r} has no effect: gdpconfig key 'AES_MINTASKPRIORITY', {low}, is above "
               f"'AES_MAXTASKPRIORITY', {high}.")


def keys_of_no_events(scenario: Scenario) -> Iterator[str]:
    """Keys of gdpconfig about event service, conversion and jumbo jobs where no stream has work that reads them."""
    ordinary = [one for one in scenario.workload.campaigns if not one.nEventsPerWorker and CONVERTS[scenario.edition]]
    asks, drawn = any(one.esConvertible for one in ordinary), any(one.esFraction for one in ordinary)
    has_events = asks or drawn or any(one.nEventsPerWorker for one in scenario.workload.streams)
    readers = {**dict.fromkeys(POOL_KEYS + PRIORITY_KEYS, (asks, "esConvertible")),
               **dict.fromkeys(CONSUMER_KEYS, (asks or drawn, "esConvertible or esFraction")),
               "AES_MINEVENTSFORMCORE": (has_events, "nEventsPerWorker")}
    for name in dict.fromkeys(name for _, name, _ in values_as_written(scenario)):
        for entry in (match.entry for match in find(name)):
            of_dog = entry.component == "JumboWatchDog" and (has_events, "nEventsPerWorker")
            is_read, parameter = of_dog or readers.get(entry.key, (True, ""))
            if not is_read and family_of(scenario.edition) in entry.editions:
                yield f"gdpconfig key {name!r} has no effect: no stream has {parameter}."
