"""State machines of tasks, datasets, files and jobs, as tables.

What lives here: every status and every allowed move with who makes it and when. What does not: making a move
(`transitions` for jobs, `task_transitions` for tasks); datasets and files have no rows of their own in the simulator,
so their machines are documentation.
"""

from simgrid_broker.world.states.data import INPUT_DATASET, INPUT_FILE, OUTPUT_DATASET, OUTPUT_FILE
from simgrid_broker.world.states.jobs import JOB
from simgrid_broker.world.states.machine import Machine, Move
from simgrid_broker.world.states.tasks import TASK

MACHINES = (TASK, INPUT_DATASET, OUTPUT_DATASET, INPUT_FILE, OUTPUT_FILE, JOB)
"""Every machine, in the order of the documentation."""

__all__ = ["MACHINES", "TASK", "INPUT_DATASET", "OUTPUT_DATASET", "INPUT_FILE", "OUTPUT_FILE", "JOB", "Machine", "Move"]
