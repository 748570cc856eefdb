"""Attempts that did not finish: how many, why, and what they cost.

What lives here: counts, lost core-hours and lost waiting by status and cause, of all causes or of timeout rules and
rebrokerage. What does not: jobs by status alone (`summary`).
"""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.job_times import RUN_TIMES, end_times, run_times, selected_jobs
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.names import Cause
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

LOST = ("failed", "closed", "cancelled")
"""Final statuses of an attempt that did not finish."""

SILENT = "lost_heartbeat"
"""Cause of a job whose slot was lost before the server knew."""

UNITS = {"jobs": "jobs", "lost_core_hours": "core h", "lost_wait_hours": "h"}
"""Figures of `failures` and their units."""


RULES = (SILENT, "fast_rebrokerage", "analysis_rebrokerage", "reassigned",
         *(cause for cause in Cause.words() if cause.startswith("timeout_")))
"""Causes that are a rule of the server which ended a job that did not come on."""


def failures(run: Run) -> pd.DataFrame:
    """Attempts that ended in the window without finishing; dimensions status and cause, most frequent first.

    Metrics: jobs; lost_core_hours, run time x cores, of the attempts that ran at all, of a job that fell silent up to
    its last heartbeat; lost_wait_hours, from creation until the job ran, or ended if it never did.
    """
    window = window_of(run)
    jobs = selected_jobs(run, ["status", "cause", "corecount", "walltime_s", "pending_s", *RUN_TIMES],
                         lambda rows: rows.status.isin(LOST) & window.holds(end_times(rows)))
    ran = np.where(jobs.cause == SILENT, jobs.walltime_s, run_times(jobs))
    waited = np.where(np.isnan(jobs.running_s), end_times(jobs), jobs.running_s) - jobs.pending_s
    lost = pd.DataFrame({"jobs": 1, "lost_core_hours": np.nan_to_num(ran) * jobs.corecount / HOUR,   # NaN = never ran
                         "lost_wait_hours": np.nan_to_num(waited) / HOUR})
    table = lost.groupby([jobs.status, jobs.cause]).sum().reset_index()
    table = table.sort_values(["jobs", "cause"], ascending=[False, True])
    return tidy(table, ["status", "cause"], UNITS, window)


def rule_losses(run: Run) -> pd.DataFrame:
    """The part of `failures` for which a timeout rule or a rebrokerage stands."""
    table = failures(run)
    return table[table.cause.isin(RULES)].reset_index(drop=True)
