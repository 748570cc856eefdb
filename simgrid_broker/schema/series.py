"""The time series that the sampler writes and the records of decisions: rows that only ever reach Parquet."""

from simgrid_broker.schema.attribute import Column, Table

OURS = "simulator"

DISPATCH_ACCOUNTS = {
    "no_job": ("requests", "Requests of pilots without a job while no job was activated at the queue"),
    "other_type": ("requests", "Requests without a job while the queue had activated jobs of other types only"),
    "none_suits": ("requests", "Requests without a job although jobs of the type were activated, of which none suited"),
    "other_label": ("jobs", "Jobs passed over in a request as the pilots do not ask for their prodSourceLabel"),
    "more_memory": ("jobs", "Jobs passed over as they ask for more memory than the worker has"),
    "more_time": ("jobs", "Jobs passed over as they may run longer than the time left to the pilot"),
    "above_meanrss": ("jobs", "Jobs passed over as they would raise the mean memory of the queue above its target")}
"""Numbers that dispatch counts of each pseudo-queue: unit and meaning by name; source: lifecycle reference, 5.2."""


def _sampled(*columns: Column) -> tuple[Column, ...]:
    """The columns behind the time of the sample."""
    return (Column("time_s", "f8", "s", OURS, "When the sample was taken"), *columns)


SHARES = Table("shares", "one leaf share and resource type at one sample", _sampled(
    Column("share", "i2", "", "PanDA GLOBAL_SHARES", "Leaf share", codes="shares"),
    Column("resource_type", "i2", "", "PanDA", "Resource type", codes="resource_types"),
    Column("hs06", "f8", "HS06", "PanDA JOBS_SHARE_STATS", "Power in use by sent and running jobs"),
    Column("target_hs06", "f8", "HS06", "PanDA GLOBAL_SHARES",
           "Target of the share: its part of all power in use; the same in each of its resource types"),
    Column("running_cores", "i8", "cores", "PanDA", "Cores of running jobs"),
    Column("running", "i8", "jobs", "PanDA", "Running jobs"),
    Column("activated", "i8", "jobs", "PanDA", "Activated jobs"),
    Column("assigned", "i8", "jobs", "PanDA", "Assigned jobs"),
    Column("transferring", "i8", "jobs", "PanDA", "Transferring jobs"),
    Column("queued", "i8", "jobs", "PanDA", "Defined, assigned, activated and starting jobs"),
))

QUEUE_SERIES = Table("queues", "one PanDA queue at one sample", _sampled(
    Column("queue", "i2", "", "CRIC", "PanDA queue", codes="queues"),
    Column("status", "i2", "", "CRIC", "Status", codes="queue_status"),
    Column("running", "i8", "jobs", "PanDA", "Running jobs"),
    Column("running_cores", "i8", "cores", "PanDA", "Cores of running jobs"),
    Column("activated", "i8", "jobs", "PanDA", "Activated jobs"),
    Column("assigned", "i8", "jobs", "PanDA", "Assigned jobs"),
    Column("transferring", "i8", "jobs", "PanDA", "Transferring jobs"),
    Column("workers_submitted", "i8", "workers", "Harvester", "Workers that wait in the batch system"),
    Column("workers_running", "i8", "workers", "Harvester", "Workers that hold a slot"),
    Column("free_cores", "i8", "cores", OURS, "Cores of the batch system that are not in use, 0 while it "
           "starts no workers (site outage, closed window)"),
    Column("site_class", "i1", "", "PanDA metrics", "How soon analysis jobs start there, as brokers know it",
           codes="site_class"),
))

TASK_CLASSES = Table("task_classes", "one change of the class of one analysis task", (
    Column("time_s", "f8", "s", OURS, "When the task evaluator found it"),
    Column("jeditaskid", "i8", "", "JEDI_Tasks jediTaskID", "Task"),
    Column("task_class", "i1", "", "PanDA metrics", "Class; null = it has none any more", codes="task_class"),
))

