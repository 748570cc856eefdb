"""Figures of a run: tables from disk in, tidy tables out.

What lives here: pure functions of `records.Run`. Each gives a DataFrame in long form: its dimensions, then `metric`,
`value`, `unit` and `window` (the stretch of time that the value stands for). What does not: drawing (report).
"""

from simgrid_broker.metrics.attempts import NOWHERE, attempts, rebrokerage
from simgrid_broker.metrics.compare import comparison, difference
from simgrid_broker.metrics.failures import failures
from simgrid_broker.metrics.refusals import decisions, refusals
from simgrid_broker.metrics.shares import NEAR, share_compliance, share_deviation, share_series
from simgrid_broker.metrics.summary import jobs_by_status, summary
from simgrid_broker.metrics.tasks import task_turnaround, tasks_by_status
from simgrid_broker.metrics.tidy import tidy, wide
from simgrid_broker.metrics.traffic import (
    link_use,
    storage_series,
    storage_use,
    traffic_series,
    transfer_summary,
)
from simgrid_broker.metrics.usage import STATES, core_capacity, jobs_over_time, running_cores, throughput
from simgrid_broker.metrics.waiting import waiting_times
from simgrid_broker.metrics.window import Window, window_of

__all__ = ["NEAR", "STATES", "Window", "comparison", "core_capacity", "decisions", "difference", "failures",
           "jobs_by_status", "jobs_over_time", "link_use", "refusals", "running_cores", "share_compliance",
           "share_deviation", "share_series", "storage_series", "storage_use", "summary", "task_turnaround",
           "tasks_by_status", "throughput", "tidy", "traffic_series", "transfer_summary", "waiting_times", "wide",
           "window_of"]
