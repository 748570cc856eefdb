"""Scenarios as the command line gives them: a file and what is set beside it.

What lives here: one function that loads and checks, policies included, and the options that two commands share. What
does not: loading itself (scenario).
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.errors import Problem, ScenarioError, nearest

if TYPE_CHECKING:
    from simgrid_broker.scenario import Scenario, Snapshot

CRIC = "CRIC"
"""Kind of origin of what was imported."""

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

    Raises ScenarioError, also for unknown policies, and for architectures and zero shares that do not do what they say.
    """
    from simgrid_broker.scenario import load_scenario
    overrides = list(settings or ())
    if workload is not None:
        overrides.append(f"workload.trace.file={json.dumps(str(workload))}")
    scenario = load_scenario(file, seed, until, overrides)
    if problems := [*unknown_plugins(scenario), *malformed_architectures(scenario), *malformed_zero_shares(scenario)]:
        raise ScenarioError(problems)
    return scenario


def unknown_plugins(scenario: "Scenario | Snapshot") -> list[Problem]:
    """A problem for each policy or agent that a scenario or snapshot names and no package offers."""
    from simgrid_broker.agents.own import GROUP
    from simgrid_broker.plugins import offered
    from simgrid_broker.policy.registry import BUILT_IN, names
    wanted = [(f"policies.{kind}", getattr(scenario.policies, kind), names(kind)) for kind in BUILT_IN]
    if hasattr(scenario, "agents"):
        wanted += [("agents.own", name, offered(GROUP)) for name in scenario.agents.own]
    problems = []
    for key, name, known in wanted:
        if name not in known:
            origin, what = scenario.origin(key), key.partition(".")[0].replace("policies", "policy").removesuffix("s")
            problems.append(Problem(origin.file or origin.kind, origin.line, key, name,
                                    f"unknown {what}; known are {', '.join(known) or 'none'}", nearest(name, known)))
    return problems


def malformed_architectures(scenario: "Scenario") -> list[Problem]:
    """A problem for everything in an architecture of the workload that PanDA would pass over or never match."""
    return malformed_architectures_of(scenario, [
        (f"workload.{part}[{position}].architecture", stream.architecture) for part in ("campaigns", "users")
        for position, stream in enumerate(getattr(scenario.workload, part))])


def malformed_architectures_of(whole: "Scenario | Snapshot", found: Iterable[tuple[str, str]]) -> list[Problem]:
    """A problem for everything of that kind in architectures of a scenario or snapshot, each given with its key."""
    from simgrid_broker.policy.software.strict import check_architecture
    problems = []
    for key, architecture in found:
        origin = whole.origin(key)
        problems += [Problem(origin.file or origin.kind, origin.line, key, architecture, str(wrong))
                     for wrong in check_architecture(architecture, whole.edition)]
    return problems


def malformed_zero_shares(scenario: "Scenario") -> list[Problem]:
    """A problem for everything in a `fairsharepolicy` that PanDA would pass over or never match.

    Queues of CRIC are as they are: what is wrong with theirs is for `remarks_on_zero_share`.
    """
    return [Problem(origin.file or origin.kind, origin.line, key, text, str(wrong))
            for key, origin, text, wrong in _wrong_zero_shares(scenario) if origin.kind != CRIC]


def remarks_on_zero_share(scenario: "Scenario") -> tuple[str, ...]:
    """One sentence for everything in the `fairsharepolicy` of an imported queue that PanDA passes over."""
    return tuple(f"{key} = {text!r}: {wrong}." for key, origin, text, wrong in _wrong_zero_shares(scenario)
                 if origin.kind == CRIC)


def _wrong_zero_shares(scenario: "Scenario") -> Iterator[tuple]:
    """Key, origin, policy and problem of everything that is wrong with one."""
    from simgrid_broker.policy.zero_share import check_policy
    for name, queue in scenario.grid.queues.items():
        key = f"grid.queues.{name}.fairsharepolicy"
        for wrong in check_policy(queue.fairsharepolicy, scenario.edition):
            yield key, scenario.origin(key), queue.fairsharepolicy, wrong
