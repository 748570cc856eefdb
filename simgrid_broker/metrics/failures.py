"""Attempts that did not finish: how many, why, and what they cost.

What lives here: counts and lost core-hours by status and cause. What does not: jobs by status alone (`summary`).
"""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.job_times import RUN_TIMES, end_times, run_times, selected_jobs
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
    jobs = selected_jobs(run, ["status", "cause", "corecount", *RUN_TIMES],
                         lambda rows: rows.status.isin(LOST) & window.holds(end_times(rows)))
    lost = np.nan_to_num(run_times(jobs)) * jobs.corecount / HOUR      # NaN = never ran, so nothing was lost
    groups = lost.groupby([jobs.status, jobs.cause])
    table = pd.DataFrame({"jobs": groups.size(), "lost_core_hours": groups.sum()}).reset_index()
    table = table.sort_values(["jobs", "cause"], ascending=[False, True])
    return tidy(table, ["status", "cause"], {"jobs": "jobs", "lost_core_hours": "core h"}, window)
