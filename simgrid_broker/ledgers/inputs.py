"""Input to come and input lost: submissions of a trace, open datasets, and files that incidents lose or bring back."""

import math
from bisect import bisect_right
from collections import Counter

import numpy as np

from simgrid_broker.world.columns import add_input, lose_files, restore_files, set_task
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
        """True if a task will get more input."""
        return bool(self.to_come[row] > 0)

    def take(self, now: float) -> Counter[int]:
        """Number of jobs that have been submitted since the last call, by the row of their task."""
        first, self.n_submitted = self.n_submitted, bisect_right(self.times_s, now, self.n_submitted)
        return Counter(self.rows[first:self.n_submitted])

    def add_input(self, row: int, number: int) -> None:
        """Add the next `number` jobs of a task to its input."""
        add_input(self.world, row, number)
        self.to_come[row] -= number


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
        """True if more files may arrive."""
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
