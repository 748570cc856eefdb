"""The sheets of tasks: their keys in a scenario and a snapshot, their columns in the world and in results.

One sheet each for tasks and for the split of their input into jobs.
"""

from functools import partial
from math import inf, nan
from typing import Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from simgrid_broker.names import MOST_FILES_OF_JOB, FullChain, InputLan, TaskStatus
from simgrid_broker.schema.attribute import Column, Table, attribute, columns_of, shown
from simgrid_broker.schema.part import (
    MOST_CORES_OF_JOB,
    Bytes,
    Fraction,
    LeafName,
    Megabytes,
    Part,
    QueueName,
    Seconds,
    SiteName,
    StorageName,
)

PARAMETER = "JEDI task parameter"
DATASET = "JEDI_Datasets"
CONTENTS = "JEDI_Dataset_Contents"

size = partial(attribute, 0, ge=0, zero_means="not given", source=PARAMETER, dtype="i4")


class SplitParameters(Part):
    """Task parameters by which input is split into jobs; of the targets of a job's size the first given counts.

    Their order is nEventsPerJob, nFilesPerJob, nGBPerJob, tgtNumEventsPerJob, tgtMaxOutputForNG (lifecycle reference,
    section 2.6).
    """

    nEventsPerJob: int = size("Most events of a job; below those of a file, files are split", unit="events")
    nFilesPerJob: int = size("Master files of a job", le=MOST_FILES_OF_JOB, unit="files")
    nMaxFilesPerJob: int = size("Most master files of a job (maxNumFilesPerJob)", zero_means="200", unit="files",
                                le=MOST_FILES_OF_JOB)
    tgtNumEventsPerJob: int = size("Events of a job that are aimed at: files with more are split evenly",
                                   unit="events")
    nGBPerJob: float = size("Most input, output and work space of a job, GB", unit="GB", dtype="f4")
    tgtMaxOutputForNG: float = size("Largest output of a job that is aimed at through nGBPerJob, GB", unit="GB",
                                    dtype="f4")
    maxWalltime: float = size("Longest job, h", zero_means="as long as the queue allows", unit="h", dtype="f4")
    groupBoundaryID: int = size("How files are kept by boundaryID: 1 and 2, or true, no job has files of two; 3 and 4, "
                                "each job has all files of one, whatever other limits say; 2 and 4 also map the "
                                "output, which has no effect here", zero_means="not at all", le=4, dtype="i1")


SPLITTING = Table("splitting", "how the input of one task is split", (
    Column("jeditaskid", "i8", "", "JEDI_Tasks jediTaskID", "Task"),
    Column("file_bytes", "f8", "bytes", CONTENTS + " fsize", "Mean size of a master file"),
    Column("secondary_bytes", "f8", "bytes", CONTENTS + " fsize", "Size of a secondary file"),
    Column("output_bytes_per_event", "f8", "bytes", PARAMETER + " outDiskCount", "Output of one event"),
    Column("n_files", "i4", "files", DATASET + " nFiles", "Master files; 0 = all jobs of the task have one size"),
    Column("events_per_file", "i4", "events", CONTENTS + " nEvents", "Mean number of events of a master file"),
    Column("events_per_piece", "i4", "events", PARAMETER + " nEventsPerJob",
           "Events of the pieces into which files are split; 0 = files stay whole"),
    Column("across_files", "i1", "", "JEDI TWiki, event-level splitting", "1 if a piece may begin in one file and end "
           "in the next"),
    Column("events_spread", "f4", "", "simulator", "Sigma of the spread of events between files"),
    Column("size_spread", "f4", "", "simulator", "Sigma of the spread of sizes of files of equal events"),
    Column("secondary_ratio", "f4", "files", DATASET + " attributes ratio", "Secondary files for each master file"),
    Column("files_per_lumiblock", "i4", "files", CONTENTS + " lumiBlockNr",
           "Files of a lumi block that are kept apart from others; 0 = none are"),
    Column("files_per_boundary", "i4", "files", CONTENTS + " boundaryID",
           "Files of a boundaryID, if groupBoundaryID is given; 0 = files have none"),
    Column("secondaries", "i2", "", "simulator", "List of the secondary datasets with replicas of their own that its "
           "jobs read; 0 = none", zero_means="none", recorded=False),
    *columns_of(SplitParameters),
))
"""Columns of a row of splitting; every task of a world has one, those with files are recorded."""


