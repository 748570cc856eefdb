"""Refusals of the brokers, in the window or over the whole run."""

from collections.abc import Callable, Collection, Sequence
from functools import partial

import numpy as np
import pandas as pd

from simgrid_broker.metrics.explain import JOB_BROKERAGE, criteria
from simgrid_broker.metrics.kept import kept
from simgrid_broker.metrics.tidy import matrix, tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.names import USED
from simgrid_broker.records import Run

RULE = ("tag", "criterion")
"""Columns that name the rule of a refusal."""


@kept
def refusals(run: Run) -> pd.DataFrame:
    """How often each rule was the first to refuse each candidate; dimensions kind, candidate, tag and criterion."""
    table = in_window(run, "candidate")
    table = table[table.tag != USED].rename(columns={"count": "refusals"})
    return tidy(table, ["kind", "candidate", *RULE], {"refusals": "refusals"}, window_of(run))


def brokerage_funnel(run: Run, kind: str = JOB_BROKERAGE) -> pd.DataFrame:
    """Candidates left after each rule of job or analysis brokerage, mean over the decisions of a share.

    Dimensions share, tag and criterion, in the order of the chain; rules without a refusal are omitted. Metric left,
    candidates. Empty for a run without counts of used candidates.
    """
    rows = _counts(run, kind, "share")
    if not (rows.tag == USED).any():
        return tidy(rows[:0].assign(left=0.0), ["share", *RULE], {"left": "candidates"}, window_of(run))
    n_candidates = len(run.manifest["vocabularies"]["pseudo_queues"])
    steps = matrix(rows, "share", "criterion", "count").fillna(0.0)
    steps = steps[sorted(steps.columns, key=dict(zip(rows.criterion, rows.step, strict=True)).__getitem__)]
    asked = steps.sum(axis=1)
    left = (-steps.drop(columns=USED).cumsum(axis=1)).add(asked, axis=0).mul(n_candidates).div(asked, axis=0)
    table = left.stack().rename("left").reset_index()
    table["tag"] = table.criterion.map(dict(zip(rows.criterion, rows.tag, strict=True)))
    return tidy(table, ["share", *RULE], {"left": "candidates"}, window_of(run))


def refusal_counts(run: Run, queue: str | None = None, by: Collection[str] = ("share",)) -> pd.DataFrame:
    """How often each rule refused a queue or site (None = all), over all decisions, recorded or not.

    A PanDA queue counts once in a decision, with the rule that refused its last pseudo-queue. by: further columns of
    refusals to group by. Columns: kind, `by`, tag, criterion, count and part (% of the count of the same kind and
    `by`), largest first.
    """
    columns = ["kind", *by, *RULE]
    table = sums_of_refusals(run, columns, {*columns, "candidate"}, partial(_about, queue=queue), "queue_count")
    return _with_parts(table, list(by))


def refusals_over_time(run: Run, queue: str | None = None, bins: int = 12) -> pd.DataFrame:
    """As `refusal_counts`, in `bins` equal intervals of the run.

    Columns: kind, start_s, end_s, tag, criterion, count and part.
    """
    edges = np.linspace(0, run.end_s, bins + 1)

    def chosen(rows: pd.DataFrame) -> pd.DataFrame:
        rows = _about(rows, queue)
        place = np.clip(np.searchsorted(edges, rows.time_s, "left") - 1, 0, bins - 1)    # counts precede time_s
        return rows.assign(start_s=edges[place], end_s=edges[place + 1])
    table = sums_of_refusals(run, ["kind", "start_s", "end_s", *RULE], {"kind", *RULE, "time_s", "candidate"}, chosen,
                             "queue_count")
    return _with_parts(table, ["start_s", "end_s"]).sort_values(["kind", "start_s"], kind="stable", ignore_index=True)


def sums_of_refusals(run: Run, by: Sequence[str], columns: Collection[str],
                     chosen: Callable[[pd.DataFrame], pd.DataFrame], number: str = "count") -> pd.DataFrame:
    """A number of refusals summed as `count` by the columns `by`; RULE is USED where no rule refused; names as text.

    The refusals of a long run outnumber its jobs, so the table is read in batches. chosen(rows): selects rows of a
    batch and adds columns; columns: the columns to read, RULE among them, in addition to `number`.
    """
    pieces = []
    for rows in run.batches("refusals", [*sorted(columns), number]):
        rows = chosen(rows)
        rows = rows.assign(**{name: rows[name].cat.add_categories([USED]).fillna(USED) for name in RULE})
        sums = rows.groupby(list(by), observed=True, sort=False)[number].sum().rename("count").reset_index()
        pieces.append(sums.astype({name: object for name in sums.select_dtypes("category")}))
    return pd.concat(pieces).groupby(list(by))["count"].sum().reset_index()


def _counts(run: Run, kind: str, by: str) -> pd.DataFrame:
    """Counts of one broker in the window by column `by` and rule, and the position of the rule (step)."""
    rows = in_window(run, by)
    rows = rows[rows.kind == kind].drop(columns="kind")
    place = {name: number for number, name in enumerate(criteria(run, kind).criterion)}
    return rows.assign(step=rows.criterion.map(place).fillna(len(place)))


@kept
def in_window(run: Run, by: str, number: str = "count") -> pd.DataFrame:
    """A number of refusals in the window, as `count`, by kind, column `by` and rule, USED included."""
    window = window_of(run)
    columns = ["kind", by, *RULE]
    return sums_of_refusals(run, columns, {*columns, "time_s"}, lambda rows: rows[window.covers(rows.time_s)], number)


def _about(rows: pd.DataFrame, queue: str | None) -> pd.DataFrame:
    return rows if queue is None else rows[rows.candidate == queue]


def _with_parts(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Counts by kind, `by` and rule with their % of the same kind and `by`, largest first."""
    table["part"] = 100 * table["count"] / table.groupby(["kind", *by])["count"].transform("sum")
    table = table[table["count"] > 0]
    return table.sort_values(["kind", *by, "count", *RULE], ascending=[True, *[True] * len(by), False, True, True],
                             ignore_index=True)
