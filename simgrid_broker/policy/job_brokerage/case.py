"""One question to the job brokerage: where may jobs of this task go?

What lives here: the case that the static criteria are handed. What does not: rules, and what compiled criteria see
(`at`).
"""

from dataclasses import dataclass

from simgrid_broker.views import Queues, Task


@dataclass(frozen=True)
class JobCase:
    """What the static criteria and factors of job brokerage see."""

    task: Task
    queues: Queues

    @property
    def n_candidates(self) -> int:
        """Number of candidates, pseudo-queues."""
        return len(self.queues.queue)
