"""Harvester's job fetcher: fetches jobs ahead for push queues; source: lifecycle reference, section 5.5.

Assumed: where it submits no workers it fetches no jobs.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.policy.job_fetcher import jobs_to_fetch
from simgrid_broker.policy.worker_adjuster import NO_WORKERS
from simgrid_broker.world.pilot_status import jobs_of_push, room_for_jobs


def job_fetcher(control: Control) -> Process:
    """Fetch jobs."""
    harvester = control.books.harvester
    push = harvester.push

    def fetch() -> None:
        numbers = jobs_to_fetch(harvester.limits[push], *jobs_of_push(control.arrays, harvester.types, push))
        numbers[np.isin(control.arrays.queues["status"][push], NO_WORKERS)] = 0
        for queue, number in zip(push.tolist(), numbers.tolist(), strict=True):
            if number:
                first, last = harvester.range_of(queue)
                room = room_for_jobs(control.arrays, queue, slice(first, last), harvester.most_of_type[queue])
                harvester.fetched(queue, control.fabric.fetch_jobs(first, last, number, room, control.now))
    if not len(push):
        return
    yield from control.every(control.periods.job_fetcher, fetch, "job_fetcher")
