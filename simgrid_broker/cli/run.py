"""`run` and `report`: a scenario simulated, and the tables and pages of recorded runs."""

import gc
import json
import os
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from simgrid_broker.cli.loading import (
    PlotFormats,
    ScenarioFile,
    Seed,
    Settings,
    Until,
    WorkloadFile,
    loaded,
    plot_formats,
)
from simgrid_broker.cli.signals import INTERRUPTED, closing
from simgrid_broker.cli.trouble import BadArgument
from simgrid_broker.errors import SimgridBrokerError

if TYPE_CHECKING:
    from simgrid_broker.records import Run
    from simgrid_broker.scenario import Scenario


REPORT_EXAMPLES = """\b
Examples:
  simgrid-broker report results/quickstart/seed-1
  simgrid-broker report results/quickstart/seed-1 --format png,pdf
  simgrid-broker report results/changed/seed-1 --base results/quickstart/seed-1
"""

def report(run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)],
           formats: PlotFormats = "",
           base: Annotated[Path | None, typer.Option(metavar="BASE", help="Folder of a run; the first section says "
                                                     "what changed against it.", show_default=False)] = None) -> None:
    """Print the figures of a run and rewrite its report. Also works for runs that were interrupted or killed."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")     # memory of a batch serves for what stays, too
    from simgrid_broker.records import read_run
    write_and_print(read_run(run), pages=Pages(formats=plot_formats(formats), base=read_run(base) if base else None))


class Pages(NamedTuple):
    """Choice of pages: a report, plots in it, formats in which these are also files of their own, and a run with which
    it is compared.
    """

    report: bool = True
    plots: bool = True
    formats: tuple[str, ...] = ()
    base: "Run | None" = None


WHOLE = Pages()


def with_pages(progress: Callable | None, end_s: float, pages: Pages) -> Callable:
    """A progress callback that also starts the import of what draws pages, to happen while the tables are closed."""
    def load() -> None:
        import_module("simgrid_broker.report.sections")
        if pages.plots:
            import_module("simgrid_broker.report.drawing.pictures").layout()

    def at_step(simulation) -> None:
        if progress is not None:
            progress(simulation)
        if simulation.env.now >= end_s:
            Thread(target=load, daemon=True).start()
    return at_step


def write_and_print(run: "Run", quiet: bool = False, pages: Pages = WHOLE) -> None:
    """Write the report of a run; print summary and paths, or only the run's folder if `quiet`."""
    page = _written(run, quiet, pages) if pages.report else None
    if quiet:
        typer.echo(run.folder)
        return
    from simgrid_broker.report import terminal_summary
    typer.echo(terminal_summary(run))
    typer.echo((f"\nReport: {page}" if page else "") + f"\nTables: {run.folder} (*.parquet, manifest.json)")


def _written(run: "Run", quiet: bool, pages: Pages) -> Path:
    from simgrid_broker.cli.progress import steps
    from simgrid_broker.report import write_report
    return write_report(run, iter if quiet else steps("Writing the report"), pages.plots, pages.formats, pages.base)


EXAMPLES = """\b
Examples:
  simgrid-broker run scenarios/quickstart.yaml
  simgrid-broker run scenarios/quickstart.yaml --seed 3 --until 2d
  simgrid-broker run scenarios/quickstart.yaml --out /tmp/results
  simgrid-broker run scenarios/quickstart.yaml --set gdpconfig.NW_ACTIVE=true
  simgrid-broker run scenarios/quickstart.yaml --snapshot-at 12h
  simgrid-broker run scenarios/quickstart.yaml --no-report
  simgrid-broker run scenarios/lcg_replay.yaml --workload LCG-2005-1.swf.gz
"""


