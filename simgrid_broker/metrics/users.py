"""Users with analysis tasks: their jobs and cores, how long they wait and are throttled, and how fair that is."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import once_per_run, part_of_jobs, selected_jobs, window_of
from simgrid_broker.names import ANALYSIS_LABELS, SiteClass, TaskClass, TaskStatus
from simgrid_broker.records import JOB_END_TIMES, Run
from simgrid_broker.units import HOUR

THROTTLED = TaskStatus.THROTTLED.word
FIGURES = {"tasks": "tasks", "started": "jobs", "waiting": "jobs", "cores": "cores", "power": "HS06", "wait_p50": "h",
           "wait_p95": "h", "throttled": "h"}
"""Figures of a user with their units."""
SIZES = (("largest 10", 0, 10), ("next 40", 10, 50), ("others", 50, None))
"""Classes of users by the power that they used: name, and ranks from and to."""
NO_CLASS = "none"
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
    of_tasks = tasks.groupby("user").agg(tasks=("throttled", "size"), throttled=("throttled", "sum"))
    table = of_tasks.join(_figures(run, _jobs(run, tasks), "user"), how="left")
    table = table.fillna({"started": 0, "waiting": 0, "cores": 0, "power": 0}).reset_index()
    table = table.sort_values(["cores", "user"], ascending=[False, True], kind="stable")
    return tidy(table[["user", *FIGURES]], ["user"], FIGURES, window_of(run))


def users_by_size(run: Run) -> pd.DataFrame:
    """Users by the cores that they had: the ten largest, the next forty, and the others; dimension size.

    Metrics: users; started, waiting, cores, power, wait_p50 and wait_p95 as of `users`, over the jobs of all of them.
    """
    ranked = users(run).user.drop_duplicates().tolist()
    size_of = {user: name for name, first, last in SIZES for user in ranked[first:last]}
    jobs = _jobs(run, _tasks(run))
    table = _figures(run, jobs.assign(size=jobs.user.map(size_of)), "size")
    table.insert(0, "users", pd.Series(size_of).value_counts().reindex(table.index))
    table = table.reindex([name for name, *_ in SIZES if name in table.index]).reset_index(names="size")
    units = {"users": "users", **{name: unit for name, unit in FIGURES.items() if name in table}}
    return tidy(table, ["size"], units, window_of(run))


def user_cores(run: Run) -> pd.DataFrame:
    """Mean cores of each user in each share over the window; dimensions user and share."""
    table = _figures(run, _jobs(run, _tasks(run)), ["user", "share"])
    return tidy(table[["cores"]].reset_index(), ["user", "share"], {"cores": "cores"}, window_of(run))


def users_by_class(run: Run) -> pd.DataFrame:
    """Jobs by the class that their task had when they were activated; dimension task_class, S first.

    Metrics: started, waiting, cores, power, wait_p50 and wait_p95 as of `users`; jobs of tasks that had no class count
    as "none". Empty for a run without classes.
    """
    table = pd.DataFrame(columns=["task_class", *(name for name in FIGURES if name not in ("tasks", "throttled"))])
    classes = run.table("task_classes")
    if len(classes):
        jobs = _jobs(run, _tasks(run))
        jobs = jobs[jobs.activated_s.notna()].sort_values("activated_s")
        in_class = pd.merge_asof(jobs, classes.sort_values("time_s"), left_on="activated_s", right_on="time_s",
                                 by="jeditaskid")
        in_class["task_class"] = in_class.task_class.astype(object).fillna(NO_CLASS)
        table = _figures(run, in_class, "task_class").reindex(
            [name for name in CLASSES if name in set(in_class.task_class)]).reset_index()
    return tidy(table, ["task_class"], {name: FIGURES[name] for name in table.columns[1:]}, window_of(run))


def site_class_series(run: Run) -> pd.DataFrame:
    """PanDA queues of each class at each sample: time_s, site_class, value; empty if all are of class mid always."""
    rows = run.table("queues", ["time_s", "site_class"]).astype({"site_class": object})
    if set(rows.site_class.dropna()) <= {SiteClass.MID.word}:
        return pd.DataFrame(columns=["time_s", "site_class", "value"])
    return rows.groupby(["time_s", "site_class"]).size().rename("value").reset_index()


def throttled_time(run: Run) -> pd.DataFrame:
    """Tasks of users that were throttled, by what throttled them last; dimension throttled_by, metrics tasks, hours."""
    held = throttled_by(run).groupby("throttled_by").throttled.agg(tasks="size", hours="sum").reset_index()
    return tidy(held, ["throttled_by"], {"tasks": "tasks", "hours": "h"}, window_of(run))


def moved_input(run: Run) -> pd.DataFrame:
    """Input that jobs of users fetched from other sites, which is what the second loop of brokerage allows.

    Dimensions source_site and queue; metrics jobs, that were activated in the window, and bytes; most bytes first. If
    jobs are a sample, both are scaled up.
    """
    window, tasks = window_of(run), set(_tasks(run).jeditaskid)
    jobs = selected_jobs(run, ["jeditaskid", "queue", "source_site", "missing_bytes", "activated_s"],
                         lambda rows: ((rows.missing_bytes > 0) & rows.jeditaskid.isin(tasks)
                                       & window.holds(rows.activated_s)))
    table = jobs.groupby(["source_site", "queue"]).missing_bytes.agg(jobs="size", bytes="sum").reset_index()
    table[["jobs", "bytes"]] = table[["jobs", "bytes"]].astype(float) / (part_of_jobs(run) or 1)
    table = table.sort_values("bytes", ascending=False, kind="stable")
    return tidy(table, ["source_site", "queue"], {"jobs": "jobs", "bytes": "bytes"}, window)


def _jobs(run: Run, tasks: pd.DataFrame) -> pd.DataFrame:
    """Attempts of some tasks: user, share, and as numbers of the window: started, waiting, core s, wait in h."""
    window = window_of(run)
    jobs = run.table("jobs", ["user", "share", "corecount", "hs06_milli", "activated_s", "running_s", *JOB_END_TIMES,
                              "jeditaskid"])
    jobs = jobs[jobs.jeditaskid.isin(tasks.jeditaskid)].astype({"user": object, "share": object})
    begun, ended = jobs.running_s.to_numpy(), _ends(jobs, run.end_s)
    busy_s = np.clip(np.fmin(ended, window.end_s) - np.fmax(begun, window.start_s), 0, None)
    started = window.holds(begun)
    waiting = np.isnan(begun) & jobs.activated_s.notna().to_numpy() & (ended >= run.end_s)
    busy_s = np.where(np.isnan(begun), 0, busy_s)
    return pd.DataFrame({"jeditaskid": jobs.jeditaskid.to_numpy(), "user": jobs.user.to_numpy(),
                         "share": jobs.share.to_numpy(), "activated_s": jobs.activated_s.to_numpy(),
                         "started": started, "waiting": waiting, "core_s": busy_s * jobs.corecount.to_numpy(),
                         "hs06s": busy_s * jobs.hs06_milli.to_numpy() / 1000,
                         "wait": np.where(started, (begun - jobs.activated_s) / HOUR, np.nan)})


def _figures(run: Run, jobs: pd.DataFrame, by: str | list[str]) -> pd.DataFrame:
    """The figures of groups of attempts, indexed by group."""
    window, groups = window_of(run), jobs.groupby(by)
    sums = groups[["started", "waiting", "core_s", "hs06s"]].sum().astype(float) / (part_of_jobs(run) or 1)
    length_s = window.end_s - window.start_s
    return pd.DataFrame({"started": sums.started, "waiting": sums.waiting, "cores": sums.core_s / length_s,
                         "power": sums.hs06s / length_s, "wait_p50": groups.wait.median(),
                         "wait_p95": groups.wait.quantile(0.95)})


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
