"""The columns of PanDA job records that are read, under PanDA's names. Source: formats reference, section 9."""

from pydantic import Field

from simgrid_broker.schema.part import Part

ALSO = {
    "pandaid": ("panda_id",), "jeditaskid": ("taskid", "jedi_task_id"), "starttime": ("start_time",),
    "endtime": ("end_time",), "creationtime": ("creation_time",), "durationsec": ("wall_time", "walltime"),
    "waittimesec": ("queue_time",), "computingsite": ("queue", "pandaqueue"), "jobstatus": ("status",),
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
    piloterrorcode: str | None = column("Error of the pilot, 0 = none")
    exeerrorcode: str | None = column("Error of the payload, 0 = none")
    transexitcode: str | None = column("Exit code of the payload, 0 = none")


FIELDS = tuple(RecordColumns.model_fields)
"""PanDA's names of all columns that are read."""

NUMBERS = tuple(name for name in FIELDS if name not in (*TIMES, *TEXTS))
