"""Environment, world, fabric, agents and recorder put together: one call runs a scenario.

What lives here: `simulate` and the manifest's content. What does not: the parts, and any printing (cli).
"""

import platform
import shutil
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from simgrid_broker.agents import start_agents
from simgrid_broker.agents.control import Control
from simgrid_broker.agents.decision_log import all_factors, all_reasons, criteria_in_order
from simgrid_broker.agents.sampler import take_sample
from simgrid_broker.errors import OutputError
from simgrid_broker.fabric.environment import FabricEnvironment
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.records import RunWriter, new_run_folder, read_run, write_manifest, write_snapshot
from simgrid_broker.scenario.gdpconfig import in_force, origins_in_force
from simgrid_broker.scenario.synthetic import task_list
from simgrid_broker.world import invariants
from simgrid_broker.world.build import build
from simgrid_broker.world.share_tree import share_tree
from simgrid_broker.world.task_transitions import BROKEN
from simgrid_broker.world.unfinished import unfinished_jobs, unfinished_transfers

STEPS = 200
"""Times at which progress is told."""

PACKAGES = ("simgrid_broker", "simpy", "numpy", "numba", "pyarrow", "pandas", "pydantic")
"""Packages whose versions a run remembers."""


def simulate(scenario, out="results", folder=None, validate=False, progress=None):
    """Run a scenario and return its `records.Run`.

    out: folder of results, under which the run gets `<scenario>/<run>`; folder: the run's own folder instead;
    validate: check all invariants at every sample; progress(simulation): called now and then. Ctrl-C ends the run
    early, leaves what is complete and is raised again. Raises OutputError, ForbiddenMove, InvariantBroken; of a run
    that cannot begin no folder is left.
    """
    chosen = Path(folder) if folder else new_run_folder(Path(out), scenario.name, scenario.seed)
    try:
        simulation = Simulation(scenario, chosen, validate)
    except BaseException:
        if folder is None:
            shutil.rmtree(chosen, ignore_errors=True)
        raise
    with simulation:
        simulation.run(progress)
    return read_run(chosen)


class Simulation:
    """One run of a scenario into a folder; a context manager that leaves the folder whole however it ends."""

    def __init__(self, scenario, folder, validate=False):
        self.scenario, self.folder, self.validate = scenario, Path(folder), validate
        self.timings = {"started": time.perf_counter()}
        self.counters = {"jobs": 0, "transfers": 0, "tasks": 0}
        tasks = task_list(scenario)
        self.remarks = tasks.remarks
        self.world = build(scenario, tasks)
        self.world.vocabularies["tags"] = all_reasons(scenario.edition)
        self.world.vocabularies["factors"] = all_factors(scenario.edition)
        self.fabric = Fabric(self.world, self.write)
        self.env = FabricEnvironment(self.fabric)
        self.control = Control(self.env, self.world, self.fabric, self._gdpconfig, self)
        start_agents(self.control)
        self.writer = RunWriter(self.folder, self.world.vocabularies)      # last: what is wrong leaves no folder
        self.timings["built"] = time.perf_counter()

    @property
    def jobs_ended(self) -> int:
        """Attempts that have ended so far."""
        return self.counters["jobs"] + int(self.world.state["n_done_jobs"])

    @property
    def running_cores(self) -> int:
        """Cores of running jobs."""
        return int(self.world.arrays.running_cores.sum())

    def run(self, progress=None) -> None:
        """Run to the scenario's end."""
        for step in range(1, STEPS + 1):
            self.env.run(until=self.scenario.duration * step / STEPS)
            if progress is not None:
                progress(self)

    def write(self, name, rows, times=None) -> None:
        """Record rows, unless the scenario does not want that table; keys that are no flags choose within it."""
        if name in self.counters:
            self.counters[name] += len(rows)
        if getattr(self.scenario.record, name, True) is not False:
            self.writer.write(name, rows, times)

    def __enter__(self):
        write_manifest(self.folder, self._manifest("running"))
        return self

    def __exit__(self, kind, *_) -> None:
        self.timings["ran"] = time.perf_counter()
        status = "complete" if kind is None else "interrupted" if kind is KeyboardInterrupt else "failed"
        try:
            if status != "failed":
                self._write_what_is_left()
        except BaseException as error:
            status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            raise
        finally:
            self._close(status)

    def _close(self, status: str) -> None:
        """Close the tables and say in the manifest how the run ended, even where the tables cannot be closed."""
        try:
            self.writer.close()
        except BaseException:
            with suppress(OutputError):
                write_manifest(self.folder, self._manifest("failed"))
            raise
        self.timings["written"] = time.perf_counter()
        write_manifest(self.folder, self._manifest(status))

    def _write_what_is_left(self) -> None:
        """Record what is alive, take the last sample, and make sure that the tables are sound."""
        self.fabric.make_jobs()
        self.fabric.empty_outboxes()
        arrays = self.world.arrays
        self.counters |= {f"{name}_ended": self.counters[name] for name in ("jobs", "transfers")}
        for rows, times in unfinished_jobs(arrays, self.env.now):
            self.write("jobs", rows, times)
        self.write("transfers", unfinished_transfers(arrays))
        arrived = self.control.books.unwritten_tasks()
        self.write("tasks", arrays.tasks[arrived], arrays.task_times[arrived])
        came = (arrays.tasks["arrival_s"] <= self.env.now) & (arrays.splitting["n_files"] > 0)
        self.write("splitting", arrays.splitting[came])
        take_sample(self.control)
        invariants.check(arrays)

    def keep_snapshot(self, values: dict) -> None:
        """Write a snapshot beside the tables."""
        write_snapshot(self.folder, values)

    def _gdpconfig(self, changes) -> dict:
        """gdpconfig in force after some changes."""
        return in_force(self.scenario.with_config(changes) if changes else self.scenario)

    def _manifest(self, status: str) -> dict:
        """Everything about the run that is not in its tables."""
        tree, state = share_tree(self.scenario.shares_in_use), self.world.state
        names = dict(jobs_made="panda_id", transfers_made="transfer_id", events="n_processed", pilots="n_pilots_ever",
                     empty_pilots="n_pilots_empty", total_cores="total_cores")
        return dict(
            status=status, remarks=self.remarks, scenario=self.scenario.to_dict(), seed=self.scenario.seed,
            simulated_s=self.env.now,
            gdpconfig={key: {"value": value, "origin": str(origin)} for (key, value), origin in zip(
                in_force(self.scenario).items(), origins_in_force(self.scenario).values(), strict=True)},
            warm_up_s=self.scenario.warm_up, duration_s=self.scenario.duration, vocabularies=self.world.vocabularies,
            share_tree=dict(names=tree.names, parent=tree.parent, value=tree.value, leaves=tree.leaves),
            criteria=criteria_in_order(self.scenario.edition),
            counters={**self.counters, **{name: int(state[field]) for name, field in names.items()},
                      "decisions": self.control.books.decisions.n_decisions, "broken_tasks": self._broken_tasks()},
            versions={"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
            commands=self.control.books.commands.told(), timings=self._durations())

    def _broken_tasks(self) -> int:
        """Tasks that no share or resource type fits; those that their scouts broke say so in their errorDialog."""
        tasks = self.world.arrays.tasks
        return int(((tasks["status"] == BROKEN) & (tasks["errordialog"] < 0)).sum())

    def _durations(self) -> dict[str, float]:
        """Real time of each stage so far, s."""
        stages = list(self.timings.items())
        return {f"{name}_s": moment - before for (_, before), (name, moment) in zip(stages, stages[1:], strict=False)}