CHANGED = "ramCount", "cpuTime", "nGBPerJob", "nMaxFilesPerJob", "scouts"
"""Parameters that the retry module changes, and the scouts that are counted."""
TASK_ACTIONS = Table("task_actions", "one change that the retry module made to one task or to the input of one job, or "
                     "the look at the scouts of one task that ended its scouting", (
    Column("time_s", "f8", "s", OURS, "When the failed job was handled, or the scouts were looked at"),
    Column("jeditaskid", "i8", "", "JEDI_Tasks jediTaskID", "Task"),
    Column("action", "i1", "", "PanDA RETRYACTIONS", "Action of a retry rule, or recalculation: the task is measured "
           "once more; or avalanche: its scouts were judged", codes="task_action"),
    Column("parameter", "i1", "", "JEDI_Tasks", "What changed", codes="changed_parameter"),
    Column("of_task", "i1", "", OURS, "1 = of the whole task; 0 = of the input of the failed job"),
    Column("before", "f8", "", OURS, "Value before, in the unit of the task; null = unknown, or no limit; of scouts "
           "how many count: inputs (documented), or pairs of job and status of its files (deployed)"),
    Column("after", "f8", "", OURS, "Value afterwards; null = it is to be measured; of scouts how many have finished"),
))

STAGING = Table("staging", "one request to stage one dataset from tape", (
    Column("request", "i8", "", "DATA_CAROUSEL_REQUESTS request_id", "Number of the request, counted from 1"),
    Column("dataset", "i4", "", "DATA_CAROUSEL_REQUESTS dataset", "Dataset", codes="datasets"),
    Column("source", "i2", "", "DATA_CAROUSEL_REQUESTS source_rse", "Endpoint of tape", codes="storages"),
    Column("tape", "i2", "", "DATA_CAROUSEL_REQUESTS source_tape", "Physical tape, whose quota counts",
           codes="tapes"),
    Column("destination", "i2", "", "DATA_CAROUSEL_REQUESTS destination_rse", "Endpoint of disk; null = not chosen yet",
           codes="storages"),
    Column("status", "i1", "", "DATA_CAROUSEL_REQUESTS status", "Status at the end", codes="staging_status"),
    Column("share", "i2", "", "PanDA GLOBAL_SHARES", "Leaf share of the first task", codes="shares"),
    Column("tasks", "i4", "tasks", OURS, "Tasks that have asked for it"),
    Column("total_files", "i8", "files", "DATA_CAROUSEL_REQUESTS total_files", "Files of the dataset"),
    Column("staged_files", "i8", "files", "DATA_CAROUSEL_REQUESTS staged_files", "Files on disk at the end"),
    Column("bytes", "f8", "bytes", "DATA_CAROUSEL_REQUESTS dataset_size", "Size of the dataset"),
    Column("read_bytes", "f8", "bytes", OURS, "Read from tape"),
    Column("requested_s", "f8", "s", "DATA_CAROUSEL_REQUESTS creation_time", "When a task asked for it"),
    Column("started_s", "f8", "s", "DATA_CAROUSEL_REQUESTS start_time", "When its rule was made; null = it is queued"),
    Column("mounting_s", "f8", "s", OURS, "When a drive took it up first; null = it waits for one"),
    Column("read_s", "f8", "s", OURS, "When the last byte had been read; null = it has not"),
    Column("finished_s", "f8", "s", "DATA_CAROUSEL_REQUESTS end_time", "When all files were found on disk, or it was "
           "cancelled; null = neither"),
))

LINK_SERIES = Table("links", "one link with traffic since the sample before", _sampled(
    Column("source", "i2", "", OURS, "Site", codes="sites"),
    Column("destination", "i2", "", OURS, "Site", codes="sites"),
    Column("queued_files", "i8", "files", "NWS", "Files that wait or are under way"),
    Column("active_files", "i8", "files", OURS, "Files under way"),
    Column("bytes", "f8", "bytes", OURS, "Bytes delivered since the sample before"),
    Column("files", "i8", "files", OURS, "Files delivered since the sample before"),
    Column("bytes_moved", "f8", "bytes", OURS, "Bytes that moved since the sample before, those of failed attempts "
           "too; at most what doors let through in that time"),
    Column("files_failed", "i8", "files", "FTS", "Attempts at files that failed since the sample before"),
    Column("active_limit", "i8", "files", "FTS", "Files under way at once that FTS allows"),
    Column("utilisation", "f8", "", OURS, "Part of the time since the sample before in which bytes moved, 0 to 1"),
    Column("queued_output", "i8", "files", "NWS files queued, Production Output and Express",
           "Files of these activities that wait or are under way"),
    Column("mbps_hour", "f8", "MB/s", "NWS mbps 1h", "Mean throughput of the files of the hour before brokers' latest "
           "reading; null = none arrived"),
))

