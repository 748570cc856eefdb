"""All checks between the parts of a scenario, and remarks on what is legal but suspicious, or cannot work."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations
from math import inf
from typing import Any

from simgrid_broker.errors import first_three, nearest
from simgrid_broker.gdpconfig import find
from simgrid_broker.names import ASKED_LABELS, JOB_TYPE_OF_TESTS
from simgrid_broker.scenario.checks.data import DATA_REMARKS, DATA_RULES, TAPE_REMARKS, TAPE_RULES
from simgrid_broker.scenario.checks.grid import (
    GRID_RULES,
    NETWORK_RULES,
    more_work_than_cores,
    no_jobs_made,
    too_much_space,
    unusual_values,
)
from simgrid_broker.scenario.checks.rows import constraints_of_rows, remarks_of_rows
from simgrid_broker.scenario.checks.shares import SHARE_RULES, WORK_QUEUE_RULES, work_without_share
from simgrid_broker.scenario.checks.users import (
    USER_PARAMETER_RULES,
    accounts_without_effect,
    boosts_of_users,
    boosts_without_effect,
    patterns_without_queue,
    unread_parameters,
)
from simgrid_broker.scenario.checks.work import (
    WORK_RULES,
    event_service_as_asked,
    keys_of_no_events,
    never_converted,
    object_stores_without_effect,
)
from simgrid_broker.scenario.checks.workers import (
    WORKER_RULES,
    notice_of_nothing,
    option_unread,
    remarks_of_systems,
    slots_below_all_types,
)
from simgrid_broker.scenario.gdpconfig import in_force, values_as_written
from simgrid_broker.scenario.loading.origins import Finding
from simgrid_broker.scenario.model import Incident, Scenario
from simgrid_broker.scenario.retry_rules import RETRY_RULES
from simgrid_broker.scenario.shares import TAGS, shares_with_keys
from simgrid_broker.scenario.terms import TERMS
from simgrid_broker.scenario.work.campaigns import group_names
from simgrid_broker.schema.grid import ACTIVITIES, Storage
from simgrid_broker.schema.queues import NUMBERS, option_number, option_value, standby_slots
from simgrid_broker.schema.tasks import CONNECTIVITIES, IP_STACKS

DOCUMENTED_LEAST_FREE = 200e9
"""Free space, bytes, above which the documented edition uses a storage; source: brokerage reference, D73."""
JOB_SEEDS = ("", "std", "es", "eshigh", "all", "any")
"""Values of jobseed; source: brokerage reference, 2.2 and 2.3."""
CHAIN = ("task_refiner", "task_broker", "job_generator", "setupper", "pilot_streaming", "adder")
"""Agents without whose work no job ends; each wakes first within its period."""


def usable(storage: Storage) -> float:
    """Space that brokers count, bytes: free and expired, less what must stay free or is promised elsewhere."""
    return storage.free + storage.expired - storage.min_free - storage.unavailable


def nuclei_without_space(scenario: Scenario) -> Iterator[str]:
    """Space that task brokerage asks for and no nucleus has, without counting the work assigned to them."""
    sites, terms = scenario.grid.sites, TERMS[scenario.edition]
    space = [storage.free + storage.expired if terms.all_space else usable(storage)
             for storage in scenario.grid.data_storages.values() if sites[storage.site].nucleus]
    for (component, key), threshold in in_force(scenario).items():
        if component == "taskbrokerage" and key.startswith("DISK_THRESHOLD") and threshold is not None:
            least = float(str(threshold)) * terms.terabyte
            if space and max(space) < least:
                yield (f"No nucleus has the space of {key}, {threshold:g} TB: the largest has {max(space) / 1e12:.6g} "
                       "TB, so that task brokerage finds none.")


def closed_storages(scenario: Scenario) -> Iterator[str]:
    """An activity for which no storage is open, from the start on."""
    later = {incident.activity for incident in scenario.incidents if incident.what == "storage_status"}
    storages = scenario.grid.data_storages
    for activity in ACTIVITIES:
        if storages and activity not in later and all(
                getattr(storage, activity) in ("OFF", "TEST") for storage in storages.values()):
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
        used = queue.endpoints or ()
        listed = Counter((one.storage, one.scope, use) for one in used for use in ("read", "write")
                         if getattr(one, use))
        for one in used:
            if not (one.read or one.write):
                yield f"Queue {name!r} neither reads from endpoint {one.storage!r} nor writes to it."
        for storage, scope in dict.fromkeys(each[:2] for each, times in listed.items() if times > 1):
            yield f"Queue {name!r} lists endpoint {storage!r} twice for scope {scope}."
        first = [one.storage for one in used if one.default_write and one.scope == "default"]
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


def measured_by_no_scout(scenario: Scenario) -> Iterator[str]:
    """Figures that only scouts read where no task has any."""
    streams, queues = scenario.workload.streams, scenario.grid.queues
    if not any(stream.useScout for stream in streams):
        named = [name for name, queue in queues.items() if queue.cpu_benchmark]
        if named:
            yield f"cpu_benchmark has no effect ({first_three(named)}): no task has scouts, which alone read it."
    for group in scenario.workload.users:
        if group.build_size and not group.useScout:
            yield f"build_size of {group.name!r} has no effect: its tasks have no scouts, which alone read it."


def data_slower_than_the_run(scenario: Scenario) -> Iterator[str]:
    """Work whose typical job moves its data for longer than the run at the fastest site."""
    rate = max((site.stage_in_rate for site in scenario.grid.sites.values()), default=0.0)
    for stream in scenario.workload.streams:
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
        yield (f"allowInputWAN has no effect ({first_three(asking)}): no queue of production has both "
               "direct_access_lan and direct_access_wan.")


def more_cores_than_slots(scenario: Scenario) -> Iterator[str]:
    """Work whose jobs ask for more cores than any slot has: PanDA's jobs have the cores of their queue."""
    slots = [queue.corecount or 1 for queue in scenario.grid.queues.values()]
    for stream in scenario.workload.streams:
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
               f"({first_three(empty)}).")


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
    storages = scenario.grid.data_storages
    if TERMS[scenario.edition].all_space:
        least, what = DOCUMENTED_LEAST_FREE, "more than 200 GB free"
        small = [name for name, storage in storages.items() if storage.free <= least]
    else:
        size = float(str(in_force(scenario)["jobbroker", "STORAGE_MIN_FREE_SIZE"]))
        least, what = size * 2**30, f"STORAGE_MIN_FREE_SIZE, {size:g} GB, of usable space"
        small = [name for name, storage in storages.items() if usable(storage) < least]
    if small:
        yield (f"{len(small)} of {len(storages)} storage(s) do not have {what}, so that brokers send no "
               f"jobs whose output goes there ({first_three(small)}).")


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
    for stream in scenario.workload.streams:
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
    """Objects that an incident acts on: a key of gdpconfig in each of its components."""
    if incident.what == "gdpconfig":
        yield from ((f"{match.entry.component}.{match.key}",) for match in find(str(incident.key)))
    elif any(read.sets and read.is_set(incident) for _, read in Incident.reads()):
        yield tuple(getattr(incident, name) for name, read in Incident.reads()
                    if read.is_needed(incident) and not read.is_set(incident))


