#!/usr/bin/env python3
"""Calibrate planted worlds, of which the truth is known: bias and coverage of intervals, and errors of predictions.

    scripts/benchmark_calibration.py                    every kind of world, ten of each
    scripts/benchmark_calibration.py base_time --worlds 40
    scripts/benchmark_calibration.py --jobs 100000 --worlds 1

Records are made by the formulas of a run with noise; a kind of world changes one thing. Bias is the mean of fitted over
true power, less 1; coverage the part of 95 % intervals of powers that hold the true one, of records without work over
the mean of the queues, which no job shows; errors are medians over worlds of the median error of wall times of held-out
jobs: before, after, and by the best median of earlier jobs; few_off and few_coverage the mean distance
from the truth, and the coverage, of powers of queues with less than FEW_JOBS jobs. Below, coverage over all kinds and
over those with at most FEW_TASKS tasks, each with the 95 % interval of a binomial part (Clopper and Pearson).
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from simgrid_broker import calibrate, metrics
from simgrid_broker.scenario import Scenario

N_QUEUES = 8
POWERS = np.linspace(7, 16, N_QUEUES)
"""HS06 per core; a scenario before the fit gives a random power of the same range."""
FEW_TASKS = 10
FEW_JOBS = 30
"""Jobs below which a queue counts among those with few."""


class World(NamedTuple):
    """Parameters of a kind of world; see `records`."""

    tasks: int = 30
    base_s: float = 600.0
    noise: float = 0.05
    wild: float = 0.02
    tail: float = 0.0
    confounded: bool = False
    io_s: float = 0.0
    node_spread: float = 0.0
    interaction: float = 0.0
    fitness: float = 0.0
    sites: int = N_QUEUES
    off_site: float = 0.0
    off_queue: float = 0.2
    few_jobs: float = 0.0
    without: tuple[str, ...] = ()


WORLDS = {
    "plain": World(base_s=0.0), "base_time": World(), "three_tasks": World(tasks=3), "five_tasks": World(tasks=5),
    "ten_tasks": World(tasks=10), "wrong_values": World(wild=0.05), "heavy_tails": World(tail=0.3),
    "confounded": World(confounded=True), "no_work": World(without=("work",), base_s=0.0),
    "no_timing": World(without=("pilottiming",)), "no_times": World(without=("creationtime", "starttime", "endtime")),
    "io_by_job": World(io_s=600.0), "nodes": World(node_spread=0.1),
    "efficiency_by_task_and_queue": World(interaction=0.1), "power_by_task_and_queue": World(fitness=0.05),
    **{f"power_by_{name}_and_queue": World(tasks=tasks, fitness=0.05) for name, tasks in (
        ("three_tasks", 3), ("five_tasks", 5), ("ten_tasks", 10))},
    "queues_of_a_site_alike": World(sites=3, off_site=0.2, off_queue=0.02, fitness=0.05, node_spread=0.1,
                                    few_jobs=0.015),
    "few_jobs_at_some_queues": World(sites=3, fitness=0.05, node_spread=0.1, few_jobs=0.015)}


def records(world: World, n_jobs: int, luck: np.random.Generator) -> pd.DataFrame:
    """Records of a world. io_s: more wall time of a job; tail: Student's.

    node_spread: of the logarithm of power, by node; interaction, fitness: of the logarithms of efficiency and of power,
    by task and queue.
    """
    task = luck.integers(0, world.tasks, n_jobs)
    queue = luck.integers(0, N_QUEUES, n_jobs)
    if world.confounded:                                    # two campaigns of which each hardly meets half the queues
        queue = np.where(luck.random(n_jobs) < 0.9, queue // 2 + N_QUEUES // 2 * (task % 2), queue)
    if world.few_jobs:                                      # every second queue has a small part of its jobs
        queue -= (queue % 2 == 1) & (luck.random(n_jobs) >= world.few_jobs)
    size = np.exp(luck.normal(10.2, 0.6, world.tasks))[task] * np.exp(luck.normal(0, 0.3, n_jobs))
    spent = luck.uniform(0.6, 0.95, world.tasks)[task] * np.exp(
        luck.normal(0, world.interaction, (world.tasks, N_QUEUES))[task, queue])
    spent, node = np.minimum(spent, 1.0), np.exp(luck.normal(0, world.node_spread, n_jobs))
    power = POWERS[queue] * node * np.exp(luck.normal(0, world.fitness, (world.tasks, N_QUEUES))[task, queue])
    payload = world.base_s + size / (power * spent)
    overhead = luck.uniform(0, 300, N_QUEUES)[queue]
    noise = luck.normal(0, world.noise, n_jobs) + world.tail * world.noise * luck.standard_t(2, n_jobs)
    cpu = payload * spent * np.exp(noise) * np.where(luck.random(n_jobs) < world.wild, 20, 1)
    made = np.sort(luck.uniform(0, 7 * 86400, n_jobs)).round()
    wall = payload + overhead + luck.exponential(1, n_jobs) * world.io_s
    timing = [f"0|0|{seconds:.0f}|0|0" for seconds in payload]
    table = pd.DataFrame({
        "pandaid": np.arange(n_jobs) + 1, "jeditaskid": task + 1, "creationtime": made, "starttime": made + 60,
        "endtime": made + 60 + wall, "durationsec": wall, "jobstatus": "finished", "corecount": 1, "work": size,
        "computingsite": [f"Q{number}" for number in queue], "cpuconsumptiontime": cpu, "pilottiming": timing})
    return table.drop(columns=[*world.without])


def scenario(world: World, luck: np.random.Generator) -> Scenario:
    """The queues with powers that are wrong by up to a fifth, each of its own or those of a site alike."""
    names, site = [f"Q{number}" for number in range(N_QUEUES)], [f"S{k % world.sites}" for k in range(N_QUEUES)]
    off = luck.uniform(1 - world.off_queue, 1 + world.off_queue, N_QUEUES)
    off *= luck.uniform(1 - world.off_site, 1 + world.off_site, N_QUEUES)[np.arange(N_QUEUES) % world.sites]
    powers = dict(zip(names, (POWERS * off).tolist(), strict=True))
    return Scenario.from_dict({"name": "planted", "duration": "1d", "shares": [{"name": "All", "value": 1}], "grid": {
        "sites": {name: {"cores": 100 * site.count(name), "nucleus": True} for name in site},
        "queues": {name: {"atlas_site": at, "corepower": powers[name]} for name, at in zip(names, site, strict=True)},
        "storages": {f"{name}_D": {"site": name, "total": "10 PB", "free": "9 PB"} for name in site}}})


def measured(world: World, worlds: int, n_jobs: int) -> dict[str, float]:
    """Figures of a kind of world."""
    ratios, holds, few, errors, spent, lost = [], [], [], [], [], 0
    for seed in range(worlds):
        luck = np.random.default_rng(seed)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "jobs.parquet"
            records(world, n_jobs, luck).to_parquet(path)
            began = time.process_time()
            result = calibrate(scenario(world, luck), path)
            spent.append(time.process_time() - began)
        rows = result.parameters[result.parameters.parameter == "corepower"].set_index("name")
        truth = pd.Series(POWERS, [f"Q{number}" for number in range(N_QUEUES)])[rows.index]
        if "work" in world.without:
            truth *= np.exp(np.average(np.log(rows.before / truth), weights=rows.jobs))
        ratios += list(rows.after / truth)
        held = ((rows.low <= truth) & (truth <= rows.high))[rows.low.notna()]
        holds += list(held)
        few += list(zip((rows.after / truth - 1).abs()[rows.jobs < FEW_JOBS], held.reindex(rows.index)[
            rows.jobs < FEW_JOBS], strict=True))
        off = metrics.wide(result.errors).set_index(["dimension", "when"]).off_p50["all"]
        best = off[[name for name in off.index if name.endswith("median")]].min()
        errors.append((off["before"], off["after"], best))
        said = any("of earlier jobs predicts them" in sentence for sentence in result.verdicts)
        lost += bool(round(best, 1) < round(off["after"], 1) and not said)
    before, after, best = np.median(errors, axis=0)
    return {"bias_%": 100 * (np.mean(ratios) - 1), "intervals": len(holds), "coverage_%": 100 * np.mean(holds),
            "before_%": before, "after_%": after, "best_median_%": best, "lost_unsaid": lost,
            "few_off_%": 100 * np.mean([off for off, _ in few] or np.nan),
            "few_coverage_%": 100 * np.mean([held for _, held in few if held == held] or np.nan),
            "cpu_s": float(np.median(spent))}


def pooled(name: str, rows: list[dict[str, float]]) -> str:
    """Coverage over several kinds of worlds."""
    n = int(sum(row["intervals"] for row in rows))
    held = round(sum(row["intervals"] * row["coverage_%"] / 100 for row in rows))
    low, high = binomtest(held, n).proportion_ci()
    return (f"{name}: {held} of {n} intervals hold the true power, {100 * held / n:.1f} % "
            f"({100 * low:.1f} to {100 * high:.1f})")


def main(run: Callable[[World, int, int], dict[str, float]] = measured) -> None:
    """Print a row for each kind of world."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(WORLDS)}; default: all")
    parser.add_argument("--worlds", type=int, default=10, help="worlds of each kind")
    parser.add_argument("--jobs", type=int, default=3000, help="jobs of each world")
    arguments = parser.parse_args()
    if unknown := [kind for kind in arguments.kinds if kind not in WORLDS]:
        parser.error(f"no kind {', '.join(unknown)}; there are {', '.join(WORLDS)}")
    rows: dict[str, dict[str, float]] = {}
    for kind in arguments.kinds or WORLDS:
        figures = run(WORLDS[kind], arguments.worlds, arguments.jobs)
        if not rows:
            print("world".ljust(32) + "".join(f"{name:>15}" for name in figures))
        rows[kind] = figures
        print(kind.ljust(32) + "".join(f"{value:15.2f}" for value in figures.values()), flush=True)
    print(pooled("all kinds", list(rows.values())))
    if few := [row for kind, row in rows.items() if WORLDS[kind].tasks <= FEW_TASKS]:
        print(pooled("kinds with few tasks", few))


if __name__ == "__main__":
    main()
