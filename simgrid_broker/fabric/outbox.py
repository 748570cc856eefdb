"""The outbox of ended attempts, read by those that do not wait until it is emptied."""

from collections.abc import Callable

import numpy as np

from simgrid_broker.world.world import World


class Outbox:
    """Reader of ended attempts: each is passed on once, when it is read or, at the latest, when the outbox is emptied.

    take: function of (n,) ended attempts, which copies what it keeps; n_seen: rows of the outbox that were read.
    """

    def __init__(self, world: World, take: Callable[[np.ndarray], None]):
        self.world, self.take, self.n_seen = world, take, 0

    def read(self) -> None:
        """Read what came to the outbox since it was last read."""
        n_done = int(self.world.state["n_done_jobs"])
        if n_done > self.n_seen:
            self.take(self.world.arrays.done_jobs[self.n_seen:n_done])
            self.n_seen = n_done

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Read the rest before the outbox is emptied."""
        if len(rows) > self.n_seen:
            self.take(rows[self.n_seen:])
        self.n_seen = 0
