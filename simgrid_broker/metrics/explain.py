"""Recorded decisions of the brokers, by task and by queue.

Candidates are pseudo-queues or, for task brokerage, sites; `queue` is the PanDA queue of a pseudo-queue, or the site
itself. A candidate that no rule refused has USED as tag and criterion.
"""

from collections.abc import Collection

import numpy as np
import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import once_per_run, window_of
from simgrid_broker.names import USED, DecisionKind
from simgrid_broker.records import Run
from simgrid_broker.wording import labels, worded

JOB_BROKERAGE, ANALYSIS_BROKERAGE = DecisionKind.JOB_BROKERAGE.word, DecisionKind.ANALYSIS_BROKERAGE.word
ABOUT_QUEUES = (JOB_BROKERAGE, ANALYSIS_BROKERAGE)
"""Brokers whose candidates are queues, not sites."""


@once_per_run
def criteria(run: Run, kind: str) -> pd.DataFrame:
    """The steps of a broker in order of application: criterion (name of the rule), tag, panda (PanDA's name), label,
    unit of its figures, says (what a refusal reads like, `wording.worded`), and meaning (what it does, in a sentence).

    label: the tag, with the criterion where several rules share the tag. A run whose manifest has no criteria gives all
    its tags, in the order of their codes.
    """
    tags = run.manifest["vocabularies"]["tags"]
    steps = run.manifest.get("criteria", {}).get(kind) or [dict(criterion=tag, tag=tag, panda=tag) for tag in tags]
    table = pd.DataFrame([{"unit": "", "says": "", "meaning": "", **step} for step in steps],
                         columns=["criterion", "tag", "panda", "unit", "says", "meaning"])
    return table.assign(label=labels(table.criterion, table.tag))


def with_labels(run: Run, table: pd.DataFrame) -> pd.DataFrame:
    """A table with kind and criterion, and a column `rule` more: the label of each criterion, or USED."""
    labels = {kind: criteria(run, kind).set_index("criterion").label.to_dict() | {USED: USED}
              for kind in DecisionKind.words()}
    return table.assign(rule=[labels[kind].get(name, name)
                              for kind, name in zip(table.kind, table.criterion, strict=True)])


def reasons(run: Run, rows: pd.DataFrame) -> list[str]:
    """Sentence for the refusal in each of some `rows` of `explain`; empty for a candidate in use."""
    sentences = {kind: criteria(run, kind).set_index("criterion")[["says", "unit"]].to_dict("index")
             for kind in DecisionKind.words()}
    return ["" if row.criterion == USED else worded(
        **sentences[row.kind].get(row.criterion, {"says": "", "unit": ""}), value=row.value, limit=row.limit,
        text=row.text if isinstance(row.text, str) else "") for row in rows.itertuples()]


def explain(run: Run, task: int | None = None, tasks: Collection[int] | None = None) -> pd.DataFrame:
    """Every recorded candidate of one task, of some or of all: one row per candidate and decision, in order of time.

    Columns: decision, time_s, kind, jeditaskid, share, n_jobs (of the decision), candidate, queue, tag and criterion of
    the refusing rule (or USED), order, weight, value, limit, text (what is no figure), distance (from value to limit)
    and nearness (distance relative to the larger of both; 0 = at the limit); NaN where a rule compares no figures.
    `reasons` makes sentences of them.
    """
    decisions = run.table("decisions", ["decision", "time_s", "kind", "jeditaskid", "share", "n_jobs"])
    if task is not None:
        decisions = decisions[decisions.jeditaskid == task]
    if tasks is not None:
        decisions = decisions[decisions.jeditaskid.isin(tasks)]
    rows = _of_decisions(run, "candidates", set(decisions.decision))
    rows = decisions.astype({"kind": object, "share": object}).merge(rows, on="decision")
    rows["queue"] = rows.candidate.map(queue_of(run))
    size = np.maximum(rows.value.abs(), rows.limit.abs())
    rows["distance"] = (rows.value - rows.limit).abs()
    rows["nearness"] = rows.distance / size.where(size > 0)
    places = ["decision", "time_s", "kind", "jeditaskid", "share", "n_jobs", "candidate", "queue", "tag", "criterion"]
    return rows[[*places, "order", "weight", "value", "limit", "text", "distance", "nearness"]]


