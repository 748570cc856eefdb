"""An agent: a generator function that waits, looks at the tables and acts."""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import TaskStatus

PERIOD_S, AGE_S, STEP, HIGHEST = 3600.0, 6 * 3600.0, 50, 900


def aging(control: Control) -> Process:
    """Raise the priority of tasks that have been running for six hours, by 50 points every hour up to 900."""
    while True:
        yield control.env.timeout(PERIOD_S)
        running = control.books.live_tasks.in_status(TaskStatus.RUNNING)
        since = control.arrays.task_times[running, TaskStatus.RUNNING]
        for row in running[control.now - since > AGE_S].tolist():
            priority = int(control.arrays.tasks["priority"][row])
            if priority < HIGHEST:
                control.fabric.set_priority([row], min(priority + STEP, HIGHEST))
