"""PanDA queues with their software, the candidates that brokerage makes of them, and batch pools.

Keys are CRIC's, with CRIC's units (formats reference, sections 1.1 and 6); a value may also be written with its unit
(`maxtime: 96h`, `maxrss: 16 GB`).
"""

from collections.abc import Collection, Iterator, Mapping
from math import inf, nan
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from simgrid_broker.names import BareNucleus, QueueStatus
from simgrid_broker.schema.attribute import Column, Table, attribute, columns_of, derived, text
from simgrid_broker.schema.early_ends import Window, mistake_of
from simgrid_broker.schema.part import (
    LATEST,
    MOST_CORES_OF_JOB,
    ActsIn,
    Fraction,
    LeafName,
    Megabytes,
    Minutes,
    ObjectStoreName,
    Part,
    ResourceTypeName,
    Seconds,
    SiteName,
    StorageName,
)
from simgrid_broker.systems.worker_mode import WorkerMode, mode_of
from simgrid_broker.units import DAY, HOUR


class Hardware(Part):
    """CPUs or GPUs of a queue; in lists `any` is any and `excl` refuses tasks that ask for none of the others."""

    type: Literal["cpu", "gpu"] = Field(description="What it describes")
    arch: tuple[str, ...] | None = Field(None, description="Architectures of CPUs")
    instr: tuple[str, ...] | None = Field(None, description="Instruction sets of CPUs")
    vendor: tuple[str, ...] | None = Field(None, description="Vendors")
    model: tuple[str, ...] | None = Field(None, description="Models of GPUs; what worker nodes report counts instead")
    version: str | tuple[str, ...] | None = Field(None, description="CUDA of GPUs; what worker nodes report counts "
                                                  "instead")


class InstalledRelease(Part):
    """A release or container that is installed."""

    project: str = Field("", description="Project, such as Athena")
    release: str = Field("", description="Version, such as 21.0.38")
    cmtconfig: str = Field("", description="Platform")
    container_name: str = Field("", description="Container")
    sources: tuple[str, ...] = Field((), description="Where images of the container lie")
    tag: str = Field("", description="Name in CRIC, for the reader only")


class PublishedSoftware(Part):
    """Software that CRIC publishes for a queue with releases AUTO."""

    cmtconfigs: tuple[str, ...] = Field((), description="Platforms that the queue can run")
    containers: tuple[str, ...] = Field((), description="Sources of images: any, /cvmfs, or beginnings of their names")
    cvmfs: tuple[str, ...] = Field((), description="CVMFS repositories: atlas, nightlies, any")
    architectures: tuple[Hardware, ...] = Field((), description="CPUs and GPUs")
    tags: tuple[InstalledRelease, ...] = Field((), description="Installed releases")


class WorkerNodeGpu(Part):
    """A kind of GPU that worker nodes of a queue reported; what is left out is unknown."""

    vendor: str | None = Field(None, description="Vendor, such as NVIDIA")
    model: str | None = Field(None, description="Model, such as NVIDIA A100-SXM4-80GB")
    vram: Megabytes | None = Field(None, gt=0, description="Memory, MB")
    microarchitecture: str | None = Field(None, description="Generation, such as Ampere")
    version: str | None = Field(None, description="Version of CUDA")
    driver_version: str | None = Field(None, description="Version of the kernel driver")


class RuleForMissed(Part):
    """Most workers that may be missed within a time."""

    level: Literal["pq", "site"] = Field("pq", description="Whose missed workers count: the PanDA queue's, or those of "
                                         "all queues of its site")
    timeWindow: Minutes = Field(gt=0, description="Time in which they count, minutes")
    maxMissed: int = Field(ge=0, description="Missed workers above which the rule is met")


class Throttler(Part):
    """Stops the submission of workers to a queue while rules are met."""

    logicType: Literal["OR", "AND"] = Field("OR", description="Whether one rule is enough, or all must be met")
    rulesForMissed: tuple[RuleForMissed, ...] = Field(min_length=1, description="Rules, of which there is at least one")


OURS = "simulator"

