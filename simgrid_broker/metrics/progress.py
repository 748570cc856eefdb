"""Progress of tasks: which phases they went through, and how long they stayed in each.

What lives here: phases of tasks, time in each phase. What does not: turnaround and counts (`tasks`), jobs of a task.
"""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.tasks import FINAL
from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.names import TaskStatus
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

MOST_TASKS = 40
"""Tasks whose phases still fit a picture."""
WORDS = np.array(TaskStatus.words(), object)
TIMES = [f"{word}_s" for word in WORDS]
PHASES = {"waits for a nucleus": ("registered", "defined", "topreprocess", "preprocessing", "assigning"),
          "input is staged": ("staging", "staged"), "ready or pending": ("ready", "pending"),
          "scouting": ("scouting", "scouted"), "running": ("running", "prepared", "merging", "passed"),
          "held": ("throttled", "paused", "exhausted")}
"""Statuses between which a task goes back and forth are one phase: earlier stays are not taken for something else."""
LEAVING = "is being ended"
"""Phase of all other statuses that are not final."""
UNITS = {"tasks": "tasks", "time_mean": "h", "time_p50": "h", "time_p95": "h", "time_total": "task h"}
"""Figures of `time_in_phase` and their units."""


def task_phases(run: Run, most: int = MOST_TASKS) -> pd.DataFrame:
    """When tasks were in which status, for `most` of them: those with a name of their own, then the largest by work.

    Dimensions jeditaskid, name, status; metrics start and end, s; tasks in the order in which they came, the phases of
    each in order. A final status begins and ends at once. A task keeps when it last entered each status: of several
    stays the last is known, the earlier ones count for what came before.
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
    """The phase of a task's life to which a status that is not final belongs."""
    return next((phase for phase, statuses in PHASES.items() if status in statuses), LEAVING)


def time_in_phase(run: Run) -> pd.DataFrame:
    """How long tasks stayed in each phase within the window, as `task_phases` knows it.

    Dimensions phase, and statuses that belong to it, in the order of a task's life. Metrics: tasks that were in it;
    time_mean, time_p50 and time_p95, h, over these; time_total, task h.
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
    """Every stay of tasks in a status, from the times at which they last entered each, (n, n_task_status), s.

    Row, status, start and end of each stay, s; a final status has no length. Of statuses that were entered at the same
    moment those that come first in PanDA's order have no length.
    """
    order = np.argsort(times, axis=1, kind="stable")                 # NaN comes last
    start = np.take_along_axis(times, order, axis=1)
    after = np.concatenate([start[:, 1:], np.full((len(start), 1), np.nan)], axis=1)
    end = np.where(np.isnan(after), until_s, after)
    end = np.where(np.isin(WORDS[order], FINAL) & np.isnan(after), start, end)
    row, column = np.nonzero(~np.isnan(start))
    return row, order[row, column], start[row, column], end[row, column]
