"""`replicate`, and what the verbs of studies print."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.loading import ScenarioFile, Settings, Until, loaded
from simgrid_broker.cli.progress import steps
from simgrid_broker.cli.study.options import HERE, Figures, RunOn, StudyFolder, grouped_options, seeds_given
from simgrid_broker.cli.text import table
from simgrid_broker.cli.trouble import BAD_INPUT, FAILED

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.experiments.study import Study

EXAMPLES = """\b
Examples:
  simgrid-broker replicate scenarios/minimal.yaml --seeds 10
  simgrid-broker replicate scenarios/quickstart.yaml --seeds 21-40 --workers 4 --out results/more
"""


@grouped_options
def replicate(
    scenario: ScenarioFile,
    seeds: Annotated[str, typer.Option(metavar="SEEDS", help="A number of seeds (20: seeds 1 to 20), or a range such "
                                       "as 5-9.")] = "20",
    until: Until = None,
    settings: Settings = None,
    figures: Figures = None,
    run_on: RunOn = HERE,
    out: StudyFolder = None,
) -> None:
    """Run a scenario with several seeds, and show its figures with their errors.

    Each run is an ordinary folder below DIR. An interrupted study is continued by the same command.
    """
    given, chosen = loaded(scenario, None, until, settings), seeds_given(seeds)
    from simgrid_broker.experiments.replicate import replicated, write_replicate_report
    from simgrid_broker.experiments.tables import means
    with run_on.watched() as workers:
        study = replicated(given, chosen, out, workers, tuple(figures or ()))
    page = write_replicate_report(study, figures or (), steps("Writing the report"))
    typer.echo(means_text(means(study.results(), shown_figures(study, figures))))
    finish(study, page)


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
