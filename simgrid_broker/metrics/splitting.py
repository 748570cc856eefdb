"""Jobs that were cut from files: size, and the limit that closed them."""

import pandas as pd

from simgrid_broker.metrics.job_times import selected_jobs
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.records import Run

UNITS = {"jobs": "jobs", "files": "files", "events": "events", "input": "GB"}
"""Figures of `cut_jobs` and their units."""


def cut_jobs(run: Run) -> pd.DataFrame:
    """Jobs generated in the window from the files of tasks; dimensions name (of the task), queue and closed_by.

    Metrics: jobs; mean files, events and input per job. Empty if no task has files.
    """
    window = window_of(run)
    tasks = run.table("splitting", ["jeditaskid"]).jeditaskid
    columns = ["jeditaskid", "queue", "closed_by", "n_input_files", "n_events", "input_bytes", "pending_s"]
    jobs = pd.DataFrame(columns=columns)
    if len(tasks):
        jobs = selected_jobs(run, columns, lambda rows: rows.jeditaskid.isin(tasks) & window.holds(rows.pending_s))
    names = run.table("tasks", ["jeditaskid", "name"]).set_index("jeditaskid").name.astype(object)
    table = pd.DataFrame({
        "name": jobs.jeditaskid.map(names), "queue": jobs.queue.astype(object),
        "closed_by": jobs.closed_by.astype(object), "files": jobs.n_input_files, "events": jobs.n_events,
        "input": jobs.input_bytes / 1e9, "jobs": 1})
    groups = table.groupby(["name", "queue", "closed_by"])
    table = groups[["files", "events", "input"]].mean().join(groups.jobs.sum()).reset_index()
    return tidy(table, ["name", "queue", "closed_by"], UNITS, window)
