"""Checks of the tables of a run against each other: sums, times in order, and names that both sides know."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from simgrid_broker.names import JOB_ENDS, JobStatus, TaskStatus
from simgrid_broker.records import Run

MOST = 3
"""Rows that a message names."""
ENDS = [status.word for status in JOB_ENDS]
TIMES = [f"{status.word}_s" for status in JobStatus]


def faults(run: Run) -> list[str]:
    """A sentence for everything in which the tables of a run contradict each other, with the name of its check."""
    return [f"{check.__name__}: {fault}" for check in CHECKS for fault in check(run)]


def _rows(frame: pd.DataFrame, wrong: pd.Series, key: str) -> str:
    """Number of wrong rows, and the first of them."""
    return f"{int(wrong.sum())} of {len(frame)} rows, such as {key} {frame.loc[wrong, key].head(MOST).tolist()}"


def has_all_jobs(run: Run) -> bool:
    """True if every attempt has a row."""
    return float(run.manifest["scenario"]["record"]["jobs"]) == 1


def jobs_have_numbers(run: Run) -> Iterator[str]:
    """Every attempt that was made has one row."""
    ids, made = run.jobs.panda_id, run.manifest["counters"]["jobs_made"]
    if ids.duplicated().any():
        yield f"panda_id {ids[ids.duplicated()].head(MOST).tolist()} appear twice"
    if has_all_jobs(run) and len(ids) != made:
        yield f"{made} attempts were made, {len(ids)} have a row"


def job_times_are_in_order(run: Run) -> Iterator[str]:
    """Times lie in the run, the last is that of the status, and only the final status of an attempt has a time."""
    jobs = run.jobs
    times, status = jobs[TIMES], jobs.status.astype(str)
    wrong = (times.max(axis=1) > run.end_s + 1e-6) | (times.min(axis=1) < 0)
    if wrong.any():
        yield "times outside of the run: " + _rows(jobs, wrong, "panda_id")
    own = times.to_numpy()[np.arange(len(jobs)), [TIMES.index(f"{one}_s") for one in status]]
    wrong = pd.Series(~(own >= times.max(axis=1).to_numpy()), jobs.index)
    if wrong.any():
        yield "the status is not the last that was entered: " + _rows(jobs, wrong, "panda_id")
    for end in ENDS:
        wrong = times[f"{end}_s"].notna() != (status == end)
        if wrong.any():
            yield f"a time of {end} without the status, or the reverse: " + _rows(jobs, wrong, "panda_id")
    tasks = run.table("tasks", ["jeditaskid", "eventservice"])       # jumbo jobs may do all the work of another job
    by_others = jobs.jeditaskid.isin(tasks.jeditaskid[tasks.eventservice != 0]) & times.merging_s.notna()
    begun = (jobs.status.isin(["running", "finished"]) & ~by_others) | times.running_s.notna()
    wrong = begun & ~(jobs.pilot_start_s <= times.running_s)
    if wrong.any():
        yield "a payload that began without a pilot, or before it: " + _rows(jobs, wrong, "panda_id")


def jobs_belong_to_tasks(run: Run) -> Iterator[str]:
    """The task of each attempt has a row, and arrived before the attempt was made."""
    jobs = run.jobs[run.jobs.jeditaskid > 0]
    arrival = jobs.jeditaskid.map(run.tasks.set_index("jeditaskid").arrival_s)
    if arrival.isna().any():
        yield "no task: " + _rows(jobs, arrival.isna(), "panda_id")
    wrong = jobs[TIMES].min(axis=1) < arrival - 1e-6
    if wrong.any():
        yield "made before the task arrived: " + _rows(jobs, wrong, "panda_id")


def tasks_sum_their_jobs(run: Run) -> Iterator[str]:
    """Numbers and sums of a task are those of its attempts."""
    tasks = run.tasks.set_index("jeditaskid", drop=False)
    wrong = tasks.n_finished + tasks.n_failed > tasks.n_jobs
    if wrong.any():
        yield "more input is done than there is: " + _rows(tasks, wrong, "jeditaskid")
    if not has_all_jobs(run):
        return
    jobs = run.jobs[run.jobs.jeditaskid > 0]
    ended = jobs[jobs.status.isin(ENDS)]
    sums = {"n_attempts": jobs.groupby("jeditaskid").size(),
            "failed_attempts": ended[ended.status == "failed"].groupby("jeditaskid").size()}
    for name, expected in sums.items():
        wrong = tasks[name] != expected.reindex(tasks.index).fillna(0)
        if wrong.any():
            yield f"{name} is not that of the attempts: " + _rows(tasks, wrong, "jeditaskid")
    done = ended[ended.status == "finished"].set_index("jeditaskid").n_chunks.clip(lower=0)     # consumers have -1
    done = done.groupby(level=0).sum().reindex(tasks.index).fillna(0)
    wrong = tasks.n_finished > done
    if wrong.any():
        yield "n_finished exceeds the input of finished attempts: " + _rows(tasks, wrong, "jeditaskid")


def task_times_are_in_order(run: Run) -> Iterator[str]:
    """Times of a task lie between its arrival and the end of the run, and the status is the last that was entered."""
    tasks = run.tasks
    if not len(tasks):
        return
    names = [f"{status.word}_s" for status in TaskStatus]
    times = tasks[names]
    wrong = (times.min(axis=1) < tasks.arrival_s - 1e-6) | (times.max(axis=1) > run.end_s + 1e-6)
    if wrong.any():
        yield "times before the arrival, or after the end: " + _rows(tasks, wrong, "jeditaskid")
    own = times.to_numpy()[np.arange(len(tasks)), [names.index(f"{one}_s") for one in tasks.status.astype(str)]]
    wrong = pd.Series(~(own >= times.max(axis=1).to_numpy()), tasks.index)
    if wrong.any():
        yield "the status is not the last that was entered: " + _rows(tasks, wrong, "jeditaskid")


def last_samples_count_jobs(run: Run) -> Iterator[str]:
    """The last sample of shares and of queues counts the attempts that are alive at the end."""
    if not run.manifest["scenario"]["record"]["series"] or not has_all_jobs(run):
        return
    alive = run.jobs[~run.jobs.status.isin(ENDS)]
    for name in ("shares", "queues"):
        table, key = getattr(run, name), name[:-1]
        last = table[table.time_s == table.time_s.max()]
        for status in ("running", "activated", "assigned", "transferring"):
            counted = last.groupby(key, observed=True)[status].sum()
            there = alive[alive.status == status].groupby(key, observed=True).size()
            yield from _different(f"{status} jobs by {key} at the end", counted, there)
        cores = alive[alive.status == "running"].groupby(key, observed=True).corecount.sum()
        sampled = last.groupby(key, observed=True).running_cores.sum()
        yield from _different(f"running cores by {key} at the end", sampled, cores)


def _different(what: str, one: pd.Series, other: pd.Series) -> Iterator[str]:
    both = pd.DataFrame({"sample": one, "jobs": other}).fillna(0)
    wrong = both[both["sample"] != both["jobs"]]
    if len(wrong):
        yield f"{what}: {wrong.head(MOST).T.to_dict()}"


def shares_and_queues_agree(run: Run) -> Iterator[str]:
    """At each sample shares and queues count the same jobs and cores."""
    if not run.manifest["scenario"]["record"]["series"]:
        return
    names = ["running", "running_cores", "activated", "assigned", "transferring"]
    one, other = (table.groupby("time_s")[names].sum() for table in (run.shares, run.queues))
    both = (one - other).fillna(0)
    for name in names:
        if both[name].any():
            yield f"{name} at {both.index[both[name] != 0][:MOST].tolist()}"
    negative = (run.queues[[*names, "free_cores", "workers_submitted", "workers_running"]] < 0).any()
    if negative.any():
        yield f"negative numbers of queues: {negative.index[negative].tolist()}"


def transfers_have_ends(run: Run) -> Iterator[str]:
    """Files move from one site to another, in order of time, for a task that is there.

    A transfer ends before a byte of it has moved only if all its files are given up: their source was lost.
    """
    moved = run.transfers
    wrong = moved.source.isna() | moved.destination.isna() | (moved.source.astype(str) == moved.destination.astype(str))
    if wrong.any():
        yield "no source, or the same as the target: " + _rows(moved, wrong, "transfer_id")
    wrong = (moved.started_s < moved.submitted_s) | (moved.ended_s < moved.started_s) | (
        moved.ended_s.notna() & moved.started_s.isna() & (moved.n_files > 0)) | (moved.ended_s > run.end_s + 1e-6)
    if wrong.any():
        yield "times out of order: " + _rows(moved, wrong, "transfer_id")
    wrong = ~(moved.bytes >= 0) | (moved.n_files < 0)
    if wrong.any():
        yield "bytes or files below 0: " + _rows(moved, wrong, "transfer_id")
    wrong = (moved.jeditaskid > 0) & ~moved.jeditaskid.isin(run.tasks.jeditaskid)
    if wrong.any():
        yield "no task: " + _rows(moved, wrong, "transfer_id")


def links_carry_transfers(run: Run) -> Iterator[str]:
    """The bytes that a link delivered are at least those of its transfers that ended, and no more than of all."""
    said = run.manifest["scenario"]["record"]
    if not (said["series"] and said["transfers"]):
        return
    pair = ["source", "destination"]
    moved = run.transfers
    carried = run.links.groupby(pair, observed=True).bytes.sum()
    of_files = moved[moved.kind != "reading"]
    least = of_files[of_files.ended_s.notna()].groupby(pair, observed=True).bytes.sum()
    most = moved.groupby(pair, observed=True).bytes.sum()
    both = pd.DataFrame({"carried": carried, "least": least, "most": most}).fillna(0)
    slack = 1e-6 * both.most + 1
    wrong = (both.carried > both.most + slack) | (both.carried < both.least - slack)
    if wrong.any():
        yield f"{both[wrong].head(MOST).T.to_dict()}"


def storages_add_up(run: Run) -> Iterator[str]:
    """Free and expired space is neither negative nor more than there is; free space changes by what is written."""
    space = run.storages
    if not len(space):
        return
    slack = 1e-9 * space.total_bytes + 1
    wrong = (space.free_bytes < -slack) | (space.expired_bytes < -slack) | (
        space.free_bytes + space.expired_bytes > space.total_bytes + slack)
    if wrong.any():
        yield "free or expired space out of range: " + _rows(space, wrong, "storage")
    start = {name: one["free"] for name, one in run.manifest["scenario"]["grid"]["storages"].items()}
    first = space.storage.astype(str).map(start)
    wrong = (space.free_bytes - (first - space.written_bytes + space.deleted_bytes)).abs() > slack
    if wrong.any():
        yield "free space is not what was written and deleted: " + _rows(space, wrong, "storage")


def requests_are_in_order(run: Run) -> Iterator[str]:
    """Requests to stage are made, started, mounted, read and finished in this order, and read no more than there is."""
    asked = run.staging
    order = asked[["requested_s", "started_s", "mounting_s", "read_s", "finished_s"]]
    known = order.ffill(axis=1)
    wrong = (known.diff(axis=1) < -1e-6).any(axis=1) | (asked.read_bytes > asked.bytes * (1 + 1e-9) + 1) | (
        asked.staged_files > asked.total_files)
    if wrong.any():
        yield _rows(asked, wrong, "request")


def decisions_keep_candidates(run: Run) -> Iterator[str]:
    """A decision keeps no more candidates than there are, and places jobs only where it keeps some."""
    made = run.decisions
    wrong = (made.n_kept > made.n_candidates) | (made.n_jobs > 0) & (made.n_kept == 0)
    if wrong.any():
        yield _rows(made, wrong, "jeditaskid")


CHECKS: tuple[Callable[[Run], Iterator[str]], ...] = (
    jobs_have_numbers, job_times_are_in_order, jobs_belong_to_tasks, tasks_sum_their_jobs, task_times_are_in_order,
    last_samples_count_jobs, shares_and_queues_agree, transfers_have_ends, links_carry_transfers, storages_add_up,
    requests_are_in_order, decisions_keep_candidates)
"""Every check; each yields a sentence for everything that is wrong."""
