"""A snapshot: a grid, the numbers that brokers would find there at one moment, and tasks that wait for brokerage.

Task parameters have the names of a scenario's, numbers of jobs the names of PanDA's statuses. What is left out is 0 or
unknown.
"""

from math import nan
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from simgrid_broker import editions
from simgrid_broker.errors import ScenarioError, SnapshotError
from simgrid_broker.names import ANALYSIS_LABELS, PRODUCTION_LABELS
from simgrid_broker.scenario.loading.origins import Whole
from simgrid_broker.scenario.loading.validate import in_any_range
from simgrid_broker.scenario.model import DEFAULT_RESOURCE_TYPES, Grid, Policies, ResourceTypeBounds, Scenario
from simgrid_broker.scenario.shares import Share
from simgrid_broker.schema.attribute import shown
from simgrid_broker.schema.datasets import DatasetOfTask
from simgrid_broker.schema.grid import LinkNumbers
from simgrid_broker.schema.part import (
    LATEST,
    ActsIn,
    Bytes,
    Fraction,
    LeafName,
    Megabytes,
    PandaResourceType,
    Part,
    QueueName,
    ResourceTypeName,
    Seconds,
    SiteName,
    StorageName,
)
from simgrid_broker.schema.queues import QueueNumbers
from simgrid_broker.schema.tasks import BrokerParameters, Chain, SplitParameters, TaskClaims

TASK_BROKERAGE, JOB_BROKERAGE, ANALYSIS_BROKERAGE = "task_brokerage", "job_brokerage", "analysis_brokerage"
Priority = Annotated[int, Field(ge=-10000, le=10000)]


class InputAt(Part):
    """Fractions of a task's input at one site."""

    disk: Fraction = Field(0, description="Fraction on disk")
    tape: Fraction = Field(0, description="Fraction on tape")


class SecondaryAt(Part):
    """A secondary dataset with replicas of its own: what the smallest job reads of it, and where it lies."""

    bytes_per_job: Bytes = Field(gt=0, description="Size of what a job reads of it, which is part of `input_per_job`")
    files_per_job: float = Field(gt=0, description="Files that a job reads of it, which are part of `files_per_job` of "
                                 "the task")
    bytes: Bytes = Field(gt=0, description="Size of the dataset")
    files: int = Field(ge=1, description="Files of the dataset")
    input: dict[SiteName, InputAt] = Field(default_factory=dict, description="Where it lies, by site; nothing = "
                                           "nowhere")


class Premerging(Part):
    """Pre-assignment of merge jobs to the PanDA queue that holds their files."""

    queue: QueueName = Field(description="PanDA queue")
    input_idle: Seconds | None = Field(None, ge=0, description="Time since the input last changed; default: not since "
                                       "it was defined")


class MergeSplitParameters(SplitParameters):
    """Parameters by which input is split into jobs, those of merge jobs included."""

    nFilesPerMergeJob: int = Field(0, ge=0, description="Files of a merge job; 0 = not given")
    nEventsPerMergeJob: int = Field(0, ge=0, description="Events of a merge job; 0 = not given")
    nMaxFilesPerMergeJob: int = Field(0, ge=0, description="Most files of a merge job; 0 = 50")


class NextJobs(Part):
    """The jobs for which queues are sought, where more is known of them than their task says."""

    scout: bool | None = shown(None, "Whether they are scouts; default: no", seen_as="is_scout")
    merging: bool = shown(False, "Whether they merge output", seen_as="is_merging")
    premerge: Premerging | None = Field(None, description="Where the files of merge jobs lie; default: brokerage finds "
                                        "a queue")
    ramcount: Megabytes = Field(0, ge=0, description="Memory that their input asks for, MB, in the task's unit; 0 = "
                                "nothing")
    jumbo: Literal["fake", "only"] | None = shown(None, "Kind of jumbo jobs; default: none", seen_as="jumbo_chunk")
    ready_events: int | None = Field(None, ge=0, description="Events that are ready for jumbo jobs")
    resource_types: dict[QueueName, tuple[ResourceTypeName, ...]] = Field(
        default_factory=dict, description="Resource types of the task's jobs at a PanDA queue; default: the task's own")
    u: float | None = Field(None, ge=0, lt=1, description="Number that draws the nucleus by PanDA's wheel; default: "
                            "each nucleus has a number, by `seed`, `luck` and `n_nuclei`, as in a run")

    _in_any_range = field_validator("*", mode="wrap")(in_any_range)


class EndedJobs(Part):
    """Jobs of a task that ended at one PanDA queue within TW_DONE_JOB_STAT hours."""

    failed: int = Field(0, ge=0, description="Jobs that failed with an error of the pilot")
    closed: int = Field(0, ge=0, description="Jobs that were closed for reassignment")
    finished: int = Field(0, ge=0, description="Jobs that finished")