def run(
    scenario: ScenarioFile,
    seed: Seed = None,
    until: Until = None,
    settings: Settings = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of results; the run is written to "
                                      "DIR/<scenario>/seed-<N>.")] = Path("results"),
    into: Annotated[Path | None, typer.Option("--into", metavar="FOLDER", help="Write the run into this folder, which "
                                              "is empty or does not exist yet, instead of one below DIR.",
                                              show_default=False)] = None,
    workload: WorkloadFile = None,
    snapshots: Annotated[list[str] | None, typer.Option(
        "--snapshot-at", metavar="TIME", help="Write a snapshot for `broker` at this time, for example 36h, instead "
        "of at the times of record.snapshots; repeatable.", show_default=False)] = None,
    validate: Annotated[bool, typer.Option("--validate", help="Check all invariants at every sample.")] = False,
    check_decisions: Annotated[str, typer.Option("--check-decisions", metavar="PART", help="Compare this part of the "
        "brokers' decisions, for example 1%, with the dry run of the state in which each is made; the run fails at the "
        "first that differs.", show_default=False)] = "0",
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the run's folder.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write the tables only; `report` writes the report "
                                            "later.")] = False,
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Write the report without plots, which take most of its "
                                           "time.")] = False,
) -> None:
    """Simulate a scenario and write its report.

    Writes tables and report to a folder of results. Ctrl-C or SIGTERM ends a run early; complete results are kept and
    reported.
    """
    from simgrid_broker.records import new_run_folder
    pages, checked = Pages(not no_report, not no_plots), part_of(check_decisions)
    settings = [*(settings or ()), *([f"record.snapshots={json.dumps(snapshots)}"] if snapshots else [])]
    given = loaded(scenario, seed, until, settings, workload)
    if not quiet:
        show_remarks(given)
    from simgrid_broker.engine import simulate  # before signals become exceptions
    try:
        with closing():
            folder = empty_folder(into) if into is not None else new_run_folder(out, given.name, given.seed)
            result = simulated(partial(simulate, validate=validate, check_decisions=checked), given, folder,
                               quiet, pages)
    except KeyboardInterrupt:
        report_interrupted(folder, quiet, pages)
        raise typer.Exit(INTERRUPTED) from None
    gc.freeze()                                 # what is there stays: no search for garbage looks at it
    write_and_print(result, quiet, pages)
    if checked:
        number = result.manifest["counters"]["decisions_checked"]
        typer.echo(f"{number:,} decisions checked: all agree with the dry run of their state")


def empty_folder(folder: Path) -> Path:
    """The folder that `--into` gives, made if it does not exist; raises BadArgument if it is no empty folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            return folder
    except OSError as error:
        raise BadArgument("--into", str(folder), f"cannot be made: {error.strerror}") from error
    raise BadArgument("--into", str(folder), "is not empty")


def part_of(text: str) -> float:
    """Part that an option gives, from 0 to 1."""
    from simgrid_broker.units import fraction
    try:
        part = fraction(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--check-decisions") from None
    if not 0 <= part <= 1:
        raise typer.BadParameter(f"{text} is not from 0% to 100%", param_hint="--check-decisions")
    return part


def show_remarks(scenario: "Scenario") -> None:
    """Print remarks on the scenario to stderr."""
    from simgrid_broker.advice import remarks
    for remark in remarks(scenario):
        typer.echo(f"note: {remark}", err=True)


def simulated(simulate: Callable[..., "Run"], scenario: "Scenario", folder: Path, quiet: bool,
              pages: Pages) -> "Run":
    """Simulate a scenario into `folder`; the folder is removed if the run did not begin."""
    from simgrid_broker.cli.progress import Progress
    from simgrid_broker.compiled import watched
    progress = None if quiet else Progress(scenario.duration)
    try:
        with watched(progress.compiling) if progress else nullcontext():
            result = simulate(scenario, folder=folder,
                              progress=with_pages(progress, scenario.duration, pages) if pages.report else progress)
    except (SimgridBrokerError, MemoryError) as error:
        if is_begun(folder):
            error.add_note(f"Complete results are kept in {folder}.")
        raise
    finally:
        if progress is not None:
            progress.close()
        if not is_begun(folder):
            shutil.rmtree(folder, ignore_errors=True)
    for remark in result.manifest["remarks"]:
        typer.echo(f"note: {remark}", err=True)
    return result


def is_begun(folder: Path) -> bool:
    """True if the run in `folder` has a manifest and can be read."""
    from simgrid_broker.records.manifest import MANIFEST
    return (folder / MANIFEST).is_file()


def report_interrupted(folder: Path, quiet: bool, pages: Pages) -> None:
    """Report a run after Ctrl-C, unless it ended within its warm-up."""
    if not is_begun(folder):
        typer.echo("Interrupted before the simulation began; no results are kept.", err=True)
        return
    from simgrid_broker.metrics import window_of
    from simgrid_broker.records import read_run
    result = read_run(folder)
    typer.echo(f"Interrupted; complete results are kept in {folder}.", err=True)
    if window_of(result).length_s > 0 and len(result.shares):
        write_and_print(result, quiet, pages)
    else:
        typer.echo("No report is written, because the run ended within its warm-up.", err=True)
