"""The first section of a report: which shares missed what they were due and why, what waited longest, what was lost."""

import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.metrics import Cause, Why, wide
from simgrid_broker.metrics.chain import LINKS
from simgrid_broker.metrics.chain_words import value_in_force
from simgrid_broker.records import Run
from simgrid_broker.report.blocks import Block, Link, Note, Row, Section, TableBlock, Tiles, address
from simgrid_broker.report.caveats import warnings_of
from simgrid_broker.report.context import Context
from simgrid_broker.report.words import number, spoken
from simgrid_broker.units import MINUTE, format_seconds

HEADLINES = (
    ("finished", "", "Jobs finished", "in the window"),
    ("failure_rate", " %", "Failure rate", "of finished and failed jobs"),
    ("core_occupancy", " %", "Core occupancy", "of all cores, on average"),
    ("wait_km_p50", " h", "Waiting time", "median, with jobs that still wait"),
    ("share_misplaced", " %", "Power above due", "of all power in use"),
    ("ended_per_hour", " /h", "Throughput", "jobs ended, in any final status"),
)
"""Headline figures: metric of the summary, unit, label and explanation."""
SECTION_OF = dict(zip(LINKS, ("tasks", "tasks", "users", "tasks", "data", "brokerage", "brokerage", "brokerage", "data",
                              "cores"), strict=True))
"""Section of the report about each link of the chain."""
MOST_ROWS, MOST_TASKS = 3, 3
MISSED = {"got": "Got, cores", "could": "Could have used, cores", "missed": "Missed, cores", "since": "Since",
          "held": "Held by", "setting": "Setting in force"}
OF_TASKS = {"left": "Jobs not finished", "decision": "Last decision", "choice": "Choice"}
OF_WAITS = {"wait_km_p50": "Median, h", "wait_km_p95": "95 %, h"}


def answers(view: Context) -> Section:
    """Warnings, headline figures, shares that are short with their causes, what waited longest, what was lost."""
    run, table = view.run, metrics.summary(view.run)
    blocks: list[Block] = [Note(text, strong=True) for text in warnings_of(run)]
    if not table.value[table.metric.isin(["finished", "failed", "closed", "cancelled"])].any():
        blocks.append(Note("No job ended in the window.", strong=True))
    blocks.append(Tiles(tuple(_tile(table, *headline) for headline in HEADLINES)))
    chains = metrics.why(run)
    short = sorted((each for each in chains if each.is_short), key=lambda each: each.delivered - each.could_use)
    blocks += [*_missed(run, chains, short), *_rows(_waited(view), *_lost(run))]
    blocks += _rows(_tasks(run, [each.share for each in short[:MOST_ROWS]])) if short else []
    return Section("answers", "Answers", tuple(blocks))


def _tile(table: pd.DataFrame, metric: str, unit: str, name: str, meaning: str) -> tuple[str, str, str]:
    value = number(float(table.value[table.metric == metric].iloc[0]))
    return name, value if value == "–" else value + unit, meaning


def _rows(*tables: TableBlock) -> list[Block]:
    """The tables that have rows, side by side."""
    shown = tuple(table for table in tables if len(table.frame))
    return [Row(shown)] if shown else []


def _missed(run: Run, chains: tuple[Why, ...], short: list[Why]) -> list[Block]:
    """The shares that got too little of what their tasks could have used."""
    if not chains:
        return []
    if not short:
        return [Note("Every share got what its tasks could have used of its target, but for a tenth of that or a "
                     "twentieth of the target.")]
    table = pd.DataFrame([_chain(run, each) for each in short]).rename(columns=MISSED)
    return [TableBlock("Shares that missed what their tasks could have used", table, "Means over the window. Since: "
                       "begin of the first hour in which the share was short, with the number of such hours. Held by: "
                       "the link and rule that cost most. `simgrid-broker why RUN SHARE` shows the chain.",
                       anchor="short")]


def _chain(run: Run, each: Why) -> dict[str, object]:
    cause = each.cause or next(iter(each.causes), None)
    return {"share": Link(each.share, f"#{address('share', each.share)}"), "got": each.delivered,
            "could": each.could_use, "missed": each.could_use - each.delivered,
            "since": f"{format_seconds(each.since_s)} ({each.hours_short} of {each.hours} h)",
            "held": _held(cause) if cause else "unknown", "setting": _setting(run, cause) if cause else ""}


def _held(cause: Cause) -> str | Link:
    text = f"{cause.link}: {cause.rule}"
    return Link(text, f"#{SECTION_OF[cause.link]}") if cause.link in SECTION_OF else text


