"""A snapshot: a grid, the numbers that brokers would find there at one moment, and tasks that wait for brokerage.

Task parameters have the names of a scenario's, numbers of jobs the names of PanDA's statuses. What is left out is 0 or
unknown.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from simgrid_broker.errors import ScenarioError, SnapshotError
from simgrid_broker.scenario.loading.origins import Whole
from simgrid_broker.scenario.model import DEFAULT_RESOURCE_TYPES, Grid, Policies, ResourceTypeBounds, Scenario
from simgrid_broker.scenario.shares import Share
from simgrid_broker.scenario.snapshot_task import SnapshotTask
from simgrid_broker.schema.constraint import (
    ActsIn,
    LeafName,
    PandaResourceType,
    QueueName,
    ResourceTypeName,
    SiteName,
    StorageName,
)
from simgrid_broker.schema.grid import LinkNumbers
from simgrid_broker.schema.part import LATEST, Bytes, EditionName, Part, Seconds
from simgrid_broker.schema.queues import QueueNumbers

Priority = Annotated[int, Field(ge=-10000, le=10000)]


class JobNumbers(Part):
    """Jobs of one share and resource type at one PanDA queue, as JEDI last read them from its statistics."""

    queue: QueueName = Field(description="PanDA queue")
    share: LeafName = Field(description="Leaf share")
    resource_type: ResourceTypeName = Field(description="Resource type of the jobs")
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
    """What is known of a user or a working group at all queues."""

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
    """What a share uses of its target."""

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
    edition: EditionName = Field("documented", description="Rules of the documentation, or of the production code: of "
                                 "its newest release, or of the one that is named")
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
