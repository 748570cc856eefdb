"""Ends of tasks: the final status, and which statuses lead there; source: lifecycle reference, section 2.8."""

from simgrid_broker.names import TaskStatus

T = TaskStatus

PREPARABLE = (T.READY, T.RUNNING, T.MERGING, T.THROTTLED)
"""Statuses from which a task with nothing left goes to its end."""
SETTLED = (T.ABORTING, T.TOABORT, T.FINISHING, T.PASSED, T.DONE, T.FINISHED, T.FAILED, T.ABORTED, T.BROKEN)
"""Statuses of a task that has ended or that a command is ending."""
NO_PARENT_LEFT = (T.FAILED, T.BROKEN, T.ABORTED)


def final_status(n_inputs: int, n_finished: int, parent: TaskStatus | None) -> TaskStatus:
    """done if every input was processed, failed if none was, finished otherwise.

    A task with a parent is done only if the parent is done too, and failed if the parent failed, broke or was aborted.
    """
    if n_finished != n_inputs:
        return T.FINISHED if n_finished else T.FAILED
    if parent is None or parent is T.DONE:
        return T.DONE
    return T.FAILED if parent in NO_PARENT_LEFT else T.FINISHED
