"""The jobs table, one row for each attempt of a job, and recorded jobs: their table and PanDA's columns of records."""

from math import nan

from pydantic import Field

from simgrid_broker.names import JobStatus
from simgrid_broker.schema.attribute import Column, Table
from simgrid_broker.schema.part import Part

PANDA = "PanDA jobsActive4"
OURS = "simulator"

JOBS = Table("jobs", "one attempt of one job", (
    Column("panda_id", "i8", "", PANDA + " PandaID", "Identifier of the attempt, counted from 1 in order of creation"),
    Column("jeditaskid", "i8", "", PANDA + " jediTaskID", "Task to which the job belongs"),
    Column("old_panda_id", "i8", "", "JEDI_Job_Retry_History OLDPANDAID",
           "Job that tried this input before; 0 = this is the first", zero_means="none"),
    Column("work_hs06s", "f8", "HS06 s", OURS, "True CPU work of the payload", hidden=True),
    Column("input_bytes", "f8", "bytes", PANDA + " inputFileBytes", "Total size of the input files"),
    Column("output_bytes", "f8", "bytes", PANDA + " outputFileBytes", "Total size of the output files"),
    Column("missing_bytes", "f8", "bytes", OURS, "Input that had to be moved to the queue's "
           "site before activation, or is read from other sites by the running job"),
    Column("modification_s", "f8", "s", PANDA + " modificationTime", "Last heartbeat or change of status",
           recorded=False),
    Column("pilot_start_s", "f8", "s", "Harvester worker", "When the pilot that ran the job got its slot"),
    Column("due_sequence", "i8", "", OURS, "Sequence number of the event that ends the running payload; 0 = none",
           zero_means="none", recorded=False),
    Column("task", "i4", "", OURS, "Row of the task", recorded=False),
    Column("chunk", "i4", "", "JEDI input chunk", "Number of the first piece of the task's input, counted from 0"),
    Column("priority", "i4", "", PANDA + " currentPriority", "Priority within the share"),
    Column("n_events", "i4", "events", PANDA + " nEvents", "Events to process"),
    Column("n_input_files", "i4", "files", PANDA + " nInputDataFiles", "Number of input files"),
    Column("hs06_milli", "i4", "mHS06", PANDA + " hs06", "Power of the slot: cores x corepower, in thousandths"),
    Column("ramcount_mb", "f4", "MB", PANDA + " minRamCount", "Memory asked for, compensation included"),
    Column("maxpss_mb", "f4", "MB", PANDA + " maxPSS", "Memory that the payload really needs", hidden=True),
    Column("walltime_s", "f4", "s", PANDA + " endTime - startTime", "Wall time from start to end of the attempt",
           hidden=True),
    Column("cputime_s", "f4", "s", PANDA + " cpuConsumptionTime", "CPU time summed over cores", hidden=True),
    Column("stage_in_s", "f4", "s", PANDA + " pilotTiming", "Time to bring input from the local storage", hidden=True),
    Column("stage_out_s", "f4", "s", PANDA + " pilotTiming", "Time to write output to the local storage", hidden=True),
    Column("pseudo_queue", "i4", "", OURS, "PanDA queue and resource type", codes="pseudo_queues", recorded=False),
    Column("user", "i4", "", PANDA + " prodUserName", "Owner", codes="users"),
    Column("user_row", "i4", "", OURS, "Row of its user and share in `user_jobs`, plus 1; 0 = it is not counted there",
           zero_means="none", recorded=False),
    Column("child", "i4", "", OURS, "First child in the heap of activated jobs", recorded=False),
    Column("sibling", "i4", "", OURS, "Next sibling in that heap, or next in its list", recorded=False),
    Column("rank", "i4", "", OURS, "Priority as dispatch sees it", recorded=False),
    Column("previous", "i4", "", OURS, "Previous sibling or parent in that heap", recorded=False),
    Column("slot", "i4", "", OURS, "Slot that a pilot holds for the job, plus 1 (`world/queues/slots.py`); 0 = one of "
           "its own pseudo-queue; of a starting job without a slot the row of its worker in `submissions`, plus 1; "
           "-1 = it has no worker yet; -2 = it was cancelled", recorded=False),
    Column("transfer", "i4", "", OURS, "Transfer that the job awaits; -1 = none", recorded=False),
    Column("queue", "i2", "", PANDA + " computingSite", "PanDA queue", codes="queues"),
    Column("n_chunks", "i2", "chunks", "JEDI_Dataset_Contents",
           "Pieces of the task's input: files, or parts of files; 1 = all jobs of the task have one size, "
           "or this one has one piece; 0 = a merge job or a build job; below 0: they count for another "
           "consumer of event service"),
    Column("attempt", "i2", "", PANDA + " attemptNr", "Attempt number of the input, counted from 1"),
    Column("n_output_files", "i2", "files", PANDA + " nOutputDataFiles", "Number of output files"),
    Column("corecount", "i2", "cores", PANDA + " coreCount", "Cores of the slot"),
    Column("nucleus", "i2", "", PANDA + " nucleus", "Site that collects the output", codes="sites"),
    Column("source_site", "i2", "", OURS, "Site that input was fetched or is read from; -1 = none", codes="sites"),
    Column("share", "i2", "", PANDA + " gshare", "Global share (leaf)", codes="shares"),
    Column("resource_type", "i2", "", PANDA + " resource_type", "Resource type", codes="resource_types"),
    Column("processing_type", "i2", "", PANDA + " processingType", "Kind of payload", codes="processing_types"),
    Column("status", "i1", "", PANDA + " jobStatus", "Status", codes="job_status"),
    Column("cause", "i1", "", PANDA + " error codes", "Why the attempt ended as it did", codes="cause"),
    Column("closed_by", "i1", "", "JEDI InputChunk", "Limit at which no further file was given to the job",
           codes="closed_by"),
    Column("fate", "i1", "", OURS, "What the dice say will happen to the payload", codes="cause", recorded=False,
           hidden=True),
    Column("server_attempt", "i1", "attempts", PANDA + " attemptNr", "Attempts that the server made here before"),
    Column("failures", "u1", "attempts", "JEDI_Dataset_Contents failedAttempt",
           "Earlier failures of the input that count for maxFailure", recorded=False),
    Column("attempt_limit", "u1", "attempts", "JEDI_Dataset_Contents maxAttempt",
           "Attempts that retry rules leave to the input; 0 = any number", zero_means="any", recorded=False),
    Column("ram_level", "i1", "", "JEDI_Dataset_Contents ramCount",
           "Place of the input's raised ramCount in the list of the retry module, from 1; 0 = not raised",
           zero_means="none", recorded=False),
))
"""Columns of a live job row."""

