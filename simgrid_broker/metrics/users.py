"""Users with analysis tasks: their jobs and cores, how long they wait and are throttled, and how fair that is."""

from collections.abc import Collection, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from simgrid_broker.metrics.window import (
    combinations,
    made_of_jobs,
    once_per_run,
    part_of_jobs,
    selected_jobs,
    selection,
    sums,
    texts,
    tidy,
    window_of,
)
from simgrid_broker.names import ANALYSIS_LABELS, TASK_ENDS, JobStatus, SiteClass, TaskClass, TaskStatus, ThrottledBy
from simgrid_broker.records import JOB_END_TIMES, Run
from simgrid_broker.units import HOUR

THROTTLED = TaskStatus.THROTTLED.word
FIGURES = {"tasks": "tasks", "started": "jobs", "waiting": "jobs", "cores": "cores", "power": "HS06", "wait_p50": "h",
           "wait_p95": "h", "throttled": "h"}
"""Figures of a user with their units."""
SIZES = (("largest 10", 0, 10), ("next 40", 10, 50), ("others", 50, None))
"""Classes of users by the power that they used: name, and ranks from and to."""
NO_CLASS, NOT_YET = "none", "not activated"
CELL = ["user", "share", "task_class"]
SUMS = ["started", "waiting", "core_s", "hs06s"]
CLASSES = (*(one.name for one in (TaskClass.S, TaskClass.A, TaskClass.B, TaskClass.C)), NO_CLASS)
"""Classes of tasks in the order of their rights."""


@once_per_run
def users(run: Run) -> pd.DataFrame:
    """Users with analysis tasks, those with most cores first; dimension user.

    Metrics: tasks, of the whole run; started, jobs that began to run in the window, with the quantiles wait_p50 and
    wait_p95 of their time in activated, h; waiting, jobs activated at the end; cores and power, HS06,
    means of their running jobs; throttled, time of all tasks together, h. If jobs are a sample, numbers of jobs, cores
    and power are scaled up.
    """
    tasks = _tasks(run)
    user, names = pd.factorize(tasks.user, sort=True)
    table = _figures(run, _jobs(run), "user").reindex(names)
    of_tasks = {"user": names, "tasks": np.bincount(user), "throttled": np.bincount(user, tasks.throttled)}
    table = pd.DataFrame(of_tasks | {
        name: table[name].to_numpy() if name.startswith("wait_") else np.nan_to_num(table[name]) for name in table})
    table = table.take(np.lexsort((np.arange(len(names)), -table.cores)))
    return tidy(table, ["user"], FIGURES, window_of(run))


def users_by_size(run: Run) -> pd.DataFrame:
    """Users by the cores that they had: the ten largest, the next forty, and the others; dimension size.

    Metrics: users; started, waiting, cores, power, wait_p50 and wait_p95 as of `users`, over the jobs of all of them.
    """
    ranked = users(run).user.drop_duplicates().tolist()
    size_of = {user: name for name, first, last in SIZES for user in ranked[first:last]}
    jobs = _jobs(run)
    table = _figures(run, jobs.assign(size=jobs.user.map(size_of)), "size")
    table.insert(0, "users", pd.Series(size_of).value_counts().reindex(table.index))
    table = table.reindex([name for name, *_ in SIZES if name in table.index]).reset_index(names="size")
    units = {"users": "users", **{name: unit for name, unit in FIGURES.items() if name in table}}
    return tidy(table, ["size"], units, window_of(run))


def user_cores(run: Run) -> pd.DataFrame:
    """Mean cores of each user in each share over the window; dimensions user and share."""
    table = _figures(run, _jobs(run), "user", "share")
    return tidy(table[["cores"]].reset_index(), ["user", "share"], {"cores": "cores"}, window_of(run))


def users_by_class(run: Run) -> pd.DataFrame:
    """Jobs by the class that their task had when they were activated; dimension task_class, S first.

    Metrics: started, waiting, cores, power, wait_p50 and wait_p95 as of `users`; jobs of tasks that had no class count
    as "none". Empty for a run without classes.
    """
    table = pd.DataFrame(columns=["task_class", *(name for name in FIGURES if name not in ("tasks", "throttled"))])
    if len(run.table("task_classes", ["time_s"])):
        table = _figures(run, _jobs(run), "task_class")
        table = table.reindex([name for name in CLASSES if name in table.index]).reset_index()
    return tidy(table, ["task_class"], {name: FIGURES[name] for name in table.columns[1:]}, window_of(run))


