"""Batch systems: their nodes, and the account of the workers of each PanDA queue and resource type."""

from pydantic import Field

from simgrid_broker.schema.column import Column, Table
from simgrid_broker.schema.part import MOST_CORES_OF_JOB, Megabytes, Part

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
    Column("held_cores", "i8", "cores", OURS, "Cores that workers hold"),
    Column("working_cores", "i8", "cores", OURS, "Of these, cores of workers with a payload"),
    Column("used_cores", "i8", "cores", OURS, "Of these, cores that belong to the payload"),
    Column("held_core_s", "f8", "core s", OURS, "Sum over past holders of cores x (end - start), less cores x start of "
           "the present ones"),
    Column("working_core_s", "f8", "core s", OURS, "The same of workers with a payload"),
    Column("used_core_s", "f8", "core s", OURS, "The same of payloads"),
))
