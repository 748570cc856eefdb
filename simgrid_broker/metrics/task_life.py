"""The life of a task: one line for each change, with the stretches in which no job was made and what held it."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.metrics.chain import LINKS, THROTTLER
from simgrid_broker.metrics.tasks import TIMES, WORDS
from simgrid_broker.metrics.verdicts import verdicts_of
from simgrid_broker.names import DecisionKind
from simgrid_broker.records import JOB_END_TIMES, Run
from simgrid_broker.units import HOUR

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
    changes = [*_statuses(row), *_decisions(decisions, every), *_made(jobs), *_ended(jobs),
               *_held(run, row, jobs, decisions)]
    return sorted(changes, key=lambda change: (change.start_s, change.end_s))


def _statuses(row: pd.Series) -> Iterator[Change]:
    """Arrival, and the last entry into each status."""
    kind = row.resource_type if isinstance(row.resource_type, str) else "no resource type yet"
    yield Change(row.arrival_s, row.arrival_s, f"created: {row.n_jobs:,} jobs or pieces of input, gshare {row.share}, "
                                               f"{kind}, priority {row.priority}")
    for name, word in zip(TIMES, WORDS, strict=True):
        if row[name] == row[name] and word != "registered":
            reason = f" ({row.errordialog})" if word in ("pending", "exhausted", "broken") and isinstance(
                row.errordialog, str) else ""
            reason = f" ({row.throttled_by})" if word == "throttled" and isinstance(row.throttled_by, str) else reason
            yield Change(row[name], row[name], f"{word}{reason}")


def _decisions_of(run: Run, task: int) -> pd.DataFrame:
    """Recorded decisions about a task."""
    rows = run.table("decisions", ["time_s", "kind", "jeditaskid", "n_candidates", "n_kept", "n_jobs", "best"])
    return rows[rows.jeditaskid == task].astype({"kind": object, "best": object})


def _decisions(rows: pd.DataFrame, every: bool) -> Iterator[Change]:
    """Decisions of the brokers; consecutive ones of the same kind and outcome are one stretch, unless `every`."""
    is_new = (rows.kind != rows.kind.shift()) | ((rows.n_kept > 0) != (rows.n_kept.shift() > 0)) | every
    for _, group in rows.groupby(is_new.cumsum()):
        first, number = group.iloc[0], len(group)
        times = f"{number} decisions" if number > 1 else "a decision"
        broker = first.kind.replace("_", " ")
        if not first.n_kept:
            said = f"{broker}: no candidate in {times}"
        elif first.kind == DecisionKind.TASK_BROKERAGE.word:
            said = f"{broker}: nucleus {_drawn(group.iloc[-1])}"
        else:
            said = f"{broker}: {group.n_jobs.sum():,} jobs placed in {times}, first choice {group.best.mode().iloc[0]}"
        yield Change(first.time_s, group.time_s.max(), said)


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


def _ended(jobs: pd.DataFrame) -> Iterator[Change]:
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
    ends = [row[name] for name, word in zip(TIMES, WORDS, strict=True)
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
