"""Transfers over links: bunches of files share a link's bandwidth equally, file by file.

Processor sharing with a limit of active files, first come first served beyond it. Each link has its own clock,
`virtual`: the bytes that every active file has received since the link was last idle. A bunch that starts at clock v
ends when the clock reaches v + bytes / files, so an arrival or an end changes the speed of the clock and never the
order of the ends. A bunch larger than the limit is transferred alone.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.activated import put_activated
from simgrid_broker.fabric.ending import archive
from simgrid_broker.fabric.events import LINK_DUE, TRANSFER_AGAIN, TRANSFER_DONE, schedule
from simgrid_broker.luck import STREAMS, key_of_attempt, uniform
from simgrid_broker.names import JobStatus, TransferKind
from simgrid_broker.world.arrays import GROWING, Arrays
from simgrid_broker.world.rows import next_place, release_transfer, take_transfer
from simgrid_broker.world.transitions import move

ACTIVATED, FINISHED = int(JobStatus.ACTIVATED), int(JobStatus.FINISHED)
INPUT = int(TransferKind.INPUT)
OUTBOX = GROWING.index("done_transfers")
TRANSFER_LUCK = STREAMS["transfer"]

MOST_AT_ONCE = 256
"""Maximum number of transfers that one event ends; the rest ends with the next event, at the same time."""
NO_SPACE_WAIT_S = 1800.0
"""Delay before a transfer to a full destination is repeated, s; assumed, without a source."""


@compiled
def catch_up(link, now):
    """Advance the link's virtual clock to `now`."""
    if link["active_files"] > 0 and link["down"] == 0:
        link["virtual"] += (now - link["updated_s"]) * link["bandwidth"] / link["active_files"]
        link["busy_s"] += now - link["updated_s"]
    link["updated_s"] = now


@compiled
def set_due(world: Arrays, number, now):
    """Schedule an event for the next end on a link, unless one at the same or an earlier time is scheduled."""
    link = world.links[number]
    head = link["active_head"]
    if head < 0 or link["down"]:
        return
    left = max(world.transfers[head]["finish_tag"] - link["virtual"], 0.0)
    due = now + left * link["active_files"] / link["bandwidth"]
    if due < link["due_s"]:
        link["due_s"] = due
        schedule(world, due, LINK_DUE, number)


@compiled
def insert_active(world: Arrays, link, row):
    """Insert a transfer into the active ones of a link, in the order of their ends."""
    transfers = world.transfers
    tag = transfers[row]["finish_tag"]
    before, after = -1, link["active_head"]
    while after >= 0 and transfers[after]["finish_tag"] <= tag:
        before, after = after, transfers[after]["next"]
    transfers[row]["next"] = after
    if before < 0:
        link["active_head"] = row
    else:
        transfers[before]["next"] = row


@compiled
def admit(world: Arrays, number, now):
    """Start waiting transfers of a link that is up, in order, up to the limit of active files."""
    link = world.links[number]
    while link["waiting_head"] >= 0 and link["down"] == 0:
        row = link["waiting_head"]
        transfer = world.transfers[row]
        files = transfer["n_files"]
        if link["active_files"] > 0 and link["active_files"] + files > link["max_active_files"]:
            break
        link["waiting_head"] = transfer["next"]
        if transfer["next"] < 0:
            link["waiting_tail"] = -1
        if link["active_files"] == 0:
            link["virtual"] = 0.0
        if np.isnan(transfer["started_s"]):
            transfer["started_s"] = now
        transfer["attempt_s"] = now
        transfer["finish_tag"] = link["virtual"] + transfer["bytes"] / files
        link["active_files"] += files
        insert_active(world, link, row)
    set_due(world, number, now)


@compiled
def count_queued(link, transfer, files):
    """Add files of a transfer, negative to subtract, to the queued files of its link, express output separately.

    FTS knows them by their activities, Production Output and Express; source: brokerage reference, section 2.4.
    """
    link["queued_files"] += files
    if transfer["kind"] == INPUT:
        return
    if transfer["express"]:
        link["queued_express"] += files
    else:
        link["queued_output"] += files


@compiled
def enqueue(world: Arrays, row, now):
    """Queue a transfer at its link, and start it if the limit of active files allows."""
    transfer = world.transfers[row]
    number = transfer["link"]
    link = world.links[number]
    transfer["next"] = -1
    transfer["attempt"] += 1
    if link["waiting_tail"] >= 0:
        world.transfers[link["waiting_tail"]]["next"] = row
    else:
        link["waiting_head"] = row
    link["waiting_tail"] = row
    count_queued(link, transfer, transfer["n_files"])
    catch_up(link, now)
    admit(world, number, now)


