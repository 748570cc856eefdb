"""Verdicts of the throttler about work queues, from the cycles of job generation of each hour."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.metrics.window import once_per_run
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR


class Verdict(NamedTuple):
    """A verdict in words, empty if jobs were made; settings that it reads, and the mean figures that it compared."""

    rule: str
    settings: tuple[str, ...]
    value: float
    limit: float


@once_per_run
def verdicts(run: Run) -> dict[tuple[int, str], Verdict]:
    """Verdicts that stopped job generation in most cycles of an hour, by its number and work queue."""
    rows = run.table("throttler")
    rows = rows.assign(hour=np.floor(rows.time_s / HOUR).astype(int), work_queue=rows.work_queue.astype(object))
    return {row.Index: _of(row) for row in _stopping(rows, ["hour", "work_queue"]).itertuples()}


def verdicts_of(run: Run, work_queue: str, resource_type: Any) -> dict[int, str]:
    """Verdicts that stopped job generation of a work queue and resource type in most cycles of hours, by their numbers.
    """
    rows = _cycles(run, work_queue)
    rows = rows[rows.resource_type.isna() | (rows.resource_type == resource_type)]
    return {int(row.Index // HOUR): _of(row).rule for row in _stopping(rows, ["time_s"]).itertuples()}


def last_verdict(run: Run, work_queue: str) -> Verdict | None:
    """The verdict of most cycles of job generation of a work queue in its last hour; None if none is recorded."""
    rows = _cycles(run, work_queue)
    rows = rows[rows.time_s == rows.time_s.max()]
    return _of(rows.loc[rows.cycles.idxmax()]) if len(rows) else None


def served_seldom(run: Run, ready_hours: Mapping[str, int]) -> frozenset[str]:
    """Work queues for which job generation ran at most once an hour, as its period of an hour or more says.

    ready_hours: number of hours in which input of each was ready.
    """
    if run.manifest["scenario"]["agents"]["job_generator"] < HOUR:
        return frozenset()
    rows = run.table("throttler", ["work_queue", "resource_type", "analysis", "cycles"])
    rows = rows.astype({name: object for name in ("work_queue", "resource_type")})
    cycles = rows.groupby(["work_queue", "resource_type", "analysis"], dropna=False).cycles.sum()
    most = cycles.groupby("work_queue").max()
    return frozenset(name for name, hours in ready_hours.items() if most.get(name, 0) <= hours)


def _cycles(run: Run, work_queue: str) -> pd.DataFrame:
    """Rows of the throttler about a work queue; none in a run that recorded none."""
    known = "throttler" in run.tables
    rows = run.table("throttler") if known else pd.DataFrame(columns=["work_queue", "time_s", "resource_type", "skip",
                                                                      "used_up", "cycles"])
    return rows[rows.work_queue == work_queue]


def _stopping(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The most frequent verdict that stopped job generation in each of the groups `by` in which most cycles were."""
    stopped = rows[(rows.skip == 1) | (2 * rows.used_up > rows.cycles)]
    cycles, those = (each.groupby(list(by)).cycles.sum() for each in (rows, stopped))
    most = stopped.sort_values("cycles", ascending=False, kind="stable").drop_duplicates(list(by)).set_index(list(by))
    return most[(2 * those > cycles.reindex(those.index)).reindex(most.index)]


def _of(row: Any) -> Verdict:
    """The verdict that a row of the throttler tells of."""
    settings = tuple(f"gdpconfig.{key}" for key in row.key.split(", ")) if isinstance(row.key, str) else ()
    counted = row.running if "running >" in row.verdict else row.queued if row.skip else row.made
    rule = row.verdict if row.skip else "all jobs of a cycle made" if 2 * row.used_up > row.cycles else ""
    return Verdict(rule, settings, float(counted / row.cycles), float(row.limit / row.cycles))
