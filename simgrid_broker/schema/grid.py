"""Sites, PanDA queues, batch pools, links and storages: their keys in a scenario and their columns in the world.

Field names are CRIC's where CRIC has the field (formats reference, sections 1 to 4), with the unit as suffix.
"""

from typing import Any, Literal

from pydantic import Field

from simgrid_broker.schema.attribute import attribute, columns_of
from simgrid_broker.schema.column import Column, Table
from simgrid_broker.schema.part import Bytes, Part

CRIC = "CRIC"
OURS = "simulator"
RUCIO = "Rucio"

ACTIVITIES = ("read_lan", "write_lan", "read_wan", "write_wan")
"""Activities of a DDM endpoint; CRIC has a status for each."""

OFF = {"ON": 0, "OFF": 1, "TEST": 1, "": 2}
"""Value of `read_wan_off` and the like by CRIC's status of the activity."""

Usage = Literal["ON", "OFF", "TEST", ""]


def usage(activity: str, description: str) -> Any:
    """The status of an activity of an endpoint."""
    return attribute("ON", description, code=OFF.__getitem__, column=f"{activity}_off", dtype="i2",
                     source="CRIC ddmendpointstatus")


SITES = Table("sites", "one ATLAS site", (
    Column("stage_in_rate", "f8", "bytes/s", OURS, "Rate at which one job reads its input from the local storage"),
    Column("stage_latency_s", "f8", "s", OURS, "Time that staging takes whatever the size"),
    Column("failure_rate", "f8", "", OURS, "Probability that the site makes a job fail", hidden=True),
    Column("down", "i4", "", OURS, "Outages of the site that are not over", hidden=True),
    Column("tier", "i2", "", CRIC + " tier_level", "Tier"),
    Column("nucleus", "i2", "", CRIC + " datapolicies", "1 if the site can be a nucleus"),
    Column("storage", "i2", "", CRIC + " astorages", "Storage that takes output; -1 = none", codes="storages"),
    Column("bare_nucleus", "i2", "", CRIC + " catchall bareNucleus of its queues", "0 no, 1 allow, 2 only"),
    Column("secondary_nucleus", "i2", "", CRIC + " catchall secondaryNucleus of its queues",
           "Site whose storage full-chain tasks write to; -1 = its own", codes="sites"),
))

QUEUES = Table("queues", "one PanDA queue", (
    Column("corepower", "f8", "HS06/core", CRIC + " corepower", "Speed of one core"),
    Column("maxrss_mb", "f8", "MB", CRIC + " maxrss", "Memory limit of a slot", zero_means="unlimited"),
    Column("minrss_mb", "f8", "MB", CRIC + " minrss", "Smallest memory that jobs may ask for"),
    Column("maxtime_s", "f8", "s", CRIC + " maxtime", "Wall-clock limit", zero_means="unlimited"),
    Column("mintime_s", "f8", "s", CRIC + " mintime", "Shortest estimated wall time"),
    Column("maxwdir_mb", "f8", "MB", CRIC + " maxwdir", "Scratch space of a slot", zero_means="unlimited"),
    Column("timefloor_s", "f8", "s", CRIC + " timefloor", "A pilot takes further jobs for this long"),
    Column("laststart_s", "f8", "s", "PanDA SiteData laststart", "When a job last started here"),
    Column("lastpilot_s", "f8", "s", "PanDA SiteData getJob", "When a pilot last asked for a job here"),
    Column("maxdiskio", "f8", "kB/s per core", CRIC + " maxdiskio", "Limit of disk traffic", zero_means="default"),
    Column("max_io_intensity", "f8", "kB/s", CRIC + " params max_io_intensity", "Limit of ioIntensity; inf = none"),
    Column("pledgedcpu", "f8", "cores", CRIC + " pledgedcpu", "Pledged cores; -1 = opportunistic",
           zero_means="none"),
    Column("transferringlimit", "f8", "jobs", CRIC + " transferringlimit", "Jobs that may await output transfer",
           zero_means="default"),
    Column("transtimehi_s", "f8", "s", CRIC + " transtimehi", "Limit of transferring jobs of high priority"),
    Column("transtimelo_s", "f8", "s", CRIC + " transtimelo", "Limit of transferring jobs of lower priority"),
    Column("num_slots", "f8", "jobs", "PanDA Harvester_Slots", "Slots to fill in advance; -1 = not set"),
    Column("site", "i2", "", CRIC + " atlas_site", "Site that owns the queue", codes="sites"),
    Column("pool", "i2", "", OURS, "Batch pool that gives the slots", codes="pools"),
    Column("corecount", "i2", "cores", CRIC + " corecount", "Cores of a slot"),
    Column("status", "i2", "", CRIC + " status", "Status", codes="queue_status"),
    Column("unified", "i2", "", CRIC + " capability", "1 if capability is ucore"),
    Column("production", "i2", "", CRIC + " type", "1 if production work may come"),
    Column("analysis", "i2", "", CRIC + " type", "1 if analysis work may come"),
    Column("direct_io", "i2", "", CRIC + " maxinputsize, direct_access_lan", "1 if jobs read from the storage"),
    Column("opportunistic", "i2", "", CRIC + " pledgedcpu", "1 if pledgedcpu is -1"),
    Column("use_only_local_data", "i2", "", CRIC + " catchall use_only_local_data", "1 if input must be on its disk"),
    Column("disable_reassign", "i2", "", CRIC + " catchall disableReassign", "1 if timeout rules are off"),
    Column("bare_nucleus", "i2", "", CRIC + " catchall bareNucleus", "0 no, 1 allow, 2 only"),
    Column("min_events_for_jumbo", "f8", "events", CRIC + " catchall minEventsForJumbo",
           "Events that a task with jumbo jobs must have left"),
    Column("job_chunk_size", "i4", "jobs", CRIC + " catchall jobChunkSize", "Jobs that come at once",
           zero_means="default"),
    Column("always_direct_io", "i2", "", CRIC + " maxinputsize", "1 if no job may copy its input"),
    Column("use_jumbo_jobs", "i2", "", CRIC + " catchall useJumboJobs", "1 if the queue is for jumbo jobs"),
))

