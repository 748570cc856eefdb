"""Every table and every noun of the grid, each column and attribute described once."""

from simgrid_broker import names
from simgrid_broker.schema import series
from simgrid_broker.schema.batch import NODES, POOLS, WORKER_ACCOUNTS
from simgrid_broker.schema.column import Column, Table
from simgrid_broker.schema.grid import LINKS, SITES, STORAGES, TRANSFERS
from simgrid_broker.schema.jobs import JOB_TIMES, JOBS
from simgrid_broker.schema.queues import PSEUDO_QUEUES, QUEUES
from simgrid_broker.schema.splitting import SPLITTING
from simgrid_broker.schema.task_datasets import TASK_DATASETS
from simgrid_broker.schema.tasks import RAM_UNITS, TASK_TIMES, TASKS
from simgrid_broker.schema.trace import TRACE, TRACE_STATUS

RECORDED = {
    "jobs": JOBS, "ended": series.ENDED, "tasks": TASKS, "splitting": SPLITTING,
    "task_datasets": TASK_DATASETS, "trace": TRACE, "transfers": TRANSFERS,
    "decisions": series.DECISIONS, "candidates": series.CANDIDATES, "steps": series.STEPS,
    "factors": series.FACTORS, "refusals": series.REFUSALS, "shares": series.SHARES,
    "queues": series.QUEUE_SERIES, "task_classes": series.TASK_CLASSES, "links": series.LINK_SERIES,
    "storages": series.STORAGE_SERIES, "staging": series.STAGING, "workers": series.WORKER_SERIES}
"""The tables that a run leaves as Parquet, by the name of the file."""

WORLD = {table.name: table for table in (SITES, QUEUES, PSEUDO_QUEUES, POOLS, NODES, WORKER_ACCOUNTS, LINKS, STORAGES,
                                        TRANSFERS, JOBS, TASKS,
                                        SPLITTING)}
"""The tables that a world is made of."""

FIXED_WORDS = {
    "job_status": names.JobStatus.words(), "task_status": names.TaskStatus.words(),
    "queue_status": names.QueueStatus.words(), "cause": names.Cause.words(), "closed_by": names.ClosedBy.words(),
    "transfer_kind": names.TransferKind.words(), "activity": names.Activity.words(),
    "staging_status": names.StagingStatus.words(),
    "decision_kind": names.DecisionKind.words(),
    "full_chain": names.FullChain.words(), "input_lan": ("", *names.InputLan.words()[1:]), "ramunits": RAM_UNITS,
    "throttled_by": ("", *names.ThrottledBy.words()[1:]),
    "trace_status": TRACE_STATUS,
    "site_class": tuple(names.SiteClass(number).word for number in sorted(names.SiteClass)),
    "task_class": tuple(names.TaskClass(number).name for number in sorted(names.TaskClass)),
}
"""Vocabularies that do not depend on the scenario."""

__all__ = ["Column", "Table", "FIXED_WORDS", "RECORDED", "WORLD", "JOB_TIMES", "TASK_TIMES", "JOBS", "TASKS",
           "SPLITTING", "TASK_DATASETS", "TRACE", "SITES", "QUEUES", "PSEUDO_QUEUES", "POOLS", "NODES",
           "WORKER_ACCOUNTS", "LINKS", "STORAGES", "TRANSFERS"]
