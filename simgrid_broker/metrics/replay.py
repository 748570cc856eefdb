"""Jobs of a trace as recorded and as simulated: waiting times from submission, wall times; and their recorded ends."""

from collections.abc import Iterator

import pandas as pd

from simgrid_broker.metrics.waiting import QUANTILES
from simgrid_broker.metrics.window import tidy, window_of
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

SOURCES = ("recorded", "simulated")
"""The two waiting times of a job."""

UNITS = {"wait_mean": "h", **{f"wait_p{q:02d}": "h" for q in QUANTILES}, "jobs": "jobs", "not_started": "jobs"}

FROM_SUBMISSION = {"from_submission_mean": "h", **{f"from_submission_p{q:02d}": "h" for q in QUANTILES},
                   "not_started": "jobs"}

OF_WALLTIMES = {"jobs": "jobs", "recorded_p50": "h", "simulated_p50": "h", "off_p50": "%",
                **{f"error_p{q:02d}": "%" for q in QUANTILES}}

WHERE = ("where recorded", "elsewhere")
"""Words for a job that ran at the queue that its record names, and for any other."""

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
    figures = [{"source": source, by: name, **_figures(group, source)}
               for name, group in _groups(rows, by) for source in SOURCES]
    return tidy(pd.DataFrame(figures, columns=[*dimensions, *UNITS]), dimensions, UNITS, WHOLE_RUN)


def submission_waits(run: Run, by: str | None = "share") -> pd.DataFrame:
    """Time from submission to start of the jobs of a trace, by a column of their tasks or for all.

    Dimension `by`, if any. Metrics: from_submission_mean and from_submission_p05 ... from_submission_p95, h, over the
    jobs that started in the window; not_started, jobs submitted until the end of the run that did not start. Unlike
    the wait of `waiting_times`, it includes the time before a job is made and activated. Empty without a trace.
    """
    window, rows = window_of(run), _started(run, [])
    if by is not None:
        tasks = run.table("tasks", ["jeditaskid", by]).set_index("jeditaskid")
        rows[by] = rows.jeditaskid.map(tasks[by].astype(object))
    groups = [("all", rows)] if by is None else [*rows.groupby(by, sort=False)]
    figures = [{by or "all": name, "not_started": group.running_s.isna().sum(), **_from_submission(
          (group.running_s - group.submitted_s)[window.holds(group.running_s)] / HOUR)}
        for name, group in groups if len(group)]
    dimensions = [] if by is None else [by]
    return tidy(pd.DataFrame(figures, columns=[*dimensions, *FROM_SUBMISSION]), dimensions, FROM_SUBMISSION, window)


def recorded_walltimes(run: Run, by: str = "partition") -> pd.DataFrame:
    """Wall time of the jobs of a trace that finished, as recorded and as simulated.

    by: partition of the trace, or a column of the tasks such as share. Dimensions: `where` they ran, and `by`, first
    all jobs together. Metrics: jobs; recorded_p50 and simulated_p50, h; error_p05 ... error_p95, quantiles of simulated
    less recorded, % of recorded; off_p50, median of its size. Empty without a trace.
    """
    rows, dimensions = replayed_walltimes(run, by), ["where", by]
    figures = [{"where": where, by: name, **walltime_errors(group.recorded_s, group.simulated_s)} for where in WHERE
               for name, group in _groups(rows[rows["where"] == where], by)]
    return tidy(pd.DataFrame(figures, columns=[*dimensions, *OF_WALLTIMES]), dimensions, OF_WALLTIMES, WHOLE_RUN)


def replayed_walltimes(run: Run, by: str = "partition") -> pd.DataFrame:
    """A row for each job of a trace that finished: record, `by`, where, recorded_s, simulated_s; see `WHERE`."""
    key, of_trace = ["jeditaskid", "chunk"], {"partition", "batch_queue"}
    rows = run.table("trace", [*key, "record", "run_s", *of_trace])
    columns = ["record", by, "where", "recorded_s", "simulated_s"]
    if not len(rows):
        return pd.DataFrame(columns=columns)
    done = run.table("jobs", [*key, "status", "queue", "walltime_s"])
    rows = rows.merge(done[done.status == "finished"], "inner", key)
    if by not in of_trace:
        tasks = run.table("tasks", ["jeditaskid", by]).set_index("jeditaskid")
        rows[by] = rows.jeditaskid.map(tasks[by].astype(object))
    same = rows.queue.astype(object) == rows.partition.astype(object)
    return rows.assign(where=same.map({True: WHERE[0], False: WHERE[1]}), recorded_s=rows.run_s,
                       simulated_s=rows.walltime_s)[columns]


def recorded_statuses(run: Run) -> pd.DataFrame:
    """Jobs of a trace by the status that was recorded of them; dimension recorded ("" = unknown), metric jobs."""
    status = run.table("trace", ["status"]).status.astype(object).fillna("")
    table = status.value_counts(sort=True).rename_axis("recorded").rename("jobs").reset_index()
    return tidy(table, ["recorded"], {"jobs": "jobs"}, WHOLE_RUN)


def _waits(run: Run, by: str) -> pd.DataFrame:
    """Recorded and simulated wait, h, of each job with a recorded one; simulated is NaN if it did not start."""
    rows = _started(run, ["wait_s", by])
    rows = rows[rows.wait_s.notna()]
    return rows.assign(recorded=rows.wait_s / HOUR, simulated=(rows.running_s - rows.submitted_s) / HOUR)


def _started(run: Run, columns: list[str]) -> pd.DataFrame:
    """Recorded jobs: task, submission, some columns, and when the first attempt started, s, NaN = none did."""
    key = ["jeditaskid", "chunk"]
    rows = run.table("trace", [*key, "submitted_s", *columns])
    if not len(rows):
        return rows.assign(running_s=rows.submitted_s)
    started = run.table("jobs", [*key, "running_s"]).groupby(key).running_s.min()
    return rows.merge(started.reset_index(), "left", key)


def _from_submission(waits: pd.Series) -> dict[str, float]:
    return {"from_submission_mean": waits.mean(),
            **{f"from_submission_p{q:02d}": waits.quantile(q / 100) for q in QUANTILES}}


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


def walltime_errors(recorded_s: pd.Series, simulated_s: pd.Series) -> dict[str, float]:
    """The metrics of `recorded_walltimes` for some jobs."""
    error = 100 * (simulated_s / recorded_s - 1)
    return {"jobs": len(error), "recorded_p50": recorded_s.median() / HOUR,
            "simulated_p50": simulated_s.median() / HOUR, "off_p50": error.abs().median(),
            **{f"error_p{q:02d}": error.quantile(q / 100) for q in QUANTILES}}
