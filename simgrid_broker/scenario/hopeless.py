"""Remarks on what is legal and cannot work: slots that do not fit, storages without room, runs that end too early."""

from collections.abc import Iterator
from itertools import permutations
from math import inf
from typing import Any

from simgrid_broker.scenario.gdpconfig import find, in_force
from simgrid_broker.scenario.model import Incident, Scenario
from simgrid_broker.schema.grid import ACTIVITIES, Storage
from simgrid_broker.schema.tasks import CONNECTIVITIES, IP_STACKS

DOCUMENTED_LEAST_FREE = 200e9
"""Free space, bytes, above which the documented edition uses a storage; source: brokerage reference, D73."""
SETS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "queue_status": (("queue",), ("status",)), "share_target": (("share",), ("value",)),
    "gdpconfig": (("key",), ("value",)), "storage_status": (("storage", "activity"), ("status",)),
    "task_priority": (("task",), ("priority",)), "task_share": (("task",), ("share",)),
    "task_command": (("task",), ("command", "queue", "nucleus", "soft", "jobs"))}
"""What an incident of each kind acts on, and what it sets there."""
JOB_SEEDS = ("", "std", "es", "eshigh", "all", "any")
"""Values of jobseed; source: brokerage reference, 2.2 and 2.3."""
CHAIN = ("task_refiner", "task_broker", "job_generator", "setupper", "pilot_streaming", "adder")
"""Agents without whose work no job ends; each wakes first within its period."""


def named(names: list[str]) -> str:
    """The first three names."""
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def usable(storage: Storage) -> float:
    """Space that brokers count, bytes: free and expired, less what must stay free or is promised elsewhere."""
    return storage.free + storage.expired - storage.min_free - storage.unavailable


def nuclei_without_space(scenario: Scenario) -> Iterator[str]:
    """A space that task brokerage asks for and no nucleus has, work that they owe left out of account."""
    sites, of_edition = scenario.grid.sites, scenario.edition == "documented"
    space = [storage.free + storage.expired if of_edition else usable(storage)
             for storage in scenario.grid.storages.values() if sites[storage.site].nucleus]
    for (component, key), threshold in in_force(scenario).items():
        if component == "taskbrokerage" and key.startswith("DISK_THRESHOLD") and threshold is not None:
            least = float(str(threshold)) * (1e12 if of_edition else 1024 * 2**30)
            if space and max(space) < least:
                yield (f"No nucleus has the space of {key}, {threshold:g} TB: the largest has {max(space) / 1e12:.6g} "
                       "TB, so that task brokerage finds none.")


def closed_storages(scenario: Scenario) -> Iterator[str]:
    """An activity for which no storage is open, from the start on."""
    later = {incident.activity for incident in scenario.incidents if incident.what == "storage_status"}
    for activity in ACTIVITIES:
        if scenario.grid.storages and activity not in later and all(
                getattr(storage, activity) in ("OFF", "TEST") for storage in scenario.grid.storages.values()):
            yield f"No storage is open to {activity}, so that brokers refuse what needs it."


def links_that_always_fail(scenario: Scenario) -> Iterator[str]:
    """Failure rates of links of 1: each attempt at a transfer fails, until none is left."""
    links = scenario.grid.links
    rates: dict[str, float | None] = {"default": links.default.failure_rate}
    rates |= {f"by_tier.{tier}": ends.failure_rate for tier, ends in links.by_tier.items()}
    rates |= {f"by_site.{site}": ends.failure_rate for site, ends in links.by_site.items()}
    rates |= {f"pairs[{place}]": link.failure_rate for place, link in enumerate(links.pairs)}
    for place, rate in rates.items():
        if rate == 1:
            key = f"grid.links.{place}.failure_rate"
            yield str(scenario.origin(key).problem(key, rate, "every attempt at a transfer fails"))


