"""Use of a grid by groups and owners in the slices of time of DIRAC's share correctors; DIRAC reference, section 12."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from simgrid_broker.policy.dirac.share_correction import Corrector
from simgrid_broker.world.task_queues import running_jobs
from simgrid_broker.world.world import World

PERIOD = 900.0
"""UpdateHistoryPeriod: time after which usage is read again, s; source: DIRAC reference, section 12."""


class Usage:
    """Running jobs by group and owner, summed over time; read: usage as correctors last read it.

    groups: names by number; group_of_share: number of the group of each share. Before a slice has passed, the average
    is over the time since the begin of the run.
    """

    def __init__(self, world: World, correctors: Sequence[Corrector], groups: Sequence[str],
                 group_of_share: np.ndarray):
        self.world, self.groups, self.group_of_share = world, list(groups), group_of_share
        self.spans = sorted({(piece.span, corrector.group) for corrector in correctors for piece in corrector.slices})
        self.names = {"": self.groups} | dict.fromkeys({group for _, group in self.spans} - {""},
                                                       world.vocabularies["users"])
        self.now = {level: np.zeros(len(names)) for level, names in self.names.items()}      # jobs that run
        self.sums = {level: np.zeros(len(names)) for level, names in self.names.items()}     # job seconds
        self.time_s, self.kept = 0.0, deque([(0.0, self.sums)])
        self.read: dict[tuple[int, str], dict[str, float]] = {}
        self.read_s = -np.inf

    def look(self, now: float) -> None:
        """Count the jobs that run, and read the usage again if it is time."""
        passed, self.time_s = now - self.time_s, now
        self.sums = {level: self.sums[level] + jobs * passed for level, jobs in self.now.items()}
        self.now = self._running()
        if now - self.read_s >= PERIOD and now > 0:
            self.read_s = now
            self.kept.append((now, self.sums))
            self.read = {(span, level): self._average(span, level) for span, level in self.spans}
            longest = max(span for span, _ in self.spans)
            while len(self.kept) > 1 and self.kept[1][0] <= now - longest:
                self.kept.popleft()

    def _running(self) -> dict[str, np.ndarray]:
        jobs = self.world.arrays.jobs
        return {level: running_jobs(jobs, self.group_of_share, self.groups.index(level) if level else -1, len(names))
                for level, names in self.names.items()}

    def _average(self, span: int, level: str) -> dict[str, float]:
        """Mean number of jobs of all that had any in a slice of time."""
        begin, before = next((kept for kept in reversed(self.kept) if kept[0] <= self.time_s - span), self.kept[0])
        jobs = (self.sums[level] - before[level]) / (self.time_s - begin)
        return {name: float(number) for name, number in zip(self.names[level], jobs, strict=True) if number > 0}
