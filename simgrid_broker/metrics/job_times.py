"""What the transition times of job rows say: when a job ended, how long it ran, whether it is alive.

What lives here: the reading of transition times, once for all figures. What does not: the figures.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from simgrid_broker.records import JOB_END_TIMES, Run

RUN_TIMES = ("running_s", "holding_s", "transferring_s", *JOB_END_TIMES)
"""Columns that say how long a payload ran."""


def selected_jobs(run: Run, columns: Sequence[str], wanted: Callable[[pd.DataFrame], np.ndarray]) -> pd.DataFrame:
    """Some columns of the job rows for which the mask `wanted(rows)` holds, read piece by piece to spare memory.

    Codes come as plain names.
    """
    pieces = [rows[wanted(rows)] for rows in run.batches("jobs", columns)]
    return pd.concat([piece.astype({name: object for name, kind in piece.dtypes.items() if kind == "category"})
                      for piece in pieces], ignore_index=True)


def end_times(jobs: Mapping) -> np.ndarray:
    """When each job ended, s, NaN for jobs that are alive; `jobs` has JOB_END_TIMES."""
    return np.fmax.reduce([np.asarray(jobs[name]) for name in JOB_END_TIMES])


def run_times(jobs: Mapping) -> np.ndarray:
    """How long each ended job ran, s; NaN for jobs that never ran or have not ended; `jobs` has RUN_TIMES.

    Running ends at the first of holding, transferring and the end, which is when the payload is done. The pilot's
    time before and after is left out.
    """
    running, ended = np.asarray(jobs["running_s"]), end_times(jobs)
    left = ended
    for name in ("holding_s", "transferring_s"):
        moment = np.asarray(jobs[name])
        left = np.where((moment >= running) & (moment < left), moment, left)
    return left - running
