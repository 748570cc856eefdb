"""The compiled loop: takes the earliest event and handles it, up to a given time."""

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.batch import end_worker, worker_ready
from simgrid_broker.fabric.dispatch import first_in_line
from simgrid_broker.fabric.events import (
    JOB_REPORTS,
    LINK_DUE,
    OUTPUT_LOOK,
    PAYLOAD_ENDS,
    PILOT_ASKS,
    PILOT_LEAVES,
    READING_DONE,
    STAGE_OUT,
    SUBDATASET_DONE,
    TRANSFER_AGAIN,
    TRANSFER_DONE,
    remove_first,
)
from simgrid_broker.fabric.jobs.pilots import job_reports, payload_ends, pilot_asks, reading_done, stage_out
from simgrid_broker.fabric.transfers.callbacks import transfer_done, try_again
from simgrid_broker.fabric.transfers.network import link_due, output_is_found, subdataset_done
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.queues.slots import worker_of
from simgrid_broker.world.rows import REPLICAS, RETRIES, TRANSFERS, fetch_job

REACHED, OUTBOX_FULL, ROOM_WANTED, FAULT = range(4)
"""The time was reached; an outbox must be emptied, or a table must grow, first; a job tried a forbidden move."""

MOST_ENDS, MOST_ROWS = 512, 16
"""Maximum number of jobs or transfers that one event may end, and of rows of a growing table that it may take."""


@compiled
def obstacle(world: Arrays):
    """Why the loop may not handle another event; REACHED if it may."""
    state = world.state[0]
    if state["fault_row"] >= 0:
        return FAULT
    if (state["n_done_jobs"] + MOST_ENDS > len(world.done_jobs)
            or state["n_done_transfers"] + MOST_ENDS > len(world.done_transfers)):
        return OUTBOX_FULL
    pilots_to_come = state["total_cores"] - state["n_pilots"]
    if (state["n_events"] + pilots_to_come + MOST_ENDS > len(world.events) or world.n_free[RETRIES] < MOST_ENDS
            or world.n_free[REPLICAS] < MOST_ROWS or world.n_free[TRANSFERS] < MOST_ROWS
            or state["n_holding"] + MOST_ROWS > len(world.holding)
            or state["n_done_tasks"] + MOST_ENDS > len(world.done_tasks)):
        return ROOM_WANTED
    return REACHED


@compiled
def handle(world: Arrays, kind, row, sequence, now):
    """Handle an event."""
    if kind == PAYLOAD_ENDS:
        payload_ends(world, row, sequence, now)
    elif kind == PILOT_ASKS:
        pilot_asks(world, row, now)
    elif kind == PILOT_LEAVES:
        end_worker(world, row, now)
    elif kind == LINK_DUE:
        link_due(world, row, now)
    elif kind == TRANSFER_AGAIN:
        try_again(world, row, now)
    elif kind == TRANSFER_DONE:
        transfer_done(world, row, now)
    elif kind == OUTPUT_LOOK:
        output_is_found(world, row, sequence, now)
    elif kind == STAGE_OUT:
        stage_out(world, row, sequence, now)
    elif kind == READING_DONE:
        reading_done(world, row, now)
    elif kind == SUBDATASET_DONE:
        subdataset_done(world, row, now)
    elif kind == JOB_REPORTS:
        job_reports(world, row, sequence, now)
    else:
        worker_ready(world, row, now)


@compiled
def look_ahead(world: Arrays):
    """Prefetch the job of the next event while this one is handled; gains a quarter in jobs/s."""
    state = world.state[0]
    if state["n_events"] == state["n_far"]:
        return
    event = world.events[0]
    row = event["row"]
    if event["kind"] == PILOT_ASKS:
        row = first_in_line(world, worker_of(world, row))
    elif event["kind"] != PAYLOAD_ENDS:
        return
    fetch_job(world, row)


@compiled
def advance(world: Arrays, until):
    """Handle all events up to and including time `until`; returns REACHED or the reason to stop earlier."""
    state = world.state[0]
    while state["n_events"] > 0 and world.events[0]["time_s"] <= until:
        reason = obstacle(world)
        if reason != REACHED:
            return reason
        event = world.events[0]
        now, kind, row, sequence = event["time_s"], event["kind"], event["row"], event["sequence"]
        remove_first(world)
        look_ahead(world)
        state["now_s"] = now
        state["n_processed"] += 1
        handle(world, kind, row, sequence, now)
    if state["fault_row"] >= 0:
        return FAULT
    state["now_s"] = until
    return REACHED
