"""Decisions about tasks of users on the ATLAS grid."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmark_cases.measures import ATLAS, HOUR
from simgrid_broker.agents.jedi.job_generator import Generator
from simgrid_broker.engine import Simulation
from simgrid_broker.names import ANALYSIS_LABELS
from simgrid_broker.scenario.loading.loader import load_scenario
from simgrid_broker.turns.user_tables import UserTables
from simgrid_broker.world.views import observe


class Cycle(NamedTuple):
    """A cycle of job generation that made only jobs of users: processor time, s, decisions, and its tables."""

    spent_s: float
    decisions: int
    users: UserTables


def user_decision(edition: str = "deployed") -> dict:
    """One analysis brokerage decision: in a run, warm in a loop, and asked from Python as an own brokerage is.

    in_run_us: cycles of job generation by decision, the making of the jobs included; median_us: the compiled decision
    about one task again and again; median_us_asked: with its views and its verdict, each task asked once before.
    """
    scenario = load_scenario(ATLAS, overrides=["duration=3h", "warm_up=0", "record.jobs=false", f"edition={edition}"])
    with (tempfile.TemporaryDirectory() as folder, generating_for_users() as cycles,
          Simulation(scenario, Path(folder) / "run") as simulation):
        simulation.env.run(until=HOUR)
        cycles.clear()
        simulation.env.run(until=3 * HOUR)
        control, users = simulation.control, cycles[-1].users
        warm, asked = _warm(users), _asked(control)
    decisions = sum(cycle.decisions for cycle in cycles)
    return {"decisions": decisions, "queues": len(control.arrays.queues),
            "pseudo_queues": len(control.brokers.queues.names),
            "in_run_us": sum(cycle.spent_s for cycle in cycles) / decisions * 1e6,
            "median_us": statistics.median(warm) * 1e6, "median_us_asked": statistics.median(asked) * 1e6}


@contextmanager
def generating_for_users() -> Iterator[list[Cycle]]:
    """Of simulations that begin within, cycles that made only jobs of users are appended to the list."""
    cycle, serve, found, others = Generator.cycle, Generator._serve, list[Cycle](), list[Generator]()

    def noted(generator: Generator, rows: np.ndarray, analysis: bool) -> bool:
        others.extend([] if analysis else [generator])
        return serve(generator, rows, analysis)

    def timed(generator: Generator) -> float | None:
        log = generator.control.books.decisions
        others.clear()
        before, began = log.n_decisions, time.process_time()
        again = cycle(generator)
        spent_s, decisions = time.process_time() - began, log.n_decisions - before
        if decisions and not others:
            found.append(Cycle(spent_s, decisions, generator.tables.users))
        return again
    Generator.cycle, Generator._serve = timed, noted
    try:
        yield found
    finally:
        Generator.cycle, Generator._serve = cycle, serve


def _warm(users: UserTables, times: int = 2000) -> list[float]:
    """Times of the decision in hand, s."""
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        users.brokerage.decide(users.tables)
        spent.append(time.perf_counter() - began)
    return spent


def _asked(control, most: int = 500) -> list[float]:
    """Times of decisions about live tasks of users as Python asks for them, s."""
    words, tasks = control.world.vocabularies, control.arrays.tasks
    rows = control.books.live_tasks.rows
    labels = [number for number, label in enumerate(words["labels"]) if label in ANALYSIS_LABELS]
    rows = rows[np.isin(tasks["label"][rows], labels) & (tasks["share"][rows] >= 0)]
    spent = []
    for row in rows[:most].tolist():
        task = observe.task(control.world, row)
        for _ in range(2):
            began = time.perf_counter()
            control.brokers.analysis_queues_for(row, task, 10.0)
            last = time.perf_counter() - began
        spent.append(last)
    return spent
