"""Frozen views: exactly what a decision is allowed to see; true run times and fates are not among it."""

from simgrid_broker.schema.queues import Hardware, PublishedSoftware, WorkerNodeGpu
from simgrid_broker.schema.tasks import DatasetOfTask, InputFile, Replica
from simgrid_broker.views.analysis import (
    ANALYSIS_STORE,
    UNCLASSIFIED,
    USER,
    USER_AT,
    AnalysisView,
    DatasetAt,
    InputAt,
    Owner,
    Quota,
    UserView,
)
from simgrid_broker.views.gdpconfig import Gdpconfig, ShareTree
from simgrid_broker.views.inputs import SOURCE, InputDataset, InputOfNuclei, JobInput, Locality, Source
from simgrid_broker.views.nuclei import NUCLEUS, Nuclei
from simgrid_broker.views.queues import QUEUE, TEXTS, Queues, QueueSoftware, same_type
from simgrid_broker.views.statistics import LINK, LOAD, STORE, UNKNOWN, Stats, records
from simgrid_broker.views.tasks import PIECE, TASK_FIELDS, Premerge, Task
from simgrid_broker.views.verdict import KEPT, Figures, Verdict
from simgrid_broker.views.workers import WAITING_JOBS, PilotStatus, WorkerStatus, WorkQueueCounts

__all__ = ["ANALYSIS_STORE", "UNCLASSIFIED", "USER", "USER_AT", "AnalysisView", "DatasetAt", "InputAt", "Owner",
           "Quota", "UserView",
           "Gdpconfig", "ShareTree", "PIECE", "Premerge", "TASK_FIELDS", "Task", "QueueSoftware", "QUEUE", "TEXTS",
           "Queues", "same_type", "LOAD", "STORE", "LINK", "UNKNOWN", "records", "Stats", "Source", "InputDataset",
           "Locality", "SOURCE", "JobInput", "InputOfNuclei", "NUCLEUS", "Nuclei", "KEPT", "Figures", "Verdict",
           "WorkQueueCounts", "WAITING_JOBS", "WorkerStatus", "PilotStatus", "DatasetOfTask", "Hardware",
           "InputFile", "PublishedSoftware", "Replica", "WorkerNodeGpu"]
