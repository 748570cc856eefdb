"""Turnaround, status and phases of tasks, tasks that never got a job, and jobs cut from files."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.refusals import rules_of
from simgrid_broker.metrics.window import once_per_run, selected_jobs, sums, texts, tidy, window_of
from simgrid_broker.names import ANALYSIS_LABELS, DecisionKind, TaskStatus
from simgrid_broker.records import Run
from simgrid_broker.systems.dispatch import dispatcher
from simgrid_broker.units import HOUR

FINAL = tuple(status.word for status in (TaskStatus.DONE, TaskStatus.FINISHED, TaskStatus.FAILED, TaskStatus.ABORTED,
                                         TaskStatus.BROKEN))
"""Statuses that a task leaves only by a command; source: lifecycle reference, section 2.8."""

ON_HOLD = (TaskStatus.PENDING.word, TaskStatus.ASSIGNING.word)
"""Statuses of a task that waits for a broker to find a candidate."""

NO_CAMPAIGN = "(no campaign)"
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


def task_turnaround(run: Run, by: str = "campaign") -> pd.DataFrame:
    """Time from arrival to end of the tasks that ended in the window, by one column of the tasks table.

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


@once_per_run
def tasks_by_status(run: Run) -> pd.DataFrame:
    """All tasks of the run by status at its end; dimension status, in PanDA's order."""
    table = run.table("tasks", ["status"]).status.value_counts(sort=False).rename("tasks").reset_index()
    table = table[table.tasks > 0].astype({"status": object})
    return tidy(table, ["status"], {"tasks": "tasks"}, "at the end")


def unplaced_tasks(run: Run) -> pd.DataFrame:
    """Tasks that arrived at least an hour before the end and never got a job because no broker found a candidate.

    A row per task: jeditaskid, name, share, kind (the broker that found none; if the decisions of a task are not
    recorded that of its label, of the nucleus if it has none), tag and criterion of the rule that refused the last
    candidates at its last attempt.
    """
    tasks = run.table("tasks", ["jeditaskid", "name", "share", "label", "nucleus", "status", "arrival_s", "n_attempts",
                                "errordialog"])
    columns = ["jeditaskid", "name", "share", "kind", "tag", "criterion"]
    tasks = tasks[((tasks.n_attempts == 0) & (tasks.arrival_s < window_of(run).end_s - HOUR)).to_numpy()]
    if not len(tasks):
        return tasks.reindex(columns=columns)
    tasks = texts(tasks, "name", "share", "label", "errordialog")
    last = run.table("decisions", ["jeditaskid", "kind", "n_kept"]).drop_duplicates("jeditaskid", keep="last")
    last = texts(last, "kind").set_index("jeditaskid").reindex(tasks.jeditaskid).reset_index()
    waits = tasks.status.isin(ON_HOLD).to_numpy() | ((tasks.status == TaskStatus.READY.word).to_numpy()
                                                     & (last.n_kept == 0).to_numpy())
    kind = np.where(tasks.label.isin(ANALYSIS_LABELS), _broker_of_users(run), np.where(
        tasks.nucleus.isna(), DecisionKind.TASK_BROKERAGE.word, DecisionKind.JOB_BROKERAGE.word))
    tasks = tasks.assign(kind=np.where(last.kind.notna(), last.kind, kind), name=tasks.name.fillna(""))[waits]
    rule_of = {(kind, rule.label): (rule.tag, rule.criterion) for kind in DecisionKind.words()
             for rule in rules_of(run, kind)}
    rules = [rule_of.get(about, (about[1], "")) for about in zip(tasks.kind, tasks.errordialog.fillna(""), strict=True)]
    tasks = tasks.assign(tag=[tag for tag, _ in rules], criterion=[name for _, name in rules])
    return tasks[columns].reset_index(drop=True)


def _broker_of_users(run: Run) -> str:
    """The broker of tasks of users."""
    is_ranked = dispatcher(run.manifest["scenario"].get("dispatch", "panda")).job_rules is None
    return (DecisionKind.ANALYSIS_BROKERAGE if is_ranked else DecisionKind.JOB_BROKERAGE).word


@once_per_run
def tasks_without_place(run: Run) -> pd.DataFrame:
    """The number of `unplaced_tasks`; dimensions name, share, kind, tag and criterion. Metric: tasks."""
    about = ["name", "share", "kind", "tag", "criterion"]
    table = sums(unplaced_tasks(run).assign(tasks=1), about, "tasks")
    return tidy(table, about, {"tasks": "tasks"}, "at the end")


def stopped_tasks(run: Run) -> pd.DataFrame:
    """Tasks that were exhausted or broken at any time, in whatever status they ended.

    Dimensions what (exhausted, broken), name, and reason: the last errorDialog. Metric: tasks.
    """
    tasks = run.table("tasks", ["name", "errordialog", "exhausted_s", "broken_s"])
    stopped = pd.concat([tasks[tasks[f"{what}_s"].notna()].assign(what=what) for what in ("exhausted", "broken")])
    stopped = texts(stopped, "name", "errordialog").fillna({"errordialog": "", "name": ""})
    table = sums(stopped.rename(columns={"errordialog": "reason"}).assign(tasks=1), ["what", "name", "reason"], "tasks")
    table = table.sort_values("what", ascending=False, kind="stable")                           # exhausted come first
    return tidy(table, ["what", "name", "reason"], {"tasks": "tasks"}, "at the end")


def cut_jobs(run: Run) -> pd.DataFrame:
    """Jobs generated in the window from the files of tasks; dimensions name (of the task), queue and closed_by.

    Metrics: jobs; mean files, events and input per job. Empty if no task has files.
    """
    window = window_of(run)
    tasks = run.table("splitting", ["jeditaskid"]).jeditaskid
    columns = ["jeditaskid", "queue", "closed_by", "n_input_files", "n_events", "input_bytes", "pending_s"]
    units = {"jobs": "jobs", "files": "files", "events": "events", "input": "GB"}
    dims = ["name", "queue", "closed_by"]
    if not len(tasks):
        return tidy(pd.DataFrame(columns=[*dims, *units]), dims, units, window)
    jobs = selected_jobs(run, columns, lambda rows: rows.jeditaskid.isin(tasks) & window.holds(rows.pending_s))
    names = run.table("tasks", ["jeditaskid", "name"]).set_index("jeditaskid").name.astype(object)
    table = pd.DataFrame({"name": jobs.jeditaskid.map(names), "queue": jobs.queue.astype(object),
                          "closed_by": jobs.closed_by.astype(object), "files": jobs.n_input_files,
                          "events": jobs.n_events, "input": jobs.input_bytes / 1e9, "jobs": 1})
    groups = table.groupby(dims)
    table = groups[["files", "events", "input"]].mean().join(groups.jobs.sum()).reset_index()
    return tidy(table, dims, units, window)


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
