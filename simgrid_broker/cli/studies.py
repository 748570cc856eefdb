"""`replicate`, `sweep`, `sensitivity` and `tune`, and what they print."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simgrid_broker.cli.compare import difference_text
from simgrid_broker.cli.loading import ScenarioFile, Settings, Until, loaded
from simgrid_broker.cli.progress import steps
from simgrid_broker.cli.study_options import (
    AS_WRITTEN,
    HERE,
    Figures,
    Instead,
    RunOn,
    StudyFolder,
    grouped_options,
    seeds_given,
)
from simgrid_broker.cli.text import paragraph, table
from simgrid_broker.cli.trouble import BAD_INPUT, FAILED, BadArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
    from simgrid_broker.experiments.figures import means, without_value
    from simgrid_broker.experiments.replicate import replicated, write_replicate_report
    with run_on.watched() as workers:
        study = replicated(given, chosen, out, workers, tuple(figures or ()))
    page = write_replicate_report(study, figures or (), steps("Writing the report"))
    results, shown = study.results(), shown_figures(study, figures)
    typer.echo(means_text(means(results, shown)))
    show_notes(without_value(results, shown))
    finish(study, page)


def show_notes(notes: "Iterable[str]") -> None:
    """Print sentences to read with a table."""
    for note in notes:
        typer.echo(paragraph(f"note: {note}"))


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
    from simgrid_broker.experiments.study import FAILED as FAILED_POINT
    points = study.points()
    failed = points[points.state == FAILED_POINT]
    typer.echo(f"\nReport: {page}\nTables: {study.folder} (*.csv, *.parquet; a folder for each run)")
    for row in failed.head(3).itertuples():
        typer.echo(f"{row.group}, seed {row.seed} failed: {str(row.message).splitlines()[-1]}", err=True)
    if len(failed):
        typer.echo(f"{len(failed)} of {len(points)} runs failed; the same command tries them again.", err=True)
        raise typer.Exit(BAD_INPUT if len(failed) == len(points) else FAILED)


MOST_ROWS = 24
"""Rows of figures and points that a sweep prints; of more only the ends of each figure."""
SWEEP_EXAMPLES = """\b
Examples:
  simgrid-broker sweep studies/queue_limits.yaml
  simgrid-broker sweep studies/queue_limits.yaml --seeds 10 --workers 4 --out results/limits
  simgrid-broker sweep scenarios/minimal.yaml --vary shares.Analysis.value=10,20,40 --vary edition=documented,deployed
"""
SENSITIVITY_EXAMPLES = """\b
Examples:
  simgrid-broker sensitivity studies/sensitivity.yaml
  simgrid-broker sensitivity studies/sensitivity.yaml --figure wait_p50 --out results/sensitivity
"""
TUNE_EXAMPLES = """\b
Examples:
  simgrid-broker tune studies/tune.yaml
  simgrid-broker tune studies/tune.yaml --workers 8 --out results/tuned
