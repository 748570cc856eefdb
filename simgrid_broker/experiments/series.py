"""Series over time averaged over the runs of a group, with bands."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.experiments.intervals import student
from simgrid_broker.records import Run

SERIES: tuple[tuple[str, str, str, Callable[[Run], pd.DataFrame]], ...] = (
    ("running_cores", "Running cores", "running cores", lambda run: metrics.running_cores(run)),
    ("queued_jobs", "Queued jobs", "queued jobs", lambda run: _queued(run)))
"""Name, title, label, and table with time_s and value of each series."""


def bands(runs: Iterable[tuple[str, Run]], series: Callable[[Run], pd.DataFrame]) -> pd.DataFrame:
    """Mean of a series over the runs of each group with Student's 95 % interval.

    Columns group, time_s, value, low, high, count. Runs of a group are sampled at the same times; times that
    only some of them have are averaged over these.
    """
    tables = [series(run).groupby("time_s").value.sum().reset_index().assign(group=group) for group, run in runs]
    rows = [{"group": group, "time_s": time_s, **student(part.value).columns()}
            for (group, time_s), part in pd.concat(tables).groupby(["group", "time_s"], sort=False)]
    table = pd.DataFrame(rows).drop(columns="error")
    alone = table["count"] < 2
    table[["low", "high"]] = table[["low", "high"]].where(~alone, np.nan)
    return table


def _queued(run: Run) -> pd.DataFrame:
    jobs = metrics.jobs_over_time(run)
    return jobs[jobs.state.isin(["activated", "assigned", "other queued"])]
