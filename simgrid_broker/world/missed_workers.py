"""Missed workers: those that could not be submitted, by PanDA queue and by the cycle in which they were missed."""

import numpy as np

from simgrid_broker.world.arrays import Arrays


class MissedWorkers:
    """Remembers missed workers of each PanDA queue for `longest_s`; cycles: their moments, s, and (n_queues,) each."""

    def __init__(self, longest_s: float, n_queues: int):
        self.longest_s = longest_s
        self.cycles: list[tuple[float, np.ndarray]] = []
        self.total, self.looked_s = np.zeros(n_queues, np.int64), 0.0

    def look(self, arrays: Arrays, now: float) -> None:
        """Note what was missed since the last look, in the cycle that began with that."""
        total = np.zeros(len(self.total), np.int64)
        np.add.at(total, arrays.pseudo_queues["queue"], arrays.worker_accounts["n_missed"])
        if (total > self.total).any():
            self.cycles.append((self.looked_s, total - self.total))
        self.cycles = [each for each in self.cycles if each[0] >= now - self.longest_s]
        self.total, self.looked_s = total, now

    def number(self, queues: np.ndarray, since_s: float) -> int:
        """Missed workers of some queues, (n_queues,) bool, from a moment on."""
        return sum(int(missed[queues].sum()) for moment, missed in self.cycles if moment >= since_s)