class AnalysisNumbers(BrokerParameters):
    """Parameters and numbers of a task that only analysis brokerage reads."""

    task_class: Literal["S", "A", "B", "C"] | None = Field(None, description="Class of the task; default: not "
                                                           "classified")
    ended_jobs: dict[QueueName, EndedJobs] = Field(default_factory=dict, description="Jobs of the task that ended "
                                                   "lately, by PanDA queue")
    used_queues: tuple[QueueName, ...] = Field((), description="PanDA queues where the task has had jobs, which come "
                                               "first")
    scouting: bool = shown(False, "Whether the scouts of the task are not over", seen_as="is_scouting")
    hpo: bool = shown(False, "Whether it optimises hyper-parameters, which spares it the platform check",
                      seen_as="is_hpo")


class SnapshotTask(AnalysisNumbers, TaskClaims):
    """A task that waits for brokerage: what it claims, as JEDI's task parameters, and where its input lies."""

    brokerage: Literal["task_brokerage", "job_brokerage", "analysis_brokerage"] | None = Field(
        None, description="Which broker is asked; default: analysis brokerage for user and panda, job brokerage if "
                          "the task has a nucleus or another label, else task brokerage")
    n_jobs_to_broker: int | None = Field(None, ge=1, description="Jobs for which job brokerage looks for queues; "
                                         "default: all that are left")
    jeditaskid: int | None = Field(None, ge=1, lt=10**18, description="jeditaskid; required where its jobs are named "
                                   "otherwise, default: its name")
    luck: int | None = Field(None, ge=0, description="Key of the task's random draws, which orders candidates of equal "
                             "weight; default: its jeditaskid")
    n_nuclei: int = Field(0, ge=0, le=30_000, description="Nuclei that it has had, which number the draws of one")
    frozen_for: Seconds = Field(0, ge=0, description="Time since brokerage first failed")
    taskpriority: int | None = Field(None, ge=-10000, le=10000, description="Priority as submitted; default: "
                                     "`priority`")
    resource_type: ResourceTypeName | None = shown(None, "Resource type; default: the first that fits",
                                                   codes="resource_types")
    mergeramcount: Megabytes | None = shown(None, "Memory of a merge job, MB; default: not given", ge=0,
                                            code=lambda megabytes: megabytes or nan)
    mergecorecount: int | None = shown(None, "Cores of a merge job; default: `corecount`", ge=0)
    cputimeunit: str | None = shown(None, "Unit of `cputime`, empty = the task does not say; default: HS06sPerEvent, "
                                    "or empty if `walltime` is given")
    walltimeunit: str = shown("", "Unit of `walltime`; empty = the task does not say")
    outdiskcount: float | None = Field(None, ge=0, description="Output in `outdiskunit`; default: `output_per_job`")
    outdiskunit: str = Field("kB", description="kB, MB or GB, with PerEvent for each event, else for each MiB of "
                             "primary input")
    useJobCloning: bool = shown(False, "Whether jobs of event service are clones", seen_as="job_cloning")
    ipStack: Literal["", "IPv4", "IPv6"] = Field("", description="IP stack, if `ipConnectivity` does not say")
    next_jobs: NextJobs = Field(NextJobs(), description="The jobs for which queues are sought")
    splitting: MergeSplitParameters = Field(MergeSplitParameters(), description="How jobs are cut from `datasets`; "
                                            "without any, nFilesPerJob and nEventsPerJob say how many pieces of input "
                                            "the smallest job has")
    input: dict[SiteName, InputAt] = Field(default_factory=dict, description="Where the input lies, by site; nothing = "
                                           "no replica is known")
    secondaries: tuple[SecondaryAt, ...] = Field((), description="Secondary datasets that do not lie where `input` "
                                                 "says")
    datasets: dict[str, DatasetOfTask] = Field(default_factory=dict, description="The input file by file, instead of "
                                              "`input`, `input_per_job` and `files_per_job`")
    outputs: tuple[str, ...] = Field((), description="Storage tokens of its output and log datasets, such as "
                                     "ATLASDATADISK; default: it goes where the nucleus takes output")
    remaining_work: float | None = Field(None, ge=0, description="Work left, HS06 s; default: as its claims say")
    without_share: bool = shown(False, "Whether JEDI gave it no share, so that zero share compares none; `gshare` is "
                                "that of its jobs", seen_as="gshare", code=lambda without: "" if without else None)
    parent: Chain | None = Field(None, description="The task that makes the input")

    _in_any_range = field_validator("*", mode="wrap")(in_any_range)

    @property
    def broker(self) -> str:
        """Which broker is asked: task_brokerage, job_brokerage or analysis_brokerage."""
        if self.brokerage is not None:
            return self.brokerage
        if self.prodsourcelabel in ANALYSIS_LABELS:
            return ANALYSIS_BROKERAGE
        is_production = self.prodsourcelabel in PRODUCTION_LABELS
        return TASK_BROKERAGE if is_production and self.nucleus is None else JOB_BROKERAGE

    @property
    def jobs_left(self) -> int:
        """Jobs that are neither done nor given up."""
        return self.n_jobs - self.n_finished - self.n_failed


