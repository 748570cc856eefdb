"""`report` and `compare`: tables and pages of recorded runs."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from simgrid_broker.cli.text import table

if TYPE_CHECKING:
    from simgrid_broker.records import Run

REPORT_EXAMPLES = """\b
Examples:
  simgrid-broker report results/quickstart/seed-1
"""
COMPARE_EXAMPLES = """\b
Examples:
  simgrid-broker compare results/quickstart/seed-1 results/quickstart/seed-1-2
  simgrid-broker compare results/base/seed-1 results/tuned/seed-1 --out results/base-and-tuned
"""


def report(run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)]) -> None:
    """Print the figures of a run and rewrite its report. Also works for runs that were interrupted or killed."""
    from simgrid_broker.records import read_run
    write_and_print(read_run(run))


class Pages(NamedTuple):
    """Whether a report is written, and whether with plots."""

    report: bool = True
    plots: bool = True


WHOLE = Pages()


def with_pages(progress: Callable | None, end_s: float, pages: Pages) -> Callable:
    """A progress callback that also starts the import of what draws pages, to happen while the tables are closed."""
    names = [f"simgrid_broker.report.{name}" for name in ("sections", *(["canvas"] if pages.plots else []))]

    def at_step(simulation) -> None:
        if progress is not None:
            progress(simulation)
        if simulation.env.now >= end_s:
            Thread(target=lambda: [import_module(name) for name in names], daemon=True).start()
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


def compare(
    base: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the first run, A.", show_default=False)],
    changed: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the second run, B.", show_default=False)],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the comparison; default: next to the "
                                             "second run.", show_default=False)] = None,
) -> None:
    """Compare two runs in tables and curves.

    The page lists the settings that differ and the differences of the results, and overlays the curves.
    """
    from simgrid_broker.cli.progress import steps
    from simgrid_broker.records import read_run
    from simgrid_broker.report import write_comparison
    run_a, run_b = read_run(base), read_run(changed)
    folder = out or run_b.folder.parent / f"{_label(run_b)}-against-{_label(run_a)}"
    page = write_comparison(run_a, run_b, folder, steps("Comparing"))
    typer.echo(f"A: {run_a.folder}\nB: {run_b.folder}\n")
    typer.echo(differences(run_a, run_b))
    typer.echo(f"\nReport: {page}")


def differences(run_a: "Run", run_b: "Run") -> str:
    """The summaries of two runs side by side, as a table."""
    from simgrid_broker import metrics
    from simgrid_broker.report.words import SUMMARY_LABELS, number
    rows = metrics.difference(metrics.summary(run_a), metrics.summary(run_b))
    return table(("figure", "A", "B", "B - A", "unit"),
                 [(SUMMARY_LABELS[row.metric], number(row.base), number(row.changed), number(row.difference), row.unit)
                  for row in rows.itertuples()], numbers=(1, 2, 3))


def _label(run: "Run") -> str:
    """Scenario and run as part of a folder name."""
    return run.name.replace("/", "-")
