"""Jobs of a trace as recorded and as simulated: waiting times from submission, wall times, and their recorded ends; and
jobs with which two runs of one workload begin to differ, each with what differed for it.

A job is the same in both runs if task, type, chunk and attempt are. Random draws are keyed by what a thing is, so the
first jobs that differ do so for a setting, a share, a limit, a queue or an incident; later ones follow from these too.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from simgrid_broker.metrics.waiting import QUANTILES
from simgrid_broker.metrics.window import texts, tidy, window_of
from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.records import JOB_END_WORDS, Run
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
    return {"from_submission_mean": waits.mean(), **_quantiles(waits, "from_submission")}


def _quantiles(values: pd.Series | np.ndarray, name: str) -> dict[str, float]:
    """QUANTILES of the known ones of some values, sorted once; NaN if there are none."""
    known = _known(values)
    found = np.percentile(known, QUANTILES).tolist() if len(known) else [np.nan] * len(QUANTILES)
    return {f"{name}_p{q:02d}": value for q, value in zip(QUANTILES, found, strict=True)}


def _groups(rows: pd.DataFrame, by: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """All rows, then those of each partition or queue, the largest first."""
    if len(rows):
        yield ALL, rows
    for name in rows[by].astype(object).value_counts().index:
        yield name, rows[rows[by] == name]


def _figures(rows: pd.DataFrame, source: str) -> dict[str, float]:
    started = rows[rows.simulated.notna()]
    return {"wait_mean": started[source].mean(), "jobs": len(started), "not_started": len(rows) - len(started),
            **_quantiles(started[source], "wait")}


def walltime_errors(recorded_s: pd.Series, simulated_s: pd.Series) -> dict[str, float]:
    """The metrics of `recorded_walltimes` for some jobs."""
    recorded, simulated = recorded_s.to_numpy(float), simulated_s.to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = 100 * (simulated / recorded - 1)
    return {"jobs": len(error), "recorded_p50": _median(recorded) / HOUR, "simulated_p50": _median(simulated) / HOUR,
            "off_p50": _median(np.abs(error)), **_quantiles(error, "error")}


def _median(values: np.ndarray) -> float:
    """Median of the known ones of some values, NaN if there are none; pandas' takes ten times as long for a few."""
    known = _known(values)
    return float(np.median(known)) if len(known) else np.nan


def _known(values: pd.Series | np.ndarray) -> np.ndarray:
    """Values without those that are not known."""
    numbers = np.asarray(values, float)
    return numbers[~np.isnan(numbers)]


SAME = ["jeditaskid", "processing_type", "chunk", "attempt"]
"""Columns by which a job of one run is found in the other."""
STATES = tuple(status.word for status in JobStatus)
TIMES = [f"{word}_s" for word in STATES]
NO_CAUSE = Cause.NONE.word
MADE = ("pending", "defined")
"""States of a job that has just been made; its queue is chosen with it."""
COLUMNS = ("time_s", "task", "jeditaskid", "chunk", "attempt", "share", "state", "base_s", "changed_s", "queue_base",
           "queue_changed", "cause")
"""time_s: when the two runs differ first for the job; state: which it then entered in one run and not, at another time
or at another queue, in the other; base_s, changed_s: when, NaN = never; cause: a sentence."""


def first_differences(base: Run, changed: Run, most: int = 10) -> pd.DataFrame:
    """The first `most` jobs that differ between two runs with the same tasks, in order of time: see COLUMNS."""
    both = _in_both(base, changed)
    times = [both[[f"{name}_{side}" for name in TIMES]].to_numpy(float) for side in ("base", "changed")]
    differs = ~((times[0] == times[1]) | (np.isnan(times[0]) & np.isnan(times[1])))
    moved = (both.queue_base != both.queue_changed).to_numpy()
    made = np.argmin(np.where(np.isnan(times[0]), np.inf, times[0]), axis=1)
    differs[np.arange(len(both)), made] |= moved
    earliest = np.where(differs, np.fmin(*times), np.inf)
    place = earliest.argmin(axis=1)
    every = np.arange(len(both))
    rows = both.assign(time_s=earliest[every, place], state=np.array(STATES, object)[place],
                       base_s=times[0][every, place], changed_s=times[1][every, place])
    rows = rows[np.isfinite(rows.time_s)].sort_values(["time_s", *SAME], kind="stable").head(most)
    names = pd.concat([texts(run.table("tasks", ["jeditaskid", "name"]), "name") for run in (base, changed)])
    rows["task"] = rows.jeditaskid.map(names.drop_duplicates("jeditaskid").set_index("jeditaskid").name)
    rows["share"] = rows.share_base.where(rows.share_base.notna(), rows.share_changed)
    rows["cause"] = [_cause(row, both, base, changed) for row in rows.itertuples()]
    return rows[list(COLUMNS)].reset_index(drop=True)


