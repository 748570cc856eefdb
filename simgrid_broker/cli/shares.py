"""`explain --share` and `explain --unplaced`: which rules take how much of the cores that a share could use."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simgrid_broker.cli.text import count, paragraph, table
from simgrid_broker.cli.trouble import BadArgument
from simgrid_broker.errors import nearest
from simgrid_broker.names import USED

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.records import Run

MOST_RULES = 3
"""Rules shown without --all: those that take most."""
PERCENT = "\u00a0%"
"""Per cent after a number, not to be separated from it."""
MOST_TASKS = 6
"""Maximum number of tasks named at once; JSON has all."""
THINGS = {"job_brokerage": ("cores", "queue"), "task_brokerage": ("sites", "nucleus"),
          "analysis_brokerage": ("cores", "queue")}
"""Quantity of which the rules of a broker leave a part, and the name of its candidates."""


@dataclass(frozen=True)
class Answer:
    """Candidates that one broker left to one share.

    rules: `metrics.reach` of the share, one row per rule in order, with label, PanDA's name and meaning; n_empty: its
    decisions without a candidate, None if not all are recorded; recorded: `metrics.reach_recorded` of its unplaced
    tasks; tasks: these tasks, as `metrics.unplaced_tasks`.
    """

    share: str
    kind: str
    n_decisions: int
    n_empty: int | None
    rules: "pd.DataFrame"
    recorded: "pd.DataFrame"
    tasks: "pd.DataFrame"

    def to_dict(self) -> dict:
        """The answer as JSON-compatible types, except NaN."""
        return {"share": self.share, "kind": self.kind, "decisions": self.n_decisions, "empty_decisions": self.n_empty,
                **{name: getattr(self, name).to_dict("records") for name in ("rules", "recorded", "tasks")}}


def answers(run: "Run", share: str | None = None, unplaced: bool = False) -> list[Answer]:
    """Answers for each broker and all shares, or one; unplaced: only shares with tasks without a place, most first.

    Raises BadArgument for an unknown share.
    """
    from simgrid_broker import metrics
    waiting = metrics.unplaced_tasks(run)
    recorded = metrics.explain(run, tasks=set(waiting.jeditaskid))
    empty = _empty_decisions(run)
    shares = []
    for kind in THINGS:
        rules = metrics.with_labels(run, metrics.wide(metrics.reach(run, kind)).assign(kind=kind))
        rules = rules.merge(metrics.criteria(run, kind)[["criterion", "panda", "meaning"]], on="criterion", how="left")
        of_kind = metrics.reach_recorded(run, recorded, kind)
        for name, rows in rules.groupby("share", sort=False):
            tasks = waiting[(waiting.share == name) & (waiting.kind == kind)]
            n_empty = None if empty is None else empty.get((kind, name), 0)
            shares.append(Answer(str(name), kind, int(rows.decisions.iloc[0]), n_empty,
                                 rows.drop(columns=["kind", "share", "decisions"]),
                                 of_kind[of_kind.jeditaskid.isin(tasks.jeditaskid)], tasks))
    if share is not None:
        _known(run, share)
        return [each for each in shares if each.share == share]
    return sorted((each for each in shares if len(each.tasks) or not unplaced), key=lambda each: -len(each.tasks))


def _known(run: "Run", share: str) -> None:
    shares = run.manifest["vocabularies"]["shares"]
    if share not in shares:
        raise BadArgument("--share", share, "unknown leaf share of the run", nearest(share, shares))


def _empty_decisions(run: "Run") -> dict | None:
    """Decisions without a candidate by kind and share; None if only a part of all decisions is recorded."""
    if run.manifest["scenario"].get("record", {}).get("decisions", 1) < 1:
        return None
    rows = run.table("decisions", ["kind", "share", "n_kept"])
    return rows[rows.n_kept == 0].astype({"kind": object, "share": object}).groupby(["kind", "share"]).size().to_dict()


def text(by_share: list[Answer], everything: bool) -> str:
    """Each answer for a terminal; everything: all rules, else those that take most."""
    blocks = [_block(each, everything) for each in by_share]
    return "\n\n".join([*blocks, *meanings(row for each in by_share for row in _shown(each, everything))])


def meanings(rows: Iterable) -> list[str]:
    """Meanings of the rules in `rows` by label, as one paragraph; none if no rule has a sentence."""
    by_rule = dict.fromkeys((row.rule, row.meaning) for row in rows if row.rule != USED and row.meaning)
    return ["\n".join(paragraph(f"{rule}: {meaning}", "  ") for rule, meaning in by_rule)] if by_rule else []


def _shown(each: Answer, everything: bool) -> list:
    """The rules that the table of an answer shows, in order."""
    return [row for row in each.rules.itertuples() if everything or row.criterion in _largest(each)]


def _block(each: Answer, everything: bool) -> str:
    of, candidate = THINGS[each.kind]
    empty = "" if each.n_empty is None else f", {each.n_empty:,} without a {candidate}"
    about = f"{each.share}, {each.kind.replace('_', ' ')}: {count(each.n_decisions, 'decision')}{empty}"
    if not len(each.rules):
        return about
    total = each.rules.taken.sum()
    lines = [paragraph(f"{about}; of {_number(total)} {of}, by the rule that "
                       + ("refused the last queue of each batch system" if of == "cores" else "refused them")
                       + ", mean over the decisions")]
    part, main = _parts(each)
    rows = [_row(row, part, main) for row in _shown(each, everything)]
    head = ("criteria", of, "%", "left", *(("unplaced %", "tasks") if part else ()))
    first = ("(all)", "", "", _number(total), *(("", "") if part else ()))
    lines.append(table(head, [first, *rows], numbers=(1, 2, 3, 4) if part else (1, 2, 3)))
    more = len(each.rules) - len(rows)
    lines += [f"{count(more, 'other rule')}: --all"] if more else []
    return "\n".join([*lines, *_waiting(each)])


def _row(row, part: dict[str, float], main: dict[str, list[int]]) -> tuple[str, ...]:
    extra = (f"{part.get(row.criterion, 0):.1f}", named(main.get(row.criterion, ()))) if part else ()
    return (row.rule, _number(row.taken), f"{row.part:.1f}", "" if row.rule == USED else _number(row.left), *extra)


def _parts(each: Answer) -> tuple[dict[str, float], dict[str, list[int]]]:
    """Of the recorded decisions on unplaced tasks: % that each rule takes, and the tasks from which it takes most."""
    rows = each.recorded
    if not len(rows):
        return {}, {}
    part = rows.groupby("criterion").taken.sum() / rows.taken.sum() * 100
    last = rows[rows.time_s == rows.groupby("jeditaskid").time_s.transform("max")]
    main = last.loc[last.groupby("jeditaskid").taken.idxmax()]
    return part.to_dict(), main.groupby("criterion").jeditaskid.agg(list).to_dict()


def _largest(each: Answer) -> frozenset[str]:
    """The rules that take most, of unplaced tasks if any are recorded, and what is left."""
    refused = each.rules[each.rules.rule != USED]
    part, _ = _parts(each)
    size = refused.criterion.map(part).fillna(0.0) if part else refused.part
    return frozenset((*refused.criterion[size.sort_values(ascending=False, kind="stable").index[:MOST_RULES]], USED))


def _waiting(each: Answer) -> list[str]:
    """Lines about the tasks that never got a job."""
    if not len(each.tasks):
        return []
    streams = each.tasks.groupby("name", sort=False).jeditaskid.agg(list)
    listed = "; ".join(f"{name} {len(tasks)}: {named(tasks)}"
                       for name, tasks in sorted(streams.items(), key=lambda item: -len(item[1])))
    lines = [paragraph(f"{count(len(each.tasks), 'task')} without a {THINGS[each.kind][1]} at the end: {listed}", "  ")]
    recorded = sorted(set(each.recorded.jeditaskid))
    return [*lines, f"recorded candidate by candidate (--task ID): {named(recorded)}"] if recorded else lines


def overview(run: "Run", by_share: list[Answer]) -> str:
    """One line per share and broker of jobs: decisions, cores left, and the rules that take most of them."""
    rows, named_rules = [], []
    of_jobs = (each for each in by_share if THINGS[each.kind][0] == "cores")
    for each in sorted(of_jobs, key=lambda each: (each.share, each.kind)):
        used = float(each.rules.part[each.rules.rule == USED].sum())
        empty = "" if each.n_empty is None else f"{100 * each.n_empty / each.n_decisions:.1f}"
        refused = each.rules[each.rules.rule != USED].sort_values("part", ascending=False, kind="stable")
        largest = list(refused.head(MOST_RULES).itertuples())
        named_rules += largest
        rows.append((each.share, each.kind.removesuffix("_brokerage"), f"{each.n_decisions:,}", empty, f"{used:.1f}",
                     ", ".join(f"{row.rule} {row.part:.0f}{PERCENT}" for row in largest)))
    number = sum(len(each.tasks) for each in by_share)
    lines = [paragraph("Brokerage of jobs by share: cores left to a decision, and the rules that take most of them")]
    head = ("share", "broker", "decisions", "no queue %", "cores left %", "taken by")
    lines += [table(head, rows, numbers=(2, 3, 4))]
    lines += meanings(named_rules)
    lines += [paragraph(f"{count(number, 'task')} never got a job: --unplaced shows why. " if number else "")]
    return "\n".join([*(line for line in lines if line), paragraph(
        "--share NAME shows all rules of a share, --task ID the decisions on a task, --why-not QUEUE what kept a queue "
        "from being used.")])


def named(tasks) -> str:
    """Numbers of the first tasks."""
    return ", ".join(map(str, tasks[:MOST_TASKS])) + (", ..." if len(tasks) > MOST_TASKS else "")


def _number(value: float) -> str:
    """Cores or sites: whole from 100 on, else one digit behind the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
