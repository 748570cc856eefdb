"""Waiting times of jobs from activated to running, of tasks for their first job, and of both for data.

Some of the jobs still wait, were withdrawn, or waited before the window began: `Waits` are the estimates with them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd

from simgrid_broker.metrics.window import (
    Pass,
    Window,
    end_times,
    made_of_jobs,
    once_per_run,
    part_of_jobs,
    texts,
    tidy,
    window_of,
)
from simgrid_broker.names import TransferKind
from simgrid_broker.records import JOB_END_TIMES, Run
from simgrid_broker.units import HOUR

QUANTILES = (5, 25, 50, 75, 95)

KM_QUANTILES = (50, 95)

COUNTS = ["started", "still_waiting", "taken_back"]

ARRIVAL_BINS = 8

AT_ONCE = 1 << 18
"""Starts of which the Kaplan-Meier estimate is worked out at once."""

UNITS = {"wait_mean": "h", **{f"wait_p{q:02d}": "h" for q in QUANTILES}, "started": "jobs", "still_waiting": "jobs",
         "still_waiting_p50": "h", "taken_back": "jobs", **{f"wait_km_p{q:02d}": "h" for q in KM_QUANTILES},
         "wait_little": "h"}


@once_per_run
def waiting_times(run: Run, by: str | None = "share") -> pd.DataFrame:
    """Time from activated to running of the jobs that started in the window, by one column of jobs or for all.

    Dimension `by`, if any. Metrics: wait_mean and wait_p05 ... wait_p95, h, over the `started` jobs. These exclude the
    longest waits, hence also: still_waiting, jobs activated but not started at the end, with their median wait so far,
    and taken_back, activated jobs that ended in the window without running. With both of them: wait_km_p50 and
    wait_km_p95, h, Kaplan-Meier estimates, and wait_little, h, the mean number waiting over the rate of starts. If jobs
    are a sample, numbers of jobs are scaled up.
    """
    if by in (None, "share"):
        return _of_all_and_of_shares(run)[by]
    return _waits(run, _taken(made_of_jobs(run, waits_by(by))), by)


@once_per_run
def _of_all_and_of_shares(run: Run) -> dict[str | None, pd.DataFrame]:
    """`waiting_times` of all jobs and by share, which are of the same pass; it is kept no longer."""
    batches = made_of_jobs(run, waits_by("share"))
    return {None: _waits(run, batches, None), "share": _waits(run, _taken(batches), "share")}


def _taken(batches: "list[Batch]") -> "Iterator[Batch]":
    """Batches in order, each of which is then no longer in the list."""
    batches.reverse()
    while batches:
        yield batches.pop()


def _waits(run: Run, batches: "Iterable[Batch]", by: str | None) -> pd.DataFrame:
    """`waiting_times` of some batches."""
    window = window_of(run)
    pieces: dict[str, defaultdict[str, list]] = {} if by else {"all": defaultdict(list)}
    for names, of_batch in batches:
        for name in names if by else ():
            pieces.setdefault(name, defaultdict(list))
        for codes, values in of_batch:
            for name, places in _by_group(codes, names) if by else (("all", None),):
                for kind, of_kind in values.items():
                    pieces[name][kind].append(of_kind if places is None else _at(of_kind, places))
    names = list(pieces)
    table = pd.DataFrame([_figures(pieces.pop(name)) for name in names], columns=list(UNITS))
    table[COUNTS] = np.rint(table[COUNTS] / (part_of_jobs(run) or 1)).astype(np.int64)
    if by is None:
        return tidy(table, [], UNITS, window)
    table.insert(0, by, names)
    return tidy(table[table[COUNTS].any(axis=1)], [by], UNITS, window)


Batch = tuple[Sequence[str], list[tuple[np.ndarray, dict[str, np.ndarray]]]]
"""Names of groups; and of some jobs of a batch the code of the group of each, -1 = none, and its values by kind."""


@cache
def waits_by(by: str) -> Pass:
    """The pass of `waiting_times`, which makes a `Batch` of each batch of job rows."""
    def of_batch(rows: pd.DataFrame, window: Window) -> Batch:
        codes = rows[by].cat.codes.to_numpy()
        return rows[by].cat.categories, [(codes[chosen], values) for chosen, values in _kinds(rows, window)]
    return Pass(("activated_s", "running_s", *JOB_END_TIMES, by), of_batch)


def first_jobs(run: Run) -> pd.DataFrame:
    """Time from the arrival of tasks to the start of their first job, by work queue, task stream and arrival.

    Dimensions work_queue, name (task stream), arrived (start of a bin of an eighth of the run, h). Metrics: came and
    started, tasks; wait_p50 of the started tasks, h. Empty without tasks of work queues, and if jobs are a sample.
    """
    tasks = run.table("tasks", ["jeditaskid", "name", "work_queue", "arrival_s"])
    tasks = tasks[tasks.work_queue.notna()].astype({"work_queue": object, "name": object})
    units = {"came": "tasks", "started": "tasks", "wait_p50": "h"}
    dimensions = ["work_queue", "name", "arrived"]
    if not len(tasks) or part_of_jobs(run) < 1:
        return tidy(pd.DataFrame(columns=[*dimensions, *units]), dimensions, units, "the whole run")
    jobs = run.table("jobs", ["jeditaskid", "running_s"])
    started = tasks.jeditaskid.map(jobs.groupby("jeditaskid").running_s.min())
    width_s = run.end_s / ARRIVAL_BINS
    tasks["arrived"] = np.minimum(tasks.arrival_s // width_s, ARRIVAL_BINS - 1) * width_s / HOUR
    tasks["wait"] = (started - tasks.arrival_s) / HOUR
    table = tasks.groupby(dimensions).wait.agg(came="size", started="count", wait_p50="median").reset_index()
    return tidy(table, dimensions, units, "the whole run")


def waits_for_data(run: Run) -> pd.DataFrame:
    """Times for which data were waited for: of transfers and of requests to tape that ended in the window.

    Dimension data: input, output, or a physical tape. Metrics: took_p50 and took_p95, h, from the request to the last
    file; still_waiting, at the end: jobs in status assigned or transferring, requests of a tape without an end.
    """
    window, ways = window_of(run), {"assigned": "input", "transferring": "output"}
    moved = texts(run.table("transfers", ["kind", "submitted_s", "ended_s"]), "kind")
    asked = texts(run.table("staging", ["tape", "status", "requested_s", "finished_s"]), "tape", "status")
    staged_s = np.where(asked.status.isin(["done", "retired"]), asked.finished_s, np.nan)
    data = np.concatenate([moved.kind.to_numpy(object), asked.tape.to_numpy(object)])
    begun_s = np.concatenate([moved.submitted_s, asked.requested_s])
    ended_s = np.concatenate([moved.ended_s, staged_s])
    ended = window.holds(ended_s) & (data != TransferKind.READING.word)
    jobs = run.table("queues", ["time_s", *ways])
    last = jobs[jobs.time_s == jobs.time_s.max()]
    open_ = Counter({way: last[column].sum() for column, way in ways.items()})
    open_.update(asked.tape[asked.finished_s.isna()])
    rows = []
    for name in sorted({*data[ended], *(name for name, number in open_.items() if number)}):
        took = (ended_s - begun_s)[ended & (data == name)] / HOUR
        rows.append((name, *(np.quantile(took, [0.5, 0.95]) if len(took) else (np.nan, np.nan)), open_[name]))
    table = pd.DataFrame(rows, columns=["data", "took_p50", "took_p95", "still_waiting"])
    found = tidy(table, ["data"], {"took_p50": "h", "took_p95": "h", "still_waiting": "jobs"}, window)
    of_tapes = (found.unit == "jobs") & ~found["data"].isin(ways.values())
    return found.assign(unit=found.unit.where(~of_tapes, "requests"))


def _kinds(rows: pd.DataFrame, window: Window) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Masks of activated jobs, and values of these, h: fields of `Waits`, and waits of those that have not started.

    Entries are one 0 where all of them are, which takes no memory.
    """
    activated, running, ended = rows.activated_s.to_numpy(), rows.running_s.to_numpy(), end_times(rows)
    was_activated, never_ran = ~np.isnan(activated), np.isnan(running)
    until = np.fmin(np.where(never_ran, ended, running), window.end_s)
    seen = was_activated & (until >= window.start_s)
    entry = np.maximum(window.start_s - activated[seen], 0) / HOUR
    yield seen, {"entry": entry if entry.any() else np.broadcast_to(0.0, entry.shape),
                 "exit": (until - activated)[seen] / HOUR, "is_start": window.holds(running[seen])}
    alive = was_activated & never_ran & np.isnan(ended)
    yield alive, {"still_waiting": (window.end_s - activated[alive]) / HOUR}
    withdrawn = was_activated & never_ran & window.holds(ended)
    yield withdrawn, {"taken_back": (ended - activated)[withdrawn] / HOUR}


