"""One question to the job brokerage: where may jobs of this task go, and how much should each queue get?

What lives here: the case that every criterion and factor is handed, and the job numbers as an edition counts them.
What does not: rules.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simgrid_broker.views import Gdpconfig, Locality, Queues, Stats, Task


@dataclass(frozen=True)
class JobNumbers:
    """Jobs at each candidate's PanDA queue as the brokerage counts them, (n,).

    running: may be lifted above the real number (bootstrap, numSlots); assigned: 0 where the input of the task is
    local, because jobs that wait for data do not block jobs that need none.
    """

    running: np.ndarray
    defined: np.ndarray
    assigned: np.ndarray
    activated: np.ndarray
    starting: np.ndarray

    @cached_property
    def ready(self) -> np.ndarray:
        """Activated and starting jobs, (n,)."""
        return self.activated + self.starting

    @cached_property
    def twice_running(self) -> np.ndarray:
        """Jobs that a queue may hold for those that run, (n,); source: brokerage documentation, step 4."""
        return 2 * self.running

    @cached_property
    def queued(self) -> np.ndarray:
        """Defined, assigned, activated and starting jobs, (n,)."""
        return self.ready + self.defined + self.assigned


@dataclass(frozen=True)
class JobCase:
    """What the criteria and factors of job brokerage see.

    locality: None for a task without input; weight: (n,), which the criteria may look at, None while it is being made.
    """

    task: Task
    queues: Queues
    stats: Stats
    locality: Locality | None
    cfg: Gdpconfig
    numbers: JobNumbers
    weight: np.ndarray | None = None

    @property
    def n_candidates(self) -> int:
        """Number of candidates, pseudo-queues."""
        return len(self.queues.queue)


def input_is_local(locality: Locality | None) -> np.ndarray | bool:
    """Where all input of the task is at hand, (n,), or True if there is none."""
    if locality is None or locality.total_bytes <= 0:
        return True
    return locality.available_bytes >= locality.total_bytes