PSEUDO_QUEUES = Table("pseudo_queues", "one PanDA queue and resource type", (
    Column("maxrss_mb", "f8", "MB", "brokerage reference 0.2", "Memory limit of a slot", zero_means="unlimited"),
    Column("minrss_mb", "f8", "MB", "brokerage reference 0.2", "Smallest memory that jobs may ask for"),
    Column("worker_mb", "f8", "MB", "Harvester worker request", "Memory that a worker asks of the batch system"),
    Column("queue", "i2", "", OURS, "PanDA queue", codes="queues"),
    Column("pool", "i2", "", OURS, "Batch pool", codes="pools"),
    Column("resource_type", "i2", "", OURS, "Resource type; -1 = every type", codes="resource_types"),
    Column("corecount", "i2", "cores", "brokerage reference 0.2", "Cores of a slot"),
    Column("submitted_head", "i4", "", OURS, "Oldest group of workers that wait in the batch system; -1 = none"),
    Column("submitted_tail", "i4", "", OURS, "Youngest group of workers that wait; -1 = none"),
    Column("n_submitted", "i4", "workers", "Harvester", "Workers that wait in the batch system"),
    Column("n_running", "i4", "workers", "Harvester", "Workers that hold a slot"),
))

POOLS = Table("pools", "one batch system", (
    Column("cores", "i8", "cores", OURS, "Cores"),
    Column("free_cores", "i8", "cores", OURS, "Cores not in use"),
    Column("memory_mb", "f8", "MB", OURS, "Memory"),
    Column("free_mb", "f8", "MB", OURS, "Memory not in use"),
    Column("first", "i4", "", OURS, "First of the pool's pseudo-queues in `pool_members`"),
    Column("last", "i4", "", OURS, "One past the last of them"),
    Column("closed", "i4", "", OURS, "1 while no worker may start (outage)"),
))