JEDI = "JEDI_Tasks"
OURS = "simulator"

RAM_UNITS = ("MB", "MBPerCore", "MBPerCoreFixed")
"""Units of `ramcount`; source: lifecycle reference, section 1.5."""

N_REPLICAS = 4
"""Sites at which the input of a task may be found."""

CONNECTIVITIES, IP_STACKS = ("", "full", "http", "none"), ("", "IPv4", "IPv6")
"""Outbound networks and IP stacks; source: PanDA brokerage documentation, production job brokerage, step 2."""

number = partial(attribute, source=PARAMETER, dtype="i2")
claim = partial(number, zero_means="no claim", unknown=True, ge=0, seen="f8")
flag = partial(attribute, False, source=PARAMETER, dtype="i1", seen="?", recorded=False)
word = partial(attribute, source=JEDI, dtype="i2")


class TaskParameters(Part):
    """Parameters of every task of a workload and of a snapshot; both brokers read them."""

    prodsourcelabel: str = word("managed", "managed and test are production, user and panda analysis",
                                column="label", codes="labels", source=JEDI + " prodSourceLabel", seen="U",
                                seen_as="prodsourcelabel")
    processingtype: str = word("simul", "Kind of payload, as rules and shares address it", column="processing_type",
                               codes="processing_types", source=JEDI + " processingType", seen="U",
                               seen_as="processingtype")
    workinggroup: str = word("", "Working group, for shares and zero share", column="working_group",
                             codes="working_groups", source=JEDI + " workingGroup", seen="U", seen_as="workinggroup")
    campaign: str = word("", "Campaign, for shares", codes="campaigns")
    vo: str = word("atlas", "Virtual organisation: with prodsourcelabel it chooses the post-processor, which ends the "
                   "task; of others than atlas it is the general one", codes="vos", source=JEDI + " vo", recorded=False)
    transpath: str = word("", "Transformation, for shares", codes="transpaths", source=JEDI + " transPath")
    requesttype: str = word("", "Kind of request, by which tasks that fail too often are paused together (documented)",
                            codes="request_types", source=JEDI + " requestType", recorded=False)
    gshare: LeafName | None = word(None, "Leaf share; default: found by the regular expressions of the tree",
                              column="share", codes="shares", none=-1, seen="i8")
    priority: int = number(500, "Priority within the share", ge=-10000, le=10000, dtype="i4",
                           source=JEDI + " currentPriority", seen="i8", seen_as="currentpriority")
    corecount: int = number(8, "Cores asked for", zero_means="any", ge=0, le=MOST_CORES_OF_JOB, unit="cores",
                            source=PARAMETER + " coreCount", seen="i8")
    events_per_job: int = number(1000, "Events of a job, or of a piece of input on average", ge=1, unit="events",
                                 column="n_events_per_job", dtype="i4", source=PARAMETER + " nEventsPerJob")
    basewalltime: Seconds = number(600, "Wall time beside the events, s", ge=0, unit="s", dtype="f4",
                                   source=PARAMETER + " baseWalltime", seen="f8")
    ramunit: Literal["MB", "MBPerCore", "MBPerCoreFixed"] = number(
        "MBPerCore", "What `ramcount` counts: a job or a core; Fixed: the task's own stays as it is",
        codes="ramunits", code=RAM_UNITS.index, source=PARAMETER + " ramUnit", seen="U")
    baseramcount: Megabytes = number(0, "Memory added once per job, MB", ge=0, unit="MB", column="baseramcount",
                                     source=PARAMETER + " baseRamCount", dtype="f4", seen="f8")
    workdiskcount: Megabytes | None = number(
        500, "Scratch beside input and output, MB; null = not said", ge=0, unit="MB", dtype="f4",
        source=PARAMETER + " workDiskCount", none=nan)
    files_per_job: int = number(1, "Input files of a job, or of a piece of input", ge=0, unit="files", dtype="i4",
                                column="n_input_files", source=PARAMETER + " nFilesPerJob")
    cpuefficiency: float = claim(90, "CPU efficiency that the task claims, %", le=100, unit="%",
                                 source=PARAMETER + " cpuEfficiency", dtype="f4")
    diskIO: float = claim(0, "Disk traffic of a job, kB/s", unit="kB/s", dtype="f4", source=JEDI)

    architecture: str = word("", "Platform, base image, CPU and GPU asked for, as a string "
                             "(`x86_64-el9-gcc13-opt#x86_64&nvidia:vram>=40960`) or JSON", codes="architectures",
                             seen="U")
    transhome: str = word("", "Release such as Athena-24.0.5, or nightly; without one the deployed edition asks for no "
                          "software or hardware at all", codes="transhomes", source=JEDI + " transHome", seen="U")
    container_name: str = word("", "Fat container in which the payload runs", codes="container_names", seen="U")
    onlyTagsForFC: bool = flag("Whether the container must be among the published tags", column="only_tags_for_fc")

    site: tuple[QueueName, ...] = word((), "PanDA queues to which all jobs go; default: brokerage finds them",
                                 column="preassigned", codes="preassigned", code=",".join)
    maxCoreCount: int = number(0, "Most cores of a slot", zero=inf, none=inf, ge=0, le=MOST_CORES_OF_JOB,
                             unit="cores", dtype="f4", seen="f8", recorded=False)
    walltime: float = claim(0, "Wall time of a MiB of input, s, claimed instead of CPU time", unit="s/MiB",
                            zero_means="CPU time is claimed", column="walltime_s_per_mib", dtype="f4", recorded=False)
    allowInputLAN: Literal["use", "only"] | None = number(
        "use", "Whether jobs may or must read from the storage where a queue can; null = brokerage counts on copies",
        codes="input_lan", code=lambda word: InputLan.of(word or "none"), dtype="i1", seen="U", recorded=False)
    allowInputWAN: bool = flag("Whether jobs of production read input that is not at their site from other sites while "
                               "they run, at queues with `direct_access_lan` and `direct_access_wan`, instead of "
                               "waiting until it is moved", seen="")
    useLocalIO: bool = flag("Brokerage counts on copies of the input in any case")
    ipConnectivity: str = number("", "Outbound network that jobs need: full, http or none, and behind `#` the IP "
                                 "stack, such as http#IPv4", codes="connectivities", dtype="i1", seen="U",
                                 recorded=False)
    mergeOutput: bool = flag("Output is merged at the site where it was made before it goes to the nucleus; jobs do "
                             "not wait at inactive queues", seen_as="merge_output")
    eventService: bool = flag("Brokerage picks queues for event service, for nEventsPerWorker", source=JEDI,
                              dtype="i2", seen_as="event_service", recorded=True)
    nEsConsumers: int = number(1, "Jobs of event service that share the events of an input", none=1, ge=1,
                               le=100, column="n_es_consumers", dtype="i1", seen="i8", recorded=False)
    maxAttemptEsJob: int = number(0, "Retries of consumers that leave events", zero=2, none=2, zero_means="2", ge=0,
                                  column="max_attempt_es", seen="i8", recorded=False)
    nJumboJobs: int = number(0, "Jumbo jobs of a task of event service, which process events of all its inputs",
                             ge=0, unit="jobs", column="n_jumbo_jobs", recorded=False)
    minGranularity: int = number(0, "Fewest events of a job, for brokerage, where the number of events is dynamic",
                                 zero_means="it is fixed", unknown=True, ge=0, unit="events", dtype="i4",
                                 seen="f8", seen_as="min_granularity", recorded=False)
    maxEventsPerJob: int | None = number(None, "Most events of a job whose number of events is dynamic; default: open",
                                         none=inf, ge=1, le=10**7, unit="events", dtype="f4",
                                         seen="f8", seen_as="max_events_per_job", recorded=False)

    goal: int | None = number(None, "Part of the input that has to be processed, per mille, from which on the task "
                              "is finished (deployed); default: not set, which "
                              "failGoalUnreached takes for 1000 and useExhausted for never reached (documented: "
                              "1000)", none=-1, ge=0, le=1000, unit="per mille", source=JEDI + " goal",
                              recorded=False)
    failGoalUnreached: bool = flag("A task that would be finished below its goal fails", column="fail_goal_unreached")
    noAutoPause: bool = flag("A task that fails too often is not paused (documented), or alone may be (deployed)",
                             column="no_auto_pause")

    @field_validator("ipConnectivity")
    @classmethod
    def network_and_stack(cls, value: str) -> str:
        """Refuse a network or an IP stack that no queue has."""
        network, _, stack = value.partition("#")
        if network not in CONNECTIVITIES or stack not in IP_STACKS:
            raise ValueError("expected full, http or none, and behind # the IP stack, IPv4 or IPv6, such as http#IPv4")
        return value

    @model_validator(mode="after")
    def parts_of_event_service(self, info: ValidationInfo) -> "TaskParameters":
        """Refuse parameters of event service without it, and a largest number of events below the smallest.

        PanDA has no such relation between numbers of events, nor has a lenient snapshot.
        """
        if not self.eventService and (self.nEsConsumers > 1 or self.maxAttemptEsJob):
            raise ValueError("nEsConsumers and maxAttemptEsJob need eventService: true")
        if info.context is None and self.maxEventsPerJob is not None and self.maxEventsPerJob < self.minGranularity:
            raise ValueError(f"maxEventsPerJob must not be below minGranularity, {self.minGranularity}")
        return self


