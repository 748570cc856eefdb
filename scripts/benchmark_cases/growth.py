"""How cost and memory grow with the length of a scenario, and the cost of the fabric with shares, queues and cores."""

import tempfile
from pathlib import Path

import numpy as np
import yaml

from benchmark_cases.measures import ATLAS, HOUR, cpu_s, resident_mib
from benchmark_cases.slots import jobs_per_s_of_fabric
from simgrid_broker.engine import Simulation
from simgrid_broker.scenario.loading.loader import load_scenario
from simgrid_broker.scenario.model import Scenario

THINNED, LOAD, SITES, CORES = 20, 0.8, 24, 500_000
"""One in so many cores of the ATLAS scenario, with its work times LOAD, which such a grid keeps up with."""
BEGIN_DAYS, FIRST_DAYS = 10.0, 2.0
"""When tasks that live longest have come to an end, and how long is measured from then on, for comparison."""

LEAST_JOBS = 200_000
"""Jobs of each measurement of `growth`."""


def thinned(folder: Path, days: float) -> Scenario:
    """The ATLAS scenario of the benchmark with a twentieth of the cores, which records samples."""
    values = yaml.safe_load(ATLAS.read_text())
    values["grid"] = {"synthetic": {"sites": SITES, "cores": CORES // THINNED}}
    for streams in values["workload"].values():
        for stream in streams:
            stream["offered_cores"] *= LOAD / THINNED
    file = folder / "thinned.yaml"
    file.write_text(yaml.safe_dump(values, sort_keys=False))
    return load_scenario(file, overrides=[f"duration={days}d", "warm_up=0", "record.jobs=1%", "record.decisions=1%",
                                          "record.transfers=false"])


def long_run(days: float = 120, begin_days: float = BEGIN_DAYS, first_days: float = FIRST_DAYS) -> dict:
    """A thinned ATLAS of 120 days: processor time of a job, and memory, at its end against two days of its beginning.

    All tasks of the scenario would be alive in the list of a program that makes them at the start; `rows` and `live`
    are those in the table and alive at the end, `tasks` those that have come. The two days at the end may have far
    fewer jobs than those of the beginning, and most of the time goes into what agents do on their periods; whether a
    day with as many jobs costs more than it did is beside it.
    """
    with tempfile.TemporaryDirectory() as folder, \
            Simulation(thinned(Path(folder), days), Path(folder) / "run") as simulation:
        simulation.env.run(until=begin_days * 24 * HOUR)
        windows, memory = [], []
        for end in np.linspace(begin_days, days, max(2, round((days - begin_days) / first_days)) + 1)[1:]:
            cpu, jobs = cpu_s(), simulation.jobs_ended
            simulation.env.run(until=end * 24 * HOUR)
            windows.append((cpu_s() - cpu, simulation.jobs_ended - jobs))
            memory.append(resident_mib())
        tasks, live = simulation.world.arrays.tasks, simulation.control.books.live_tasks.rows
        found = dict(jobs=simulation.jobs_ended, tasks=int(tasks["jeditaskid"].max()), rows=len(tasks), live=len(live))
    cpu, jobs = np.array(windows).T
    first_us, *_, last_us = cpu / jobs * 1e6
    return found | {"cpu_us_per_job": last_us, "cpu_us_per_job_at_first": first_us, "cost_ratio": last_us / first_us,
                    "jobs_ratio": jobs[-1] / jobs[0], "day_cost_ratio": cpu[-1] / cpu[0], **at_equal_jobs(cpu, jobs),
                    "resident_mib": memory[-1], "resident_mib_at_first": memory[0],
                    "memory_ratio": memory[-1] / memory[0]}


def at_equal_jobs(cpu: np.ndarray, jobs: np.ndarray) -> dict[str, float]:
    """Cost at the end against that at the beginning of a window with the mean number of jobs, by least squares.

    cpu, jobs: of windows of one length, in order, (n,). What a window costs is a constant, the work of agents that act
    on a period, a part that grows with the jobs, and one that grows with time; `not_by_jobs_percent` is the constant.
    """
    age = np.linspace(0.0, 1.0, len(jobs))
    (fixed, each, growth_s), *_ = np.linalg.lstsq(np.stack([np.ones(len(jobs)), jobs, age], axis=1), cpu, rcond=None)
    begin = fixed + each * jobs.mean()
    return {"cost_ratio_at_equal_jobs": (begin + growth_s) / begin, "not_by_jobs_percent": 100 * fixed / begin}


def growth() -> dict:
    """Cost of a job of the fabric with 3 to 100 shares, 10 to 600 queues, and 1 000 to 500 000 cores.

    The other sizes are 30 shares, 100 queues and 60 000 cores; ratios are the cost at the largest over that at the
    smallest.
    """
    def cost_us(n_shares: int = 30, n_queues: int = 100, cores: int = 60_000) -> float:
        return 1e6 / jobs_per_s_of_fabric(n_queues, cores, LEAST_JOBS, n_shares)["jobs_per_s"]
    few, many = cost_us(n_shares=3), cost_us(n_shares=100)
    small, large = cost_us(n_queues=10), cost_us(n_queues=600)
    low, high = cost_us(n_queues=10, cores=1_000), cost_us(n_queues=300, cores=499_800)
    return {"us_at_3_shares": few, "us_at_100_shares": many, "shares_ratio": many / few,
            "us_at_10_queues": small, "us_at_600_queues": large, "queues_ratio": large / small,
            "us_at_1000_cores": low, "us_at_500000_cores": high, "cores_ratio": high / low}