def _setting(run: Run, cause: Cause) -> str:
    """The setting of a cause that binds first, and its value in force."""
    setting = next(iter(cause.settings), "")
    value = value_in_force(run, setting) if setting and "*" not in setting else None
    if isinstance(value, bool):
        value = str(value).lower()
    shown = number(float(value)) if isinstance(value, int | float) else value
    return setting + ("" if value is None else f" = {shown}")


def _tasks(run: Run, shares: list[str]) -> TableBlock:
    """The tasks of shares with most jobs not finished, and the last recorded decision about each."""
    tasks = run.table("tasks", ["jeditaskid", "name", "share", "status", "n_jobs", "n_finished"])
    tasks = tasks[tasks.share.isin(shares) & ~tasks.status.isin(metrics.FINAL_TASK)].astype({"share": object})
    tasks = tasks.assign(left=(tasks.n_jobs - tasks.n_finished).astype(float))
    tasks = tasks.sort_values("left", ascending=False, kind="stable").groupby("share").head(MOST_TASKS)
    made = run.table("decisions", ["jeditaskid", "time_s", "kind", "n_candidates", "n_kept", "best"])
    made = made[made.jeditaskid.isin(tasks.jeditaskid)].drop_duplicates("jeditaskid", keep="last")
    made = made.set_index("jeditaskid").astype({"kind": object, "best": object})
    decisions = [made.loc[task] if task in made.index else None for task in tasks.jeditaskid]
    table = pd.DataFrame({
        "name": [f"{row.jeditaskid} {row.name}" for row in tasks.itertuples(index=False)],
        "share": [Link(share, f"#{address('short', share)}") for share in tasks.share],
        "status": tasks.status.astype(str).tolist(), "left": tasks.left.tolist(),
        "decision": [_decision(one) for one in decisions], "choice": [_choice(one) for one in decisions]})
    return TableBlock("Largest open tasks of these shares", table.rename(columns=OF_TASKS), "`simgrid-broker explain "
                      "RUN --task ID` shows the life of a task.", anchor="task")


def _decision(decision) -> str:
    """When a decision was made, its kind, and how many candidates it left."""
    if decision is None:
        return "none recorded"
    when = format_seconds(MINUTE * round(decision.time_s / MINUTE))
    return f"{when}: {spoken(decision.kind)}, {decision.n_kept} of {decision.n_candidates} kept"


def _choice(decision) -> str | Link:
    """The queue or nucleus that a decision chose."""
    if decision is None or not isinstance(decision.best, str) or not decision.n_kept:
        return ""
    if decision.kind not in metrics.ABOUT_QUEUES:
        return f"nucleus {decision.best}"
    queue = decision.best.partition("/")[0]
    return Link(queue, f"#{address('queue', queue)}")


def _waited(view: Context) -> TableBlock:
    """The shares whose jobs waited longest for slots."""
    table = wide(metrics.waiting_times(view.run)) if len(metrics.waiting_times(view.run)) else pd.DataFrame()
    columns = ["share", "wait_km_p50", "wait_km_p95", "still_waiting"]
    if len(table):
        order = table.wait_km_p50.fillna(table.wait_p50).sort_values(ascending=False, kind="stable").index
        table = table.loc[order].head(MOST_ROWS)[columns].astype({"share": object})
        table["share"] = [Link(name, f"#{address('wait', name)}") for name in table.share]
    return TableBlock("Waited longest for a slot", table.rename(columns=OF_WAITS),
                      "From activated to running, with jobs that still wait (Kaplan-Meier).")


def _lost(run: Run) -> tuple[TableBlock, TableBlock]:
    """Causes that lost most core hours, and queues with most core hours without a payload."""
    lost, held = metrics.failures(run), wide(metrics.workers(run))
    causes = wide(lost).sort_values("lost_core_hours", ascending=False, kind="stable").head(MOST_ROWS)[
        ["cause", "status", "jobs", "lost_core_hours"]] if len(lost) else pd.DataFrame()
    idle = held.groupby("queue", observed=True).idle_core_h.sum().sort_values(ascending=False, kind="stable").head(
        MOST_ROWS).reset_index() if len(held) else pd.DataFrame()
    if len(causes):
        causes = causes.assign(cause=[Link(spoken(str(cause)), "#failures") for cause in causes.cause])
    if len(idle):
        idle = idle.assign(queue=[Link(str(queue), f"#{address('queue', queue)}") for queue in idle.queue])
    return TableBlock("Lost", causes), TableBlock("Slots without a payload", idle)
