"""JEDI's ContentsFeeder for open datasets: files that are new are found, until the dataset is frozen.

Other input is known as soon as a task arrives. Files of an open dataset come at an even rate. Source: JEDI TWiki, open
dataset handling; lifecycle reference, 2.1 and 2.8.
"""

import math

import numpy as np

from simgrid_broker.agents.task_refiner import send_on
from simgrid_broker.names import TASK_ENDS, TaskStatus

T = TaskStatus


def contents_feeder(control):
    """The process that reads open datasets again and again; there is none if nothing is open."""
    if control.open_inputs.rows:
        yield control.every(control.periods.contents_feeder, lambda: feed(control), "contents")


def feed(control) -> None:
    """Look at every open dataset of a task that has arrived and is not over."""
    tasks = control.world.arrays.tasks
    live = set(control.live_tasks.rows.tolist())
    for row in [*control.open_inputs.rows]:
        status = T(tasks["status"][row])
        if row not in live:
            if status in TASK_ENDS:
                control.open_inputs.close(row)
            continue
        grown = control.open_inputs.read(row, control.now)
        if status is T.DEFINED and (grown or not control.open_inputs.is_open(row)):
            send_on(control, row)
        if not control.open_inputs.is_open(row) and _nothing_left(tasks[row]):
            control.fabric.nothing_left(row)


def _nothing_left(task) -> bool:
    """Whether all files that are known of a task are processed or given up."""
    return task["n_finished"] + task["n_failed"] == task["n_jobs"]


class OpenInputs:
    """Open datasets by row of their task: all files that will come, and how; closed ones are forgotten.

    Tasks begin with the files that are there when they arrive, at least one.
    """

    def __init__(self, world):
        self.world = world
        self.rows: dict[int, tuple] = {}
        tasks, names = world.arrays.tasks, world.vocabularies["task_names"]
        work = world.scenario.workload
        for stream in (*work.campaigns, *work.users):
            if stream.open_input is not None and stream.name in names:
                for row in np.flatnonzero(tasks["name"] == names.index(stream.name)).tolist():
                    self.rows[row] = (int(tasks["n_jobs"][row]), stream.open_input)
                    self.read(row, float(tasks["arrival_s"][row]))

    def is_open(self, row: int) -> bool:
        """Whether more files may come."""
        return row in self.rows

    def read(self, row: int, now: float) -> bool:
        """Find the files that are there now; whether there are new ones. A dataset that is complete is frozen."""
        total, how = self.rows[row]
        task = self.world.arrays.tasks[row]
        age = (now - task["arrival_s"]) / how.frozen_after
        known = total if age >= 1 else max(1, math.floor(total * (how.at_first + (1 - how.at_first) * age)))
        if age >= 1:
            del self.rows[row]
        grown = known > task["n_jobs"]
        task["n_jobs"] = known
        return grown

    def close(self, row: int) -> None:
        """Forget the dataset of a task that is over."""
        del self.rows[row]
