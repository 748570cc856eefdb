"""One call runs a scenario: environment, world, fabric, agents and recorder put together.

A SimPy environment runs the fabric between control events, which is exact because nothing in the control plane happens
between two of them. At equal times, events of the fabric come first.
"""

import platform
import shlex
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from importlib.metadata import version
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import simpy

from simgrid_broker import luck
from simgrid_broker.agents import AGENTS, Agent, start_agents
from simgrid_broker.agents.control import Control
from simgrid_broker.agents.jedi.job_generator import intake_remarks
from simgrid_broker.agents.own import as_plugins, guarded, own_agents, tables_of
from simgrid_broker.agents.run.samples import take_sample
from simgrid_broker.dry_run.broker import DecisionCheck
from simgrid_broker.editions import edition_of
from simgrid_broker.errors import (
    DecisionsDiffer,
    ForbiddenMove,
    InvariantBroken,
    OutOfRows,
    OutputError,
    Problem,
    ScenarioError,
    wrong_type,
)
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.notebook import RunBar, in_notebook
from simgrid_broker.records import (
    FAILURE,
    TAKEN,
    Acts,
    EndedJobs,
    ProgressFile,
    Run,
    RunWriter,
    entry_of,
    incidents_so_far,
    new_run_folder,
    read_run,
    texts_of,
    write_failure,
    write_manifest,
    write_snapshot,
)
from simgrid_broker.scenario import Scenario, as_scenario
from simgrid_broker.scenario.gdpconfig import in_force, origins_in_force
from simgrid_broker.scenario.work.synthetic import arrivals
from simgrid_broker.systems.events.jumbo_jobs import agents_of
from simgrid_broker.turns.brokers import all_criteria, all_factors, all_reasons, all_tags, criteria_in_order
from simgrid_broker.turns.policies import Policies
from simgrid_broker.world import invariants
from simgrid_broker.world.build import build
from simgrid_broker.world.series import unfinished_jobs, unfinished_transfers
from simgrid_broker.world.shares import share_tree
from simgrid_broker.world.views.observe import share_usage


class FabricEnvironment(simpy.Environment):
    """SimPy's environment over a fabric."""

    def __init__(self, fabric):
        super().__init__()
        self.fabric, self.interrupted = fabric, False

    def step(self) -> None:
        """Advance the fabric to the time of the next control event, then handle that event."""
        if self.interrupted:
            self._stop_if_interrupted()
        until = self.peek()
        if until < inf:
            self.fabric.advance(until)
        super().step()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Within, a signal that would raise KeyboardInterrupt raises it between two events, where the tables agree.

        A second one raises it at once. In threads other than the main one, signals are as before.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [number for number in (signal.SIGINT, signal.SIGTERM)
                   if signal.getsignal(number) is signal.default_int_handler]
        for number in numbers:
            signal.signal(number, self._note)
        try:
            yield
            self._stop_if_interrupted()
        finally:
            for number in numbers:
                signal.signal(number, signal.default_int_handler)

    def _note(self, number, frame) -> None:
        self.interrupted = True
        signal.signal(number, signal.default_int_handler)

    def _stop_if_interrupted(self) -> None:
        if self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt


STEPS = 200
"""Number of calls of `progress` in a run."""

FAULTS = ForbiddenMove, OutOfRows, InvariantBroken, DecisionsDiffer
"""Errors of the program that end a run."""
PACKAGES = ("simgrid_broker", "simpy", "numpy", "numba", "pyarrow", "pandas", "pydantic")
"""Packages whose versions the manifest records."""


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of PACKAGES, whose descriptions a process reads once."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def simulate(scenario: Scenario | str | Path, out: str | Path = "results", folder: str | Path | None = None,
             validate: bool = False, progress: Callable[["Simulation"], None] | bool | None = None,
             agents: Iterable[Agent] = (), check_decisions: float = 0.0) -> Run:
    """Run a scenario, given as such or as its file, and return its `records.Run`.

    out: folder of results, in which the run gets `<scenario>/<run>`; folder: the run's own folder instead; validate:
    check all invariants at every sample; progress(simulation): called 200 times; true shows a bar, None one in a
    notebook; agents: generator functions of `control` that run after those of the package and those that the scenario
    names; the tables that they see are gone when this returns; check_decisions: part of the decisions that are compared
    with the dry run of their state. Ctrl-C ends the run early, keeps what is complete and is raised again. Raises
    OutputError, PluginError, ForbiddenMove, OutOfRows, InvariantBroken, DecisionsDiffer, TypeError for an argument that
    it does not take; a run that cannot begin leaves no folder.
    """
    scenario = as_scenario(scenario, "simulate: scenario")
    _refuse_wrong_types(out, folder, progress, agents, check_decisions)
    chosen = Path(folder) if folder else new_run_folder(Path(out), scenario.name, scenario.seed)
    try:
        simulation = Simulation(scenario, chosen, validate, agents)
    except BaseException:
        if folder is None:
            shutil.rmtree(chosen, ignore_errors=True)
        raise
    with simulation.env.interruptible(), simulation, _shown(progress, scenario.duration) as watch:
        if check_decisions:
            simulation.check_decisions(check_decisions)
        simulation.run(watch)
    simulation.let_go()
    return read_run(chosen)