UNKNOWN_COREPOWER = 10
"""HS06 per core where CRIC has none; source: lifecycle reference, section 2.7 (corepower, else 10)."""

DEFAULT_TRANSFERRINGLIMIT = 2000
"""Source: PanDA brokerage documentation, production job brokerage; brokerage reference, P20."""

DEFAULT_TRANSTIMEHI, DEFAULT_TRANSTIMELO = 2, 6
"""Days; source: constants of the deployed edition, lifecycle reference, section 4.3."""

PRODUCTION_TYPES = ("production", "unified")
"""Types of queues that take production work; source: brokerage reference, section 0.2."""

NUMBERS = ("max_io_intensity", "minEventsForJumbo", "jobChunkSize")
"""Options that are numbers, from 0 up."""


OPTIONS = (*NUMBERS, "bareNucleus", "secondaryNucleus", "nStandby", "per_core_attr", "grandly_unified",
           "use_only_local_data", "disableReassign", "useJumboJobs", "gpu")
"""Options of `params` and `catchall` that brokerage and the server read; source: formats reference, section 1.4."""

VIRTUAL = "_VP_DISK"
"""End of the names of DDM endpoints of virtual placement; source: brokerage reference, 3.3 A6."""

BARE = {"only": BareNucleus.ONLY, "allow": BareNucleus.ALLOW}
"""Values of the option bareNucleus; all others mean none (brokerage reference, section 4)."""


