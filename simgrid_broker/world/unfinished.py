"""Jobs that are alive and transfers that are under way when a run ends, as they are recorded.

What lives here: their rows without what is still to come. What does not: writing them (engine).
"""

from collections.abc import Iterator

import numpy as np

from simgrid_broker.names import JobStatus
from simgrid_broker.world.recount import live

ROWS_AT_ONCE = 1 << 15
"""Jobs that are copied at once."""


def unfinished_jobs(arrays, now: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows and transition times of all live jobs, some at a time; running ones have run so far.

    Nobody knows how they will end. Those that fell silent with their site have run until then.
    """
    rows = live(arrays)
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[begin:begin + ROWS_AT_ONCE]
        jobs, times = arrays.jobs.take(some), arrays.job_times[some]
        running = jobs["status"] == JobStatus.RUNNING
        last = np.where(jobs["due_sequence"] != 0, now, jobs["modification_s"])
        jobs["walltime_s"] = np.where(running, last - times[:, JobStatus.RUNNING], jobs["walltime_s"])
        for name in ("cause", "cputime_s", "stage_out_s"):
            jobs[name][running] = 0
        yield jobs, times


def unfinished_transfers(arrays) -> np.ndarray:
    """Rows of all transfers that wait or are under way, in the order in which they were asked for; none has ended."""
    transfers = arrays.transfers[arrays.transfers["transfer_id"] != 0]
    return transfers[np.argsort(transfers["transfer_id"])]
