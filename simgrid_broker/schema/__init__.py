"""Every table and every noun of the grid, each column and attribute described once.

The tables here are those that runs leave; the nouns of the grid and the tables made of them are in modules of their
own, which a reader of runs does not need.
"""

from simgrid_broker import names
from simgrid_broker.schema import series
from simgrid_broker.schema.attribute import Column, Records, Table, joined
from simgrid_broker.schema.datasets import DATASET_STATUSES, DATASET_TYPES, TASK_DATASETS
from simgrid_broker.schema.jobs import JOB_TIMES, JOBS, TRACE, TRACE_STATUS
from simgrid_broker.schema.tasks import RAM_UNITS, SPLITTING, TASK_TIMES, TASKS
from simgrid_broker.schema.transfers import TRANSFERS

RECORDED = {table.name: table for table in (
    JOBS, series.ENDED, TASKS, SPLITTING, TASK_DATASETS, TRACE, TRANSFERS, series.DECISIONS, series.CANDIDATES,
    series.STEPS, series.FACTORS, series.REFUSALS, series.SHARES, series.QUEUE_SERIES, series.TASK_CLASSES,
    series.TASK_ACTIONS, series.LINK_SERIES, series.STORAGE_SERIES, series.STAGING, series.WORKER_SERIES)}
"""The tables that every run leaves as Parquet, by the name of the file; an agent can declare others beside it."""

FIXED_WORDS = {
    "job_status": names.JobStatus.words(), "task_status": names.TaskStatus.words(),
    "queue_status": names.QueueStatus.words(), "cause": names.Cause.words(), "closed_by": names.ClosedBy.words(),
    "transfer_kind": names.TransferKind.words(), "activity": names.Activity.words(),
    "staging_status": names.StagingStatus.words(),
    "decision_kind": names.DecisionKind.words(),
    "full_chain": names.FullChain.words(), "input_lan": ("", *names.InputLan.words()[1:]), "ramunits": RAM_UNITS,
    "throttled_by": ("", *names.ThrottledBy.words()[1:]),
    "task_action": (*names.RetryAction.words(), "recalculation", "avalanche"), "changed_parameter": series.CHANGED,
    "trace_status": TRACE_STATUS, "dataset_types": DATASET_TYPES, "dataset_status": DATASET_STATUSES,
    "site_class": tuple(names.SiteClass(number).word for number in sorted(names.SiteClass)),
    "task_class": tuple(names.TaskClass(number).name for number in sorted(names.TaskClass)),
}
"""Vocabularies that do not depend on the scenario."""

__all__ = ["Column", "Records", "Table", "joined", "FIXED_WORDS", "RECORDED", "JOB_TIMES", "TASK_TIMES", "JOBS",
           "TASKS", "SPLITTING", "TASK_DATASETS", "TRACE", "TRANSFERS"]
