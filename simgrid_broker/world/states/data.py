"""The state machines of datasets and files, input and output.

The statuses are those of the documentation; the charts of its moves are pictures, so the moves are told from the
meaning of the statuses and from the flow of the lifecycle reference.

Source: JEDI TWiki, dataset status, file status; lifecycle reference, sections 2.3, 2.8, 2.13, 2.14 and 3.2.
"""

from simgrid_broker.names import DatasetStatus, FileStatus
from simgrid_broker.world.states.machine import Machine, Move

D, F = DatasetStatus, FileStatus
STATES = "lifecycle reference, 2.8"
RETRY = "lifecycle reference, 2.13"
ATTEMPTS = "lifecycle reference, 3.2"
MERGING = "lifecycle reference, 2.14"
GENERATION = "lifecycle reference, 2.3"
OPEN = "JEDI TWiki, open dataset handling"
LOST = "JEDI TWiki, protection against lost/broken input files"
DATASETS, FILES = "JEDI TWiki, dataset status", "JEDI TWiki, file status"

INPUT_DATASET = Machine("dataset", "input dataset", {
    D.DEFINED: "known to JEDI, content not yet read",
    D.TOUPDATE: "its content must be read again",
    D.PENDING: "cannot be read at the moment",
    D.READY: "files can be used",
    D.DONE: "all files were processed",
    D.FINISHED: "the task ended with some files unprocessed",
    D.FAILED: "the task failed, broke or was aborted",
    D.BROKEN: "gone for good",
    D.REMOVED: "no longer in the container from which the task reads",
}, (
    Move((D.DEFINED, D.TOUPDATE, D.PENDING), D.READY, "ContentsFeeder", "its files were read", STATES),
    Move((D.DEFINED, D.TOUPDATE), D.PENDING, "ContentsFeeder", "it cannot be read now", STATES),
    Move((D.DEFINED, D.TOUPDATE, D.PENDING), D.BROKEN, "ContentsFeeder", "it does not exist", STATES),
    Move((D.DEFINED, D.TOUPDATE, D.READY), D.REMOVED, "TaskRefiner", "the container lost it", STATES),
    Move((D.READY, D.DONE), D.TOUPDATE, "ContentsFeeder, PostProcessor", "it is open and is looked at again", OPEN),
    Move((D.READY,), D.DONE, "PostProcessor", "no file is left", DATASETS),
    Move((D.READY, D.DONE), D.FINISHED, "PostProcessor", "the task is over, files are missing", STATES),
    Move((D.DEFINED, D.TOUPDATE, D.PENDING, D.READY, D.DONE), D.FAILED, "PostProcessor",
         "the task failed, broke or was aborted", STATES),
    Move((D.READY, D.DONE, D.FINISHED, D.FAILED), D.TOUPDATE, "TaskCommando", "incremental execution", RETRY),
    Move((D.DONE, D.FINISHED, D.FAILED), D.READY, "TaskCommando", "the task is retried, or its scouts are over", RETRY),
), DATASETS)
"""What an input dataset of a task can go through."""

OUTPUT_DATASET = Machine("dataset", "output dataset", {
    D.DEFINED: "known to JEDI",
    D.READY: "registered with the data management",
    D.RUNNING: "files are being added",
    D.PREPARED: "complete as far as it will be; post-processing is due",
    D.DONE: "closed, the final status",
    D.FINISHED: "closed, with files missing",
    D.FAILED: "the task failed, broke or was aborted",
}, (
    Move((D.DEFINED,), D.READY, "task setup", "it was registered", DATASETS),
    Move((D.READY,), D.RUNNING, "JobGenerator", "the first job that writes to it is made", DATASETS),
    Move((D.READY, D.RUNNING), D.PREPARED, "PostProcessor", "the task is prepared", DATASETS),
    Move((D.PREPARED,), D.DONE, "PostProcessor", "post-processing is over", DATASETS),
    Move((D.PREPARED,), D.FINISHED, "PostProcessor", "the same, with files missing", STATES),
    Move((D.DEFINED, D.READY, D.RUNNING, D.PREPARED), D.FAILED, "PostProcessor",
         "the task failed, broke or was aborted", STATES),
    Move((D.DONE, D.FINISHED, D.FAILED), D.RUNNING, "TaskCommando", "the task is retried", RETRY),
), DATASETS)
"""What an output dataset of a task can go through."""

