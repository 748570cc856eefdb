"""Phases of tasks, and the time spent in each."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.tasks import FINAL
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.names import TaskStatus
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

MOST_TASKS = 40
"""Maximum number of tasks in a Gantt chart."""
WORDS = np.array(TaskStatus.words(), object)
TIMES = [f"{word}_s" for word in WORDS]
PHASES = {"waits for a nucleus": ("registered", "defined", "topreprocess", "preprocessing", "assigning"),
          "input is staged": ("staging", "staged"), "ready or pending": ("ready", "pending"),
          "scouting": ("scouting", "scouted"), "running": ("running", "prepared", "merging", "passed"),
          "held": ("throttled", "paused", "exhausted")}
"""Phases and their statuses; a task moves back and forth within a phase, and only its last stays are recorded."""
LEAVING = "is being ended"
UNITS = {"tasks": "tasks", "time_mean": "h", "time_p50": "h", "time_p95": "h", "time_total": "task h"}


def task_phases(run: Run, most: int = MOST_TASKS) -> pd.DataFrame:
    """Stays in each status of up to `most` tasks: those with a unique name, then the largest by work.

    Dimensions jeditaskid, name, status; metrics start and end, s; tasks in order of arrival, stays in order of time. A
    final status has no length. Only the last entry into each status is recorded: earlier stays count towards the
    preceding status.
    """
    tasks = run.table("tasks", ["jeditaskid", "name", "arrival_s", "n_jobs", "n_events_per_job", "work_hs06s_per_event",
                                *TIMES])
    work = tasks.n_jobs * tasks.n_events_per_job * tasks.work_hs06s_per_event
    alone = ~tasks.name.duplicated(keep=False).to_numpy()
    chosen = np.lexsort((tasks.jeditaskid, -work.to_numpy(), ~alone))[:most]
    tasks = tasks.iloc[np.sort(chosen)].sort_values(["arrival_s", "jeditaskid"])
    row, status, start, end = _stays(tasks[TIMES].to_numpy(), run.end_s)
    table = pd.DataFrame({"jeditaskid": tasks.jeditaskid.to_numpy()[row], "name": tasks.name.to_numpy(object)[row],
                          "status": WORDS[status], "start": start, "end": end})
    return tidy(table, ["jeditaskid", "name", "status"], {"start": "s", "end": "s"}, f"up to {run.end_s / HOUR:g} h")


def phase_of(status: str) -> str:
    """The phase of a status that is not final."""
    return next((phase for phase, statuses in PHASES.items() if status in statuses), LEAVING)


def time_in_phase(run: Run) -> pd.DataFrame:
    """Time that tasks spent in each phase within the window, from the stays of `task_phases`.

    Dimensions phase and its statuses, in lifecycle order. Metrics: tasks in the phase; time_mean, time_p50 and
    time_p95 over these, h; time_total, task h.
    """
    window = window_of(run)
    row, status, start, end = _stays(run.table("tasks", TIMES).to_numpy(), run.end_s)
    hours = (np.minimum(end, window.end_s) - np.maximum(start, window.start_s)) / HOUR
    stayed = (hours >= 0) & ~np.isin(WORDS[status], FINAL)
    order = [*PHASES, LEAVING]
    phase = np.array([order.index(phase_of(word)) for word in WORDS])[status[stayed]]
    by_task = pd.Series(hours[stayed]).groupby([phase, row[stayed]]).sum()
    groups = by_task.groupby(level=0)
    table = groups.agg(tasks="size", time_mean="mean", time_p50="median", time_total="sum")
    table["time_p95"] = groups.quantile(0.95)
    table.insert(0, "phase", [order[k] for k in table.index])
    table.insert(1, "statuses", [", ".join(PHASES.get(phase, ())) for phase in table.phase])
    return tidy(table, ["phase", "statuses"], UNITS, window)


def _stays(times: np.ndarray, until_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Row, status, start and end, s, of every stay; times: last entry of each task into each status, s, (n, n_status).

    A final status has no length; of statuses entered at the same time, only the last in PanDA's order has a length.
    """
    order = np.argsort(times, axis=1, kind="stable")                 # NaN comes last
    start = np.take_along_axis(times, order, axis=1)
    after = np.concatenate([start[:, 1:], np.full((len(start), 1), np.nan)], axis=1)
    end = np.where(np.isnan(after), until_s, after)
    end = np.where(np.isin(WORDS[order], FINAL) & np.isnan(after), start, end)
    row, column = np.nonzero(~np.isnan(start))
    return row, order[row, column], start[row, column], end[row, column]
