"""Event service: ranges that its jobs processed and gave back, and wall time kept where slots are taken away."""

import pandas as pd

from simgrid_broker.metrics.window import selected_jobs
from simgrid_broker.names import JOB_ENDS
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

SUMS = ["jobs", "ranges", "events", "released", "walltime_s", "kept_s"]
TAKES_SLOTS = ("eviction_rate", "slot_life", "window")
"""Keys of a queue by which its batch system takes slots away with their payload."""


def event_service_ends(run: Run, task: int | None = None) -> pd.DataFrame:
    """Jobs of event service that ended in the run, or those of a task: kind, status, sub_status ("" = none), sums."""
    if "event_service" not in run.tables:
        return pd.DataFrame(columns=["kind", "status", "sub_status", *SUMS])
    rows = run.table("event_service")
    rows = rows if task is None else rows[rows.jeditaskid == task]
    rows = rows.assign(**{name: rows[name].astype(object).fillna("") for name in ("kind", "status", "sub_status")})
    return rows.groupby(["kind", "status", "sub_status"], sort=True)[SUMS].sum().reset_index()


def kept_where_slots_end(run: Run) -> pd.DataFrame:
    """Wall time kept at queues that take slots away: queue, work, jobs, wall time, of this kept, h, and its part, %.

    work: `ordinary` jobs, of the recorded ones, which keep the wall time of those that finished; or `event service`,
    which keeps that of the events that were processed. All of the run.
    """
    queues = run.manifest["scenario"]["grid"]["queues"]
    takers = [name for name, queue in queues.items() if any(queue.get(key) for key in TAKES_SLOTS)]
    columns = ["queue", "work", "jobs", "walltime_h", "kept_h", "kept"]
    if not takers:
        return pd.DataFrame(columns=columns)
    tasks = run.table("tasks", ["jeditaskid", "eventservice"])
    of_events = tasks.jeditaskid[tasks.eventservice != 0]
    jobs = selected_jobs(run, ["queue", "jeditaskid", "status", "walltime_s"],
                         lambda rows: rows.queue.isin(takers) & ~rows.jeditaskid.isin(of_events))
    jobs = jobs[(jobs.walltime_s > 0) & jobs.status.isin([end.word for end in JOB_ENDS])]
    jobs = jobs.assign(work="ordinary", jobs=1)
    jobs["kept_s"] = jobs.walltime_s.where(jobs.status == "finished", 0.0)
    frames = [jobs]
    if "event_service" in run.tables:
        rows = run.table("event_service")
        frames.append(rows[rows.queue.isin(takers) & (rows.kind != "merge")].assign(work="event service"))
    sums = ["jobs", "walltime_s", "kept_s"]
    table = pd.concat([frame[["queue", "work", *sums]].astype({"queue": str}) for frame in frames])
    table = table.groupby(["queue", "work"])[sums].sum().reset_index()
    return table.assign(walltime_h=table.walltime_s / HOUR, kept_h=table.kept_s / HOUR,
                        kept=100 * table.kept_s / table.walltime_s)[columns]
