"""State machines of tasks and jobs: every status, and every allowed move with who makes it and when."""

from simgrid_broker.world.states.jobs import JOB
from simgrid_broker.world.states.machine import Machine, Move
from simgrid_broker.world.states.tasks import TASK

MACHINES = (TASK, JOB)
"""All machines, in the order of the documentation."""

__all__ = ["MACHINES", "TASK", "JOB", "Machine", "Move"]
