"""DIRAC's TaskQueuesAgent: computes the priorities of all task queues; source: DIRAC reference, section 13."""

from simgrid_broker.agents.central_queue import CentralQueue
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.dirac_limits import PERIOD as PERIOD_OF_LIMITS

PERIOD = 120.0
"""Period, s."""


def task_queues(control: Control) -> Process:
    """Compute priorities, and count the jobs of limits."""
    central = control.books.waiting_place
    assert isinstance(central, CentralQueue)
    agents = [control.every(PERIOD, lambda: central.refresh(control.now), "task_queues")]
    if len(central.limits.table):
        agents.append(control.every(PERIOD_OF_LIMITS, lambda: central.limits.count(central.group_of_share), "limits"))
    yield control.env.all_of([control.env.process(agent) for agent in agents])
