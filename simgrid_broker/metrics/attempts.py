"""Outcomes of attempts: failures and their cost, moves from queue to queue, retries, those with more memory."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.window import (
    RUN_TIMES,
    Pass,
    Window,
    end_times,
    ended_in,
    made_of_jobs,
    once_per_run,
    part_of_jobs,
    run_times,
    selected_jobs,
    selection,
    sums,
    texts,
    tidy,
    window_of,
)
from simgrid_broker.names import COMPENSATION, RAM_LIMITS_MB, Cause
from simgrid_broker.records import JOB_END_TIMES, Run
from simgrid_broker.units import HOUR

NOWHERE = "(no attempt yet)"
"""Destination of jobs whose input had no further attempt in the run."""
LOST = ("failed", "closed", "cancelled")
"""Final statuses of an attempt that did not finish."""
SILENT = "lost_heartbeat"
"""Cause of a job whose slot was lost before the server noticed."""
UNITS = {"jobs": "jobs", "lost_core_hours": "core h", "lost_wait_hours": "h"}
RULES = (SILENT, "fast_rebrokerage", "analysis_rebrokerage", "reassigned",
         *(cause for cause in Cause.words() if cause.startswith("timeout_")))
"""Causes of jobs that a rule of the server ended for lack of progress."""
OUT_OF_MEMORY = "memory_exceeded"
"""Cause of a job that was killed because it exceeded its memory."""
WORDS = np.array([*(f"up to {limit} MB" for limit in RAM_LIMITS_MB), "more"], object)
"""Memory up to the values of the retry module's list, and above the largest."""
KILLED_JOBS = selection(["jeditaskid"], lambda rows, window: (rows.cause == OUT_OF_MEMORY) & window.holds(
    end_times(rows)), "cause", *JOB_END_TIMES)
"""Attempts of these that ran out of memory."""
CLOSED_JOBS = selection(["panda_id", "queue", "cause"], lambda rows, window: (rows.status == "closed") & window.holds(
    rows.closed_s), "status", "closed_s")
"""Attempts that the server closed in the window."""
MEMORY_UNITS = {"jobs": "jobs", "finished": "jobs", "out_of_memory": "jobs", "lost_core_hours": "core h"}


def _numbers_by_outcome(rows: pd.DataFrame, window: Window) -> pd.DataFrame:
    """Numbers of the attempts of a batch that ended in the window, by number and outcome."""
    ended = rows.loc[window.holds(end_times(rows)), ["attempt", "status", "cause"]]
    outcome = ended.cause.cat.add_categories("finished").mask(ended.status == "finished", "finished")
    return sums(ended.assign(outcome=outcome, jobs=1), ["attempt", "outcome"], "jobs")


OUTCOMES = Pass(("attempt", "status", "cause", *JOB_END_TIMES), _numbers_by_outcome)
"""The pass of `attempts`."""


def attempts(run: Run) -> pd.DataFrame:
    """Attempts that ended in the window; dimensions attempt (number) and outcome (finished, or the cause)."""
    window = window_of(run)
    if part_of_jobs(run) < 1:
        ended = ended_in(run, window)
        ended["outcome"] = np.where(ended.status == "finished", "finished", ended.cause)
        table = sums(ended, ["attempt", "outcome"], "jobs")
        return tidy(table, ["attempt", "outcome"], {"jobs": "jobs"}, window)
    table = sums(pd.concat(made_of_jobs(run, OUTCOMES)), ["attempt", "outcome"], "jobs")
    return tidy(table, ["attempt", "outcome"], {"jobs": "jobs"}, window)


def rebrokerage(run: Run) -> pd.DataFrame:
    """Queue of the next attempt at the input of jobs that the server closed in the window.

    Dimensions source and destination (queues; NOWHERE without a next attempt) and cause; metric moves, jobs, largest
    first: of those that have a row.
    """
    closed = pd.concat(made_of_jobs(run, CLOSED_JOBS), ignore_index=True)
    successors = selected_jobs(run, ["old_panda_id", "queue"], lambda rows: rows.old_panda_id.isin(closed.panda_id))
    next_queue = pd.Series(successors.queue.to_numpy(object), successors.old_panda_id)
    destination = closed.panda_id.map(next_queue[~next_queue.index.duplicated()]).astype(object).fillna(NOWHERE)
    table = closed[["cause"]].assign(source=closed.queue, destination=destination.to_numpy(object), moves=1)
    table = sums(table, ["source", "destination", "cause"], "moves")
    table = table.sort_values(["moves", "source", "destination", "cause"], ascending=[False, True, True, True])
    return tidy(table, ["source", "destination", "cause"], {"moves": "jobs"}, window_of(run))


@once_per_run
def failures(run: Run) -> pd.DataFrame:
    """Attempts that ended in the window without finishing; dimensions status and cause, most frequent first.

    Metrics: jobs; lost_core_hours: run time x cores, for a job with lost heartbeat up to the last heartbeat;
    lost_wait_hours: from creation until the start of the payload, or until the end of a job that never started.
    """
    window = window_of(run)
    if part_of_jobs(run) < 1:
        ended = ended_in(run, window)
        ended = ended[ended.status.isin(LOST)].assign(lost_core_hours=ended.run_core_s / HOUR,
                                                      lost_wait_hours=ended.wait_s / HOUR)
        return _by_cause(ended, window)
    return _by_cause(_lost_jobs(run), window)


@once_per_run
def failures_by_queue(run: Run) -> pd.DataFrame:
    """Core hours lost in the window by status, cause and queue, largest first: of the attempts that have a row.

    Dimensions status, cause and queue; metric lost_core_hours, as in `failures`.
    """
    table = sums(_lost_jobs(run), ["status", "cause", "queue"], "lost_core_hours")
    table = table.sort_values(["lost_core_hours", "queue"], ascending=[False, True])
    return tidy(table, ["status", "cause", "queue"], {"lost_core_hours": UNITS["lost_core_hours"]}, window_of(run))


