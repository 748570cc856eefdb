"""Waiting times: from activated to running, and what is said of jobs that did not get that far.

What lives here: quantiles with counts. What does not: waiting of transfers (`traffic`) and of tasks (`tasks`).
"""

from itertools import pairwise

import numpy as np
import pandas as pd

from simgrid_broker.metrics.job_times import END_TIMES, end_times
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

QUANTILES = (5, 25, 50, 75, 95)
"""Percentiles that are given."""

UNITS = {"wait_mean": "h", **{f"wait_p{q:02d}": "h" for q in QUANTILES}, "started": "jobs", "still_waiting": "jobs",
         "still_waiting_p50": "h", "taken_back": "jobs"}
"""Figures of `waiting_times` and their units."""


def waiting_times(run: Run, by: str | None = "share") -> pd.DataFrame:
    """Time from activated to running of the jobs that started to run in the window, by one column of jobs or for all.

    Dimension `by`, if any. Metrics: wait_mean and wait_p05 ... wait_p95, h, over the `started` jobs. Beside them, since
    leaving them out flatters: jobs activated but still waiting at the end with the median of their age so far, and
    jobs that were activated and then ended in the window without ever running (taken_back).
    """
    window = window_of(run)
    jobs = run.table("jobs", ["activated_s", "running_s", *END_TIMES, *([by] if by else [])])
    activated, running, ended = jobs.activated_s.to_numpy(), jobs.running_s.to_numpy(), end_times(jobs)
    never = ~np.isnan(activated) & np.isnan(running)
    still = never & np.isnan(ended)
    names, groups = _groups(jobs[by] if by else None, len(jobs))
    wait_h = (running - activated) / HOUR
    started = _pieces(wait_h, groups, window.holds(running) & ~np.isnan(wait_h), len(names))
    ages = _pieces((window.end_s - activated) / HOUR, groups, still, len(names))
    back = _pieces(ended, groups, never & window.holds(ended), len(names))
    rows = [_figures(*pieces) for pieces in zip(started, ages, back, strict=True)]
    table = pd.DataFrame(rows, columns=list(UNITS))
    if by:
        table.insert(0, by, names)
        table = table[table[["started", "still_waiting", "taken_back"]].any(axis=1)]
    return tidy(table, [by] if by else [], UNITS, window)


def _figures(wait_h: np.ndarray, age_h: np.ndarray, back: np.ndarray) -> dict[str, float]:
    """The figures of one group."""
    quantiles = np.quantile(wait_h, np.array(QUANTILES) / 100) if len(wait_h) else np.full(len(QUANTILES), np.nan)
    return {"wait_mean": wait_h.mean() if len(wait_h) else np.nan,
            **{f"wait_p{q:02d}": value for q, value in zip(QUANTILES, quantiles, strict=True)},
            "started": len(wait_h), "still_waiting": len(age_h),
            "still_waiting_p50": np.median(age_h) if len(age_h) else np.nan, "taken_back": len(back)}


def _groups(column: pd.Series | None, n_rows: int) -> tuple[list[str], np.ndarray]:
    """Names of the groups and the group of each row, -1 = none."""
    if column is None:
        return ["all"], np.zeros(n_rows, np.int16)
    codes = column.cat.codes.to_numpy()
    return [str(name) for name in column.cat.categories], codes


def _pieces(values: np.ndarray, groups: np.ndarray, which: np.ndarray, n_groups: int) -> list[np.ndarray]:
    """Values of the rows `which`, one array for each group."""
    values, groups = values[which], groups[which]
    order = np.argsort(groups, kind="stable")
    first = np.searchsorted(groups[order], np.arange(n_groups + 1))
    return [values[order[a:b]] for a, b in pairwise(first)]
