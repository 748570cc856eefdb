"""Refusals and decisions of the brokers in the window."""

import pandas as pd

from simgrid_broker.metrics.explain import JOB_BROKERAGE, criteria, sums_of_refusals
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.names import USED
from simgrid_broker.records import Run


def refusals(run: Run) -> pd.DataFrame:
    """How often each rule was the first to refuse each candidate; dimensions kind, candidate and tag."""
    table = _in_window(run, "candidate")
    table = table[table.tag != USED].rename(columns={"count": "refusals"})
    return tidy(table, ["kind", "candidate", "tag"], {"refusals": "refusals"}, window_of(run))


def refusal_rates(run: Run, kind: str = JOB_BROKERAGE, most: int = 20) -> pd.DataFrame:
    """How often each rule was the first to refuse each candidate, % of the decisions on the candidate (rate).

    Dimensions candidate and tag (USED: not refused); the `most` candidates with most refusals, rules in the order of
    the chain.
    """
    rows = _counts(run, kind, "candidate")
    asked = rows.groupby("candidate")["count"].transform("sum")
    refused = rows[rows.tag != USED].groupby("candidate")["count"].sum().sort_values(ascending=False, kind="stable")
    rows = rows.assign(rate=100 * rows["count"] / asked, place=rows.candidate.map(
        {name: place for place, name in enumerate(refused.index[:most])}))
    rows = rows[rows.place.notna()].sort_values(["place", "step"])
    return tidy(rows, ["candidate", "tag"], {"rate": "%"}, window_of(run))


def brokerage_funnel(run: Run) -> pd.DataFrame:
    """Candidates left after each rule of job brokerage, mean over the decisions of a share.

    Dimensions share and tag, in the order of the chain; rules without a refusal are omitted. Metric left, candidates.
    Empty for a run without counts of used candidates.
    """
    rows = _counts(run, JOB_BROKERAGE, "share")
    if not (rows.tag == USED).any():
        return tidy(rows[:0].assign(left=0.0), ["share", "tag"], {"left": "candidates"}, window_of(run))
    n_candidates = len(run.manifest["vocabularies"]["pseudo_queues"])
    steps = rows.pivot_table("count", "share", "tag", aggfunc="sum", fill_value=0)
    steps = steps[sorted(steps.columns, key=dict(zip(rows.tag, rows.step, strict=True)).__getitem__)]
    asked = steps.sum(axis=1)
    left = (-steps.drop(columns=USED).cumsum(axis=1)).add(asked, axis=0).mul(n_candidates).div(asked, axis=0)
    table = left.stack().rename("left").reset_index()
    return tidy(table, ["share", "tag"], {"left": "candidates"}, window_of(run))


def _counts(run: Run, kind: str, by: str) -> pd.DataFrame:
    """Counts of one broker in the window by column `by` and tag, and the position of the tag's rule (step)."""
    rows = _in_window(run, by)
    rows = rows[rows.kind == kind].drop(columns="kind")
    place = {tag: number for number, tag in enumerate(criteria(run, kind).tag)}
    return rows.assign(step=rows.tag.map(place).fillna(len(place)))


def _in_window(run: Run, by: str) -> pd.DataFrame:
    """Counts in the window by kind, column `by` and tag, USED included."""
    window = window_of(run)
    columns = ["kind", by, "tag"]
    return sums_of_refusals(run, columns, {*columns, "time_s"}, lambda rows: rows[window.covers(rows.time_s)])


def decisions(run: Run) -> pd.DataFrame:
    """Recorded decisions by kind; metrics decisions, without_candidate (all candidates refused), placed (jobs)."""
    window = window_of(run)
    rows = run.table("decisions", ["time_s", "kind", "n_kept", "n_jobs"])
    rows = rows[window.holds(rows.time_s)].assign(without_candidate=rows.n_kept == 0)
    groups = rows.astype({"kind": object}).groupby("kind")
    table = groups.agg(decisions=("n_kept", "size"), without_candidate=("without_candidate", "sum"),
                       placed=("n_jobs", "sum")).reset_index()
    return tidy(table, ["kind"], {"decisions": "decisions", "without_candidate": "decisions", "placed": "jobs"}, window)
