"""DIRAC's SiteDirector, which asks for pilots, and its TaskQueuesAgent, which computes priorities.

The DIRAC reference does not describe the SiteDirector: pilots for jobs in matching task queues, within the limits that
Harvester has for each queue, are this project's own reading. Source of the other: DIRAC reference, section 13.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.systems.dirac.central_queue import LIMITS_PERIOD, CentralQueue

PERIOD = 120.0
"""Period, s."""


def site_director(control: Control) -> Process:
    """Ask for pilots."""
    central, harvester = control.books.waiting_place, control.books.harvester
    assert isinstance(central, CentralQueue)

    def direct() -> None:
        arrays = control.arrays
        accepts = arrays.accepts & ~central.shut(control.now)
        wanted = pilots_wanted(accepts, arrays.task_queues["cpu_class"], central.n_classes,
                               arrays.task_queues["n_jobs"], arrays.pseudo_queues["n_submitted"])
        pseudo_queue = harvester.types.pseudo_queue
        harvester.command(np.where(pseudo_queue >= 0, wanted[pseudo_queue], 0))
    yield from control.every(control.periods.pilot_streaming, direct, "pilots")


def task_queues(control: Control) -> Process:
    """Compute priorities, and count the jobs of limits."""
    central = control.books.waiting_place
    assert isinstance(central, CentralQueue)
    agents = [control.every(PERIOD, lambda: central.refresh(control.now), "task_queues")]
    if len(central.limits.table):
        agents.append(control.every(LIMITS_PERIOD, lambda: central.limits.count(central.group_of_share), "limits"))
    yield control.env.all_of([control.env.process(agent) for agent in agents])


def pilots_wanted(accepts: np.ndarray, cpu_class: np.ndarray, n_classes: np.ndarray, n_jobs: np.ndarray,
                  waiting: np.ndarray) -> np.ndarray:
    """Pilots to submit at each pseudo-queue, (n,): jobs that wait in matching task queues less waiting pilots.

    accepts: (n, n_task_queues); cpu_class, n_jobs: of each task queue; n_classes: CPU classes that a new pilot of each
    pseudo-queue reaches; waiting: pilots that wait in its batch system, (n,).
    """
    matching = accepts & (cpu_class[None, :] < n_classes[:, None])
    return np.maximum(matching @ n_jobs - waiting, 0)
