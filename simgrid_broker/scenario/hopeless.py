"""Remarks on what is legal and cannot work: work without a queue, storages without room, runs that end too early."""

from collections.abc import Iterator

from simgrid_broker.names import ANALYSIS_LABELS
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.scenario.model import Incident, Scenario

DOCUMENTED_LEAST_FREE = 200e9
"""Free space, bytes, above which the documented edition uses a storage; source: brokerage reference, D73."""
SETS = {"queue_status": (("queue",), "status"), "share_target": (("share",), "value"), "gdpconfig": (("key",), "value"),
        "storage_status": (("storage", "activity"), "status"), "task_priority": (("task",), "priority"),
        "task_command": (("task",), "command"), "task_share": (("task",), "share")}
"""What an incident of each kind acts on, and what it sets there."""


def work_that_no_queue_takes(scenario: Scenario) -> Iterator[str]:
    """Campaigns and users whose jobs have more cores than any slot for them, or for which there is no queue at all."""
    opened = {incident.queue for incident in scenario.incidents if incident.what == "queue_status"}
    queues = [queue for name, queue in scenario.grid.queues.items() if queue.status == "online" or name in opened]
    for stream in (*scenario.workload.campaigns, *scenario.workload.users):
        kind = "analysis" if stream.prodsourcelabel in ANALYSIS_LABELS else "production"
        slots = [queue.corecount or 1 for queue in queues if getattr(queue, kind)]
        if queues and not slots:
            yield f"No queue can run {stream.name!r}: none that is online takes {kind} jobs."
        elif slots and stream.corecount > max(slots):
            yield (f"No queue can run {stream.name!r}: its jobs have {stream.corecount} cores, the largest slot for "
                   f"{kind} jobs has {max(slots)}.")


def storage_without_room(scenario: Scenario) -> Iterator[str]:
    """Most storages have less space than brokers need to send jobs to their sites."""
    if scenario.edition == "documented":
        least, what = DOCUMENTED_LEAST_FREE, "more than 200 GB free"
        small = [name for name, storage in scenario.grid.storages.items() if storage.free <= least]
    else:
        size = float(str(in_force(scenario)["jobbroker", "STORAGE_MIN_FREE_SIZE"]))
        least, what = size * 2**30, f"STORAGE_MIN_FREE_SIZE, {size:g} GB, free or expired"
        small = [name for name, storage in scenario.grid.storages.items() if storage.free + storage.expired < least]
    if 2 * len(small) > len(scenario.grid.storages):
        yield (f"{len(small)} storage(s) do not have {what}, so that brokers send no jobs to their sites "
               f"({', '.join(small[:3])}{', ...' if len(small) > 3 else ''}).")


def run_too_short(scenario: Scenario) -> Iterator[str]:
    """A start-up of pilots that takes as long as the run."""
    if scenario.agents.pilot_startup >= scenario.duration:
        yield (f"No job will run: pilots take {scenario.agents.pilot_startup:.15g} s to start, the run "
               f"{scenario.duration:.15g} s.")


def contradicting_incidents(scenario: Scenario) -> Iterator[str]:
    """Incidents that set one thing to different values at one moment; the last one in the file wins."""
    seen: dict[tuple, Incident] = {}
    for incident in scenario.incidents:
        if incident.what not in SETS:
            continue
        thing, value = SETS[incident.what]
        subject = tuple(getattr(incident, name) for name in thing)
        before = seen.setdefault((incident.at, incident.what, subject), incident)
        if getattr(before, value) != getattr(incident, value):
            yield (f"Incidents contradict each other at {incident.at:.15g} s: {incident.what} of "
                   f"{', '.join(map(str, subject))} is {getattr(before, value)!r} and {getattr(incident, value)!r}.")
