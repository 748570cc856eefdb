"""End, run time and selection of job rows, derived from their transition times."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from simgrid_broker.records import JOB_END_TIMES, Run

RUN_TIMES = ("running_s", "holding_s", "transferring_s", *JOB_END_TIMES)
"""Columns from which the run time of a payload follows."""


def selected_jobs(run: Run, columns: Sequence[str], wanted: Callable[[pd.DataFrame], np.ndarray]) -> pd.DataFrame:
    """Columns of the job rows for which the mask `wanted(rows)` holds, names as text; read in batches."""
    pieces = [rows[wanted(rows)] for rows in run.batches("jobs", columns)]
    return pd.concat([piece.astype({name: object for name, kind in piece.dtypes.items() if kind == "category"})
                      for piece in pieces], ignore_index=True)


def end_times(jobs: Mapping) -> np.ndarray:
    """End of each job, s; NaN for jobs that are alive; `jobs` has JOB_END_TIMES."""
    return np.fmax.reduce([np.asarray(jobs[name]) for name in JOB_END_TIMES])


def run_times(jobs: Mapping) -> np.ndarray:
    """Run time of each ended job, s; NaN for jobs that never ran or have not ended; `jobs` has RUN_TIMES.

    Running ends at the first of holding, transferring and the end of the job; pilot time before and after is excluded.
    """
    running, ended = np.asarray(jobs["running_s"]), end_times(jobs)
    stopped = ended
    for name in ("holding_s", "transferring_s"):
        moment = np.asarray(jobs[name])
        stopped = np.where((moment >= running) & (moment < stopped), moment, stopped)
    return stopped - running