@once_per_run
def _lost_jobs(run: Run) -> pd.DataFrame:
    """Attempts that ended in the window without finishing, a row each, with what they cost."""
    return pd.concat(made_of_jobs(run, LOST_JOBS), ignore_index=True)


def _lost(rows: pd.DataFrame, window: Window) -> pd.DataFrame:
    """`_lost_jobs` of a batch."""
    jobs = texts(rows[rows.status.isin(LOST) & window.holds(end_times(rows))], "status", "cause", "queue")
    ran = np.where(jobs.cause == SILENT, jobs.walltime_s, run_times(jobs))
    waited = np.where(np.isnan(jobs.running_s), end_times(jobs), jobs.running_s) - jobs.pending_s
    return pd.DataFrame({
        "status": jobs.status, "cause": jobs.cause, "queue": jobs.queue, "jobs": 1,
        "lost_core_hours": np.nan_to_num(ran) * jobs.corecount / HOUR,                      # NaN = never ran
        "lost_wait_hours": np.nan_to_num(waited) / HOUR})


LOST_JOBS = Pass(("status", "cause", "queue", "corecount", "walltime_s", "pending_s", *RUN_TIMES), _lost)
"""The pass of attempts that ended in the window without finishing."""


def _by_cause(lost: pd.DataFrame, window: Window) -> pd.DataFrame:
    table = sums(lost, ["status", "cause"], *UNITS)
    table = table.sort_values(["jobs", "cause"], ascending=[False, True])
    return tidy(table, ["status", "cause"], UNITS, window)


def ended_by_rules(run: Run, task: int) -> pd.DataFrame:
    """Recorded attempts of a task that a timeout rule or a rebrokerage ended: status, cause and jobs, most first."""
    jobs = selected_jobs(run, ["jeditaskid", "status", "cause"],
                         lambda rows: (rows.jeditaskid == task) & rows.cause.isin(RULES) & rows.status.isin(LOST))
    table = jobs.astype({"status": str, "cause": str}).groupby(["status", "cause"]).size().rename("jobs").reset_index()
    return table.sort_values(["jobs", "status", "cause"], ascending=[False, True, True], ignore_index=True)


def rule_losses(run: Run) -> pd.DataFrame:
    """The rows of `failures` caused by a timeout rule or a rebrokerage."""
    table = failures(run)
    return table[table.cause.isin(RULES)].reset_index(drop=True)


def retry_history(run: Run) -> pd.DataFrame:
    """Each job that retries the input of an earlier one, as in PanDA's table JEDI_Job_Retry_History.

    Columns jeditaskid, oldpandaid, newpandaid, relationtype and originpandaid (the first job of the chain), sorted by
    newpandaid. Source: JEDI TWiki, database design.
    """
    jobs = selected_jobs(run, ["jeditaskid", "panda_id", "old_panda_id"], lambda rows: rows.old_panda_id > 0)
    jobs = jobs.sort_values("panda_id", ignore_index=True)
    old_of = pd.Series(jobs.old_panda_id.to_numpy(), jobs.panda_id)
    origin = jobs.old_panda_id
    while (earlier := origin.map(old_of)).notna().any():
        origin = earlier.fillna(origin).astype(np.int64)
    return pd.DataFrame({"jeditaskid": jobs.jeditaskid, "oldpandaid": jobs.old_panda_id, "newpandaid": jobs.panda_id,
                         "relationtype": "retry", "originpandaid": origin})


@once_per_run
def memory_retries(run: Run) -> pd.DataFrame:
    """Jobs that ended in the window, of tasks with a job that ran out of memory; dimensions attempt and memory.

    memory: the job's claim per core, as the next value of the retry module's list, MB. Metrics: jobs, finished,
    out_of_memory, and lost_core_hours of the jobs out of memory.
    """
    window = window_of(run)
    killed = pd.concat(made_of_jobs(run, KILLED_JOBS), ignore_index=True)
    if not len(killed):
        return tidy(pd.DataFrame(columns=["attempt", "memory", *MEMORY_UNITS]), ["attempt", "memory"], MEMORY_UNITS,
                    window)
    tasks = killed.jeditaskid.unique()
    columns = ["jeditaskid", "attempt", "corecount", "ramcount_mb", "status", "cause", "walltime_s", *JOB_END_TIMES]
    claims = pd.concat([_by_claim(rows[rows.jeditaskid.isin(tasks) & window.holds(end_times(rows))])
                        for rows in run.batches("jobs", columns)])
    table = sums(claims, ["attempt", "limit"], *MEMORY_UNITS)
    return tidy(table.assign(memory=WORDS[table.limit]), ["attempt", "memory"], MEMORY_UNITS, window)


def _by_claim(jobs: pd.DataFrame) -> pd.DataFrame:
    """Sums of the metrics of `memory_retries` over jobs, by attempt and limit: number of the smallest value of the
    retry module's list that covers the memory claim per core."""
    out = (jobs.cause == OUT_OF_MEMORY).to_numpy()
    claims = np.round(jobs.ramcount_mb.to_numpy() / COMPENSATION / np.maximum(jobs.corecount.to_numpy(), 1))
    table = pd.DataFrame({"attempt": jobs.attempt, "limit": np.searchsorted(RAM_LIMITS_MB, claims), "jobs": 1,
                          "finished": (jobs.status == "finished").to_numpy(), "out_of_memory": out,
                          "lost_core_hours": np.where(out, jobs.walltime_s * jobs.corecount / HOUR, 0.0)})
    return sums(table, ["attempt", "limit"], *MEMORY_UNITS)
