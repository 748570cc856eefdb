"""Hourly sums of all attempts that ended, for runs of which only a sample of the jobs has rows."""

import numpy as np

from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.schema.series import ENDED
from simgrid_broker.units import HOUR

S = JobStatus
KEY = ("time_s", "queue", "share", "processing_type", "status", "cause", "attempt")
"""Columns that tell groups of attempts apart."""
SUMS = ("jobs", "core_s", "hs06s", "run_core_s", "wait_s")


class EndedJobs:
    """Sums of the hour that is not over yet, (n,) of ENDED."""

    def __init__(self) -> None:
        self.open = ENDED.empty(0)

    def add(self, jobs: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Add attempts in order of their ends, those without an end left out; returns the hours that are over.

        jobs: (n,) of JOBS; times: (n, n_status), s, NaN = never.
        """
        hours = summed(np.concatenate([self.open, sums_of(jobs, times)]))
        last = hours["time_s"] == hours["time_s"].max(initial=0)
        self.open = hours[last]
        return hours[~last]


def sums_of(jobs: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Each ended attempt as a row of ENDED, (n_ended,)."""
    ended_s = times[np.arange(len(jobs)), jobs["status"]]
    over = np.isin(jobs["status"], (S.FINISHED, S.FAILED, S.CLOSED, S.CANCELLED)) & ~np.isnan(ended_s)
    jobs, times, ended_s = jobs[over], times[over], ended_s[over]
    rows = ENDED.empty(len(jobs))
    for name in KEY[1:]:
        rows[name] = jobs[name]
    rows["time_s"] = np.floor(ended_s / HOUR) * HOUR
    rows["jobs"], rows["core_s"] = 1, jobs["walltime_s"].astype(float) * jobs["corecount"]
    rows["hs06s"] = jobs["walltime_s"].astype(float) * jobs["hs06_milli"] * 1e-3
    started_s = times[:, S.RUNNING]
    ran = np.where(jobs["cause"] == Cause.LOST_HEARTBEAT, jobs["walltime_s"], _stopped(times, ended_s) - started_s)
    rows["run_core_s"] = np.nan_to_num(ran) * jobs["corecount"]
    rows["wait_s"] = np.nan_to_num(np.where(np.isnan(started_s), ended_s, started_s) - times[:, S.PENDING])
    return rows


def _stopped(times: np.ndarray, ended_s: np.ndarray) -> np.ndarray:
    """When payloads stopped, (n,): at the first of holding, transferring and the end of the job."""
    stopped = ended_s
    for status in (S.HOLDING, S.TRANSFERRING):
        moment = times[:, status]
        stopped = np.where((moment >= times[:, S.RUNNING]) & (moment < stopped), moment, stopped)
    return stopped


def summed(rows: np.ndarray) -> np.ndarray:
    """One row of ENDED for each group, sorted by its key."""
    _, first, group = np.unique(_groups(rows), return_index=True, return_inverse=True)
    sums = ENDED.empty(len(first))
    for name in KEY:
        sums[name] = rows[name][first]
    for name in SUMS:
        sums[name] = np.bincount(group, rows[name], len(first))
    return sums


def _groups(rows: np.ndarray) -> np.ndarray:
    """A number for the key of each row, (n,), in the order of keys: NumPy sorts numbers far faster than rows."""
    numbers = np.zeros(len(rows), np.int64)
    for name in KEY if len(rows) else ():
        values = (rows[name] // HOUR if name == "time_s" else rows[name]).astype(np.int64)
        numbers = numbers * (values.max() - values.min() + 1) + values - values.min()
    return numbers
