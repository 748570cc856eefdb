"""The transfer optimiser on a network in which every site fetches from many others, and what files cost."""

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmark_cases.measures import ROOT, cpu_s
from benchmark_cases.slots import plain_grid
from simgrid_broker.engine import simulate
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.scenario.loading.loader import load_scenario
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.world.build import build

PERIOD = 60.0
"""Period of a cycle, s."""
FILES, FILE = 10_000, 100e6
"""Input files of a job, more than come in the time, and the size of each, bytes."""


def optimiser(n_sites: int = 300, n_links: int = 20_000, n_cycles: int = 20) -> dict:
    """A cycle of the transfer optimiser with 20 000 active links between 300 sites with doors of 1 to 100 Gb/s.

    cpu_ms: processor time of a cycle, which looks at each link and shares the doors; no transfer ends in the time.
    """
    fabric, spent = fetching(n_sites, -(-n_links // n_sites)), []
    for now in np.arange(n_cycles + 1) * PERIOD:
        fabric.advance(float(now))
        began = time.process_time()
        fabric.set_background(0.1)
        fabric.share_gates(float(now), PERIOD)
        spent.append(time.process_time() - began)
    arrays = fabric.world.arrays
    return {"active_links": int((arrays.links["active_files"] > 0).sum()), "gates": len(arrays.gates),
            "cpu_ms": statistics.median(spent[1:]) * 1e3}


def fetching(n_sites: int, n_sources: int) -> Fabric:
    """A fabric in which every site fetches input from so many others."""
    scenario, tasks = plain_grid(n_sites, n_sites, n_sites)
    scenario = scenario.with_values({"grid.links.default.min_active_files": 2} | {
        f"grid.sites.{name}.{door}": f"{1 + (step * number) % 100} Gb/s"
        for number, name in enumerate(scenario.grid.sites) for door, step in (("door_in", 37), ("door_out", 61))})
    tasks.rows["input_bytes_per_job"], tasks.rows["n_input_files"] = FILES * FILE, FILES
    tasks.replica_site[:, 0], tasks.replica_fraction[:, 0] = np.arange(n_sites), 1.0
    fabric = Fabric(build(scenario, tasks), lambda *_: None)
    for source in range(n_sites):
        for step in range(1, n_sources + 1):
            fabric.order_jobs(source, (source + step) % n_sites, 1, 1000.0, 0.0)
    fabric.make_jobs()
    fabric.set_up_jobs(0.0)
    return fabric


def files(factor: int = 200, n_pairs: int = 3) -> dict:
    """What a file costs in a whole run: `quickstart.yaml` with `factor` times as many input files a job, or as it is.

    The bytes are the same. us_per_file: processor time that the more files take, over those that moved (with failed
    attempts) in addition; the median of pairs in alternation.
    """
    plan = load_scenario(ROOT / "scenarios" / "quickstart.yaml", overrides=["gdpconfig.NQUEUED_SAT_CAP=1000000000"])
    many = plan.with_values({f"workload.campaigns.{stream.name}.files_per_job": factor * stream.files_per_job
                             for stream in plan.workload.campaigns})
    costs, moved = list[float](), 0
    run_once(plan)
    for _ in range(n_pairs):
        (few_s, few), (many_s, more) = run_once(plan), run_once(many)
        moved = more - few
        costs.append(1e6 * (many_s - few_s) / moved)
    return {"more_files": moved, "us_per_file": statistics.median(costs)}


def run_once(plan: Scenario) -> tuple[float, int]:
    """Processor time of a run, s, and how many files it moved, with failed attempts."""
    with tempfile.TemporaryDirectory() as folder:
        began = cpu_s()
        run = simulate(plan, folder=Path(folder) / "run")
        spent = cpu_s() - began
        rows = run.table("links", ["files", "files_failed"])
        return spent, int(rows.files.sum() + rows.files_failed.sum())
