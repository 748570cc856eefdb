"""Pilots: they request a job, run it, with stage-in and stage-out in its running time, and request another or leave;
one that finds no job keeps its slot for `empty_pilot`."""

import math

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.batch import end_worker
from simgrid_broker.fabric.dispatch import first_in_line, get_any_job, get_job
from simgrid_broker.fabric.events import JOB_REPORTS, PAYLOAD_ENDS, PILOT_LEAVES, STAGE_OUT, schedule
from simgrid_broker.fabric.incidents import end_now
from simgrid_broker.fabric.jobs.consumers import NUMBERS_OF_JUMBO, begin_events, comes_late, fetches_more
from simgrid_broker.fabric.jobs.early_ends import evict, keeps_slot
from simgrid_broker.fabric.transfers.dispatch_data import source_is_gone
from simgrid_broker.fabric.transfers.output_data import write_output
from simgrid_broker.fabric.transfers.remote_reading import (
    REMOTE,
    WAITS,
    account_for,
    begin_reading,
    find_input,
    reads_all,
    sends,
    stop_reading,
)
from simgrid_broker.fabric.transfers.rows import record_transfer
from simgrid_broker.luck import STREAMS, uniform
from simgrid_broker.names import PILOT_RSS_GRACE, Cause, JobStatus
from simgrid_broker.world.arrays import GROWING, Arrays
from simgrid_broker.world.data.replicas import IS_OFF
from simgrid_broker.world.jobs.loads import limit_of_queue_or_build
from simgrid_broker.world.jobs.transitions import fall_silent, move
from simgrid_broker.world.queues.slots import payload_begins, payload_is_over, slot_of, worker_of
from simgrid_broker.world.rows import fetch_job, is_consumer, is_in_jobset, is_recorded, next_place, record_of

SENT, RUNNING, HOLDING = int(JobStatus.SENT), int(JobStatus.RUNNING), int(JobStatus.HOLDING)
ACTIVATED = int(JobStatus.ACTIVATED)
INBOX = GROWING.index("holding")
NONE, INPUT_LOST, SITE_ERROR = int(Cause.NONE), int(Cause.INPUT_LOST), int(Cause.SITE_ERROR)
MEMORY_EXCEEDED, WALLTIME_EXCEEDED = int(Cause.MEMORY_EXCEEDED), int(Cause.WALLTIME_EXCEEDED)
TRANSFER_ERROR, LOST_HEARTBEAT = int(Cause.TRANSFER_ERROR), int(Cause.LOST_HEARTBEAT)
PREEMPTED = int(Cause.PREEMPTED)
FATE_TIME, TIME_LEFT = STREAMS["fate_time"], STREAMS["time_left"]


@compiled
def stage_time(site, size):
    """Time to copy `size` bytes between a slot and the local storage, s."""
    return site["stage_latency_s"] + size / site["stage_in_rate"] if size > 0 else 0.0


@compiled
def copy_time(world: Arrays, site, size):
    """Time to copy files between a slot and the local storage from now on, s: over LAN, what others began before is
    copied first."""
    alone = stage_time(site, size)
    if size <= 0 or site["lan"] == np.inf:
        return alone
    now = world.state[0]["now_s"]
    left = max(site["lan_backlog_bytes"] - site["lan"] * (now - site["lan_updated_s"]), 0.0)
    site["lan_backlog_bytes"], site["lan_updated_s"] = left + size, now
    return max(alone, site["stage_latency_s"] + (left + size) / site["lan"])


@compiled
def compare_memory(world: Arrays, job):
    """Kill a starting payload whose memory exceeds what the pilot grants its slot, by its draws or by its fate."""
    limit_mb = PILOT_RSS_GRACE * world.pseudo_queues[job["pseudo_queue"]]["worker_mb"]
    if job["cause"] == MEMORY_EXCEEDED:
        job["maxpss_mb"] = max(job["maxpss_mb"], limit_mb)
    elif job["maxpss_mb"] > limit_mb:
        job["cause"] = MEMORY_EXCEEDED


@compiled
def used_cores(world: Arrays, job, task):
    """Cores that a payload uses and its CPU efficiency; a recorded job uses no more than it had."""
    cores = np.int64(job["corecount"])
    if is_recorded(task):
        return min(cores, np.int64(task["corecount"])), record_of(world, job)["cpu_efficiency"]
    return cores, task["cpu_efficiency"]


@compiled
def may_read(world: Arrays, site, job, remote):
    """True if a job may read its input from the storage of its site, and `remote` bytes of it from another.

    A storage that is off fails its stage-in.
    """
    if remote > 0 and not sends(world, job["source_site"]):
        return False
    storage = site["storage"]
    return storage < 0 or job["input_bytes"] <= remote or world.storages[storage]["read_lan_off"] != IS_OFF