JOB_TIMES = tuple(f"{status.word}_s" for status in JobStatus)
"""Names of the transition times kept for each job, (n_status,), s since the scenario's start, NaN = never."""


TRACE_STATUS = ("failed", "completed", "partial", "last part, completed", "last part, failed", "cancelled")
"""Words of the status of a recorded job, by its number; source: formats reference, section 12."""

FIELD, CGSIM, PANDA_RECORD = "SWF and GWF", "CGSim", "PanDA job records"

TRACE = Table("trace", "one recorded job that is replayed", (
    Column("jeditaskid", "i8", "", "JEDI_Tasks jediTaskID", "Task that replays it"),
    Column("chunk", "i4", "", "JEDI input chunk", "Number among the recorded jobs of its task, counted from 0; that of "
           "the job in `jobs.parquet`"),
    Column("submitted_s", "f8", "s", FIELD + " submit time", "When it is submitted, from the start of the scenario"),
    Column("wait_s", "f8", "s", f"{FIELD} wait time, {CGSIM} job_queuetime, {PANDA_RECORD} startTime - creationTime",
           "From submission to start, as recorded; NaN = unknown, or with a time_scale other than 1 of another load",
           none=nan),
    Column("run_s", "f8", "s", f"{FIELD} run time, {PANDA_RECORD} endTime - startTime", "Recorded wall time"),
    Column("recorded_cputime_s", "f8", "s", f"{FIELD} CPU time used, {PANDA_RECORD} cpuConsumptionTime",
           "Recorded CPU time, all cores together; NaN = unknown", none=nan),
    Column("record", "i8", "", f"{FIELD} job number, {PANDA_RECORD} PandaID", "Number of the record; "
           "missing = it has a name", none=-1),
    Column("status", "i2", "", FIELD + " status", "Recorded end; missing = unknown", codes="trace_status", none=-1),
    Column("partition", "i4", "", f"{FIELD} partition, {CGSIM} and {PANDA_RECORD} computingsite",
           "Part of the machine, or site, in which it ran; missing = unknown",
           codes="partitions", none=-1),
    Column("batch_queue", "i4", "", FIELD + " queue", "Queue to which it was submitted; missing = unknown",
           codes="batch_queues", none=-1),
    Column("work_hs06s", "f8", "HS06 s", OURS, "CPU work", recorded=False, hidden=True),
    Column("input_bytes", "f8", "bytes", OURS, "Size of its input", recorded=False, hidden=True),
    Column("output_bytes", "f8", "bytes", OURS, "Size of its output", recorded=False, hidden=True),
    Column("maxpss_mb", "f4", "MB", FIELD + " used memory", "Memory used, all cores together", recorded=False,
           hidden=True),
    Column("cpu_efficiency", "f4", "", OURS, "CPU efficiency", recorded=False, hidden=True),
    Column("n_input_files", "i4", "files", OURS, "Files of its input", recorded=False, hidden=True),
))
"""Columns of a recorded job."""

