"""Frozen views: exactly what a decision is allowed to see; true run times and fates are not among it."""

from simgrid_broker.schema.datasets import DatasetOfTask, InputFile, Replica
from simgrid_broker.schema.queues import Hardware, PublishedSoftware, WorkerNodeGpu
from simgrid_broker.views.candidates import (
    ANALYSIS_STORE,
    KEPT,
    NUCLEUS,
    QUEUE,
    QUEUE_ATTRIBUTES,
    STORAGE_ATTRIBUTES,
    TEXTS,
    UNCLASSIFIED,
    USER,
    USER_AT,
    AnalysisView,
    DatasetAt,
    Figures,
    InputAt,
    Nuclei,
    Owner,
    Queues,
    QueueSoftware,
    Quota,
    UserView,
    Verdict,
    same_type,
)
from simgrid_broker.views.gdpconfig import Gdpconfig, ShareTree
from simgrid_broker.views.records import UNKNOWN, columns_seen, records
from simgrid_broker.views.tasks import (
    PART,
    PIECE,
    SOURCE,
    TASK_FIELDS,
    DatasetRow,
    InputDataset,
    InputOfNuclei,
    JobInput,
    Locality,
    Premerge,
    Source,
    Task,
)
from simgrid_broker.views.workers import (
    LINK,
    LOAD,
    QUEUE_WORKERS,
    STORE,
    WAITING_JOBS,
    PilotStatus,
    Stats,
    WorkerStatus,
    WorkQueueCounts,
)

__all__ = ["ANALYSIS_STORE", "UNCLASSIFIED", "USER", "USER_AT", "AnalysisView", "DatasetAt", "InputAt", "Owner",
           "Quota", "UserView",
           "DatasetRow", "Gdpconfig", "ShareTree",
           "PIECE", "Premerge", "TASK_FIELDS", "Task", "QueueSoftware", "QUEUE", "QUEUE_ATTRIBUTES",
           "STORAGE_ATTRIBUTES", "TEXTS",
           "Queues", "same_type", "LOAD", "STORE", "LINK", "UNKNOWN", "columns_seen",
           "records", "Stats", "Source", "InputDataset",
           "Locality", "PART", "SOURCE", "JobInput", "InputOfNuclei", "NUCLEUS", "Nuclei", "KEPT", "Figures", "Verdict",
           "WorkQueueCounts", "WAITING_JOBS", "QUEUE_WORKERS", "WorkerStatus", "PilotStatus", "DatasetOfTask",
           "Hardware", "InputFile", "PublishedSoftware", "Replica", "WorkerNodeGpu"]
