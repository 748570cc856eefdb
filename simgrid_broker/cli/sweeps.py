"""`sweep`, `sensitivity` and `tune`: studies that a file describes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simgrid_broker.cli.compare import difference_text
from simgrid_broker.cli.loading import Settings, refuse_unusable
from simgrid_broker.cli.progress import steps
from simgrid_broker.cli.studies import Figures, Number, Reports, Scheduler, StudyFolder, finish, seeds_given, watched
from simgrid_broker.cli.text import table
from simgrid_broker.cli.trouble import BadArgument

if TYPE_CHECKING:

    from simgrid_broker.experiments.study_file import StudyFile

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
Seeds = Annotated[str | None, typer.Option("--seeds", metavar="SEEDS", help="Seeds of each point, instead of those of "
                                           "the study file: a number, or a range such as 5-9.", show_default=False)]


def sweep(
    study: Annotated[Path, typer.Argument(metavar="STUDY|SCENARIO", show_default=False,
                                          help="Study file, YAML; with --vary a scenario file.")],
    vary: Annotated[list[str] | None, typer.Option(metavar="KEY=V1,V2,...", help="Run all combinations of the values "
                                                   "of these settings, instead of a study file; repeatable.",
                                                   show_default=False)] = None,
    seeds: Seeds = None,
    settings: Settings = None,
    figures: Figures = None,
    workers: Number = None,
    scheduler: Scheduler = None,
    out: StudyFolder = None,
    reports: Reports = False,
) -> None:
    """Run a scenario over combinations of settings, each with several seeds.

    Writes one tidy table of all figures, and a report with main effects, curves and maps. An interrupted sweep is
    continued by the same command.
    """
    from simgrid_broker.experiments.study_file import SweepFile, read_study_file
    from simgrid_broker.experiments.sweep import swept, write_sweep_report
    file = of_options(study, vary) if vary else read_study_file(study, SweepFile)
    file = with_options(file, seeds, settings, figures)
    name = "-".join(["sweep", *(key.split(".")[-1] for key in file.vary)]) if vary else study.stem
    with watched(workers, scheduler, reports) as run_on:
        done = swept(file, out, run_on, name, refuse_unusable)
    page = write_sweep_report(done, file, steps("Writing the report"))
    finish(done, page)


def sensitivity(
    study: StudyPath,
    seeds: Seeds = None,
    settings: Settings = None,
    figures: Figures = None,
    workers: Number = None,
    scheduler: Scheduler = None,
    out: StudyFolder = None,
    reports: Reports = False,
) -> None:
    """Find the settings on which figures depend, by Morris' or Sobol's method.

    Writes a table of indices with their errors, and a report. An interrupted study is continued by the same command.
    """
    from simgrid_broker.experiments.sensitivity import analysed, write_sensitivity_report
    from simgrid_broker.experiments.study_file import SensitivityFile, read_study_file
    file = with_options(read_study_file(study, SensitivityFile), seeds, settings, figures)
    with watched(workers, scheduler, reports) as run_on:
        done = analysed(file, out, run_on, study.stem, refuse_unusable)
    page = write_sensitivity_report(done, file, steps("Writing the report"))
    finish(done, page)


def tune(
    study: StudyPath,
    settings: Settings = None,
    workers: Number = None,
    scheduler: Scheduler = None,
    out: StudyFolder = None,
    reports: Reports = False,
) -> None:
    """Find settings that make figures small or large within constraints.

    Ends with the winner against today's settings on fresh seeds, and its settings as a part of a scenario. An
    interrupted search is continued by the same command.
    """
    from simgrid_broker.experiments.study_file import TuneFile, base_scenario, read_study_file
    from simgrid_broker.experiments.tune import confirmation, today, tuned
    from simgrid_broker.experiments.tune_report import winner_settings, write_tune_report
    file = with_options(read_study_file(study, TuneFile), None, settings, None)
    with watched(workers, scheduler, reports) as run_on:
        result = tuned(file, out, run_on, study.stem, refuse_unusable)
    page = write_tune_report(result, file, steps("Writing the report"))
    if result.winner is None:
        typer.echo("No trial keeps all constraints.")
    else:
        before = today(file, base_scenario(file))
        after = winner_settings(result, before)
        typer.echo(f"Winner: {result.winner} of {len(result.trials)} trials\n")
        typer.echo(table(("setting", "from", "to"), [(key, str(before[key]), str(after[key])) for key in before]))
        rows = confirmation(result, file)
        typer.echo("\n" + difference_text(rows[rows.figure.isin([*file.objectives, *file.constraints])]))
    finish(result.study, page)


def of_options(scenario: Path, vary: list[str]) -> "Any":
    """The sweep that the options --vary describe; raises BadArgument."""
    from simgrid_broker.errors import StudyError
    from simgrid_broker.experiments.study_file import SweepFile, study_of
    from simgrid_broker.scenario.yaml_lines import read_value
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


def with_options(file: "StudyFile", seeds: str | None, settings: list[str] | None,
                 figures: list[str] | None) -> "Any":
    """A study file with what the command line says instead; raises BadArgument."""
    from simgrid_broker.scenario.set_values import from_command_line
    changes: dict[str, Any] = {}
    if seeds is not None:
        changes["seeds"] = seeds_given(seeds)
    if figures:
        changes["figures"] = tuple(figures)
    if settings:
        try:
            given = [from_command_line(text) for text in settings]
        except ValueError as error:
            raise BadArgument("--set", " ".join(settings), str(error)) from None
        changes["settings"] = {**file.settings, **{one.key: one.value for one in given}}
    return file.model_copy(update=changes)
