"""Retry history of jobs, and retries with more memory."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.kept import kept
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import end_times, selected_jobs, window_of
from simgrid_broker.names import COMPENSATION, RAM_LIMITS_MB
from simgrid_broker.records import JOB_END_TIMES, Run
from simgrid_broker.units import HOUR

OUT_OF_MEMORY = "memory_exceeded"
"""Cause of a job that was killed because it exceeded its memory."""

ABOVE = "more"
"""Memory above the largest value of the retry module's list."""

UNITS = {"jobs": "jobs", "finished": "jobs", "out_of_memory": "jobs", "lost_core_hours": "core h"}


def retry_history(run: Run) -> pd.DataFrame:
    """Each job that retries the input of an earlier one, as in PanDA's table JEDI_Job_Retry_History.

    Columns jeditaskid, oldpandaid, newpandaid, relationtype and originpandaid (the first job of the chain), sorted by
    newpandaid. Source: JEDI TWiki, database design.
    """
    jobs = selected_jobs(run, ["jeditaskid", "panda_id", "old_panda_id"], lambda rows: rows.old_panda_id > 0)
    jobs = jobs.sort_values("panda_id", ignore_index=True)
    old_of = pd.Series(jobs.old_panda_id.to_numpy(), jobs.panda_id)
    origin = jobs.old_panda_id
    while (earlier := origin.map(old_of)).notna().any():
        origin = earlier.fillna(origin).astype(np.int64)
    return pd.DataFrame({"jeditaskid": jobs.jeditaskid, "oldpandaid": jobs.old_panda_id, "newpandaid": jobs.panda_id,
                         "relationtype": "retry", "originpandaid": origin})


@kept
def memory_retries(run: Run) -> pd.DataFrame:
    """Jobs that ended in the window, of tasks with a job that ran out of memory; dimensions attempt and memory.

    memory: the job's claim per core, as the next value of the retry module's list, MB. Metrics: jobs, finished,
    out_of_memory, and lost_core_hours of the jobs out of memory.
    """
    window = window_of(run)
    killed = selected_jobs(run, ["jeditaskid", "cause", *JOB_END_TIMES],
                           lambda rows: (rows.cause == OUT_OF_MEMORY) & window.holds(end_times(rows)))
    tasks = killed.jeditaskid.unique()
    jobs = selected_jobs(run, ["jeditaskid", "attempt", "corecount", "ramcount_mb", "status", "cause", "walltime_s",
                               *JOB_END_TIMES],
                         lambda rows: rows.jeditaskid.isin(tasks) & window.holds(end_times(rows)))
    out = jobs.cause == OUT_OF_MEMORY
    table = pd.DataFrame({"attempt": jobs.attempt, "memory": _claims(jobs), "jobs": 1,
                          "finished": jobs.status == "finished", "out_of_memory": out,
                          "lost_core_hours": np.where(out, jobs.walltime_s * jobs.corecount / HOUR, 0.0)})
    table = table.groupby(["attempt", "memory"], observed=True).sum().reset_index()
    return tidy(table.astype({"memory": object}), ["attempt", "memory"], UNITS, window)


def _claims(jobs: pd.DataFrame) -> pd.Categorical:
    """Smallest value of the retry module's list that covers each job's memory claim per core, (n,)."""
    claims = np.round(jobs.ramcount_mb / COMPENSATION / np.maximum(jobs.corecount, 1))
    words = [f"up to {limit} MB" for limit in RAM_LIMITS_MB] + [ABOVE]
    return pd.Categorical.from_codes(np.searchsorted(RAM_LIMITS_MB, claims), words, ordered=True)
