"""`users`: users of a run with their jobs, cores, waits, and how long what throttled their tasks."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.text import count, paragraph, table

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
    from simgrid_broker.records import read_run
    recorded = read_run(run)
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
    typer.echo(paragraph(f"Waits and throttled times in hours.{left} Fairness of the power: Jain's index "
                         f"{fair['jain']:.2f} (1 = all users have the same); the ten largest users have "
                         f"{100 * fair['largest_ten']:.0f} %."))


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
