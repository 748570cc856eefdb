#!/usr/bin/env python3
"""Measure the speed of the simulator relative to a plain SimPy model in the same process.

    scripts/benchmark.py                      all cases, a table
    scripts/benchmark.py fabric decision      some of them
    scripts/benchmark.py --json               the figures as JSON

Ratios to the SimPy model are comparable between machines; absolute figures depend on the machine and its load.
"""

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numba
import numpy as np
import simpy

from simgrid_broker.agents import rebrokerage
from simgrid_broker.agents.copy_archive import as_table
from simgrid_broker.bundle import Bundle
from simgrid_broker.engine import Simulation
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.names import JobStatus
from simgrid_broker.policy.timeouts import labels_of, limits, rules
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.scenario.loader import load_scenario
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.tasklist import VOCABULARY_OF, TaskList
from simgrid_broker.schema import TASKS
from simgrid_broker.schema.tasks import N_REPLICAS
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world import observe
from simgrid_broker.world.build import build

ATLAS = Path(__file__).resolve().with_name("benchmark_atlas.yaml")
HOUR = 3600.0
EVENTS_PER_JOB, DIFFERENT_JOBS, MEAN_WAIT_S = 10, 20_000, 1160.0
TARGETS = {"fabric": 1_000_000, "whole_run_atlas": 100_000, "whole_run_atlas_2d": 100_000}
"""Budgets in jobs/s; that of a decision is 200 us, of a look of the timeout rules 50 ms, that of memory 2048 MiB,
that of many busy cores 1.5 times."""


