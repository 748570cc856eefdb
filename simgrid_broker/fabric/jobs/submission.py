"""JobGenerator and Setupper in the data plane: new jobs with their random draws, their binding to the
queue that runs them, and the transfer of their input."""

from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.jobs.activated import put_activated
from simgrid_broker.fabric.jobs.retries import (
    condition,
    failures_after,
    first_bad,
    is_bad,
    limit_after,
    may_try_again,
    rule_of,
)
from simgrid_broker.fabric.transfers.dispatch_data import (
    JOBS_PER_BUNCH,
    await_part,
    keep_brought,
    note_brought,
    pin,
    to_bring,
    was_brought,
)
from simgrid_broker.fabric.transfers.network import enqueue
from simgrid_broker.fabric.transfers.output_data import join_subdataset
from simgrid_broker.fabric.transfers.remote_reading import NOTHING, REMOTE, may_read_remotely
from simgrid_broker.fabric.transfers.rows import activity_of_input, best_source, join, new_transfer
from simgrid_broker.fabric.transfers.secondary_data import ask_for_secondaries, awaits_secondaries, bring_secondaries
from simgrid_broker.luck import STREAMS, uniform
from simgrid_broker.names import JUMP_OVER_PRIORITY, USER_PRIORITY, Cause, JobStatus, TransferKind
from simgrid_broker.world.arrays import GROWING, N_STATUS, Arrays
from simgrid_broker.world.data.datasets import clear_inputs, give_inputs, keep_inputs, master_bytes
from simgrid_broker.world.data.replicas import is_shared, replica_on_disk
from simgrid_broker.world.jobs.transitions import come_back, enter, leave, move
from simgrid_broker.world.rows import fetch_job, has_no_pieces, is_recorded, next_place, pop_retry, record_of, take_job
from simgrid_broker.world.tasks import input_files

PENDING, DEFINED = int(JobStatus.PENDING), int(JobStatus.DEFINED)
ASSIGNED, ACTIVATED, FAILED = int(JobStatus.ASSIGNED), int(JobStatus.ACTIVATED), int(JobStatus.FAILED)
MERGING = int(JobStatus.MERGING)
INPUT = int(TransferKind.INPUT)
NONE, SITE_ERROR, PAYLOAD_ERROR = int(Cause.NONE), int(Cause.SITE_ERROR), int(Cause.PAYLOAD_ERROR)
MEMORY_EXCEEDED, TRANSFER_ERROR = int(Cause.MEMORY_EXCEEDED), int(Cause.TRANSFER_ERROR)
LOST_HEARTBEAT = int(Cause.LOST_HEARTBEAT)
INPUT_LOST, INPUT_BROKEN = int(Cause.INPUT_LOST), int(Cause.INPUT_BROKEN)
INBOX = GROWING.index("pending")
WORK, MEMORY, FATE, SITE_FATE = STREAMS["work"], STREAMS["memory"], STREAMS["fate"], STREAMS["site_fate"]

JOBS_PER_PRIORITY = 5
"""Live jobs of a user that lower the priority of the next one by 1; source: lifecycle reference, section 3.5."""
SCOUT_PRIORITY = 901
"""Minimum priority of a scout; source: lifecycle reference, section 2.6."""
RETRY_PRIORITY_LOSS = 10
"""Decrease of priority when the server retries a job; source: lifecycle reference, section 3.5."""


@compiled
def throw_dice(world: Arrays, job, task, site):
    """Set the true values of a job, independent of policies: work and memory of its chunk, failure of its attempt."""
    if is_recorded(task):
        recall(world, job)
        return
    seed = world.settings[0]["seed"]
    work = task["work_hs06s_per_event"] * task["n_events_per_job"]
    job["work_hs06s"] = work * input_files.spread_factor(seed, WORK, task, job["chunk"], task["work_spread"])
    memory = input_files.spread_factor(seed, MEMORY, task, job["chunk"], task["memory_spread"])
    job["maxpss_mb"] = np.float64(task["maxpss_mb"]) * memory
    job["fate"] = condition(world, job["task"], job["chunk"])
    if job["fate"] == NONE:
        job["fate"] = fate_of_attempt(world, job, task, site)


