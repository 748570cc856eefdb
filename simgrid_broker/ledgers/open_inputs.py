"""Open datasets: input that grows at an even rate until the dataset is frozen."""

import math

import numpy as np

from simgrid_broker.world.columns import set_task
from simgrid_broker.world.world import World


class OpenInputs:
    """Open datasets by row: pieces in the end, how they arrive; tasks begin with those present, at least one."""

    def __init__(self, world: World):
        self.world = world
        self.rows: dict[int, tuple] = {}
        names, work = world.vocabularies["task_names"], world.scenario.workload
        self.streams = [(names.index(stream.name), stream.open_input) for stream in (*work.campaigns, *work.users)
                        if stream.open_input is not None and stream.name in names]

    def begin(self, rows: np.ndarray) -> None:
        """Open the datasets of tasks that are about to arrive."""
        tasks = self.world.arrays.tasks
        for row in rows.tolist() if self.streams else ():
            self.rows.pop(row, None)
        for name, how in self.streams:
            for row in rows[tasks["name"][rows] == name].tolist():
                self.rows[row] = (int(tasks["n_jobs"][row]), how)
                self.read(row, float(tasks["arrival_s"][row]))

    def is_open(self, row: int) -> bool:
        """Whether more files may arrive."""
        return row in self.rows

    def read(self, row: int, now: float) -> bool:
        """Find the files that are present now; returns whether there are new ones. A complete dataset is closed."""
        total, how = self.rows[row]
        task = self.world.arrays.tasks[row]
        age = (now - task["arrival_s"]) / how.frozen_after
        known = total if age >= 1 else max(1, math.floor(total * (how.at_first + (1 - how.at_first) * age)))
        if age >= 1:
            del self.rows[row]
        grown = known > task["n_jobs"]
        set_task(self.world, row, n_jobs=known)
        return bool(grown)

    def close(self, row: int) -> None:
        """Remove the dataset of a task that is over."""
        del self.rows[row]
