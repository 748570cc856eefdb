"""The sheet of a recorded job: what a trace says of it that a replay is compared with, in `trace.parquet`."""

from math import nan

from simgrid_broker.schema.column import Column, Table

TRACE_STATUS = ("failed", "completed", "partial", "last part, completed", "last part, failed", "cancelled")
"""Words of the status of a recorded job, by its number; source: formats reference, section 12."""

FIELD = "SWF and GWF"

TRACE = Table("trace", "one recorded job that is replayed", (
    Column("jeditaskid", "i8", "", "JEDI_Tasks jediTaskID", "Task that replays it"),
    Column("wait_s", "f8", "s", FIELD + " wait time", "From submission to start, as recorded; NaN = unknown", none=nan),
    Column("run_s", "f8", "s", FIELD + " run time", "Recorded wall time"),
    Column("status", "i2", "", FIELD + " status", "Recorded end; missing = unknown", codes="trace_status", none=-1),
    Column("partition", "i4", "", FIELD + " partition", "Part of the machine in which it ran; missing = unknown",
           codes="partitions", none=-1),
    Column("batch_queue", "i4", "", FIELD + " queue", "Queue to which it was submitted; missing = unknown",
           codes="batch_queues", none=-1),
))
"""Columns of a recorded job."""

TRACE_VOCABULARIES = ("partitions", "batch_queues")
"""Vocabularies that the trace fills."""
