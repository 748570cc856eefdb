"""Files that incidents have lost, and may bring back: of tasks that are there, and of those that come meanwhile."""

import numpy as np

from simgrid_broker.world.columns import lose_files, restore_files
from simgrid_broker.world.world import World


class LostFiles:
    """Losses in force, by incident: its tasks by jeditaskid, with the fraction of each that was lost before."""

    def __init__(self, world: World):
        self.world = world
        self.losses: dict[int, tuple] = {}                  # incident, tasks and fractions, by identity of the first

    def lose(self, incident) -> None:
        """Lose files at a site; files with a complete copy elsewhere are copied back."""
        rows = np.arange(len(self.world.arrays.tasks))
        self.losses[id(incident)] = incident, dict[int, float]()
        self._apply(incident, rows)

    def restore(self, incident) -> None:
        """Bring back the files of an incident, to tasks that are over and have no row any more as little as to others
        that incexec does not revive."""
        _, before = self.losses.pop(id(incident))
        known = [(self.world.row_of[task], lost) for task, lost in before.items() if task in self.world.row_of]
        restore_files(self.world, np.array([row for row, _ in known], np.int64), np.array([lost for _, lost in known]))

    def begin(self, rows: np.ndarray) -> None:
        """Lose the files of tasks that come."""
        for incident, _ in self.losses.values():
            self._apply(incident, rows)

    def _apply(self, incident, rows: np.ndarray) -> None:
        """Lose the files of the tasks in some rows."""
        concerned, before = lose_files(self.world, incident.site, incident.fraction, rows)
        numbers = self.world.arrays.tasks["jeditaskid"][concerned].tolist()
        self.losses[id(incident)][1].update(zip(numbers, before.tolist(), strict=True))
