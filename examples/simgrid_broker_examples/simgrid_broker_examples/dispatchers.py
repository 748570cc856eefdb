"""A dispatcher: jobs wait in lines, one for each set of queues; a worker of any of these gets the oldest of a line."""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.own import records
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.schema import Column, Table
from simgrid_broker.systems.dispatch import Dispatch
from simgrid_broker.views import KEPT
from simgrid_broker.world.task_queues import LIMIT
from simgrid_broker.world.world import World

PERIOD_S = 300.0
LINES = Table("lines", "one line with jobs at one look of the caller", (
    Column("time_s", "f8", "s", "simulator", "When the caller looked"),
    Column("line", "i4", "", "simulator", "Number of the line"),
    Column("jobs", "i8", "jobs", "simulator", "Jobs in it"),
))


class Lines:
    """Lines by the candidates that a decision has left; in the compiled loop they are task queues of equal priority."""

    def __init__(self, world: World, fabric: Fabric):
        self.fabric, self.numbers = fabric, dict[bytes, int]()
        fabric.use_task_queues([0], 1, False, np.zeros(0, LIMIT), np.zeros((len(world.arrays.pseudo_queues), 2), int))

    def place(self, row, level, task, verdict, queues, now) -> None:
        """Let the next jobs of a task join the line of the candidates that are left; without any they join none."""
        left = np.asarray(verdict.refused_by) == KEPT
        if not left.any():
            return
        line = left.tobytes()
        if line not in self.numbers:
            self.numbers[line] = len(self.numbers)
            self.fabric.open_task_queue(self.numbers[line], left)
        self.fabric.wait_in(row, level, self.numbers[line])


@records(LINES)
def caller(control: Control) -> Process:
    """Ask for a worker for each job of the lines that the workers of a queue serve, less those that wait."""
    while True:
        arrays, types = control.arrays, control.books.harvester.types.pseudo_queue
        jobs = arrays.task_queues["n_jobs"].astype(np.int64)
        wanted = np.maximum(arrays.accepts @ jobs - arrays.pseudo_queues["n_submitted"], 0)
        control.books.harvester.command(np.where(types >= 0, wanted[types], 0))
        waiting = np.flatnonzero(jobs)
        control.recorder.write("lines", {"time_s": np.full(len(waiting), control.now), "line": waiting,
                                         "jobs": jobs[waiting]})
        yield control.env.timeout(PERIOD_S)


FIRST_COME = Dispatch(name="first come", binds_jobs=False, job_rules=PRODUCTION, workflow="pull_ups", place=Lines,
                      agents=(caller,), checks=(), remarks=())
"""The rules of PanDA leave the ten best queues of a decision; whichever has a free worker first gets a job."""
