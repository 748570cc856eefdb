"""`report`: tables and pages of recorded runs."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from simgrid_broker.records import Run

EXAMPLES = """\b
Examples:
  simgrid-broker report results/quickstart/seed-1
"""

def report(run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)]) -> None:
    """Print the figures of a run and rewrite its report. Also works for runs that were interrupted or killed."""
    from simgrid_broker.records import read_run
    write_and_print(read_run(run))


class Pages(NamedTuple):
    """Choice of pages: a report, and plots in it."""

    report: bool = True
    plots: bool = True


WHOLE = Pages()


def with_pages(progress: Callable | None, end_s: float, pages: Pages) -> Callable:
    """A progress callback that also starts the import of what draws pages, to happen while the tables are closed."""
    def load() -> None:
        import_module("simgrid_broker.report.sections")
        if pages.plots:
            import_module("simgrid_broker.report.drawing.pictures").canvas()

    def at_step(simulation) -> None:
        if progress is not None:
            progress(simulation)
        if simulation.env.now >= end_s:
            Thread(target=load, daemon=True).start()
    return at_step


def write_and_print(run: "Run", quiet: bool = False, pages: Pages = WHOLE) -> None:
    """Write the report of a run; print summary and paths, or only the run's folder if `quiet`."""
    page = _written(run, quiet, pages.plots) if pages.report else None
    if quiet:
        typer.echo(run.folder)
        return
    from simgrid_broker.report import terminal_summary
    typer.echo(terminal_summary(run))
    typer.echo((f"\nReport: {page}" if page else "") + f"\nTables: {run.folder} (*.parquet, manifest.json)")


def _written(run: "Run", quiet: bool, plots: bool) -> Path:
    from simgrid_broker.cli.progress import steps
    from simgrid_broker.report import write_report
    return write_report(run, iter if quiet else steps("Writing the report"), plots)
