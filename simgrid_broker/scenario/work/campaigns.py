"""The workload as a user writes it: production campaigns, groups of users, a recorded trace, tests, and accounts.

Work is written as PanDA counts it in `hs06sec`: wall time x cores x HS06 per core (workload statistics, section 5.5),
because that is what is published. The CPU work of the payload is that times the CPU efficiency. No public source gives
periods and thresholds of functional tests, jobs that are sent to every queue as HammerCloud does: all are assumed.
"""

import math
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PrivateAttr, model_validator

from simgrid_broker.names import CORES_OF_ANY, MOST_FILES_OF_JOB
from simgrid_broker.scenario.work.event_rule import EventRule
from simgrid_broker.scenario.work.input_files import (
    OF_OWN_INPUT,
    BytesSpread,
    FractionSpread,
    MegabytesSpread,
    NumberSpread,
    OpenInput,
    Replicas,
    SplitRule,
    Spread,
)
from simgrid_broker.schema.jobs import RecordColumns
from simgrid_broker.schema.part import (
    MOST_CORES_OF_JOB,
    ActsIn,
    Bytes,
    CampaignName,
    ContainerName,
    DatasetName,
    Fraction,
    LeafName,
    Megabytes,
    Part,
    Seconds,
    StorageName,
    WorkQueueName,
)
from simgrid_broker.schema.tasks import ProductionParameters, TaskParameters, UserParameters


class FunctionalTests(Part):
    """Test jobs for every queue, and the status that a queue gets by their outcome; off unless there is a period."""

    period: Seconds | None = Field(None, ge=60, description="Time between two tests of a queue, assumed; default: no "
                                   "tests")
    walltime: Seconds = Field(600, gt=0, description="Wall time of a test at 10 HS06 per core, assumed")
    gshare: LeafName | None = Field(None, description="Leaf share of the tests; default: Test if there is one, else "
                                    "the first leaf")
    failures: int = Field(3, ge=1, description="Tests in a row that fail before a queue that is online is set to test, "
                          "assumed")
    successes: int = Field(3, ge=1, description="Tests in a row that succeed before such a queue is online; assumed")
    look: Seconds = Field(600, ge=1, description="Period of looking at the outcome of tests, assumed")


class ScoutRule(Part):
    """Task parameters of scouts, in PanDA's names."""

    useScout: bool = Field(False, description="Ten scouts measure the tasks first: what they find replaces the claims, "
                           "or exhausts or breaks the task; without scouts the claims of the stream stay")
    skipScout: bool = Field(False, description="No scouts after all; of analysis only tasks with a working group may")
    scoutSuccessRate: int | None = Field(None, ge=0, le=10, description="Tenths of the scouts that must succeed; "
                                         "default: one of them, in the deployed edition 5")
    minCpuEfficiency: float = Field(0, ge=0, le=100, description="Median CPU efficiency of the scouts, %, below which "
                                    "the deployed edition exhausts a task; 0 = none")
    memory_leak: float = Field(0, ge=0, description="Memory leak that jobs report, kB/s; scouts measure it per core")
    memory_leak_x2: float = Field(0, ge=0, description="Chi2 of the fit of the leak that every job reports")
    disk_traffic: float | None = Field(None, ge=0, description="Disk traffic that every job reports (totRBYTES and "
                                       "totWBYTES over its wall time), kB/s; scouts measure it as diskIO; default: "
                                       "that of `diskIO`")
    workDirSize: Megabytes = Field(0, ge=0, description="Size of the work directory that every job reports, MB; scouts "
                                   "raise workdiskcount to it; 0 = not reported")

    @model_validator(mode="after")
    def scouts_are_used(self) -> "ScoutRule":
        """Refuse parameters of scouts, and reports that only scouts read, without useScout."""
        given = [name for name, field in ScoutRule.model_fields.items() if getattr(self, name) != field.default]
        if given and not self.useScout:
            raise ValueError(f"{', '.join(given)}: scouts need useScout: true")
        return self


