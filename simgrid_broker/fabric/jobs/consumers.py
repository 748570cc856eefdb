"""Consumers of event service in the data plane: while they run they fetch event ranges, a bunch at a time, process them
one after the other on the whole slot, and report each; source: lifecycle reference, 6.1.

Simplified: there is one event of the fabric for each bunch; what is finished within it is worked out when it matters.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.batch import end_worker
from simgrid_broker.fabric.events import PAYLOAD_ENDS, schedule
from simgrid_broker.fabric.jobs.submission import begin_attempt, fate_at_site, fate_of_payload, put_pending
from simgrid_broker.luck import STREAMS, uniform
from simgrid_broker.names import Cause, Cloning, EventStatus, JobMark, JobStatus
from simgrid_broker.systems.events.table import find_in_ring, find_ready, give, set_range
from simgrid_broker.world.arrays import WITHDRAWN, Arrays
from simgrid_broker.world.data.datasets import keep_inputs
from simgrid_broker.world.data.replicas import IS_OFF, give_space_back, less, take_space
from simgrid_broker.world.jobs.transitions import fall_silent, move
from simgrid_broker.world.queues.slots import payload_is_over, slot_of

RUNNING, HOLDING, MERGING = int(JobStatus.RUNNING), int(JobStatus.HOLDING), int(JobStatus.MERGING)
WAITING, CONSUMES = int(JobStatus.WAITING), int(JobMark.CONSUMES)
RUNONCE = int(Cloning.RUNONCE)
NONE = int(Cause.NONE)
SENT, FINISHED, FAILED = int(EventStatus.SENT), int(EventStatus.FINISHED), int(EventStatus.FAILED)
FATE, SITE_FATE = STREAMS["fate"], STREAMS["site_fate"]
BUNCH = 8
"""Ranges of a request; jumbo jobs ask for one for each of their cores, if these are more."""
NUMBERS = 1024
"""Attempts at an input between those of its consumers, in the keys of their draws."""
NUMBERS_OF_JUMBO = 2**20
"""Numbers of the jumbo jobs of a task, above those of consumers in a jobset."""
ROUNDING_S = 1e-6
"""Time by which a range may be late by rounding, s."""


@compiled
def begin_events(world: Arrays, row, work_s, now):
    """Let a starting consumer fetch its first ranges; it processes them after stage-in, baseWalltime and overhead.

    work_s: wall time of all events of its input. A fate, or the limit of its time, ends it later, if it still runs.
    """
    job, one = world.jobs[row], world.event_jobs[row]
    one["limit_s"] = np.inf if job["cause"] == NONE else now + job["walltime_s"]
    one["each_s"] = work_s / max(job["n_events"], 1)
    overhead_s = world.tasks[job["task"]]["basewalltime_s"] + world.queues[job["queue"]]["payload_overhead_s"]
    fetch_ranges(world, row, now + job["stage_in_s"] + overhead_s)


@compiled
def fetch_ranges(world: Arrays, row, begin):
    """Give a consumer the next ranges of its jobset, which it begins at a time; their number."""
    job, one, rows, chunks = world.jobs[row], world.event_jobs[row], world.event_ranges, world.event_chunks
    found, number, most = world.ranges_found, np.int64(one["chunk"]), BUNCH
    is_jumbo = number_is_of_ring(chunks, number)
    if is_jumbo:
        most = min(max(BUNCH, int(job["corecount"])), len(found) - 1)
        n = find_in_ring(rows, chunks, number, most, found)
    else:
        n = find_ready(rows, chunks, number, chunks[number]["jobset"], most, found, 0)
    give(rows, chunks, job["panda_id"], is_jumbo, most, found, n)
    n = min(n, most)
    one["begun_s"], one["first"], end = begin, found[0] if n > 0 else -1, begin
    for place in range(n):
        end += (rows[found[place]]["last"] - rows[found[place]]["first"] + 1) * one["each_s"]
    job["due_sequence"] = schedule(world, min(end, one["limit_s"]), PAYLOAD_ENDS, row)
    return n


@compiled
def comes_late(world: Arrays, row, now):
    """Let a starting clone of runonce take the range of its input; True if another one has it: then it ends at once.
    """
    job, one, found = world.jobs[row], world.event_jobs[row], world.ranges_found
    if one["cloning"] != RUNONCE:
        return False
    rows, chunks, number = world.event_ranges, world.event_chunks, np.int64(one["chunk"])
    n = find_ready(rows, chunks, number, chunks[number]["jobset"], 1, found, 0)
    give(rows, chunks, job["panda_id"], False, 1, found, n)
    if n > 0:
        return False
    job["cause"] = NONE
    job["walltime_s"] = job["cputime_s"] = job["stage_in_s"] = job["stage_out_s"] = job["output_bytes"] = 0.0
    job["due_sequence"] = schedule(world, now, PAYLOAD_ENDS, row)
    return True


@compiled
def fetches_more(world: Arrays, row, now):
    """Report the ranges that a consumer has finished; True if it got more. Else it ends."""
    job, one = world.jobs[row], world.event_jobs[row]
    report_events(world, row, now)
    if now < one["limit_s"]:
        if fetch_ranges(world, row, now) > 0:
            return True
        job["cause"] = NONE
    stop_events(world, row, now)
    return False


@compiled
def stop_events(world: Arrays, row, now):
    """Note what a consumer that stops now has used; its output is with its events."""
    job = world.jobs[row]
    job["walltime_s"] = now - world.job_times[row, RUNNING]
    job["stage_in_s"] = min(job["stage_in_s"], job["walltime_s"])
    job["cputime_s"] = (job["walltime_s"] - job["stage_in_s"]) * job["corecount"] * (
        world.tasks[job["task"]]["cpu_efficiency"])
    job["stage_out_s"] = job["output_bytes"] = 0.0


@compiled
def report_events(world: Arrays, row, until):
    """Finish the ranges in hand that a consumer has processed by a time; the others stay with it until it ends.

    Those whose output no object store takes fail.
    """
    job, one, rows = world.jobs[row], world.event_jobs[row], world.event_ranges
    end_s, place = one["begun_s"], np.int64(one["first"])
    while place >= 0:
        each = rows[place]
        if each["owner"] == job["panda_id"] and each["status"] == SENT:
            n_events = each["last"] - each["first"] + 1
            end_s += n_events * one["each_s"]
            if end_s <= until + ROUNDING_S:
                is_stored = store_range(world, job, place)
                set_range(rows, world.event_chunks, place, FINISHED if is_stored else FAILED, each["attempts"])
                one["n_done"] += is_stored
                one["n_events"] += is_stored * n_events
        place = np.int64(each["hand"])
    one["first"] = -1


@compiled
def store_range(world: Arrays, job, row):
    """Write the output of a range to the object store of its job's queue, if that has one; False if it fails.

    A store that is full, is not open to jobs of the queue, or is at a site with an outage, takes nothing.
    """
    number = np.int64(world.queues[job["queue"]]["object_store"])
    if number < 0:
        return True
    storage, each = world.storages[number], world.event_ranges[row]
    activity_off = (storage["write_lan_off"] if storage["site"] == world.queues[job["queue"]]["site"]
                    else storage["write_wan_off"])
    size = (each["last"] - each["first"] + 1) * world.event_chunks[each["chunk"]]["event_bytes"]
    if activity_off == IS_OFF or world.sites[storage["site"]]["down"] > 0 or not take_space(world, number, size):
        return False
    storage["event_bytes"] += size
    each["store"] = number
    return True


@compiled
def delete_events(world: Arrays, chunk):
    """Delete the output of the ranges of a chunk, which is over, in object stores."""
    row = np.int64(world.event_chunks[chunk]["head"])
    while row >= 0:
        each = world.event_ranges[row]
        if each["store"] >= 0:
            storage = world.storages[each["store"]]
            size = (each["last"] - each["first"] + 1) * world.event_chunks[chunk]["event_bytes"]
            give_space_back(storage, size, False)
            storage["event_bytes"] = less(storage["event_bytes"], size)
            each["store"] = -1
        row = np.int64(each["next"])


@compiled
def drop_ranges(world: Arrays, row, chunk):
    """Take the ranges of a chunk, which is over, from a jumbo job; the time that it spends on them is lost."""
    one, rows, last = world.event_jobs[row], world.event_ranges, np.int64(-1)
    place, one["first"] = np.int64(one["first"]), -1
    while place >= 0:
        each = rows[place]
        after = np.int64(each["hand"])
        if each["chunk"] == chunk:
            one["begun_s"] += (each["last"] - each["first"] + 1) * one["each_s"]
        elif last < 0:
            one["first"] = last = place
        else:
            rows[last]["hand"] = last = place
        place = after
    if last >= 0:
        rows[last]["hand"] = -1


@compiled
def wait_for_merge(world: Arrays, row, now):
    """Let a consumer that has ended wait until its events are merged; one that runs is stopped first."""
    job = world.jobs[row]
    if job["status"] == RUNNING:
        job["walltime_s"] = job["modification_s"] - world.job_times[row, RUNNING]
        if job["due_sequence"] != 0:
            fall_silent(world, row)
            stop_events(world, row, now)
            payload_is_over(world, job, now)
            end_worker(world, slot_of(job), now)
        move(world, row, HOLDING, now)
    move(world, row, MERGING, now)


@compiled
def make_consumer(world: Arrays, orders, source, chunk, number):
    """Make a further consumer of the input of the job in row `source`, at the pseudo-queue of `orders`, (1,).

    orders: of ORDERED; chunk: of the table of event ranges; number: of the consumer in its jobset. Returns its row; the
    job is pending.
    """
    order, of = orders[0], world.jobs[source]
    row = begin_attempt(world, order, of["chunk"], of["attempt"], order["time_s"])
    job, task = world.jobs[row], world.tasks[order["task"]]
    of = world.jobs[source]
    job["n_events"], job["n_input_files"], job["input_bytes"] = of["n_events"], of["n_input_files"], of["input_bytes"]
    job["work_hs06s"], job["maxpss_mb"] = of["work_hs06s"], of["maxpss_mb"]
    cloning = world.event_jobs[source]["cloning"]
    job["output_bytes"] = of["output_bytes"] if cloning else 0.0
    keep_inputs(world, row, source)
    job["n_chunks"], job["old_panda_id"] = -abs(of["n_chunks"]), of["panda_id"]
    job["ram_level"], job["failures"], job["attempt_limit"] = of["ram_level"], of["failures"], of["attempt_limit"]
    seed, key = world.settings[0]["seed"], of["attempt"] + NUMBERS * number
    site = world.sites[world.queues[job["queue"]]["site"]]
    job["fate"] = fate_of_payload(task, uniform(seed, FATE, task["luck"], of["chunk"], key))
    if job["fate"] == NONE:
        job["fate"] = fate_at_site(site, uniform(seed, SITE_FATE, task["luck"], of["chunk"], key))
    join_jobset(world, row, chunk, number, cloning)
    put_pending(world, row)
    return row


@compiled
def join_jobset(world: Arrays, row, chunk, number, cloning):
    """Make a job a consumer of a chunk of event ranges, or a clone with such a chunk; cloning: names.Cloning."""
    one = world.event_jobs[row]
    one["chunk"], one["number"], one["first"], one["n_done"], one["n_events"] = chunk, number, -1, 0, 0
    one["cloning"] = cloning
    world.job_files[row]["marks"] = 0 if cloning else CONSUMES


@compiled
def make_jumbo_job(world: Arrays, orders, source, ring, number):
    """Make a jumbo job, which processes events of all chunks of a ring, each as long as those of the job in row
    `source`.

    orders: (1,) of ORDERED; number: of the jumbo job in its task. Returns its row; the job is pending.
    """
    order, of = orders[0], world.jobs[source]
    row = begin_attempt(world, order, of["chunk"], of["attempt"], order["time_s"])
    job, of, pseudo = world.jobs[row], world.jobs[source], world.pseudo_queues[order["pseudo_queue"]]
    job["n_chunks"], job["n_input_files"], job["user_row"], job["fate"] = 0, 0, 0, NONE
    job["input_bytes"] = job["output_bytes"] = 0.0
    job["n_events"], job["work_hs06s"], job["maxpss_mb"] = of["n_events"], of["work_hs06s"], of["maxpss_mb"]
    job["corecount"] = pseudo["corecount"]
    job["hs06_milli"] = np.int32(round(job["corecount"] * world.queues[job["queue"]]["corepower"] * 1000.0))
    join_jobset(world, row, ring, NUMBERS_OF_JUMBO + number, 0)
    world.job_files[row]["marks"] = 0
    put_pending(world, row)
    return row


@compiled
def let_wait(world: Arrays, row, now):
    """Let a new consumer, which no queue takes, wait for the jumbo jobs of its task."""
    for place in range(world.state[0]["n_pending"]):
        if world.pending[place]["row"] == row:
            world.pending[place]["panda_id"] = WITHDRAWN
    move(world, row, WAITING, now)


@compiled
def number_is_of_ring(chunks, number):
    """True if a chunk is the head of a ring: its job is a jumbo job."""
    return chunks[number]["file"] == 0
