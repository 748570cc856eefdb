"""Harvester's job fetcher: fetches jobs ahead for push queues; source: lifecycle reference, section 5.5.

Assumed: where it submits no workers it fetches no jobs.
"""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.policy.harvester import GETS_NONE, jobs_to_fetch
from simgrid_broker.world.pilot_status import jobs_of_push


def job_fetcher(control: Control) -> Process:
    """Fetch jobs."""
    harvester = control.books.harvester
    push = harvester.push

    def fetch() -> None:
        numbers = jobs_to_fetch(harvester.limits[push], *jobs_of_push(control.arrays, harvester.types, push))
        numbers[GETS_NONE[control.arrays.queues["status"][push]]] = 0
        asked = numbers > 0
        if asked.any():
            harvester.fetched(asked, *control.fabric.fetch_jobs(push, harvester.ranges, harvester.most_of_type, numbers,
                                                                control.now))
    if not len(push):
        return
    yield from control.every(control.periods.job_fetcher, fetch, "job_fetcher")