@compiled
def time_left(world: Arrays, job, begun_s):
    """Longest wall time of a payload that begins at `begun_s`, s: the batch system ends its pilot after `maxtime`."""
    of_pilot = world.queues[job["queue"]]["maxtime_s"] - (begun_s - job["pilot_start_s"])
    return max(min(limit_of_queue_or_build(world, job), of_pilot), 0.0)


@compiled
def time_of_events(world: Arrays, job):
    """Wall time of the events of a job in its slot, s."""
    cores, well_spent = used_cores(world, job, world.tasks[job["task"]])
    well_spent = min(well_spent * world.queues[job["queue"]]["cpu_efficiency"], 1.0)
    return job["work_hs06s"] / (job["hs06_milli"] * 1e-3 * (cores / job["corecount"]) * well_spent)


@compiled
def settle(world: Arrays, job, remote, number):
    """Determine how a starting payload will end: sets cause, staging, wall and CPU time of the job.

    The random draws of the job were made at its creation; memory and wall time are compared with the slot. remote:
    bytes that it reads from another site, which takes no time here; returns those that it begins to read. number: as of
    `evict`; a jumbo job runs until nothing is left or its slot ends.
    """
    task, queue = world.tasks[job["task"]], world.queues[job["queue"]]
    site = world.sites[queue["site"]]
    cores, well_spent = used_cores(world, job, task)
    well_spent = min(well_spent * queue["cpu_efficiency"], 1.0)
    overhead_s = queue["payload_overhead_s"]
    payload_s = task["basewalltime_s"] + time_of_events(world, job) if number < NUMBERS_OF_JUMBO else np.inf
    job["cause"] = job["fate"]
    job["stage_in_s"] = 0.0 if queue["direct_io"] else copy_time(world, site, job["input_bytes"])
    job["stage_out_s"] = stage_time(site, job["output_bytes"])
    compare_memory(world, job)
    whole = job["stage_in_s"] + payload_s + job["stage_out_s"] + overhead_s
    efficiency = well_spent
    readable = may_read(world, site, job, remote)
    if job["cause"] == NONE and not readable:
        job["cause"] = SITE_ERROR
        whole = job["stage_in_s"] = site["stage_latency_s"]
        job["stage_out_s"] = 0.0
    elif job["cause"] != NONE and job["cause"] != TRANSFER_ERROR:      # output is written after all the work
        luck = uniform(world.settings[0]["seed"], FATE_TIME, task["luck"], job["chunk"], job["attempt"])
        job["stage_out_s"] = 0.0
        efficiency = task["failed_cpu_efficiency"]      # shorter, less efficient: workload statistics, 5.4 and 8
        whole = job["stage_in_s"] + payload_s * math.sqrt(luck) + overhead_s
        if job["cause"] == INPUT_LOST:          # there is no input to process
            whole = job["stage_in_s"] = site["stage_latency_s"]
    longest = time_left(world, job, world.state[0]["now_s"])
    if whole > longest:
        job["cause"] = WALLTIME_EXCEEDED
        whole = longest
        job["stage_out_s"] = 0.0
        efficiency = well_spent
    if queue["ends_early"]:
        whole = evict(world, job, whole, number, world.state[0]["now_s"])
    job["walltime_s"] = whole
    busy = max(whole - job["stage_in_s"] - job["stage_out_s"] - overhead_s, 0.0)
    job["cputime_s"] = busy * cores * efficiency
    return remote if readable and job["cause"] != INPUT_LOST else 0.0


@compiled
def join_midway(world: Arrays, job):
    """Cut a job of a filled start to what is left of it, and return that part: in equilibrium any part of its time has
    passed alike."""
    task = world.tasks[job["task"]]
    left = uniform(world.settings[0]["seed"], TIME_LEFT, task["luck"], job["chunk"], job["attempt"])
    job["walltime_s"] *= left
    job["cputime_s"] *= left
    job["stage_in_s"] *= left
    job["stage_out_s"] *= left
    return left


@compiled
def dispatch(world: Arrays, row, slot, pilot_start, now):
    """Send a job to the pilot that holds a slot, which reports it as running after `first_update`."""
    job = world.jobs[row]
    move(world, row, SENT, now)
    job["slot"], job["pilot_start_s"] = slot + 1, pilot_start
    wait_s = world.settings[0]["first_update_s"]
    if wait_s > 0:
        job["due_sequence"] = schedule(world, now + wait_s, JOB_REPORTS, row)
    else:
        start_payload(world, row, now)


@compiled
def job_reports(world: Arrays, row, sequence, now):
    """Start the payload of a job of which a pilot reports for the first time, unless the event is stale."""
    job = world.jobs[row]
    if job["panda_id"] != 0 and job["due_sequence"] == sequence:
        start_payload(world, row, now)


