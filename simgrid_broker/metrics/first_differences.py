"""Jobs with which two runs of one workload begin to differ, each with what differed for it.

A job is the same in both runs if task, type, chunk and attempt are. Random draws are keyed by what a thing is, so the
first jobs that differ do so for a setting, a share, a limit, a queue or an incident; later ones follow from these too.
"""

import numpy as np
import pandas as pd

from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.records import JOB_END_WORDS, Run
from simgrid_broker.units import HOUR

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
    names = pd.concat([run.table("tasks", ["jeditaskid", "name"]).astype({"name": object}) for run in (base, changed)])
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
        if row.queue_base != row.queue_changed and "none" not in (row.queue_base, row.queue_changed):
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
    rows = run.table("throttler").astype({"work_queue": object, "verdict": object, "key": object})
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