def site_class_series(run: Run) -> pd.DataFrame:
    """PanDA queues of each class at each sample: time_s, site_class, value; empty if all are of class mid always."""
    rows = texts(run.table("queues", ["time_s", "site_class"]), "site_class")
    if set(rows.site_class.dropna()) <= {SiteClass.MID.word}:
        return pd.DataFrame(columns=["time_s", "site_class", "value"])
    return sums(rows.assign(value=1), ["time_s", "site_class"], "value")


def throttled_time(run: Run) -> pd.DataFrame:
    """Tasks of users that were throttled, by what throttled them last; dimension throttled_by, metrics tasks, hours."""
    held = throttled_by(run).rename(columns={"throttled": "hours"}).assign(tasks=1)
    held = sums(held, ["throttled_by"], "tasks", "hours")
    return tidy(held, ["throttled_by"], {"tasks": "tasks", "hours": "h"}, window_of(run))


MOVING_JOBS = selection(["jeditaskid", "queue", "source_site", "missing_bytes"], lambda rows, window: (
    rows.missing_bytes > 0) & window.holds(rows.activated_s), "activated_s")
"""Jobs that were activated in the window and fetched input from other sites."""


def moved_input(run: Run) -> pd.DataFrame:
    """Input that jobs of users fetched from other sites, which is what the second loop of brokerage allows.

    Dimensions source_site and queue; metrics jobs, that were activated in the window, and bytes; most bytes first. If
    jobs are a sample, both are scaled up.
    """
    jobs, part = pd.concat(made_of_jobs(run, MOVING_JOBS), ignore_index=True), part_of_jobs(run) or 1
    jobs = jobs[jobs.jeditaskid.isin(_tasks(run).jeditaskid)]
    jobs = jobs.assign(jobs=1 / part, bytes=jobs.missing_bytes.to_numpy(float) / part)
    table = sums(jobs, ["source_site", "queue"], "jobs", "bytes").sort_values("bytes", ascending=False, kind="stable")
    return tidy(table, ["source_site", "queue"], {"jobs": "jobs", "bytes": "bytes"}, window_of(run))


@once_per_run
def _jobs(run: Run) -> pd.DataFrame:
    """Attempts of analysis tasks by user, share and task_class, read in batches.

    task_class: of the task when the attempt was activated, NO_CLASS if it had none, NOT_YET before. Sums over the
    window: started, waiting, core_s, hs06s; wait: arrays of the times in activated of the started ones, h.
    """
    tasks, classes = _tasks(run).jeditaskid, run.table("task_classes")
    columns = ["user", "share", "corecount", "hs06_milli", "activated_s", "running_s", *JOB_END_TIMES, "jeditaskid"]
    pieces = list[pd.DataFrame]()
    for rows in run.batches("jobs", columns):
        rows = rows[np.isin(rows.jeditaskid, tasks)]
        cells = _by_cell(rows.assign(task_class=_class_of(rows, classes)), *_in_window(run, rows))
        pieces.append(texts(cells, "user", "share"))
    table = pd.concat(pieces, ignore_index=True)
    return _by_cell(table, {name: table[name].to_numpy() for name in SUMS}, table.wait.to_numpy())


def _by_cell(rows: pd.DataFrame, figures: Mapping[str, np.ndarray], waits: np.ndarray) -> pd.DataFrame:
    """Sums of figures by CELL, and the waits of each, h; waits: of single jobs, NaN = none, or arrays of them."""
    cell, first = combinations(rows, CELL)
    order = np.argsort(cell, kind="stable")
    of_cells = np.split(waits[order], np.cumsum(np.bincount(cell, minlength=len(first)))[:-1]) if len(first) else []
    of_cells = [np.concatenate(each) if each.dtype == object else each[~np.isnan(each)] for each in of_cells]
    table = rows[CELL].take(first).assign(**{name: np.bincount(cell, value, len(first))
                                             for name, value in figures.items()})
    return table.assign(wait=pd.Series(of_cells, table.index, object))


def _class_of(jobs: pd.DataFrame, classes: pd.DataFrame) -> np.ndarray:
    """Class of the task of each job when it was activated; classes: changes."""
    activated = jobs.activated_s.to_numpy()
    found = np.where(np.isnan(activated), NOT_YET, NO_CLASS).astype(object)
    known = classes[np.isin(classes.jeditaskid, jobs.jeditaskid)] if len(classes) else classes
    if len(known):
        jobs = jobs.assign(row=np.arange(len(jobs)))[~np.isnan(activated)].sort_values("activated_s")
        merged = pd.merge_asof(jobs[["activated_s", "jeditaskid", "row"]], known.sort_values("time_s"), by="jeditaskid",
                               left_on="activated_s", right_on="time_s")
        merged = merged[merged.task_class.notna()]
        found[merged.row] = merged.task_class.astype(object)
    return found