def _by_group(codes: np.ndarray, names: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Names of groups, and the places of their jobs; codes: indices into `names`, -1 = none."""
    order = np.argsort(codes, kind="stable")
    borders = np.searchsorted(codes[order], np.arange(len(names) + 1))
    for name, (first, last) in zip(names, pairwise(borders), strict=True):
        if last > first:
            yield name, order[first:last]


def _at(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Values at some places; of one value for all, as many of it, which take no memory either."""
    return values[places] if values.strides[0] else values[:len(places)]


def _figures(values: dict[str, list]) -> dict[str, float]:
    """The figures of one group, from its values by kind, in pieces."""
    waiting, withdrawn, entry, left = (np.concatenate(values[kind]) if values.get(kind) else np.empty(0)
                                       for kind in ("still_waiting", "taken_back", "entry", "exit"))
    waits = Waits(entry, left, np.concatenate(values["is_start"]) if len(entry) else np.empty(0, bool))
    estimates, started, mean = waits.quantiles(np.array(KM_QUANTILES) / 100), left[waits.started], waits.mean()
    del entry, left, waits
    mean_of_started, at = started.mean() if len(started) else np.nan, np.array(QUANTILES) / 100
    quantiles = np.quantile(started, at, overwrite_input=True) if len(started) else np.full(len(at), np.nan)
    return {"wait_mean": mean_of_started,
            **{f"wait_p{q:02d}": value for q, value in zip(QUANTILES, quantiles, strict=True)},
            "started": len(started), "still_waiting": len(waiting),
            "still_waiting_p50": np.median(waiting) if len(waiting) else np.nan, "taken_back": len(withdrawn),
            **{f"wait_km_p{q:02d}": value for q, value in zip(KM_QUANTILES, estimates, strict=True)},
            "wait_little": mean}


@dataclass(frozen=True)
class Waits:
    """Waits as a window sees them: arrays (n,) of times since activation, and whether the job started (bool).

    entry: when the window first sees the job, 0 if it was activated in the window; exit: when the job started, was
    withdrawn or the window ended.
    """

    entry: np.ndarray
    exit: np.ndarray
    started: np.ndarray

    def quantiles(self, at: Sequence[float] | np.ndarray) -> np.ndarray:
        """Product-limit estimate of the quantiles `at` of the waiting time; NaN beyond the last one that is reached.

        Worked out start by start up to the largest, some at once, which takes a fraction of the memory.
        Source: Kaplan and Meier, J. Am. Stat. Assoc. 53 (1958) 457; jobs seen late enter the set at risk late.
        """
        starts, others, entries = self.exit[self.started], self.exit[~self.started], self.entry[self.entry > 0]
        for moments in (starts, others, entries):
            moments.sort()
        at_first = len(self.entry) - len(entries)                            # at risk from the beginning on
        found, wanted, still_waiting, first = np.full(len(at), np.nan), -(1 - np.asarray(at)) - 1e-12, 1.0, 0
        while first < len(starts) and np.isnan(found).any():
            end = np.searchsorted(starts, starts[min(first + AT_ONCE, len(starts)) - 1], side="right")
            times, n_started = np.unique(starts[first:end], return_counts=True)
            at_risk = (at_first + np.searchsorted(entries, times, side="right") - np.searchsorted(others, times)
                       - (first + np.cumsum(n_started) - n_started))
            waiting = np.cumprod(np.append(still_waiting, 1 - n_started / at_risk))[1:]
            reached = np.searchsorted(-waiting, wanted)
            found = np.where(np.isnan(found), np.append(times, np.nan)[reached], found)
            first, still_waiting = end, waiting[-1]
        return found

    def mean(self) -> float:
        """Mean number waiting over the rate of starts (Little's law); NaN if no job started."""
        n_started = np.count_nonzero(self.started)
        return float((self.exit.sum() - self.entry.sum()) / n_started) if n_started else np.nan
