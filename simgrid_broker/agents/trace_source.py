"""The clients of a recorded workload: its jobs become input of their tasks when they are submitted.

Each task of a trace is an open dataset of which every new piece is known at once (JEDI's ContentsFeeder: at its next
look).
"""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.task_refiner import send_on
from simgrid_broker.names import TaskStatus


def trace_source(control: Control) -> Process:
    """Submit the jobs of tasks; jobs without tasks go through the Setupper."""
    submissions = control.books.submissions
    while not submissions.as_jobs and (moment := submissions.next_s) is not None:
        yield control.env.timeout(max(moment - control.now, 0))
        for row, number in submissions.take(control.now).items():
            submissions.add_input(row, number)
            if control.arrays.tasks["status"][row] == TaskStatus.DEFINED:      # all that was there is done
                send_on(control, row)
