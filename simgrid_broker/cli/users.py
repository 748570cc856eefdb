"""`users`, and why work of a user waits: `explain --user`, and `--task` of a user."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.loading import recorded_run
from simgrid_broker.cli.text import count, paragraph, table
from simgrid_broker.cli.trouble import BadArgument
from simgrid_broker.errors import nearest
from simgrid_broker.units import format_seconds

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.records import Run

EXAMPLES = """\b
Examples:
  simgrid-broker users results/greedy_user/seed-1
  simgrid-broker users results/greedy_user/seed-1 --all --json
"""
MOST = 20
"""Users shown without --all."""


def users(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)],
    every: Annotated[bool, typer.Option("--all", help=f"All users, not only the {MOST} largest.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the users of a run: tasks, jobs, cores, waiting times, and how long their tasks were throttled, by what.

    Users with most cores come first. Cores are the mean over the window of the run.
    """
    recorded = recorded_run(run)
    rows, fair = of_run(recorded)
    if as_json:
        plain = rows.astype(object).where(rows.notna(), None).to_dict("records")
        figures = {name: None if value != value else value for name, value in fair.items()}
        typer.echo(json.dumps({"users": plain, **figures}, indent=1, ensure_ascii=False, allow_nan=False))
        return
    if not len(rows):
        typer.echo("No user has an analysis task in this run.")
        return
    shown = rows if every else rows.head(MOST)
    cells = [(row.user, *(f"{number:,.0f}" for number in (row.tasks, row.started, row.waiting)), f"{row.cores:,.1f}",
              *map(_hours, (row.wait_p50, row.wait_p95, row.throttled)), row.throttled_by)
             for row in shown.itertuples()]
    typer.echo(table(("user", "tasks", "started", "waiting", "cores", "wait p50", "p95", "throttled", "by"), cells,
                     numbers=range(1, 8)))
    left = "" if len(shown) == len(rows) else f" {count(len(rows) - len(shown), 'more user')}: --all."
    fairness = ("" if fair["jain"] != fair["jain"] else
                f" Fairness of the power: Jain's index {fair['jain']:.2f} (1 = all users have the same); the ten "
                f"largest users have {100 * fair['largest_ten']:.0f} %.")
    typer.echo(paragraph(f"Waits and throttled times in hours.{left}{fairness}"))


def of_run(run: "Run") -> "tuple[pd.DataFrame, dict[str, float]]":
    """Users of a run, the figures of `metrics.users` with what throttled their tasks, and `metrics.fairness`."""
    from simgrid_broker import metrics
    rows, held = metrics.wide(metrics.users(run)), metrics.throttled_by(run)
    by = held.groupby("user").throttled_by.agg(lambda words: ", ".join(sorted(word.replace("_", " ")
                                                                              for word in set(words))))
    reasons = [by.get(user, "") for user in rows.user]
    return (rows.assign(throttled_by=reasons).drop(columns="window", errors="ignore"),
            metrics.fairness(rows.power.to_numpy(float)))


def _hours(value: float) -> str:
    return "–" if value != value or not value else f"{value:.1f}"


MOST_TASKS, MOST_QUEUES, MOST_RULES = 20, 10, 5
"""Rows of a table without --all."""
LEAST_PART = 0.05
"""Part of the waiting jobs from which the second cause is named."""

CAPS = {"running_jobs": "RUNNING_{}_JOBS", "queued_jobs": "RUNNING_{}_JOBS", "running_cores": "RUNNING_{}_CORES",
        "queued_cores": "RUNNING_{}_CORES", "-cap_jobs": "RUNNING_{}_JOBS", "-cap_queued_jobs": "RUNNING_{}_JOBS",
        "-cap_cores": "RUNNING_{}_CORES", "-cap_queued_cores": "RUNNING_{}_CORES"}
"""Causes that are caps, and the key of each for USER or GROUP."""

