"""Running cores, jobs by state and ended jobs over the whole run, the core capacity, and Harvester's workers."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.window import Window, part_of_jobs, tidy, window_of
from simgrid_broker.records import JOB_END_TIMES, JOB_END_WORDS, Run
from simgrid_broker.systems.dispatch import dispatcher
from simgrid_broker.systems.worker_mode import mode_of
from simgrid_broker.units import DAY, HOUR, MINUTE

STATES = ("running", "transferring", "activated", "assigned", "other queued")
"""States that `jobs_over_time` counts; other queued are defined and starting jobs."""

BINS_S = (MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY)
"""Round widths of time bins, s."""
FIGURES = {"submitted": "workers", "missed": "workers", "cancelled": "workers", "started": "workers",
           "empty": "workers", "used_core_h": "core h", "idle_core_h": "core h", "wasted_core_h": "core h"}
"""Sums of the table `workers` with their units."""
EVERY = "every type"
"""Resource type of the workers of a queue that is not unified."""


def running_cores(run: Run, by: str = "share") -> pd.DataFrame:
    """Cores of running jobs over time by share, resource_type, site or queue; dimensions time_s and `by`.

    Raises ValueError for anything else to group by.
    """
    if by in ("share", "resource_type"):
        rows = run.table("shares", ["time_s", by, "running_cores"])
    elif by in ("site", "queue"):
        rows = run.table("queues", ["time_s", "queue", "running_cores"])
        if by == "site":
            queues = run.manifest["scenario"]["grid"]["queues"]
            rows["site"] = rows.queue.astype(object).map({name: queue["atlas_site"] for name, queue in queues.items()})
    else:
        raise ValueError(f"cores can be grouped by share, resource_type, site or queue, not {by!r}")
    rows[by] = rows[by].astype(object)
    table = rows.groupby(["time_s", by], sort=False).running_cores.sum().reset_index()
    return tidy(table, ["time_s", by], {"running_cores": "cores"}, Window(0.0, run.end_s))


def totals_over_time(run: Run, *columns: str) -> pd.DataFrame:
    """Columns of the samples of shares, such as activated (jobs), summed over the grid; indexed by time_s."""
    return run.table("shares", ["time_s", *columns]).groupby("time_s").sum()


def jobs_over_time(run: Run) -> pd.DataFrame:
    """Jobs of the whole grid by state over time; dimensions time_s and state (STATES)."""
    table = totals_over_time(run, "running", "transferring", "activated", "assigned", "queued").reset_index()
    table["other queued"] = table.queued - table.activated - table.assigned
    long = table.melt("time_s", list(STATES), var_name="state", value_name="jobs")
    return tidy(long, ["time_s", "state"], {"jobs": "jobs"}, Window(0.0, run.end_s))


def throughput(run: Run, most_bins: int = 100) -> pd.DataFrame:
    """Jobs that ended per hour by final status over time; dimensions time_s (start of the bin), bin_s and status."""
    end = run.end_s
    sampled = part_of_jobs(run) < 1
    width = next((width for width in BINS_S if end / width <= most_bins and (width >= HOUR or not sampled)), BINS_S[-1])
    edges = np.arange(0, max(end, width) + width, width)[:-1]
    last = min(edges[-1] + width, max(end, width))                     # the end of the run may cut the last bin
    lengths = np.diff([*edges, last])
    counts = np.zeros((len(JOB_END_WORDS), len(edges)))
    if sampled:
        counts += [np.histogram(rows.time_s, [*edges, last], weights=rows.jobs)[0]
                   for rows in (run.ended[run.ended.status == status] for status in JOB_END_WORDS)]
    for rows in () if sampled else run.batches("jobs", JOB_END_TIMES):
        counts += [np.histogram(rows[column].dropna(), [*edges, last])[0] for column in JOB_END_TIMES]
    table = pd.DataFrame({"time_s": np.tile(edges, len(JOB_END_WORDS)), "bin_s": np.tile(lengths, len(JOB_END_WORDS)),
                          "status": np.repeat(JOB_END_WORDS, len(edges)),
                          "jobs_per_hour": (counts / lengths * HOUR).ravel()})
    return tidy(table, ["time_s", "bin_s", "status"], {"jobs_per_hour": "jobs/h"}, Window(0.0, end))


def core_capacity(run: Run) -> float:
    """Cores of all batch systems, as the manifest counts them."""
    return float(run.manifest["counters"]["total_cores"])


def workers(run: Run) -> pd.DataFrame:
    """Workers by queue and resource type in the window: numbers, and core hours used, idle and wasted.

    Idle: in slots of workers without a payload; wasted: cores of a slot, or of a whole node, beside its payload.
    """
    window = window_of(run)
    rows = run.workers[window.holds(run.workers.time_s)]
    kinds = rows.resource_type.astype(object).where(rows.resource_type.notna(), EVERY)
    table = rows.assign(queue=rows.queue.astype(object), resource_type=kinds).groupby(
        ["queue", "resource_type"], sort=False)[list(FIGURES)].sum().reset_index()
    return tidy(table, ["queue", "resource_type"], FIGURES, window)


def part_at_small_queues(run: Run, slots: float) -> float:
    """Part of the running cores of the window, 0 to 1, at queues that pilot streaming serves and that have fewer slots.

    slots: of the queue's size, that run in the mean over the window. NaN if nothing runs.
    """
    plan, window = run.manifest["scenario"], window_of(run)
    rows = run.queues[window.holds(run.queues.time_s)]
    cores = rows.astype({"queue": object}).groupby("queue").running_cores.mean()
    if not cores.sum() or not dispatcher(plan.get("dispatch", "panda")).binds_jobs:
        return 0.0 if cores.sum() else float("nan")
    queues = [plan["grid"]["queues"][name] for name in cores.index]
    small = [queue["capability"] == "ucore" and mode_of(queue["workflow"]).asked_by_server
             and number < slots * max(queue["corecount"], 1) for queue, number in zip(queues, cores, strict=True)]
    return float(cores[small].sum() / cores.sum())
