"""Jobs of users that wait at the end of a run, by task, cause and place."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from simgrid_broker.metrics.window import part_of_jobs, selected_jobs
from simgrid_broker.names import ANALYSIS_LABELS, TASK_ENDS, JobStatus, TaskStatus, ThrottledBy
from simgrid_broker.records import JOB_END_TIMES, Run

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
    last = last.astype({"queue": object}).drop_duplicates("queue", keep="last").set_index("queue")
    return last.rename(columns={"activated": "all_waiting", "running": "all_running"}).drop(columns="time_s")