"""

StudyPath = Annotated[Path, typer.Argument(metavar="STUDY", help="Study file, YAML.", show_default=False)]


@grouped_options
def sweep(
    study: Annotated[Path, typer.Argument(metavar="STUDY|SCENARIO", show_default=False,
                                          help="Study file, YAML; with --vary a scenario file, or folder of a run.")],
    vary: Annotated[list[str] | None, typer.Option(metavar="KEY=V1,V2,...", help="Run all combinations of the values "
                                                   "of these settings, instead of a study file; repeatable.",
                                                   show_default=False)] = None,
    instead: Instead = AS_WRITTEN,
    run_on: RunOn = HERE,
    out: StudyFolder = None,
) -> None:
    """Run a scenario over combinations of settings, each with several seeds.

    Writes one tidy table of all figures, and a report with main effects, curves and maps. An interrupted sweep is
    continued by the same command.
    """
    from simgrid_broker.advice import refuse_unusable
    from simgrid_broker.experiments.figures import without_value
    from simgrid_broker.experiments.study_file import SweepFile, read_study_file
    from simgrid_broker.experiments.sweep import swept, write_sweep_report
    file = of_options(study, vary) if vary else read_study_file(study, SweepFile)
    file = instead.of(file)
    name = "-".join(["sweep", *(key.split(".")[-1] for key in file.vary)]) if vary else study.stem
    with run_on.watched() as workers:
        done = swept(file, out, workers, name, refuse_unusable)
    page = write_sweep_report(done, file, steps("Writing the report"))
    if len(done.finished()):
        figures = shown_figures(done, list(file.figures))
        typer.echo(points_text(done, tuple(file.vary), figures))
        show_notes(without_value(done.results(), figures))
    finish(done, page)


def points_text(study: "Study", keys: tuple[str, ...], figures: tuple[str, ...]) -> str:
    """Means of figures at the points of a sweep as a table; of many rows the points with the ends of each figure."""
    from simgrid_broker.experiments.sweep import extremes, point_means
    from simgrid_broker.report.words import number
    rows = point_means(study, study.results(), figures)
    ends = len(rows) > MOST_ROWS
    rows = extremes(rows, figures, keys) if ends else rows.sort_values(
        "figure", key=lambda names: names.map(figures.index), kind="stable")
    lines = [(row["figure"], *((row["end"],) if ends else ()), *(str(row[key]) for key in keys),
              *(number(row[name]) for name in ("value", "low", "high")), row["unit"])
             for row in rows.to_dict("records")]
    head = "figure", *(("",) if ends else ()), *short_names(keys), "mean", "95 % low", "high", "unit"
    first = len(head) - 4
    more = f"\n{len(study.points().group.unique())} points; means.csv has those between." if ends else ""
    return table(head, lines, numbers=range(first, first + 3)) + more


def short_names(keys: "Sequence[str]") -> "Sequence[str]":
    """The last names of dotted settings, or the whole ones if two are the same."""
    names = [key.rpartition(".")[2] for key in keys]
    return names if len(set(names)) == len(names) else keys


@grouped_options
def sensitivity(
    study: StudyPath,
    instead: Instead = AS_WRITTEN,
    run_on: RunOn = HERE,
    out: StudyFolder = None,
) -> None:
    """Find the settings on which figures depend, by Morris' or Sobol's method.

    Writes a table of indices with their errors, and a report. An interrupted study is continued by the same command.
    """
    from simgrid_broker.advice import refuse_unusable
    from simgrid_broker.experiments.sensitivity import analysed, indices, too_few, write_sensitivity_report
    from simgrid_broker.experiments.study_file import SensitivityFile, read_study_file
    file = instead.of(read_study_file(study, SensitivityFile))
    with run_on.watched() as workers:
        done = analysed(file, out, workers, study.stem, refuse_unusable)
    page = write_sensitivity_report(done, file, steps("Writing the report"))
    rows = indices(done.results(), file)
    typer.echo(indices_text(rows[rows["index"] != "mu"]))
    show_notes(too_few(file, rows))
    finish(done, page)


@grouped_options
def tune(
    study: StudyPath,
    settings: Settings = None,
    run_on: RunOn = HERE,
    out: StudyFolder = None,
) -> None:
    """Find settings that make figures small or large within constraints.

    Ends with the winner against today's settings on fresh seeds, and its settings as a part of a scenario. An
    interrupted search is continued by the same command.
    """
    from simgrid_broker.advice import refuse_unusable
    from simgrid_broker.experiments.study_file import TuneFile, base_scenario, read_study_file
    from simgrid_broker.experiments.tune import (
        confirmation,
        in_words,
        today,
        tuned,
        undecided,
        winner_settings,
        write_tune_report,
    )
    file = Instead(settings=settings).of(read_study_file(study, TuneFile))
    with run_on.watched() as workers:
        result = tuned(file, out, workers, study.stem, refuse_unusable)
    page = write_tune_report(result, file, steps("Writing the report"))
    typer.echo(trials_text(result.trials, file.objectives) + "\n")
    if result.winner is None:
        typer.echo("No trial keeps all constraints.")
    else:
        before = today(file, base_scenario(file))
        after = winner_settings(result, before)
        typer.echo(f"Winner: {result.winner} of {len(result.trials)} trials\n")
        typer.echo(table(("setting", "from", "to"), [(key, in_words(before[key]), in_words(after[key]))
                                                     for key in before]))
        rows = confirmation(result, file)
        typer.echo("\n" + difference_text(rows[rows.figure.isin([*file.objectives, *file.constraints])]))
        show_notes(undecided(rows, file))
    finish(result.study, page)


def indices_text(rows: "pd.DataFrame") -> str:
    """Sensitivity indices with their intervals as a table."""
    from simgrid_broker.report.words import number
    keys = list(dict.fromkeys(rows.setting))
    short = dict(zip(keys, short_names(keys), strict=True))
    return table(("figure", "setting", "index", "value", "95 % low", "high", "unit"),
                 [(row["figure"], short[row["setting"]], row["index"],
                   *(number(row[name]) for name in ("value", "low", "high")), row["unit"])
                  for row in rows.to_dict("records")], numbers=(3, 4, 5))


def trials_text(trials: "pd.DataFrame", objectives: "Mapping[str, str]", most: int = 10) -> str:
    """The best trials by the first objective as a table, those within the constraints first."""
    from simgrid_broker.report.words import number
    first, way = next(iter(objectives.items()))
    shown = trials.sort_values(["feasible", first], ascending=[False, way == "minimise"], kind="stable").head(most)
    names = [name for name in shown.columns if name != "state"]
    rows = shown[names].astype(object).itertuples(index=False, name=None)
    text = table([name.removeprefix("gdpconfig.") for name in names], [
        tuple(("yes" if value else "no") if isinstance(value, bool) else number(value) if isinstance(value, float)
              else str(value) for value in row) for row in rows])
    more = len(trials) - len(shown)
    return f"{text}\n{more} more trials are in trials.csv." if more > 0 else text


def of_options(scenario: Path, vary: list[str]) -> "Any":
    """The sweep that the options --vary describe; raises BadArgument."""
    from simgrid_broker.errors import StudyError
    from simgrid_broker.experiments.study_file import SweepFile, study_of
    from simgrid_broker.scenario.loading.documents import read_value
    axes = {}
    for text in vary:
        key, equals, values = text.partition("=")
        if not equals or not key.strip() or not values.strip():
            raise BadArgument("--vary", text, "write dotted.key=value,value,...")
        try:
            axes[key.strip()] = read_value(f"[{values}]")
        except ValueError as error:
            raise BadArgument("--vary", text, str(error)) from None
    try:
        return study_of({"scenario": str(scenario), "vary": axes}, SweepFile)
    except StudyError as error:
        raise BadArgument("--vary", " ".join(vary), str(error.problems[0])) from None
