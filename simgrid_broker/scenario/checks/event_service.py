"""Remarks on event service that a scenario asks for and does not get, or may not mean."""

from collections.abc import Iterator

from simgrid_broker.scenario.model import Scenario

NO_EVENTS = "std"
"""Value of jobseed at a queue without event service."""


def event_service_as_asked(scenario: Scenario) -> Iterator[str]:
    """Streams with eventService whose jobs are ordinary, or share less than they ask for, and jumbo jobs."""
    n_queues = sum(queue.jobseed != NO_EVENTS for queue in scenario.grid.queues.values())
    for stream in scenario.workload.streams:
        name, events = stream.name, stream.events_per_job
        if stream.eventService and not stream.nEventsPerWorker:
            yield f"The jobs of {name!r} are ordinary ones: eventService without nEventsPerWorker only chooses queues."
        if stream.nJumboJobs:
            yield f"nJumboJobs of {name!r} only chooses queues: there are no jumbo jobs in runs."
        if stream.nEventsPerWorker and stream.input is None and stream.nEventsPerWorker > events:
            yield (f"nEventsPerWorker of {name!r}, {stream.nEventsPerWorker}, is above the {events} events of a job, "
                   "so that the consumers of an input share one range.")
        if stream.nSitesPerJob > max(n_queues, 1):
            yield (f"nSitesPerJob of {name!r}, {stream.nSitesPerJob}, is above the {n_queues} queues with event "
                   "service in their jobseed.")
