"""Waiting times: from activated to running, and what is said of jobs that did not get that far.

What lives here: quantiles with counts. What does not: waiting of transfers (`traffic`) and of tasks (`tasks`).
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pandas as pd

from simgrid_broker.metrics.job_times import end_times
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import Window, window_of
from simgrid_broker.records import JOB_END_TIMES, Run
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
    found: dict[str, dict[str, list]] = {}
    for rows in run.batches("jobs", ["activated_s", "running_s", *JOB_END_TIMES, *([by] if by else [])]):
        groups = rows[by].cat if by else pd.Series(["all"] * len(rows), dtype="category").cat
        for name in groups.categories:
            found.setdefault(name, defaultdict(list))
        for kind, hours, which in _kinds(rows, window):
            for name, piece in _pieces(hours[which], groups.codes.to_numpy()[which], groups.categories):
                found[name][kind].append(piece)
    if by is None:
        found.setdefault("all", {})
    table = pd.DataFrame([_figures(hours) for hours in found.values()], columns=list(UNITS))
    if by is None:
        return tidy(table, [], UNITS, window)
    table.insert(0, by, list(found))
    return tidy(table[table[["started", "still_waiting", "taken_back"]].any(axis=1)], [by], UNITS, window)


def _kinds(rows: pd.DataFrame, window: Window) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The three kinds of jobs that were activated: name, hours of every row, and mask of the rows of that kind."""
    activated, running, ended = rows.activated_s.to_numpy(), rows.running_s.to_numpy(), end_times(rows)
    was_activated, never_ran = ~np.isnan(activated), np.isnan(running)
    yield "started", (running - activated) / HOUR, was_activated & window.holds(running)
    yield "still_waiting", (window.end_s - activated) / HOUR, was_activated & never_ran & np.isnan(ended)
    yield "taken_back", (ended - activated) / HOUR, was_activated & never_ran & window.holds(ended)


def _pieces(values: np.ndarray, codes: np.ndarray, names: pd.Index) -> Iterator[tuple[str, np.ndarray]]:
    """Values by name of their group; `codes` counts in `names`, -1 = none."""
    order = np.argsort(codes, kind="stable")
    borders = np.searchsorted(codes[order], np.arange(len(names) + 1))
    for name, (first, last) in zip(names, pairwise(borders), strict=True):
        if last > first:
            yield name, values[order[first:last]]


def _figures(hours: dict[str, list]) -> dict[str, float]:
    """The figures of one group from the pieces of its hours by kind."""
    started, still, back = (np.concatenate(hours[kind]) if hours.get(kind) else np.empty(0)
                            for kind in ("started", "still_waiting", "taken_back"))
    quantiles = np.quantile(started, np.array(QUANTILES) / 100) if len(started) else np.full(len(QUANTILES), np.nan)
    return {"wait_mean": started.mean() if len(started) else np.nan,
            **{f"wait_p{q:02d}": value for q, value in zip(QUANTILES, quantiles, strict=True)},
            "started": len(started), "still_waiting": len(still),
            "still_waiting_p50": np.median(still) if len(still) else np.nan, "taken_back": len(back)}