SAYS = {
    "cap": "a cap holds them back: {cap}",
    "class": "{share} uses too much of its target for their class: {rule}",
    "quota": "the disk quota is used up: {rule}",
    "no data": "their input cannot be read where they may go: {rule}",
    "problematic queues": "all queues left have too much of this work, or failed it: {rule}",
    "no queue": "no queue may take them: {rule}",
    "failed attempts": "their tasks are throttled, because attempts failed",
    "moving input": "their tasks are throttled, as too much of the user's input is on its way ({rule})",
    "scouts": "the scouts of their tasks are not over",
    "turn": "JEDI has not made them yet{because}",
    "input": "they are being set up, or their input or the library that they use is on its way",
    "slots": "the slots are taken: they are activated at {places}",
    "stopped": "their task is {rule}",
}
"""Sentence of each cause of `metrics.held_work`."""


@dataclass(frozen=True)
class WhyWaits:
    """Why the work of a user, or one task of it, waits; about: a name or number.

    tasks, jobs, held, places: of `metrics.tasks_of_users`, `live_jobs`, `held_work` and `places_of`; classes: class of
    each task that has one, by jeditaskid; throttled: of `metrics.throttled_by`; rules: of the last recorded decision
    about each task the refusing rules, with their words and numbers of candidates; verdicts: of the throttler about
    each share, in words; half_since_s: of `metrics.half_since`.
    """

    about: str
    user: str
    tasks: "pd.DataFrame"
    jobs: "pd.DataFrame"
    held: "pd.DataFrame"
    places: "pd.DataFrame"
    classes: dict[int, str]
    throttled: "pd.DataFrame"
    rules: "pd.DataFrame"
    caps: dict[str, float]
    verdicts: dict[str, str]
    half_since_s: float
    end_s: float

    def to_dict(self) -> dict:
        """The answer as JSON-compatible types, except NaN."""
        return {"user": self.user, "about": self.about, "says": sentence(self), "at_s": self.end_s,
                "jobs": self.jobs.groupby("status").size().to_dict(), "task_classes": self.classes,
                **{name: getattr(self, name).to_dict("records")
                   for name in ("tasks", "held", "places", "throttled", "rules")}}


def of_user(run: "Run", user: str) -> WhyWaits:
    """Why the work of a user waits; raises BadArgument for a user without an analysis task."""
    from simgrid_broker import metrics
    tasks = metrics.tasks_of_users(run)
    if user not in set(tasks.user):
        users = sorted(set(tasks.user))
        raise BadArgument("--user", user, f"unknown; {count(len(users), 'user')} of the run "
                          f"{'has' if len(users) == 1 else 'have'} analysis tasks", nearest(user, users))
    return _answer(run, user, user, tasks[tasks.user == user].reset_index(drop=True))


def of_task(run: "Run", task: int) -> WhyWaits | None:
    """Why a task waits; None if it is not of analysis."""
    from simgrid_broker import metrics
    tasks = metrics.tasks_of_users(run)
    tasks = tasks[tasks.jeditaskid == task].reset_index(drop=True)
    return _answer(run, f"task {task}", str(tasks.user[0]), tasks) if len(tasks) else None


def _answer(run: "Run", about: str, user: str, tasks: "pd.DataFrame") -> WhyWaits:
    from simgrid_broker import metrics
    from simgrid_broker.metrics.chain_words import verdict_in_words
    numbers = set(tasks.jeditaskid)
    jobs = metrics.live_jobs(run, numbers)
    throttled = metrics.throttled_by(run)
    caps = {key: given["value"] for key, given in run.manifest["gdpconfig"].items() if ".CAP_RUNNING_" in f".{key}"}
    held = metrics.held_work(run, tasks, jobs)
    return WhyWaits(about, user, tasks, jobs, held, metrics.places_of(run, jobs), metrics.last_classes(run, numbers),
                    throttled[throttled.jeditaskid.isin(numbers)], _last_refusals(run, numbers), caps,
                    {str(share): verdict_in_words(run, str(share)) for share in set(tasks.share.astype(object))},
                    metrics.half_since(held, jobs), run.end_s)