class Chain(Part):
    """The place of a task in a chain: its nucleus, and whether it wants a bare one."""

    nucleus: SiteName | None = word(None, "Site that collects the output; default: brokerage finds one", codes="sites",
                               none=-1, seen="i8")
    fullChain: Literal["only", "require", "capable"] | None = number(
        None, "Whether the task wants a bare nucleus; default: it is a normal task",
        codes="full_chain", code=lambda word: FullChain.of(word or "none"), seen="i8")


class ProductionParameters(Chain):
    """Parameters that only production brokerage reads."""

    t1Weight: int = number(0, "Weight of the nucleus; negative = jobs stay there", ge=-1000, le=1000, seen="i8",
                           recorded=False)
    inputPreStaging: bool = flag("Data carousel: input on tape is staged before it is read")
    useExhausted: bool = flag("A task that would be finished, but has not reached its goal, is exhausted, and waits "
                              "for a command or the end of `agents.exhausted`", column="use_exhausted", seen="")
    taskBrokerOnMaster: bool = flag("Task brokerage looks at the primary dataset alone", seen="")
    secondary_input: Fraction = number(0, "Part of the input that belongs to secondary datasets", source=OURS,
                                       column="secondary_fraction", dtype="f8", recorded=False)


class TaskClaims(ProductionParameters, TaskParameters):
    """A task with all that it claims: what a scenario draws for each task of a stream, a snapshot says."""

    name: str = word("task", "Name, or the campaign from which the task stems", dtype="i4", codes="task_names",
                     source=JEDI + " taskName")
    username: str = word("", "Owner", column="user", dtype="i4", codes="users", source=JEDI + " userName")
    n_jobs: int = number(..., "Jobs of the task, if none fails, or pieces of input from which jobs are cut: files, or "
                         "parts of files", ge=1, unit="jobs", dtype="i4", source=JEDI + " nFiles")
    n_finished: int = number(0, "Jobs or pieces that are done", ge=0, unit="jobs", dtype="i4",
                             source=JEDI + " nFilesFinished")
    n_failed: int = number(0, "Jobs or pieces that used up their attempts", ge=0, unit="jobs", dtype="i4",
                           source=JEDI + " nFilesFailed")
    cputime: float = claim(0, "CPU work of one event that the task claims, HS06 s", unit="HS06 s",
                           source=PARAMETER + " cpuTime", dtype="f8")
    ramcount: Megabytes = claim(0, "Memory asked for, MB in `ramunit`", unit="MB", source=PARAMETER + " ramCount",
                                column="ramcount", dtype="f4")
    iointensity: float = claim(0, "Input and output rate of the payload, kB/s per core", zero_means="unknown",
                               unit="kB/s", source=PARAMETER + " ioIntensity", dtype="f4")
    input_per_job: Bytes = number(0, "Input of one job, or of a piece on average, bytes", ge=0, unit="bytes",
                                  column="input_bytes_per_job", dtype="f8", source="JEDI_Dataset_Contents fsize")
    output_per_job: Bytes = number(0, "Output of one job, or of a piece on average, bytes", ge=0, unit="bytes",
                                   column="output_bytes_per_job", dtype="f8", source=PARAMETER + " outDiskCount")


