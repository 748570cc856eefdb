"""Reach of a share: the cores, or sites, that each rule of a broker takes from it, and what is left of them."""

from collections.abc import Mapping

import pandas as pd

from simgrid_broker.metrics.explain import ABOUT_QUEUES, JOB_BROKERAGE, criteria, with_labels
from simgrid_broker.metrics.kept import kept
from simgrid_broker.metrics.refusal import RULE, in_window, sums_of_refusals
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.names import USED, DecisionKind, QueueStatus
from simgrid_broker.records import Run

ONLINE = QueueStatus.ONLINE.word
TASK_BROKERAGE = DecisionKind.TASK_BROKERAGE.word


@kept
def reach(run: Run, kind: str = JOB_BROKERAGE) -> pd.DataFrame:
    """What each rule takes from each share, mean over all decisions of the run.

    Job and analysis brokerage: cores of batch pools, each with the rule that refused its last candidate, as only this
    one matters; task brokerage: sites. Dimensions share, tag and criterion, in the order of removal, USED last: what is
    left. Metrics: taken and left (after the rule), cores or sites; part, % of all; decisions, of the share.
    """
    rows = sums_of_refusals(run, ["share", "candidate", *RULE], {"kind", "share", "candidate", *RULE},
                            lambda rows: rows[rows.kind == kind], "queue_count")
    decisions = rows.groupby(["share", "candidate"])["count"].sum().groupby("share").max()
    unit, size = "sites", {}
    if kind in ABOUT_QUEUES:
        unit, size = "cores", cores_of(run)
        rows = sums_of_refusals(run, ["share", "candidate", *RULE], {"kind", "share", "candidate", *RULE},
                                lambda rows: rows[rows.kind == kind], "pool_count")
    rows["taken"] = rows["count"] * rows.candidate.map(size).astype(float).fillna(1.0) / rows.share.map(decisions)
    rows = rows[rows.taken > 0].astype({"taken": float})
    table = rows.groupby(["share", *RULE]).taken.sum().reset_index()
    table = _in_order(run, kind, table, ["share"])
    return tidy(table.assign(decisions=table.share.map(decisions)), ["share", *RULE],
                {"taken": unit, "left": unit, "part": "%", "decisions": "decisions"}, "whole run")


@kept
def cores_lost(run: Run, kind: str = JOB_BROKERAGE) -> pd.DataFrame:
    """Cores that job or analysis brokerage lost at each PanDA queue by rule, mean over the decisions in the window.

    A batch pool counts in each decision at the queue that came furthest, with the rule that refused it. Queues that are
    never online are left out. Dimensions candidate, tag and criterion. Metric cores.
    """
    rows = in_window(run, "candidate", "queue_count")
    asked = rows[rows.kind == kind].groupby("candidate")["count"].sum().max()
    rows = in_window(run, "candidate", "pool_count")
    rows = rows[(rows.kind == kind) & (rows.tag != USED) & rows.candidate.isin(online(run))]
    rows = rows.assign(cores=rows["count"] * rows.candidate.map(cores_of(run)).astype(float) / asked)
    return tidy(rows[rows.cores > 0], ["candidate", *RULE], {"cores": "cores"}, window_of(run))


def refusal_rates(run: Run, most: int = 20, kind: str = JOB_BROKERAGE) -> pd.DataFrame:
    """How often each rule refused the last pseudo-queue of a PanDA queue, % of the decisions on the queue (rate).

    Dimensions candidate, tag and criterion (USED: not refused), of the `most` queues with most `cores_lost`, in this
    order; rules in the order of the chain.
    """
    lost = cores_lost(run, kind).groupby("candidate").value.sum().sort_values(ascending=False, kind="stable")
    rows = in_window(run, "candidate", "queue_count")
    rows = rows[(rows.kind == kind) & (rows["count"] > 0)]
    asked = rows.groupby("candidate")["count"].transform("sum")
    rows = rows.assign(rate=100 * rows["count"] / asked, step=rows.criterion.map(places(run, kind)),
                       place=rows.candidate.map({name: place for place, name in enumerate(lost.index[:most])}))
    rows = rows[rows.place.notna()].sort_values(["place", "step"])
    return tidy(rows, ["candidate", *RULE], {"rate": "%"}, window_of(run))


@kept
def online(run: Run) -> frozenset[str]:
    """PanDA queues that were online at a sample of the window; in a run without samples, those of the scenario."""
    samples = run.table("queues", ["time_s", "queue", "status"])
    samples = samples[window_of(run).holds(samples.time_s) & (samples.status == ONLINE)]
    if len(samples):
        return frozenset(samples.queue.astype(object))
    queues = run.manifest["scenario"]["grid"]["queues"]
    return frozenset(name for name, queue in queues.items() if queue.get("status", ONLINE) == ONLINE)


def reach_recorded(run: Run, rows: pd.DataFrame, kind: str = JOB_BROKERAGE) -> pd.DataFrame:
    """The same of each decision in `rows` of `explain` that left no candidate.

    Columns: decision, time_s, jeditaskid, share, tag, criterion, rule (its label), taken, left and part.
    """
    rows = rows[(rows.kind == kind) & ~rows.decision.isin(rows.decision[rows.tag == USED])]
    pools, size = (pools_of(run), cores_of(run)) if kind in ABOUT_QUEUES else ({}, {})
    rows = rows.assign(pool=[pools.get(name, name) for name in rows.queue],
                       taken=[size.get(name, 1.0) for name in rows.queue],
                       place=rows.criterion.map(places(run, kind)))
    rows = rows.astype({"taken": float}).sort_values("place", kind="stable")
    last = rows.drop_duplicates(["decision", "pool"], keep="last")
    about = ["decision", "time_s", "jeditaskid", "share"]
    table = last.groupby([*about, *RULE]).taken.sum().reset_index()
    return with_labels(run, _in_order(run, kind, table, about).assign(kind=kind)).drop(columns="kind")


def cores_of(run: Run) -> dict[str, float]:
    """Cores of the batch pool of each PanDA queue by name, as the scenario has them."""
    grid = run.manifest["scenario"]["grid"]
    return {name: float(queue["cores"] if _has_cores(queue) else grid["sites"][queue["atlas_site"]]["cores"])
            for name, queue in grid["queues"].items()}


def pools_of(run: Run) -> dict[str, str]:
    """Batch pool of each PanDA queue by name: its own, or that of its site."""
    return {name: name if _has_cores(queue) else f"site {queue['atlas_site']}"
            for name, queue in run.manifest["scenario"]["grid"]["queues"].items()}


def places(run: Run, kind: str) -> dict[str, int]:
    """Place of each criterion of a broker in the order of removal, USED last."""
    return {name: number for number, name in enumerate((*criteria(run, kind).criterion, USED))}


def _has_cores(queue: Mapping) -> bool:
    """Whether a PanDA queue has a batch pool of its own."""
    return queue.get("cores") is not None


def _in_order(run: Run, kind: str, table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Rows in the order of removal, with what is left after each rule, and its part of all, %."""
    table = table.assign(place=table.criterion.map(places(run, kind))).sort_values([*by, "place"], kind="stable")
    groups = table.groupby(by, sort=False)
    total = groups.taken.transform("sum")
    refused = table.assign(taken=table.taken.where(table.tag != USED, 0.0).astype(float))
    left = total - refused.groupby(by, sort=False).taken.cumsum()
    return table.assign(left=left, part=100 * table.taken / total).drop(columns="place").reset_index(drop=True)
