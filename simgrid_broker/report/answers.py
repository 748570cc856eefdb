"""The first section of a report: which shares missed what they were due and why, what waited longest, what was lost."""

import numpy as np
import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.metrics import Cause, Why, wide
from simgrid_broker.metrics.chain import LINKS, SLOTS
from simgrid_broker.metrics.chain_words import sentence, value_in_force
from simgrid_broker.metrics.window import once_per_run, texts
from simgrid_broker.records import Run
from simgrid_broker.report.blocks import Block, Link, Note, Row, Section, TableBlock, Tiles, address
from simgrid_broker.report.caveats import cautions_of
from simgrid_broker.report.comparison import changed
from simgrid_broker.report.context import Context
from simgrid_broker.report.words import number, spoken
from simgrid_broker.units import MINUTE, format_seconds

HEADLINES = (
    ("finished", "", "Jobs finished", "in the window"),
    ("failure_rate", " %", "Failure rate", "of finished and failed"),
    ("core_occupancy", " %", "Core occupancy", "of all cores, on average"),
    ("wait_km_p50", " h", "Waiting time", "median, some still wait"),
    ("share_misplaced", " %", "Power above due", "of all power in use"),
    ("ended_per_hour", " /h", "Throughput", "jobs ended"),
)
"""Headline figures: metric of the summary, unit, label and explanation."""
SECTION_OF = dict(zip(LINKS, ("tasks", "tasks", "users", "tasks", "data", "brokerage", "brokerage", "brokerage", "data",
                              "cores"), strict=True))
"""Section of the report about each link of the chain."""
MOST_ROWS, MOST_TASKS, MOST_SHORT = 3, 5, 5
MISSED = {"got": "Got, cores", "could": "Could use", "missed": "Missed", "since": "Since", "held": "Held by",
          "setting": "Setting in force", "task": "Largest task"}
OF_TASKS = {"task": "Task", "left": "Jobs not finished", "decision": "Last brokerage", "choice": "Choice"}
OF_WAITS = {"who": "Work", "wait_km_p50": "Median, h", "wait_km_p95": "95 %, h", "still_waiting": "Still waiting",
            "reason": "Waited for"}
FOR_DATA = {"input": ("Input", "transfers to the queue"), "output": ("Output", "transfers to the nucleus")}
"""Waits for data by kind: name and for what."""
OF_LOSSES = {"at": "Most of it at", "part": "%"}
OF_DECISIONS = {"task": "Task", "time": "Time", "candidates": "Candidates", "kept": "Kept",
                "refused": "Refused by", "choice": "Choice"}
FOR_SLOTS = "free slots"


def answers(view: Context) -> Section:
    """Shares that are short with their causes, what waited longest, what was lost, what changed; all on one screen."""
    run, table = view.run, metrics.summary(view.run)
    blocks: list[Block] = [Note(text, strong=True) for text in cautions_of(run)]
    if not table.value[table.metric.isin(["finished", "failed", "closed", "cancelled"])].any():
        blocks.append(Note("No job ended in the window.", strong=True))
    chains, short = metrics.why(run), short_shares(run)
    tasks = open_tasks(run)
    blocks += [Tiles(tuple(_tile(table, *headline) for headline in HEADLINES)), *_missed(run, chains, short, tasks),
               *_rows(_waited(view, chains)), *_rows(*_lost(run)),
               *([] if view.base is None else changed(view.base, run)),
               *(_rows(_tasks(run, tasks)) if short else [])]
    return Section("answers", "Answers", tuple(blocks))


def short_shares(run: Run) -> list[Why]:
    """The leaf shares that got too little of what their tasks could have used, those that miss most cores first."""
    short = (each for each in metrics.why(run) if each.is_short)
    return sorted(short, key=lambda each: each.delivered - each.could_use)


def _tile(table: pd.DataFrame, metric: str, unit: str, name: str, meaning: str) -> tuple[str, str, str]:
    value = number(float(table.value[table.metric == metric].iloc[0]))
    return name, value if value == "–" else value + unit, meaning


def _rows(*tables: TableBlock) -> list[Block]:
    """The tables that have rows, side by side."""
    shown = tuple(table for table in tables if len(table.frame))
    return [Row(shown)] if shown else []


