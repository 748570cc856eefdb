"""Attempts: how many an input took and how they ended, and where jobs that were taken back went.

What lives here: outcomes by attempt number, moves from queue to queue. What does not: what attempts that did not finish
cost (`failures`).
"""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.job_times import end_times, selected_jobs
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.records import JOB_END_TIMES, Run

CHUNK_BITS, ATTEMPT_BITS = 32, 8
"""Room for a chunk and an attempt in one number; both are smaller than these allow."""

NOWHERE = "(no attempt yet)"
"""Destination of jobs whose input had no further attempt by the end of the run, or has used them up."""


def attempts(run: Run) -> pd.DataFrame:
    """Attempts that ended in the window; dimensions attempt (its number) and outcome: finished, or the cause."""
    window = window_of(run)
    jobs = selected_jobs(run, ["attempt", "status", "cause", *JOB_END_TIMES], lambda rows: window.holds(end_times(rows)))
    outcome = np.where(jobs.status == "finished", "finished", jobs.cause)
    table = jobs.groupby([jobs.attempt, pd.Series(outcome, name="outcome", dtype=object)]).size()
    return tidy(table.rename("jobs").reset_index(), ["attempt", "outcome"], {"jobs": "jobs"}, window)


def rebrokerage(run: Run) -> pd.DataFrame:
    """Where the input of jobs that the server closed in the window went with its next attempt.

    Dimensions source and destination (queues; NOWHERE if there is no next attempt) and cause; metric moves, jobs, most
    frequent first.
    """
    window = window_of(run)
    closed = selected_jobs(run, ["jeditaskid", "chunk", "attempt", "queue", "cause", "status", "closed_s"],
                           lambda rows: (rows.status == "closed") & window.holds(rows.closed_s))
    following = np.unique(_key(closed, 1))
    again = selected_jobs(run, ["jeditaskid", "chunk", "attempt", "queue"],
                          lambda rows: np.isin(_key(rows), following))
    went_to = pd.Series(again.queue.to_numpy(object), _key(again))
    found = pd.Series(_key(closed, 1)).map(went_to[~went_to.index.duplicated()]).fillna(NOWHERE)
    table = closed[["cause"]].assign(source=closed.queue, destination=found.to_numpy(object))
    table = table.groupby(["source", "destination", "cause"]).size().rename("moves").reset_index()
    table = table.sort_values(["moves", "source", "destination", "cause"], ascending=[False, True, True, True])
    return tidy(table, ["source", "destination", "cause"], {"moves": "jobs"}, window)


def _key(jobs: pd.DataFrame, further: int = 0) -> np.ndarray:
    """One number for the task, the chunk and an attempt so much `further` of each job, (n,)."""
    task, chunk, attempt = (jobs[name].to_numpy(np.int64) for name in ("jeditaskid", "chunk", "attempt"))
    return (((task << CHUNK_BITS) | chunk) << ATTEMPT_BITS) | (attempt + further)