def endpoints_without_use(scenario: Scenario) -> Iterator[str]:
    """Endpoints of queues that are neither read nor written, listed twice, or not the first default."""
    for name, queue in scenario.grid.queues.items():
        listed = [(one.storage, one.scope) for one in queue.endpoints]
        for place, one in enumerate(queue.endpoints):
            if not (one.read or one.write):
                yield f"Queue {name!r} neither reads from endpoint {one.storage!r} nor writes to it."
            if listed[place] in listed[:place]:
                yield f"Queue {name!r} lists endpoint {one.storage!r} twice for scope {one.scope}."
        first = [one.storage for one in queue.endpoints if one.default_write and one.scope == "default"]
        if len(first) > 1:
            yield f"Queue {name!r} has {len(first)} default endpoints for output; the first, {first[0]!r}, counts."


def words_without_meaning(scenario: Scenario) -> Iterator[str]:
    """Networks and kinds of event service of queues that PanDA does not know."""
    for name, queue in scenario.grid.queues.items():
        network, _, stack = queue.wnconnectivity.partition("#")
        if network not in CONNECTIVITIES or stack not in IP_STACKS:
            yield (f"wnconnectivity {queue.wnconnectivity!r} of queue {name!r}: expected full, http or none, and IPv4 "
                   "or IPv6 behind #; work that asks for a network will not come.")
        if queue.jobseed not in JOB_SEEDS:
            yield f"jobseed {queue.jobseed!r} of queue {name!r} has no effect; known are {', '.join(JOB_SEEDS[1:])}."


def data_slower_than_the_run(scenario: Scenario) -> Iterator[str]:
    """Work whose typical job moves its data for longer than the run at the fastest site."""
    rate = max((site.stage_in_rate for site in scenario.grid.sites.values()), default=0.0)
    for stream in (*scenario.workload.campaigns, *scenario.workload.users):
        size = stream.input_per_event * stream.events_per_job + stream.input_per_job.median
        if rate > 0 and size / rate > scenario.duration:
            yield (f"A typical job of {stream.name!r} reads {size:.6g} bytes, which takes {size / rate:.6g} s at the "
                   "fastest site, longer than the run.")


def remote_reading_nowhere(scenario: Scenario) -> Iterator[str]:
    """Work with allowInputWAN of users, or for whose jobs no queue reads over WAN."""
    yield from (f"allowInputWAN of {stream.name!r} has no effect: only the broker of production lets jobs read "
                "remotely." for stream in scenario.workload.users if stream.allowInputWAN)
    asking = [stream.name for stream in scenario.workload.campaigns if stream.allowInputWAN]
    if asking and not any(queue.production and queue.reads_wan for queue in scenario.grid.queues.values()):
        yield (f"allowInputWAN has no effect ({named(asking)}): no queue of production has both direct_access_lan and "
               "direct_access_wan.")


def more_cores_than_slots(scenario: Scenario) -> Iterator[str]:
    """Work whose jobs ask for more cores than any slot has: PanDA's jobs have the cores of their queue."""
    slots = [queue.corecount or 1 for queue in scenario.grid.queues.values()]
    for stream in (*scenario.workload.campaigns, *scenario.workload.users):
        if slots and stream.corecount > max(slots):
            yield (f"Jobs of {stream.name!r} ask for {stream.corecount} cores and get {max(slots)} at most, those of "
                   "the largest slot.")


def queue_of_nothing(scenario: Scenario) -> Iterator[str]:
    """Queues that are online whose batch system has no core."""
    sites = scenario.grid.sites
    empty = [name for name, queue in scenario.grid.queues.items() if queue.status == "online"
             and (queue.cores if queue.cores is not None else sites[queue.atlas_site].cores) == 0]
    if empty:
        yield (f"{len(empty)} queue(s) are online without cores, so that jobs wait there until they time out "
               f"({named(empty)}).")


def slot_memory_larger_than_site(scenario: Scenario) -> Iterator[str]:
    """Queues whose slots have more memory than their whole batch system."""
    for name, queue in scenario.grid.queues.items():
        site = scenario.grid.sites[queue.atlas_site]
        cores = queue.cores if queue.cores is not None else site.cores
        memory = (cores or 0) * site.memory_per_core
        if 0 < memory < queue.maxrss:
            yield (f"Queue {name!r}: a slot of {queue.maxrss:.15g} MB (maxrss) exceeds the {memory:.15g} MB of its "
                   "whole batch system; workers ask for all of that instead, so that one runs at a time.")