AS_PRIORITY = -2**31
"""Priority as submitted of a task that says no other than its current one."""

STATE = (
    Column("jeditaskid", "i8", "", JEDI + " jediTaskID", "Identifier, counted from 1 in order of arrival",
           seen="i8"),
    Column("luck", "i8", "", OURS, "Key of the task's random draws: a hash of the name of its stream and of its number "
           "in it, so the same whatever other tasks there are", recorded=False, seen="i8"),
    Column("n_nuclei", "i2", "", OURS, "Nuclei that the task has had; it numbers the draws of a nucleus",
           recorded=False),
    Column("arrival_s", "f8", "s", JEDI + " creationDate", "When the task was submitted"),
    Column("modification_s", "f8", "s", JEDI + " modificationTime", "Last change", recorded=False),
    Column("taskpriority", "i4", "", JEDI + " taskPriority", "Priority as submitted", recorded=False, none=AS_PRIORITY),
    Column("frozen_s", "f8", "s", JEDI + " frozenTime", "Since when brokerage has failed; NaN = it has not",
           recorded=False, none=nan),
    Column("work_hs06s_per_event", "f8", "HS06 s", OURS, "True mean CPU work of one event", hidden=True),
    Column("work_spread", "f4", "", OURS, "Sigma of the log-normal spread of work between jobs", hidden=True),
    Column("memory_spread", "f4", "", OURS, "Sigma of the log-normal spread of memory between jobs", hidden=True),
    Column("maxpss_mb", "f4", "MB", OURS, "True median memory of a job, all cores together", hidden=True),
    Column("cpu_efficiency", "f4", "", OURS, "True CPU efficiency of the payload", hidden=True),
    Column("failed_cpu_efficiency", "f4", "", OURS, "True CPU efficiency of attempts that fail before their work is "
           "done", hidden=True, recorded=False),
    Column("failure_rate", "f4", "", OURS, "True probability that a payload fails of itself; "
           "NaN = a recorded job, which fails neither of itself nor for its site", hidden=True),
    Column("memory_kills", "f4", "", OURS, "Part of these failures in which a payload exceeds its memory",
           hidden=True, recorded=False),
    Column("n_output_files", "i1", "files", OURS, "Output files of a job, its log among them", none=1, hidden=True,
           recorded=False),
    Column("first_record", "i4", "", OURS, "Row of its first job in the table of recorded jobs, if it has any",
           recorded=False),
    Column("next_chunk", "i4", "", OURS, "First chunk for which no job was ever made", recorded=False),
    Column("n_retry", "i4", "chunks", OURS, "Runs of pieces that await another attempt", recorded=False),
    Column("n_alive", "i4", "jobs", OURS, "Jobs that are alive", recorded=False),
    Column("n_attempts", "i4", "jobs", JEDI, "Jobs ever made"),
    Column("max_attempt", "i2", "", PARAMETER + " maxAttempt", "Attempts that each input has"),
    Column("max_failure", "i2", "", PARAMETER + " maxFailure", "Attempts of an input that may fail; 0 = not set",
           zero_means="unlimited"),
    Column("server_retries", "i1", "attempts", "PanDA maxAttempt of analysis jobs",
           "Failures after which the server itself tries again at the same queue, before JEDI does", recorded=False),
    Column("resource_type", "i2", "", JEDI + " resource_type", "Resource type", codes="resource_types", none=-1,
           seen="i8"),
    Column("work_queue", "i2", "", JEDI + " workQueue_ID", "Work queue, if not of the share tree; -1 = none",
           codes="work_queues", none=-1),
    Column("retry_class", "i2", "", OURS, "Row of the table of what the retry module does", recorded=False),
    Column("status", "i2", "", JEDI + " status", "Status", codes="task_status"),
    Column("old_status", "i1", "", JEDI + " oldStatus", "Status before pending", codes="task_status", recorded=False),
    Column("failed_attempts", "i4", "jobs", OURS, "Attempts that ended failed"),
    Column("lost_walltime_s", "f8", "core s", OURS, "Wall time x cores of attempts that did not finish"),
    Column("used_hs06s", "f8", "HS06 s", OURS, "Wall time x power of the slot, all attempts"),
    Column("priority_boost", "i4", "", "PanDA USER_JOB_PRIO_BOOST_DICTS", "What the priority of the jobs is raised by, "
           "whatever jobs the user has; 0 = nothing", zero_means="none", recorded=False),
    Column("throttled_total_s", "f8", "s", JEDI + " throttledTime", "Time that the task has been throttled, before the "
           "last time if it still is"),
    Column("throttled_by", "i1", "", "lifecycle reference, 2.10", "Why it was throttled last", codes="throttled_by"),
    Column("user_row", "i4", "", OURS, "Row of its user and share in `user_jobs`, plus 1; 0 = it is not analysis",
           zero_means="none", recorded=False),
    Column("user_parameters", "i2", "", PARAMETER, "What only analysis brokerage reads, as JSON; empty = nothing",
           codes="user_parameters", recorded=False, seen="U"),
    Column("memory_leak_core", "f4", "kB/s per core", JEDI + " memory_leak_core",
           "Mean memory leak that its jobs reported; null = not measured", none=nan),
    Column("memory_leak_x2", "f4", "", JEDI + " memory_leak_x2", "Mean chi2 of the fit of these; null = not measured",
           none=nan),
    Column("mergeramcount", "f4", "MB", JEDI + " mergeRamCount", "Memory that its merge jobs need; null = not measured",
           none=nan),
    Column("mergewalltime", "f4", "s/MiB", JEDI + " mergeWalltime", "CPU time of its merge jobs by MiB of input, with "
           "a margin; null = not measured", none=nan),
    Column("parent", "i8", "", JEDI + " parent_tid", "jeditaskid of the task that makes the input; 0 = none",
           zero_means="none"),
    Column("errordialog", "i2", "", JEDI + " errorDialog",
           "Rule that left no candidate at its last brokerage: its tag, with its name where several share the tag; or "
           "what scouts stopped it for", codes="reasons", none=-1),
)
"""Columns that arrival and run fill."""