@compiled
def link_due(world: Arrays, number, now):
    """End the complete transfers of a link, and start waiting ones."""
    link = world.links[number]
    if now < link["due_s"]:
        return                                             # stale event: an earlier end was scheduled meanwhile
    link["due_s"] = np.inf
    catch_up(link, now)
    head = link["active_head"]
    if head < 0 or link["down"]:
        return
    rounding = 1e-9 * link["virtual"] + 1e-6 * link["bandwidth"] / link["active_files"]    # a microsecond's bytes
    ended = 0
    while head >= 0 and ended < MOST_AT_ONCE and world.transfers[head]["finish_tag"] <= link["virtual"] + rounding:
        ended += 1
        transfer = world.transfers[head]
        following = transfer["next"]
        link["active_files"] -= transfer["n_files"]
        count_queued(link, transfer, -transfer["n_files"])
        schedule(world, now + link["latency_s"], TRANSFER_DONE, head)
        head = following
    link["active_head"] = head
    admit(world, number, now)


@compiled
def take_space(world: Arrays, storage_number, size):
    """Take `size` bytes of a storage, deleting expired data if free space is too low; False if it is full."""
    storage = world.storages[storage_number]
    wanted = size + storage["min_free_bytes"] - storage["free_bytes"]
    if wanted > 0:
        deleted = min(wanted, storage["expired_bytes"])
        storage["expired_bytes"] -= deleted
        storage["deleted_bytes"] += deleted
        storage["free_bytes"] += deleted
    if storage["free_bytes"] < size:
        return False
    storage["free_bytes"] -= size
    storage["written_bytes"] += size
    return True


@compiled
def arrives(world: Arrays, transfer):
    """Delay before a transfer is repeated, s; negative if it has arrived."""
    link = world.links[transfer["link"]]
    seed = world.settings[0]["seed"]
    luck = uniform(seed, TRANSFER_LUCK, transfer["luck"], transfer["link"], transfer["attempt"])
    if luck < link["failure_rate"]:
        return 0.0
    storage = world.sites[transfer["destination"]]["storage"]
    if transfer["kind"] != INPUT and storage >= 0 and not take_space(world, storage, transfer["bytes"]):
        return NO_SPACE_WAIT_S
    return -1.0


@compiled
def time_moved_s(link, transfer, now):
    """Duration of the successful attempt of a transfer whose callback comes now, s, at least bytes / bandwidth.

    The files of a bunch move in parallel: the sum of their mean rates is the size of the bunch over this time.
    """
    return max(now - link["latency_s"] - transfer["attempt_s"], transfer["bytes"] / link["bandwidth"])


@compiled
def transfer_done(world: Arrays, row, now):
    """Handle the callback of a transfer: its jobs continue, or it is repeated."""
    transfer = world.transfers[row]
    if transfer["n_jobs"] == 0:
        record_transfer(world, row, now)
        return
    wait = arrives(world, transfer)
    if wait >= 0:
        schedule(world, now + wait, TRANSFER_AGAIN, row)
        return
    link = world.links[transfer["link"]]
    link["bytes_done"] += transfer["bytes"]
    link["files_done"] += transfer["n_files"]
    link["rate_sum"] += transfer["bytes"] / time_moved_s(link, transfer, now)
    job = transfer["first_job"]
    while job >= 0:
        following = world.jobs[job]["sibling"]
        world.jobs[job]["transfer"] = -1
        if transfer["kind"] == INPUT:
            move(world, job, ACTIVATED, now)
            put_activated(world, job)
        else:
            move(world, job, FINISHED, now)
            archive(world, job, False)
        job = following
    record_transfer(world, row, now)


@compiled
def record_transfer(world: Arrays, row, now):
    """Copy an ended transfer to the outbox and release its row."""
    state = world.state[0]
    world.transfers[row]["ended_s"] = now
    place = next_place(world, state["n_done_transfers"], len(world.done_transfers), OUTBOX)
    if place < 0:
        return
    world.done_transfers[place] = world.transfers[row]
    state["n_done_transfers"] += 1
    release_transfer(world, row)


@compiled
def new_transfer(world: Arrays, kind, source, destination, job, now):
    """Row of an empty transfer between two sites for the files of `job` and others of its task."""
    row = take_transfer(world)
    transfer = world.transfers[row]
    transfer["kind"], transfer["source"], transfer["destination"] = kind, source, destination
    transfer["link"] = source * len(world.sites) + destination
    transfer["jeditaskid"] = job["jeditaskid"]
    transfer["luck"] = key_of_attempt(world.tasks[job["task"]]["luck"], job["chunk"], job["attempt"])
    transfer["bytes"] = 0.0
    transfer["n_files"] = transfer["n_jobs"] = transfer["attempt"] = transfer["express"] = 0
    transfer["first_job"] = -1
    transfer["submitted_s"] = now
    transfer["started_s"] = transfer["ended_s"] = transfer["attempt_s"] = np.nan
    return row


@compiled
def join(world: Arrays, row, job_row, size, files):
    """Attach a job to a transfer and add its bytes and files."""
    transfer = world.transfers[row]
    job = world.jobs[job_row]
    first = transfer["first_job"]
    job["transfer"], job["sibling"], job["previous"] = row, first, -1
    if first >= 0:
        world.jobs[first]["previous"] = job_row
    transfer["first_job"] = job_row
    transfer["bytes"] += size
    transfer["n_files"] += files
    transfer["n_jobs"] += 1
