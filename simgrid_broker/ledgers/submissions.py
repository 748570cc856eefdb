"""The recorded jobs of a trace, from their submission on."""

from bisect import bisect_right
from collections import Counter

import numpy as np

from simgrid_broker.world.columns import add_input
from simgrid_broker.world.tasks.rows import in_order, recorded_of_tasks, renewed
from simgrid_broker.world.world import World


class Submissions:
    """Recorded jobs in the order in which they are submitted; as_jobs: they go to the server without the JobGenerator.

    to_come: (n_tasks,) jobs of each task that are not among its input yet; a task begins with none.
    """

    def __init__(self, world: World):
        self.world, work = world, world.scenario.workload
        self.as_jobs = work.trace is not None and work.trace.enters_as == "jobs"
        self.times_s, self.rows = in_order(world.arrays)
        self.to_come = recorded_of_tasks(world.arrays)
        self.n_submitted = 0

    def begin(self, rows: np.ndarray) -> None:
        """Know that tasks which come later, beside a trace or without one, get no more input than they have."""
        self.to_come = renewed(self.world, self.to_come, rows, 0)

    @property
    def next_s(self) -> float | None:
        """When the next job is submitted; None after the last one."""
        return self.times_s[self.n_submitted] if self.n_submitted < len(self.rows) else None

    def is_open(self, row: int) -> bool:
        """Whether a task will get more input."""
        return bool(self.to_come[row] > 0)

    def take(self, now: float) -> Counter[int]:
        """Number of jobs that have been submitted since the last call, by the row of their task."""
        first, self.n_submitted = self.n_submitted, bisect_right(self.times_s, now, self.n_submitted)
        return Counter(self.rows[first:self.n_submitted])

    def add_input(self, row: int, number: int) -> None:
        """Add the next `number` jobs of a task to its input."""
        add_input(self.world, row, number)
        self.to_come[row] -= number
