"""The lives of a task and of a job: one line for each change, with the stretches in which no job was made and what
held it, or what the job waited for, and the attempts before and after it."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.metrics.chain import LINKS, THROTTLER
from simgrid_broker.metrics.refusals import ABOUT_QUEUES, criteria, explain, verdicts_of
from simgrid_broker.metrics.settings import GDPCONFIG, settings_of
from simgrid_broker.metrics.slots import obstacle_at
from simgrid_broker.metrics.tasks import TIMES as PHASE_TIMES
from simgrid_broker.metrics.tasks import WORDS
from simgrid_broker.metrics.window import selected_jobs, texts
from simgrid_broker.names import USED, DecisionKind, JobStatus
from simgrid_broker.records import JOB_END_TIMES, Run
from simgrid_broker.units import HOUR, format_seconds
from simgrid_broker.wording import figure

PLACE = {"registered": 0, "defined": 1, "assigning": 2}
"""Order of statuses that a task enters at the same instant; the others come last."""
QUARTER = 6 * HOUR
"""Period of which retries, and ends of jobs, are one change, s."""


class Change(NamedTuple):
    """A change in the life of a task, or a stretch from start to end, s, with what happened, in words."""

    start_s: float
    end_s: float
    what: str


def task_life(run: Run, task: int, every: bool = False) -> list[Change]:
    """Changes of a task in order of time; none for an unknown task.

    every: each decision of a broker by itself, not with those of the same outcome that follow it. Only the last stay in
    each status is recorded, so that earlier ones are told by decisions and jobs.
    """
    rows = run.table("tasks")
    rows = rows[rows.jeditaskid == task]
    if not len(rows):
        return []
    row = rows.iloc[0]
    jobs, decisions = _jobs_of(run, task), _decisions_of(run, task)
    changes = [*_statuses(row), *_decisions(run, decisions, every), *_made(jobs), *_task_ended(jobs),
               *_held(run, row, jobs, decisions)]
    return sorted(changes, key=lambda change: (change.start_s, change.end_s))


def _statuses(row: pd.Series) -> Iterator[Change]:
    """Arrival, and the last entry into each status."""
    kind = row.resource_type if isinstance(row.resource_type, str) else "no resource type yet"
    yield Change(row.arrival_s, row.arrival_s, f"created: {row.n_jobs:,} jobs or pieces of input, gshare {row.share}, "
                                               f"{kind}, priority {row.priority}")
    for name, word in zip(PHASE_TIMES, WORDS, strict=True):
        if row[name] == row[name] and word != "registered":
            reason = f" ({row.errordialog})" if word in ("pending", "exhausted", "broken") and isinstance(
                row.errordialog, str) else ""
            reason = f" ({row.throttled_by})" if word == "throttled" and isinstance(row.throttled_by, str) else reason
            yield Change(row[name], row[name], f"{word}{reason}")


def _decisions_of(run: Run, task: int) -> pd.DataFrame:
    """Recorded decisions about a task."""
    rows = run.table("decisions", ["decision", "time_s", "kind", "jeditaskid", "share", "n_candidates", "n_kept",
                                   "n_jobs", "best"])
    return texts(rows[rows.jeditaskid == task], "kind", "share", "best")


def _decisions(run: Run, rows: pd.DataFrame, every: bool) -> Iterator[Change]:
    """Decisions of the brokers; consecutive ones of the same kind and outcome are one stretch, unless `every`."""
    is_new = (rows.kind != rows.kind.shift()) | ((rows.n_kept > 0) != (rows.n_kept.shift() > 0)) | every
    for _, group in rows.groupby(is_new.cumsum()):
        first, number = group.iloc[0], len(group)
        times = f"{number} decisions" if number > 1 else "a decision"
        broker = first.kind.replace("_", " ")
        if not first.n_kept:
            said = f"{broker}: no candidate in {times}{_taken_by(run, group)}"
        elif first.kind == DecisionKind.TASK_BROKERAGE.word:
            said = f"{broker}: nucleus {_drawn(group.iloc[-1])}"
        else:
            said = f"{broker}: {group.n_jobs.sum():,} jobs placed in {times}, first choice {group.best.mode().iloc[0]}"
        yield Change(first.time_s, group.time_s.max(), said)


def _taken_by(run: Run, decisions: pd.DataFrame) -> str:
    """The rule that refused most candidates of some decisions about a task, with the first setting that it reads.

    It is a key of gdpconfig if the rule reads any. A queue or site counts once in a decision, with the rule that came
    furthest with it. Of decisions without recorded candidates the rule is that of all decisions of the share in these
    hours; empty if none is recorded.
    """
    first = decisions.iloc[0]
    order = {rule: place for place, rule in enumerate(criteria(run, first.kind).criterion)}
    rows = explain(run, int(first.jeditaskid))
    rows = rows[rows.decision.isin(decisions.decision) & (rows.criterion != USED)]
    rows = rows.assign(count=1, place=rows.criterion.map(order)).sort_values("place").drop_duplicates(
        ["decision", "queue"], keep="last")
    to_share = "" if len(rows) else f" to {first.share}"
    when = first.share, first.time_s, decisions.time_s.max()
    rows = rows if len(rows) else _refusals_of_share(run, first.kind, *when)
    if not rows["count"].sum():
        return ""
    rule = rows.groupby("criterion")["count"].sum().idxmax()
    label = criteria(run, first.kind).set_index("criterion").label[rule]
    behind = _behind_job(run, *when) if label == "-job" else ""
    settings = sorted(settings_of(run, behind or label, first.share), key=lambda name: not name.startswith(GDPCONFIG))
    return (f", {label} refused most{to_share}" + (f", as no queue passes {behind}" if behind else "")
            + (f" ({settings[0].removeprefix(GDPCONFIG)})" if settings else ""))


def _behind_job(run: Run, share: str, start_s: float, end_s: float) -> str:
    """The rule of job brokerage that refused the last queue to most tasks of a share in some hours; empty if none."""
    rows = run.table("hints", ["time_s", "share", "rule", "decisions"])
    rows = rows[(rows.share == share) & (rows.time_s + HOUR > start_s) & (rows.time_s <= end_s)]
    return str(rows.groupby(rows.rule.astype(object)).decisions.sum().idxmax()) if len(rows) else ""


def _refusals_of_share(run: Run, kind: str, share: str, start_s: float, end_s: float) -> pd.DataFrame:
    """Refusals by one broker of a share in the samples that cover a time: criterion, and count of pools or sites."""
    rows = run.table("refusals", ["time_s", "kind", "criterion", "share", "count", "pool_count"])
    last_s = rows.time_s[rows.time_s >= end_s].min()
    rows = texts(rows[(rows.kind == kind) & (rows.share == share) & rows.criterion.notna()
                & (rows.time_s >= start_s) & (rows.time_s <= last_s)], "criterion")
    return rows.assign(count=rows.pool_count) if kind in ABOUT_QUEUES else rows


def _drawn(row: pd.Series) -> str:
    """The nucleus of a task, and the candidates from which it was drawn."""
    if row.n_candidates == 1:
        return f"{row.best}, the only candidate"
    how = f"drawn by weight from the {row.n_kept:,}" if row.n_kept > 1 else "the only one"
    return f"{row.best}, {how} of {row.n_candidates:,} candidates that passed all rules"


def _jobs_of(run: Run, task: int) -> pd.DataFrame:
    """Recorded jobs of a task: made_s, hour, attempt, status, cause, end_s and queue."""
    columns = ["jeditaskid", "attempt", "status", "cause", "queue", "pending_s", "running_s", *JOB_END_TIMES]
    pieces = [rows[rows.jeditaskid == task] for rows in run.batches("jobs", columns)]
    rows = pd.concat([piece.astype({name: object for name in ("status", "cause", "queue")}) for piece in pieces])
    return rows.assign(end_s=np.fmax.reduce([rows[name].to_numpy(float) for name in JOB_END_TIMES])
                       if len(rows) else np.zeros(0))


def _made(jobs: pd.DataFrame) -> Iterator[Change]:
    """Jobs made of new input, hour by hour, and those made again, by quarter of a day."""
    is_new = jobs.attempt <= 1
    for rows, period, what in ((jobs[is_new], HOUR, "made"), (jobs[~is_new], QUARTER, "made again")):
        for _, group in rows.groupby(rows.pending_s // period):
            queues = group.queue.dropna().value_counts()
            at = f", most at {queues.index[0]}" if len(queues) else ""
            yield Change(group.pending_s.min(), group.pending_s.max(), f"{_jobs(group)} {what}{at}")


def _task_ended(jobs: pd.DataFrame) -> Iterator[Change]:
    """Jobs that ended, by quarter of a day, status and cause."""
    over = jobs[jobs.end_s.notna()]
    for (_, status, cause), group in over.groupby([over.end_s // QUARTER, "status", "cause"]):
        because = "" if cause == "none" else f" ({cause.replace('_', ' ')})"
        yield Change(group.end_s.min(), group.end_s.max(), f"{_jobs(group)} {status}{because}")


def _jobs(rows: pd.DataFrame) -> str:
    return f"{len(rows):,} job{'s' if len(rows) > 1 else ''}"


def _held(run: Run, row: pd.Series, jobs: pd.DataFrame, decisions: pd.DataFrame) -> Iterator[Change]:
    """Stretches of hours in which the throttler stopped the task's work queue, and no job of the task was made.

    None before the task has a nucleus, or of hours in which job brokerage was asked: the throttler had let it pass.
    """
    verdicts = verdicts_of(run, str(row.share), row.resource_type)
    ends = [row[name] for name, word in zip(PHASE_TIMES, WORDS, strict=True)
            if word in ("done", "finished", "failed", "aborted", "broken") and row[name] == row[name]]
    is_nucleus = decisions.kind == DecisionKind.TASK_BROKERAGE.word
    chosen = decisions.time_s[is_nucleus & (decisions.n_kept > 0)]
    if is_nucleus.any() and not len(chosen) and not isinstance(row.nucleus, str):
        return
    begun_s = float(chosen.min() if len(chosen) else row.arrival_s)
    first, last = int(begun_s // HOUR), int((max(ends) if ends else run.end_s) // HOUR)
    made = set((jobs.pending_s // HOUR).astype(int)) if len(jobs) else set()
    if made and (jobs.attempt == 1).sum() >= row.n_jobs:                      # all of its input has had a job
        last = max(made)
    made |= set((decisions.time_s[~is_nucleus] // HOUR).astype(int))
    begun, rules = 0, Counter[str]()
    for hour in range(first, last + 2):
        rule = verdicts.get(hour) if hour not in made and hour <= last else None
        if rule:
            begun = begun if rules else hour
            rules[rule] += 1
        elif rules:
            yield Change(max(begun * HOUR, begun_s), min(hour * HOUR, run.end_s),
                         f"held by the {LINKS[THROTTLER]} of {row.share}: {_named(rules)}")
            rules = Counter()


def _named(rules: Counter[str]) -> str:
    """Rules with the hours of each, the longest first; a rule of all hours alone."""
    named = [f"{rule} ({hours} h)" for rule, hours in rules.most_common()]
    return next(iter(rules)) if len(rules) == 1 else ", ".join(named)


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