def _refuse_wrong_types(out: object, folder: object, progress: object, agents: object, check_decisions: object) -> None:
    """Raise TypeError for an argument of `simulate` that it does not take."""
    for name, value in (("out", out), ("folder", folder)):
        if not isinstance(value, str | PathLike) and (name == "out" or value is not None):
            raise wrong_type(f"simulate: {name}", "the path of a folder", value)
    if not (callable(progress) or isinstance(progress, bool | None)):
        raise wrong_type("simulate: progress", "a function of the simulation, True or False", progress)
    if not isinstance(agents, Iterable) or isinstance(agents, str):
        raise wrong_type("simulate: agents", "a list of generator functions of `control`", agents)
    is_flag = isinstance(check_decisions, bool)
    if is_flag or not isinstance(check_decisions, int | float) or not 0 <= check_decisions <= 1:
        raise wrong_type("simulate: check_decisions", "a part from 0 to 1, such as 0.1", check_decisions)


@contextmanager
def _shown(progress: Callable[["Simulation"], None] | bool | None, duration_s: float) -> Iterator[
        Callable[["Simulation"], None] | None]:
    """The function that is shown the progress of a run: the given one, or a bar that is closed at the end."""
    if callable(progress):
        yield progress
    elif not (in_notebook() if progress is None else progress):
        yield None
    else:
        bar = RunBar(duration_s)
        try:
            yield bar
        finally:
            bar.close()


def refusing_tags(scenario: Scenario) -> tuple[str, ...]:
    """Every tag with which a broker of a scenario can refuse a candidate, each once; raises PluginError."""
    return all_tags(Policies(scenario, lambda changes: in_force(scenario)))


