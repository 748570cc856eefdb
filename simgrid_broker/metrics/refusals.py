"""Recorded decisions of the brokers, by task and by queue, the cores or sites that each rule takes from a share, and
verdicts of the throttler about work queues, from the cycles of job generation of each hour.

Candidates are pseudo-queues or, for task brokerage, sites; `queue` is the PanDA queue of a pseudo-queue, or the site
itself. A candidate that no rule refused has USED as tag and criterion.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.metrics.window import (
    grouped,
    matrix,
    once_per_run,
    summed,
    sums,
    sums_of_batches,
    texts,
    tidy,
    window_of,
)
from simgrid_broker.names import USED, DecisionKind, QueueStatus
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR
from simgrid_broker.wording import labels, worded

JOB_BROKERAGE, ANALYSIS_BROKERAGE = DecisionKind.JOB_BROKERAGE.word, DecisionKind.ANALYSIS_BROKERAGE.word
ABOUT_QUEUES = (JOB_BROKERAGE, ANALYSIS_BROKERAGE)
"""Brokers whose candidates are queues, not sites."""


@once_per_run
def criteria(run: Run, kind: str) -> pd.DataFrame:
    """The steps of a broker in order of application: criterion (name of the rule), tag, panda (PanDA's name), label,
    unit of its figures, says (what a refusal reads like, `wording.worded`), meaning (what it does, in a sentence), and
    the settings that it reads: keys of gdpconfig, attributes of a queue or storage, parameters of a task.

    label: the tag, with the criterion where several rules share the tag. A run whose manifest has no criteria gives all
    its tags, in the order of their codes.
    """
    tags = run.manifest["vocabularies"]["tags"]
    steps = run.manifest.get("criteria", {}).get(kind) or [dict(criterion=tag, tag=tag, panda=tag) for tag in tags]
    table = pd.DataFrame([{"unit": "", "says": "", "meaning": "", "keys": [], "queue": [], "storage": [],
                            "task": [], **step}
                          for step in steps],
                         columns=["criterion", "tag", "panda", "unit", "says", "meaning", "keys", "queue", "storage",
                                  "task"])
    return table.assign(label=labels(table.criterion, table.tag))


@once_per_run
def rules_of(run: Run, kind: str) -> tuple[Any, ...]:
    """The rows of `criteria`, which do not change, as tuples with names."""
    return tuple(criteria(run, kind).itertuples(index=False, name="Rule"))


def with_labels(run: Run, table: pd.DataFrame) -> pd.DataFrame:
    """A table with kind and criterion, and a column `rule` more: the label of each criterion, or USED."""
    by_kind = _labels(run)
    kinds, names = (np.asarray(table[name].array, object) for name in ("kind", "criterion"))   # walked faster
    return table.assign(rule=[by_kind[kind].get(name, name) for kind, name in zip(kinds, names, strict=True)])


@once_per_run
def _labels(run: Run) -> dict[str, dict[str, str]]:
    """Label of each criterion, and USED, by kind of decision."""
    return {kind: {rule.criterion: rule.label for rule in rules_of(run, kind)} | {USED: USED}
            for kind in DecisionKind.words()}


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
    rows = texts(decisions, "kind", "share").merge(rows, on="decision")
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
    rows = rows[window.holds(rows.time_s)].assign(decisions=1, without_candidate=rows.n_kept == 0, placed=rows.n_jobs)
    table = sums(rows, ["kind"], "decisions", "without_candidate", "placed")
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


RULE = ("tag", "criterion")
"""Columns that name the rule of a refusal."""
NUMBERS = ("count", "queue_count", "pool_count")
"""Columns with numbers of refusals: of candidates, and of queues and batch pools by the one that came furthest."""
ONLINE = QueueStatus.ONLINE.word
TASK_BROKERAGE = DecisionKind.TASK_BROKERAGE.word


@once_per_run
def refusals(run: Run) -> pd.DataFrame:
    """Decisions in which a rule was the first to refuse a candidate; dimensions kind, candidate, tag, criterion."""
    table = in_window(run, "candidate")
    table = table[table.tag != USED].rename(columns={"count": "refusals"})
    return tidy(table, ["kind", "candidate", *RULE], {"refusals": "refusals"}, window_of(run))


def refusals_by_tag(run: Run) -> pd.DataFrame:
    """Refusals in the window by tag, of all brokers and candidates together; dimension tag.

    Metrics: refusals; part, % of the candidates that brokers with this tag looked at.
    """
    rows = sums(in_window(run, "candidate"), ["kind", "tag"], "count")
    table = sums(rows.assign(asked=total(rows, ["kind"], "count"))[rows.tag != USED], ["tag"], "count", "asked")
    table = table.assign(refusals=table["count"], part=100 * table["count"] / table.asked)
    return tidy(table[["tag", "refusals", "part"]], ["tag"], {"refusals": "refusals", "part": "%"}, window_of(run))


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
    """Numbers of refusals of a queue or site (None = all) by each rule, over all decisions, recorded or not.

    A PanDA queue counts once in a decision, with the rule that refused its last pseudo-queue. by: further columns to
    group by, share and candidate. Columns: kind, `by`, tag, criterion, count and part (% of the count of the same kind
    and `by`), largest first.
    """
    table = _about(all_refusals(run), queue)
    return _with_parts(counted(table, ["kind", *by, *RULE], "queue_count"), list(by))


@once_per_run
def all_refusals(run: Run) -> pd.DataFrame:
    """Sums of the numbers of refusals by kind, share, candidate and rule, apart for decisions in the window or not."""
    window, columns = window_of(run), ["kind", "share", "candidate", *RULE]
    return sums_of_refusals(run, [*columns, "is_in_window"], {*columns, "time_s"},
                            lambda rows: rows.assign(is_in_window=window.covers(rows.time_s)), *NUMBERS)


def counted(rows: pd.DataFrame, by: Sequence[str], number: str) -> pd.DataFrame:
    """Sums of a number of refusals by the columns `by`, as `count`."""
    return sums(rows, by, number).rename(columns={number: "count"})


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
                             "queue_count").rename(columns={"queue_count": "count"})
    return _with_parts(table, ["start_s", "end_s"]).sort_values(["kind", "start_s"], kind="stable", ignore_index=True)


def sums_of_refusals(run: Run, by: Sequence[str], columns: Collection[str],
                     chosen: Callable[[pd.DataFrame], pd.DataFrame], *numbers: str) -> pd.DataFrame:
    """Some numbers of refusals summed by the columns `by`; RULE is USED where no rule refused; names as text.

    The refusals of a long run outnumber its jobs, so the table is read in batches. chosen(rows): selects rows of a
    batch and adds columns; columns: the columns to read, RULE among them, in addition to the numbers, of NUMBERS.
    """
    batches = map(chosen, run.batches("refusals", [*sorted(columns), *numbers]))
    return sums_of_batches((rows.assign(**{name: rows[name].cat.add_categories([USED]).fillna(USED) for name in RULE})
                            for rows in batches), by, *numbers)


def total(table: pd.DataFrame, by: Sequence[str], figure: str) -> np.ndarray:
    """Sum of a figure over the rows that have the values of each row in the columns `by`."""
    keys, group = grouped(table, by)
    return summed(table[figure].to_numpy(), group, len(keys[by[0]]))[group]


def _counts(run: Run, kind: str, by: str) -> pd.DataFrame:
    """Counts of one broker in the window by column `by` and rule, and the position of the rule (step)."""
    rows = in_window(run, by)
    rows = rows[rows.kind == kind].drop(columns="kind")
    return rows.assign(step=rows.criterion.map(places(run, kind)).astype(float))


@once_per_run
def in_window(run: Run, by: str, number: str = "count") -> pd.DataFrame:
    """A number of refusals in the window, as `count`, by kind, column `by` and rule, USED included."""
    rows = all_refusals(run)
    return counted(rows[rows.is_in_window], ["kind", by, *RULE], number)


def _about(rows: pd.DataFrame, queue: str | None) -> pd.DataFrame:
    return rows if queue is None else rows[rows.candidate == queue]


def _with_parts(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Counts by kind, `by` and rule with their % of the same kind and `by`, largest first."""
    table["part"] = 100 * table["count"] / total(table, ["kind", *by], "count")
    table = table[table["count"] > 0]
    return table.sort_values(["kind", *by, "count", *RULE], ascending=[True, *[True] * len(by), False, True, True],
                             ignore_index=True)


@once_per_run
def reach(run: Run, kind: str = JOB_BROKERAGE) -> pd.DataFrame:
    """Cores or sites that each rule takes from each share, mean over all decisions of the run.

    Job and analysis brokerage: cores of batch pools, each with the rule that refused its last candidate, as only this
    one matters; task brokerage: sites. Dimensions share, tag and criterion, in the order of removal, USED last: what is
    left. Metrics: taken and left (after the rule), cores or sites; part, % of all; decisions, of the share.
    """
    of_kind, by = all_refusals(run), ["share", "candidate", *RULE]
    of_kind = of_kind[of_kind.kind == kind]
    rows = counted(of_kind, by, "queue_count")
    asked = sums(rows, ["share", "candidate"], "count").sort_values("count").drop_duplicates("share", keep="last")
    decisions = asked.set_index("share")["count"]
    unit, size = "sites", {}
    if kind in ABOUT_QUEUES:
        unit, size = "cores", cores_of(run)
        rows = counted(of_kind, by, "pool_count")
    decided = rows.share.map(decisions).astype(float)
    rows["taken"] = rows["count"] * rows.candidate.map(size).astype(float).fillna(1.0) / decided
    rows = rows[rows.taken > 0].astype({"taken": float})
    table = sums(rows, ["share", *RULE], "taken")
    table = _in_order(run, kind, table, ["share"])
    return tidy(table.assign(decisions=table.share.map(decisions)), ["share", *RULE],
                {"taken": unit, "left": unit, "part": "%", "decisions": "decisions"}, "whole run")


@once_per_run
def cores_lost(run: Run, kind: str = JOB_BROKERAGE) -> pd.DataFrame:
    """Cores that job or analysis brokerage lost at each PanDA queue by rule, mean over the decisions in the window.

    A batch pool counts in each decision at the queue that came furthest, with the rule that refused it. Queues that are
    never online are left out. Dimensions candidate, tag and criterion. Metric cores.
    """
    rows = in_window(run, "candidate", "queue_count")
    asked = sums(rows[rows.kind == kind], ["candidate"], "count")["count"].max()
    rows = in_window(run, "candidate", "pool_count")
    rows = rows[(rows.kind == kind) & (rows.tag != USED) & rows.candidate.isin(online(run))]
    rows = rows.assign(cores=rows["count"] * rows.candidate.map(cores_of(run)).astype(float) / asked)
    return tidy(rows[rows.cores > 0], ["candidate", *RULE], {"cores": "cores"}, window_of(run))


def refusal_rates(run: Run, most: int = 20, kind: str = JOB_BROKERAGE) -> pd.DataFrame:
    """Rate at which each rule refused the last pseudo-queue of a PanDA queue, % of the decisions on the queue.

    Dimensions candidate, tag and criterion (USED: not refused), of the `most` queues with most `cores_lost`, in this
    order; rules in the order of the chain.
    """
    lost = sums(cores_lost(run, kind), ["candidate"], "value").sort_values("value", ascending=False, kind="stable")
    rows = in_window(run, "candidate", "queue_count")
    rows = rows[(rows.kind == kind) & (rows["count"] > 0)]
    rows = rows.assign(rate=100 * rows["count"] / total(rows, ["candidate"], "count"),
                       step=rows.criterion.map(places(run, kind)),
                       place=rows.candidate.map({name: place for place, name in enumerate(lost.candidate[:most])}))
    rows = rows[rows.place.notna()].sort_values(["place", "step"])
    return tidy(rows, ["candidate", *RULE], {"rate": "%"}, window_of(run))


@once_per_run
def without_nucleus(run: Run) -> frozenset[str]:
    """Shares for whose tasks no site is a candidate of task brokerage: none is a nucleus with a queue for them."""
    rows = run.table("decisions", ["kind", "share", "n_candidates"])
    rows = rows[rows.kind.astype(object) == DecisionKind.TASK_BROKERAGE.word]
    return frozenset(rows.share) - frozenset(rows.share[rows.n_candidates > 0])


@once_per_run
def online(run: Run) -> frozenset[str]:
    """PanDA queues that were online at a sample of the window; in a run without samples, those of the scenario."""
    samples = run.table("queues", ["time_s", "queue", "status"])
    samples = samples[window_of(run).holds(samples.time_s) & (samples.status == ONLINE)]
    if len(samples):
        return frozenset(samples.queue.astype(object))
    queues = run.manifest["scenario"]["grid"]["queues"]
    return frozenset(name for name, queue in queues.items() if queue.get("status", ONLINE) == ONLINE)


def reach_recorded(run: Run, rows: pd.DataFrame, kind: str = JOB_BROKERAGE) -> pd.DataFrame:
    """Cores or sites that each rule took, as in `reach`, in each decision of `rows` of `explain` without a candidate.

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
    table = sums(last, [*about, *RULE], "taken")
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
    return {name: number for number, name in enumerate((*(rule.criterion for rule in rules_of(run, kind)), USED))}


def _has_cores(queue: Mapping) -> bool:
    """True if a PanDA queue has a batch pool of its own."""
    return queue.get("cores") is not None


def _in_order(run: Run, kind: str, table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Rows in the order of removal, with what is left after each rule, and its part of all, %."""
    table = table.assign(place=table.criterion.map(places(run, kind))).sort_values([*by, "place"], kind="stable")
    groups = table.groupby(by, sort=False)
    total = groups.taken.transform("sum")
    refused = table.assign(taken=table.taken.where(table.tag != USED, 0.0).astype(float))
    left = total - refused.groupby(by, sort=False).taken.cumsum()
    return table.assign(left=left, part=100 * table.taken / total).drop(columns="place").reset_index(drop=True)


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
    return {row.Index: _of(row) for row in _stopping(rows, ["hour", "work_queue"]).itertuples()} if len(rows) else {}


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
