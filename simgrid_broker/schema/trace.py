"""The sheet of a recorded job: what a trace says of it that a replay is compared with, in `trace.parquet`."""

from math import nan

from simgrid_broker.schema.column import Column, Table

TRACE_STATUS = ("failed", "completed", "partial", "last part, completed", "last part, failed", "cancelled")
"""Words of the status of a recorded job, by its number; source: formats reference, section 12."""

FIELD, CGSIM, PANDA = "SWF and GWF", "CGSim", "PanDA job records"
OURS = "simulator"

TRACE = Table("trace", "one recorded job that is replayed", (
    Column("jeditaskid", "i8", "", "JEDI_Tasks jediTaskID", "Task that replays it"),
    Column("chunk", "i4", "", "JEDI input chunk", "Number among the recorded jobs of its task, counted from 0; that of "
           "the job in `jobs.parquet`"),
    Column("submitted_s", "f8", "s", FIELD + " submit time", "When it is submitted, from the start of the scenario"),
    Column("wait_s", "f8", "s", f"{FIELD} wait time, {CGSIM} job_queuetime, {PANDA} startTime - creationTime",
           "From submission to start, as recorded; NaN = unknown, or with a time_scale other than 1 of another load",
           none=nan),
    Column("run_s", "f8", "s", f"{FIELD} run time, {PANDA} endTime - startTime", "Recorded wall time"),
    Column("recorded_cputime_s", "f8", "s", f"{FIELD} CPU time used, {PANDA} cpuConsumptionTime",
           "Recorded CPU time, all cores together; NaN = unknown", none=nan),
    Column("record", "i8", "", f"{FIELD} job number, {PANDA} PandaID", "Number of the record; missing = it has a name",
           none=-1),
    Column("status", "i2", "", FIELD + " status", "Recorded end; missing = unknown", codes="trace_status", none=-1),
    Column("partition", "i4", "", f"{FIELD} partition, {CGSIM} and {PANDA} computingsite",
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
