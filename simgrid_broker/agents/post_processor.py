"""JEDI's PostProcessor: tasks of which nothing is left to do get their final status.

Source: lifecycle reference, section 2.8, final status.
"""

from simgrid_broker.names import TaskStatus
from simgrid_broker.world.task_transitions import set_status


def post_processor(control):
    """The process that ends tasks."""
    def finish():
        arrays, state = control.world.arrays, control.world.state
        ended = arrays.done_tasks[:state["n_done_tasks"]].tolist()
        state["n_done_tasks"] = 0
        for row in ended:
            if arrays.tasks["status"][row] == TaskStatus.PENDING:
                set_status(control.world, row, TaskStatus(arrays.tasks["old_status"][row]), control.now)
            set_status(control.world, row, TaskStatus.PREPARED, control.now)
            set_status(control.world, row, final_status(arrays.tasks[row]), control.now)
        if ended:
            control.write("tasks", arrays.tasks[ended], arrays.task_times[ended])
            control.live_tasks.remove(ended)
    yield control.every(control.periods.post_processor, finish, "postproc")


def final_status(task) -> TaskStatus:
    """done if every input was processed, failed if none was, finished otherwise."""
    if task["n_finished"] == task["n_jobs"]:
        return TaskStatus.DONE
    return TaskStatus.FINISHED if task["n_finished"] else TaskStatus.FAILED