STORAGE_SERIES = Table("storages", "one DDM endpoint at one sample", _sampled(
    Column("storage", "i2", "", "Rucio", "DDM endpoint", codes="storages"),
    Column("total_bytes", "f8", "bytes", "Rucio", "Size"),
    Column("free_bytes", "f8", "bytes", "Rucio", "Free"),
    Column("expired_bytes", "f8", "bytes", "Rucio", "Data that may be deleted"),
    Column("written_bytes", "f8", "bytes", OURS, "Written since the start"),
    Column("deleted_bytes", "f8", "bytes", OURS, "Deleted since the start, replicas that were lost included"),
    Column("min_free_bytes", "f8", "bytes", "Rucio", "Free space below which expired data is deleted"),
    Column("read_bytes", "f8", "bytes", OURS, "Read by the drives of an endpoint of tape since the start"),
    Column("mounted", "i8", "drives", OURS, "Drives that mount or read a tape"),
))

ENDED = Table("ended", "all job attempts of one kind that ended in one hour; only if jobs are a sample", (
    Column("time_s", "f8", "s", OURS, "Begin of the hour"),
    Column("queue", "i2", "", "PanDA jobsArchived4 computingSite", "PanDA queue", codes="queues"),
    Column("share", "i2", "", "PanDA jobsArchived4 gshare", "Global share (leaf)", codes="shares"),
    Column("processing_type", "i2", "", "PanDA jobsArchived4 processingType", "Kind of payload",
           codes="processing_types"),
    Column("status", "i2", "", "PanDA jobsArchived4 jobStatus", "Final status", codes="job_status"),
    Column("cause", "i2", "", "PanDA error codes", "Why the attempts ended as they did", codes="cause"),
    Column("attempt", "i2", "", "PanDA jobsArchived4 attemptNr", "Attempt number of the input, counted from 1"),
    Column("jobs", "i8", "jobs", OURS, "Attempts"),
    Column("core_s", "f8", "core s", OURS, "Wall time x cores"),
    Column("hs06s", "f8", "HS06 s", OURS, "Wall time x power of the slot"),
    Column("run_core_s", "f8", "core s", OURS, "Run time of the payload x cores; of a job with lost heartbeat up "
           "to the last one"),
    Column("wait_s", "f8", "s", OURS, "From creation until the start of the payload, or until the end of attempts that "
           "never started"),
))

WORKER_SERIES = Table("workers", "the workers of one PanDA queue and resource type at one sample, if there were any "
                      "since the sample before", _sampled(
    Column("queue", "i2", "", "CRIC", "PanDA queue", codes="queues"),
    Column("resource_type", "i2", "", "PanDA", "Resource type; null = every type", codes="resource_types"),
    Column("waiting", "i8", "workers", "Harvester", "Workers that wait in the batch system"),
    Column("running", "i8", "workers", "Harvester", "Workers that hold a slot"),
    Column("submitted", "i8", "workers", "Harvester", "Workers submitted since the sample before"),
    Column("missed", "i8", "workers", "Harvester", "Workers since then that could not be submitted"),
    Column("cancelled", "i8", "workers", "Harvester", "Workers since then that were cancelled while they waited"),
    Column("started", "i8", "workers", "Harvester", "Workers since then that got a slot"),
    Column("empty", "i8", "workers", "PanDA", "Workers since then that left without having had a job"),
    *(Column(name, "i8", unit, "PanDA getJob", f"{text}, since then")
      for name, (unit, text) in DISPATCH_ACCOUNTS.items()),
    Column("used_core_h", "f8", "core h", OURS, "Cores x time of payloads since then"),
    Column("idle_core_h", "f8", "core h", OURS, "Cores x time of workers without a payload since then"),
    Column("wasted_core_h", "f8", "core h", OURS, "Cores x time beside payloads since then: those of a slot, or of a "
           "node taken as a whole, that the payload does not use"),
))

