"""What a job has of the queue that runs it: slots, power, and the failures of its site."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.luck import STREAMS, uniform
from simgrid_broker.names import Cause
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.rows import is_recorded
from simgrid_broker.world.transitions import come_back, leave

NONE, SITE_ERROR, PAYLOAD_ERROR = int(Cause.NONE), int(Cause.SITE_ERROR), int(Cause.PAYLOAD_ERROR)
MEMORY_EXCEEDED, TRANSFER_ERROR = int(Cause.MEMORY_EXCEEDED), int(Cause.TRANSFER_ERROR)
LOST_HEARTBEAT = int(Cause.LOST_HEARTBEAT)
INPUT_LOST, INPUT_BROKEN = int(Cause.INPUT_LOST), int(Cause.INPUT_BROKEN)
FATE, SITE_FATE = STREAMS["fate"], STREAMS["site_fate"]


@compiled
def fate_of_attempt(world: Arrays, job, task, site):
    """How an attempt at input that is there will fail of itself or at a site; NONE if it will not."""
    seed = world.settings[0]["seed"]
    fate = fate_of_payload(task, uniform(seed, FATE, task["luck"], job["chunk"], job["attempt"]))
    if fate == NONE:
        fate = fate_at_site(site, uniform(seed, SITE_FATE, task["luck"], job["chunk"], job["attempt"]))
    return fate


@compiled
def fate_of_payload(task, luck):
    """Why a payload fails of itself, by a uniform number; NONE if it does not."""
    if luck >= task["failure_rate"]:
        return NONE
    return MEMORY_EXCEEDED if luck < task["failure_rate"] * task["memory_kills"] else PAYLOAD_ERROR


@compiled
def fate_at_site(site, luck):
    """How a site makes a job fail, by a uniform number; NONE if it does not."""
    if luck >= site["failure_rate"]:
        return NONE
    part = luck / site["failure_rate"]
    if part < site["lost_heartbeats"]:
        return LOST_HEARTBEAT
    return TRANSFER_ERROR if part < site["lost_heartbeats"] + site["stage_out_errors"] else SITE_ERROR


@compiled
def bind(world: Arrays, job, task, number, resource_type):
    """Give a job the slots of a pseudo-queue; resource_type: its type at a queue for every type."""
    pseudo = world.pseudo_queues[number]
    queue = world.queues[pseudo["queue"]]
    job["queue"], job["pseudo_queue"] = pseudo["queue"], number
    job["corecount"] = 1 if task["corecount"] == 1 else pseudo["corecount"]    # lifecycle reference, section 2.6
    job["hs06_milli"] = np.int32(round(job["corecount"] * queue["corepower"] * 1000.0))
    job["resource_type"] = pseudo["resource_type"] if pseudo["resource_type"] >= 0 else resource_type


@compiled
def bind_late(world: Arrays, row, number):
    """Bind an activated job, which waits in no heap or list, to the pseudo-queue of the pilot that takes it.

    Whether it will fail depends on the site, unless its input is bad; its work and memory do not.
    """
    job = world.jobs[row]
    if job["pseudo_queue"] == number:
        return
    task, resource_type = world.tasks[job["task"]], job["resource_type"]
    leave(world, row)
    bind(world, job, task, number, resource_type)
    come_back(world, row)
    if not is_recorded(task) and job["fate"] != INPUT_LOST and job["fate"] != INPUT_BROKEN:
        job["fate"] = fate_of_attempt(world, job, task, world.sites[world.queues[job["queue"]]["site"]])
