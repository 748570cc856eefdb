"""Pydantic models of a scenario file, frozen, with plain SI numbers inside; the nouns of the grid are in the schema.
Dispatch by DIRAC in a run: how users and shares of PanDA become owners and groups, whose pilots run, and options."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from simgrid_broker import editions
from simgrid_broker.notebook import facts_html, shares_html
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.scenario.loading.origins import Whole
from simgrid_broker.scenario.retry_rules import DEFAULT_RETRY_RULES, ErrorClass, RetryRule
from simgrid_broker.scenario.shares import Share, WorkQueue, shares_in_use, targets_of
from simgrid_broker.scenario.terms import TERMS
from simgrid_broker.scenario.work.campaigns import Account, Workload
from simgrid_broker.scenario.work.input_files import Data
from simgrid_broker.schema.grid import Fts, Links, Site, Storage
from simgrid_broker.schema.part import (
    LATEST,
    MOST_CORES,
    ActsIn,
    AtMost,
    BackboneName,
    CampaignName,
    DatasetName,
    EndpointName,
    Fraction,
    LeafName,
    Megabytes,
    Needs,
    OwnerName,
    PandaResourceType,
    Part,
    QueueName,
    Sample,
    Seconds,
    ShareName,
    SiteName,
)
from simgrid_broker.schema.queues import PublishedSoftware, Queue
from simgrid_broker.units import format_seconds

GENERIC_PILOT = "GenericPilot"
"""Property of a pilot that serves all groups of its VO."""
PRIVATE = "private"
"""Type of a private pilot, as jobs may require it; source: DIRAC Task Queue Matching, task queue requirements."""
ATTRIBUTES_OF_RUN = ("Owner", "OwnerGroup", "JobType")
"""Attributes of jobs that limits of a run may name; JobType is the processing type of the task."""


class DiracCredentials(Part):
    """Who a pilot belongs to."""

    properties: tuple[str, ...] = Field((), description="GenericPilot, or none for a private pilot")
    username: str = Field("", description="User of a private pilot")
    group: str = Field("", description="Group of a private pilot")
    VO: str = Field("", description="VO of a generic pilot")

    @property
    def is_generic(self) -> bool:
        """True if the pilot serves all groups of its VO."""
        return GENERIC_PILOT in self.properties


class DiracGroupOfRun(Part):
    """A group of DIRAC, and the work that belongs to it."""

    shares: tuple[LeafName, ...] = Field((), description="Leaf shares whose tasks are submitted with this group")
    job_share: int = Field(1000, ge=0, description="JobShare")
    job_sharing: bool = Field(False, description="JOB_SHARING: the owners of the group share its share, and private "
                              "pilots of the group run the jobs of all of them")
    allow_background: Annotated[bool, ActsIn("deployed")] = Field(
        False, description="AllowBackgroundTQs, deployed edition")
    user_priority: int = Field(1, ge=0, description="UserPriority of its jobs")
    vo: str = Field("", description="VO; a generic pilot of a VO serves the groups of that VO")
    private_pilots: Annotated[bool, ActsIn("documented")] = Field(
        False, description="Whether only private pilots run its jobs, documented edition")


class DiracRun(Part):
    """DIRAC's dispatch: groups by name. A share that no group names is a group of its own name, with JOB_SHARING and a
    JobShare of ten for each percent of its target."""

    groups: dict[str, DiracGroupOfRun] = Field(default_factory=dict, description="Groups by name; owners are the users "
                                               "of the tasks")
    pilots: dict[QueueName, DiracCredentials] = Field(default_factory=dict, description="Whom the pilots of a queue "
                                                      "belong to; default: generic ones that serve all groups")
    operations: dict[str, Any] = Field(default_factory=dict, description="Options below Operations; JobScheduling has "
                                       "taskQueueCPUTimeIntervals, EnableSharesCorrection, ShareCorrections, "
                                       "RunningLimit, MatchingDelay, CheckJobLimits, CheckMatchingDelay")

    def vo(self, group: str) -> str:
        """VO of a group."""
        return self.groups[group].vo if group in self.groups else ""

    def pilot_types(self, group: str) -> list[str]:
        """Types of pilots that the jobs of a group require."""
        return [PRIVATE] if group in self.groups and self.groups[group].private_pilots else []


class SyntheticGrid(Part):
    """A synthetic grid from published quantiles; explicit sites and queues are added or replace its own."""

    sites: int = Field(ge=1, description="Number of sites")
    cores: int = Field(ge=1, le=MOST_CORES, description="Cores of all batch systems")
    seed: int = Field(1, ge=0, description="Seed of the grid alone")
    storages: int | None = Field(None, ge=1, description="Sites with a storage, those of tiers 0 and 1 and the largest "
                                 "others; default: one in two")
    corepower: float | None = Field(None, gt=0, description="HS06 per core of all queues; default: published quantiles")
    queues: Literal["mixed", "unified"] = Field("mixed", description="All kinds of queues, or one unified queue a site "
                                                "that takes any work")
    in_advance: bool = Field(False, description="Whether unified queues have all their cores in Harvester_Slots, so "
                             "that brokerage fills empty ones first")
    network: Literal["links", "shared"] = Field(
        "links", description="links: each link has a capacity of its own; shared: links share the doors of their sites "
        "with the traffic of others, files move at a limited rate, FTS adapts their number, callbacks come late, and "
        "networks have troubles")
    batch: Literal["ideal", "drawn"] = Field(
        "ideal", description="ideal: batch systems take every worker at once, one pool of cores a site, nearly all by "
        "pilot streaming; drawn: queues have the kinds of work that CRIC has at their tier, workers come by its "
        "modes, wait until the batch system looks at them, now and then cannot be submitted, and run on worker nodes")

    @model_validator(mode="after")
    def cores_for_all(self) -> "SyntheticGrid":
        """Refuse a grid whose sites cannot all have two multi-core slots, and one with more storages than sites."""
        if self.cores < 16 * self.sites:
            raise ValueError(f"{self.sites} sites need at least {16 * self.sites} cores, 16 each")
        if self.storages is not None and self.storages > self.sites:
            raise ValueError(f"{self.storages} storages need as many sites, of which there are {self.sites}")
        return self


class Grid(Part):
    """Sites, queues, storages and links."""

    synthetic: SyntheticGrid | None = Field(None, description="Synthetic grid to generate")
    pandaqueues: Path | None = Field(None, description="CRIC PandaQueue dump, JSON")
    rses: Annotated[Path | None, Needs("pandaqueues", "both are read together")] = Field(
        None, description="DDM endpoints or their relations, JSON")
    closeness: Annotated[Path | None, Needs("pandaqueues", "both are read together")] = Field(
        None, description="CRIC site matrix, JSON")
    sites: dict[str, Site] = Field(default_factory=dict, description="ATLAS sites by name")
    queues: dict[str, Queue] = Field(default_factory=dict, description="PanDA queues by name")
    storages: dict[str, Storage] = Field(default_factory=dict, description="DDM endpoints by name")
    links: Links = Field(default_factory=Links, description="Directed links between sites")
    fts: Fts = Field(Fts(), description="The service that transfers files")
    software: Path | None = Field(None, description="CRIC's software and hardware of queues (preset=tags), JSON")
    auto_as_any: bool = Field(False, description="Whether queues with releases AUTO that publish no software take "
                              "tasks as with ANY, whatever release they ask for")
    software_of_all: PublishedSoftware | None = Field(None, description="CRIC's entry ALL: its tags say where images "
                                                      "of containers lie")

    @property
    def data_storages(self) -> dict[str, Storage]:
        """Storages for datasets and the output of jobs by name: all but object stores."""
        return {name: storage for name, storage in self.storages.items() if not storage.is_object_store}


class ResourceTypeBounds(Part):
    """Bounds of a resource type, inclusive; None = open."""

    mincore: Annotated[int | None, AtMost("maxcore")] = Field(None, ge=0, description="Fewest cores")
    maxcore: int | None = Field(None, ge=0, description="Most cores")
    minrampercore: Annotated[Megabytes | None, AtMost("maxrampercore")] = Field(
        None, ge=0, description="Least memory per core, MB")
    maxrampercore: Megabytes | None = Field(None, ge=0, description="Most memory per core, MB")


DEFAULT_RESOURCE_TYPES = {
    "SCORE": ResourceTypeBounds(mincore=1, maxcore=1, maxrampercore=2000),
    "MCORE": ResourceTypeBounds(mincore=2, maxrampercore=2000),
    "SCORE_HIMEM": ResourceTypeBounds(mincore=1, maxcore=1, minrampercore=2001),
    "MCORE_HIMEM": ResourceTypeBounds(mincore=2, minrampercore=2001),
}
"""The four types of the documents; source: lifecycle reference, section 1.5 (inferred there)."""


@dataclass(frozen=True)
class Read:
    """Words for the kinds of incident that need a field, need it and set it, or may have it; commands: to tasks."""

    needed: str = ""
    sets: str = ""
    optional: str = ""
    commands: str = ""

    def is_needed(self, incident: "Incident") -> bool:
        """True if an incident of this kind must have the field."""
        return incident.what in f"{self.needed} {self.sets}".split()

    def is_read(self, incident: "Incident") -> bool:
        """True if an incident of this kind may have the field; a command to a task may have the field of another."""
        return self.is_needed(incident) or incident.what in self.optional.split() or (
            bool(self.commands) and incident.what == "task_command")

    def is_set(self, incident: "Incident") -> bool:
        """True if an incident of this kind gives its subject the value of the field."""
        return incident.what in self.sets.split() or bool(self.commands) and incident.what == "task_command"


class Incident(Part):
    """Something that happens at a given time; `what` says which of the other fields are read."""

    at: Seconds = Field(ge=0, description="Time from the start")
    what: Literal["queue_status", "site_outage", "link_outage", "share_target", "gdpconfig", "task_priority",
                  "task_arrival", "storage_status", "task_command", "task_share",
                  "file_loss", "network_capacity", "storage_outage", "replica_added", "replica_lost",
                  "dataset_deleted"] = Field(
                      description="Kind of incident")
    until: Annotated[
        Seconds | None,
        Read(optional="site_outage link_outage storage_status file_loss storage_outage network_capacity")] = Field(
        None, ge=0, description="End of an outage, or return of lost files; default: never")
    queue: Annotated[QueueName | None, Read(needed="queue_status", commands="reassign")] = Field(
        None, description="PanDA queue that gets another status, or to which a task is reassigned")
    status: Annotated[str | None, Read(sets="queue_status storage_status")] = Field(
        None, description="New status of the queue, or of the endpoint (ON, OFF, TEST)")
    site: Annotated[SiteName | None, Read(needed="site_outage file_loss", optional="network_capacity")] = Field(
        None, description="Site with an outage, or that loses files")
    source: Annotated[SiteName | None, Read(needed="link_outage", optional="network_capacity")] = Field(
        None, description="Source of the link with an outage")
    destination: Annotated[SiteName | None, Read(needed="link_outage", optional="network_capacity")] = Field(
        None, description="Destination of the link")
    backbone: Annotated[BackboneName | None, Read(optional="network_capacity")] = Field(
        None, description="Backbone that gets another capacity")
    factor: Annotated[float | None, Read(needed="network_capacity")] = Field(
        None, gt=0, description="Factor of the capacity that the scenario gives to the site's doors and links, the "
        "link or the backbone")
    share: Annotated[ShareName | None, Read(needed="share_target", sets="task_share")] = Field(
        None, description="Share that gets another value, or to which a task goes with its jobs that have not started")
    running: Annotated[bool | None, Read(optional="task_share")] = Field(
        None, description="Whether running and starting jobs of the task also go to the share; default: they stay")
    value: Annotated[Any, Read(sets="share_target gdpconfig")] = Field(
        None, description="New value of the share or of the gdpconfig key")
    key: Annotated[str | None, Read(needed="gdpconfig")] = Field(
        None, description="gdpconfig key, as KEY or component.KEY")
    task: Annotated[int | str | None, Read(needed="task_priority task_command task_share")] = Field(
        None, description="jeditaskid, counted from 1 in order of arrival, or the name of a stream of work: all of "
        "its tasks that have arrived by then")
    command: Annotated[
        Literal["abort", "finish", "retry", "incexec", "pause", "resume", "reassign", "avalanche"] | None,
        Read(sets="task_command")] = Field(None, description="Command to the TaskCommando about the task")
    soft: Annotated[bool | None, Read(commands="finish reassign")] = Field(
        None, description="finish: jobs may end first; reassign: jobs stay where they are; default: jobs are killed")
    includedSite: Annotated[tuple[str, ...] | None, Read(commands="retry")] = Field(
        None, description="retry of a user's task: the PanDA queues to which it goes from then on, `*` is any text; "
        "default: as before")
    excludedSite: Annotated[tuple[str, ...] | None, Read(commands="retry")] = Field(
        None, description="The same of queues to which it does not go")
    nucleus: Annotated[SiteName | None, Read(commands="reassign")] = Field(
        None, description="Site that becomes the nucleus of a reassigned task; default: task brokerage finds one")
    priority: Annotated[int | None, Read(sets="task_priority")] = Field(
        None, ge=-10000, le=10000, description="New priority of the task and its jobs")
    campaign: Annotated[CampaignName | None, Read(needed="task_arrival")] = Field(
        None, description="Campaign of which one more task arrives")
    jobs: Annotated[int | None, Read(optional="task_arrival", commands="incexec")] = Field(
        None, ge=1, description="Jobs of the task that arrives, or jobs by which the input of a task has grown when "
        "incexec reads it again; files, or parts of files, of a task that has them")
    fraction: Annotated[Fraction | None, Read(needed="file_loss", optional="replica_added")] = Field(
        None, description="Fraction of the files at the site that is lost, or that an added replica has; default of "
        "the latter: all")
    storage: Annotated[
        EndpointName | None, Read(needed="storage_status storage_outage replica_added replica_lost")] = Field(
        None, description="DDM endpoint that gets another status, has an outage, or gets or loses a replica")
    dataset: Annotated[DatasetName | None, Read(needed="replica_added replica_lost dataset_deleted")] = Field(
        None, description="Dataset of `data` that gets or loses a replica, or is deleted")
    activity: Annotated[
        Literal["read_lan", "write_lan", "read_wan", "write_wan"] | None, Read(needed="storage_status")] = Field(
        None, description="Use of the endpoint whose status changes")

    @classmethod
    def reads(cls) -> Iterator[tuple[str, Read]]:
        """Each field that only some kinds of incident read, and which do."""
        return ((name, mark) for name, field in cls.model_fields.items() for mark in field.metadata
                if isinstance(mark, Read))

    @property
    def new_sites(self) -> dict[str, tuple[str, ...]]:
        """Lists of queues that a retry gives a task, by key."""
        given = {"includedSite": self.includedSite, "excludedSite": self.excludedSite}
        return {name: patterns for name, patterns in given.items() if patterns is not None}


class Agents(Part):
    """Periods of the agents, s; defaults from the lifecycle reference, sections 2.1, 4 and 5."""

    task_refiner: Seconds = Field(60, ge=1, description="Period of giving new tasks their share and resource type")
    task_broker: Seconds = Field(600, ge=1, description="Period of task brokerage")
    task_broker_retry: Seconds = Field(1800, ge=1, description="Wait of a task without a nucleus before the next try")
    job_generator: Seconds = Field(180, ge=1, description="Period of job generation in each work queue")
    job_generator_lacking: Seconds = Field(60, ge=1, description="Time to the next cycle of a work queue that made "
                                           "as many jobs as allowed")
    setupper: Seconds = Field(30, ge=1, description="Period of setting up pending jobs")
    pilot_streaming: Seconds = Field(300, ge=1, description="Period in which the server asks for workers of each type")
    harvester_submitter: Seconds = Field(60, ge=1, description="Period in which Harvester submits workers")
    job_fetcher: Seconds = Field(60, ge=1, description="Period in which Harvester fetches jobs for push queues")
    harvester_monitor: Seconds = Field(300, ge=1, description="Period in which Harvester looks at waiting workers")
    adder: Seconds = Field(60, ge=1, description="Period of processing ended payloads")
    post_processor: Seconds = Field(60, ge=1, description="Period of ending tasks with nothing left")
    watch_dog: Seconds = Field(300, ge=1, description="Period of checking tasks on hold")
    contents_feeder: Seconds = Field(300, ge=1, description="Period of reading open datasets again")
    task_commando: Seconds = Field(60, ge=1, description="Period of carrying out commands to tasks")
    command_again: Seconds = Field(300, ge=1, description="Time after which a command is repeated")
    heartbeat: Seconds = Field(1800, ge=1, description="Period of heartbeats, in which pilots report running jobs and "
                               "learn which to kill")
    pending_production: Seconds = Field(3600, ge=1, description="Wait of a production task without candidate queues")
    pending_analysis: Seconds = Field(1200, ge=1, description="Wait of an analysis task without candidate queues")
    exhausted: Seconds | None = Field(None, ge=1, description="Time after which an exhausted task is finished; "
                                      "default: 10 days; in the deployed edition 48 h")
    copy_archive: Seconds = Field(2400, ge=1, description="Period of applying the timeout rules")
    priority_massage: Seconds = Field(360, ge=1, description="Period of applying caps on running jobs of users")
    analysis_watch_dog: Seconds = Field(60, ge=1, description="Period of throttling tasks of users with too much work")
    metric_collector: Seconds = Field(600, ge=1, description="Period of counting the slots of users, and starts")
    site_classes: Seconds = Field(1800, ge=1, description="Age from which the classes of queues are made again")
    task_evaluator: Seconds = Field(600, ge=1, description="Period of classifying tasks of users")
    statistics: Seconds = Field(60, ge=1, description="Period of the statistics that brokers read")
    share_order: Seconds = Field(10, ge=1, description="Age up to which a server keeps its order of the shares, made "
                                 "from these statistics")
    share_tree: Seconds = Field(3600, ge=1, description="Period of loading the share tree: a changed target is known "
                                "after that time at the latest")
    gdpconfig: Seconds = Field(3600, ge=1, description="Period of loading gdpconfig: a changed key is known after that "
                               "time at the latest")
    transfer_optimiser: Seconds = Field(60, ge=1, description="Period in which FTS shares doors and backbones among "
                                        "the links and adapts their active files")
    network_metrics: Seconds = Field(3600, ge=1, description="Period of averaging the throughput of links for brokers; "
                                     "queued files are counted with the statistics")
    reaper: Seconds = Field(600, ge=1, description="Period of ending lifetimes of replicas, and of deleting at "
                            "storages with a rate of deletion; assumed")
    data_carousel: Seconds = Field(300, ge=1, description="Period of staging requests of datasets on tape")
    task_withholder: Seconds = Field(300, ge=1, description="Period of withholding tasks with heavy input; deployed "
                                     "edition")
    queue_filler: Seconds = Field(600, ge=1, description="Period of pinning tasks to queues with too little to do; "
                                  "deployed edition")
    own: tuple[str, ...] = Field((), description="Agents of other packages, by the names of their entry points in the "
                                 "group simgrid_broker.agents; they act after the agents of the package")
    sampler: Seconds = Field(600, ge=1, description="Sampling period of the time series")
    pilot_startup: Seconds = Field(60, ge=0, description="Time from the start of a pilot to its request for a job")
    empty_pilot: Seconds = Field(600, ge=0, description="Time after which a pilot without a job exits")
    first_update: Seconds = Field(0, ge=0, description="Time from the dispatch of a job to a pilot until it reports "
                                  "that the payload runs")


class Policies(Part):
    """Names of the policies in use, from the package or from entry points."""

    dispatch_order: str = Field("global_shares", description="Which activated job a pilot gets: global_shares (PanDA's "
                                "order), fair_share (the same by use of the past days), priority, age (first come, "
                                "first served), longest_first, shortest_first (by claimed wall time), or one of your "
                                "own")
    pilot_submission: str = Field("unified_pilot_streaming", description="How many pilots each queue gets")
    throttle: str = Field("job_throttler", description="How many jobs a work queue makes in a cycle")
    job_brokerage: str = Field("production", description="Queues that the jobs of a task may go to, and their weights; "
                               "one of your own decides about jobs of users too, unless `analysis_brokerage` is "
                               "one of your own")
    task_brokerage: str = Field("production", description="Nucleus that a task gets")
    analysis_brokerage: str = Field("analysis", description="Queues that jobs of an analysis task get")


class Record(Part):
    """Rows and tables that a run writes."""

    jobs: Sample = Field(1.0, description="Fraction of the inputs of tasks, such as 1%, of which all job attempts are "
                         "written, a row each; true = all, false = none; unless all, also the hourly sums of all "
                         "attempts (`ended`)")
    transfers: bool = Field(True, description="One row per transfer")
    decisions: Fraction = Field(1, description="Fraction of decisions that is written, chosen by task")
    candidates: Fraction = Field(0, description="Fraction of decisions whose candidates are all written with the "
                                 "figures of the rule that refused it, chosen by task; these decisions are all written")
    tasks: tuple[int | str, ...] = Field((), description="Tasks, by name or jeditaskid (counted from 1 in order of "
                                         "arrival), all of whose decisions are written with every candidate")
    unplaced: int = Field(1, ge=0, description="Decisions without a candidate, about tasks that never got a job, that "
                          "are written with every candidate: so many of each share and broker that were the first "
                          "such decision about their task, and so many that were the 2nd, 4th, 8th, ...")
    series: bool = Field(True, description="Time series of shares, queues, links and storages")
    snapshots: tuple[Annotated[Seconds, Field(ge=0)], ...] = Field(
        (), description="Times at which a snapshot is written that `broker` reads")
    snapshot_tasks: int = Field(100, ge=0, description="Most tasks in a snapshot, of the tasks that wait for "
                                "brokerage; the highest priority first")


class Scenario(Whole):
    """Everything a simulation needs, resolved: one value is enough to run it again."""

    name: str = Field(min_length=1, description="Name; results are kept under it")
    description: str = Field("", description="One sentence for the reader of the report")
    edition: editions.Name = Field("documented", description="Rules of the documentation, or of the production code: "
                                   "of its newest release, or of the one that is named")
    seed: int = Field(1, ge=0, description="Seed of all random draws of the run")
    duration: Seconds = Field(gt=0, le=LATEST, description="Simulated time")
    warm_up: Seconds = Field(0, ge=0, description="Time that the metrics leave out")
    start: Literal["empty", "filled"] = Field("empty", description="Slots at the start: all free, or the first jobs "
                                              "that fill them are under way and run for the rest of their time, and "
                                              "tasks that wait then have had their scouts")
    grid: Grid = Field(description="Sites, queues, storages and links")
    shares: tuple[Share, ...] = Field(min_length=1, description="The share tree")
    resource_types: dict[PandaResourceType, ResourceTypeBounds] = Field(
        default_factory=lambda: dict(DEFAULT_RESOURCE_TYPES),
        description="Resource types; the first that fits is taken")
    work_queues: tuple[WorkQueue, ...] = Field((), description="JEDI's work queues, in addition to the share tree")
    gdpconfig: dict[str, Any] = Field(default_factory=dict, description="KEY or component.KEY to value")
    data: Data = Field(default_factory=Data, description="Datasets that tasks share")
    workload: Workload = Field(default_factory=Workload, description="All the work: campaigns, users, a recorded trace")
    accounts: dict[OwnerName, Account] = Field(default_factory=dict, description="Disk quotas and permissions by user "
                                               "or working group; `*` is any text; the first entry that fits counts")
    retry_rules: tuple[RetryRule, ...] = Field(DEFAULT_RETRY_RULES, description="What the retry module does about "
                                               "errors; a list of one's own replaces all")
    error_classification: tuple[ErrorClass, ...] = Field((), description="Errors that are the system's fault")
    incidents: tuple[Incident, ...] = Field((), description="What happens at a given time")
    agents: Agents = Field(default_factory=Agents, description="How often each agent wakes")
    policies: Policies = Field(Policies(), description="Names of the policies in use")
    dispatch: str = Field("panda", description="Where activated jobs wait: panda: at the queue that brokerage gave "
                          "them; dirac: in DIRAC's task queues, for a pilot of any queue that can run them; or a "
                          "dispatcher of another package")
    dirac: DiracRun = Field(DiracRun(), description="DIRAC's groups, for `dispatch: dirac`")
    record: Record = Field(Record(), description="What the run writes")

    @model_validator(mode="after")
    def sizes_of_shared_input(self) -> "Scenario":
        """Let the streams know how large the datasets are that their tasks share: their rates follow from that."""
        for stream in self.workload.streams:
            if stream.datasets:
                sizes = [self.data.mean_files(name, None) or 0 for name in stream.datasets]
                stream.reads_files(sum(sizes) / len(sizes), len(sizes))
                continue
            stream.reads_files(self.data.mean_files(stream.dataset, stream.container, stream.whole_container),
                               self.data.n_datasets(stream.container) if stream.whole_container else 1)
        return self

    def _repr_html_(self) -> str:
        """Facts and shares with their targets, for a notebook."""
        grid, streams = self.grid, [stream.name for stream in self.workload.streams]
        facts = {"scenario": self.name, "": self.description, "edition": self.edition, "seed": self.seed,
                 "duration": format_seconds(self.duration), "work": ", ".join(streams) or "none",
                 "grid": f"{len(grid.sites)} sites, {len(grid.queues)} PanDA queues"}
        return facts_html(facts) + shares_html(targets_of(self.shares_in_use))

    @property
    def keeps_meanrss(self) -> bool:
        """True if pilots keep to `meanrss`: in the deployed edition, unless IGNORE_MEANRSS is set."""
        return TERMS[self.edition].meanrss and not in_force(self)["meanrss", "IGNORE_MEANRSS"]

    @property
    def shares_in_use(self) -> tuple[Share, ...]:
        """The share tree in force: `shares`, or the one that normal work queues and partitions make."""
        return shares_in_use(self)