class MergeRule(Part):
    """Rules by which unmerged output goes into merge jobs, in PanDA's task parameters; all of mergeOutput: true."""

    nFilesPerMergeJob: int = Field(0, ge=0, le=MOST_FILES_OF_JOB, description="Unmerged files of a merge job; 0 = not "
                                   "given")
    nMaxFilesPerMergeJob: int = Field(0, ge=0, le=MOST_FILES_OF_JOB, description="Most unmerged files of a merge job, "
                                      "where nFilesPerMergeJob is not given; 0 = 50")
    nGBPerMergeJob: float = Field(0, ge=0, description="Largest output of a merge job, GB; 0 = 5")
    nEventsPerMergeJob: int = Field(0, ge=0, description="Most events of a merge job; 0 = any")
    mergeCoreCount: int = Field(0, ge=0, le=MOST_CORES_OF_JOB, description="Cores that merge jobs ask for; 0 = as the "
                                "others")
    mergeRamCount: Megabytes = Field(0, ge=0, description="Memory that merge jobs ask for, MB of a whole job; less "
                                     "than 2000 counts as that, 0 = not given")
    merge_hs06sec_per_gb: float = Field(100, ge=0, description="True wall time x cores x HS06 of merging a GB")
    merge_memory: Megabytes = Field(1000, gt=0, description="True memory of merge jobs, MB")
    merge_failure_rate: Fraction = Field(0.02, description="Payload failures of merge jobs")


