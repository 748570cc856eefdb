"""Waiting times of the tasks of work queues."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

BINS = 8
"""Number of arrival-time bins."""


def first_jobs(run: Run) -> pd.DataFrame:
    """Time from the arrival of tasks to the start of their first job, by work queue, task stream and arrival.

    Dimensions work_queue, name (task stream), arrived (start of a bin of an eighth of the run, h). Metrics: came and
    started, tasks; wait_p50 of the started tasks, h. Empty without tasks of work queues.
    """
    tasks = run.table("tasks", ["jeditaskid", "name", "work_queue", "arrival_s"])
    tasks = tasks[tasks.work_queue.notna()].astype({"work_queue": object, "name": object})
    units = {"came": "tasks", "started": "tasks", "wait_p50": "h"}
    dimensions = ["work_queue", "name", "arrived"]
    if not len(tasks):
        return tidy(pd.DataFrame(columns=[*dimensions, *units]), dimensions, units, "the whole run")
    jobs = run.table("jobs", ["jeditaskid", "running_s"])
    started = tasks.jeditaskid.map(jobs.groupby("jeditaskid").running_s.min())
    width_s = run.end_s / BINS
    tasks["arrived"] = np.minimum(tasks.arrival_s // width_s, BINS - 1) * width_s / HOUR
    tasks["wait"] = (started - tasks.arrival_s) / HOUR
    table = tasks.groupby(dimensions).wait.agg(came="size", started="count", wait_p50="median").reset_index()
    return tidy(table, dimensions, units, "the whole run")