ORDER = (
    "jeditaskid arrival_s work_hs06s_per_event cputime input_bytes_per_job output_bytes_per_job "
    "work_spread memory_spread maxpss_mb cpu_efficiency failure_rate ramcount baseramcount "
    "workdiskcount_mb iointensity diskio cpuefficiency basewalltime_s n_jobs n_events_per_job "
    "n_input_files n_finished n_failed n_attempts priority name user max_attempt max_failure corecount "
    "share resource_type processing_type label working_group campaign transpath ramunit work_queue "
    "nucleus status failed_attempts user_parameters allowinputwan old_status lost_walltime_s used_hs06s parent "
    "fullchain architecture transhome container_name preassigned eventservice errordialog "
).split()
"""Columns with which a row begins, in the order of `tasks.parquet`; all others follow. old_status, which is not
recorded, stands here so that no byte is lost before a column of eight."""


def _place(column: Column) -> tuple[int, str]:
    """Where a column stands in a row: the others by the size of their type, so that little is wasted."""
    return (ORDER.index(column.name), "") if column.name in ORDER else (len(ORDER), column.dtype[1:])


TASKS = Table("tasks", "one JEDI task", tuple(sorted((*STATE, *columns_of(TaskClaims)), key=_place)))

VOCABULARY_OF = {column.name: column.codes for column in TASKS.columns
                 if column.of and column.codes not in (None, "shares", "sites", "ramunits", "input_lan", "full_chain")
                 } | {"user_parameters": "user_parameters"}