def _in_window(run: Run, jobs: pd.DataFrame) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Contributions of each job to the SUMS of the window, and the time in activated of those that started in it, h."""
    window, activated = window_of(run), jobs.activated_s.to_numpy()
    begun, ended = jobs.running_s.to_numpy(), _ends(jobs, run.end_s)
    busy_s = np.clip(np.fmin(ended, window.end_s) - np.fmax(begun, window.start_s), 0, None)
    busy_s = np.where(np.isnan(begun), 0, busy_s)
    started = window.holds(begun)
    return ({"started": started, "waiting": np.isnan(begun) & ~np.isnan(activated) & (ended >= run.end_s),
             "core_s": busy_s * jobs.corecount.to_numpy(), "hs06s": busy_s * jobs.hs06_milli.to_numpy() / 1000},
            np.where(started, (begun - activated) / HOUR, np.nan))


def _figures(run: Run, jobs: pd.DataFrame, *by: str) -> pd.DataFrame:
    """The figures of groups of the rows of `_jobs`, indexed by the columns `by` in their order."""
    length_s, part = window_of(run).length_s or np.nan, part_of_jobs(run) or 1
    jobs = jobs[jobs[by[0]].notna()].sort_values(list(by), kind="stable")
    group, first = combinations(jobs, by)
    sums = {name: np.bincount(group, jobs[name], len(first)) / part for name in SUMS}
    borders, cells = np.searchsorted(group, np.arange(len(first) + 1)), jobs.wait.to_numpy()
    waits = [np.concatenate(cells[begin:end]) for begin, end in pairwise(borders.tolist())]
    p50, p95 = np.array([np.quantile(wait, [0.5, 0.95]) if len(wait) else [np.nan, np.nan]
                         for wait in waits]).reshape(-1, 2).T
    table = jobs[[*by]].take(first).assign(started=sums["started"], waiting=sums["waiting"], wait_p50=p50, wait_p95=p95,
                                           cores=sums["core_s"] / length_s, power=sums["hs06s"] / length_s)
    return table.set_index([*by])


def fairness(power: np.ndarray) -> dict[str, float]:
    """Jain's index of the power of users, and the part of it that the largest ten have; NaN without any.

    The index is 1 if all have the same, and 1 / n if one of n has all. Source: Jain, Chiu, Hawe, DEC-TR-301 (1984).
    """
    total, squares = power.sum(), (power ** 2).sum()
    if not total:
        return {"jain": np.nan, "largest_ten": np.nan}
    return {"jain": float(total ** 2 / (len(power) * squares)),
            "largest_ten": float(np.sort(power)[::-1][:10].sum() / total)}


def throttled_by(run: Run) -> pd.DataFrame:
    """Tasks of users that were throttled; a row per task: user, jeditaskid, hours, and what throttled it last."""
    tasks = _tasks(run)
    tasks = tasks[tasks.throttled > 0]
    return tasks[["user", "jeditaskid", "throttled", "throttled_by"]].reset_index(drop=True)


@once_per_run
def _tasks(run: Run) -> pd.DataFrame:
    """Analysis tasks with their time in throttled so far, h."""
    tasks = run.table("tasks", ["jeditaskid", "user", "label", "status", "throttled_s", "throttled_total_s",
                                "throttled_by"])
    tasks = tasks[tasks.label.isin(ANALYSIS_LABELS)].astype({"user": object, "throttled_by": object})
    now = np.where(tasks.status == THROTTLED, run.end_s - tasks.throttled_s, 0.0)
    return tasks.assign(throttled=(tasks.throttled_total_s + now) / HOUR)


def _ends(jobs: pd.DataFrame, end_s: float) -> np.ndarray:
    """When each attempt ended, s; the end of the run if it has not."""
    return np.fmin(np.fmin.reduce([jobs[name].to_numpy() for name in JOB_END_TIMES]), end_s)


CAP, CLASS, QUOTA, NO_DATA, PROBLEMS, NO_QUEUE, ATTEMPTS, MOVING, SCOUTS, TURN, INPUT, SLOTS, STOPPED = (
    "cap", "class", "quota", "no data", "problematic queues", "no queue", "failed attempts", "moving input", "scouts",
    "turn", "input", "slots", "stopped")
"""Causes for which work waits."""

CAUSE_OF_TAG = {
    **dict.fromkeys(("-cap_jobs", "-cap_queued_jobs", "-cap_cores", "-cap_queued_cores"), CAP),
    "-share_throttle": CLASS, **dict.fromkeys(("-global_quota", "-near_quota", "-local_quota"), QUOTA),
    **dict.fromkeys(("-incomplete", "-no_local_data", "-fileunavailable"), NO_DATA),
    **dict.fromkeys(("-badsite", "-tmp_user_problem", "-closed", "-overloaded", "-overloaded_vp", "-user_queue"),
                    PROBLEMS)}
"""Cause behind the tag of the rule that left a task without a candidate; that of all other rules is NO_QUEUE."""

OF_JOBS = {JobStatus.THROTTLED: CAP, JobStatus.ACTIVATED: SLOTS, JobStatus.STARTING: SLOTS, JobStatus.SENT: SLOTS,
           **dict.fromkeys((JobStatus.PENDING, JobStatus.DEFINED, JobStatus.WAITING, JobStatus.ASSIGNED), INPUT)}
"""Cause for which jobs of a status wait; jobs of other statuses do not."""
CAUSE_OF_STATUS = {status.word: cause for status, cause in OF_JOBS.items()}
OF_THROTTLED = {ThrottledBy.ATTEMPTS.word: ATTEMPTS, ThrottledBy.PRESTAGING.word: MOVING,
                ThrottledBy.TRANSFER.word: MOVING}
"""Cause for which tasks are throttled, by what throttles them; all others are CAP."""
SERVED = (TaskStatus.READY.word, TaskStatus.RUNNING.word, TaskStatus.REGISTERED.word, TaskStatus.DEFINED.word)
"""Statuses of tasks whose jobs are made when it is their turn."""
OVER = tuple(status.word for status in (*TASK_ENDS, TaskStatus.TOBROKEN, TaskStatus.ABORTING))
"""Statuses of tasks that make no more jobs."""
ENTERED = [f"{status.word}_s" for status in TaskStatus]


def tasks_of_users(run: Run, user: str | None = None) -> pd.DataFrame:
    """Analysis tasks, of all users or of one, names as text, and since when each has had its status, since_s."""
    tasks = run.table("tasks", ["jeditaskid", "name", "user", "working_group", "share", "label", "status", "n_jobs",
                                "n_finished", "n_failed", "arrival_s", "throttled_by", "errordialog", *ENTERED])
    tasks = tasks[tasks.label.isin(ANALYSIS_LABELS)]
    tasks = tasks.astype({name: object for name in tasks.select_dtypes("category")})
    tasks = tasks if user is None else tasks[tasks.user == user]
    entered = [row[f"{row['status']}_s"] for row in tasks.to_dict("records")]
    return tasks.assign(since_s=np.array(entered, float)).drop(columns=ENTERED).reset_index(drop=True)


def live_jobs(run: Run, tasks: Collection[int]) -> pd.DataFrame:
    """Attempts of some tasks that have not ended: jeditaskid, status, queue, n_chunks, and their status since, s."""
    entered = [f"{status.word}_s" for status in JobStatus]
    jobs = selected_jobs(run, ["jeditaskid", "status", "queue", "n_chunks", *entered],
                         lambda rows: rows.jeditaskid.isin(tasks) & rows[list(JOB_END_TIMES)].isna().all(axis=1))
    since = [row[f"{row['status']}_s"] for row in jobs.to_dict("records")]
    return jobs.assign(since_s=np.array(since, float)).drop(columns=entered)


def held_work(run: Run, tasks: pd.DataFrame, jobs: pd.DataFrame) -> pd.DataFrame:
    """Jobs that wait at the end, by task and cause, most first: jeditaskid, cause, rule, jobs, since_s and made.

    tasks, jobs: of `tasks_of_users` and `live_jobs`. made: whether the jobs exist; those that are not yet made count as
    pieces of input. since_s: when the first of the jobs came to wait, of those not yet made when the last ones of the
    task were made, or the task arrived. rule: label of the rule of the brokerage, or what throttles the task. If jobs
    are a sample, numbers are scaled up.
    """
    rows = [*_not_made(run, tasks, jobs), *_waiting(run, jobs)]
    table = pd.DataFrame(rows, columns=["jeditaskid", "cause", "rule", "jobs", "since_s", "made"])
    return table.sort_values(["jobs", "since_s"], ascending=[False, True], kind="stable", ignore_index=True)


def half_since(held: pd.DataFrame, jobs: pd.DataFrame) -> float:
    """Time since which half of the jobs that wait have done so, s, NaN if none does.

    held, jobs: of `held_work` and `live_jobs`.
    """
    not_made, waiting = held[~held.made.astype(bool)], jobs.since_s[jobs.status.isin(CAUSE_OF_STATUS)]
    scale = (held.jobs.sum() - not_made.jobs.sum()) / max(len(waiting), 1)
    since = np.concatenate([not_made.since_s, waiting])
    order, weight = np.argsort(since), np.concatenate([not_made.jobs, np.full(len(waiting), scale)])
    reached = np.cumsum(weight[order])
    return float(since[order][np.searchsorted(reached, reached[-1] / 2)]) if len(since) else np.nan


def _waiting(run: Run, jobs: pd.DataFrame) -> list[tuple]:
    """Jobs that exist and wait."""
    waiting = jobs[jobs.status.isin(CAUSE_OF_STATUS)]
    groups = waiting.groupby(["jeditaskid", waiting.status.map(CAUSE_OF_STATUS)]).since_s.agg(["size", "min"])
    part = part_of_jobs(run) or 1
    return [(task, cause, "", row["size"] / part, row["min"], True) for (task, cause), row in groups.iterrows()]


def _not_made(run: Run, tasks: pd.DataFrame, jobs: pd.DataFrame) -> list[tuple]:
    """Jobs that are not yet made."""
    alive = jobs.groupby("jeditaskid").n_chunks.sum() / (part_of_jobs(run) or 1)
    left = (tasks.n_jobs - tasks.n_finished - tasks.n_failed
            - tasks.jeditaskid.map(alive).fillna(0)).clip(lower=0).round()
    made = last_made(run, tasks.jeditaskid)
    rows = []
    for row in tasks.assign(left=left)[~tasks.status.isin(OVER)].itertuples():
        if row.left:
            rows.append((row.jeditaskid, *_cause(row), row.left, made.get(row.jeditaskid, row.arrival_s), False))
    return rows


def last_made(run: Run, tasks: Collection[int]) -> dict[int, float]:
    """When jobs of tasks were last made, s, by jeditaskid, as far as decisions are recorded."""
    made: dict[int, float] = {}
    for rows in run.batches("decisions", ["time_s", "jeditaskid", "n_jobs"]):
        rows = rows[(rows.n_jobs > 0) & rows.jeditaskid.isin(tasks)]
        made |= rows.groupby("jeditaskid").time_s.max().to_dict()
    return made


def _cause(task) -> tuple[str, str]:
    """Why no more jobs of a task are made, and the rule behind it."""
    if task.status == TaskStatus.THROTTLED.word:
        reason = task.throttled_by or ""
        return OF_THROTTLED.get(reason, CAP), reason
    if task.status == TaskStatus.PENDING.word:
        rule = task.errordialog if isinstance(task.errordialog, str) else ""
        return CAUSE_OF_TAG.get(rule.partition(" ")[0], NO_QUEUE), rule
    if task.status == TaskStatus.SCOUTING.word:
        return SCOUTS, ""
    return (TURN if task.status in SERVED else STOPPED), task.status


def places_of(run: Run, jobs: pd.DataFrame) -> pd.DataFrame:
    """Queues where jobs of `live_jobs` wait for a slot, most first.

    Columns: queue, waiting and running, of these jobs; of the whole queue at the last sample all_waiting, all_running
    and free_cores of its batch system, NaN without time series.
    """
    counted = jobs.assign(waiting=jobs.status == JobStatus.ACTIVATED.word,
                          running=jobs.status == JobStatus.RUNNING.word)
    table = counted.groupby("queue")[["waiting", "running"]].sum()
    table = (table[table.waiting > 0] / (part_of_jobs(run) or 1)).round().astype(int)
    table = table.join(_last_sample(run)).reset_index()
    return table.sort_values(["waiting", "queue"], ascending=[False, True], kind="stable", ignore_index=True)


def last_classes(run: Run, tasks: Collection[int]) -> dict[int, str]:
    """Class that each of some tasks had last, by jeditaskid."""
    classes: dict[int, str] = {}
    for rows in run.batches("task_classes"):
        rows = rows[rows.jeditaskid.isin(tasks) & rows.task_class.notna()]
        classes |= dict(zip(rows.jeditaskid, rows.task_class.astype(str), strict=True))
    return classes


def _last_sample(run: Run) -> pd.DataFrame:
    """Waiting and running jobs and free cores of each queue at the last sample."""
    last = None
    for rows in run.batches("queues", ["time_s", "queue", "activated", "running", "free_cores"]):
        rows = rows[rows.time_s == rows.time_s.max()]
        last = rows if len(rows) or last is None else last
    assert last is not None
    last = texts(last, "queue").drop_duplicates("queue", keep="last").set_index("queue")
    return last.rename(columns={"activated": "all_waiting", "running": "all_running"}).drop(columns="time_s")
