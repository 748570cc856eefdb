"""Harvester's submitter: submits workers to every batch system; source: lifecycle reference, section 5.4."""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.policy.worker_adjuster import workers_to_submit


def harvester_submitter(control: Control) -> Process:
    """Submit workers."""
    harvester = control.books.harvester

    def submit() -> None:
        workers = workers_to_submit(harvester.look(control.now))
        queue, kind = np.nonzero(workers)
        if len(queue):
            control.fabric.submit_workers(harvester.types.pseudo_queue[queue, kind], workers[queue, kind], control.now)
            harvester.submitted(workers)
    yield from control.every(control.periods.harvester_submitter, submit, "harvester_submitter")
