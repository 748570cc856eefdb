"""One case of the fuzzer: a scenario that is made or read, run within limits, and checked; in the process that asks."""

import re
import time
import traceback
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from digest_tables import digests

import simgrid_broker as sb
from fuzzing import acts, tables
from fuzzing.core import write_trace
from fuzzing.scenarios import Refused, described, scenario_of
from fuzzing.themes import wanted
from fuzzing.workers import memory
from simgrid_broker.errors import InvariantBroken, ScenarioError, SimgridBrokerError
from simgrid_broker.records import Run

SECONDS, MEMORY = 12.0, 1 << 30
"""Processor time of one run, s, and memory that it takes, bytes, at which a run is cut short."""


@dataclass
class Outcome:
    """Result of a case: text of the scenario, what failed, digests of the tables, acts, how far it ran.

    failure: kind of failure in a few words, the same for the same fault, empty if there is none; details: all of it;
    steps: calls of `progress` until the end, fewer than a run has if a limit cut it short.
    """

    seed: int = 0
    text: str = ""
    failure: str = ""
    details: str = ""
    digests: dict[str, Any] = field(default_factory=dict)
    acts: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    seconds: float = 0.0


class Limits:
    """Cuts a run short that takes too long or too much memory, or after a number of steps."""

    def __init__(self, most_steps: int | None = None):
        self.steps, self.most_steps, self.end = 0, most_steps, time.process_time() + SECONDS
        self.most_memory = memory() + MEMORY

    def __call__(self, simulation: Any) -> None:
        """Count a step of a run; raises KeyboardInterrupt at a limit."""
        self.steps += 1
        over = time.process_time() > self.end or memory() > self.most_memory
        if self.steps == self.most_steps or self.most_steps is None and over:
            raise KeyboardInterrupt


def made(seed: int, reported: bool) -> Outcome:
    """The first run of the scenario of a seed."""
    with TemporaryDirectory() as folder:
        try:
            text, _ = scenario_of(seed, Path(folder))
        except Refused as refusal:
            return Outcome(seed, str(refusal), *_told(refusal.__cause__ or refusal))
        except Exception as error:
            return Outcome(seed, "", *_told(error))
    outcome = first(text, acts.all_acts() if reported else wanted(seed), reported)
    outcome.seed = seed
    return outcome


def first(text: str, watched: Collection[str] = (), reported: bool = True) -> Outcome:
    """The first run of a scenario: with all invariants, its tables checked, and its report if that is asked for.

    watched: agents that are watched, as lines of the table.
    """
    begun, outcome, limits = time.monotonic(), Outcome(text=text), Limits()
    with TemporaryDirectory() as folder:
        try:
            scenario = _loaded(text, Path(folder))
        except Exception as error:
            outcome.failure, outcome.details = ("", str(error)) if isinstance(error, ScenarioError) else _told(error)
            return outcome
        try:
            watch = acts.Watch(scenario.dispatch, watched)
            with watch.watching():
                run = simulated(scenario, Path(folder) / "run", limits)
            outcome.digests, outcome.acts = digests(run.folder), watch.counts + acts.acts_of_run(run)
            if found := tables.faults(run):
                outcome.failure, outcome.details = _kind(found[0]), "\n".join(found)
            elif reported:
                sb.write_report(run, plots=False)
        except Exception as error:
            outcome.failure, outcome.details = _told(error)
    outcome.steps, outcome.seconds = limits.steps, time.monotonic() - begun
    return outcome


def again(text: str, steps: int) -> Outcome:
    """The second run of a scenario: of all that the first resolved, for as many steps."""
    outcome, limits = Outcome(text=text), Limits(steps)
    with TemporaryDirectory() as folder:
        try:
            scenario = sb.Scenario.from_dict(_loaded(text, Path(folder)).to_dict())
            outcome.digests = digests(simulated(scenario, Path(folder) / "run", limits).folder)
        except Exception as error:
            outcome.failure, outcome.details = _told(error)
    outcome.steps = limits.steps
    return outcome


def _loaded(text: str, folder: Path) -> sb.Scenario:
    """A scenario as from its file, as `check` sees it."""
    file = folder / "scenario.yaml"
    file.write_text(text)
    write_trace(folder)
    scenario = sb.load_scenario(file)
    described(scenario)
    return scenario


def simulated(scenario: sb.Scenario, folder: Path, limits: Limits) -> Run:
    """The run of a scenario with all invariants checked, whole or cut short."""
    try:
        return sb.simulate(scenario, folder=folder, validate=True, progress=limits)
    except KeyboardInterrupt:
        return sb.read_run(folder)


def _told(error: BaseException) -> tuple[str, str]:
    """Kind of a failure in a few words, and the whole of it."""
    inner = error
    while inner.__cause__ is not None:                      # SimPy raises what an agent raised once more
        inner = inner.__cause__
    place = traceback.extract_tb(inner.__traceback__)[-1]
    said = str(error.messages[0] if isinstance(error, InvariantBroken) else error).strip().partition("\n")[0]
    if isinstance(error, SimgridBrokerError):
        kind = f"{type(error).__name__}: {said}"
    else:
        kind = f"{type(error).__name__} at {Path(place.filename).name}:{place.name}: {said}"
    return _kind(kind), "".join(traceback.format_exception(error))


def _kind(text: str) -> str:
    """A message without its numbers and names, so that equal faults have equal messages."""
    return re.sub(r"'[^']*'|\{.*\}|\[.*\]|[-+]?\d[\d.e+]*", "#", text)[:160]