@compiled
def start_payload(world: Arrays, row, now):
    """Start the payload of a job with a slot."""
    job = world.jobs[row]
    queue = world.queues[job["queue"]]
    move(world, row, RUNNING, now)
    queue["laststart_s"] = now
    queue["n_started"] += 1
    holds_events = is_consumer(world, row)
    is_remote = queue["reads_wan"] != 0 and world.job_files[row]["reads"] == REMOTE and not holds_events
    shares_input = is_in_jobset(world, row)
    number = world.event_jobs[row]["number"] if shares_input else 0
    remote = settle(world, job, find_input(world, row) if is_remote else 0.0, number)
    payload_begins(world, job, now)
    pool = world.pools[world.pseudo_queues[job["pseudo_queue"]]["pool"]]
    if pool["unfilled_cores"] > 0:
        pool["unfilled_cores"] -= job["corecount"]
        remote *= join_midway(world, job)
    if holds_events:
        begin_events(world, row, time_of_events(world, job), now)
        return
    if shares_input and comes_late(world, row, now):
        return
    if remote > 0:
        begin_reading(world, row, remote, now)
    if (job["stage_out_s"] > 0 and world.sites[queue["site"]]["lan"] < np.inf) or (remote > 0 and reads_all(job)):
        job["due_sequence"] = schedule(world, now + (job["walltime_s"] - job["stage_out_s"]), STAGE_OUT, row)
    else:
        job["due_sequence"] = schedule(world, now + job["walltime_s"], PAYLOAD_ENDS, row)


@compiled
def stage_out(world: Arrays, row, sequence, now):
    """Let a running job write its output when it has read all of its input, unless the event is stale.

    What it waits for others at a LAN with a capacity counts as stage-out; the batch system may end it meanwhile.
    """
    job = world.jobs[row]
    if job["panda_id"] == 0 or job["due_sequence"] != sequence:
        return
    if job["transfer"] >= 0:
        wait_for_input(world, row, now)
        return
    site = world.sites[world.queues[job["queue"]]["site"]]
    before_s = job["walltime_s"] - job["stage_out_s"]
    if job["stage_out_s"] > 0 and site["lan"] < np.inf:
        job["stage_out_s"] = max(job["stage_out_s"], copy_time(world, site, job["output_bytes"]))
    job["walltime_s"] = before_s + job["stage_out_s"]
    longest = time_left(world, job, world.job_times[row, RUNNING])
    if job["walltime_s"] > longest:
        job["cause"], job["walltime_s"], job["stage_out_s"] = WALLTIME_EXCEEDED, longest, 0.0
    job["due_sequence"] = schedule(world, now + (job["walltime_s"] - before_s), PAYLOAD_ENDS, row)


@compiled
def wait_for_input(world: Arrays, row, now):
    """Let a job that has done all but read the rest of its input wait for it, until the batch system ends it."""
    job, state = world.jobs[row], world.state[0]
    world.job_files[row]["reads"] = WAITS
    begun_s = world.job_times[row, RUNNING]
    end_s = begun_s + time_left(world, job, begun_s)
    if end_s < np.inf:
        job["due_sequence"] = schedule(world, max(end_s, now), PAYLOAD_ENDS, row)
    else:
        state["sequence"] += 1
        job["due_sequence"] = state["sequence"]            # it has a slot, but no event ends it


@compiled
def reading_done(world: Arrays, place, now):
    """Handle the last byte of a reading: a job that has waited for it goes on; it fails if its source has vanished.

    A reading whose job has ended is recorded alone.
    """
    transfer = world.transfers[place]
    account_for(world.links[transfer["link"]], transfer)
    row = transfer["first_job"]
    if row >= 0:
        job, begun_s = world.jobs[row], world.job_times[row, RUNNING]
        job["transfer"] = -1
        if source_is_gone(world, transfer) and reads_all(job):
            transfer["failed_files"] = 1
            end_now(world, row, now - begun_s, now)
        elif world.job_files[row]["reads"] == WAITS:
            job["walltime_s"] = now - begun_s + job["stage_out_s"]
            job["due_sequence"] = schedule(world, now, STAGE_OUT, row)
    record_transfer(world, place, now)


@compiled
def give_up_reading(world: Arrays, row, now):
    """Stop the reading of a payload that ends; one that waited for its input has reached the limit of its time.

    It has used the CPU for the events that it has read.
    """
    job, part = world.jobs[row], stop_reading(world, row, now)
    if world.job_files[row]["reads"] != WAITS:
        return
    job["cputime_s"] *= part
    if reads_all(job):
        job["cause"], job["walltime_s"] = WALLTIME_EXCEEDED, now - world.job_times[row, RUNNING]
        job["stage_out_s"] = 0.0