DECISIONS = Table("decisions", "one decision of a broker", _sampled(
    Column("decision", "i8", "", OURS, "Number of the decision, counted from 1"),
    Column("kind", "i2", "", OURS, "Task or job brokerage", codes="decision_kind"),
    Column("jeditaskid", "i8", "", OURS, "Task"),
    Column("share", "i2", "", OURS, "Leaf share", codes="shares"),
    Column("resource_type", "i2", "", OURS, "Resource type", codes="resource_types"),
    Column("n_candidates", "i4", "candidates", OURS, "Candidates at the start"),
    Column("n_kept", "i4", "candidates", OURS, "Candidates that every rule kept"),
    Column("n_jobs", "i4", "jobs", OURS, "Jobs that were placed"),
    Column("best", "i4", "", OURS, "Candidate with the largest weight, a pseudo-queue; of task brokerage the site "
           "that was drawn by weight", codes="brokered"),
    Column("best_weight", "f8", "", OURS, "Its weight"),
))

CANDIDATES = Table("candidates", "one candidate of one decision whose candidates are kept", (
    Column("decision", "i8", "", OURS, "Number of the decision, as in decisions"),
    Column("candidate", "i4", "", OURS, "Pseudo-queue, or for task brokerage a site", codes="brokered"),
    Column("tag", "i4", "", OURS, "Tag that PanDA logs for the rule that refused it first; null = none did",
           codes="tags"),
    Column("criterion", "i4", "", OURS, "Name of that rule; several may share a tag", codes="criteria"),
    Column("order", "i2", "", OURS, "Place among the candidates in use: 0 = the best, for task brokerage the one that "
           "was drawn; -1 = not used"),
    Column("weight", "f8", "", OURS, "Its weight; 0 if it was refused"),
    Column("value", "f8", "the rule's", OURS, "What the rule compared; null = no figure"),
    Column("limit", "f8", "the rule's", OURS, "With what the rule compared it; null = no figure"),
    Column("text", "i4", "", OURS, "What the rule names instead of a figure or beside it, such as a status; null = "
           "nothing", codes="texts"),
))

STEPS = Table("steps", "one rule that concerned the task of a decision in candidates, in the order of removal", (
    Column("decision", "i8", "", OURS, "Number of the decision, as in decisions"),
    Column("criterion", "i4", "", OURS, "Name of the rule", codes="criteria"),
    Column("refused", "i4", "candidates", OURS, "Candidates that it refused"),
    Column("left", "i4", "candidates", OURS, "Candidates left after it"),
))

FACTORS = Table("factors", "one factor of the weight of one candidate that is used, of the decisions in candidates", (
    Column("decision", "i8", "", OURS, "Number of the decision, as in decisions"),
    Column("candidate", "i4", "", OURS, "Pseudo-queue, or for task brokerage a site", codes="brokered"),
    Column("factor", "i2", "", OURS, "Name of the factor; the product of all is the weight", codes="factors"),
    Column("multiplier", "f8", "", OURS, "Its value"),
))

REFUSALS = Table("refusals", "how often one rule was the first to refuse one candidate, or none was, since the sample "
                 "before", _sampled(
    Column("kind", "i2", "", OURS, "Task or job brokerage", codes="decision_kind"),
    Column("candidate", "i4", "", OURS, "PanDA queue, or for task brokerage a site", codes="candidates"),
    Column("tag", "i4", "", OURS, "Tag that PanDA logs for the rule; null = no rule refused it: it was used",
           codes="tags"),
    Column("criterion", "i4", "", OURS, "Name of that rule; several may share a tag", codes="criteria"),
    Column("share", "i2", "", OURS, "Leaf share", codes="shares"),
    Column("count", "i8", "decisions", OURS, "Decisions in which that was so; a PanDA queue counts with each of its "
           "pseudo-queues"),
    Column("queue_count", "i8", "decisions", OURS, "Those in which no pseudo-queue of the queue came further: each "
           "queue counts once in a decision"),
    Column("pool_count", "i8", "decisions", OURS, "Those in which no queue of the same batch pool came further: the "
           "rule kept the task from the cores of the pool, and each pool counts once in a decision"),
))