def _values(incident: Incident) -> tuple[Any, ...]:
    """Values that an incident sets."""
    return tuple(getattr(incident, name) for name, read in Incident.reads() if read.is_set(incident))


CHECKS: tuple[Callable[[Scenario], Iterator[Finding]], ...] = (
    *GRID_RULES, *NETWORK_RULES, *WORKER_RULES, too_much_space, *SHARE_RULES, work_without_share, *WORK_RULES,
    *DATA_RULES, *TAPE_RULES, *WORK_QUEUE_RULES, *RETRY_RULES, *USER_PARAMETER_RULES, boosts_of_users,
    constraints_of_rows)
"""Every rule; each gives a finding for everything that breaks it."""


def findings(scenario: Scenario) -> tuple[Finding, ...]:
    """Everything that is wrong between the parts of a scenario."""
    return tuple(finding for check in CHECKS for finding in check(scenario))


def remarks(scenario: Scenario) -> tuple[str, ...]:
    """Remarks on legal values that may not be meant, and on what an import could not use; one sentence each."""
    return (*scenario.import_remarks, *map(str, remarks_of_rows(scenario)),
            *(remark for look in LOOKS for remark in look(scenario)))


def no_work(scenario: Scenario) -> Iterator[str]:
    """A run without work."""
    work = scenario.workload
    if not (work.campaigns or work.users or work.trace):
        yield "There is no work: neither campaigns nor users nor a trace."


