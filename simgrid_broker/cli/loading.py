"""Scenarios as the command line gives them: a file and what is set beside it.

What lives here: one function that loads and checks, policies included, and the options that two commands share. What
does not: loading itself (scenario).
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.errors import Problem, ScenarioError, nearest

if TYPE_CHECKING:
    from simgrid_broker.scenario import Scenario

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file, YAML.", show_default=False)]
Seed = Annotated[int | None, typer.Option(min=0, metavar="N", help="Seed of all luck, instead of the scenario's.",
                                          show_default=False)]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Simulated time, such as 7d or 36h, instead of the "
                                           "scenario's `duration`.", show_default=False)]
Settings = Annotated[list[str] | None, typer.Option(
    "--set", metavar="KEY=VALUE", help="Set one value by its dotted key, such as gdpconfig.THROTTLE_THRESHOLD=3; may "
    "be given several times.", show_default=False)]
WorkloadFile = Annotated[Path | None, typer.Option("--workload", metavar="FILE", help="Recorded workload (SWF, GWF or "
                                                   "CGSim's CSV, plain or .gz), as workload.trace.file.",
                                                   show_default=False)]


def loaded(file: Path, seed: int | None = None, until: str | None = None, settings: Iterable[str] | None = None,
           workload: Path | None = None) -> "Scenario":
    """The scenario in `file` with what the command line sets.

    Raises ScenarioError, also for unknown policies, and for an architecture or `fairsharepolicy` that does not do what
    it says.
    """
    from simgrid_broker.scenario import load_scenario
    overrides = list(settings or ())
    if workload is not None:
        overrides.append(f"workload.trace.file={json.dumps(str(workload))}")
    scenario = load_scenario(file, seed, until, overrides)
    if problems := [*unknown_policies(scenario), *malformed_architectures(scenario), *malformed_shares(scenario)]:
        raise ScenarioError(problems)
    return scenario


def unknown_policies(scenario: "Scenario") -> list[Problem]:
    """A problem for each policy that the scenario names and nobody offers."""
    from simgrid_broker.policy.registry import BUILT_IN, names
    problems = []
    for kind in BUILT_IN:
        name, known, origin = getattr(scenario.policies, kind), names(kind), scenario.origin(f"policies.{kind}")
        if name not in known:
            problems.append(Problem(origin.file or origin.kind, origin.line, f"policies.{kind}", name,
                                    f"no policy is called so; known are {', '.join(known)}", nearest(name, known)))
    return problems


def malformed_architectures(scenario: "Scenario") -> list[Problem]:
    """A problem for everything in an architecture of the workload that PanDA would pass over or never match."""
    from simgrid_broker.policy.software.strict import check_architecture
    problems = []
    for part in ("campaigns", "users"):
        for position, stream in enumerate(getattr(scenario.workload, part)):
            key = f"workload.{part}[{position}].architecture"
            origin = scenario.origin(key)
            problems += [Problem(origin.file or origin.kind, origin.line, key, stream.architecture, str(wrong))
                         for wrong in check_architecture(stream.architecture, scenario.edition)]
    return problems


def malformed_shares(scenario: "Scenario") -> list[Problem]:
    """A problem for everything in a `fairsharepolicy` that the user wrote and PanDA reads otherwise than it was meant.

    What stands so in an imported dump is real and stays as it is: the import has remarked on it.
    """
    from simgrid_broker.policy.zero_share_check import problems_of_policy
    from simgrid_broker.scenario.origin import CRIC
    problems = []
    for name, queue in scenario.grid.queues.items():
        key = f"grid.queues.{name}.fairsharepolicy"
        origin = scenario.origin(key)
        if origin.kind != CRIC:
            problems += [Problem(origin.file or origin.kind, origin.line, key, queue.fairsharepolicy, str(wrong))
                         for wrong in problems_of_policy(queue.fairsharepolicy, scenario.edition)]
    return problems