class Payload(SplitRule, ScoutRule, MergeRule, EventRule, TaskParameters):
    """The jobs of a task: their names for the tagging of shares, their claims, and their true figures."""

    READ_ALONE: ClassVar[frozenset[str]] = frozenset()
    """Parameters of event service that are also read of tasks without it."""
    _shared_files: float | None = PrivateAttr(None)       # mean files of the shared datasets that the tasks read
    _datasets: int = PrivateAttr(1)                       # number of those of a task

    name: str = Field(min_length=1, description="Name of the stream; it keys the random draws of its tasks")
    source: str = Field("", description="Where the figures come from, or which of them are assumptions")
    workQueueName: WorkQueueName | None = Field(None, description="Work queue; default: by the criteria of the queues")

    jobs_per_task: NumberSpread = Field(NumberSpread(median=100), description="Jobs of a task, if none fails; 1 to "
                                       "10 million")
    hs06sec_per_event: Spread = Field(description="Median and spread over tasks of wall time x cores x HS06, per event")
    work_spread: float = Field(0.3, ge=0, le=3, description="Sigma of the log-normal spread between jobs of a task")
    cpu_efficiency: Fraction = Field(0.85, gt=0, description="True CPU time / (wall time x cores)")
    failed_cpu_efficiency: Fraction = Field(0.26, description="The same of attempts that fail before their work is "
                                            "done, but not at the wall-time limit")
    cputime_ratio: Spread = Field(Spread(median=1), description="Claimed over true CPU work per event; 0 = no claim")

    ramcount: Megabytes | None = Field(None, ge=0, description="Memory asked for, MB in `ramunit`; 0 = no claim; "
                                       "default: what scouts of the task would measure")
    memory_per_core: MegabytesSpread = Field(MegabytesSpread(median=1000), description="True memory over tasks, MB")
    memory_spread: float = Field(0.1, ge=0, le=2, description="Sigma of the spread of memory between jobs of a task")

    input_per_event: Bytes = Field(0, ge=0, description="Input that belongs to an event, bytes")
    input_per_job: BytesSpread = Field(BytesSpread(median=0), description="Input not of events, over tasks")
    output_per_event: Bytes = Field(0, ge=0, description="Output that belongs to an event, bytes")
    output_per_job: BytesSpread = Field(BytesSpread(median=0), description="Output not of events, over tasks")
    output_files_per_job: int = Field(1, ge=1, le=100, description="Output files of a job, its log among them")
    replicas: Replicas = Field(Replicas(), description="Where the input lies")
    dataset: DatasetName | None = Field(None, description="Dataset of `data` that every task reads: the size of the "
                                        "input, and where it lies, follow; each job reads files_per_job of its files")
    container: ContainerName | None = Field(None, description="Container of `data`; each task reads one of its "
                                            "datasets, drawn by popularity, or with whole_container all of them")
    whole_container: bool = Field(False, description="Each task reads all datasets of the `container`, whose jobs are "
                                  "brokered dataset by dataset, as for an input container in JEDI")
    datasets: tuple[DatasetName, ...] = Field((), description="Master datasets of `data`, of which every task reads "
                                              "all, one after the other; each job reads one of them")
    iointensity: float | None = Field(None, ge=0, description="kB/s per core; 0 = no claim; default: from the sizes")

    failure_rate: FractionSpread = Field(FractionSpread(median=0.03), description="Payload failures, over tasks")
    memory_kills: Fraction = Field(0, description="Part of the payload failures in which an attempt exceeds the memory "
                                   "of its slot, whatever the others use")
    max_attempt: int | None = Field(None, ge=1, le=255, description="Attempts that each input has; default: 3; of "
                                    "analysis in the deployed edition 10")
    max_failure: int | None = Field(None, ge=1, le=255, description="Attempts of an input that may fail, those "
                                    "taken back not counted; default: no limit but max_attempt; of analysis in the "
                                    "deployed edition 3")

    lost_input: Fraction = Field(0, description="Part of the input that is gone since the task was submitted; its jobs "
                                 "find nothing, and it is skipped from then on")
    broken_input: Fraction = Field(0, description="Part of the input that is corrupt; its jobs fail, and it is skipped "
                                   "from then on")
    open_input: OpenInput | None = Field(None, description="How files come while the input dataset is open; default: "
                                         "all are there when the task arrives")

    offered_cores: float | None = Field(None, gt=0, description="Mean load in cores; sets the rate of arrivals")
    corepower: float = Field(13.6, gt=0, description="HS06 per core at which `offered_cores` is counted")
    backlog_time: Seconds = Field(0, ge=0, description="At the start as much is waiting as arrives in this time")
    daily_amplitude: Fraction = Field(0, description="Rhythm of the day: rate x (1 + amplitude x cosine)")
    peak: Seconds = Field(14 * 3600, ge=0, lt=86400, description="Time of day with most arrivals")
    weekend_drop: Fraction = Field(0, description="Part of the arrivals of a Saturday or Sunday that comes on other "
                                   "days instead; a scenario starts on a Monday at midnight")

    @model_validator(mode="after")
    def parts_of_input(self) -> "Payload":
        """Refuse more lost and broken input than there is."""
        if self.lost_input + self.broken_input > 1:
            raise ValueError("lost_input and broken_input together must not exceed 1")
        return self

    @model_validator(mode="after")
    def shared_input(self) -> "Payload":
        """Refuse input of two kinds, and sizes or replicas beside a shared dataset, which has its own."""
        if self.whole_container and self.container is None:
            raise ValueError("whole_container needs container, the name of what the tasks read whole")
        if not self.shares_input:
            if self.input is not None and self.input.files is None:
                raise ValueError("input needs files, their number in a task, or the stream a dataset of `data`")
            return self
        kinds = [name for name in ("dataset", "datasets", "container") if getattr(self, name)]
        if len(kinds) > 1:
            raise ValueError(f"give either {' or '.join(kinds)}, not both")
        fields = type(self).model_fields
        given = [name for name in OF_OWN_INPUT if name in fields and getattr(self, name) != fields[name].default]
        if self.input is not None and self.input.files is not None:
            given.append("input.files")
        if self.input is not None and self.input.file_size.median > 0:
            given.append("input.file_size")
        if given:
            raise ValueError(f"{given[0]} contradicts {kinds[0]}, which says how "
                             "many files there are, how large they are and where they lie: leave it out")
        if self.input is None and self.files_per_job < 1:
            raise ValueError("files_per_job must be at least 1 with a dataset")
        return self

    @model_validator(mode="after")
    def parts_of_merging(self) -> "Payload":
        """Refuse parameters of merge jobs where nothing is merged."""
        given = [name for name, field in MergeRule.model_fields.items() if getattr(self, name) != field.default]
        if given and not self.mergeOutput:
            raise ValueError(f"{', '.join(given)}: merge jobs need mergeOutput: true")
        return self

    @model_validator(mode="after")
    def parts_of_ranges(self) -> "Payload":
        """Refuse parameters of event service without ranges, and ranges without event service or with merging."""
        given = [name for name, field in EventRule.model_fields.items() if getattr(self, name) != field.default]
        becomes_one = self.esConvertible or self.esFraction
        if self.useJobCloning:
            self.refuse_consumers((*given, *(["nJumboJobs"] if self.nJumboJobs else [])), self.eventService)
        elif set(given) - self.READ_ALONE and not becomes_one and not (self.nEventsPerWorker and self.eventService):
            raise ValueError(f"{', '.join(given)}: consumers need eventService: true and nEventsPerWorker")
        if self.nEventsPerWorker and self.mergeOutput:
            raise ValueError("mergeOutput: event service with nEventsPerWorker has merge jobs of its own")
        return self

    def reads_files(self, number: float | None, datasets: int = 1) -> None:
        """Note how many files the shared datasets of the tasks have on average, None = the tasks share none; datasets:
        how many of them a task reads."""
        self._shared_files, self._datasets = number, datasets

    @property
    def shares_input(self) -> bool:
        """True if the tasks read datasets of `data`."""
        return self.dataset is not None or self.container is not None or bool(self.datasets)

    @property
    def read_whole(self) -> str | None:
        """Name in `Catalogue.members` of the datasets of which each task reads all; None = each reads a single one."""
        return self.container if self.whole_container else ",".join(self.datasets) or None

    @property
    def cores(self) -> int:
        """Estimate of the cores that a job uses."""
        return self.corecount or CORES_OF_ANY

    @property
    def mean_job_core_s(self) -> float:
        """Mean wall time x cores of a job on cores of power `corepower`, s, staging left out.

        A job that is cut from files counts with the files that are typical.
        """
        events = self.input.events_per_file * self.typical_files if self.input else self.events_per_job
        return self.hs06sec_per_event.mean * events / self.corepower + self.basewalltime * self.cores

    @property
    def mean_task_core_s(self) -> float:
        """Mean wall time x cores of all jobs of a task, s, each job counted once."""
        return self.mean_jobs * self.mean_job_core_s

    @property
    def mean_jobs(self) -> float:
        """Mean number of jobs of a task; of a shared dataset those that its files make."""
        files = self._shared_files
        if self.input is not None:
            own = self.input.files.mean if self.input.files is not None else 1.0
            return (own if files is None else files * self._datasets) / self.typical_files
        if files is None:
            return self.jobs_per_task.mean
        return math.ceil(files / max(1, self.files_per_job)) * self._datasets


