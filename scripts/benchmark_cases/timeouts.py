"""The rules of timeouts at half a million live jobs."""

import statistics
import time
from types import SimpleNamespace

import numpy as np

from benchmark_cases.measures import HOUR
from benchmark_cases.slots import plain_grid
from simgrid_broker.agents.panda.copy_archive import AnalysisJobs, as_table, piled_up
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.names import JobMark, JobStatus
from simgrid_broker.policy.jobs.timeouts import concerning, labels_of, limits, rules
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world.build import build


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
    analysis, workflows = AnalysisJobs(control), np.full(len(arrays.queues), "", "U16")
    spent = {"median_ms": [], "unchanged_ms": [], "rules_ms": [], "rebrokerage_ms": []}
    for _ in range(11):
        began = time.perf_counter()
        table = concerning(rules(control.cfg, control.edition), JobMark.BUILDS)
        asked = (as_table(table), limits(table, arrays.queues, workflows, now),
                 labels_of(table, world.vocabularies["labels"]))
        arrays.quiet_s[:] = 0                                # every job is looked at
        made = time.perf_counter()
        found, _ = fabric.overdue(*asked, now)
        scanned = time.perf_counter()
        again, _ = fabric.overdue(*asked, now)
        assert (again == found).all(), "a scan that passes over what has not changed finds others"
        spent["unchanged_ms"].append(time.perf_counter() - scanned)
        arrays.quiet_s[:] = 0
        begun = time.perf_counter()
        piled_up(control)
        assert not len(analysis.waiting()), "every group has had a job that began to run lately"
        spent["rules_ms"].append(made - began)
        spent["median_ms"].append(scanned - made)
        spent["rebrokerage_ms"].append(time.perf_counter() - begun)
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
    arrays.jobs["status"][rows] = arrays.job_status[rows] = chosen
    arrays.jobs["modification_s"][rows] = since
    arrays.jobs["due_sequence"][rows] = 1
    moving = chosen == S.TRANSFERRING
    arrays.jobs["modification_s"][rows[moving]] = now
    arrays.job_times[rows, S.PENDING] = arrays.job_times[rows, S.HOLDING] = since
    arrays.job_times[rows, chosen] = since
    return rows[old]
