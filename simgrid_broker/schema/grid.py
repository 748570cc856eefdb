"""Sites, batch systems, links and storages: their keys in a scenario and their columns in the world.

Field names are CRIC's where CRIC has the field (formats reference, sections 1 to 4), with the unit as suffix.
"""

from math import inf, nan
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from simgrid_broker.names import CLOSENESS_UNKNOWN, FTS_ACTIVITIES
from simgrid_broker.schema.attribute import Column, Table, attribute, columns_of
from simgrid_broker.schema.part import (
    HOURS,
    MOST_CORES_OF_JOB,
    AtMost,
    Bytes,
    Fraction,
    Megabytes,
    Needs,
    Part,
    Rate,
    RegionName,
    ResourceTypeName,
    Seconds,
    SiteName,
)
from simgrid_broker.schema.series import DISPATCH_ACCOUNTS

OURS = "simulator"


class Node(Part):
    """Worker nodes of a site, all alike; what is left over makes a smaller one."""

    cores: int = Field(ge=1, le=MOST_CORES_OF_JOB, description="Cores of a node")
    memory: Megabytes | None = Field(None, gt=0, description="Memory of a node, MB; default: that of its cores by "
                                     "`memory_per_core`")
    whole: bool = Field(False, description="Whether a worker takes a node as a whole, however many cores it asks for")


NODES = Table("nodes", "one worker node", (
    Column("cores", "i4", "cores", OURS, "Cores"),
    Column("free_cores", "i4", "cores", OURS, "Cores not in use"),
    Column("memory_mb", "f8", "MB", OURS, "Memory"),
    Column("free_mb", "f8", "MB", OURS, "Memory not in use"),
    Column("place", "i4", "", OURS, "Its place in `roomy_nodes` while it has free cores"),
))

POOLS = Table("pools", "one batch system", (
    Column("cores", "i8", "cores", OURS, "Cores"),
    Column("free_cores", "i8", "cores", OURS, "Cores not in use"),
    Column("memory_mb", "f8", "MB", OURS, "Memory"),
    Column("free_mb", "f8", "MB", OURS, "Memory not in use"),
    Column("backfill_s", "f8", "s", OURS, "For how long younger workers may overtake one that does not fit"),
    Column("first", "i4", "", OURS, "First of the pool's pseudo-queues in `pool_members`"),
    Column("last", "i4", "", OURS, "One past the last of them"),
    Column("first_node", "i4", "", OURS, "First of its nodes"),
    Column("last_node", "i4", "", OURS, "One past the last of them; the same = cores count for the whole system"),
    Column("n_roomy", "i4", "nodes", OURS, "Nodes with free cores, in `roomy_nodes` from `first_node` on"),
    Column("whole_nodes", "i4", "", OURS, "1 if a worker takes a node as a whole"),
    Column("closed", "i4", "", OURS, "1 while no worker may start (outage)"),
    Column("leaving_cores", "i8", "cores", OURS, "Cores that are withdrawn as soon as they are free"),
    Column("leaving_mb", "f8", "MB", OURS, "Memory that goes with them"),
    Column("unfilled_cores", "i8", "cores", OURS, "Cores that have yet to get the job that was under way at the start"),
))

WORKER_ACCOUNTS = Table("worker_accounts", "the workers of one PanDA queue and resource type since the start", (
    Column("luck", "i8", "", OURS, "Key of their random draws"),
    Column("n_ever", "i8", "workers", "Harvester", "Attempts to submit a worker"),
    Column("n_missed", "i8", "workers", "Harvester missed", "Workers that could not be submitted"),
    Column("n_started", "i8", "workers", "Harvester", "Workers that got a slot"),
    Column("n_empty", "i8", "workers", "PanDA", "Workers that left without having had a job"),
    Column("n_cancelled", "i8", "workers", "Harvester", "Workers that were cancelled while they waited"),
    *(Column(f"n_{name}", dtype="i8", unit=unit, source="PanDA getJob", description=text)
      for name, (unit, text) in DISPATCH_ACCOUNTS.items()),
    Column("held_cores", "i8", "cores", OURS, "Cores that workers hold"),
    Column("working_cores", "i8", "cores", OURS, "Of these, cores of workers with a payload"),
    Column("used_cores", "i8", "cores", OURS, "Of these, cores that belong to the payload"),
    Column("held_core_s", "f8", "core s", OURS, "Sum over past holders of cores x (end - start), less cores x start of "
           "the present ones"),
    Column("working_core_s", "f8", "core s", OURS, "The same of workers with a payload"),
    Column("used_core_s", "f8", "core s", OURS, "The same of payloads"),
))


