"""The tasks table: one row is one JEDI task, in the world and in `tasks.parquet`."""

from simgrid_broker.names import TaskStatus
from simgrid_broker.schema.column import Column, Table

JEDI = "JEDI_Tasks"
PARAMETER = "JEDI task parameter"
OURS = "simulator"

TASKS = Table("tasks", "one JEDI task", (
    Column("jeditaskid", "i8", "", JEDI + " jediTaskID", "Identifier, counted from 1 in order of arrival"),
    Column("luck", "i8", "", OURS, "Key of the task's luck: the same whatever other tasks there are; 0 = jeditaskid",
           zero_means="jeditaskid", recorded=False, hidden=True),
    Column("arrival_s", "f8", "s", JEDI + " creationDate", "When the task was submitted"),
    Column("modification_s", "f8", "s", JEDI + " modificationTime", "Last change", recorded=False),
    Column("frozen_s", "f8", "s", JEDI + " frozenTime", "Since when a broker looks in vain; NaN = none does",
           recorded=False),
    Column("work_hs06s_per_event", "f8", "HS06 s", OURS, "True mean CPU work of one event", hidden=True),
    Column("cputime", "f8", "HS06 s", PARAMETER + " cpuTime", "CPU work of one event that the task claims"),
    Column("input_bytes_per_job", "f8", "bytes", PARAMETER, "Input of one job"),
    Column("output_bytes_per_job", "f8", "bytes", PARAMETER + " outDiskCount", "Output of one job"),
    Column("work_spread", "f4", "", OURS, "Sigma of the log-normal spread of work between jobs", hidden=True),
    Column("memory_spread", "f4", "", OURS, "Sigma of the log-normal spread of memory between jobs", hidden=True),
    Column("maxpss_mb", "f4", "MB", OURS, "True median memory of a job, all cores together", hidden=True),
    Column("cpu_efficiency", "f4", "", OURS, "True CPU efficiency of the payload", hidden=True),
    Column("failure_rate", "f4", "", OURS, "True probability that a payload fails of itself", hidden=True),
    Column("ramcount", "f4", "MB", PARAMETER + " ramCount", "Memory asked for, in `ramunit`"),
    Column("baseramcount", "f4", "MB", PARAMETER + " baseRamCount", "Memory added once per job"),
    Column("workdiskcount_mb", "f4", "MB", PARAMETER + " workDiskCount", "Scratch beside input and output"),
    Column("iointensity", "f4", "kB/s", PARAMETER + " ioIntensity", "Input and output rate of the payload"),
    Column("diskio", "f4", "kB/s", JEDI + " diskIO", "Disk traffic of a job", zero_means="none"),
    Column("cpuefficiency", "f4", "%", PARAMETER + " cpuEfficiency", "CPU efficiency that the task claims"),
    Column("basewalltime_s", "f4", "s", PARAMETER + " baseWalltime", "Wall time beside the events"),
    Column("n_jobs", "i4", "jobs", JEDI, "Number of input chunks, each one job if nothing fails"),
    Column("n_events_per_job", "i4", "events", PARAMETER + " nEventsPerJob", "Events of one job"),
    Column("n_input_files", "i4", "files", PARAMETER + " nFilesPerJob", "Input files of one job"),
    Column("next_chunk", "i4", "", OURS, "First chunk for which no job was ever made", recorded=False),
    Column("retry_head", "i4", "", OURS, "First chunk that awaits another attempt; -1 = none", recorded=False),
    Column("n_retry", "i4", "chunks", OURS, "Chunks that await another attempt", recorded=False),
    Column("n_alive", "i4", "jobs", OURS, "Jobs that are alive", recorded=False),
    Column("n_finished", "i4", "jobs", JEDI + " nFilesFinished", "Chunks that were processed"),
    Column("n_failed", "i4", "jobs", JEDI + " nFilesFailed", "Chunks that used up their attempts"),
    Column("n_attempts", "i4", "jobs", JEDI, "Jobs ever made"),
    Column("max_attempt", "i4", "", PARAMETER + " maxAttempt", "Attempts that each input has"),
    Column("server_retries", "i4", "attempts", "PanDA maxAttempt of analysis jobs",
           "Failures after which the server itself tries again at the same queue, before JEDI does", recorded=False),
    Column("priority", "i4", "", JEDI + " currentPriority", "Priority within the share"),
    Column("name", "i4", "", JEDI + " taskName", "Name, or the campaign that it stems from", codes="task_names"),
    Column("user", "i4", "", JEDI + " userName", "Owner", codes="users"),
    Column("corecount", "i2", "cores", PARAMETER + " coreCount", "Cores asked for; 0 = any", zero_means="any"),
    Column("share", "i2", "", JEDI + " gshare", "Global share (leaf)", codes="shares"),
    Column("resource_type", "i2", "", JEDI + " resource_type", "Resource type", codes="resource_types"),
    Column("processing_type", "i2", "", JEDI + " processingType", "Kind of payload", codes="processing_types"),
    Column("label", "i2", "", JEDI + " prodSourceLabel", "managed, user, test, ...", codes="labels"),
    Column("working_group", "i2", "", JEDI + " workingGroup", "Working group", codes="working_groups"),
    Column("campaign", "i2", "", JEDI + " campaign", "Campaign, as the tagging of shares reads it", codes="campaigns"),
    Column("transpath", "i2", "", JEDI + " transPath", "Transformation", codes="transpaths"),
    Column("ramunit", "i2", "", PARAMETER + " ramUnit", "MB or MBPerCore", codes="ramunits"),
    Column("nucleus", "i2", "", JEDI + " nucleus", "Site that collects the output; -1 = none yet", codes="sites"),
    Column("status", "i2", "", JEDI + " status", "Status", codes="task_status"),
    Column("old_status", "i2", "", JEDI + " oldStatus", "Status before pending", codes="task_status", recorded=False),
    Column("failed_attempts", "i4", "jobs", OURS, "Attempts that ended failed"),
    Column("lost_walltime_s", "f8", "core s", OURS, "Wall time x cores of attempts that did not finish"),
    Column("used_hs06s", "f8", "HS06 s", OURS, "Wall time x power of the slot, all attempts"),
    Column("parent", "i8", "", JEDI + " parent_tid", "jeditaskid of the task that makes the input; 0 = none",
           zero_means="none"),
    Column("secondary_fraction", "f4", "", OURS, "Part of the input that belongs to secondary datasets",
           recorded=False),
    Column("t1weight", "i2", "", PARAMETER + " t1Weight", "Weight of the nucleus; negative = stay there",
           recorded=False),
    Column("fullchain", "i2", "", PARAMETER + " fullChain", "Whether bare nuclei are wanted", codes="full_chain"),
    Column("inputprestaging", "i2", "", PARAMETER + " inputPreStaging", "1 if input is staged from tape first",
           recorded=False),
    Column("taskbrokeronmaster", "i2", "", PARAMETER + " taskBrokerOnMaster",
           "1 if task brokerage looks at the primary dataset alone", recorded=False),
    Column("architecture", "i2", "", JEDI + " architecture", "Platform, base image, CPU and GPU asked for",
           codes="architectures"),
    Column("transhome", "i2", "", JEDI + " transHome", "Release or nightly", codes="transhomes"),
    Column("container_name", "i2", "", JEDI + " container_name", "Fat container", codes="container_names"),
    Column("only_tags_for_fc", "i2", "", PARAMETER + " onlyTagsForFC",
           "Whether the container must be among the published tags", recorded=False),
))
"""Columns of a task row."""

TASK_TIMES = tuple(f"{status.word}_s" for status in TaskStatus)
"""Names of the times at which a task last entered each status, (n_task_status,), s, NaN = never."""

N_REPLICAS = 4
"""Sites at which the input of a task may be found."""

RAM_UNITS = ("MB", "MBPerCore")
"""Units of `ramcount`; source: lifecycle reference, section 1.5."""
