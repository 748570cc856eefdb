"""Attempts that did not finish, and their cost."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.kept import kept
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import (
    RUN_TIMES,
    Window,
    end_times,
    ended_in,
    part_of_jobs,
    run_times,
    selected_jobs,
    window_of,
)
from simgrid_broker.names import Cause
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

LOST = ("failed", "closed", "cancelled")
"""Final statuses of an attempt that did not finish."""

SILENT = "lost_heartbeat"
"""Cause of a job whose slot was lost before the server noticed."""

UNITS = {"jobs": "jobs", "lost_core_hours": "core h", "lost_wait_hours": "h"}

RULES = (SILENT, "fast_rebrokerage", "analysis_rebrokerage", "reassigned",
         *(cause for cause in Cause.words() if cause.startswith("timeout_")))
"""Causes of jobs that a rule of the server ended for lack of progress."""


@kept
def failures(run: Run) -> pd.DataFrame:
    """Attempts that ended in the window without finishing; dimensions status and cause, most frequent first.

    Metrics: jobs; lost_core_hours: run time x cores, for a job with lost heartbeat up to the last heartbeat;
    lost_wait_hours: from creation until the start of the payload, or until the end of a job that never started.
    """
    window = window_of(run)
    if part_of_jobs(run) < 1:
        ended = ended_in(run, window)
        ended = ended[ended.status.isin(LOST)].assign(lost_core_hours=ended.run_core_s / HOUR,
                                                      lost_wait_hours=ended.wait_s / HOUR)
        return _by_cause(ended, window)
    jobs = selected_jobs(run, ["status", "cause", "corecount", "walltime_s", "pending_s", *RUN_TIMES],
                         lambda rows: rows.status.isin(LOST) & window.holds(end_times(rows)))
    ran = np.where(jobs.cause == SILENT, jobs.walltime_s, run_times(jobs))
    waited = np.where(np.isnan(jobs.running_s), end_times(jobs), jobs.running_s) - jobs.pending_s
    return _by_cause(pd.DataFrame({
        "status": jobs.status, "cause": jobs.cause, "jobs": 1,
        "lost_core_hours": np.nan_to_num(ran) * jobs.corecount / HOUR,                      # NaN = never ran
        "lost_wait_hours": np.nan_to_num(waited) / HOUR}), window)


def _by_cause(lost: pd.DataFrame, window: Window) -> pd.DataFrame:
    table = lost.groupby(["status", "cause"])[[*UNITS]].sum().reset_index()
    table = table.sort_values(["jobs", "cause"], ascending=[False, True])
    return tidy(table, ["status", "cause"], UNITS, window)


def rule_losses(run: Run) -> pd.DataFrame:
    """The rows of `failures` caused by a timeout rule or a rebrokerage."""
    table = failures(run)
    return table[table.cause.isin(RULES)].reset_index(drop=True)