@compiled
def recall(world: Arrays, job):
    """Set the true values of a job of a trace as they were recorded; a replay adds no failures, but input may be lost.
    """
    record = record_of(world, job)
    job["work_hs06s"], job["maxpss_mb"] = record["work_hs06s"], record["maxpss_mb"]
    job["input_bytes"], job["output_bytes"] = record["input_bytes"], record["output_bytes"]
    job["n_input_files"] = record["n_input_files"]
    job["fate"] = condition(world, job["task"], job["chunk"])


@compiled
def priority_of(world: Arrays, task_row):
    """Priority of the next job of a task: that of the task, more for scouts; deployed: lower by a user's live jobs.

    Source: lifecycle reference, sections 2.6 and 3.5; the documentation states only that scouts have more.
    """
    task = world.tasks[task_row]
    if world.scout_inputs[task_row] > 0:
        return np.int32(max(SCOUT_PRIORITY, task["priority"] + 1))
    user_labels = world.settings[0]["user_labels"]
    if (user_labels >> task["label"]) & 1 == 0 or task["priority"] >= JUMP_OVER_PRIORITY:
        return task["priority"]
    if task["priority_boost"] != 0:
        return np.int32(USER_PRIORITY + task["priority_boost"])
    n_jobs = 0
    for status in range(N_STATUS):
        if status != MERGING:
            n_jobs += world.user_counts[task["user"], status]
    return np.int32(USER_PRIORITY - n_jobs / JOBS_PER_PRIORITY)


@compiled
def clear_files(files):
    """Note in a row of `job_files` that nothing was brought for a new job, and that it has no output and no marks."""
    files["marks"] = 0
    files["brought_s"], files["brought_id"], files["brought_by"], files["brought_to"] = 0.0, 0, -1, -1
    files["subdataset"], files["stored"], files["reads"] = -1, 0, NOTHING


@compiled
def fill(world: Arrays, row, order):
    """Fill a new row with the values of the task, the slot and the order."""
    task_row = order["task"]
    job, task = world.jobs[row], world.tasks[task_row]
    job["task"], job["jeditaskid"] = task_row, task["jeditaskid"]
    bind(world, job, task, order["pseudo_queue"], order["resource_type"])
    job["share"], job["user"], job["priority"] = task["share"], task["user"], priority_of(world, task_row)
    job["user_row"] = task["user_row"]
    job["processing_type"], job["nucleus"] = task["processing_type"], task["nucleus"]
    job["n_events"], job["n_input_files"] = task["n_events_per_job"], task["n_input_files"]
    job["n_output_files"] = task["n_output_files"]
    job["input_bytes"] = input_files.input_bytes_of(world, task_row, job["chunk"])
    job["output_bytes"] = task["output_bytes_per_job"]
    job["ramcount_mb"] = order["ramcount_mb"]
    job["missing_bytes"] = job["walltime_s"] = job["cputime_s"] = job["stage_in_s"] = job["stage_out_s"] = 0.0
    job["due_sequence"] = job["slot"] = job["server_attempt"] = job["closed_by"] = 0
    job["n_chunks"] = 1
    job["old_panda_id"] = job["failures"] = job["attempt_limit"] = job["ram_level"] = 0
    job["pilot_start_s"] = np.nan
    clear_files(world.job_files[row])
    clear_inputs(world, row)
    if len(world.event_jobs) > 0:
        world.event_jobs[row]["chunk"] = -1
    job["source_site"] = job["transfer"] = job["child"] = job["sibling"] = job["previous"] = -1
    job["cause"] = NONE


@compiled
def begin_attempt(world: Arrays, order, chunk, attempt, now):
    """Row of a new, pending job: an attempt at a chunk of a task, at a pseudo-queue.

    order: a record with task, pseudo_queue, ramcount_mb and resource_type, the type of the job at a queue for every
    type: an order, or the job that is tried again.
    """
    state, task = world.state[0], world.tasks[order["task"]]
    row = take_job(world)
    job = world.jobs[row]
    state["panda_id"] += 1
    job["panda_id"], job["chunk"], job["attempt"] = state["panda_id"], chunk, attempt
    fill(world, row, order)
    throw_dice(world, job, task, world.sites[world.queues[job["queue"]]["site"]])
    task["n_alive"] += 1
    task["n_attempts"] += 1
    for status in range(N_STATUS):
        world.job_times[row, status] = np.nan
    enter(world, row, PENDING, now)
    return row