def storage_without_room(scenario: Scenario) -> Iterator[str]:
    """Storages that have less space than brokers need to send jobs to their sites."""
    if scenario.edition == "documented":
        least, what = DOCUMENTED_LEAST_FREE, "more than 200 GB free"
        small = [name for name, storage in scenario.grid.storages.items() if storage.free <= least]
    else:
        size = float(str(in_force(scenario)["jobbroker", "STORAGE_MIN_FREE_SIZE"]))
        least, what = size * 2**30, f"STORAGE_MIN_FREE_SIZE, {size:g} GB, of usable space"
        small = [name for name, storage in scenario.grid.storages.items() if usable(storage) < least]
    if small:
        yield (f"{len(small)} of {len(scenario.grid.storages)} storage(s) do not have {what}, so that brokers send no "
               f"jobs whose output goes there ({named(small)}).")


def run_too_short(scenario: Scenario) -> Iterator[str]:
    """A start-up of pilots, or periods of agents, that take as long as the run."""
    if scenario.agents.pilot_startup >= scenario.duration:
        yield (f"No job will run: pilots take {scenario.agents.pilot_startup:.15g} s to start, the run "
               f"{scenario.duration:.15g} s.")
    for name in CHAIN:
        period = getattr(scenario.agents, name)
        if period > scenario.duration:
            yield (f"agents.{name}, {period:.15g} s, is longer than the run, {scenario.duration:.15g} s: the agent may "
                   "never act, and then no job ends.")


def jobs_longer_than_the_run(scenario: Scenario) -> Iterator[str]:
    """Work whose mean job takes longer than the run."""
    for stream in (*scenario.workload.campaigns, *scenario.workload.users):
        time = stream.mean_job_core_s / stream.cores
        if time > scenario.duration:
            yield (f"Jobs of {stream.name!r} take {time:.6g} s on average, longer than the run, "
                   f"{scenario.duration:.15g} s.")


def contradicting_incidents(scenario: Scenario) -> Iterator[str]:
    """Incidents that set one thing to different values at one moment; the last one in the file wins."""
    seen: dict[tuple, Incident] = {}
    for incident in scenario.incidents:
        for subject in _subjects(incident):
            before = seen.setdefault((incident.at, incident.what, subject), incident)
            values = [" ".join(str(value) for value in _values(one) if value is not None) for one in (before, incident)]
            if _values(before) != _values(incident):
                yield (f"Incidents contradict each other at {incident.at:.15g} s: {incident.what} of "
                       f"{', '.join(map(str, subject))} is {values[0]} and {values[1]}; the last in the file holds.")


def closed_too_soon(scenario: Scenario) -> Iterator[str]:
    """Changes of a storage that the end of an earlier one takes back: the end restores what the grid says."""
    changes = [one for one in scenario.incidents if one.what == "storage_status"]
    for before, after in permutations(changes, 2):
        end, same = before.until, (before.storage, before.activity) == (after.storage, after.activity)
        if same and end is not None and before.at <= after.at < end < (inf if after.until is None else after.until):
            yield (f"{after.activity} of storage {after.storage!r} is {after.status} from {after.at:.15g} s until "
                   f"{end:.15g} s only: the incident at {before.at:.15g} s ends then.")


def _subjects(incident: Incident) -> Iterator[tuple]:
    """What an incident acts on: a key of gdpconfig in each of its components."""
    if incident.what == "gdpconfig":
        yield from ((f"{match.entry.component}.{match.key}",) for match in find(str(incident.key)))
    elif incident.what in SETS:
        yield tuple(getattr(incident, name) for name in SETS[incident.what][0])


def _values(incident: Incident) -> tuple[Any, ...]:
    """What an incident sets."""
    return tuple(getattr(incident, name) for name in SETS[incident.what][1])