class Simulation:
    """One run of a scenario into a folder; a context manager that leaves the folder complete however it ends."""

    def __init__(self, scenario: Scenario, folder: str | Path, validate: bool = False, agents: Iterable[Agent] = ()):
        self.scenario, self.folder, self.validate = scenario, Path(folder), validate
        self.timings = {"started": time.perf_counter()}
        self.counters = {"jobs": 0, "transfers": 0, "tasks": 0}
        self.ended = EndedJobs()
        self.check: DecisionCheck | None = None
        coming = arrivals(scenario)
        blocks = coming.blocks()
        tasks = next(blocks)
        self.world = build(scenario, tasks, coming.times)
        self.world.blocks = blocks
        self.fabric = Fabric(self.world, self.write)
        self.env = FabricEnvironment(self.fabric)
        self.control = Control(self.env, self.world, self.fabric, self._gdpconfig, self)
        self.remarks = (*tasks.remarks, *intake_remarks(self.world, self.control.policies.cfg))
        self.world.vocabularies["tags"] = all_tags(self.control.policies)
        self.world.vocabularies["reasons"] = all_reasons(self.control.policies)
        self.world.vocabularies["criteria"] = all_criteria(self.control.policies)
        self.acts = Acts(len(self.world.vocabularies["criteria"]))
        self.world.vocabularies["factors"] = all_factors(self.control.policies)
        words: dict[str, Any] = {"texts": self.control.books.decisions.texts, **tasks.trace_words}
        self.world.vocabularies |= words                     # texts grow while the run goes on
        self.own_agents = own_agents(scenario.agents.own, agents)
        agents = (*agents_of(scenario), *AGENTS)
        start_agents(self.control, (*agents, *map(guarded, self.own_agents)))
        self.agents = as_plugins((*agents, *self.control.policies.dispatch.agents)) + self.own_agents
        self.tables = tables_of(self.agents, self.world.vocabularies, TAKEN)
        # last: errors before leave no folder
        self.writer = RunWriter(self.folder, self.world.vocabularies, tables=self.tables)
        tree = self.world.tree
        self.left_out = {name for name, value in scenario.record if value is False}
        self.progress = ProgressFile(self.folder, scenario.duration, [tree.names[leaf] for leaf in tree.leaves],
                                     tree.value[tree.leaves])
        self.timings["built"] = time.perf_counter()

    def let_go(self) -> None:
        """Drop the tables, after which nothing can be asked of the world.

        Agents, their waits and the world refer to one another, so the tables of a run that is over would stay in memory
        until the next search for garbage among old objects, which many short runs in one process hardly cause.
        """
        vars(self.world).clear()

    def check_decisions(self, part: float) -> None:
        """Compare a part of the decisions with the dry run of their state; raises ScenarioError where none knows it."""
        if self.control.policies.dispatch.job_rules is not None:
            raise ScenarioError([Problem(None, None, "dispatch", self.scenario.dispatch, "decisions are checked with "
                                         "PanDA's dispatch alone: no dry run knows the rules of this one")])
        self.control.check = self.check = DecisionCheck(self.control, part)
        self.control.books.decisions.log.record["looked_at"] = True

    @property
    def jobs_ended(self) -> int:
        """Attempts that have ended so far."""
        return self.counters["jobs"] + int(self.world.state["n_done_jobs"])

    @property
    def running_cores(self) -> int:
        """Cores of running jobs."""
        return int(self.world.arrays.running_cores.sum())

    def run(self, progress: Callable[["Simulation"], None] | None = None) -> None:
        """Run to the end of the scenario."""
        for step in range(1, STEPS + 1):
            self.env.run(until=self.scenario.duration * step / STEPS)
            self._note_progress()
            if progress is not None:
                progress(self)

    def _note_progress(self) -> None:
        self.progress.add(self.env.now, share_usage(self.world),
                          {"jobs_ended": self.jobs_ended, "running_cores": self.running_cores})

    def write(self, name: str, rows: np.ndarray, times: np.ndarray | None = None) -> None:
        """Record rows unless `record` turns the table off; its fractions choose rows before they come here."""
        if name in self.counters:
            self.counters[name] += len(rows)
        self.acts.add(name, rows)
        if name == "jobs" and times is not None and self.scenario.record.jobs < 1:
            self.writer.write("ended", self.ended.add(rows, times))
            chosen = self._in_sample(rows)
            rows, times = rows[chosen], times[chosen]
        if name not in self.left_out:
            self.writer.write(name, rows, times)

    def _in_sample(self, jobs: np.ndarray) -> np.ndarray:
        """Which attempts have a row, (n,) bool: all at an input of a task, or none."""
        task = self.world.arrays.tasks["luck"][jobs["task"]]
        return luck.uniforms(self.scenario.seed, "job_record", task, jobs["chunk"]) < self.scenario.record.jobs

    def __enter__(self):
        self._write_manifest("running")
        self._note_progress()
        return self

    def __exit__(self, kind, fault, _) -> None:
        self.timings["ran"] = time.perf_counter()
        status = "complete" if kind is None else "interrupted" if kind is KeyboardInterrupt else "failed"
        try:
            if status != "failed":
                self._write_what_is_left()
        except BaseException as error:
            status, fault = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed", error
            raise
        finally:
            self._close(status)
            if isinstance(fault, FAULTS):
                self._keep_failure(fault)

    def _keep_failure(self, fault: BaseException) -> None:
        """Write a scenario that ends with the same error of the program, and say where it is."""
        at = f"{self.env.now:.15g} s of simulated time, seed {self.scenario.seed}"
        with suppress(OutputError):
            path = write_failure(self.folder, self.scenario.to_dict(), (
                f"ended at {at}, by: {shlex.join(sys.argv)}", f"simgrid_broker {version('simgrid_broker')}",
                f"again: simgrid-broker run {shlex.quote(str(self.folder / FAILURE))} --validate", str(fault)))
            fault.add_note(f"The run ended at {at}; what it recorded is in {self.folder}, and {path} is the scenario "
                           "that ends so again.")

    def _close(self, status: str) -> None:
        """Close the tables and write how the run ended, even if the tables cannot be closed."""
        self.progress.remove()
        try:
            self.writer.close()
        except BaseException:
            with suppress(OutputError):
                self._write_manifest("failed")
            raise
        self.timings["written"] = time.perf_counter()
        self._write_manifest(status)

    def _write_what_is_left(self) -> None:
        """Record live rows, take the last sample, and check the invariants."""
        self.fabric.empty_outboxes()
        arrays = self.world.arrays
        self.writer.write("ended", self.ended.open)
        self.counters |= {f"{name}_ended": self.counters[name] for name in ("jobs", "transfers")}
        for rows, times in unfinished_jobs(arrays, self.env.now):
            self.write("jobs", rows, times)
        self.write("transfers", unfinished_transfers(arrays))
        self.control.books.record_the_rest()
        self.write("trace", arrays.trace[arrays.trace["submitted_s"] <= self.env.now])
        take_sample(self.control)
        invariants.check(arrays)

    def keep_snapshot(self, values: dict) -> None:
        """Write a snapshot into the folder of the run."""
        write_snapshot(self.folder, values)

    def _gdpconfig(self, changes: Mapping[str, object]) -> dict:
        """gdpconfig in force after some changes."""
        return in_force(self.scenario.with_config(changes) if changes else self.scenario)

    def _write_manifest(self, status: str) -> None:
        """Write what the run is and how far it came."""
        write_manifest(self.folder, self._manifest(status), self._lasting)

    @cached_property
    def _lasting(self) -> dict[str, str]:
        """The entries of the manifest that do not change."""
        tree = share_tree(self.scenario.shares_in_use)
        return texts_of(dict(
            scenario=self.scenario.to_dict(), edition=edition_of(self.scenario.edition).name, seed=self.scenario.seed,
            gdpconfig={key: {"value": value, "origin": str(origin)} for (key, value), origin in zip(
                in_force(self.scenario).items(), origins_in_force(self.scenario).values(), strict=True)},
            warm_up_s=self.scenario.warm_up, duration_s=self.scenario.duration,
            share_tree=dict(names=tree.names, parent=tree.parent, value=tree.value, leaves=tree.leaves),
            criteria=self._criteria, agents=self._agents(),
            timeouts=self.control.policies.shortest_timeouts(self.world.arrays.queues),
            tables={name: entry_of(table) for name, table in self.tables.items()},
            versions=versions()))

    @cached_property
    def _criteria(self) -> dict[str, list[dict]]:
        """Rules of each broker in order of application."""
        return criteria_in_order(self.control.policies)

    def _manifest(self, status: str) -> dict:
        """The other entries of the manifest."""
        state = self.world.state
        names = dict(jobs_made="panda_id", transfers_made="transfer_id", events="n_processed", pilots="n_pilots_ever",
                     empty_pilots="n_pilots_empty", total_cores="total_cores")
        return dict(
            status=status, remarks=self.remarks, simulated_s=self.env.now, vocabularies=self.world.vocabularies,
            counters={**self.counters, **{name: int(state[field]) for name, field in names.items()},
                      "decisions": self.control.books.decisions.n_decisions,
                      "broken_tasks": self.control.books.broken_tasks(),
                      "cut_cycles": self.control.books.n_cut_cycles,
                      **({"decisions_checked": self.check.n_checked} if self.check else {})},
            commands=self.control.books.commands.results(), timings=self._durations(), coverage=self._coverage())

    def _coverage(self) -> dict[str, dict]:
        """Counts of what rules, causes of ends, incidents and agents that work on a period have done so far."""
        incidents = (dict(what=each.what, at=each.at, until=each.until) for each in self.scenario.incidents)
        return dict(**self.acts.summary(self._criteria, self.world.vocabularies["criteria"]),
                    incidents=incidents_so_far(incidents, self.env.now), agents=self.control.cycles_so_far())

    def _agents(self) -> list[dict[str, Any]]:
        """Agents that run, in the order in which they act at the same instant, and where they come from."""
        return [dict(name=name, module=function.__module__, source=source,
                     tables=[table.name for table in getattr(function, "tables", ())])
                for name, function, source in self.agents]

    def _durations(self) -> dict[str, float]:
        """Wall time of each stage so far, s."""
        stages = list(self.timings.items())
        return {f"{name}_s": moment - before for (_, before), (name, moment) in zip(stages, stages[1:], strict=False)}
