"""Figures of a run, as DataFrames in long form: dimensions, then `metric`, `value`, `unit` and `window`.

Each function of a run takes its folder as well.
"""

import inspect

from simgrid_broker.metrics.attempts import (
    NOWHERE,
    OUT_OF_MEMORY,
    RULES,
    attempts,
    ended_by_rules,
    failures,
    failures_by_queue,
    memory_retries,
    rebrokerage,
    retry_history,
    rule_losses,
)
from simgrid_broker.metrics.chain import Cause, Why, why
from simgrid_broker.metrics.coverage import agents_used, ends_used, factors_used, incidents_used, rules_used
from simgrid_broker.metrics.event_service import event_service_ends, kept_where_slots_end
from simgrid_broker.metrics.job_life import job_life, task_life
from simgrid_broker.metrics.refusals import (
    ABOUT_QUEUES,
    JOB_BROKERAGE,
    brokerage_funnel,
    by_rule,
    cores_lost,
    criteria,
    decisions,
    explain,
    factors,
    funnels,
    queue_of,
    reach,
    reach_recorded,
    reasons,
    refusal_counts,
    refusal_rates,
    refusals,
    refusals_by_tag,
    refusals_over_time,
    stretches,
    with_labels,
)
from simgrid_broker.metrics.replay import (
    first_differences,
    recorded_statuses,
    recorded_waits,
    recorded_walltimes,
    replayed_walltimes,
    submission_waits,
    walltime_errors,
)
from simgrid_broker.metrics.shares import NEAR, share_compliance, share_cores, share_deviation, share_series
from simgrid_broker.metrics.summary import (
    STATES,
    comparison,
    core_capacity,
    difference,
    drift,
    drifting,
    jobs_by_status,
    jobs_over_time,
    mean_cores,
    running_cores,
    summary,
    throttled_hours,
    throughput,
    totals_over_time,
    workers,
)
from simgrid_broker.metrics.tasks import FINAL as FINAL_TASK
from simgrid_broker.metrics.tasks import (
    cut_jobs,
    phase_of,
    stopped_tasks,
    task_phases,
    task_turnaround,
    tasks_by_status,
    tasks_without_place,
    time_in_phase,
    unplaced_tasks,
)
from simgrid_broker.metrics.traffic import (
    data_waits,
    direct_reading,
    door_series,
    door_use,
    doors_of,
    drives_series,
    link_series,
    link_use,
    link_waits,
    site_matrix,
    site_traffic,
    staging_series,
    staging_summary,
    storage_levels,
    storage_series,
    storage_use,
    traffic_series,
    traffic_summary,
    transfer_summary,
)
from simgrid_broker.metrics.users import (
    fairness,
    half_since,
    held_work,
    last_classes,
    live_jobs,
    moved_input,
    places_of,
    site_class_series,
    tasks_of_users,
    throttled_by,
    throttled_time,
    user_cores,
    users,
    users_by_class,
    users_by_size,
)
from simgrid_broker.metrics.waiting import first_jobs, waiting_times, waits_for_data
from simgrid_broker.metrics.window import Window, matrix, part_of_jobs, tidy, wide, window_of
from simgrid_broker.names import USED
from simgrid_broker.records import of_run

__all__ = ["ABOUT_QUEUES", "Cause", "FINAL_TASK", "JOB_BROKERAGE", "NEAR", "NOWHERE", "OUT_OF_MEMORY", "RULES",
           "STATES", "USED", "Why", "Window", "agents_used", "attempts", "brokerage_funnel", "by_rule", "comparison",
           "core_capacity", "cores_lost", "criteria", "cut_jobs", "data_waits", "decisions", "difference",
           "direct_reading", "door_series", "door_use", "doors_of", "drift", "drifting", "drives_series",
           "ended_by_rules", "ends_used", "event_service_ends", "explain", "factors", "failures", "failures_by_queue",
           "fairness", "factors_used",
           "first_differences", "first_jobs", "funnels", "half_since", "held_work", "incidents_used", "job_life",
           "jobs_by_status", "jobs_over_time", "kept_where_slots_end", "last_classes", "link_series", "link_use",
           "link_waits", "live_jobs", "matrix", "mean_cores", "memory_retries", "moved_input", "part_of_jobs",
           "phase_of", "places_of", "queue_of", "reach", "reach_recorded", "reasons", "rebrokerage",
           "recorded_statuses", "recorded_waits", "recorded_walltimes", "refusal_counts", "refusal_rates", "refusals",
           "refusals_by_tag", "refusals_over_time", "replayed_walltimes", "retry_history", "rule_losses", "rules_used",
           "running_cores", "share_compliance", "share_cores", "share_deviation", "share_series", "site_class_series",
           "site_matrix", "site_traffic", "staging_series", "staging_summary", "stopped_tasks", "storage_levels",
           "storage_series", "storage_use", "stretches", "submission_waits", "summary", "task_life", "task_phases",
           "task_turnaround", "tasks_by_status", "tasks_of_users", "tasks_without_place", "throttled_by",
           "throttled_hours", "throttled_time", "throughput", "tidy", "time_in_phase", "totals_over_time",
           "traffic_series", "traffic_summary", "transfer_summary", "unplaced_tasks", "user_cores", "users",
           "users_by_class", "users_by_size", "waiting_times", "waits_for_data", "walltime_errors", "why", "wide",
           "window_of", "with_labels", "workers"]

for _name in __all__:
    _function = globals()[_name]
    if inspect.isfunction(_function) and inspect.unwrap(_function).__code__.co_varnames[:1] == ("run",):
        globals()[_name] = of_run(_function)
