"""Tasks: how many ended how, and how long they took from arrival to end.

What lives here: turnaround by campaign, tasks for which there was no place. What does not: phases (`progress`).
"""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.names import TaskStatus
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

FINAL = tuple(status.word for status in (TaskStatus.DONE, TaskStatus.FINISHED, TaskStatus.FAILED, TaskStatus.ABORTED,
                                         TaskStatus.BROKEN))
"""Statuses in which a task stays unless somebody acts; source: lifecycle reference, section 2.8."""

ON_HOLD = (TaskStatus.PENDING.word, TaskStatus.ASSIGNING.word)
"""Statuses of a task for which a broker looks in vain."""

NO_CAMPAIGN = "(no campaign)"


def task_turnaround(run: Run, by: str = "campaign") -> pd.DataFrame:
    """Time from arrival to end of the tasks that ended in the window, by one column of tasks.

    Dimension `by`. Metrics: ended and open (still alive at the end), tasks; turnaround_mean, _p50, _p95, h.
    """
    window = window_of(run)
    tasks = run.table("tasks", [by, "status", "arrival_s", *(f"{status}_s" for status in FINAL)])
    ended = np.fmax.reduce([tasks[f"{status}_s"].to_numpy() for status in FINAL])
    is_final = tasks.status.isin(FINAL).to_numpy()
    inside = is_final & window.holds(ended)
    table = pd.DataFrame({by: tasks[by].astype(object).fillna(NO_CAMPAIGN), "ended": inside, "open": ~is_final,
                          "hours": np.where(inside, (ended - tasks.arrival_s) / HOUR, np.nan)})
    groups = table.groupby(by)
    hours = groups.hours.agg(turnaround_mean="mean", turnaround_p50="median")
    hours["turnaround_p95"] = groups.hours.quantile(0.95)
    table = groups[["ended", "open"]].sum().join(hours).reset_index()
    units = {"ended": "tasks", "open": "tasks", "turnaround_mean": "h", "turnaround_p50": "h", "turnaround_p95": "h"}
    return tidy(table, [by], units, window)


def tasks_by_status(run: Run) -> pd.DataFrame:
    """Tasks of the whole run by their status at its end; dimension status, in PanDA's order."""
    table = run.table("tasks", ["status"]).status.value_counts(sort=False).rename("tasks").reset_index()
    table = table[table.tasks > 0].astype({"status": object})
    return tidy(table, ["status"], {"tasks": "tasks"}, "at the end")


def tasks_without_place(run: Run) -> pd.DataFrame:
    """Tasks that had come an hour before the end and for which no job was ever made, as they wait in vain for a broker.

    Dimensions name, and tag of the rule that left no nucleus or queue. Metric: tasks.
    """
    tasks = run.table("tasks", ["name", "status", "arrival_s", "n_attempts", "errordialog"])
    waits = (tasks.status.isin(ON_HOLD) & (tasks.n_attempts == 0) & (tasks.arrival_s < window_of(run).end_s - HOUR))
    table = tasks[waits].astype({"name": object, "errordialog": object}).fillna({"errordialog": ""})
    table = table.groupby(["name", "errordialog"]).size().rename("tasks").reset_index()
    return tidy(table.rename(columns={"errordialog": "tag"}), ["name", "tag"], {"tasks": "tasks"}, "at the end")


def stopped_tasks(run: Run) -> pd.DataFrame:
    """Tasks that were exhausted or broken at some time, whatever came of them later.

    Dimensions what (exhausted, broken), name, and reason: the last errorDialog. Metric: tasks.
    """
    tasks = run.table("tasks", ["name", "errordialog", "exhausted_s", "broken_s"])
    tables = []
    for what in ("exhausted", "broken"):
        table = tasks[tasks[f"{what}_s"].notna()].astype({"name": object, "errordialog": object})
        table = table.fillna({"errordialog": "", "name": ""}).groupby(["name", "errordialog"]).size()
        tables.append(table.rename("tasks").reset_index().assign(what=what))
    table = pd.concat(tables, ignore_index=True).rename(columns={"errordialog": "reason"})
    return tidy(table, ["what", "name", "reason"], {"tasks": "tasks"}, "at the end")
