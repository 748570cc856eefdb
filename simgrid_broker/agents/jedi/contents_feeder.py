"""JEDI's ContentsFeeder for open datasets: finds new files until the dataset is frozen.

Other input is known as soon as a task arrives. Source: JEDI TWiki, open dataset handling; lifecycle reference, 2.1
and 2.8.
"""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.jedi.task_refiner import send_on
from simgrid_broker.names import TASK_ENDS, TaskStatus

T = TaskStatus


def contents_feeder(control: Control) -> Process:
    """Read open datasets on a period, if the workload has any."""
    if control.books.open_inputs.streams:
        yield from control.every(control.periods.contents_feeder, lambda: feed(control), "contents")


def feed(control: Control) -> None:
    """Look at every open dataset of a task that has arrived and is not over."""
    tasks, open_inputs = control.arrays.tasks, control.books.open_inputs
    live = set(control.books.live_tasks.rows.tolist())
    for row in [*open_inputs.rows]:
        status = T(tasks["status"][row])
        if row not in live:
            if status in TASK_ENDS:
                open_inputs.close(row)
            continue
        grown = open_inputs.read(row, control.now)
        if status is T.DEFINED and (grown or not open_inputs.is_open(row)):
            send_on(control, row)
        task = tasks[row]
        if not open_inputs.is_open(row) and task["n_finished"] + task["n_failed"] == task["n_jobs"]:
            control.fabric.nothing_left(row)