INPUT_FILE = Machine("file", "input file", {
    F.STAGING: "being brought from tape",
    F.PENDING: "not usable yet",
    F.READY: "free for a job, also after an attempt that failed or was taken back",
    F.PICKED: "taken by the JobGenerator",
    F.RUNNING: "a job has it",
    F.PARTIAL: "split by events, and some of them are processed",
    F.FINISHED: "processed",
    F.FAILED: "all attempts are used up",
    F.MISSING: "not where the task could read it",
    F.LOST: "was there when looked for last, and is gone",
    F.BROKEN: "corrupt",
}, (
    Move((F.STAGING,), F.PENDING, "data carousel", "it is on disk", STATES),
    Move((F.STAGING, F.PENDING), F.READY, "ContentsFeeder", "it can be used", STATES),
    Move((F.READY,), F.PICKED, "JobGenerator", "it is read for a chunk", GENERATION),
    Move((F.PICKED,), F.READY, "WatchDog", "picked for more than 30 min", STATES),
    Move((F.PICKED,), F.RUNNING, "JobGenerator", "a job was submitted", GENERATION),
    Move((F.RUNNING,), F.FINISHED, "Adder", "the job finished", ATTEMPTS),
    Move((F.RUNNING,), F.READY, "Adder", "the attempt failed or was taken back, others are left", ATTEMPTS),
    Move((F.RUNNING,), F.PARTIAL, "Adder", "some of its events are done", FILES),
    Move((F.PARTIAL,), F.PICKED, "JobGenerator", "the next of its events are due", FILES),
    Move((F.PARTIAL,), F.FINISHED, "Adder", "all events are done", FILES),
    Move((F.RUNNING, F.PARTIAL), F.FAILED, "Adder", "the last attempt failed", ATTEMPTS),
    Move((F.READY, F.PICKED, F.RUNNING), F.MISSING, "ContentsFeeder", "it is not at the cloud or site", FILES),
    Move((F.READY, F.PICKED, F.RUNNING), F.LOST, "ContentsFeeder", "it is not found again", LOST),
    Move((F.READY, F.PICKED, F.RUNNING), F.BROKEN, "Adder", "a job found it corrupt", LOST),
    Move((F.FAILED,), F.READY, "TaskCommando", "retry gives it more attempts", RETRY),
    Move((F.PICKED, F.RUNNING), F.READY, "TaskCommando", "retry takes it back", RETRY),
    Move((F.MISSING, F.LOST), F.READY, "TaskCommando", "incremental execution finds it again", RETRY),
), FILES)
"""What an input file of a task can go through."""

OUTPUT_FILE = Machine("file", "output file", {
    F.DEFINED: "its name is given to a job",
    F.RUNNING: "the job that makes it runs",
    F.PREPARED: "made, on the way to its place",
    F.MERGING: "waits to be merged with others",
    F.FINISHED: "in place",
    F.FAILED: "was not made, or could not be merged",
    F.CANCELLED: "its job was closed or cancelled",
    F.NOOUTPUT: "the payload rightly made none",
}, (
    Move((F.DEFINED,), F.RUNNING, "server", "its job runs", FILES),
    Move((F.RUNNING,), F.PREPARED, "Adder", "it was made", FILES),
    Move((F.RUNNING, F.PREPARED), F.MERGING, "Adder", "it is to be merged", MERGING),
    Move((F.RUNNING, F.PREPARED, F.MERGING), F.FINISHED, "Finisher", "it is in place", FILES),
    Move((F.RUNNING,), F.NOOUTPUT, "Adder", "none was to be made", STATES),
    Move((F.DEFINED, F.RUNNING, F.PREPARED, F.MERGING), F.FAILED, "Adder", "its job failed", FILES),
    Move((F.DEFINED, F.RUNNING, F.PREPARED, F.MERGING), F.CANCELLED, "server", "its job was closed or cancelled",
         STATES),
), FILES)
"""What an output file of a task can go through."""
