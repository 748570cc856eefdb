"""DIRAC's TaskQueuesAgent: computes the priorities of all task queues; source: DIRAC reference, section 13."""

from simgrid_broker.agents.control import Control, Process

PERIOD = 120.0
"""Period, s."""


def task_queues(control: Control) -> Process:
    """Compute priorities, if jobs wait in task queues."""
    central = control.books.central_queue
    if central is not None:
        yield from control.every(PERIOD, lambda: central.refresh(control.now), "task_queues")