def _missed(run: Run, chains: tuple[Why, ...], short: list[Why], tasks: pd.DataFrame) -> list[Block]:
    """The shares that got too little of what their tasks could have used, then those without work for their targets."""
    if not chains:
        return []
    idle = [each for each in chains if each.cause is not None and not each.is_short]
    blocks: list[Block] = [Note(_without_work(run, idle))] if idle else []
    if not short:
        return [Note("Every share got what its tasks could have used of its target, but for a tenth of that or a "
                     "twentieth of the target."), *blocks]
    largest = tasks.drop_duplicates("share").set_index("share").jeditaskid.to_dict()
    rows = [{**_chain(run, each), "task": _task_of(largest.get(each.share))} for each in short[:MOST_SHORT]]
    more = f" {len(short) - MOST_SHORT} more are short, too." if len(short) > MOST_SHORT else ""
    table = TableBlock("Shares that missed what their tasks could have used", pd.DataFrame(rows).rename(columns=MISSED),
                       "Cores, means over the window. Since: the first hour in which the share was short. Held by: "
                       f"what cost most; `simgrid-broker why RUN SHARE` shows all.{more}", anchor="short")
    return [table, *blocks]


def _without_work(run: Run, idle: list[Why]) -> str:
    """A sentence about each share whose tasks had no work for its target, with the setting behind it."""
    said = [f"{sentence(each)[:-1]} ({_setting(run, each.cause)})." if each.cause and each.cause.settings
            else sentence(each) for each in sorted(idle, key=lambda each: each.delivered - each.target)[:MOST_ROWS]]
    more = f" {len(idle) - MOST_ROWS} more shares had no work for their targets." if len(idle) > MOST_ROWS else ""
    return " ".join(said) + more


def _task_of(task: int | None) -> str | Link:
    return "" if task is None else Link(str(task), f"#{address('task', task)}")


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


@once_per_run
def open_tasks(run: Run) -> pd.DataFrame:
    """The tasks of short shares with most jobs not finished, and the last decision about queues, else about nuclei.

    Columns of tasks, left (jobs not finished), and time_s, decision, kind, n_candidates, n_kept and best of the
    decision, NaN without one.
    """
    shares = [each.share for each in short_shares(run)[:MOST_SHORT]]
    tasks = run.table("tasks", ["jeditaskid", "name", "share", "status", "n_jobs", "n_finished"])
    tasks = tasks[tasks.share.isin(shares) & ~tasks.status.isin(metrics.FINAL_TASK)]
    tasks = texts(tasks, "share", "name", "status")
    tasks = tasks.assign(left=(tasks.n_jobs - tasks.n_finished).astype(float))
    tasks = tasks.sort_values("left", ascending=False, kind="stable").groupby("share").head(MOST_TASKS)
    made = run.table("decisions", ["jeditaskid", "time_s", "decision", "kind", "n_candidates", "n_kept", "best"])
    made = made[made.jeditaskid.isin(tasks.jeditaskid)]
    order = made.kind.isin(metrics.ABOUT_QUEUES).sort_values(kind="stable").index
    made = made.loc[order].drop_duplicates("jeditaskid", keep="last")
    return tasks.merge(texts(made, "kind", "best"), how="left", on="jeditaskid")


def _tasks(run: Run, tasks: pd.DataFrame) -> TableBlock:
    """The largest open tasks, each with its last decision."""
    rows = [{"task": str(row.jeditaskid), "name": row.name,
             "share": Link(row.share, f"#{address('short', row.share)}"), "status": row.status, "left": row.left,
             "decision": _decision(row), "choice": _choice(row)} for row in tasks.itertuples(index=False)]
    return TableBlock("Largest open tasks of these shares", pd.DataFrame(rows).rename(columns=OF_TASKS),
                      "`simgrid-broker explain RUN --task ID` shows the life of a task.", anchor="task")


def _decision(row) -> str | Link:
    """When the last decision about a task was made, its kind, and how many candidates it left."""
    if pd.isna(row.decision):
        return "none recorded"
    when = format_seconds(MINUTE * round(row.time_s / MINUTE))
    return Link(f"{when}: {spoken(row.kind)}, {row.n_kept:.0f} of {row.n_candidates:.0f} kept",
                f"#{address('decision', row.jeditaskid)}")


def _choice(row) -> str | Link:
    """The queue or nucleus that a decision chose."""
    if not isinstance(row.best, str) or not row.n_kept:
        return ""
    if row.kind not in metrics.ABOUT_QUEUES:
        return f"nucleus {row.best}"
    return _queue(row.best.partition("/")[0])


