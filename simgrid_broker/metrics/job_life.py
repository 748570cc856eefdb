"""The life of a job: one line for each change, with what it waited for, and the attempts before and after it."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from simgrid_broker.metrics.slots import obstacle_at
from simgrid_broker.metrics.task_life import Change
from simgrid_broker.metrics.window import selected_jobs
from simgrid_broker.names import DecisionKind, JobStatus
from simgrid_broker.records import JOB_END_TIMES, Run
from simgrid_broker.units import HOUR, format_seconds
from simgrid_broker.wording import figure

TIMES = tuple(f"{word}_s" for word in JobStatus.words())
"""Columns with the last entry into each status."""
ATTEMPT = ("panda_id", "old_panda_id", "jeditaskid", "attempt", "share", "resource_type", "corecount", "priority",
           "queue", "nucleus", "source_site", "missing_bytes", "input_bytes", "output_bytes", "n_input_files",
           "n_output_files", "ramcount_mb", "status", "cause", *TIMES)
"""Columns of an attempt that its life tells."""
NEAR_S = 1.0
"""Time within which records of one act lie, s: decisions and transfers carry the time of their cycle."""


def job_life(run: Run, panda_id: int) -> list[Change]:
    """Changes of an attempt in order of time, with the other attempts at its input in a line each; none if unknown.

    Only the last stay in each status is recorded.
    """
    found = selected_jobs(run, ("panda_id", "jeditaskid"), lambda rows: rows.panda_id == panda_id)
    if not len(found):
        return []
    task = int(found.jeditaskid.iloc[0])
    rows = selected_jobs(run, ATTEMPT, lambda rows: rows.jeditaskid == task).set_index("panda_id", drop=False)
    job = rows.loc[panda_id]
    changes = [(each.attempt, Change(each.pending_s, _end_of(each), _other(each)))
               for each in attempts_of(rows, panda_id)] + [(job.attempt, change) for change in _stays(run, job)]
    return [change for _, change in sorted(changes, key=lambda pair: (pair[1].start_s, pair[0]))]


def attempts_of(rows: pd.DataFrame, panda_id: int) -> Iterator[pd.Series]:
    """The other attempts at the input of a job among the jobs of its task, by PandaID: before it, then after it."""
    earlier, later = rows.loc[panda_id].old_panda_id, rows.old_panda_id == panda_id
    while earlier in rows.index:
        yield rows.loc[earlier]
        earlier = rows.loc[earlier].old_panda_id
    while later.any():
        number = rows.index[later][0]
        yield rows.loc[number]
        later = rows.old_panda_id == number


def _end_of(job: pd.Series) -> float:
    """End of an attempt, s; its creation if it is alive."""
    end = np.fmax.reduce([float(job[name]) for name in JOB_END_TIMES])
    return float(end if end == end else job.pending_s)


def _other(job: pd.Series) -> str:
    at = f" at {job.queue}" if isinstance(job.queue, str) else ""
    return f"attempt {job.attempt}, job {job.panda_id}{at}: {job.status}{_because(job)}"


def _because(job: pd.Series) -> str:
    """The cause of the end in brackets; nothing without one."""
    return "" if job.cause in ("none", None) or job.cause != job.cause else f" ({job.cause.replace('_', ' ')})"


def _stays(run: Run, job: pd.Series) -> Iterator[Change]:
    """One line for each status that the attempt entered, from entry to the next one."""
    entered = sorted((job[name], number) for number, name in enumerate(TIMES) if job[name] == job[name])
    tell = {JobStatus.PENDING.word: _created, JobStatus.ASSIGNED.word: _assigned, JobStatus.ACTIVATED.word: _activated,
            JobStatus.RUNNING.word: _running, JobStatus.TRANSFERRING.word: _transferring,
            JobStatus.THROTTLED.word: lambda run, job, stay: "throttled: a cap of its user or group is reached"}
    ends = [time for time, _ in entered[1:]] + [run.end_s]
    for (start, number), end in zip(entered, ends, strict=True):
        word = JobStatus.words()[number]
        is_over = f"{word}_s" in JOB_END_TIMES
        plain = partial(_ended, word=word) if is_over else lambda run, job, stay, word=word: word
        yield Change(start, start if is_over else end, tell.get(word, plain)(run, job, (start, end)))


def _ended(run: Run, job: pd.Series, stay: tuple[float, float], word: str) -> str:
    return f"{word}{_because(job)}"


def _created(run: Run, job: pd.Series, stay: tuple[float, float]) -> str:
    """Its creation: what it is, and the decision that chose its queue."""
    memory = f", {job.ramcount_mb / 1000:.3g} GB" if job.ramcount_mb > 0 else ""
    return (f"created: attempt {job.attempt} at input of task {job.jeditaskid}, gshare {job.share}, "
            f"{job.resource_type} ({figure(job.corecount, 'cores')}{memory}), priority {job.priority}"
            f"{_brokered(run, job, stay[0])}")


def _brokered(run: Run, job: pd.Series, time_s: float) -> str:
    """The queue of the job, and how it stood in the decision of job brokerage that made it."""
    if not isinstance(job.queue, str):
        return ""
    rows = run.table("decisions", ["time_s", "kind", "jeditaskid", "n_candidates", "n_kept", "best", "best_weight"])
    rows = rows[(rows.jeditaskid == job.jeditaskid) & (rows.time_s <= time_s + NEAR_S) & (rows.n_kept > 0)
                & (rows.kind.astype(object) != DecisionKind.TASK_BROKERAGE.word)]
    if not len(rows):
        return f"; at {job.queue}"
    row = rows.iloc[-1]
    first = "the first choice" if str(row.best).partition("/")[0] == job.queue else f"the first choice was {row.best}"
    return (f"; brokered to {job.queue}, {row.n_kept} of {row.n_candidates} candidates had passed, {first} with weight "
            f"{row.best_weight:.4g}")


def _assigned(run: Run, job: pd.Series, stay: tuple[float, float]) -> str:
    """The transfers that bring its input."""
    site = run.manifest["scenario"]["grid"]["queues"].get(job.queue, {}).get("atlas_site")
    rows = run.table("transfers")
    rows = rows[(rows.jeditaskid == job.jeditaskid) & (rows.destination.astype(object) == site)
                & (rows.kind.astype(object) == "input") & ((rows.submitted_s - stay[0]).abs() <= NEAR_S)]
    said = f"assigned: {figure(job.missing_bytes, 'bytes')} of its input have to come to {site}"
    return said + "".join(f"; {_moved(row)}" for row in rows.itertuples())


def _moved(row) -> str:
    """A transfer in words, which may bring the input of other jobs too."""
    wait = row.started_s - row.submitted_s
    waited = f" after {format_seconds(wait)} of waiting" if wait > NEAR_S else ""
    is_over = row.ended_s == row.ended_s
    took = f" in {format_seconds(row.ended_s - row.started_s)}" if is_over else ", under way at the end"
    failed = f", {figure(row.failed_files, 'files')} failed and came again" if row.failed_files else ""
    return (f"{figure(row.n_files, 'files')} for {figure(row.n_jobs, 'jobs')} from {row.source}{took}{waited}{failed}")


def _activated(run: Run, job: pd.Series, stay: tuple[float, float]) -> str:
    """Its wait for a pilot; if that was long, the main obstacle over the window between its type and slots there."""
    if stay[1] - stay[0] < HOUR:
        return "activated: waits for a pilot"
    obstacle, *_ = obstacle_at(run, job.queue, job.resource_type)
    return f"activated: waits for a pilot; over the run, at {job.queue} {obstacle}"


def _running(run: Run, job: pd.Series, stay: tuple[float, float]) -> str:
    source = f", reads from {job.source_site}" if isinstance(job.source_site, str) and job.missing_bytes > 0 and (
        job.assigned_s != job.assigned_s) else ""
    return f"running on {figure(job.corecount, 'cores')} of {job.queue}{source}"


def _transferring(run: Run, job: pd.Series, stay: tuple[float, float]) -> str:
    files, size = figure(job.n_output_files, "files"), figure(job.output_bytes, "bytes")
    return f"transferring: {files}, {size} to {job.nucleus}"
