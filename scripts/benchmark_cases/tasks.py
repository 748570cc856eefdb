"""Task brokerage of tasks of one job each, recorded ones, beside the work of the benchmark at ATLAS scale."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import yaml

from benchmark_cases.measures import ATLAS, HOUR
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.engine import Simulation
from simgrid_broker.scenario.loading.loader import load_scenario

TURNS = {"": (2.0, 600), "small_": (0.05, 60)}
"""Recorded tasks that come in a second, and the period of task brokerage, s, by how the figures begin; of the
benchmark's own tasks six come in a minute."""
BEFORE_H, UNTIL_H = 0.5, 1.0
HEAD = "pandaid,creationtime,durationsec,prodsourcelabel,jobstatus"
RUNTIME_S = 7200


class Turn(NamedTuple):
    """A turn of task brokerage: processor time, s, and decisions."""

    spent_s: float
    decisions: int


def task_brokerage() -> dict[str, float]:
    """Turns of task brokerage by decision, us, with many and with few tasks in a turn."""
    found: dict[str, float] = {}
    for size, (tasks_per_s, period_s) in TURNS.items():
        turns = turns_of(tasks_per_s, period_s)
        tasks = sum(turn.decisions for turn in turns)
        found |= {f"{size}tasks_per_turn": tasks / len(turns),
                  f"{size}us_per_task": sum(turn.spent_s for turn in turns) / tasks * 1e6}
    return found


def turns_of(tasks_per_s: float, period_s: float) -> list[Turn]:
    """The turns of task brokerage in the second half of a run with so many recorded tasks."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = load_scenario(one_job_tasks(Path(folder), tasks_per_s),
                                 overrides=[f"agents.task_broker={period_s}", "warm_up=0"])
        with turning() as turns, Simulation(scenario, Path(folder) / "run") as simulation:
            simulation.env.run(until=BEFORE_H * HOUR)
            turns.clear()
            simulation.env.run(until=UNTIL_H * HOUR)
    return turns


@contextmanager
def turning() -> Iterator[list[Turn]]:
    """Of simulations that begin within, the turns of task brokerage are appended to the list."""
    every, found = Control.every, list[Turn]()

    def noted(control: Control, period: float, work: Callable[[], float | None], name: str,
              *rests: Callable[[], bool]) -> Process:
        def timed() -> float | None:
            log = control.books.decisions
            before, began = log.n_decisions, time.thread_time()
            again = work()
            found.append(Turn(time.thread_time() - began, log.n_decisions - before))
            return again
        return every(control, period, timed if name == "taskbroker" else work, name, *rests)
    Control.every = noted
    try:
        yield found
    finally:
        Control.every = every


def one_job_tasks(folder: Path, tasks_per_s: float) -> Path:
    """Write a scenario into a folder: that of the benchmark, and recorded jobs of production with a task for each."""
    lines = [f"{number},{number / tasks_per_s:.3f},{RUNTIME_S},managed,finished"
             for number in range(int(UNTIL_H * HOUR * tasks_per_s))]
    (folder / "jobs.csv").write_text("\n".join([HEAD, *lines]))
    values = yaml.safe_load(ATLAS.read_text())
    values["workload"]["trace"] = {"file": "jobs.csv", "group_by": ["record"], "share": "Express"}
    values["duration"] = f"{UNTIL_H}h"
    (folder / "one_job_tasks.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    return folder / "one_job_tasks.yaml"
