"""Loading of scenarios with the options of the command line, and the options that commands share."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.text import paragraph
from simgrid_broker.cli.trouble import BadArgument

if TYPE_CHECKING:
    from simgrid_broker.records import Run
    from simgrid_broker.scenario import Scenario

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file, YAML, or folder of a run.",
                                              show_default=False)]
Seed = Annotated[int | None, typer.Option(min=0, metavar="N", help="Seed of all random draws, instead of "
                                          "the scenario's.", show_default=False)]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Simulated time, for example 7d or 36h, instead of "
                                           "the scenario's `duration`.", show_default=False)]
Settings = Annotated[list[str] | None, typer.Option(
    "--set", metavar="KEY=VALUE", help="Set one value by its dotted key, for example gdpconfig.THROTTLE_THRESHOLD=3; a "
    "star means all names, braces some: grid.queues.{CERN,BNL}.maxtime=48h; repeatable.", show_default=False)]
WorkloadFile = Annotated[Path | None, typer.Option("--workload", metavar="FILE", help="Recorded workload (SWF, GWF, "
                                                   "PanDA's or CGSim's job records); sets workload.trace.file.",
                                                   show_default=False)]

PlotFormats = Annotated[str, typer.Option("--format", metavar="FORMATS", help="Write each plot into plots/ also as png "
                                          "(150 dots per inch), pdf (vectors), or png,pdf, for talks and papers.",
                                          show_default=False)]


def plot_formats(text: str) -> tuple[str, ...]:
    """Formats that `--format` names; raises BadArgument."""
    from simgrid_broker.report.drawing.pictures import formats_of
    try:
        return formats_of(text)
    except ValueError as error:
        raise BadArgument("--format", text, str(error)) from error


def recorded_run(folder: Path) -> "Run":
    """The run in a folder; stderr says first that it did not end, or that its tables are of another version."""
    from simgrid_broker.records import read_run
    run = read_run(folder)
    if run.manifest["status"] != "complete" or run.remarks:
        from simgrid_broker.report.caveats import cut_short
        for sentence in (*cut_short(run), *run.remarks):
            typer.echo(paragraph(f"note: {sentence}", " " * 6), err=True)
    return run


def loaded(file: Path, seed: int | None = None, until: str | None = None, settings: Iterable[str] | None = None,
           workload: Path | None = None) -> "Scenario":
    """The scenario in `file` with the settings of the command line.

    Raises ScenarioError, also for unknown policies, and for architectures and zero shares that PanDA would ignore.
    """
    from simgrid_broker.advice import refuse_unusable
    from simgrid_broker.scenario import load_scenario
    overrides = list(settings or ())
    if workload is not None:
        overrides.append(f"workload.trace.file={json.dumps(str(workload))}")
    scenario = load_scenario(file, seed, until, overrides)
    refuse_unusable(scenario)
    return scenario
