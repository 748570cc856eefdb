"""DIRAC's SiteDirector in place of pilot streaming: asks for pilots for the jobs in matching task queues.

DIRAC's reference does not describe it; this is our own reading. The limits of each queue are Harvester's.
"""

import numpy as np

from simgrid_broker.agents.central_queue import CentralQueue
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.policy.dirac.site_director import pilots_wanted


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