@compiled
def give_files(world: Arrays, row, n_pieces, closed_by, n_secondary, secondary_bytes):
    """Assign `n_pieces` pieces of input to a new job of a task with files, and set its sizes and true values.

    n_secondary, secondary_bytes: files of secondary datasets that it reads as well, and their size.
    Work is the sum over its pieces, memory the maximum. A file counts once, even if only some of its events are read.
    """
    job = world.jobs[row]
    task, split = world.tasks[job["task"]], world.splitting[job["task"]]
    seed = world.settings[0]["seed"]
    all_events, size, work, memory, n_files = 0.0, 0.0, 0.0, 0.0, 0
    first, before, of_dataset = input_files.place_of(world, job["task"], job["chunk"])
    last_file: Any = np.int64(-1)
    for piece in range(job["chunk"], job["chunk"] + n_pieces):
        file = before + np.int64(input_files.file_of(split, piece - first))
        events = input_files.events_of(world, job["task"], piece)
        all_events += events
        size += input_files.bytes_of(world, job["task"], piece, events)
        work += events * input_files.spread_factor(seed, WORK, task, file, task["work_spread"])
        memory = max(memory, input_files.spread_factor(seed, MEMORY, task, file, task["memory_spread"]))
        end = before + np.int64(input_files.last_file_of(split, piece - first, of_dataset))
        n_files += end - max(file - 1, last_file)
        last_file = end
    job["n_chunks"], job["closed_by"] = n_pieces, closed_by
    job["n_events"], job["n_input_files"] = np.int32(all_events), n_files + n_secondary
    job["input_bytes"] = size + secondary_bytes
    job["output_bytes"] = all_events * split["output_bytes_per_event"]
    job["work_hs06s"] = work * task["work_hs06s_per_event"]
    job["maxpss_mb"] = np.float64(task["maxpss_mb"]) * memory
    bad = first_bad(world, job)
    if bad >= 0:
        job["fate"] = condition(world, job["task"], bad)


@compiled
def remember(world: Arrays, row, retry, level):
    """Copy the retry state, a row of `retries`, into a new job."""
    job = world.jobs[row]
    keep_brought(world.job_files[row], retry)
    job["old_panda_id"], job["ram_level"] = retry["old_panda_id"], level
    job["failures"], job["attempt_limit"] = retry["failures"], retry["attempt_limit"]


@compiled
def put_pending(world: Arrays, row):
    """Put a new job into the inbox of the Setupper."""
    state = world.state[0]
    place = next_place(world, state["n_pending"], len(world.pending), INBOX)
    if place < 0:
        return
    inbox = world.pending[place]
    inbox["panda_id"], inbox["row"] = world.jobs[row]["panda_id"], row
    state["n_pending"] += 1


@compiled
def make_job(world: Arrays, order, n_pieces, closed_by, n_secondary, secondary_bytes):
    """Make the next job of an order, from pieces of input that await another attempt, else from new ones.

    An order covers input of one ramCount; new input has the ramCount of the task; source: lifecycle reference, 2.3. A
    range of retried pieces may be cut into several jobs, here and at other queues; ranges are not joined. Returns the
    row of the job.
    """
    task_row, level, now = order["task"], order["ram_level"], order["time_s"]
    same = world.ram_levels[task_row, level]
    if same["waiting"] > 0:
        retry = world.retries[same["head"]]
        row = begin_attempt(world, order, retry["chunk"], retry["attempt"], now)
        remember(world, row, retry, level)
        if retry["n_chunks"] == n_pieces:
            pop_retry(world, task_row, level)
        else:
            retry["chunk"] += n_pieces
            retry["n_chunks"] -= n_pieces
            same["waiting"] -= n_pieces
    else:
        piece = input_files.next_piece(world, task_row)
        row = begin_attempt(world, order, piece, 1, now)
        input_files.use_pieces(world, task_row, n_pieces)
    if input_files.is_cut(world, task_row):
        give_files(world, row, n_pieces, closed_by, n_secondary, secondary_bytes)
    put_pending(world, row)
    return row