def decisions(run: Run) -> pd.DataFrame:
    """Recorded decisions by kind; metrics decisions, without_candidate (all candidates refused), placed (jobs)."""
    window = window_of(run)
    rows = run.table("decisions", ["time_s", "kind", "n_kept", "n_jobs"])
    rows = rows[window.holds(rows.time_s)].assign(without_candidate=rows.n_kept == 0)
    groups = rows.astype({"kind": object}).groupby("kind")
    table = groups.agg(decisions=("n_kept", "size"), without_candidate=("without_candidate", "sum"),
                       placed=("n_jobs", "sum")).reset_index()
    return tidy(table, ["kind"], {"decisions": "decisions", "without_candidate": "decisions", "placed": "jobs"}, window)


def factors(run: Run, decisions: Collection[int]) -> pd.DataFrame:
    """Factors of the weights of the used candidates of `decisions`: decision, candidate, factor, multiplier."""
    return _of_decisions(run, "factors", decisions)


def funnels(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Candidates left after each step of each decision in `rows` of `explain`.

    Columns: decision, step, panda, tags, criteria, refused, left. Steps that did not concern the task are left out;
    consecutive rules with the same PanDA name are one step.
    """
    columns = ["decision", "step", "panda", "tags", "criteria", "refused", "left"]
    kinds = rows.drop_duplicates("decision")[["decision", "kind"]]
    steps = _of_decisions(run, "steps", set(kinds.decision)).merge(kinds, on="decision")
    if not len(steps):
        return pd.DataFrame(columns=columns)
    rules = pd.concat([criteria(run, kind).assign(kind=kind) for kind in kinds.kind.unique()])
    steps = steps.merge(rules, on=["kind", "criterion"], how="left")
    new = (steps[["decision", "panda"]] != steps[["decision", "panda"]].shift()).any(axis=1)
    steps["step"] = new.groupby(steps.decision).cumsum()
    table = steps.groupby(["decision", "step", "panda"], sort=False).agg(
        tags=("tag", _joined), criteria=("criterion", " ".join), refused=("refused", "sum"), left=("left", "last"))
    return table.reset_index()[columns]


def stretches(rows: pd.DataFrame) -> pd.DataFrame:
    """Consecutive decisions with the same rule for a candidate, from `rows` of `explain`.

    Columns: candidate, kind, start_s, end_s, decisions, tag, criterion, and time_s, value, limit, text, distance and
    nearness of the decision in which it was nearest to the limit.
    """
    rows = rows.sort_values(["kind", "candidate", "time_s", "decision"], kind="stable")
    same = ["kind", "candidate", "tag", "criterion"]
    new = (rows[same] != rows[same].shift()).any(axis=1)
    table = _nearest(rows.assign(stretch=new.cumsum()), ["stretch", *same])
    return table.drop(columns="stretch")


def by_rule(rows: pd.DataFrame) -> pd.DataFrame:
    """Rules of each candidate in `rows` of `explain`, most frequent first: columns as in `stretches`, and part (%)."""
    table = _nearest(rows, ["kind", "candidate", "tag", "criterion"])
    asked = table.groupby(["kind", "candidate"]).decisions.transform("sum")
    table = table.assign(part=100 * table.decisions / asked)
    return table.sort_values(["kind", "candidate", "decisions"], ascending=[True, True, False], ignore_index=True)


def queue_of(run: Run) -> dict[str, str]:
    """PanDA queue of each pseudo-queue by name; sites map to themselves."""
    words = run.manifest["vocabularies"]
    queues = set(words["queues"])
    pseudo = {name: name if name in queues else name.rpartition("/")[0] for name in words["pseudo_queues"]}
    return {site: site for site in words["sites"]} | pseudo


def _of_decisions(run: Run, table: str, decisions: Collection[int]) -> pd.DataFrame:
    """Rows of candidates or factors of `decisions`, names as text."""
    batches = [rows[rows.decision.isin(decisions)].astype({name: object for name in rows.select_dtypes("category")})
             for rows in run.batches(table)]
    rows = pd.concat(batches, ignore_index=True)
    rule = [name for name in ("tag", "criterion") if name in rows]
    return rows.assign(**{name: rows[name].fillna(USED) for name in rule})


def _joined(tags: pd.Series) -> str:
    """The tags of a step, each once."""
    return " ".join(dict.fromkeys(tags))


def _nearest(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Groups of rows with their number, first and last time, and the figures nearest to the limit."""
    groups = rows.groupby(by, sort=False)
    table = groups.agg(start_s=("time_s", "min"), end_s=("time_s", "max"), decisions=("decision", "size")).reset_index()
    order = rows.assign(rank=rows.nearness.fillna(2.0)).sort_values(["rank", "time_s"], kind="stable")
    columns = ["time_s", "value", "limit", "text", "distance", "nearness"]
    return table.merge(order[[*by, *columns]].drop_duplicates(by), on=by)