def _flat(options: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def has_option(queue: "Queue", key: str) -> bool:
    """True if `params` or `catchall` of a queue holds `key`; catchall matches by prefix (formats reference, 1.4)."""
    if key in queue.params:
        return bool(queue.params[key])
    return any(item.strip().startswith(key) for item in queue.catchall.split(","))


def option_value(queue: "Queue", key: str) -> str | None:
    """Value of `key` in `params`, else in `catchall` (key=value), None if neither has it (formats reference, 1.4)."""
    if key in queue.params:
        return str(queue.params[key])
    if not queue.catchall:
        return None
    items = (item.partition("=") for item in queue.catchall.split(","))
    return next((value.strip() for name, sign, value in items if sign and name.strip() == key), None)


def option_number(queue: "Queue", key: str, default: float) -> float:
    """Value of an option that is a number from 0 up; the default if it is missing or not such a number."""
    text = option_value(queue, key)
    if not text:
        return default
    try:
        found = float(text)
    except ValueError:
        return default
    return found if 0 <= found < inf else default


def standby_slots(queue: "Queue") -> Iterator[tuple[str, str | None, str | None, int]]:
    """Parts of `nStandby`, `<share>:<rtype>:<n>|...`, each as written, with share, resource type and slots.

    A part of another form has no share, which PanDA ignores; 0 slots = as many as jobs are starting. Source: lifecycle
    reference, section 2.4.
    """
    for part in filter(None, (option_value(queue, "nStandby") or "").split("|")):
        share, *rest = part.split(":")
        if len(rest) == 2 and rest[1].isdigit():
            yield part, share, rest[0], int(rest[1])
        else:
            yield part, None, None, 0


def flag(key: str, description: str, seen: str = "") -> Any:
    """A column that is 1 if a queue has an option."""
    return derived(lambda queue: has_option(queue, key), description, source=f"CRIC catchall {key}", seen=seen)


def number(key: str, default: float, description: str, **column: str) -> Any:
    """A column with the value of an option that is a number."""
    return derived(lambda queue: option_number(queue, key, default), description, source=f"CRIC params {key}",
                   **{"dtype": "f8", "seen": "f8", **column})


def in_scope(endpoints: "Collection[QueueEndpoint]", analysis: bool) -> "list[QueueEndpoint]":
    """The endpoints of analysis if it is asked for and there are any, else those of scope default.

    endpoints: of a queue, those that it can read, or those that it writes. Source: brokerage reference, 0.2.
    """
    scope = "analysis" if analysis and any(one.scope == "analysis" for one in endpoints) else "default"
    return [one for one in endpoints if one.scope == scope]


def reads_vp(queue: "Queue") -> int:
    """True if input comes from an endpoint of virtual placement: 1 = of scope default, where alone PanDA looks for it.

    2 = only of scope analysis; 0 = no. Source: brokerage reference, 3.3 A6.
    """
    scopes = {one.scope for one in queue.endpoints or () if one.read and one.storage.endswith(VIRTUAL)}
    return 1 if "default" in scopes else 2 if scopes else 0


def per_slot(queue: "Queue") -> int:
    """Factor that makes a limit of a queue one per slot: the cores where the option `per_core_attr` says so."""
    return queue.corecount if queue.corecount and has_option(queue, "per_core_attr") else 1


class QueueEndpoint(Part):
    """A DDM endpoint that a PanDA queue uses, as CRIC's astorages say."""

    storage: StorageName = Field(description="DDM endpoint")
    scope: Literal["default", "analysis"] = Field("default", description="Work for which it is used; default = all")
    read: bool = Field(True, description="Whether jobs take input from it (role read_lan)")
    write: bool = Field(True, description="Whether jobs put output there (role write_lan)")
    default_read: bool = Field(False, description="Whether it is the first choice for input")
    default_write: bool = Field(False, description="Whether it is the first choice for output")
    is_local: bool = Field(True, description="Whether it is at the site of the queue")
    order: int = Field(1, ge=0, description="Place among the endpoints; the first comes first")


class SlotRequest(Part):
    """A row of Harvester_Slots: jobs that may run at a PanDA queue by proactive assignment."""

    gshare: LeafName | None = Field(None, description="Leaf share; default: any")
    resource_type: ResourceTypeName | None = Field(None, description="Resource type; default: any")
    slots: int = Field(ge=0, description="numslots; 0 = starting jobs count as running")
    expires: Seconds | None = Field(None, ge=0, le=LATEST, description="expirationtime, when the row is forgotten; "
                                    "default: never")


class Slots(SlotRequest):
    """A row of Harvester_Slots that may come with the slots themselves."""

    opens: Seconds | None = Field(None, ge=0, le=LATEST, description="When the batch system of the queue gets so many "
                                  "slots more, until `expires`; workers that hold one then keep it; default: never")


class Queue(Part):
    """A PanDA queue, in CRIC's words."""

    atlas_site: SiteName = attribute(..., "Site that owns the queue", column="site", dtype="i2", codes="sites",
                                     seen="i4")
    status: Literal["online", "brokeroff", "test", "offline", "standby", "paused", "maintenance"] = attribute(
        "online", "Status at the start; an incident can change it", dtype="i2", codes="queue_status", seen="i2",
        code=QueueStatus.of)
    type: Literal["unified", "production", "analysis"] = Field("unified", description="Work that may come here")
    capability: Literal["ucore", "mcore", "score"] = Field("ucore", description="ucore = unified: slots of any size, "
                                                           "one candidate for each resource type")
    workflow: str | None = Field("pull_ups", description="How workers come to jobs: pull_ups = pilot streaming, by the "
                                 "server's order; pull or none = by Harvester's count of activated jobs; push, "
                                 "push_noheartbeat = one worker for each job, which is fetched first")
    resource_type: str = Field("GRID", description="Kind of infrastructure, for the tagging of shares")
    corecount: int = attribute(8, "Cores of a multi-core slot; capability score: 1 unless it is given", ge=0,
                               le=MOST_CORES_OF_JOB, dtype="i2", unit="cores", zero=1, seen="i4",
                               seen_as="slot_corecount")
    corepower: float = attribute(10, "HS06 per core", ge=0, unit="HS06/core", zero=UNKNOWN_COREPOWER,
                                 zero_means="unknown, read as 10", seen="f8")
    cpu_benchmark: Annotated[float, ActsIn("deployed")] = Field(
        0, ge=0, description="CPU benchmark of the worker nodes, HS06 per core, by which scouts count the work of "
        "jobs; 0 = none, corepower counts")
    cpu_efficiency: float = attribute(1, "Factor on the CPU efficiency of payloads, which is at most 1 here too", gt=0,
                                      le=2, source=OURS, hidden=True)
    payload_overhead: Seconds = attribute(0, "Wall time of a job before and after its payload, whatever its size, "
                                          "without CPU time, s", ge=0, unit="s", source=OURS, hidden=True)
    maxrss: Megabytes = attribute(0, "Memory limit of a slot, MB", ge=0, unit="MB", zero=inf, scale=per_slot)
    minrss: Megabytes = attribute(0, "Smallest memory that jobs may ask for, MB", ge=0, unit="MB", scale=per_slot)
    meanrss: Megabytes = attribute(0, "Target of the mean memory per core, MB; 0 = none", ge=0, unit="MB",
                                   column="meanrss")
    maxtime: Seconds = attribute(0, "Wall-clock limit, s", ge=0, unit="s", zero=inf, seen="f8")
    mintime: Seconds = attribute(0, "Shortest estimated wall time, s", ge=0, unit="s", seen="f8")
    maxwdir: Megabytes | None = attribute(
        None, "Scratch space of a slot, MB; null = unlimited; 0, as of CRIC's queues without one: brokers do not ask, "
        "and jobs are cut from files as documented without a limit, in the deployed edition by a limit of 0", ge=0,
        unit="MB", none=inf, scale=per_slot, zero_means="not asked for by brokers", seen="f8")
    maxinputsize: Megabytes = Field(0, ge=-1, description="Input that may be copied, MB; -1 = read from the storage")
    timefloor: Minutes = attribute(60, "A pilot takes further jobs for this long, minutes", ge=0, unit="s", scale=60)
    transferringlimit: int = attribute(0, "Jobs that may await output transfer", ge=0, unit="jobs",
                                       zero=DEFAULT_TRANSFERRINGLIMIT, seen="f8")
    transtimehi: float = attribute(
        0, "Days after which a transferring job of priority 800 or above is given up, in the documented edition",
        ge=0, unit="s", zero=DEFAULT_TRANSTIMEHI, scale=DAY)
    transtimelo: float = attribute(0, "Days after which a transferring job below priority 800 is given up", ge=0,
                                   unit="s", zero=DEFAULT_TRANSTIMELO, scale=DAY)
    pledgedcpu: int = attribute(0, "Pledged cores; -1 = opportunistic", ge=-1, unit="cores",
                                zero_means="no pledge is known", seen="f8")
    maxdiskio: float = attribute(0, "Disk traffic of running jobs per core above which no jobs with more come, kB/s",
                                 ge=0, unit="kB/s per core", zero=nan, zero_means="gdpconfig MAX_DISKIO_DEFAULT",
                                 seen="f8")
    sends_time: bool = attribute(False, "Whether pilots send the time that is left of `maxtime`, so that they get no "
                                 "job that claims more; PanDA's do not at present", dtype="i2",
                                 source="PanDA getJob remaining_time")
    cloud: str = text("", "Cloud, which an analysis task may ask for")
    fairsharepolicy: str = text("", "Which work the queue refuses")
    catchall: str = Field("", description="key=value options, comma-separated")
    params: dict[str, Any] = Field(default_factory=dict, description="The same options; they win over catchall. Nested "
                                   "ones count by their names joined with dots: resource_type_limits.SCORE")
    direct_access_lan: bool = Field(False, description="Payload may read from the local storage")
    direct_access_wan: bool = Field(False, description="Payload may read from remote storage, with `direct_access_lan` "
                                    "and the task's `allowInputWAN`")
    releases: tuple[str, ...] = Field(("ANY",), description="AUTO, ANY or release names")
    wnconnectivity: str = text("full", "Outbound network of worker nodes # IP stack")
    jobseed: str = text("std", "Which jobs go by event service")
    num_slots: int = attribute(-1, "numslots of Harvester_Slots, for proactive job assignment: counts as running jobs "
                               "where it is more; -1 = not set", ge=-1, unit="jobs", source="PanDA Harvester_Slots",
                               zero_means="starting jobs count")
    slot_requests: tuple[Slots, ...] = Field((), description="Rows of Harvester_Slots, by share and resource "
                                                   "type; they win over `num_slots`")
    cores: int | None = Field(None, ge=0, description="Cores of the queue's own batch system, a static partition; "
                              "default: the site's")
    batch_latency: Seconds | None = attribute(None, "Median time from the submission of a worker until the batch "
                                              "system considers it, s; default: the site's", ge=0, unit="s",
                                              source=OURS, none=-1)
    batch_latency_spread: float | None = attribute(None, "Standard deviation of the logarithm of that time; default: "
                                                   "the site's", ge=0, le=5, source=OURS, none=-1)
    eviction_rate: float = attribute(0, "Rate at which the batch system takes slots with a payload away, per hour; 0 = "
                                     "never", ge=0, le=3600, unit="1/s", source=OURS, scale=1 / HOUR, hidden=True)
    eviction_by_hour: tuple[Annotated[float, Field(ge=0)], ...] = Field((), description="Factor of `eviction_rate` in "
                                                                        "each hour of the day, 24 numbers; default: "
                                                                        "the same all day")
    slot_life: Seconds | None = attribute(None, "Median wall time that the batch system has left for a slot when its "
                                          "payload starts, as where it fills gaps before other work; its pilot runs "
                                          "one job; default: without end", gt=0, le=LATEST, unit="s", source=OURS,
                                          none=inf, hidden=True)
    slot_life_spread: float = attribute(0, "Standard deviation of the logarithm of that time", ge=0, le=5, source=OURS,
                                        hidden=True)
    window: Window | None = Field(None, description="When the queue's own batch system, of `cores`, has slots; "
                                  "default: always")
    eviction_notice: Seconds | None = attribute(None, "Notice before a slot is taken away, in which the pilot reports "
                                                "the end of its job; default: without a word, so that PanDA counts the "
                                                "job as running until its heartbeats are missed", ge=0, unit="s",
                                                source=OURS, none=-1, hidden=True)
    submission_failures: Fraction | None = attribute(None, "Probability that an attempt to submit a worker fails; "
                                                     "default: the site's", source=OURS, none=-1)
    throttler: Throttler | None = Field(None, description="Harvester's throttler, which submits no workers while too "
                                        "many are missed; default: none. Limits are the operators'")
    endpoints: tuple[QueueEndpoint, ...] | None = Field(None, description="DDM endpoints of jobs, `[]` = none; "
                                                        "default: the storage of the site, for input and output")
    objectstores: ObjectStoreName | None = attribute(
        None, "Object store that takes the output of event ranges, until they are merged; default: it lies at the site",
        column="object_store", dtype="i2", codes="storages", none=-1, recorded=False)
    is_cvmfs: bool = Field(True, description="Whether database releases come from CVMFS")
    software: PublishedSoftware | None = Field(None, description="What CRIC publishes for `releases: [AUTO]`; nothing "
                                               "= the queue takes no task that asks for software")
    gpus: tuple[WorkerNodeGpu, ...] = Field((), description="Kinds of GPU that worker nodes reported")
    cpu_levels: dict[str, Fraction] = Field(default_factory=dict, description="Part of the worker nodes that has each "
                                            "CPU level, such as x86-64-v3")

    unified = derived(lambda queue: queue.capability == "ucore", "1 if capability is ucore", seen="?")
    pull_ups = derived(lambda queue: queue.unified and queue.mode.asked_by_server,
                       "1 if unified and its workflow is pull_ups", seen="?")
    production = derived(lambda queue: queue.type in PRODUCTION_TYPES or has_option(queue, "grandly_unified"),
                         "1 if it takes production work",
                         source="CRIC type", seen="?")
    analysis = derived(lambda queue: queue.type in ("analysis", "unified") or has_option(queue, "grandly_unified"),
                       "1 if it takes analysis work",
                       source="CRIC type", seen="?")
    always_direct_io = derived(lambda queue: queue.maxinputsize == -1, "1 if no job may copy its input",
                               source="CRIC maxinputsize", seen="?")
    direct_io = derived(lambda queue: queue.always_direct_io or queue.direct_access_lan,
                        "1 if jobs read from the storage", source="CRIC maxinputsize, direct_access_lan", seen="?")
    reads_wan = derived(lambda queue: queue.direct_access_lan and queue.direct_access_wan,
                        "1 if jobs may read input from other sites", source="CRIC direct_access_lan, direct_access_wan")
    use_only_local_data = flag("use_only_local_data", "1 if input must be on its disk", seen="?")
    disable_reassign = flag("disableReassign", "1 if timeout rules are off")
    use_jumbo_jobs = flag("useJumboJobs", "1 if the queue is for jumbo jobs", seen="?")
    gpu = flag("gpu", "1 if it has GPUs and takes work for them only", seen="?")
    uses_vp = derived(reads_vp, "1 if input comes from virtual placement, 2 if that of analysis alone",
                      source="CRIC astorages", seen="i1")
    bare_nucleus = derived(lambda queue: BARE.get(option_value(queue, "bareNucleus") or "", BareNucleus.NO),
                           "0 no, 1 allow, 2 only; of a bare nucleus", source="CRIC catchall bareNucleus", seen="i1")
    max_io_intensity = number("max_io_intensity", inf, "Limit of ioIntensity; inf = none", unit="kB/s")
    min_events_for_jumbo = number("minEventsForJumbo", 0, "Events that a task with jumbo jobs must have left",
                                  unit="events")
    job_chunk_size = number("jobChunkSize", 0, "Jobs that come at once", unit="jobs", dtype="i4", seen="i4",
                            zero_means="default")

    ends_early = derived(lambda queue: bool(queue.eviction_rate or queue.slot_life or queue.window), "1 if the batch "
                         "system takes slots with a payload away", source=OURS, dtype="i1")
    window_begins = derived(lambda queue: queue.window.begins if queue.window else 0, "When its window opens first",
                              dtype="f8", unit="s", source=OURS)
    window_lasts = derived(lambda queue: queue.window.lasts if queue.window else inf, "How long its window stays "
                             "open; inf = it has slots always", dtype="f8", unit="s", source=OURS)
    window_every = derived(lambda queue: queue.window.every or inf if queue.window else inf, "Period in which its "
                             "window opens; inf = once", dtype="f8", unit="s", source=OURS)

    @property
    def mode(self) -> WorkerMode:
        """Mode by which workers come to its jobs; raises PluginError for a workflow of no mode."""
        return mode_of(self.workflow)

    @field_validator("params", mode="before")
    @classmethod
    def flat_params(cls, given: Any) -> Any:
        """Options in a nested form, as CRIC's `uconfig` has them, by their names joined with dots."""
        return dict(_flat(given)) if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def early_ends(self) -> Self:
        """Refuse values about slots that are taken away which cannot be meant."""
        if mistake := mistake_of(self):
            raise ValueError(mistake)
        return self

    @model_validator(mode="after")
    def single_core(self) -> Self:
        """Give a single-core queue one core unless another number was written."""
        if self.capability == "score" and "corecount" not in self.model_fields_set:
            object.__setattr__(self, "corecount", 1)
        return self


QUEUES = Table("queues", "one PanDA queue", (
    *columns_of(Queue),
    Column("laststart_s", "f8", "s", "PanDA SiteData laststart", "When a job last started here"),
    Column("n_started", "i8", "jobs", "PanDA startTime", "Jobs that have started here"),
    Column("lastpilot_s", "f8", "s", "PanDA SiteData getJob", "When a pilot last asked for a job here"),
    Column("mean_memory_high", "i2", "", "PanDA getJob", "1 while a push queue gives out only jobs with at most "
           "`meanrss` per core, because the mean of those that run or start is above it"),
    Column("pool", "i2", "", OURS, "Batch pool that gives the slots", codes="pools"),
    Column("worker_mode", "i2", "", "CRIC workflow", "Mode of its workers: row of the run's modes"),
))

class Workers(Part):
    """Workers of one resource type at a PanDA queue."""

    submitted: int = Field(0, ge=0, description="Workers that wait in the batch system")
    running: int = Field(0, ge=0, description="Workers that hold a slot")


class QueueNumbers(Part):
    """Numbers of one PanDA queue at the moment, all shares together."""

    workers_submitted: int = Field(0, ge=0, description="Workers that wait in the batch system")
    workers_running: int = Field(0, ge=0, description="Workers that hold a slot")
    workers: dict[ResourceTypeName, Workers] = Field(default_factory=dict, description="More workers, by resource type")
    pull_ups: Annotated[bool | None, ActsIn("deployed")] = Field(
        None, description="Whether unified pilot streaming feeds the queue; default: by its capability and workflow")
    slot_requests: tuple[SlotRequest, ...] = Field((), description="Rows of Harvester_Slots; they win over those of "
                                                   "the grid and over `num_slots`")
    n_pilot: int | None = attribute(None, "Pilots that called getJob or updateJob in the last 3 hours; default: "
                                    "unknown", ge=0, dtype="i8", unit="pilots", source="PanDA SiteData", seen="i8",
                                    none=-1)
    laststart: Seconds | None = Field(None, ge=-LATEST, le=LATEST, description="When a job last started here, on the "
                                      "clock of `time` and not after it; default: just now")
    cores_running: int | None = Field(None, ge=0, description="Cores of running jobs; default: those of a slot of "
                                      "their resource type for each job in `jobs`")
    cores_starting: int | None = Field(None, ge=0, description="Cores of starting jobs; default: those of a slot "
                                       "of the queue for each job in `jobs`")
    transferring_to: dict[SiteName, Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict, description="Jobs whose output is on its way, by nucleus, of which those of nuclei that "
        "take none are spared")
    transferring_unwritable: int = attribute(0, "Jobs whose output waits for a nucleus that takes none", ge=0,
                                             dtype="i8", unit="jobs", source="PanDA", seen="i8")
    site_class: Literal["hi", "mid", "lo"] | None = Field(None, description="Class by how soon analysis jobs start; "
                                                          "default: not classified, as mid")
    to_running_rate: float = Field(0, ge=0, description="Jobs that began to run in an hour; 0 = unknown")
    diskio: float = attribute(0, "Measured disk traffic of running jobs, kB/s per core", ge=0, unit="kB/s per core",
                              source="PanDA", seen="f8", zero=nan, none=nan, zero_means="unknown")


QUEUE_NUMBERS = columns_of(QueueNumbers)
"""Numbers of a queue, all shares together, that no table of the world holds."""

PSEUDO_QUEUES = Table("pseudo_queues", "one PanDA queue and resource type", (
    Column("maxrss_mb", "f8", "MB", "brokerage reference 0.2", "Memory limit of a slot", "unlimited", seen="f8"),
    Column("minrss_mb", "f8", "MB", "brokerage reference 0.2", "Smallest memory that jobs may ask for", seen="f8"),
    Column("worker_mb", "f8", "MB", "Harvester worker request", "Memory that a worker asks of the batch system"),
    Column("queue", "i2", "", OURS, "PanDA queue", codes="queues", seen="i4"),
    Column("pool", "i2", "", OURS, "Batch pool", codes="pools"),
    Column("resource_type", "i2", "", OURS, "Resource type; -1 = every type", codes="resource_types", seen="i4"),
    Column("corecount", "i2", "cores", "brokerage reference 0.2", "Cores of a slot", seen="i4"),
    Column("serves_first", "i4", "", OURS, "First pseudo-queue whose jobs its workers take"),
    Column("serves_last", "i4", "", OURS, "One past the last of them"),
    Column("submitted_head", "i4", "", OURS, "Oldest group of workers that wait in the batch system; -1 = none"),
    Column("submitted_tail", "i4", "", OURS, "Youngest group of workers that wait; -1 = none"),
    Column("n_submitted", "i4", "workers", "Harvester", "Workers that wait in the batch system"),
    Column("n_running", "i4", "workers", "Harvester", "Workers that hold a slot"),
))
