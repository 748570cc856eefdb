"""Workers of Harvester: how many were submitted and what their slots were used for."""

import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.records import Run
from simgrid_broker.systems.dispatch import dispatcher
from simgrid_broker.systems.worker_mode import mode_of

FIGURES = {"submitted": "workers", "missed": "workers", "cancelled": "workers", "started": "workers",
           "empty": "workers", "used_core_h": "core h", "idle_core_h": "core h", "wasted_core_h": "core h"}
"""Sums of the table `workers` with their units."""
EVERY = "every type"
"""Resource type of the workers of a queue that is not unified."""


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