def labels_without_pilots(scenario: Scenario) -> Iterator[str]:
    """Work whose label no pilot asks for; source: lifecycle reference, section 5.2."""
    asked = {label for labels in ASKED_LABELS.values() for label in labels}
    for stream in scenario.workload.streams:
        if stream.prodsourcelabel not in asked and stream.processingtype != JOB_TYPE_OF_TESTS:
            yield (f"No pilot asks for jobs of prodsourcelabel {stream.prodsourcelabel!r}, so that those of "
                   f"{stream.name!r} never start.")


def rule_of_inner_share(scenario: Scenario) -> Iterator[str]:
    """Regular expressions of shares that have children: only leaves tag tasks."""
    for _, share in shares_with_keys(scenario.shares):
        if share.children and any(getattr(share, tag) is not None for tag in TAGS):
            yield f"The rules of share {share.name!r} have no effect, because only shares without children take tasks."


def site_without_anything(scenario: Scenario) -> Iterator[str]:
    """Sites that have neither queue nor storage."""
    used = {queue.atlas_site for queue in scenario.grid.queues.values()}
    used |= {storage.site for storage in scenario.grid.storages.values()}
    for name in scenario.grid.sites:
        if name not in used:
            yield f"Site {name!r} has neither a queue nor a storage."


def no_open_queue(scenario: Scenario) -> Iterator[str]:
    """A grid none of whose queues is online."""
    queues = scenario.grid.queues.values()
    if all(queue.status != "online" for queue in queues):
        yield "No queue is online, so no job will be brokered unless an incident opens one."


def queue_refuses_all(scenario: Scenario) -> Iterator[str]:
    """Queues whose lower limit is above the upper one; an upper limit of 0 means no limit."""
    for name, queue in scenario.grid.queues.items():
        for lower, upper in (("minrss", "maxrss"), ("mintime", "maxtime")):
            if getattr(queue, lower) > getattr(queue, upper) > 0:
                yield f"Queue {name!r} takes no job: {lower} is above {upper}."


def option_of_full_chain(scenario: Scenario) -> Iterator[str]:
    """Options of full chains without effect: bareNucleus has two values, secondaryNucleus names a site."""
    for name, queue in scenario.grid.queues.items():
        bare, secondary = option_value(queue, "bareNucleus"), option_value(queue, "secondaryNucleus")
        if bare not in (None, "only", "allow"):
            yield f"bareNucleus={bare} of queue {name!r} has no effect; it may be only or allow."
        if secondary is not None and secondary not in scenario.grid.sites:
            yield f"secondaryNucleus={secondary} of queue {name!r} has no effect: unknown site."


def option_no_number(scenario: Scenario) -> Iterator[str]:
    """Options of queues that must be numbers and are not."""
    for name, queue in scenario.grid.queues.items():
        for key in NUMBERS:
            value = option_value(queue, key)
            if value is not None and option_number(queue, key, -1) < 0:
                yield f"{key}={value} of queue {name!r} has no effect; it must be a number, 0 or above."


def standby_of_nothing(scenario: Scenario) -> Iterator[str]:
    """Parts of nStandby that the edition does not read, that have another form, or whose share or type is unknown."""
    leaves = {share.name for _, share in shares_with_keys(scenario.shares_in_use) if not share.children}
    for name, queue in scenario.grid.queues.items():
        for part, share, kind, _ in standby_slots(queue):
            if not TERMS[scenario.edition].standby:
                yield f"nStandby={part} of queue {name!r} has no effect: only the deployed edition reads it."
            elif share is None:
                yield f"nStandby={part} of queue {name!r} has no effect; write <share>:<resource type>:<slots>."
            elif share not in leaves or kind not in scenario.resource_types:
                what, word = ("share", share) if share not in leaves else ("resource type", kind)
                yield f"nStandby={part} of queue {name!r} has no effect: unknown {what} {word!r}."


def cut_off(scenario: Scenario) -> Iterator[str]:
    """Incidents and snapshots after the end of a run that is shorter than its scenario file states."""
    for times, what, done in (([incident.at for incident in scenario.incidents], "incident", "happen"),
                              (scenario.record.snapshots, "snapshot", "be taken")):
        late = sum(at >= scenario.duration for at in times)
        if late:
            yield f"{late} {what}(s) lie after the end of the run and will not {done}."