def _in_both(base: Run, changed: Run) -> pd.DataFrame:
    """Jobs of both runs, a row each, the columns of each run with its name."""
    columns = [*SAME, "queue", "share", "priority", "resource_type", "cause", *TIMES]
    jobs = [run.table("jobs", columns).astype({name: object for name in (
        "processing_type", "queue", "share", "resource_type", "cause")}) for run in (base, changed)]
    both = jobs[0].merge(jobs[1], on=SAME, how="outer", suffixes=("_base", "_changed"))
    return both.assign(**{f"queue_{side}": both[f"queue_{side}"].fillna("none") for side in ("base", "changed")})


def _cause(row, both: pd.DataFrame, base: Run, changed: Run) -> str:
    """Cause of the difference of a job, as a sentence."""
    if row.state in MADE:
        moved = row.queue_base != row.queue_changed and "none" not in (row.queue_base, row.queue_changed)
        if moved and row.base_s == row.changed_s:                # else it was made at another time
            return f"queue: brokerage chose {row.queue_changed} instead of {row.queue_base}"
        return "limit: " + (_limit(row, base, changed) or "the task had its turn at another time")
    side, queue = ("base", row.queue_base) if row.base_s == row.time_s else ("changed", row.queue_changed)
    if incident := _incident(queue, row.time_s, base, changed):
        return f"incident: {incident}"
    if row.state == "sent":
        return _dispatch(row, both, side, queue)
    if row.state in JOB_END_WORDS and (cause := getattr(row, f"cause_{side}")) != NO_CAUSE:
        return f"rule: {row.state} by {cause} in {'A' if side == 'base' else 'B'}"
    if row.state in JOB_END_WORDS or row.state in ("holding", "transferring", "merging"):
        return "its payload ended otherwise"
    return {"activated": "input: its files arrived at another time"}.get(row.state, "its pilot was slower or faster")


def _dispatch(row, both: pd.DataFrame, side: str, queue: str) -> str:
    """Why a job got its pilot in one run and not at that moment in the other."""
    other = "changed" if side == "base" else "base"
    there = both[(both[f"queue_{other}"] == queue) & (both[f"sent_s_{other}"] == row.time_s)]
    where = "B" if other == "changed" else "A"
    own = getattr(row, f"share_{side}")
    if not len(there):
        return f"queue: {queue} had no worker for {getattr(row, f'resource_type_{side}')} at that moment in {where}"
    first = there.iloc[0]
    if first[f"share_{other}"] != own:
        return f"share: the pilot took a job of {first[f'share_{other}']} in {where}"
    if first[f"priority_{other}"] != getattr(row, f"priority_{side}"):
        return f"priority: the pilot took a job of priority {first[f'priority_{other}']:.0f} in {where}"
    return f"queue: the pilot took an older job of {own} in {where}"


def _limit(row, base: Run, changed: Run) -> str:
    """Verdicts of the throttler on the work queue of a job in the hour in which it was made, where they differ."""
    of_base, of_changed = (_verdicts(run, row.share, row.time_s // HOUR * HOUR) for run in (base, changed))
    verdicts = [verdict for verdict in {**of_base, **of_changed} if of_base.get(verdict) != of_changed.get(verdict)]
    return "; ".join(f"'{verdict}' in {of_base.get(verdict, (0, 0))[0]} cycles of the hour instead of "
                     f"{of_changed.get(verdict, (0, 0))[0]} in B" for verdict in verdicts[:1])


def _verdicts(run: Run, work_queue: str, hour_s: float) -> dict[str, tuple[int, int]]:
    """Cycles and jobs made by verdict of the throttler, with the keys behind it, of a work queue in an hour.

    Empty for a run without the table, which ended before its agents began or had no job generator.
    """
    if "throttler" not in run.tables:
        return {}
    rows = texts(run.table("throttler"), "work_queue", "verdict", "key")
    rows = rows[(rows.time_s == hour_s) & (rows.work_queue == work_queue)].fillna({"key": ""})
    names = rows.verdict + rows.key.map(lambda key: f" ({key})" if key else "")
    sums = rows.groupby(names, sort=False)[["cycles", "made"]].sum().astype(int)
    return {str(name): (cycles, made) for name, cycles, made in sums.itertuples()}


def _incident(queue: str, time_s: float, base: Run, changed: Run) -> str:
    """The incident at a queue or its site that is going on in one run only; empty if there is none."""
    scenarios = [run.manifest["scenario"] for run in (base, changed)]
    places = {queue, scenarios[0]["grid"]["queues"].get(queue, {}).get("atlas_site")}
    for one, other, where in ((*scenarios, "A"), (*scenarios[::-1], "B")):
        for incident in one["incidents"]:
            until = incident.get("until")
            is_here = places & {value for value in incident.values() if isinstance(value, str)}
            if incident not in other["incidents"] and is_here and incident["at"] <= time_s and (
                    until is None or time_s <= until):
                return f"{incident['what']} of {sorted(is_here)[0]} in {where}"
    return ""
