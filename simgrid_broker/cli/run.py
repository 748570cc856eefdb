"""`run`: simulate a scenario and write its report.

What lives here: the command, and what happens to a run that ends early. What does not: the simulation (engine) and the
report (report).
"""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.loading import ScenarioFile, Seed, Settings, Until, WorkloadFile, loaded
from simgrid_broker.cli.reports import reported
from simgrid_broker.cli.trouble import INTERRUPTED
from simgrid_broker.errors import SimgridBrokerError

if TYPE_CHECKING:
    from simgrid_broker.records import Run
    from simgrid_broker.scenario import Scenario

EXAMPLES = """\b
Examples:
  simgrid-broker run scenarios/quickstart.yaml
  simgrid-broker run scenarios/quickstart.yaml --seed 3 --until 2d --out /tmp/results
  simgrid-broker run scenarios/quickstart.yaml --set gdpconfig.THROTTLE_THRESHOLD=3 --set shares.Analysis.value=30
  simgrid-broker run scenarios/quickstart.yaml --snapshot-at 12h
  simgrid-broker run scenarios/lcg_replay.yaml --workload LCG-2005-1.swf.gz
"""

FIRST_RUN = ("First run of this version on this machine: the event loop is being compiled, which takes about 40 s and "
             "is kept for later runs.")


def run(
    scenario: ScenarioFile,
    seed: Seed = None,
    until: Until = None,
    settings: Settings = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of results; the run gets DIR/<scenario>/seed-<N>."),
                   ] = Path("results"),
    workload: WorkloadFile = None,
    snapshots: Annotated[list[str] | None, typer.Option(
        "--snapshot-at", metavar="TIME", help="Write a snapshot for `broker` at this time, such as 36h, instead of "
        "those of the scenario's record.snapshots; may be given several times.", show_default=False)] = None,
    validate: Annotated[bool, typer.Option("--validate", help="Check all invariants at every sample.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no tables; print the run's folder.")] = False,
) -> None:
    """Simulate a scenario and write its report.

    Tables and report are left in a folder of results. Ctrl-C ends a run early: what was complete is kept and reported.
    """
    from simgrid_broker.records import new_run_folder
    settings = [*(settings or ()), *([f"record.snapshots={json.dumps(snapshots)}"] if snapshots else [])]
    given = loaded(scenario, seed, until, settings, workload)
    if not quiet:
        tell_before(given)
    folder = new_run_folder(out, given.name, given.seed)
    try:
        result = simulated(given, folder, validate, quiet)
    except KeyboardInterrupt:
        tell_interrupted(folder, quiet)
        raise typer.Exit(INTERRUPTED) from None
    reported(result, quiet)


def tell_before(scenario: "Scenario") -> None:
    """What a user should know before a run begins, on stderr."""
    from simgrid_broker.advice import remarks
    from simgrid_broker.compiled import is_compiled
    for remark in remarks(scenario):
        typer.echo(f"note: {remark}", err=True)
    if not is_compiled():
        typer.echo(FIRST_RUN, err=True)


def simulated(scenario: "Scenario", folder: Path, validate: bool, quiet: bool) -> "Run":
    """The run of a scenario into `folder`, which does not outlive a run that never began."""
    from simgrid_broker.cli.progress import Progress
    from simgrid_broker.engine import simulate
    progress = None if quiet else Progress(scenario.duration)
    try:
        result = simulate(scenario, folder=folder, validate=validate, progress=progress)
    except (SimgridBrokerError, MemoryError) as error:
        if is_begun(folder):
            error.add_note(f"What was complete is kept in {folder}.")
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
    """Whether a run in `folder` came so far that there is something to read."""
    from simgrid_broker.records.manifest import MANIFEST
    return (folder / MANIFEST).is_file()


def tell_interrupted(folder: Path, quiet: bool) -> None:
    """Say what is left of a run after Ctrl-C, and report it unless it is too short for any figure."""
    if not is_begun(folder):
        typer.echo("Interrupted before the simulation began; nothing is kept.", err=True)
        return
    from simgrid_broker.metrics import window_of
    from simgrid_broker.records import read_run
    result = read_run(folder)
    typer.echo(f"Interrupted; what was complete is kept in {folder}.", err=True)
    if window_of(result).length_s > 0 and len(result.shares):
        reported(result, quiet)
    else:
        typer.echo("There is no report, because the run had not got beyond its warm-up.", err=True)
