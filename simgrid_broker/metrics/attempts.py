"""Outcomes of attempts, and moves of withdrawn jobs from queue to queue."""

from collections import Counter

import numpy as np
import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import end_times, ended_in, part_of_jobs, selected_jobs, window_of
from simgrid_broker.records import JOB_END_TIMES, Run

NOWHERE = "(no attempt yet)"
"""Destination of jobs whose input had no further attempt in the run."""


def attempts(run: Run) -> pd.DataFrame:
    """Attempts that ended in the window; dimensions attempt (number) and outcome (finished, or the cause)."""
    window, counts = window_of(run), Counter[tuple[int, str]]()
    if part_of_jobs(run) < 1:
        ended = ended_in(run, window)
        ended["outcome"] = np.where(ended.status == "finished", "finished", ended.cause)
        table = ended.groupby(["attempt", "outcome"]).jobs.sum().reset_index()
        return tidy(table, ["attempt", "outcome"], {"jobs": "jobs"}, window)
    for rows in run.batches("jobs", ["attempt", "status", "cause", *JOB_END_TIMES]):
        ended = rows[window.holds(end_times(rows))]
        outcome = np.where(ended.status == "finished", "finished", ended.cause.astype(object))
        counts.update(zip(ended.attempt.tolist(), outcome.tolist(), strict=True))
    table = pd.DataFrame([(*group, jobs) for group, jobs in sorted(counts.items())],
                         columns=["attempt", "outcome", "jobs"])
    return tidy(table, ["attempt", "outcome"], {"jobs": "jobs"}, window)


def rebrokerage(run: Run) -> pd.DataFrame:
    """Queue of the next attempt at the input of jobs that the server closed in the window.

    Dimensions source and destination (queues; NOWHERE without a next attempt) and cause; metric moves, jobs, largest
    first: of those that have a row.
    """
    window = window_of(run)
    closed = selected_jobs(run, ["panda_id", "queue", "cause", "status", "closed_s"],
                           lambda rows: (rows.status == "closed") & window.holds(rows.closed_s))
    successors = selected_jobs(run, ["old_panda_id", "queue"], lambda rows: rows.old_panda_id.isin(closed.panda_id))
    next_queue = pd.Series(successors.queue.to_numpy(object), successors.old_panda_id)
    destination = closed.panda_id.map(next_queue[~next_queue.index.duplicated()]).astype(object).fillna(NOWHERE)
    table = closed[["cause"]].assign(source=closed.queue, destination=destination.to_numpy(object))
    table = table.groupby(["source", "destination", "cause"]).size().rename("moves").reset_index()
    table = table.sort_values(["moves", "source", "destination", "cause"], ascending=[False, True, True, True])
    return tidy(table, ["source", "destination", "cause"], {"moves": "jobs"}, window)