TRACE_VOCABULARIES = ("partitions", "batch_queues")
"""Vocabularies that the trace fills."""


ALSO = {
    "pandaid": ("panda_id",), "jeditaskid": ("taskid", "jedi_task_id"), "starttime": ("start_time",),
    "endtime": ("end_time",), "creationtime": ("creation_time",), "durationsec": ("wall_time", "walltime"),
    "corewalltimesec": ("job_walltime",),
    "waittimesec": ("queue_time", "job_queuetime"), "computingsite": ("queue", "pandaqueue"), "jobstatus": ("status",),
    "corecount": ("actualcorecount",), "cpuconsumptiontime": ("cpu_time", "cputime"), "produsername": ("username",)}
"""Other names under which exports have a column, in the order in which they are looked for."""

TIMES = ("creationtime", "starttime", "endtime")
TEXTS = ("pandaid", "jeditaskid", "jobstatus", "computingsite", "gshare", "prodsourcelabel", "processingtype",
         "workinggroup", "produsername", "transformation", "jobname", "pilottiming")


def column(description: str) -> str | None:
    """A column of the records: by default the one with PanDA's name."""
    return Field(None, min_length=1, description=description)


class RecordColumns(Part):
    """Columns of a file of PanDA job records that do not have PanDA's names; upper and lower case are the same."""

    pandaid: str | None = column("Identifier of the job")
    creationtime: str | None = column("When the job was created, UTC or seconds since 1970")
    starttime: str | None = column("When it began to run")
    endtime: str | None = column("When it ended")
    durationsec: str | None = column("Wall time, s, of jobs without start or end")
    corewalltimesec: str | None = column("Wall time x cores, s, as CGSim has it; wins over start and end")
    waittimesec: str | None = column("Time from creation to start, s, of jobs without a start")
    jobstatus: str | None = column("Status: finished, failed, cancelled, closed; others have not ended")
    computingsite: str | None = column("PanDA queue where it ran")
    corecount: str | None = column("Cores; unknown or 0 = 1")
    cpuconsumptiontime: str | None = column("CPU time over all cores, s")
    hs06: str | None = column("Cores x HS06 per core of the slot")
    hs06sec: str | None = column("Wall time x cores x HS06 per core")
    work: str | None = column("CPU work, HS06 s, if the file has it")
    nevents: str | None = column("Events processed")
    jeditaskid: str | None = column("Task of JEDI")
    gshare: str | None = column("Global share, a leaf")
    prodsourcelabel: str | None = column("managed, user, ...")
    processingtype: str | None = column("Processing type")
    workinggroup: str | None = column("Working group")
    produsername: str | None = column("Owner, of which only a number is kept")
    transformation: str | None = column("Program; used for jobs without a jobname")
    jobname: str | None = column("Name of the job")
    assignedpriority: str | None = column("Priority at submission")
    currentpriority: str | None = column("Priority, of jobs without assignedpriority")
    minramcount: str | None = column("Memory asked for, MB")
    maxpss: str | None = column("Memory used, kB")
    inputfilebytes: str | None = column("Input, bytes")
    ninputdatafiles: str | None = column("Files of input")
    outputfilebytes: str | None = column("Output, bytes")
    pilottiming: str | None = column("getjob|stagein|payload|stageout|setup, s")
    timestagein: str | None = column("Stage-in, s, of jobs without pilottiming")
    timeexe: str | None = column("Payload, s, of jobs without pilottiming")
    timestageout: str | None = column("Stage-out, s, of jobs without pilottiming")
    piloterrorcode: str | None = column("Error of the pilot, 0 = none")
    exeerrorcode: str | None = column("Error of the payload, 0 = none")
    transexitcode: str | None = column("Exit code of the payload, 0 = none")


FIELDS = tuple(RecordColumns.model_fields)
"""PanDA's names of all columns that are read."""

NUMBERS = tuple(name for name in FIELDS if name not in (*TIMES, *TEXTS))
