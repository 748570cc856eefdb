"""Build jobs in the data plane: making one, and letting the jobs of its task wait for its library."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.submission import begin_attempt, put_pending
from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.transitions import move

DEFINED, NONE, PAYLOAD_ERROR = int(JobStatus.DEFINED), int(Cause.NONE), int(Cause.PAYLOAD_ERROR)
BUILD_ORDER = np.dtype([
    ("time_s", "f8"), ("task", "i4"), ("pseudo_queue", "i4"), ("chunk", "i4"), ("attempt", "i4"),
    ("ramcount_mb", "f8"), ("resource_type", "i4"), ("corecount", "i4"), ("priority", "i4"), ("processing_type", "i4"),
    ("hs06sec", "f8"), ("memory_mb", "f8"), ("fails", "?"),
])
"""A build job to be made: its requests and its true values; chunk: that of the first job that waits for it."""


@compiled
def make_build_job(world: Arrays, orders):
    """Make the build job of `orders`, (1,) of BUILD_ORDER; returns its row; the job is pending."""
    order = orders[0]
    row = begin_attempt(world, order["task"], order["pseudo_queue"], order["chunk"], order["attempt"],
                        order["ramcount_mb"], order["resource_type"], order["time_s"])
    job, task = world.jobs[row], world.tasks[order["task"]]
    job["n_chunks"], job["n_events"], job["n_input_files"], job["user_row"] = 0, 0, 0, 0
    job["input_bytes"] = job["output_bytes"] = 0.0
    job["processing_type"], job["priority"] = order["processing_type"], order["priority"]
    job["corecount"] = order["corecount"]
    job["hs06_milli"] = np.int32(round(job["corecount"] * world.queues[job["queue"]]["corepower"] * 1000.0))
    job["work_hs06s"] = order["hs06sec"] * task["cpu_efficiency"]
    job["maxpss_mb"] = order["memory_mb"]
    job["fate"] = PAYLOAD_ERROR if order["fails"] else NONE
    put_pending(world, row)
    return row


@compiled
def hold_for_library(world: Arrays, places, now):
    """Define the jobs at `places`, (k,), of the Setupper's inbox, and take them out of it; they wait for a library."""
    for place in places:
        move(world, world.pending[place]["row"], DEFINED, now)
        world.pending[place]["panda_id"] = 0


@compiled
def go_on(world: Arrays, rows):
    """Put the jobs in `rows`, (k,), whose library is there, into the Setupper's inbox; the caller makes room."""
    for row in rows:
        put_pending(world, row)