"""Column of a task to the vocabulary of its texts, which grows by those that tasks have."""

TASK_TIMES = tuple(f"{status.word}_s" for status in TaskStatus)
"""Names of the times at which a task last entered each status, (n_task_status,), s, NaN = never."""


class BrokerParameters(Part):
    """Parameters of a task of a user for analysis brokerage, in PanDA's names."""

    includedSite: tuple[str, ...] | None = shown(None, "PanDA queues to which the task goes, `*` is any text, AUTO "
                                                 "lets others in if none is left; default: all")
    excludedSite: tuple[str, ...] = shown((), "PanDA queues to which it does not go, `*` is any text")
    siteEndpoint: StorageName | None = shown(None, "DDM endpoint given as `site`: the task goes to the queues that "
                                             "read it", codes="storages", none=-1)
    transUses: str | None = shown(None, "Release that the user's software builds on; default: not said")
    cloud: str = shown("", "Cloud of the queues; empty or any = every cloud")
    avoidVP: bool = shown(False, "Whether jobs avoid queues of virtual placement", seen_as="avoid_vp")
    nSitesPerJob: int = shown(1, "PanDA queues that get a clone of each job", ge=1, seen_as="n_sites_per_job")
    allowIncompleteInDS: bool = shown(False, "Whether the input may be incomplete", seen_as="allows_incomplete")

    @field_validator("includedSite", "excludedSite")
    @classmethod
    def patterns_are_named(cls, patterns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Refuse an empty pattern, which matches nothing."""
        if any(not pattern for pattern in patterns or ()):
            raise ValueError("expected names of PanDA queues, in which * is any text")
        return patterns

    def word(self) -> str:
        """The parameters that differ from the default, as JSON; empty if none does."""
        mine = {name: getattr(self, name) for name, field in UserParameters.model_fields.items()
                if getattr(self, name, field.default) != field.default}
        return UserParameters(**mine).model_dump_json(exclude_defaults=True) if mine else ""


class UserParameters(BrokerParameters):
    """Parameters of a task of a user, and what is true of its build jobs."""

    buildSpec: bool = Field(False, description="Whether a build job makes a library of the user's software at each "
                            "site first, for which the jobs there wait")
    build_hs06sec: float = Field(4000, ge=0, description="True wall time x cores x HS06 of a build job; the default is "
                                 "an assumption")
    build_size: Megabytes = Field(0, ge=0, description="Size of the library that a build job makes, MB; scouts raise "
                                  "workdiskcount to it")
    build_memory: Megabytes = Field(1000, gt=0, description="True memory of build jobs, MB")
    build_failure_rate: Fraction = Field(0, description="Payload failures of build jobs")

    @model_validator(mode="after")
    def parts_of_building(self) -> Self:
        """Refuse figures of build jobs where nothing is built."""
        given = [name for name, field in UserParameters.model_fields.items()
                 if name.startswith("build_") and getattr(self, name) != field.default]
        if given and not self.buildSpec:
            raise ValueError(f"{', '.join(given)}: build jobs need buildSpec: true")
        return self

    @classmethod
    def of_word(cls, word: str) -> Self:
        """The parameters behind a word."""
        return cls.model_validate_json(word) if word else cls()


def builds_library(word: str) -> bool:
    """True if the task of a word has a build step."""
    return UserParameters.of_word(word).buildSpec


def changed(word: str, sites: dict[str, tuple[str, ...]]) -> str:
    """The word of a task whose lists of queues, by key, have been replaced."""
    return UserParameters.of_word(word).model_copy(update=sites).word()