class Campaign(ProductionParameters, Payload):
    """A stream of production tasks; arrivals are a Poisson process at a rate that may follow day and week."""

    username: str = Field("prodsys", description="Owner of the tasks")
    parent: CampaignName | None = Field(None, description="Campaign whose tasks make the input: with each of its tasks "
                                        "comes one of these and waits for it, so there is no rate and no backlog of "
                                        "its own")
    backlog: int = Field(0, ge=0, description="Tasks at the start, in addition to `backlog_time`")
    tasks_per_day: float | None = Field(None, gt=0, description="Rate of arrivals, instead of `offered_cores`")

    @model_validator(mode="after")
    def one_rate(self) -> "Campaign":
        """Refuse two rates, a rate or backlog of a campaign with a parent, and a backlog in hours without a rate."""
        if self.tasks_per_day is not None and self.offered_cores is not None:
            raise ValueError("give either tasks_per_day or offered_cores, not both")
        has_rate = self.tasks_per_day is not None or self.offered_cores is not None
        if self.parent is not None and (has_rate or self.backlog or self.backlog_time):
            raise ValueError("a campaign with a parent comes with it: give neither a rate nor a backlog")
        if self.backlog_time and not has_rate:
            raise ValueError("backlog_time needs tasks_per_day or offered_cores; else give backlog, a number of tasks")
        return self

    @property
    def tasks_per_s(self) -> float:
        """Mean rate of arrivals, 1/s."""
        if self.offered_cores is not None:
            return self.offered_cores / max(self.mean_task_core_s, math.ulp(0.0))    # inf for tasks of no size
        return (self.tasks_per_day or 0) / 86400


class Storm(Part):
    """Many tasks that one user submits at once."""

    at: Seconds = Field(ge=0, description="Time of the first")
    within: Seconds = Field(600, gt=0, description="Time within which they come")
    tasks: int = Field(ge=1, le=2**20, description="Number of tasks")
    user: int | None = Field(None, ge=1, description="Rank of the user; default: drawn by the activity of users")