LINKS = Table("links", "one directed pair of sites", (
    Column("bandwidth", "f8", "bytes/s", OURS, "Capacity"),
    Column("latency_s", "f8", "s", OURS, "Time from the last byte to the callback"),
    Column("virtual", "f8", "bytes/file", OURS, "Bytes that each active file has received: the clock of sharing"),
    Column("updated_s", "f8", "s", OURS, "When `virtual` was last brought up to date"),
    Column("busy_s", "f8", "s", OURS, "For how long bytes have moved, up to `updated_s`"),
    Column("bytes_done", "f8", "bytes", OURS, "Bytes delivered so far"),
    Column("failure_rate", "f8", "", OURS, "Probability that an attempt to transfer fails", hidden=True),
    Column("due_s", "f8", "s", OURS, "Time of the earliest event that waits for this link; inf = none"),
    Column("files_done", "i8", "files", OURS, "Files delivered so far"),
    Column("max_active_files", "i4", "files", "FTS", "Files that may be under way at once"),
    Column("active_files", "i4", "files", OURS, "Files under way"),
    Column("queued_files", "i4", "files", "NWS files queued", "Files that wait or are under way"),
    Column("active_head", "i4", "", OURS, "Transfer that ends next; -1 = none"),
    Column("waiting_head", "i4", "", OURS, "First transfer that waits; -1 = none"),
    Column("waiting_tail", "i4", "", OURS, "Last transfer that waits; -1 = none"),
    Column("closeness", "i2", "", CRIC + " sitematrix", "0 best to 11 worst, -1 blocked, -2 unknown"),
    Column("down", "i2", "", OURS, "Outages of the link and of its ends that are not over"),
    Column("queued_output", "i4", "files", "NWS files queued, Production Output",
           "Output that waits or is under way, but for that of express tasks"),
    Column("queued_express", "i4", "files", "NWS files queued, Express",
           "Output of express tasks that waits or is under way"),
    Column("rate_sum", "f8", "bytes/s", "FTS", "Sum of the mean rates of all files delivered so far"),
))

class Storage(Part):
    """A DDM endpoint."""

    site: str = attribute(..., "Site that owns the endpoint", dtype="i2", codes="sites")
    total: Bytes = attribute(..., "Size", gt=0, unit="bytes", source=RUCIO)
    free: Bytes = attribute(..., "Free at the start", ge=0, unit="bytes", source=RUCIO, seen="f8")
    expired: Bytes = attribute(0, "Data that may be deleted when space is needed", ge=0, unit="bytes", source=RUCIO)
    min_free: Bytes = attribute(0, "Free space below which deletion starts", ge=0, unit="bytes", source=RUCIO)
    read_wan: Usage = usage("read_wan", "Whether it sends files to other sites; empty = CRIC does not say, which only "
                            "`deployed` takes for ON")
    write_wan: Usage = usage("write_wan", "Whether it receives files from other sites")
    read_lan: Usage = usage("read_lan", "Whether jobs at its site read it")
    write_lan: Usage = usage("write_lan", "Whether jobs at its site write to it")
    type: str = Field("DATADISK", description="Type in DDM, for the reader only")


STORAGES = Table("storages", "one DDM endpoint", (
    *columns_of(Storage),
    Column("deleted_bytes", "f8", "bytes", OURS, "Deleted so far"),
    Column("written_bytes", "f8", "bytes", OURS, "Written so far"),
))

TRANSFERS = Table("transfers", "files that move together over one link", (
    Column("transfer_id", "i8", "", OURS, "Identifier, counted from 1"),
    Column("bytes", "f8", "bytes", OURS, "Size of all files together"),
    Column("submitted_s", "f8", "s", OURS, "When the transfer was asked for"),
    Column("started_s", "f8", "s", OURS, "When its first byte moved"),
    Column("ended_s", "f8", "s", OURS, "When it was done; null = it was under way at the end"),
    Column("finish_tag", "f8", "bytes/file", OURS, "Value of the link's clock at which it ends", recorded=False),
    Column("jeditaskid", "i8", "", OURS, "Task"),
    Column("link", "i4", "", OURS, "Link", recorded=False),
    Column("first_job", "i4", "", OURS, "First job that awaits it; -1 = none", recorded=False),
    Column("next", "i4", "", OURS, "Next transfer in the list it stands in", recorded=False),
    Column("n_files", "i4", "files", OURS, "Files"),
    Column("n_jobs", "i4", "jobs", OURS, "Jobs that await it"),
    Column("attempt", "i4", "", OURS, "Attempts made so far"),
    Column("source", "i2", "", OURS, "Site it comes from", codes="sites"),
    Column("destination", "i2", "", OURS, "Site it goes to", codes="sites"),
    Column("kind", "i2", "", OURS, "Input or output", codes="transfer_kind"),
    Column("express", "i2", "", "FTS activity", "1 if it carries output of an express task", recorded=False),
    Column("attempt_s", "f8", "s", OURS, "When the first byte of the present attempt moved", recorded=False),
))
