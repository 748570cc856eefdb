"""`explain --why-not`: everything that kept a queue from being used.

What lives here: the answer and its tables. What does not: the command (`explain`), the figures (metrics).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simgrid_broker.cli.text import count, paragraph, table
from simgrid_broker.units import format_seconds

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.records import Run

MOST_STRETCHES = 40
"""Lines about what happened when; JSON has all."""
MOST_RULES = 4
"""Rules that have a column of their own over time."""
HOW = "a rule's figures are in its own unit"


@dataclass(frozen=True)
class WhyNot:
    """What kept candidates from being used; tables as in `metrics.explain`.

    task: None = all tasks; share: that of the task; about: the names asked for; stretches, rules: of the decisions on
    record; counts, over_time: of all decisions, by share or of the one share.
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
        """The answer in kinds that JSON has."""
        return {"candidates": list(self.about), "jeditaskid": self.task, "share": self.share,
                **{name: getattr(self, name).to_dict("records")
                   for name in ("stretches", "rules", "counts", "over_time")}, "missing": self.missing}


def answer(run: "Run", names: frozenset[str], task: int | None) -> WhyNot:
    """What kept the pseudo-queues or the site `names` from being used, by a task or by all."""
    from simgrid_broker import metrics
    rows = metrics.explain(run, task)
    mine = rows[rows.candidate.isin(names)]
    queue = next(iter({metrics.queue_of(run)[name] for name in names}))
    counts = metrics.refusal_counts(run, queue)
    share = None if task is None else share_of(run, task)
    missing = not_recorded(run, task) if task is not None and not len(rows) else ""
    return WhyNot(tuple(sorted(names)), task, share, metrics.stretches(mine), metrics.by_rule(mine),
                  counts if share is None else counts[counts.share == share],
                  metrics.refusals_over_time(run, queue), missing)


def share_of(run: "Run", task: int) -> str:
    """Leaf share of a task; a dash if it has none."""
    tasks = run.table("tasks", ["jeditaskid", "share"])
    share = tasks.share[tasks.jeditaskid == task].iloc[0]
    return str(share) if isinstance(share, str) else "-"


def not_recorded(run: "Run", task: int) -> str:
    """Why candidates of a task are not on record, and what to set so that they are."""
    decisions = run.table("decisions", ["jeditaskid"])
    if (decisions.jeditaskid == task).any():
        made = "its decisions were recorded without their candidates"
    else:
        made = "no decision about it is on record"
    return (f"{made}; a run with --set 'record.tasks=[{task}]' keeps them whole, --set record.candidates=0.1 does so "
            "for a tenth of all tasks")


def text(told: WhyNot) -> str:
    """The answer for a terminal."""
    blocks = [_about_task(told) if told.task is not None else ""]
    if len(told.rules):
        blocks.append(f"Decisions on record by rule; value and limit where it came nearest ({HOW})\n"
                      + _rules(told.rules))
    if len(told.rules) and told.task is not None:
        blocks.append("What happened when\n" + _stretches(told.stretches))
    if told.task is None or not len(told.rules):
        blocks.append(_counts(told))
    if told.task is None:
        blocks += [f"Over time, % of all that {kind.replace('_', ' ')} asked\n{_over_time(rows)}"
                   for kind, rows in told.over_time.groupby("kind")]
    if told.task is None and not len(told.rules):
        blocks.append(paragraph("No candidates of this run are on record: --set record.candidates=0.1 keeps those of a "
                                "tenth of all tasks, with what each rule compared."))
    return "\n\n".join(block for block in blocks if block)


def _about_task(told: WhyNot) -> str:
    """What the answer is about, and what is missing of it."""
    if told.missing:
        return paragraph(f"Task {told.task}: {told.missing}. What follows is about all tasks of its share, "
                         f"{told.share}.")
    if not len(told.rules):
        return paragraph(f"Task {told.task}: {', '.join(told.about)} was no candidate in its decisions on record. What "
                         f"follows is about all tasks of its share, {told.share}.")
    used = int(told.rules.decisions[told.rules.tag == "+use"].sum())
    asked = int(told.rules.decisions.sum())
    return f"Task {told.task}: used {count(used, 'time')} of {asked}, each pseudo-queue and decision counted"


def _rules(rows: "pd.DataFrame") -> str:
    head = ("candidate", "decisions", "%", "value", "limit", "apart", "at", "criteria")
    return table(head, [(_name(row), str(row.decisions), f"{row.part:.1f}", *_figures(row),
                         "" if row.limit != row.limit else format_seconds(row.time_s), row.tag)
                        for row in rows.itertuples()], numbers=(1, 2, 3, 4, 5))


def _stretches(rows: "pd.DataFrame") -> str:
    head = ("candidate", "from", "to", "decisions", "value", "limit", "apart", "criteria")
    shown = table(head, [(_name(row), format_seconds(row.start_s), format_seconds(row.end_s), str(row.decisions),
                          *_figures(row), row.tag) for row in rows.head(MOST_STRETCHES).itertuples()],
                  numbers=(3, 4, 5, 6))
    more = len(rows) - MOST_STRETCHES
    return shown + (f"\n... and {more} more; --json has all" if more > 0 else "")


def _counts(told: WhyNot) -> str:
    """By share and rule, of all decisions."""
    if not len(told.counts):
        return "No broker has ever asked about it" + ("." if told.share is None else f" for {told.share}.")
    rows = [(row["kind"].replace("_", " "), row["share"], row["tag"], f"{row['count']:,}", f"{row['part']:.1f}")
            for row in told.counts.to_dict("records")]
    return (paragraph("All decisions, by share and rule that refused first (+use: none did; a PanDA queue counts with "
                      "each of its pseudo-queues)") + "\n"
            + table(("broker", "share", "criteria", "decisions", "%"), rows, numbers=(3, 4)))


def _over_time(rows: "pd.DataFrame") -> str:
    """The most frequent rules, one column each."""
    first = list(rows.groupby("tag")["count"].sum().sort_values(ascending=False, kind="stable").index)
    tags = [tag for tag in first if tag != "+use"][:MOST_RULES] + ["+use"]
    part = rows.pivot_table("part", ["start_s", "end_s"], "tag", aggfunc="sum", fill_value=0.0)
    part = part.reindex(columns=tags, fill_value=0.0)
    lines = [(format_seconds(start), format_seconds(end), *(f"{value:.1f}" for value in values))
             for (start, end), values in zip(part.index, part.to_numpy(), strict=True)]
    return table(("from", "to", *tags), lines, numbers=range(2, 2 + len(tags)))


def _name(row) -> str:
    """A candidate; a site that is asked about as nucleus may have the name of a queue."""
    return f"{row.candidate} (nucleus)" if row.kind == "task_brokerage" else row.candidate


def _figures(row) -> tuple[str, str, str]:
    """Value, limit, and how far they are apart, in parts of the larger."""
    if row.limit != row.limit:
        return "", "", ""
    apart = f"{100 * row.nearness:.0f} %" if row.nearness == row.nearness else ""
    return _short(row.value), _short(row.limit), apart


def _short(figure: float) -> str:
    """A figure of a rule: whole from 1000 on, unless it is very large."""
    return f"{figure:,.0f}" if 1e3 <= abs(figure) < 1e12 else f"{figure:.4g}"