class UserActivity(UserParameters, Payload):
    """A group of users who submit bags of tasks in active periods.

    Active periods begin as a Poisson process that follows day and week; each belongs to a user drawn by Zipf's law,
    lasts an exponential time and brings a geometric number of tasks. Source of the shape: bursts and bags of tasks
    in workload statistics, section 12 (L24); the figures are assumptions (section 13, item 4).
    """

    READ_ALONE: ClassVar[frozenset[str]] = frozenset({"nSitesPerJob"})

    prodsourcelabel: str = Field("user", description="user and panda are analysis, managed and test production")
    processingtype: str = Field("panda-client", description="Kind of payload, as rules and shares address it")
    priority: int = Field(1000, ge=-10000, le=10000, description="Priority within the share")
    corecount: int = Field(1, ge=0, le=MOST_CORES_OF_JOB, description="Cores asked for; 0 = any")
    daily_amplitude: Fraction = Field(0.5, description="Rhythm of the day: rate x (1 + amplitude x cosine)")
    weekend_drop: Fraction = Field(0.5, description="Part of the arrivals of a Saturday or Sunday that comes on other "
                                   "days instead; a scenario starts on a Monday at midnight")
    users: int = Field(100, ge=1, le=1_000_000, description="Number of users")
    zipf: float = Field(1, ge=0, le=4, description="Exponent s of Zipf's law: activity of the user of rank r ~ r^-s")
    active_period: Seconds = Field(4 * 3600, gt=0, description="Mean length of an active period")
    tasks_per_period: float = Field(5, ge=1, le=10_000, description="Mean number of tasks in an active period")
    offered_cores: float = Field(gt=0, description="Mean load in cores; sets how often users are active")
    favourite_inputs: int = Field(0, ge=0, le=2**20, description="Inputs to which each user returns, the first most "
                                  "often, by Zipf's law: their replicas are at the same sites each time; 0 = each task "
                                  "reads another input")
    groups: tuple[str, ...] = Field((), description="Working groups of users; each of the members belongs to one, for "
                                    "which all of the user's tasks are")
    in_groups: Fraction = Field(0, description="Part of the users that belongs to one of `groups`")
    storms: tuple[Storm, ...] = Field((), description="Tasks that come at once, in addition to `offered_cores`")

    @model_validator(mode="after")
    def members_and_storms(self) -> "UserActivity":
        """Refuse groups without members or names, members beside a workinggroup of all, and storms of unknown users."""
        if bool(self.groups) != (self.in_groups > 0):
            raise ValueError("groups and in_groups go together: give both, in_groups above 0")
        if self.groups and self.workinggroup:
            raise ValueError("give workinggroup, of all tasks, or groups, of the users' own, not both")
        if any(not name for name in self.groups):
            raise ValueError("groups: expected names")
        for storm in self.storms:
            if storm.user is not None and storm.user > self.users:
                raise ValueError(f"storms: user {storm.user} is not there; the ranks are 1 to {self.users}")
        return self

    @property
    def periods_per_s(self) -> float:
        """Mean rate at which active periods begin, 1/s."""
        return self.tasks_per_s / self.tasks_per_period

    @property
    def tasks_per_s(self) -> float:
        """Mean rate at which tasks come, 1/s."""
        return self.offered_cores / max(self.mean_task_core_s, math.ulp(0.0))    # inf for tasks of no size


GroupBy = Literal["executable", "batch_queue", "partition", "record"]
"""Column of a record by which recorded jobs are grouped into tasks; record: they are not."""
DEFAULT_GROUPING: tuple[GroupBy, ...] = ("executable",)
"""Grouping of a trace that says no other: with its owner, the executable is what most resembles a task's name."""


