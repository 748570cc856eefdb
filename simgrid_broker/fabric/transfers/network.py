"""Transfers: files of one task that move together over a link, for jobs that wait for all of them."""

import math
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.fabric.events import OUTPUT_LOOK, READING_DONE, TRANSFER_AGAIN, TRANSFER_DONE, schedule
from simgrid_broker.fabric.jobs.ending import archive
from simgrid_broker.fabric.transfers.dispatch_data import (
    await_files,
    land_files,
    source_is_gone,
    stays_there,
)
from simgrid_broker.fabric.transfers.links import admit, catch_up, count_queued, line_up_transfer
from simgrid_broker.fabric.transfers.output_data import arrive, delete_source, keep_output, take_off
from simgrid_broker.fabric.transfers.remote_reading import leave_link
from simgrid_broker.fabric.transfers.rows import empty_transfer, record_transfer
from simgrid_broker.luck import STREAMS, normal_quantile_of, uniform
from simgrid_broker.names import Activity, JobStatus, TransferKind
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.replicas import take_space
from simgrid_broker.world.jobs.transitions import move
from simgrid_broker.world.rows import release_subdataset

ACTIVATED, FINISHED, STAGING = int(JobStatus.ACTIVATED), int(JobStatus.FINISHED), int(Activity.STAGING)
INPUT, OUTPUT, READING = int(TransferKind.INPUT), int(TransferKind.OUTPUT), int(TransferKind.READING)
TRANSFER_LUCK = STREAMS["transfer"]

MOST_AT_ONCE = 256
"""Maximum number of transfers that one event ends; the rest ends with the next event, at the same time."""
NO_SPACE_WAIT_S = 1800.0
"""Delay before a transfer to a full destination is repeated, s; assumed, without a source."""
LOOK_S, LOOK_URGENT_S, URGENT = 7200.0, 3600.0, 800
"""Time without a change after which the server looks for the output of a transferring job, s, that of jobs from a
priority on, and that priority; source: lifecycle reference, 4.3."""
LOOK_PERIOD_S = 2400.0
"""Period of the datasetManager, which looks at assigned and transferring jobs, s; source: lifecycle reference, 7.2."""
MANY = 100.0
"""Variance of the number of files that fail from which it is drawn from the normal distribution."""



class Shipment(NamedTuple):
    """Files of a dataset that have been read from tape: bytes and number, from the site of the tape to another.

    jeditaskid: the task that asked for them; luck: key of the random draws of the transfer.
    """

    dataset: int
    source: int
    destination: int
    jeditaskid: int
    luck: int
    size: float
    files: int



@compiled
def enqueue(world: Arrays, row, now):
    """Queue a transfer at its link, and start it if the limit of active files allows."""
    transfer = world.transfers[row]
    number = transfer["link"]
    transfer["attempt"] += 1
    if transfer["attempt"] == 1:
        transfer["left_files"], transfer["left_bytes"] = transfer["n_files"], transfer["bytes"]
    line_up_transfer(world, row)
    count_queued(world, number, transfer["activity"], transfer["left_files"])
    catch_up(world.links[number], now)
    admit(world, number, now)


@compiled
def end_of_attempt(world: Arrays, link, row, now):
    """Let the last byte of a transfer arrive, or be read; the callback, or the byte, comes after the latency."""
    transfer = world.transfers[row]
    link["bytes_landing"] += transfer["left_bytes"]
    if transfer["kind"] == READING:
        leave_link(world, link, transfer)
        schedule(world, now + link["latency_s"], READING_DONE, row)
        return
    link["active_files"] -= transfer["width"]
    world.lanes[transfer["link"], transfer["activity"]]["active_files"] -= transfer["width"]
    count_queued(world, transfer["link"], transfer["activity"], -transfer["left_files"])
    schedule(world, now + link["latency_s"], TRANSFER_DONE, row)


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
    rounding = 1e-9 * link["virtual"] + 1e-6 * link["rate"] / link["active_files"]         # a microsecond's bytes
    ended = 0
    while head >= 0 and ended < MOST_AT_ONCE and world.transfers[head]["finish_tag"] <= link["virtual"] + rounding:
        ended += 1
        following = world.transfers[head]["next"]
        end_of_attempt(world, link, head, now)
        head = following
    link["active_head"] = head
    admit(world, number, now)