def peak_mib() -> float:
    """Largest resident size of this process so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident_mib() -> float:
    """Resident size of this process now, MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def cpu_s() -> float:
    """CPU time of this process, its threads and its ended children so far, s."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def yardstick(n_jobs: int = 250_000, equal_waits: bool = False) -> dict:
    """Plain SimPy: a process for each job, created on arrival, ten events, no policy; about 116 000 alive at once.

    Waits are exponential, as different as those of jobs, and drawn before the clock starts. With equal waits of the
    same mean each event comes behind all others and SimPy has nothing to sort: then it does about twice as many jobs.
    """
    done = []
    waits = np.random.default_rng(1).exponential(MEAN_WAIT_S, (DIFFERENT_JOBS, EVENTS_PER_JOB))
    waits = np.full_like(waits, MEAN_WAIT_S).tolist() if equal_waits else waits.tolist()

    def job(env, number):
        for wait in waits[number % DIFFERENT_JOBS]:
            yield env.timeout(wait)
        done.append(env.now)

    def arrivals(env):
        for number in range(n_jobs):
            env.process(job(env, number))
            yield env.timeout(0.1)
    env = simpy.Environment()
    env.process(arrivals(env))
    began = time.perf_counter()
    env.run()
    spent = time.perf_counter() - began
    assert len(done) == n_jobs
    return {"jobs": n_jobs, "jobs_per_s": n_jobs / spent}


def plain_grid(n_queues: int, cores: int, n_shares: int) -> tuple[Scenario, TaskList]:
    """Single-core queues that share so many cores, and one endless task for each share."""
    sites = {f"S{k}": {"cores": cores // n_queues, "nucleus": k == 0, "failure_rate": 0.02} for k in range(n_queues)}
    queues = {f"Q{k}": {"atlas_site": f"S{k}", "capability": "score", "corecount": 1} for k in range(n_queues)}
    storages = {f"D{k}": {"site": f"S{k}", "total": "1 PB", "free": "500 TB"} for k in range(n_queues)}
    scenario = Scenario(name="plain", duration="7d", grid=dict(sites=sites, queues=queues, storages=storages),
                        shares=[{"name": f"share {k}", "value": 1} for k in range(n_shares)],
                        agents={"pilot_startup": 0})
    rows = np.zeros(n_shares, TASKS.dtype)
    rows["jeditaskid"], rows["share"] = np.arange(n_shares) + 1, np.arange(n_shares)
    for name, value in dict(n_jobs=2**30, work_hs06s_per_event=36000, n_events_per_job=1, work_spread=0.3, corecount=1,
                            cpu_efficiency=1, maxpss_mb=1000, max_attempt=3, nucleus=-1).items():
        rows[name] = value
    no_replicas = np.full((n_shares, N_REPLICAS), -1, np.int16), np.zeros((n_shares, N_REPLICAS), np.float32)
    return scenario, TaskList(rows, *no_replicas, dict.fromkeys(VOCABULARY_OF.values(), ("",)))


class Feed:
    """A fabric that always has queued jobs of every share and workers for all cores."""

    def __init__(self, n_queues: int, cores: int, n_shares: int = 30):
        scenario, tasks = plain_grid(n_queues, cores, n_shares)
        self.ended = 0
        self.world = build(scenario, tasks)
        self.fabric = Fabric(self.world, self._sink)
        self.queues, self.n_shares = np.arange(n_queues), n_shares
        self.per_queue = cores // n_queues
        self.now, self.spent = 0.0, 0.0

    def _sink(self, name, rows, times):
        self.ended += len(rows) if name == "jobs" else 0

    def fill(self) -> None:
        """Bring the jobs that wait at each queue to one and a half times its cores; not timed."""
        queued = self.world.arrays.counts[..., JobStatus.ACTIVATED].sum(axis=(1, 2))
        each = np.ceil(np.maximum(1.5 * self.per_queue - queued, 0) / self.n_shares).astype(int).tolist()
        for share in range(self.n_shares):
            for queue, number in zip(self.queues.tolist(), each, strict=True):
                self.fabric.order_jobs(share, queue, number, 1000.0, self.now)
        self.fabric.make_jobs()
        self.fabric.set_up_jobs(self.now)
        waiting = self.world.arrays.pseudo_queues["n_submitted"]
        self.fabric.submit_workers(self.queues, np.maximum(self.per_queue - waiting, 0), self.now)

    def turn(self, seconds: float) -> None:
        """Advance the fabric; only this is timed."""
        self.fill()
        self.now += seconds
        began = time.perf_counter()
        self.fabric.advance(self.now)
        self.spent += time.perf_counter() - began
        self.fabric.add_jobs(self.now)
        self.fabric.empty_outboxes()


def jobs_per_s_of_fabric(n_queues: int, cores: int, least_jobs: int) -> dict:
    """Pilot, dispatch over 30 shares, run; measured after one full turnover of the slots."""
    feed = Feed(n_queues, cores)
    while feed.ended < cores:
        feed.turn(HOUR / 4)
    ended, feed.spent, events = feed.ended, 0.0, int(feed.world.state["n_processed"])
    while feed.ended - ended < least_jobs:
        feed.turn(HOUR / 4)
    jobs = feed.ended - ended
    running = int(feed.world.arrays.counts[..., JobStatus.RUNNING].sum())
    assert jobs >= least_jobs and running >= 0.98 * feed.per_queue * n_queues, "the slots were not full"
    return {"jobs": jobs, "events": int(feed.world.state["n_processed"]) - events, "running": running,
            "jobs_per_s": jobs / feed.spent, "peak_mib": peak_mib()}


def fabric() -> dict:
    """The fabric alone with 116 000 running jobs."""
    return jobs_per_s_of_fabric(100, 116_000, 500_000)


def busy_cores() -> dict:
    """Cost of a job at 500 000 busy cores against 1 000."""
    few, many = jobs_per_s_of_fabric(10, 1_000, 200_000), jobs_per_s_of_fabric(300, 499_800, 500_000)
    return {"jobs": many["jobs"], "jobs_per_s": many["jobs_per_s"], "jobs_per_s_at_1000": few["jobs_per_s"],
            "cost_ratio": few["jobs_per_s"] / many["jobs_per_s"], "peak_mib": peak_mib()}


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


def whole_run(measured_h: float, before_h: float = 12) -> dict:
    """All agents and rules on, every table written; measured once the slots have turned over.

    jobs_per_s: attempts that ended in the measured time, over the real time that it took with its part of the closing
    of the files. whole_seconds, whole_cpu_us_per_job: everything from the scenario on. Memory is read at each quarter
    of the measured time.
    """
    scenario = load_scenario(ATLAS, overrides=[f"duration={before_h + measured_h}h", "warm_up=0"])
    resident = []
    with tempfile.TemporaryDirectory() as folder:
        began, cpu = time.perf_counter(), cpu_s()
        with Simulation(scenario, Path(folder) / "run") as simulation:
            simulation.env.run(until=before_h * HOUR)
            before, decisions = simulation.jobs_ended, simulation.control.books.decisions.n_decisions
            started = time.perf_counter()
            for quarter in range(1, 5):
                simulation.env.run(until=(before_h + measured_h * quarter / 4) * HOUR)
                resident.append(round(resident_mib()))
            ran, cores, jobs = time.perf_counter() - started, simulation.running_cores, simulation.jobs_ended - before
        closing = time.perf_counter() - started - ran
    seconds = ran + closing * measured_h / (before_h + measured_h)
    decisions = simulation.control.books.decisions.n_decisions - decisions
    assert jobs > 20_000 * measured_h and cores > 0.95 * simulation.world.state["total_cores"]
    return {"jobs": jobs, "decisions": decisions, "busy_cores": cores, "seconds": seconds, "jobs_per_s": jobs / seconds,
            "whole_jobs": simulation.counters["jobs_ended"], "whole_seconds": time.perf_counter() - began,
            "whole_cpu_us_per_job": (cpu_s() - cpu) / simulation.counters["jobs_ended"] * 1e6,
            "resident_mib_at_quarters": resident, "peak_mib": peak_mib()}


def timeouts(live: int = 500_000) -> dict:
    """One look of all timeout rules at half a million live jobs: most run, the others wait, a few are too old.

    median_ms: the scan for all rules; rules_ms: making the rules and their limits at 300 queues; rebrokerage_ms: what
    fast rebrokerage and that of analysis jobs look at, half of all jobs being analysis.
    """
    scenario, tasks = plain_grid(300, 300_000, 30)
    tasks.vocabularies["labels"] = ("managed", "user")
    tasks.rows["label"] = np.arange(len(tasks.rows)) % 2
    world = build(scenario, tasks)
    fabric, now = Fabric(world, lambda *_: None), 10 * 24 * HOUR
    for share in range(30):
        for queue in range(300):
            fabric.order_jobs(share, queue, live // 9000 + 1, 1000.0, now)
    fabric.make_jobs()
    arrays = world.arrays
    rows = np.flatnonzero(arrays.jobs["panda_id"] > 0)
    old = _age(arrays, rows, now)
    control = SimpleNamespace(world=world, arrays=arrays, fabric=fabric, cfg=Gdpconfig(in_force(scenario)),
                              edition="deployed", now=now)
    analysis, workflows = rebrokerage.AnalysisJobs(control), np.full(len(arrays.queues), "", "U16")
    spent = {"median_ms": [], "rules_ms": [], "rebrokerage_ms": []}
    for _ in range(11):
        began = time.perf_counter()
        table = rules(control.cfg, control.edition)
        asked = (as_table(table), limits(table, arrays.queues, workflows, now),
                 labels_of(table, world.vocabularies["labels"]))
        made = time.perf_counter()
        found, _ = fabric.overdue(*asked, now)
        scanned = time.perf_counter()
        rebrokerage.piled_up(control)
        assert not len(analysis.waiting()), "every group has had a job that began to run lately"
        spent["rules_ms"].append(made - began)
        spent["median_ms"].append(scanned - made)
        spent["rebrokerage_ms"].append(time.perf_counter() - scanned)
    assert len(rows) >= live and sorted(found.tolist()) == sorted(old.tolist()), "other jobs than expected were found"
    return {"jobs": len(rows), "rows": len(arrays.jobs), "rules": len(table), "found": len(found),
            **{name: statistics.median(values[1:]) * 1e3 for name, values in spent.items()}}


def _age(arrays, rows: np.ndarray, now: float) -> np.ndarray:
    """Spread jobs over statuses and ages that break no rule, but for every thousandth one; returns those rows."""
    S = JobStatus
    status = np.array([S.RUNNING] * 12 + [S.ACTIVATED] * 5 + [S.ASSIGNED, S.TRANSFERRING, S.HOLDING])
    chosen = status[np.arange(len(rows)) % len(status)]
    young = np.where(np.isin(chosen, [S.RUNNING, S.ACTIVATED, S.TRANSFERRING]), 0.9 * 24 * HOUR, 0.5 * HOUR)
    since = now - young * ((np.arange(len(rows)) * 7919) % 1000) / 1000
    old = np.arange(len(rows)) % 1000 == 0
    since[old] = now - 9 * 24 * HOUR
    chosen[old] = S.ASSIGNED
    arrays.jobs["status"][rows], arrays.jobs["modification_s"][rows] = chosen, since
    arrays.jobs["due_sequence"][rows] = 1
    moving = chosen == S.TRANSFERRING
    arrays.jobs["modification_s"][rows[moving]] = now
    arrays.job_times[rows, S.PENDING] = arrays.job_times[rows, S.HOLDING] = since
    arrays.job_times[rows, chosen] = since
    return rows[old]


def handover(n_arrays: int = 50, n_calls: int = 20_000, n_inner: int = 5_000_000) -> dict:
    """Compiled code handed 50 arrays as a `Bundle`, one pointer, and as a named tuple, which is passed by value.

    call_us: one call from Python; inner_ns: one call within compiled code; compile_s: translating both functions.
    """
    arrays = {f"a{k}": np.zeros((10, 2)) for k in range(n_arrays)}
    as_bundle = type("AsBundle", (Bundle,), {"__annotations__": dict.fromkeys(arrays, np.ndarray)})
    as_tuple = NamedTuple("AsTuple", [(name, np.ndarray) for name in arrays])
    return {f"{kind}_{name}": value for kind, tables in (("bundle", as_bundle(**arrays)), ("tuple", as_tuple(**arrays)))
            for name, value in _handover_times(tables, n_calls, n_inner).items()}


def _handover_times(tables, n_calls: int, n_inner: int) -> dict:
    """Median of seven measurements of each figure of `handover`."""
    @numba.njit(_nrt=False)
    def read(tables, k):
        return tables.a3[k, 0] + tables.a40[k, 1]

    @numba.njit(_nrt=False)
    def repeat(tables, n):
        total = 0.0
        for k in range(n):
            total += read(tables, k % 10)
        return total

    def seconds(work) -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began
    compiling = seconds(lambda: (read(tables, 0), repeat(tables, 1)))
    calls = [seconds(lambda: [read(tables, 0) for _ in range(n_calls)]) for _ in range(7)]
    inner = [seconds(lambda: repeat(tables, n_inner)) for _ in range(7)]
    return {"call_us": statistics.median(calls) / n_calls * 1e6, "inner_ns": statistics.median(inner) / n_inner * 1e9,
            "compile_s": compiling}


CASES = {"fabric": fabric, "busy_cores": busy_cores, "decision": decision, "timeouts": timeouts, "handover": handover,
         "whole_run_atlas": lambda: whole_run(6), "whole_run_atlas_2d": lambda: whole_run(48)}


def warm_up() -> None:
    """Load or make the compiled code, so that no case pays for it."""
    feed = Feed(2, 4, 2)
    feed.turn(HOUR)
    feed.turn(HOUR)


def measured(names: Sequence[str]) -> dict[str, dict]:
    """Figures of the cases, and of both variants of the SimPy model, each the median of three.

    The variants are measured before the first case and after each one until there are three of them. `ratio_to_simpy`
    is that to exponential waits.
    """
    speeds: dict[str, list[float]] = {"simpy": [], "simpy_equal_waits": []}

    def time_simpy() -> None:
        if len(speeds["simpy"]) < 3:
            for name, found in speeds.items():
                found.append(yardstick(equal_waits=name == "simpy_equal_waits")["jobs_per_s"])
    figures: dict[str, dict] = {}
    time_simpy()
    for name in names:
        print(f"{name} ...", file=sys.stderr)
        figures[name] = CASES[name]()
        time_simpy()
    while len(speeds["simpy"]) < 3:
        time_simpy()
    plain = {name: statistics.median(found) for name, found in speeds.items()}
    for values in figures.values():
        if "jobs_per_s" in values:
            for name, speed in plain.items():
                values[f"ratio_to_{name}"] = values["jobs_per_s"] / speed
    return {name: {"jobs_per_s": speed} for name, speed in plain.items()} | figures


def main() -> None:
    """Run the cases that were asked for and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    warm_up()
    figures = measured(arguments.cases or list(CASES))
    if arguments.json:
        print(json.dumps({"cases": figures}, indent=1))
        return
    for name, values in figures.items():
        print(name + (f"   (budget {TARGETS[name]:,} jobs/s)" if name in TARGETS else ""))
        for key, value in values.items():
            print(f"    {key:26s} {value:>14,.1f}" if isinstance(value, float) else f"    {key:26s} {value!s:>14}")


if __name__ == "__main__":
    main()