def _last_refusals(run: "Run", tasks: set[int]) -> "pd.DataFrame":
    """Rules of the last recorded decision about each task: jeditaskid, time_s, rule, candidates, reason."""
    from simgrid_broker import metrics
    rows = metrics.explain(run, tasks=tasks)
    rows = rows[rows.decision == rows.groupby("jeditaskid").decision.transform("max")]
    rows = metrics.with_labels(run, rows.assign(reason=metrics.reasons(run, rows)))
    groups = rows.groupby(["jeditaskid", "time_s", "rule"], sort=False)
    reasons = groups.agg(candidates=("candidate", "size"), reason=("reason", "first")).reset_index()
    return reasons.sort_values(["jeditaskid", "candidates"], ascending=[True, False], kind="stable", ignore_index=True)


def sentence(why: WhyWaits) -> str:
    """Why the work waits, in one sentence: the cause that holds most jobs, and the next one if it holds many."""
    if not len(why.held):
        running = int((why.jobs.status == "running").sum())
        return f"No job of {why.about} waits: {count(running, 'job')} {'runs' if running == 1 else 'run'}."
    by_cause = why.held.groupby("cause").jobs.sum().sort_values(ascending=False, kind="stable")
    whole, first = by_cause.sum(), by_cause.index[0]
    part = "all" if by_cause[first] == whole else f"{by_cause[first]:,.0f}"
    others = [f", and {by_cause[cause]:,.0f} because {_says(why, cause)}" for cause in by_cause.index[1:2]
              if by_cause[cause] >= LEAST_PART * whole]
    return f"{_how_long(why, round(whole))}: {part} wait because {_says(why, first)}{''.join(others)}."


def _how_long(why: WhyWaits, n_waiting: int) -> str:
    """Say for how long the waiting jobs have waited."""
    half, longest = (format_seconds(why.end_s - since_s) for since_s in (why.half_since_s, why.held.since_s.min()))
    if half == longest:
        return f"{count(n_waiting, 'job')} of {why.about} {'has' if n_waiting == 1 else 'have'} waited for {longest}"
    return (f"Half of the {n_waiting:,} waiting jobs of {why.about} have waited for at least {half}, the first for "
            f"{longest}")


def _says(why: WhyWaits, cause: str) -> str:
    """Sentence of a cause with the figures of the jobs that it holds."""
    rows = why.held[why.held.cause == cause]
    of_task = why.tasks[why.tasks.jeditaskid == rows.jeditaskid.iloc[0]].iloc[0]
    return SAYS[cause].format(rule=_rule(why, rows), share=of_task.share, places=_places(why), cap=_cap(why, rows),
                              because=why.verdicts.get(of_task.share, ""))


def _rule(why: WhyWaits, rows: "pd.DataFrame") -> str:
    """The rule that holds most of some jobs, with its words where they were recorded."""
    rule = rows.groupby("rule").jobs.sum().idxmax()
    said = why.rules.reason[(why.rules.rule == rule) & why.rules.reason.astype(bool)]
    return f"{said.iloc[-1]} ({rule})" if len(said) else rule


def _cap(why: WhyWaits, rows: "pd.DataFrame") -> str:
    """The cap that holds most of some jobs, and its value."""
    rule = rows.groupby("rule").jobs.sum().idxmax()
    group = any(word for word in why.tasks.working_group if isinstance(word, str))
    if rule not in CAPS:
        return "their jobs are throttled, as the running jobs or cores have reached CAP_RUNNING_USER_JOBS or _CORES"
    key = f"CAP_{CAPS[rule].format('GROUP' if group else 'USER')}"
    given = next((value for name, value in why.caps.items() if name.endswith(key)), None)
    what = rule.removeprefix("-cap_").replace("_", " ")
    what = what if what.startswith(("queued", "running")) else f"running {what}"
    return f"too many {what} for {key}" + (f" = {given:g}" if given else "")