SHARED = tuple(activity.word for activity in FTS_ACTIVITIES[1:])
"""Activities of FTS that have a share: all but express."""

class Backbone(Part):
    """A capacity that links share: of those that cross the border of a group of sites, in each direction."""

    capacity: Rate = Field(gt=0, description="Capacity in each direction, bytes/s")
    sites: tuple[SiteName, ...] = Field((), description="Sites of the group")
    regions: tuple[RegionName, ...] = Field((), description="Regions whose sites belong to the group")


class Background(Part):
    """Traffic of others, which leaves less of every door and backbone; it changes with the cycles of FTS."""

    load: Fraction = Field(0, lt=1, description="Part of the capacity that it takes on average")
    by_hour: tuple[Annotated[float, Field(ge=0)], ...] = Field((), description="Factor of the load in each hour of "
                                                               "the day, 24 numbers; default: the same all day")

    @model_validator(mode="after")
    def whole_day(self) -> "Background":
        """Refuse a profile that is not of a day, or leaves nothing in an hour."""
        if len(self.by_hour) not in (0, HOURS):
            raise ValueError(f"by_hour has {len(self.by_hour)} numbers, not one for each hour of the day, {HOURS}")
        if self.load * max(self.by_hour, default=1) >= 1:
            raise ValueError("load x by_hour takes all of the capacity in an hour: it must stay below 1")
        return self

    def load_at(self, time_s: float) -> float:
        """Part of the capacity that is taken at a time, s from the start of the run, which is midnight."""
        return self.load * (self.by_hour[int(time_s // 3600) % HOURS] if self.by_hour else 1)


class Trouble(Part):
    """Troubles that befall the network of each site, or each link, at random: an outage, or less of the capacity."""

    of: Literal["sites", "links"] = Field("sites", description="What has them: each site with all its links and its "
                                          "doors, or each link by itself, in its direction")
    every: Seconds = Field(gt=0, description="Mean time from the end of one to the next at one site or link, "
                           "exponential")
    lasts: Seconds = Field(gt=0, description="Mean duration, exponential")
    factor: float = Field(0, ge=0, description="What is left of the capacity, as a factor; 0 = nothing")


class Flow(Part):
    """Files that FTS moves for no job, rule by rule; rules come at random times, between sites drawn by storage."""

    activity: Literal["staging", "data_rebalancing", "data_consolidation", "t0_export"] = Field(
        description="Activity under which the files wait; `staging` is of files that a tape has given")
    files_per_day: float = Field(gt=0, description="Files a day, on average")
    file_size: Bytes = Field(gt=0, description="Size of a file, bytes")
    files_per_rule: int = Field(20, ge=1, le=100_000, description="Files of a rule, which move together; assumed")
    from_tiers: tuple[Annotated[int, Field(ge=0, le=3)], ...] = Field((), description="Tiers of the sites that send; "
                                                                      "default: all")
    to_tiers: tuple[Annotated[int, Field(ge=0, le=3)], ...] = Field((), description="Tiers of the sites that receive; "
                                                                    "default: all")


class Fts(Part):
    """The file transfer service and Rucio's handling of what it could not transfer."""

    shares: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict, description="Weight of each activity where several wait at a link ("
        + ", ".join(SHARED) + "); default: 1; express goes first")
    retries: int = Field(3, ge=0, description="Attempts after the first one before a transfer is stuck; source: Rucio "
                         "core/request.py, should_retry_request")
    retry_delay: Seconds = Field(600, ge=0, description="Time from a failed attempt to the next; assumed")
    stuck_delay: Seconds = Field(7200, ge=0, description="Time after which a stuck transfer gets as many attempts "
                                 "again, as of a rule that is repaired; assumed")
    lost_callbacks: Fraction = Field(0, description="Part of the callbacks of input that are lost: its jobs stay "
                                     "assigned until the datasetManager looks for their files, every 40 min and at "
                                     "each job at most once an hour")

    flows: tuple[Flow, ...] = Field((), description="Files that are moved for no job; they stay at their destination "
                                    "for `data.dispatch_lifetime`, and take nothing away from their source")

    @model_validator(mode="after")
    def known_activities(self) -> "Fts":
        """Refuse shares of activities that do not exist, and of express, which has no share."""
        if wrong := sorted(set(self.shares) - set(SHARED)):
            raise ValueError(f"unknown activity {', '.join(wrong)}; there are {', '.join(SHARED)}")
        return self


CRIC = "CRIC"
RUCIO = "Rucio"

DATADISK, OS_ES = "DATADISK", "OS_ES"
"""Type of the storages that production brokerage asks for; source: brokerage reference, 1.2 T5 and 2.5."""

ACTIVITIES = ("read_lan", "write_lan", "read_wan", "write_wan")
"""Activities of a DDM endpoint; CRIC has a status for each."""

OFF = {"ON": 0, "OFF": 1, "TEST": 1, "PROBING": 2, "AUTO": 2, "": 2}
"""Value of `read_wan_off` and the like by CRIC's status of the activity."""

Usage = Literal["ON", "OFF", "TEST", "PROBING", "AUTO", ""]


def usage(activity: str, description: str) -> Any:
    """The status of an activity of an endpoint."""
    return attribute("ON", description, code=OFF.__getitem__, column=f"{activity}_off", dtype="i2",
                     source="CRIC ddmendpointstatus")


class Site(Part):
    """An ATLAS site."""

    tier: int = attribute(2, "Tier level", ge=0, le=3, dtype="i2", source="CRIC tier_level")
    region: str = Field("", description="Region or cloud")
    cores: int | None = Field(None, ge=0, description="Cores of the batch system that queues without their own share")
    memory_per_core: Megabytes = Field(4000, gt=0, description="Memory of the batch system per core, MB")
    nucleus: bool = attribute(False, "Whether tasks can have their nucleus here", dtype="i2",
                              source="CRIC datapolicies")
    failure_rate: Fraction = attribute(0.02, "Probability that the site makes a job fail", source=OURS, hidden=True)
    lost_heartbeats: Fraction = attribute(0, "Part of these failures in which the worker vanishes, and the server "
                                          "waits for heartbeats", source=OURS, hidden=True)
    stage_out_errors: Fraction = attribute(0, "Part of these failures that come after all the work, when output is "
                                           "written", source=OURS, hidden=True)
    stage_in_rate: Rate = attribute(30e6, "Rate at which one job reads its input, bytes/s", gt=0, unit="bytes/s",
                                    source=OURS)
    lan: Rate | None = attribute(None, "Rate at which all jobs of the site together copy input and output, bytes/s: "
                                 "those that stage in or out at once wait for each other; default: no limit", gt=0,
                                 none=inf, unit="bytes/s", source=OURS)
    stage_latency: Seconds = attribute(5, "Time that staging takes whatever the size, s", ge=0, unit="s", source=OURS)
    storage: str | None = Field(None, description="DDM endpoint that takes output; default: the DATADISK that the "
                                "site's first queue for production writes to, of several the first by name, else the "
                                "first endpoint of the site")
    door_out: Rate | None = Field(None, gt=0, description="Capacity of all links out of the site together, bytes/s; "
                                  "default: no limit")
    door_in: Rate | None = Field(None, gt=0, description="Capacity of all links into the site together, bytes/s")
    node: Node | None = Field(None, description="Worker nodes; default: cores and memory count for the batch system as "
                              "a whole")
    backfill: Seconds = Field(0, ge=0, description="For how long smaller workers may overtake one that does not fit; "
                              "then the batch system drains for it")

    partitions: dict[ResourceTypeName, Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict, description="Static partitions: of `cores` those kept for workers of one resource type "
        "of unified queues; the other types share the rest")
    batch_latency: Seconds = Field(0, ge=0, description="Median time from the submission of a worker until the batch "
                                   "system considers it, s, of the queues that say nothing else")
    batch_latency_spread: float = Field(0, ge=0, le=5, description="Standard deviation of the logarithm of that time")
    submission_failures: Fraction = Field(0, description="Probability that an attempt to submit a worker fails")

    @model_validator(mode="after")
    def kinds_of_failures(self) -> "Site":
        """Refuse parts of the failures that make up more than all of them."""
        if self.lost_heartbeats + self.stage_out_errors > 1:
            raise ValueError("lost_heartbeats and stage_out_errors are parts of the failures: together at most 1")
        return self


SITES = Table("sites", "one ATLAS site", (
    *columns_of(Site),
    Column("down", "i4", "", OURS, "Outages of the site that are not over", hidden=True),
    Column("lan_backlog_bytes", "f8", "bytes", OURS, "Files that jobs were to copy over LAN at `lan_updated_s`"),
    Column("lan_updated_s", "f8", "s", OURS, "When a job last began to copy over LAN"),
    Column("storage", "i2", "", CRIC + " astorages", "Storage that takes output; -1 = none", codes="storages"),
    Column("bare_nucleus", "i2", "", CRIC + " catchall bareNucleus of its queues", "0 no, 1 allow, 2 only"),
    Column("secondary_nucleus", "i2", "", CRIC + " catchall secondaryNucleus of its queues",
           "Site whose storage full-chain tasks write to; -1 = its own", codes="sites"),
))


class LinkDefaults(Part):
    """Figures of every link that `pairs` does not describe."""

    bandwidth: Rate = attribute(1.25e9, "Capacity, bytes/s", gt=0, unit="bytes/s", source=OURS)
    latency: Seconds = attribute(30, "From the last byte to the callback, s", ge=0, unit="s", source=OURS)
    max_active_files: int = attribute(100, "Files under way at once", ge=1, unit="files", dtype="i4", source="FTS")
    min_active_files: Annotated[int | None, AtMost("max_active_files")] = attribute(
        None, "Files under way at once to which FTS's optimiser may go down; default: as max_active_files, which it "
        "then never changes", ge=1, unit="files", dtype="i4", source="FTS", none=0)
    file_rate: Rate | None = attribute(None, "Most that one file moves at, bytes/s; default: what the link has", gt=0,
                                       unit="bytes/s", source=OURS, none=inf)
    failure_rate: Fraction = attribute(0.08, "Probability that an attempt at a file fails", source=OURS, hidden=True)
    closeness: int | None = attribute(None, "0 best to 11 worst, -1 blocked", ge=-1, le=11, dtype="i2", seen="i2",
                                      source="CRIC sitematrix", none=CLOSENESS_UNKNOWN)


class Ends(Part):
    """The two ends of a link."""

    source: SiteName = Field(description="Site that sends")
    destination: SiteName = Field(description="Site that receives")


class Attachment(Part):
    """Connection of a site to the wide-area network; a pair has the lesser of its two ends, and both failures."""

    bandwidth: Rate | None = Field(None, gt=0, description="Capacity, bytes/s")
    latency: Seconds | None = Field(None, ge=0, description="From the last byte to the callback, s")
    max_active_files: int | None = Field(None, ge=1, description="Files under way at once")
    min_active_files: Annotated[int | None, AtMost("max_active_files")] = Field(
        None, ge=1, description="Files under way at once to which FTS may go down")
    file_rate: Rate | None = Field(None, gt=0, description="Most that one file moves at, bytes/s")
    failure_rate: Fraction | None = Field(None, description="Probability that an attempt at a file fails")


class Link(Attachment, Ends):
    """A directed link between two sites; what is left out is taken from the defaults."""

    closeness: int | None = Field(None, ge=-1, le=11, description="0 best to 11 worst, -1 blocked")
    blocked: bool = Field(False, description="Nothing moves over it, the same as closeness -1")


class LinkNumbers(Ends):
    """Traffic from one site to another as brokers know it; its closeness is in `grid.links`."""

    queued_files: int = attribute(0, "Files of output that wait or are under way, without express ones", ge=0,
                                  unit="files", source="NWS", dtype="i4", seen="i4")
    queued_express: int = attribute(0, "Files of output of express tasks that wait or are under way", ge=0,
                                    unit="files", source="NWS", dtype="i4", seen="i4")
    mbps_hour: float | None = attribute(None, "Mean throughput of the last hour, MB/s; default: unknown", ge=0,
                                        unit="MB/s", source="NWS", seen="f8", none=nan)
    mbps_day: float | None = attribute(None, "Mean throughput of the last day, MB/s", ge=0, unit="MB/s", source="NWS",
                                       seen="f8", none=nan)
    mbps_week: float | None = attribute(None, "Mean throughput of the last week, MB/s", ge=0, unit="MB/s",
                                        source="NWS", seen="f8", none=nan)


LINK_NUMBERS = columns_of(LinkNumbers)
"""Numbers of a link that change while brokers look on."""


class ClosenessMatrix(Part):
    """CRIC's site matrix in short: one text a source, one sign a destination, both in the order of `sites`.

    Signs: 0 to 9, a = 10, b = 11, - = blocked, . = not given.
    """

    sites: tuple[SiteName, ...] = Field(description="Names of the sites, in the order of rows and signs")
    rows: tuple[str, ...] = Field(description="One text for each source")

    @model_validator(mode="after")
    def square(self) -> "ClosenessMatrix":
        """Refuse a matrix that is not square or has other signs."""
        if len(self.rows) != len(self.sites) or any(len(row) != len(self.sites) for row in self.rows):
            raise ValueError(f"must have {len(self.sites)} rows of {len(self.sites)} signs, one for each of `sites`")
        if wrong := "".join(sorted(set("".join(self.rows)) - set("0123456789ab-."))):
            raise ValueError(f"the rows hold the sign(s) {wrong!r}; write 0 to 9, a, b, - or .")
        return self


class Links(Part):
    """All links; what a pair says wins over its sites, a site over its tier, a tier over the default."""

    default: LinkDefaults = Field(LinkDefaults(), description="What holds for every link that nothing else describes")
    by_tier: dict[Annotated[int, Field(ge=0, le=3)], Attachment] = Field(
        default_factory=dict, description="Ends of links at the sites of a tier")
    by_site: dict[SiteName, Attachment] = Field(default_factory=dict, description="Ends of links at one site")
    closeness: ClosenessMatrix | None = Field(None, description="Closeness of all pairs in short")
    pairs: tuple[Link, ...] = Field((), description="Single links")
    backbones: dict[str, Backbone] = Field(default_factory=dict, description="Capacities that links share, by name")
    background: Background = Field(Background(), description="Traffic of others through doors and backbones")
    troubles: tuple[Trouble, ...] = Field((), description="Kinds of trouble that the networks of all sites have at "
                                          "random")


LINKS = Table("links", "one directed pair of sites", (
    *columns_of(LinkDefaults),
    Column("virtual", "f8", "bytes/file", OURS, "Bytes that each active file has received: the clock of sharing"),
    Column("updated_s", "f8", "s", OURS, "When `virtual` was last brought up to date"),
    Column("busy_s", "f8", "s", OURS, "For how long bytes have moved, up to `updated_s`"),
    Column("bytes_done", "f8", "bytes", OURS, "Bytes delivered so far"),
    Column("bytes_moved", "f8", "bytes", OURS, "Bytes that have moved up to `updated_s`, those of failed attempts too"),
    Column("bytes_landing", "f8", "bytes", OURS, "Bytes that have moved and await their callback"),
    Column("bytes_wasted", "f8", "bytes", OURS, "Bytes moved by failed attempts, or for jobs that were gone by then"),
    Column("rate", "f8", "bytes/s", OURS, "What the link has of the doors and backbones that it crosses"),
    Column("due_s", "f8", "s", OURS, "Time of the earliest event that waits for this link; inf = none"),
    Column("files_done", "i8", "files", OURS, "Files delivered so far"),
    Column("active_files", "i4", "files", OURS, "Files under way"),
    Column("readers", "i4", "jobs", OURS, "Jobs that read over it, each with one of the files under way"),
    Column("queued_files", "i4", "files", "NWS files queued", "Files that wait or are under way"),
    Column("active_head", "i4", "", OURS, "Transfer that ends next; -1 = none"),
    Column("active_limit", "i4", "files", "FTS", "Files under way at once that FTS allows now"),
    Column("place", "i4", "", OURS, "Place in the list of links with files; -1 = it has none"),
    Column("down", "i2", "", OURS, "Outages of the link and of its ends that are not over"),
    Column("queued_output", "i4", "files", "NWS files queued, Production Output",
           "Files of activity Production Output that wait or are under way"),
    Column("queued_express", "i4", "files", "NWS files queued, Express",
           "Files of activity Express that wait or are under way, input and output"),
    Column("rate_sum", "f8", "bytes/s", "FTS", "Sum of the mean rates of all files delivered so far"),
    Column("files_failed", "i8", "files", "FTS", "Attempts at single files that failed so far"),
))


class Storage(Part):
    """A DDM endpoint."""

    site: SiteName = attribute(..., "Site that owns the endpoint", dtype="i2", codes="sites")
    total: Bytes = attribute(..., "Size", gt=0, unit="bytes", source=RUCIO)
    free: Bytes = attribute(..., "Free at the start", ge=0, unit="bytes", source=RUCIO, seen="f8")
    expired: Bytes = attribute(0, "Data that may be deleted when space is needed", ge=0, unit="bytes", source=RUCIO)
    min_free: Bytes = attribute(0, "Free space below which deletion starts", ge=0, unit="bytes", source=RUCIO)
    unavailable: Bytes = attribute(0, "Free space that is promised elsewhere", ge=0, unit="bytes", source=RUCIO)
    read_wan: Usage = usage("read_wan", "Whether it sends files to other sites; empty = CRIC does not say, which only "
                            "`deployed` takes for ON")
    write_wan: Usage = usage("write_wan", "Whether it receives files from other sites")
    read_lan: Usage = usage("read_lan", "Whether jobs at its site read it")
    write_lan: Usage = usage("write_lan", "Whether jobs at its site write to it")
    type: str = Field(DATADISK, description="Type in DDM; production brokerage asks for the status of DATADISK alone; "
                      "OS_ES = an object store: it takes the output of event ranges from queues that name it in "
                      "`objectstores`, and nothing else")
    tape: bool = attribute(False, "Whether its files are on tape", dtype="i2", source=CRIC + " is_tape")
    drives: Annotated[int | None, Needs("tape", "disk has no drives")] = Field(
        None, ge=1, description="Drives of an endpoint of tape, each of which reads one dataset at a time; needed "
        "where the data carousel stages from it")
    mount_time: Annotated[Seconds, Needs("drives")] = Field(
        120, ge=0, description="Time until a drive has mounted and wound a tape, s; assumed")
    drive_rate: Annotated[Rate, Needs("drives")] = Field(
        300e6, gt=0, description="What a drive reads at, bytes/s; assumed")
    blacklisted_read: bool = Field(False, description="Whether no queue takes input from it")
    deletion_rate: Rate | None = attribute(None, "How fast expired data is deleted while less than min_free is free; "
                                           "default: at once, when space is needed", none=inf, gt=0, unit="bytes/s",
                                           source="Rucio, reaper", column="deletion_rate")
    door_out: Rate | None = Field(None, gt=0, description="Capacity of all transfers from it together, bytes/s; "
                                  "default: no limit but its site's")
    door_in: Rate | None = Field(None, gt=0, description="Capacity of all transfers to it together, bytes/s")

    @property
    def is_object_store(self) -> bool:
        """True if it takes the output of event ranges, and nothing else."""
        return self.type == OS_ES


STORAGES = Table("storages", "one DDM endpoint", (
    *columns_of(Storage),
    Column("used_bytes", "f8", "bytes", OURS, "Taken by data that is not expired"),
    Column("expired_replica_bytes", "f8", "bytes", OURS, "Expired data that belongs to replicas of datasets"),
    Column("dispatched_bytes", "f8", "bytes", OURS, "Files that were brought for jobs of one task alone, not expired"),
    Column("landed_bytes", "f8", "bytes", OURS, "Of these, what has landed since the last turn of the reaper"),
    Column("output_bytes", "f8", "bytes", OURS, "Output that has landed since the start and stays, not expired"),
    Column("landed_output_bytes", "f8", "bytes", OURS, "Of these, what has landed since the last turn of the reaper"),
    Column("event_bytes", "f8", "bytes", OURS, "Output of event ranges of inputs that are not over", recorded=False),
    Column("first_free_bytes", "f8", "bytes", OURS, "Free at the start"),
    Column("deleted_bytes", "f8", "bytes", OURS, "Deleted so far"),
    Column("written_bytes", "f8", "bytes", OURS, "Written so far"),
    Column("read_bytes", "f8", "bytes", OURS, "Read by its drives so far"),
    Column("passed_bytes", "f8", "bytes", OURS, "Of these, put on disk at its site or handed to a link"),
    Column("held_bytes", "f8", "bytes", OURS, "Of these, in drives that wait for room on the disk of their site"),
    Column("dropped_bytes", "f8", "bytes", OURS, "Of these, given up by drives because the request had ended"),
    Column("drives", "i4", "drives", OURS, "Drives; 0 = it has none"),
    Column("mounted", "i4", "drives", OURS, "Drives that mount or read a tape"),
))
