"""Attempts: how many an input took and how they ended, and where jobs that were taken back went.

What lives here: outcomes by attempt number, moves from queue to queue. What does not: what attempts that did not finish
cost (`failures`).
"""

from collections import Counter

import numpy as np
import pandas as pd

from simgrid_broker.metrics.job_times import end_times, selected_jobs
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.records import JOB_END_TIMES, Run

NOWHERE = "(no attempt yet)"
"""Destination of jobs whose input had no further attempt by the end of the run, or has used them up."""


def attempts(run: Run) -> pd.DataFrame:
    """Attempts that ended in the window; dimensions attempt (its number) and outcome: finished, or the cause."""
    window, counts = window_of(run), Counter()
    for rows in run.batches("jobs", ["attempt", "status", "cause", *JOB_END_TIMES]):
        ended = rows[window.holds(end_times(rows))]
        outcome = np.where(ended.status == "finished", "finished", ended.cause.astype(object))
        counts.update(zip(ended.attempt.tolist(), outcome.tolist(), strict=True))
    table = pd.DataFrame([(*which, jobs) for which, jobs in sorted(counts.items())],
                         columns=["attempt", "outcome", "jobs"])
    return tidy(table, ["attempt", "outcome"], {"jobs": "jobs"}, window)


def rebrokerage(run: Run) -> pd.DataFrame:
    """Where the input of jobs that the server closed in the window went with its next attempt.

    Dimensions source and destination (queues; NOWHERE if there is no next attempt) and cause; metric moves, jobs, most
    frequent first.
    """
    window = window_of(run)
    closed = selected_jobs(run, ["panda_id", "queue", "cause", "status", "closed_s"],
                           lambda rows: (rows.status == "closed") & window.holds(rows.closed_s))
    again = selected_jobs(run, ["old_panda_id", "queue"], lambda rows: rows.old_panda_id.isin(closed.panda_id))
    went_to = pd.Series(again.queue.to_numpy(object), again.old_panda_id)
    found = closed.panda_id.map(went_to[~went_to.index.duplicated()]).astype(object).fillna(NOWHERE)
    table = closed[["cause"]].assign(source=closed.queue, destination=found.to_numpy(object))
    table = table.groupby(["source", "destination", "cause"]).size().rename("moves").reset_index()
    table = table.sort_values(["moves", "source", "destination", "cause"], ascending=[False, True, True, True])
    return tidy(table, ["source", "destination", "cause"], {"moves": "jobs"}, window)