@compiled
def cut_jobs(world: Arrays, orders, jobs, inputs):
    """Make jobs from the next pieces of input of a task; orders: (1,) of ORDERED; jobs: one per job, (k,) of CUT;
    inputs: what they read of secondary datasets with replicas of their own, (k, n) of JOB_INPUT, or (0, n)."""
    for k in range(len(jobs)):
        row = make_job(world, orders[0], jobs[k]["count"], jobs[k]["closed_by"], jobs[k]["n_reads"],
                       jobs[k]["secondary_bytes"])
        give_inputs(world, row, inputs, k)


@compiled
def retry_by_server(world: Arrays, row, now):
    """Retry a failed analysis job at the same queue, at a lower priority; returns whether it is retried.

    Source: lifecycle reference, section 3.5. If the retry rule raises memory or CPU time, JEDI retries the input
    instead.
    """
    job = world.jobs[row]
    if has_no_pieces(job):
        return False
    failures, limit = failures_after(world, job, FAILED), limit_after(world, job, FAILED)
    if (job["server_attempt"] >= world.tasks[job["task"]]["server_retries"] or rule_of(world, job)["learn"]
            or is_bad(job["cause"]) or not may_try_again(world, job, failures, limit)):
        return False
    again = begin_attempt(world, job, job["chunk"], job["attempt"] + 1, now)
    retry = world.jobs[again]
    retry["server_attempt"] = job["server_attempt"] + 1
    retry["priority"] = job["priority"] - RETRY_PRIORITY_LOSS
    retry["old_panda_id"], retry["ram_level"] = job["panda_id"], job["ram_level"]
    retry["failures"], retry["attempt_limit"] = failures, limit
    keep_brought(world.job_files[again], world.job_files[row])
    keep_inputs(world, again, row)
    if input_files.is_cut(world, job["task"]):
        give_files(world, again, job["n_chunks"], job["closed_by"], 0, 0.0)
        retry["n_input_files"], retry["input_bytes"] = job["n_input_files"], job["input_bytes"]
    move(world, again, DEFINED, now)
    move(world, again, ACTIVATED, now)
    put_activated(world, again)
    return True


@compiled
def make_jobs(world: Arrays, orders):
    """Make the jobs of all `orders`, (k,) of ORDERED, while their tasks have input; the caller makes room."""
    for k in range(len(orders)):
        order = orders[k]
        left = input_files.waiting_at(world, order["task"], order["ram_level"])
        for _ in range(min(order["count"], left)):
            make_job(world, order, 1, 0, 0, 0.0)


@compiled
def awaits(world: Arrays, row, awaited, transfer_id, arriving, now):
    """Let a job whose missing files are all under way wait for the transfer `awaited`, if that has not ended.

    Returns whether it waits: a file that many want is moved once. transfer_id: of that transfer, whose row may be
    another's by now.
    """
    if arriving <= 0.0 or awaited < 0 or world.transfers[awaited]["transfer_id"] != transfer_id:
        return False
    job = world.jobs[row]
    job["source_site"] = world.transfers[awaited]["source"]
    job["missing_bytes"] += arriving * master_bytes(world, row)
    move(world, row, ASSIGNED, now)
    join(world, awaited, row, 0.0, 0)
    return True