@compiled
def ask(world: Arrays, slot, pilot_start, now):
    """Remove and return the job for the pilot that holds a slot; -1 if there is none."""
    number, row = worker_of(world, slot), np.int64(-1)
    queue = world.pseudo_queues[number]
    if queue["serves_last"] - queue["serves_first"] == 1:
        row = get_job(world, number, pilot_start, now)
    else:
        row = get_any_job(world, queue["serves_first"], queue["serves_last"], pilot_start, now)
    if row < 0:
        note_no_job(world, number)
    return row


@compiled
def note_no_job(world: Arrays, number):
    """Count a request of a pilot without a job: its queue has none activated, none of a type it serves, none suits."""
    queue, account, any_waits = world.pseudo_queues[number], world.worker_accounts[number], False
    for served in range(queue["serves_first"], queue["serves_last"]):
        for share in range(world.activated.shape[1]):
            any_waits = any_waits or world.activated[served, share] >= 0
    if any_waits:
        account["n_none_suits"] += 1
    elif world.counts[queue["queue"], :, :, ACTIVATED].sum() > 0:
        account["n_other_type"] += 1
    else:
        account["n_no_job"] += 1


@compiled
def pilot_asks(world: Arrays, slot, now):
    """A new pilot requests a job; without one it leaves after `empty_pilot`."""
    number = worker_of(world, slot)
    if world.pools[world.pseudo_queues[number]["pool"]]["closed"]:
        end_worker(world, slot, now)
        return
    pilot_start = now - world.settings[0]["pilot_startup_s"]
    row = ask(world, slot, pilot_start, now)
    if row >= 0:
        dispatch(world, row, slot, pilot_start, now)
    else:
        world.state[0]["n_pilots_empty"] += 1
        world.worker_accounts[number]["n_empty"] += 1
        schedule(world, now + world.settings[0]["empty_pilot_s"], PILOT_LEAVES, slot)


@compiled
def asks_again(world: Arrays, number, pilot_start, now):
    """Test whether a pilot whose job has ended asks for another: within its `timefloor`, if its mode does, and if the
    batch system leaves it the slot.

    Source: lifecycle reference, section 5.6; with a `timefloor` of 0 it runs one job.
    """
    queue = world.queues[world.pseudo_queues[number]["queue"]]
    asks = world.worker_modes[queue["worker_mode"]]["asks_again"]
    asks = asks and queue["timefloor_s"] > 0 and now - pilot_start <= queue["timefloor_s"]
    return asks and (not queue["ends_early"] or keeps_slot(world, number))


@compiled
def next_job(world: Arrays, slot, pilot_start, now):
    """A pilot whose job has ended is given another, or leaves."""
    if asks_again(world, worker_of(world, slot), pilot_start, now):
        row = ask(world, slot, pilot_start, now)
        if row >= 0:
            dispatch(world, row, slot, pilot_start, now)
            return
    end_worker(world, slot, now)


@compiled
def hold(world: Arrays, row, now):
    """Put a job whose payload has ended into the inbox of the Adder."""
    state = world.state[0]
    move(world, row, HOLDING, now)
    place = next_place(world, state["n_holding"], len(world.holding), INBOX)
    if place < 0:
        return
    inbox = world.holding[place]
    inbox["panda_id"] = world.jobs[row]["panda_id"]
    inbox["row"] = row
    state["n_holding"] += 1


@compiled
def payload_ends(world: Arrays, row, sequence, now):
    """Handle the end of a payload, unless the event is stale; the pilot continues, or vanishes with a lost heartbeat.

    PanDA counts a job of which nothing is heard as running until the limit of its heartbeats.
    """
    job = world.jobs[row]
    if job["panda_id"] == 0 or job["due_sequence"] != sequence:
        return
    if is_consumer(world, row) and fetches_more(world, row, now):
        return
    fall_silent(world, row)
    slot, pilot_start = slot_of(job), job["pilot_start_s"]
    if asks_again(world, worker_of(world, slot), pilot_start, now):
        fetch_job(world, first_in_line(world, worker_of(world, slot)))
    payload_is_over(world, job, now)
    if job["transfer"] >= 0:
        give_up_reading(world, row, now)
    if job["cause"] == LOST_HEARTBEAT:
        job["modification_s"] = now
        end_worker(world, slot, now)
        return
    if job["cause"] == NONE and not write_output(world, row):
        job["cause"] = TRANSFER_ERROR
    is_evicted = job["cause"] == PREEMPTED
    hold(world, row, now)
    if is_evicted:
        end_worker(world, slot, now)
    else:
        next_job(world, slot, pilot_start, now)