class JobNumbers(Part):
    """Jobs of one share and resource type at one PanDA queue, as JEDI last read them from its statistics."""

    queue: QueueName = Field(description="PanDA queue")
    share: LeafName = Field(description="Leaf share")
    resource_type: ResourceTypeName | None = Field(None, description="Resource type of the jobs; default: none that is "
                                                   "there, so that they count for queue and share alone")
    defined: int = Field(0, ge=0, description="Jobs that are defined")
    waiting: int = Field(0, ge=0, description="Jobs that are waiting")
    assigned: int = Field(0, ge=0, description="Jobs that await their input")
    throttled: int = Field(0, ge=0, description="Jobs that are throttled")
    activated: int = Field(0, ge=0, description="Jobs that await a pilot")
    sent: int = Field(0, ge=0, description="Jobs that were sent to a pilot")
    starting: int = Field(0, ge=0, description="Jobs that are starting")
    running: int = Field(0, ge=0, description="Jobs that are running")
    holding: int = Field(0, ge=0, description="Jobs that have ended and await the Adder")
    merging: int = Field(0, ge=0, description="Jobs that await merging")
    transferring: int = Field(0, ge=0, description="Jobs that await the transfer of their output")


BROKERAGES = {"job_brokerage", "task_brokerage", "analysis_brokerage"}
"""Kinds of policies that are asked on a snapshot."""
COUNTED_STATUSES = ("defined", "assigned", "activated", "starting", "running", "transferring")
"""Statuses of the jobs that brokers count."""
NOT_COUNTED = tuple(name for name in JobNumbers.model_fields
                    if name not in ("queue", "share", "resource_type", *COUNTED_STATUSES))
"""Statuses of PanDA's statistics that no rule reads."""


class PlacedJobs(Part):
    """Jobs that JEDI has made for a PanDA queue since it last read the statistics."""

    queue: QueueName = Field(description="PanDA queue")
    share: LeafName = Field(description="Leaf share")
    jobs: int = Field(ge=0, description="Number of jobs")


class NucleusNumbers(Part):
    """Output of all kinds on its way to one nucleus, as task brokerage counts it."""

    queued_files: int | None = Field(None, ge=0, description="Files; default: the sum over `links` to the site")
    queued_bytes: Bytes = Field(0, ge=0, description="Size of the files")
    work: float | None = Field(None, ge=0, description="Work of all tasks of the nucleus, HS06 s; default: as `work` "
                               "and `tasks` say")
    work_from: Annotated[dict[Priority, Annotated[float, Field(ge=0)]], ActsIn("deployed")] = Field(
        default_factory=dict, description="Work of tasks of one share with at least this priority, HS06 s, by "
        "priority, 0 for others; the deployed edition reads it; default: as `work` and `tasks` say")


class AssignedWork(Part):
    """Work that tasks which are not in `tasks` still owe to a nucleus."""

    nucleus: SiteName = Field(description="Site that collects the output")
    hs06sec: float = Field(gt=0, description="HS06 s, as the tasks claim it")
    prodsourcelabel: str = Field("managed", description="prodSourceLabel of the tasks")
    gshare: LeafName | None = Field(None, description="Leaf share of the tasks; default: a share that no rule names")
    priority: int = Field(0, ge=-10000, le=10000, description="Priority of the tasks")


class OwnerNumbers(Part):
    """Numbers of a user or a working group at all queues."""

    running_jobs: int | None = Field(None, ge=0, description="Running jobs; default: unknown, which no cap stops")
    queued_jobs: int | None = Field(None, ge=0, description="Jobs that are defined, assigned, activated, starting or "
                                    "throttled; default: unknown")
    running_cores: int | None = Field(None, ge=0, description="Cores of running jobs; default: unknown")
    queued_cores: int | None = Field(None, ge=0, description="Cores of queued jobs; default: unknown")
    rem_slots_A: float | None = Field(None, description="USER_USAGE_THRESHOLD_A less the slots at hi sites; default: "
                                      "unknown")
    quota: Literal["fine", "near", "over", "unknown"] = Field("fine", description="Global disk quota: near = more "
                                                              "than 90 % used, unknown = it cannot be asked for")
    quota_message: str | None = Field(None, description="PanDA's words for the quota")
    full_storages: tuple[StorageName, ...] = Field((), description="DDM endpoints where the local quota is used up")