@compiled
def set_up_job(world: Arrays, row, bunch, now):
    """Define a job; activate it if its input is at the site or read remotely, else attach it to a transfer.

    A job without a source for its input stays assigned until a timeout closes it. bunch: transfer of the previous job,
    -1 = none; it is shared while task, dataset, source and destination are the same and it has room. Returns the bunch
    in use.
    """
    job = world.jobs[row]
    if job["status"] == PENDING:                           # else it has waited for its library
        move(world, row, DEFINED, now)
    destination, number, arriving = world.queues[job["queue"]]["site"], np.int64(-1), 0.0
    read = input_files.dataset_of(world, job["task"], job["chunk"])
    files = world.job_files[row]
    awaited, awaited_id, size = files["brought_by"], files["brought_id"], master_bytes(world, row)
    bring_secondaries(world, row, now)
    if has_no_pieces(job):                                 # what it merges is at the site that produced it
        source, missing = job["source_site"], 0.0 if job["source_site"] < 0 else 1.0
    else:
        source, missing = best_source(world, job["task"], read, destination)
        if missing > 0.0 and source >= 0 and may_read_remotely(world, job) and not was_brought(
                world, files, destination, now):
            files["reads"], missing = REMOTE, 0.0          # it looks for its files again when it starts
        elif is_shared(world.datasets[read]):
            number = read
            missing, arriving = to_bring(world, job, number, destination, missing, size, job["attempt"] > 1)
            pin(world, number, destination, now)
            if arriving > 0.0:
                replica = world.replicas[replica_on_disk(world, number, destination)]
                awaited, awaited_id = replica["transfer"], replica["transfer_id"]
        elif was_brought(world, files, destination, now):
            missing, arriving = 0.0, missing
    if job["input_bytes"] <= 0 or (missing <= 0.0 and not awaits(world, row, awaited, awaited_id, arriving, now)):
        if not awaits_secondaries(world, row, now):
            move(world, row, ACTIVATED, now)
            put_activated(world, row)
        return bunch
    if missing <= 0.0:
        return bunch
    job["source_site"] = source
    lacking = missing * size
    job["missing_bytes"] += lacking
    move(world, row, ASSIGNED, now)
    if source < 0:
        return bunch
    if bunch >= 0:
        transfer = world.transfers[bunch]
        if (transfer["jeditaskid"] != job["jeditaskid"] or transfer["source"] != source
                or transfer["destination"] != destination or transfer["n_jobs"] >= JOBS_PER_BUNCH
                or (number >= 0 and 0 <= transfer["dataset"] != number)):
            enqueue(world, bunch, now)
            bunch = -1
    if bunch < 0:
        activity = activity_of_input(world, job["task"], read, source)
        bunch = new_transfer(world, INPUT, activity, source, destination, job, now)
    if number >= 0:
        await_part(world, job, bunch, number, destination, lacking)
    elif not has_no_pieces(job):
        note_brought(world, files, bunch, now)
    join(world, bunch, row, lacking, max(1, np.int32(np.ceil(missing * job["n_input_files"]))))
    return bunch


@compiled
def set_up_jobs(world: Arrays, now):
    """Set up every job in the inbox of the Setupper, in order of creation; the caller makes room."""
    state, bunch, subdataset = world.state[0], -1, -1
    for k in range(state["n_pending"]):
        if state["fault_row"] >= 0:
            return
        row = world.pending[k]["row"]
        fetch_job(world, world.pending[min(k + 1, state["n_pending"] - 1)]["row"])
        if world.jobs[row]["panda_id"] == world.pending[k]["panda_id"]:
            subdataset = join_subdataset(world, row, subdataset)
            bunch = set_up_job(world, row, bunch, now)
    if bunch >= 0:
        enqueue(world, bunch, now)
    ask_for_secondaries(world, now)
    state["n_pending"] = 0


@compiled
def fate_of_attempt(world: Arrays, job, task, site):
    """Cause with which an attempt at input that is there will fail, of itself or at a site; NONE if it will not."""
    seed = world.settings[0]["seed"]
    fate = fate_of_payload(task, uniform(seed, FATE, task["luck"], job["chunk"], job["attempt"]))
    if fate == NONE:
        fate = fate_at_site(site, uniform(seed, SITE_FATE, task["luck"], job["chunk"], job["attempt"]))
    return fate


@compiled
def fate_of_payload(task, luck):
    """Cause with which a payload fails of itself, by a uniform number; NONE if it does not."""
    if luck >= task["failure_rate"]:
        return NONE
    return MEMORY_EXCEEDED if luck < task["failure_rate"] * task["memory_kills"] else PAYLOAD_ERROR


@compiled
def fate_at_site(site, luck):
    """Cause with which a site makes a job fail, by a uniform number; NONE if it does not."""
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
