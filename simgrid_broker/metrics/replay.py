"""Recorded and simulated waiting times of the jobs of a trace, and how they ended when they were recorded."""

from collections.abc import Iterator

import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.waiting import QUANTILES
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

SOURCES = ("recorded", "simulated")
"""The two waiting times of a job."""

UNITS = {"wait_mean": "h", **{f"wait_p{q:02d}": "h" for q in QUANTILES}, "jobs": "jobs", "not_started": "jobs"}

WHOLE_RUN = "the whole run"
ALL = "all"


def recorded_waits(run: Run, by: str = "partition") -> pd.DataFrame:
    """Time from submission to start of the jobs of a trace, as recorded and as simulated.

    by: partition or batch_queue of the trace. Dimensions: source (recorded, simulated) and `by`, first all jobs
    together. Metrics: wait_mean and wait_p05 ... wait_p95, h, over the same `jobs` for both: those with a recorded wait
    that started in the simulation; not_started, jobs with a recorded wait that did not. Empty without recorded waits.
    """
    rows = _waits(run, by)
    dimensions = ["source", by]
    found = [{"source": source, by: name, **_figures(group, source)}
             for name, group in _groups(rows, by) for source in SOURCES]
    return tidy(pd.DataFrame(found, columns=[*dimensions, *UNITS]), dimensions, UNITS, WHOLE_RUN)


def recorded_statuses(run: Run) -> pd.DataFrame:
    """Jobs of a trace by the status that was recorded of them; dimension recorded ("" = unknown), metric jobs."""
    status = run.table("trace", ["status"]).status.astype(object).fillna("")
    table = status.value_counts(sort=True).rename_axis("recorded").rename("jobs").reset_index()
    return tidy(table, ["recorded"], {"jobs": "jobs"}, WHOLE_RUN)


def _waits(run: Run, by: str) -> pd.DataFrame:
    """Recorded and simulated wait, h, of each job with a recorded one; simulated is NaN if it did not start."""
    rows = run.table("trace", ["jeditaskid", "wait_s", by])
    rows = rows[rows.wait_s.notna()]
    arrived = run.table("tasks", ["jeditaskid", "arrival_s"]).set_index("jeditaskid").arrival_s
    started = run.table("jobs", ["jeditaskid", "running_s"]).groupby("jeditaskid").running_s.min()
    return rows.assign(recorded=rows.wait_s / HOUR,
                       simulated=(rows.jeditaskid.map(started) - rows.jeditaskid.map(arrived)) / HOUR)


def _groups(rows: pd.DataFrame, by: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """All rows, then those of each partition or queue, the largest first."""
    if len(rows):
        yield ALL, rows
    for name in rows[by].astype(object).value_counts().index:
        yield name, rows[rows[by] == name]


def _figures(rows: pd.DataFrame, source: str) -> dict[str, float]:
    started = rows[rows.simulated.notna()]
    return {"wait_mean": started[source].mean(), "jobs": len(started), "not_started": len(rows) - len(started),
            **{f"wait_p{q:02d}": started[source].quantile(q / 100) for q in QUANTILES}}
