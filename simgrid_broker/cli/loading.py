"""Loading of scenarios with the options of the command line, and the options that commands share."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.text import paragraph
from simgrid_broker.cli.trouble import BadArgument
from simgrid_broker.errors import Problem, ScenarioError, nearest

if TYPE_CHECKING:
    from simgrid_broker.records import Run
    from simgrid_broker.scenario import Scenario, Snapshot

CRIC = "CRIC"

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
    from simgrid_broker.scenario import load_scenario
    overrides = list(settings or ())
    if workload is not None:
        overrides.append(f"workload.trace.file={json.dumps(str(workload))}")
    scenario = load_scenario(file, seed, until, overrides)
    refuse_unusable(scenario)
    return scenario


def refuse_unusable(scenario: "Scenario") -> None:
    """Raise ScenarioError for what `load_scenario` does not see; see `loaded`."""
    if problems := [*unknown_plugins(scenario), *malformed_architectures(scenario), *malformed_zero_shares(scenario)]:
        raise ScenarioError(problems)


def unknown_plugins(scenario: "Scenario | Snapshot") -> list[Problem]:
    """A problem for each unknown policy or agent named by a scenario or snapshot."""
    from simgrid_broker.agents.own import GROUP
    from simgrid_broker.plugins import offered
    from simgrid_broker.policy.registry import BUILT_IN, names
    wanted = [(f"policies.{kind}", name, names(kind)) for kind, own in BUILT_IN.items()
              if (name := getattr(scenario.policies, kind)) not in own]       # else what is installed is not searched
    if hasattr(scenario, "agents"):
        wanted += [("agents.own", name, offered(GROUP)) for name in scenario.agents.own]
    problems = []
    for key, name, valid in wanted:
        if name not in valid:
            origin, what = scenario.origin(key), key.partition(".")[0].replace("policies", "policy").removesuffix("s")
            problems.append(Problem(origin.file or origin.kind, origin.line, key, name,
                                    f"unknown {what}; known are {', '.join(valid) or 'none'}", nearest(name, valid)))
    return problems


def malformed_architectures(scenario: "Scenario") -> list[Problem]:
    """A problem for each part of an architecture of the workload that PanDA would ignore or never match."""
    return malformed_architectures_of(scenario, [
        (f"workload.{part}[{position}].architecture", stream.architecture) for part in ("campaigns", "users")
        for position, stream in enumerate(getattr(scenario.workload, part))])


def malformed_architectures_of(whole: "Scenario | Snapshot", architectures: Iterable[tuple[str, str]]) -> list[Problem]:
    """As `malformed_architectures`, for (key, architecture) pairs of a scenario or snapshot."""
    from simgrid_broker.policy.software.architecture import check_architecture
    problems = []
    for key, architecture in architectures:
        origin = whole.origin(key)
        problems += [Problem(origin.file or origin.kind, origin.line, key, architecture, str(wrong))
                     for wrong in check_architecture(architecture, whole.edition)]
    return problems


def malformed_zero_shares(scenario: "Scenario") -> list[Problem]:
    """A problem for each part of a `fairsharepolicy` that PanDA would ignore or never match.

    Problems of queues imported from CRIC are remarks instead (`remarks_on_zero_share`).
    """
    return [Problem(origin.file or origin.kind, origin.line, key, text, str(wrong))
            for key, origin, text, wrong in _wrong_zero_shares(scenario) if origin.kind != CRIC]


def remarks_on_zero_share(scenario: "Scenario") -> tuple[str, ...]:
    """A sentence for each part of an imported queue's `fairsharepolicy` that PanDA ignores."""
    return tuple(f"{key} = {text!r}: {wrong}." for key, origin, text, wrong in _wrong_zero_shares(scenario)
                 if origin.kind == CRIC)


def _wrong_zero_shares(scenario: "Scenario") -> Iterator[tuple]:
    """Key, origin, policy and problem of each malformed `fairsharepolicy`."""
    from simgrid_broker.policy.queues import check_policy
    for name, queue in scenario.grid.queues.items():
        key = f"grid.queues.{name}.fairsharepolicy"
        for wrong in check_policy(queue.fairsharepolicy, scenario.edition):
            yield key, scenario.origin(key), queue.fairsharepolicy, wrong
