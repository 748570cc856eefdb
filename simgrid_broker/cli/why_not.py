"""`explain --why-not`: everything that kept a queue from being used."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simgrid_broker.cli.shares import PERCENT, named
from simgrid_broker.cli.text import paragraph, table
from simgrid_broker.units import format_seconds

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.records import Run

MOST_STRETCHES = 40
"""Maximum number of lines over time; JSON has all."""
MOST_RULES = 4
"""Columns of the table over time."""
MOST_OF_SHARE = 3
"""Rules named for each share without --all."""


@dataclass(frozen=True)
class WhyNot:
    """Reasons why candidates were not used; tables as in `metrics.explain`.

    about: names of the candidates; task: None = all tasks; share: share of the task; stretches, rules: of recorded
    decisions; counts, over_time: of all decisions, counts limited to `share`; missing: why the task has no records.
    """

    about: tuple[str, ...]
    task: int | None
    share: str | None
    stretches: "pd.DataFrame"
    rules: "pd.DataFrame"
    counts: "pd.DataFrame"
    over_time: "pd.DataFrame"
    missing: str

    def to_dict(self) -> dict:
        """The answer as JSON-compatible types, except NaN."""
        return {"candidates": list(self.about), "jeditaskid": self.task, "share": self.share,
                **{name: getattr(self, name).to_dict("records")
                   for name in ("stretches", "rules", "counts", "over_time")}, "missing": self.missing}


def answer(run: "Run", names: frozenset[str], task: int | None) -> WhyNot:
    """Find the reasons why a task (None = all tasks) did not use the pseudo-queues or the site `names`."""
    from simgrid_broker import metrics
    rows = metrics.explain(run, task)
    mine = rows[rows.candidate.isin(names)]
    queue = next(iter({metrics.queue_of(run)[name] for name in names}))
    counts = metrics.refusal_counts(run, queue)
    share = None if task is None else share_of(run, task)
    missing = not_recorded(run, task) if task is not None and not len(rows) else ""
    stretches, rules = (metrics.with_labels(run, table.assign(reason=metrics.reasons(run, table)))
                        for table in (metrics.stretches(mine), metrics.by_rule(mine)))
    return WhyNot(tuple(sorted(names)), task, share, stretches, rules,
                  metrics.with_labels(run, counts if share is None else counts[counts.share == share]),
                  metrics.with_labels(run, metrics.refusals_over_time(run, queue)), missing)


def share_of(run: "Run", task: int) -> str:
    """Leaf share of a task; a dash if it has none."""
    tasks = run.table("tasks", ["jeditaskid", "share"])
    share = tasks.share[tasks.jeditaskid == task].iloc[0]
    return str(share) if isinstance(share, str) else "-"


def not_recorded(run: "Run", task: int) -> str:
    """Why candidates of a task were not recorded, and which settings record them."""
    decisions = run.table("decisions", ["jeditaskid"])
    if (decisions.jeditaskid == task).any():
        made = "its decisions were recorded without their candidates"
    else:
        made = "no decision was recorded"
    share, others = share_of(run, task), _recorded_of_share(run, share_of(run, task))
    others_too = f"; recorded were those of task {named(others)} of {share}" if others else ""
    return (f"{made}{others_too}; to record them, run with --set 'record.tasks=[{task}]', or with "
            "--set record.candidates=0.1 for 10 % of all tasks")


def _recorded_of_share(run: "Run", share: str) -> list[int]:
    """Tasks of a share whose candidates were recorded."""
    recorded: set[int] = set()
    for rows in run.batches("candidates", ["decision"]):
        recorded |= set(rows.decision)
    decisions = run.table("decisions", ["decision", "jeditaskid", "share"])
    return sorted(set(decisions.jeditaskid[decisions.decision.isin(recorded) & (decisions.share == share)]))


def text(reasons: WhyNot, everything: bool = False) -> str:
    """The answer for a terminal; everything: all rules of each share, else those that matter most."""
    blocks = [_about_task(reasons) if reasons.task is not None else ""]
    if len(reasons.rules) and (everything or reasons.task is not None):
        blocks.append("Recorded decisions by rule, with the figures of the one nearest to the limit\n"
                      + _rules(reasons.rules))
    if len(reasons.rules) and reasons.task is not None:
        blocks.append("Recorded decisions over time\n" + _stretches(reasons.stretches))
    if reasons.task is None or not len(reasons.rules):
        blocks.append(_counts(reasons, everything))
    if reasons.task is None:
        blocks += [f"All decisions of {kind.replace('_', ' ')} over time, %\n{_over_time(rows)}"
                   for kind, rows in reasons.over_time.groupby("kind")]
    if reasons.task is None and not len(reasons.rules):
        blocks.append(paragraph("This run recorded no candidates. A run with --set record.candidates=0.1 records the "
                                "candidates of 10 % of all tasks, with the figures that each rule compared."))
    return "\n\n".join(block for block in blocks if block)


def _about_task(reasons: WhyNot) -> str:
    """Say which decisions of the task the answer covers, and which are missing."""
    if reasons.missing:
        return paragraph(f"Task {reasons.task}: {reasons.missing}. The tables below cover all tasks of its share, "
                         f"{reasons.share}.")
    if not len(reasons.rules):
        return paragraph(f"Task {reasons.task}: {', '.join(reasons.about)} was not a candidate in its recorded "
                         f"decisions. The tables below cover all tasks of its share, {reasons.share}.")
    used = int(reasons.rules.decisions[reasons.rules.tag == "+use"].sum())
    cases = int(reasons.rules.decisions.sum())
    return f"Task {reasons.task}: used in {used} of {cases} cases (pseudo-queue and decision)"


def _rules(rows: "pd.DataFrame") -> str:
    head = ("candidate", "decisions", "%", "gap", "at", "criteria", "because of")
    return table(head, [(_name(row), str(row.decisions), f"{row.part:.1f}", _gap(row),
                         "" if row.limit != row.limit else format_seconds(row.time_s), row.rule, row.reason)
                        for row in rows.itertuples()], numbers=(1, 2, 3))


def _stretches(rows: "pd.DataFrame") -> str:
    head = ("candidate", "from", "to", "decisions", "gap", "criteria", "because of")
    shown = table(head, [(_name(row), format_seconds(row.start_s), format_seconds(row.end_s), str(row.decisions),
                          _gap(row), row.rule, row.reason) for row in rows.head(MOST_STRETCHES).itertuples()],
                  numbers=(3, 4))
    more = len(rows) - MOST_STRETCHES
    return shown + (f"\n... and {more} more; --json has all" if more > 0 else "")


def _counts(reasons: WhyNot, everything: bool) -> str:
    if not len(reasons.counts):
        return "It was never a candidate" + ("." if reasons.share is None else f" for {reasons.share}.")
    about = "All decisions, by share and the rule that refused its last pseudo-queue (+use: not refused)"
    if everything:
        whole = [(row["kind"].replace("_", " "), row["share"], row["rule"], f"{row['count']:,}", f"{row['part']:.1f}")
                for row in reasons.counts.to_dict("records")]
        return paragraph(about) + "\n" + table(("broker", "share", "criteria", "decisions", "%"), whole, numbers=(3, 4))
    rows = [_share_in_short(kind, share, counts) for (kind, share), counts in reasons.counts.groupby(["kind", "share"])]
    shown = table(("broker", "share", "decisions", "+use %", "refused by"), rows, numbers=(2, 3))
    more = sum(len(counts) - MOST_OF_SHARE - (counts.rule == "+use").any() > 0
               for _, counts in reasons.counts.groupby(["kind", "share"]))
    return paragraph(about) + "\n" + shown + ("\n--all shows all rules" if more else "")


def _share_in_short(kind: str, share: str, counts: "pd.DataFrame") -> tuple[str, ...]:
    """The decisions of one share about the queue, and the rules that refused it most often."""
    used = counts.rule == "+use"
    return (kind.replace("_", " "), share, f"{counts['count'].sum():,}", f"{counts.part[used].sum():.1f}",
            ", ".join(f"{row.rule} {row.part:.1f}{PERCENT}" for row in counts[~used].head(MOST_OF_SHARE).itertuples()))


def _over_time(rows: "pd.DataFrame") -> str:
    first = list(rows.groupby("rule")["count"].sum().sort_values(ascending=False, kind="stable").index)
    tags = [tag for tag in first if tag != "+use"][:MOST_RULES] + ["+use"]
    part = rows.pivot_table("part", ["start_s", "end_s"], "rule", aggfunc="sum", fill_value=0.0)
    part = part.reindex(columns=tags, fill_value=0.0)
    lines = [(format_seconds(start), format_seconds(end), *(f"{value:.1f}" for value in values))
             for (start, end), values in zip(part.index, part.to_numpy(), strict=True)]
    return table(("from", "to", *tags), lines, numbers=range(2, 2 + len(tags)))


def _name(row) -> str:
    """Name of a candidate; nuclei are marked, because a site may have the name of a queue."""
    return f"{row.candidate} (nucleus)" if row.kind == "task_brokerage" else row.candidate


def _gap(row) -> str:
    """Distance of value and limit, % of the larger."""
    return f"{100 * row.nearness:.0f} %" if row.nearness == row.nearness else ""
