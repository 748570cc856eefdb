"""Jobs without input of their task: build jobs, for whose library others wait, and merge jobs of the others' output."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.jobs.ending import archive
from simgrid_broker.fabric.jobs.submission import begin_attempt, put_pending
from simgrid_broker.luck import STREAMS, uniform
from simgrid_broker.names import Cause, JobMark, JobStatus
from simgrid_broker.units import GB
from simgrid_broker.world.arrays import WITHDRAWN, Arrays
from simgrid_broker.world.jobs.transitions import move

DEFINED, FINISHED = int(JobStatus.DEFINED), int(JobStatus.FINISHED)
NONE, PAYLOAD_ERROR = int(Cause.NONE), int(Cause.PAYLOAD_ERROR)
BUILDS, MERGES = int(JobMark.BUILDS), int(JobMark.MERGES)
MERGE_FATE = STREAMS["merge_fate"]
BUILD_ORDER = np.dtype([
    ("time_s", "f8"), ("task", "i4"), ("pseudo_queue", "i4"), ("chunk", "i4"), ("attempt", "i4"),
    ("ramcount_mb", "f8"), ("resource_type", "i4"), ("corecount", "i4"), ("priority", "i4"), ("processing_type", "i4"),
    ("hs06sec", "f8"), ("memory_mb", "f8"), ("fails", "?"),
])
"""A build job to be made: its requests and its true values; chunk: that of the first job that waits for it."""
MERGE_ORDER = np.dtype([
    ("time_s", "f8"), ("task", "i4"), ("pseudo_queue", "i4"), ("attempt", "i4"), ("old_panda_id", "i8"),
    ("ramcount_mb", "f8"), ("resource_type", "i4"), ("corecount", "i4"), ("priority", "i4"), ("processing_type", "i4"),
    ("source_site", "i4"),                       # site of the output, -1 = site of the queue
    ("hs06sec_per_gb", "f8"), ("memory_mb", "f8"), ("failure_rate", "f8"),
])
"""A merge job to be made: its requests and its true values."""


@compiled
def make_build_job(world: Arrays, orders):
    """Make the build job of `orders`, (1,) of BUILD_ORDER; returns its row; the job is pending."""
    order = orders[0]
    row = begin_attempt(world, order, order["chunk"], order["attempt"], order["time_s"])
    job, task = world.jobs[row], world.tasks[order["task"]]
    world.job_files[row]["marks"] = BUILDS
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
        world.pending[place]["panda_id"] = WITHDRAWN


@compiled
def go_on(world: Arrays, rows):
    """Put the jobs in `rows`, (k,), whose library is there, into the Setupper's inbox; the caller makes room."""
    for row in rows:
        put_pending(world, row)


@compiled
def make_merge_job(world: Arrays, orders, members):
    """Make the merge job of `orders`, (1,) of MERGE_ORDER, for the output of the jobs in rows `members`, (n,).

    Its chunk, which keys its random draws, is that of the first member. Returns its row; the job is pending.
    """
    order = orders[0]
    row = begin_attempt(world, order, world.jobs[members[0]]["chunk"], order["attempt"], order["time_s"])
    job, task, pseudo = world.jobs[row], world.tasks[order["task"]], world.pseudo_queues[order["pseudo_queue"]]
    size, events, files = 0.0, 0, 0
    for member in members:
        size += world.jobs[member]["output_bytes"]
        events += world.jobs[member]["n_events"]
        files += world.jobs[member]["n_output_files"]
    world.job_files[row]["marks"] = MERGES
    job["n_chunks"], job["n_events"], job["n_input_files"] = 0, events, files
    job["user_row"] = 0
    job["input_bytes"] = job["output_bytes"] = size
    job["processing_type"], job["priority"] = order["processing_type"], order["priority"]
    job["corecount"] = 1 if order["corecount"] == 1 else pseudo["corecount"]
    job["hs06_milli"] = np.int32(round(job["corecount"] * world.queues[job["queue"]]["corepower"] * 1000.0))
    job["work_hs06s"] = order["hs06sec_per_gb"] * size / GB * task["cpu_efficiency"]
    job["maxpss_mb"], job["source_site"] = order["memory_mb"], order["source_site"]
    job["old_panda_id"] = order["old_panda_id"]
    luck = uniform(world.settings[0]["seed"], MERGE_FATE, task["luck"], job["chunk"], job["attempt"])
    job["fate"] = PAYLOAD_ERROR if luck < order["failure_rate"] else NONE
    put_pending(world, row)
    return row


@compiled
def finish_merged(world: Arrays, rows, now):
    """Finish the jobs in `rows`, (k,), whose output was merged, while the outbox has room; returns their number."""
    state = world.state[0]
    done = 0
    for row in rows:
        if state["n_done_jobs"] >= len(world.done_jobs) or state["fault_row"] >= 0:
            break
        move(world, row, FINISHED, now)
        archive(world, row, False)
        done += 1
    return done