class UserJobs(Part):
    """Jobs of a user in one share at one PanDA queue."""

    queue: QueueName = Field(description="PanDA queue")
    share: LeafName = Field(description="Leaf share")
    user: str | None = Field(None, description="User; default: all users together")
    queued: int = Field(0, ge=0, description="Jobs that are defined, assigned, activated or starting")
    running: int = Field(0, ge=0, description="Jobs that are running")
    users: int | None = Field(None, ge=0, description="Of all users together: how many they are; default: those with "
                              "a row of their own")


class ShareUsage(Part):
    """Use of a share compared with its target."""

    usage: float = Field(ge=0, description="Used / target")
    equivalent: float | None = Field(None, ge=0, description="The same of its level-1 share with the idle power of "
                                     "others; default: unknown")


class Snapshot(Whole):
    """A grid at one moment with tasks that wait for brokerage: everything that one decision of a broker depends on."""

    error: ClassVar[type[ScenarioError]] = SnapshotError

    name: str = Field("snapshot", min_length=1, description="Name, for the reader")
    description: str = Field("", description="One sentence for the reader")
    time: Seconds = Field(0, ge=0, le=LATEST - 1, description="The moment, on the clock of the run that it comes from")
    statistics_at: Seconds | None = Field(None, ge=-LATEST, le=LATEST, description="When JEDI last read the numbers of "
                                          "jobs and queues, not after `time`; default: at that moment")
    strict: bool = Field(True, description="Whether names of nothing, contradictions, unknown words, rows without what "
                         "they need, and numbers out of range are refused; false = they are remarked and read as PanDA "
                         "reads them, as in a snapshot of a run")
    edition: editions.Name = Field("documented", description="Rules of the documentation, or of the production code: "
                                   "of its newest release, or of the one that is named")
    seed: int = Field(1, ge=0, description="Seed of the draws of nuclei, as that of the run")
    grid: Grid = Field(description="Sites, queues, storages as they are at the moment, and links")
    shares: tuple[Share, ...] = Field(min_length=1, description="The share tree")
    resource_types: dict[PandaResourceType, ResourceTypeBounds] = Field(
        default_factory=lambda: dict(DEFAULT_RESOURCE_TYPES),
        description="Resource types; the first that fits is taken")
    gdpconfig: dict[str, Any] = Field(default_factory=dict, description="KEY or component.KEY to value")
    policies: Policies = Field(Policies(), description="Names of the policies in use; only brokerages are asked")
    jobs: tuple[JobNumbers, ...] = Field((), description="Numbers of jobs by queue, share and resource type")
    placed: tuple[PlacedJobs, ...] = Field((), description="Jobs that were made since those numbers were read")
    queues: dict[QueueName, QueueNumbers] = Field(default_factory=dict, description="Workers and pilots by PanDA queue")
    storage_mapping: dict[QueueName, SiteName] | None = Field(
        None, description="Site of the output of each PanDA queue, for its links and the nucleus; queues that are not "
        "in it have none; default: as `endpoints` of the queues, or their sites, say")
    whole_queues: bool = Field(True, description="Whether unified queues as a whole are on the list of tasks that are "
                               "pre-assigned to them, as in PanDA; a run, which makes no jobs there, says false")
    locked: Annotated[tuple[str, ...], ActsIn("deployed")] = Field(
        (), description="Candidates that another broker holds a lock on, such as NORTH or NORTH/SCORE")
    links: tuple[LinkNumbers, ...] = Field((), description="Traffic between sites")
    nuclei: dict[SiteName, NucleusNumbers] = Field(default_factory=dict, description="Output on its way to nuclei, by "
                                              "site")
    work: tuple[AssignedWork, ...] = Field((), description="Work assigned to nuclei")
    users: dict[str, OwnerNumbers] = Field(default_factory=dict, description="Users and working groups, by name")
    user_jobs: tuple[UserJobs, ...] = Field((), description="Jobs of users by queue and share, as analysis brokerage "
                                            "last read them")
    share_usage: dict[LeafName, ShareUsage] = Field(default_factory=dict, description="Usage of shares that throttle "
                                                    "analysis tasks")
    tasks: dict[str, SnapshotTask] = Field(default_factory=dict, description="Tasks that wait for brokerage, by "
                                           "jeditaskid or a name; without any there is nothing to ask")

    @property
    def shares_in_use(self) -> tuple[Share, ...]:
        """The share tree in force; a run writes the one that was."""
        return self.shares

    def scenario(self) -> Scenario:
        """The scenario without work in whose world the brokers are asked."""
        return Scenario(name=self.name, edition=self.edition, seed=self.seed, duration=self.time + 1, grid=self.grid,
                        shares=self.shares, resource_types=self.resource_types, gdpconfig=self.gdpconfig,
                        policies=self.policies)