def _places(why: WhyWaits) -> str:
    """Queues where most jobs wait, and how many of them are full."""
    full = int((why.places.free_cores < 1).sum())
    first = ", ".join(why.places.queue.head(3)) + (", ..." if len(why.places) > 3 else "")
    return f"{count(len(why.places), 'queue')} ({first})" + (f", {full} of them without a free core" if full else "")


def text(why: WhyWaits, everything: bool = False) -> str:
    """The answer for a terminal; everything: all rows of the tables."""
    blocks = [paragraph(sentence(why)), _tasks(why, everything), _jobs(why), _throttled(why),
              _where(why, everything), _rules(why, everything)]
    return "\n\n".join(block for block in blocks if block)


def _tasks(why: WhyWaits, everything: bool) -> str:
    """Tasks that are not over, those with most waiting jobs first."""
    waiting, since = why.held.groupby("jeditaskid").jobs.sum(), why.held.groupby("jeditaskid").since_s.min()
    causes = why.held.groupby("jeditaskid").cause.agg(", ".join)
    running = why.jobs[why.jobs.status == "running"].groupby("jeditaskid").size()
    rows = why.tasks.assign(waiting=why.tasks.jeditaskid.map(waiting).fillna(0),
                            running=why.tasks.jeditaskid.map(running).fillna(0))
    rows = rows.assign(waits=why.end_s - rows.jeditaskid.map(since))
    rows = rows[(rows.waiting > 0) | (rows.running > 0)].sort_values("waiting", ascending=False, kind="stable")
    cells = [(str(row.jeditaskid), str(row.name), row.status, format_seconds(why.end_s - row.since_s),
              why.classes.get(row.jeditaskid, "–"), *(f"{number:,.0f}" for number in (
                  row.n_jobs, row.n_finished, row.running, row.waiting)),
              format_seconds(row.waits) if row.waiting else "–", causes.get(row.jeditaskid, ""))
             for row in (rows if everything else rows.head(MOST_TASKS)).itertuples(index=False)]
    if not cells:
        return ""
    more = len(rows) - len(cells)
    head = "task", "name", "status", "for", "class", "jobs", "done", "running", "waiting", "longest", "because of"
    return table(head, cells, numbers=(3, 5, 6, 7, 8, 9)) + (f"\n... and {more} more; --all shows all" if more else "")


def _jobs(why: WhyWaits) -> str:
    """Jobs by status, and how long the first of each has had it."""
    groups = why.jobs.groupby("status").since_s.agg(["size", "min"])
    cells = [(status, f"{row['size']:,.0f}", format_seconds(why.end_s - row["min"]))
             for status, row in groups.iterrows()]
    return table(("jobs", "number", "longest for"), cells, numbers=(1, 2)) if cells else ""


def _throttled(why: WhyWaits) -> str:
    """Table of the hours for which each reason throttled tasks; empty without throttled tasks."""
    hours = why.throttled.groupby("throttled_by").throttled.sum()
    cells = [(reason.replace("_", " "), f"{value:,.1f}") for reason, value in hours.items()]
    return table(("tasks throttled by", "h"), cells, numbers=(1,)) if cells else ""


def _where(why: WhyWaits, everything: bool) -> str:
    """Queues where jobs wait."""
    rows = why.places if everything else why.places.head(MOST_QUEUES)
    cells = [(row.queue, *("–" if number != number else f"{number:,.0f}" for number in (
        row.waiting, row.running, row.all_waiting, row.all_running, row.free_cores))) for row in rows.itertuples()]
    return table(("activated at", "waiting", "running", "of all", "running", "free cores"), cells,
                 numbers=range(1, 6)) if cells else ""


def _rules(why: WhyWaits, everything: bool) -> str:
    """Refusals of the last recorded decision about each task."""
    rows = why.rules if everything else why.rules.head(MOST_RULES)
    cells = [(str(row.jeditaskid), format_seconds(row.time_s), row.rule, f"{row.candidates:,}", row.reason)
             for row in rows.itertuples()]
    head = "last decision", "at", "criteria", "candidates", "because of"
    return table(head, cells, numbers=(1, 3)) if cells else ""
