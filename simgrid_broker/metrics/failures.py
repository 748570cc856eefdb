"""Attempts that did not finish: how many, why, and what they cost.

What lives here: counts and lost core-hours by status and cause. What does not: jobs by status alone (`summary`).
"""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.job_times import END_TIMES, RUN_TIMES, end_times, run_times
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

LOST = ("failed", "closed", "cancelled")
"""Final statuses of an attempt that did not finish."""


def failures(run: Run) -> pd.DataFrame:
    """Attempts that ended in the window without finishing; dimensions status and cause, most frequent first.

    Metrics: jobs; lost_core_hours, run time x cores, of the attempts that ran at all.
    """
    window = window_of(run)
    jobs = run.table("jobs", ["status", "cause", "corecount", *RUN_TIMES])
    jobs = jobs[jobs[list(END_TIMES[1:])].notna().any(axis=1)]
    jobs = jobs[jobs.status.isin(LOST) & window.holds(end_times(jobs))]
    lost = np.nan_to_num(run_times(jobs)) * jobs.corecount / HOUR      # NaN = never ran, so nothing was lost
    keys = [jobs.status.astype(str), jobs.cause.astype(str)]
    table = lost.groupby(keys).agg(["size", "sum"]).set_axis(["jobs", "lost_core_hours"], axis=1).reset_index()
    table = table.sort_values(["jobs", "cause"], ascending=[False, True])
    return tidy(table, ["status", "cause"], {"jobs": "jobs", "lost_core_hours": "core h"}, window)