@compiled
def binomial_quantile(n, rate, u):
    """Number of n events, each with a probability up to 1/2, at u in (0, 1); from the normal distribution if many."""
    variance = n * rate * (1.0 - rate)
    if variance > MANY:
        return min(max(np.int64(np.rint(n * rate + np.sqrt(variance) * normal_quantile_of(u))), 0), n)
    count, left = 0, u
    probability = (1.0 - rate)**n
    while left > probability and count < n:
        left -= probability
        probability *= (n - count) / (count + 1.0) * rate / (1.0 - rate)
        count += 1
    return count


@compiled
def number_of_failures(n_files, rate, luck):
    """Failures among attempts with the probability `rate` each, by a uniform number: the smaller, the more.
    """
    if rate > 0.5:
        return n_files - binomial_quantile(n_files, 1.0 - rate, luck)
    return binomial_quantile(n_files, rate, 1.0 - luck)


@compiled
def failed_files(world: Arrays, transfer):
    """Number of files that fail in this attempt of a transfer: all, if they were lost at their source meanwhile."""
    if source_is_gone(world, transfer):
        return transfer["left_files"]
    luck = uniform(world.settings[0]["seed"], TRANSFER_LUCK, transfer["luck"], transfer["link"], transfer["attempt"])
    return number_of_failures(transfer["left_files"], world.links[transfer["link"]]["failure_rate"], luck)


@compiled
def finds_no_space(world: Arrays, transfer, size):
    """True if files that stay at their destination find it full; otherwise they take `size` bytes there."""
    storage = world.sites[transfer["destination"]]["storage"]
    if storage < 0 or not stays_there(world, transfer):
        return False
    return not take_space(world, storage, size)


@compiled
def delay_of(world: Arrays, transfer):
    """Time from a failed attempt of a transfer to the next, s: longer when it has used up its retries.

    Source: Rucio, core/request.py; the rule is then stuck until it is repaired.
    """
    settings = world.settings[0]
    stuck = transfer["attempt"] % (1 + settings["transfer_retries"]) == 0
    return settings["stuck_delay_s"] if stuck else settings["retry_delay_s"]


@compiled
def time_moved_s(link, transfer, now):
    """Duration of the attempt of a transfer whose callback comes now, s, at least bytes / bandwidth.

    The files of a bunch move in parallel: the sum of their mean rates is the size of the bunch over this time.
    """
    return max(now - link["latency_s"] - transfer["attempt_s"], transfer["left_bytes"] / link["bandwidth"])


@compiled
def land(link, transfer, failed, now):
    """Count the files of an attempt that arrived and those that failed; the failed ones are left."""
    n_files, size = transfer["left_files"], transfer["left_bytes"]
    wasted = size * failed / n_files
    if failed < n_files:
        link["rate_sum"] += size / time_moved_s(link, transfer, now) * (n_files - failed) / n_files
    link["bytes_done"] += size - wasted
    link["files_done"] += n_files - failed
    link["bytes_wasted"] += wasted
    link["files_failed"] += failed
    transfer["failed_files"] += failed
    transfer["left_files"], transfer["left_bytes"] = failed, wasted


@compiled
def delay_of_look_up(world: Arrays, transfer, now):
    """Time until the datasetManager finds that the input of jobs has arrived whose callback is lost, s; else 0.

    It runs every 40 min, and looks at a job at most once an hour, so in every second turn from the first one on.
    """
    luck = uniform(world.settings[0]["seed"], TRANSFER_LUCK, transfer["luck"], transfer["link"], 0)
    if transfer["n_jobs"] == 0 or luck >= world.settings[0]["lost_callbacks"]:
        return 0.0
    first = math.ceil(transfer["submitted_s"] / LOOK_PERIOD_S) * LOOK_PERIOD_S
    looks = math.ceil(max(now - first, 0.0) / (2.0 * LOOK_PERIOD_S))
    return first + looks * 2.0 * LOOK_PERIOD_S - now


@compiled
def next_look(since_s, unchanged_s, now):
    """When the datasetManager next looks for the output of jobs that began to transfer at `since_s`, s.

    It does so in its first turn in which they have not changed for `unchanged_s`, which the look itself does. Source:
    lifecycle reference, 4.3.
    """
    first = math.ceil((since_s + unchanged_s) / LOOK_PERIOD_S) * LOOK_PERIOD_S
    between = math.ceil(unchanged_s / LOOK_PERIOD_S) * LOOK_PERIOD_S
    return first + math.ceil(max(now - first, 0.0) / between) * between


