"""Runs at ATLAS scale: all agents and rules on, every table written."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmark_cases.measures import ATLAS, HOUR, cpu_s, peak_mib, resident_mib
from simgrid_broker.agents.jedi.job_generator import Generator
from simgrid_broker.engine import Simulation
from simgrid_broker.scenario.loading.loader import load_scenario
from simgrid_broker.world.views import observe


def decision() -> dict:
    """One job brokerage decision on the ATLAS grid in the middle of a run: masks cached, and not."""
    scenario = load_scenario(ATLAS, overrides=["duration=2h", "warm_up=0", "record.jobs=false"])
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(scenario, Path(folder) / "run")
        simulation.env.run(until=1.5 * HOUR)
        control = simulation.control
        cached, fresh = _time_decisions(control, control.brokers.cache), _time_decisions(control, None)
        simulation.writer.close()
    return {"decisions": len(cached), "queues": len(control.arrays.queues),
            "pseudo_queues": len(control.brokers.queues.names), "median_us": statistics.median(cached) * 1e6,
            "median_us_uncached": statistics.median(fresh) * 1e6}


def _time_decisions(control, cache, most: int = 2000) -> list[float]:
    """Times of decisions about the live tasks, s; with a cache each task is asked once before."""
    rows = control.books.live_tasks.rows[:most].tolist()
    spent = []
    for row in rows:
        task = observe.task(control.world, row)
        if task.share < 0:
            continue
        stats = observe.stats(control.world, control.brokers.snapshot, task.share, task.nucleus)
        locality = observe.locality(task, observe.job_input(control.world, row), 100)
        for _ in range(1 if cache is None else 2):
            began = time.perf_counter()
            verdict = control.policies.job_brokerage(task, control.brokers.queues, stats, locality, control.cfg,
                                                     control.edition, cache)
            last = time.perf_counter() - began
        assert len(verdict.refused_by) == len(control.brokers.queues.names)
        spent.append(last)
    return spent


def loading(times: int = 5) -> dict:
    """Reading and checking the ATLAS scenario again, processor time."""
    spent = []
    load_scenario(ATLAS)
    for _ in range(times):
        began = time.process_time()
        load_scenario(ATLAS)
        spent.append(time.process_time() - began)
    return {"cpu_ms": statistics.median(spent) * 1e3}


@contextmanager
def generating() -> Iterator[list[float]]:
    """Of simulations that begin within, the times of cycles of job generation, s, are appended to the list."""
    cycle, spent = Generator.cycle, list[float]()

    def timed(generator: Generator) -> float | None:
        began = time.perf_counter()
        again = cycle(generator)
        spent.append(time.perf_counter() - began)
        return again
    Generator.cycle = timed
    try:
        yield spent
    finally:
        Generator.cycle = cycle


def whole_run(measured_h: float, before_h: float = 12) -> dict:
    """All agents and rules on, every table written; measured once the slots have turned over.

    jobs_per_s: attempts that ended in the measured time, over the processor time that it took with its part of the
    closing of the files; jobs_per_wall_s: over wall-clock time. whole_seconds (wall-clock), whole_cpu_us_per_job:
    everything from the scenario on; decision_us: cycles of job generation by decision. Memory is read at each quarter
    of the measured time.
    """
    scenario = load_scenario(ATLAS, overrides=[f"duration={before_h + measured_h}h", "warm_up=0"])
    resident = []
    with tempfile.TemporaryDirectory() as folder:
        began, cpu = time.perf_counter(), cpu_s()
        with generating() as cycles, Simulation(scenario, Path(folder) / "run") as simulation:
            simulation.env.run(until=before_h * HOUR)
            before, decisions = simulation.jobs_ended, simulation.control.books.decisions.n_decisions
            cycles.clear()
            started, cpu_started = time.perf_counter(), cpu_s()
            for quarter in range(1, 5):
                simulation.env.run(until=(before_h + measured_h * quarter / 4) * HOUR)
                resident.append(round(resident_mib()))
            ran, cpu_ran = time.perf_counter() - started, cpu_s() - cpu_started
            cores, jobs = simulation.running_cores, simulation.jobs_ended - before
        closing, cpu_closing = time.perf_counter() - started - ran, cpu_s() - cpu_started - cpu_ran
    part = measured_h / (before_h + measured_h)
    seconds, cpu_seconds = ran + closing * part, cpu_ran + cpu_closing * part
    decisions = simulation.control.books.decisions.n_decisions - decisions
    assert jobs > 20_000 * measured_h and cores > 0.95 * simulation.world.state["total_cores"]
    return {"jobs": jobs, "decisions": decisions, "decision_us": sum(cycles) / decisions * 1e6, "busy_cores": cores,
            "cpu_seconds": cpu_seconds, "seconds": seconds, "jobs_per_s": jobs / cpu_seconds,
            "jobs_per_wall_s": jobs / seconds, "whole_jobs": simulation.counters["jobs_ended"],
            "whole_seconds": time.perf_counter() - began,
            "whole_cpu_us_per_job": (cpu_s() - cpu) / simulation.counters["jobs_ended"] * 1e6,
            "resident_mib_at_quarters": resident, "peak_mib": peak_mib()}
