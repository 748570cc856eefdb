"""Options that the verbs of studies share, their progress, and `replicate`."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.loading import ScenarioFile, Settings, Until, loaded
from simgrid_broker.cli.progress import LINE_EVERY_S, steps
from simgrid_broker.cli.signals import INTERRUPTED, closing
from simgrid_broker.cli.text import table
from simgrid_broker.cli.trouble import BAD_INPUT, FAILED, BadArgument

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.experiments.running import Progress, Workers
    from simgrid_broker.experiments.study import Study

EXAMPLES = """\b
Examples:
  simgrid-broker replicate scenarios/minimal.yaml --seeds 10
  simgrid-broker replicate scenarios/quickstart.yaml --seeds 21-40 --workers 4 --out results/more
"""

Number = Annotated[int | None, typer.Option("--workers", min=1, metavar="N", help="Worker processes on this machine; "
                                            "default: one for each core.", show_default=False)]
Scheduler = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler to use instead, for example "
                                               "tcp://host:8786; its workers need this package and the folder of "
                                               "the study.", show_default=False)]
StudyFolder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder of the study; finished runs in "
                                                  "it are not repeated.", show_default=False)]
Reports = Annotated[bool, typer.Option("--reports", help="Write a report for each run.")]
Figures = Annotated[list[str] | None, typer.Option("--figure", metavar="NAME", help="Figure to show, for example "
                                                   "wait_p50 or shares.Analysis.delivered, instead of the headlines; "
                                                   "repeatable.", show_default=False)]


def replicate(
    scenario: ScenarioFile,
    seeds: Annotated[str, typer.Option(metavar="SEEDS", help="A number of seeds (20: seeds 1 to 20), or a range such "
                                       "as 5-9.")] = "20",
    until: Until = None,
    settings: Settings = None,
    figures: Figures = None,
    workers: Number = None,
    scheduler: Scheduler = None,
    out: StudyFolder = None,
    reports: Reports = False,
) -> None:
    """Run a scenario with several seeds, and show its figures with their errors.

    Each run is an ordinary folder below DIR. An interrupted study is continued by the same command.
    """
    given, chosen = loaded(scenario, None, until, settings), seeds_given(seeds)
    from simgrid_broker.experiments.replicate import replicated, write_replicate_report
    from simgrid_broker.experiments.tables import means
    with watched(workers, scheduler, reports) as run_on:
        study = replicated(given, chosen, out, run_on, tuple(figures or ()))
    page = write_replicate_report(study, figures or (), steps("Writing the report"))
    typer.echo(means_text(means(study.results(), shown_figures(study, figures))))
    finish(study, page)


def seeds_given(text: str) -> str:
    """Checked text of the option --seeds; raises BadArgument."""
    from simgrid_broker.experiments.study_file import seeds_of
    try:
        seeds_of(text)
    except ValueError as error:
        raise BadArgument("--seeds", text, str(error)) from None
    return text


@contextmanager
def watched(number: int | None, scheduler: str | None, pages: bool = False) -> "Iterator[Workers]":
    """Where to run a study, with progress on stderr; Ctrl-C ends it such that the same command continues it.

    Raises BadArgument if both a number of workers and a scheduler are given.
    """
    from simgrid_broker.experiments.running import Workers
    if number is not None and scheduler is not None:
        raise BadArgument("--workers", number, "has no effect with --scheduler, which has workers of its own")
    progress = StudyProgress()
    try:
        with closing():
            yield Workers(number, scheduler, pages, progress)
    except KeyboardInterrupt:
        typer.echo("\nInterrupted; finished runs are kept, and the same command continues.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        progress.close()


class StudyProgress:
    """Shows the progress of a study: a line that changes on a terminal, else a line from time to time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self.clock, self.line_at, self.width = clock, clock(), 0

    def __call__(self, progress: "Progress") -> None:
        """Show a state of the study."""
        text, now = text_of(progress), self.clock()
        if sys.stderr.isatty():
            typer.echo(f"\r{text:{self.width}}", nl=False, err=True)
            self.width = len(text)
        elif now >= self.line_at:
            self.line_at = now + LINE_EVERY_S
            typer.echo(text, err=True)

    def close(self) -> None:
        """End the line."""
        if self.width:
            typer.echo("", err=True)


def text_of(progress: "Progress") -> str:
    """A progress in words: done, failed, running, and when the study will end."""
    text = f"{progress.done} of {progress.total} runs done, {progress.failed} failed, {progress.running} running"
    if progress.left_s > 0:
        text += ", ends " + time.strftime("%H:%M:%S", time.localtime(time.time() + progress.left_s))
    return text


def shown_figures(study: "Study", figures: list[str] | None) -> tuple[str, ...]:
    """Figures that a study shows: those that were asked for, or the headlines."""
    from simgrid_broker.experiments.figures import headlines
    return tuple(figures or headlines(tuple(dict.fromkeys(study.results().figure))))


def means_text(rows: "pd.DataFrame") -> str:
    """Means with their errors as a table."""
    from simgrid_broker.report.words import number
    return table(("figure", "mean", "95 % low", "high", "error", "runs", "unit"),
                 [(row.figure, number(row.value), number(row.low), number(row.high), number(row.error), str(row.count),
                   row.unit) for row in rows.itertuples(index=False, name="Row")], numbers=(1, 2, 3, 4, 5))


def finish(study: "Study", page: Path) -> None:
    """Print where the results are, and the messages of failed runs; exit status 1 if there are any."""
    from simgrid_broker.experiments.points import FAILED as FAILED_POINT
    points = study.points()
    failed = points[points.state == FAILED_POINT]
    typer.echo(f"\nReport: {page}\nTables: {study.folder} (*.csv, *.parquet; a folder for each run)")
    for row in failed.head(3).itertuples():
        typer.echo(f"{row.group}, seed {row.seed} failed: {str(row.message).splitlines()[-1]}", err=True)
    if len(failed):
        typer.echo(f"{len(failed)} of {len(points)} runs failed; the same command tries them again.", err=True)
        raise typer.Exit(BAD_INPUT if len(failed) == len(points) else FAILED)
