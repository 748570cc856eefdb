"""Harvester's submitter: submits workers to every batch system; source: lifecycle reference, section 5.4.

Simplified: a job whose worker could not be submitted in any attempt fails as one that the site lets down.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.policy.harvester import workers_to_submit


def harvester_submitter(control: Control) -> Process:
    """Submit workers."""
    harvester, fabric, push = control.books.harvester, control.fabric, control.books.harvester.push

    def submit() -> None:
        seen = harvester.look(control.now)
        if seen is None:
            return
        workers = workers_to_submit(seen, harvester.modes)
        for queue in push[workers[push].any(axis=1)].tolist() if len(push) else ():
            jobs = harvester.next_jobs(queue, workers[queue])
            failed = harvester.not_submitted(queue, jobs, fabric.submit_for_jobs(jobs, control.now), control.now)
            fabric.take_back(failed, int(JobStatus.FAILED), int(Cause.SITE_ERROR), control.now)
            workers[queue] = 0
        queue, kind = np.nonzero(workers)
        if len(queue):
            fabric.submit_workers(harvester.types.pseudo_queue[queue, kind], workers[queue, kind], control.now)
            harvester.submitted(workers)
    yield from control.every(control.periods.harvester_submitter, submit, "harvester_submitter")