@compiled
def await_subdataset(world: Arrays, row, now):
    """Let output that has arrived wait for the rest of its sub-dataset, or complete this.

    The jobs finish with the callback of the sub-dataset, or when the server looks for their files before; source:
    lifecycle reference, 4.3 and 7.4.
    """
    transfer = world.transfers[row]
    number = transfer["subdataset"]
    if number < 0:
        finish_jobs(world, row, now)
        return
    arrive(world, row, now)
    if world.subdatasets[number]["open"] == 0:
        subdataset_done(world, number, now)
        return
    urgent = world.jobs[transfer["first_job"]]["priority"] >= URGENT
    look_s = next_look(transfer["submitted_s"], LOOK_URGENT_S if urgent else LOOK_S, now)
    transfer["look_sequence"] = schedule(world, look_s, OUTPUT_LOOK, row)


@compiled
def subdataset_done(world: Arrays, number, now):
    """Handle the callback of a sub-dataset: all its output has arrived, or will not come."""
    row = world.subdatasets[number]["first"]
    while row >= 0:
        following = world.transfers[row]["next"]
        finish_jobs(world, row, now)
        row = following
    release_subdataset(world, number)


@compiled
def output_is_found(world: Arrays, row, sequence, now):
    """Handle the server's look for the output of a transfer, unless the event is stale: its jobs finish."""
    if world.transfers[row]["look_sequence"] == sequence:
        take_off(world, row)
        finish_jobs(world, row, now)


@compiled
def finish_jobs(world: Arrays, row, now):
    """Finish the jobs of a transfer whose output has arrived, and end the transfer."""
    transfer = world.transfers[row]
    transfer["look_sequence"] = 0
    job = transfer["first_job"]
    while job >= 0:
        following = world.jobs[job]["sibling"]
        world.jobs[job]["transfer"] = -1
        move(world, job, FINISHED, now)
        archive(world, job, False)
        job = following
    record_transfer(world, row, now)


@compiled
def arrives(world: Arrays, row, now):
    """Handle the end of an attempt; whether all files have arrived and their jobs know it at once."""
    transfer = world.transfers[row]
    link = world.links[transfer["link"]]
    failed = failed_files(world, transfer)
    if finds_no_space(world, transfer, transfer["left_bytes"] * (1.0 - failed / transfer["left_files"])):
        link["bytes_wasted"] += transfer["left_bytes"]
        schedule(world, now + NO_SPACE_WAIT_S, TRANSFER_AGAIN, row)
        return False
    size = transfer["left_bytes"]
    land(link, transfer, failed, now)
    if transfer["kind"] == OUTPUT:
        delete_source(world, transfer, (size - transfer["left_bytes"]) / size)
        keep_output(world, transfer["destination"], size - transfer["left_bytes"])
    elif stays_there(world, transfer) and size > transfer["left_bytes"]:
        land_files(world, transfer, size - transfer["left_bytes"], now)
    if failed:
        schedule(world, now + delay_of(world, transfer), TRANSFER_AGAIN, row)
        return False
    if transfer["kind"] == OUTPUT:
        return True
    delay = delay_of_look_up(world, transfer, now)
    if delay > 0:
        schedule(world, now + delay, TRANSFER_DONE, row)
    return delay == 0


@compiled
def send(world: Arrays, shipment, now):
    """Transfer the files of a `Shipment`, for which no job waits; the caller makes room. Returns row and identifier."""
    row = empty_transfer(world, INPUT, STAGING, shipment.source, shipment.destination, now)
    transfer = world.transfers[row]
    transfer["jeditaskid"], transfer["luck"] = shipment.jeditaskid, shipment.luck
    transfer["bytes"], transfer["n_files"] = shipment.size, shipment.files
    await_files(world, row, shipment.dataset, shipment.destination, shipment.size)
    enqueue(world, row, now)
    return row, transfer["transfer_id"]


send_staged = uncompiled(send)
"""As `send`, for Python, which asks so seldom that compiling takes longer."""


@compiled
def follow_rule(world: Arrays, rule):
    """Transfer the files of a `Rule`; they take space at their destination when they arrive."""
    row = empty_transfer(world, INPUT, rule.activity, rule.source, rule.destination, rule.at)
    transfer = world.transfers[row]
    transfer["luck"], transfer["jeditaskid"] = rule.luck, 0
    transfer["bytes"], transfer["n_files"] = rule.size, rule.files
    enqueue(world, row, rule.at)
