"""Records of the jobs that are alive and the transfers in progress at the end of a run."""

from collections.abc import Iterator

import numpy as np

from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.recount import live

ROWS_AT_ONCE = 1 << 15


def unfinished_jobs(arrays: Arrays, now: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows and transition times of all live jobs, in batches, without the outcome drawn for them.

    Run times end now, or at the outage for jobs lost with their site.
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


def unfinished_transfers(arrays: Arrays) -> np.ndarray:
    """Rows of all transfers that wait or are in progress, in order of submission."""
    transfers = arrays.transfers[arrays.transfers["transfer_id"] != 0]
    return transfers[np.argsort(transfers["transfer_id"])]