def decided(run: Run) -> list[Block]:
    """The last decisions about the largest open tasks of shares that are short, with the rules that refused most."""
    tasks = open_tasks(run)
    tasks = tasks[tasks.decision.notna()]
    if not len(tasks):
        return []
    about = run.table("candidates", ["decision", "candidate", "tag"])
    rules = about[about.decision.isin(tasks.decision) & about.tag.notna()].groupby(
        ["decision", "tag"], observed=True).size().sort_values(ascending=False, kind="stable")
    rows = [{"task": Link(str(row.jeditaskid), f"#{address('task', row.jeditaskid)}"),
             "time": format_seconds(MINUTE * round(row.time_s / MINUTE)), "kind": spoken(row.kind),
             "candidates": row.n_candidates, "kept": row.n_kept,
             "refused": ", ".join(f"{tag} {count}" for (decision, tag), count in rules.items()
                                  if decision == row.decision), "choice": _choice(row)}
            for row in tasks.itertuples(index=False)]
    return [TableBlock("Last decisions about the largest open tasks", pd.DataFrame(rows).rename(columns=OF_DECISIONS),
                       "Tasks of the shares that are short. Refused: candidates by the rule that refused them first.",
                       anchor="decision")]


def _waited(view: Context, chains: tuple[Why, ...]) -> TableBlock:
    """The shares whose jobs waited longest for slots, with the cause if one is recorded, and the waits for data."""
    rows = pd.concat([_for_slots(view, chains), _for_data(view)])
    return TableBlock("Waited longest", rows.rename(columns=OF_WAITS), "Still waiting: jobs, or requests of a tape. "
                      "Times for data: transfers and requests that ended.")


def _for_slots(view: Context, chains: tuple[Why, ...]) -> pd.DataFrame:
    table = wide(metrics.waiting_times(view.run)) if len(metrics.waiting_times(view.run)) else pd.DataFrame()
    if not len(table):
        return pd.DataFrame(columns=list(OF_WAITS))
    held = {each.share: next((cause.rule for cause in each.causes if cause.link == LINKS[SLOTS]), FOR_SLOTS)
            for each in chains}
    order = table.wait_km_p50.fillna(table.wait_p50).sort_values(ascending=False, kind="stable").index
    table = table.loc[order].head(MOST_ROWS).astype({"share": object, "still_waiting": float})
    table = table.assign(who=[Link(name, f"#{address('wait', name)}") for name in table.share],
                         reason=[held.get(name, FOR_SLOTS) for name in table.share])
    return table[list(OF_WAITS)]


def _for_data(view: Context) -> pd.DataFrame:
    """Waits for transfers of input and output, and for the tapes that took longest."""
    found = metrics.waits_for_data(view.run)
    table = wide(found) if len(found) else pd.DataFrame(columns=["data", "took_p50", "took_p95", "still_waiting"])
    is_tape = ~table["data"].isin(FOR_DATA)
    tapes = table[is_tape].sort_values("took_p50", ascending=False, kind="stable").head(1)
    table = pd.concat([table[~is_tape], tapes])
    return pd.DataFrame({
        "who": [Link(FOR_DATA.get(name, ("Staging", ""))[0], "#data") for name in table["data"]],
        "wait_km_p50": table.took_p50, "wait_km_p95": table.took_p95, "still_waiting": table.still_waiting,
        "reason": [FOR_DATA.get(name, ("", f"tape {name}"))[1] for name in table["data"]]})


def _lost(run: Run) -> tuple[TableBlock, TableBlock]:
    """Causes that lost most core hours with the queue of most, and queues with most core hours without a payload."""
    lost, held = metrics.failures(run), wide(metrics.workers(run))
    causes = wide(lost).sort_values("lost_core_hours", ascending=False, kind="stable").head(MOST_ROWS)[
        ["cause", "status", "jobs", "lost_core_hours"]] if len(lost) else pd.DataFrame()
    if len(causes):
        causes = _with_places(causes, wide(metrics.failures_by_queue(run))).drop(columns=["status", "jobs"])
    idle = held.groupby("queue", observed=True).idle_core_h.sum().sort_values(ascending=False, kind="stable").head(
        MOST_ROWS).reset_index() if len(held) else pd.DataFrame()
    if len(idle):
        idle = idle.assign(queue=[_queue(str(queue)) for queue in idle.queue])
    return TableBlock("Lost", causes.rename(columns=OF_LOSSES)), TableBlock("Slots without a payload", idle)


def _with_places(causes: pd.DataFrame, places: pd.DataFrame) -> pd.DataFrame:
    """Causes with the queue at which each lost most, and its part of the loss, %; empty for a loss of nothing."""
    by_cause = {key: rows for key, rows in places[places.lost_core_hours > 0].groupby(["status", "cause"])}
    found = [by_cause.get((row.status, row.cause)) for row in causes.itertuples()]
    parts = [np.nan if rows is None else 100 * rows.lost_core_hours.iloc[0] / rows.lost_core_hours.sum()
             for rows in found]
    return causes.assign(cause=[Link(spoken(str(cause)), "#failures") for cause in causes.cause],
                         at=["" if rows is None else _queue(rows.queue.iloc[0]) for rows in found], part=parts)


def _queue(name: str) -> Link:
    return Link(name, f"#{address('queue', name)}")