def settings_of(scenario: Scenario) -> Iterator[str]:
    """Names of the keys of gdpconfig that a scenario sets, at the start or by an incident, each once."""
    yield from dict.fromkeys(name for _, name, _ in values_as_written(scenario))


def setting_without_match(scenario: Scenario) -> Iterator[str]:
    """Keys of gdpconfig for a CRIC workflow of no queue, or for a working group of no work."""
    known: dict[str, tuple[str, set[str | None]]] = {
        "workflow": ("queue has the workflow", {queue.workflow for queue in scenario.grid.queues.values()}),
        "workingGroup": ("work has the working group", {*group_names(scenario.workload)})}
    for name in settings_of(scenario):
        for match in find(name):
            for member, (what, names) in known.items():
                text = match.members.get(member)
                if text is not None and text not in names:
                    close = nearest(text, [one for one in names if one])
                    yield (f"gdpconfig key {name!r} has no effect: no {what} {text!r}"
                           f"{'; did you mean ' + ', '.join(close) if close else ''}.")


def software_without_transhome(scenario: Scenario) -> Iterator[str]:
    """Requirements on software or hardware that the deployed edition ignores."""
    for stream in scenario.workload.streams:
        ignored = TERMS[scenario.edition].transhome_first and not stream.transhome
        if ignored and (stream.architecture or stream.container_name):
            yield (f"Neither architecture nor container of {stream.name!r} has an effect, because the deployed "
                   "edition ignores them without a transhome.")


def ordinary_jobs(scenario: Scenario) -> Iterator[str]:
    """Event service that is asked of a task and makes ordinary jobs."""
    for stream in scenario.workload.streams:
        asked = {"eventService": stream.eventService and not (stream.nEventsPerWorker or stream.useJobCloning),
                 "nJumboJobs": stream.nJumboJobs > 0 and not stream.nEventsPerWorker}
        for key in (key for key, without_effect in asked.items() if without_effect):
            yield (f"{key} of {stream.name!r} makes ordinary jobs: " + (
                "brokerage minds it, and jobs of event service need nEventsPerWorker." if key == "eventService"
                else "brokerage minds it, and jumbo jobs need nEventsPerWorker."))


def software_unknown(scenario: Scenario) -> Iterator[str]:
    """Queues whose software is to be checked and that publish none, if there is work of which software is asked.

    In the deployed edition that is all work of users: without a transHome it asks for what no such queue has.
    """
    work, asks = scenario.workload.streams, bool(scenario.workload.users) and TERMS[scenario.edition].transhome_first
    silent = [name for name, queue in scenario.grid.queues.items() if "AUTO" in queue.releases and not queue.software]
    if silent and (asks or any(stream.transhome or stream.architecture or stream.container_name for stream in work)):
        yield (f"{len(silent)} queue(s) with releases AUTO publish no software and take no task that asks for any"
               f"{', nor any of users' if asks else ''} ({first_three(silent)}); give grid.software, or auto_as_any: "
               "true.")


LOOKS: tuple[Callable[[Scenario], Iterator[str]], ...] = (
    no_work, labels_without_pilots, rule_of_inner_share, site_without_anything, no_open_queue,
    queue_refuses_all, cut_off, remarks_of_systems, slots_below_all_types,
    setting_without_match, option_of_full_chain, option_no_number, option_unread, standby_of_nothing, notice_of_nothing,
    software_without_transhome, ordinary_jobs,
    software_unknown, boosts_without_effect, patterns_without_queue, unread_parameters, accounts_without_effect,
    more_cores_than_slots, queue_of_nothing, remote_reading_nowhere, slot_memory_larger_than_site,
    storage_without_room, run_too_short, jobs_longer_than_the_run, data_slower_than_the_run, contradicting_incidents,
    closed_too_soon, nuclei_without_space, closed_storages, endpoints_without_use, words_without_meaning,
    links_that_always_fail, measured_by_no_scout, event_service_as_asked, never_converted, keys_of_no_events,
    object_stores_without_effect,
    unusual_values, more_work_than_cores, no_jobs_made, *DATA_REMARKS, *TAPE_REMARKS)