class Trace(Part):
    """A recorded workload, whose jobs are submitted at their recorded times, as input of tasks or without tasks."""

    file: Path = Field(description="The recorded jobs, plain or gzip")
    format: Literal["swf", "gwf", "panda", "cgsim"] | None = Field(
        None, description="panda: job records of PanDA as JSON of the monitor or of the index, as CSV or as Parquet; "
        "default: by name and content of the file")
    columns: RecordColumns = Field(RecordColumns(), description="PanDA job records: columns that have other names")
    work: Literal["recorded", "task"] = Field(
        "recorded", description="PanDA job records: each job has its own work, or the median of its task, per event; "
        "then simulated wall times show how well the grid is described")
    enters_as: Literal["tasks", "jobs"] = Field("tasks", alias="as", description="tasks: recorded jobs are grouped "
                                                "into tasks, and the JobGenerator makes them; jobs: each goes to the "
                                                "server when it is submitted, as jobs do that have no task in JEDI")
    group_by: tuple[GroupBy, ...] | None = Field(
        None, description="What else the jobs of a task have in common, in addition to owner, group, kind, cores, "
        "priority, memory up to the next value of the retry module, and the site of their input; record: each is a "
        "task of its own; default: executable")
    corepower: float = Field(10, gt=0, description="HS06 per core of the machines on which it was recorded; of PanDA "
                             "job records for queues of which neither hs06 nor the grid gives the power")
    share: LeafName | None = Field(None, description="Leaf share; default: found by the regular expressions of the "
                                   "tree")
    memory_per_core: Megabytes = Field(2000, gt=0, description="Memory of jobs that recorded none, MB")
    place: Literal["brokered", "recorded"] = Field("brokered", description="recorded: a job goes to the PanDA queue "
                                                   "with the name of the partition, or of CGSim's computingsite, in "
                                                   "which it ran")
    limit: int | None = Field(None, ge=1, description="Records read; default: all")
    time_scale: float = Field(1, gt=0, le=1e6, description="Times between submissions are multiplied by this; recorded "
                              "waits are compared with 1 only")

    @model_validator(mode="after")
    def groups_are_tasks(self) -> "Trace":
        """Refuse a grouping where no tasks are made."""
        if self.enters_as == "jobs" and self.group_by is not None:
            raise ValueError("group_by is for jobs that are grouped into tasks: leave it out with as: jobs")
        return self

    @property
    def grouping(self) -> tuple[GroupBy, ...]:
        """Further columns of a record in which all jobs of one task agree, in addition to those that every task has."""
        if self.enters_as == "jobs":
            return ()
        return DEFAULT_GROUPING if self.group_by is None else self.group_by


class Workload(Part):
    """All the work of a scenario."""

    campaigns: tuple[Campaign, ...] = Field((), description="Streams of production tasks")
    users: tuple[UserActivity, ...] = Field((), description="Groups of users with analysis tasks")
    trace: Trace | None = Field(None, description="A recorded workload")
    tests: FunctionalTests = Field(FunctionalTests(), description="Test jobs for every queue")

    @property
    def streams(self) -> tuple[Campaign | UserActivity, ...]:
        """Campaigns, then groups of users."""
        return (*self.campaigns, *self.users)

    @model_validator(mode="after")
    def names_are_different(self) -> "Workload":
        """Refuse two streams of one name: their random draws would be the same."""
        names = [stream.name for stream in self.streams]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"each campaign and group of users needs a name of its own; twice: {', '.join(twice)}")
        return self


class Account(Part):
    """Disk quotas and permissions of a user or working group."""

    quota: Bytes = Field(0, ge=0, description="Global disk quota, bytes; 0 = none")
    local_quotas: Annotated[dict[StorageName, Annotated[Bytes, Field(ge=0)]], ActsIn("deployed")] = Field(
        default_factory=dict, description="Local quotas, bytes, by DDM endpoint; 0 = none")
    held: dict[StorageName, Annotated[Bytes, Field(ge=0)]] = Field(
        default_factory=dict, description="Bytes that the account holds at the start, by DDM endpoint")
    output_lifetime: Seconds | None = Field(None, gt=0, description="Time after which output no longer counts; "
                                            "default: it does to the end")
    permissions: Annotated[Literal["", "s", "g", "sg"], ActsIn("deployed")] = Field(
        "", description="GRIDPREF: s = tasks jump the queue, g = those of a working group do; the deployed edition "
        "reads it")


def user_names(work: Workload) -> list[str]:
    """Names of all users, in the order of the streams."""
    named = [stream.username for stream in work.campaigns if stream.username]
    return named + [f"{group.name}-{rank:04d}" for group in work.users
                    for rank in range(1, group.users + 1)]


def group_names(work: Workload) -> list[str]:
    """Names of the working groups of all streams."""
    named = [stream.workinggroup for stream in work.streams if stream.workinggroup]
    return [*dict.fromkeys((*named, *(name for group in work.users for name in group.groups)))]


def owner_names(work: Workload) -> list[str]:
    """Names of users and working groups of the work; none with a trace, which has names of its own."""
    return [*user_names(work), *group_names(work)] if work.trace is None else []


def account_of(accounts: Mapping[str, Account], name: str) -> Account | None:
    """The account of a user or group: the first entry with its name or a pattern that fits, None without one."""
    return next((account for pattern, account in accounts.items() if fnmatchcase(name, pattern)), None)
