"""Callbacks of transfers: what has arrived lets its jobs go on, and files whose source has vanished are read from
another replica in the next attempt.

Sources: lifecycle reference, sections 4.3 and 7.2; Rucio, core/request.py: a request that failed is submitted again,
with the sources that exist then; without any its rule is stuck until daemons/judge/repairer.py looks at it.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.events import TRANSFER_AGAIN, schedule
from simgrid_broker.fabric.jobs.activated import put_activated
from simgrid_broker.fabric.transfers.dispatch_data import give_up_files, is_still_wanted, source_is_gone
from simgrid_broker.fabric.transfers.network import arrives, await_subdataset, enqueue
from simgrid_broker.fabric.transfers.output_data import delete_source
from simgrid_broker.fabric.transfers.rows import activity_of_input, best_source, record_transfer, set_activity
from simgrid_broker.fabric.transfers.secondary_data import ask_for_secondaries, awaits_secondaries
from simgrid_broker.names import COMPLETE, JobStatus, TransferKind
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.replicas import replica_on_disk
from simgrid_broker.world.jobs.transitions import move

ACTIVATED, OUTPUT = int(JobStatus.ACTIVATED), int(TransferKind.OUTPUT)


@compiled
def transfer_done(world: Arrays, row, now):
    """Handle the end of an attempt, or the look-up of a lost callback: jobs continue when all files have arrived.

    Input comes even if no job waits for it any more, as the rule of DDM is still there.
    """
    transfer = world.transfers[row]
    link = world.links[transfer["link"]]
    link["bytes_landing"] -= transfer["left_bytes"]
    if transfer["n_jobs"] == 0 and not is_still_wanted(world, transfer, now):
        link["bytes_wasted"] += transfer["left_bytes"]
        give_up_files(world, transfer)
        delete_source(world, transfer, 1.0)
        record_transfer(world, row, now)
        return
    if transfer["left_files"] > 0 and not arrives(world, row, now):
        return
    if transfer["kind"] == OUTPUT:
        await_subdataset(world, row, now)
        return
    job = np.int64(transfer["first_job"])
    record_transfer(world, row, now)                       # it is over before its jobs look for what else they await
    while job >= 0:
        following = np.int64(world.jobs[job]["sibling"])
        world.jobs[job]["transfer"] = -1
        if not awaits_secondaries(world, job, now):
            move(world, job, ACTIVATED, now)
            put_activated(world, job)
        job = following
    ask_for_secondaries(world, now)


INPUT = int(TransferKind.INPUT)
REPAIRER_CYCLE_S = 60.0
"""Shortest time for which a rule without sources is stuck, s: a cycle of Rucio's repairer."""


@compiled
def try_again(world: Arrays, row, now):
    """Begin the next attempt of a transfer, from another replica if its source has vanished.

    Without any source the attempt fails at once, as long as jobs wait; the files need not move if all have come by
    another way.
    """
    transfer = world.transfers[row]
    if transfer["kind"] != INPUT or not source_is_gone(world, transfer):
        enqueue(world, row, now)
    elif transfer["n_jobs"] == 0 or all_is_there(world, transfer):
        give_up_files(world, transfer)
        transfer_done(world, row, now)
    elif takes_other_source(world, row):
        enqueue(world, row, now)
    else:
        transfer["attempt"] += 1
        transfer["failed_files"] += transfer["left_files"]
        stuck_s = max(np.float64(world.settings[0]["stuck_delay_s"]), REPAIRER_CYCLE_S)
        schedule(world, now + stuck_s, TRANSFER_AGAIN, row)


@compiled
def all_is_there(world: Arrays, transfer):
    """True if the whole dataset of a transfer lies at its destination."""
    place = replica_on_disk(world, transfer["dataset"], transfer["destination"])
    return place >= 0 and world.replicas[place]["part"] >= COMPLETE


@compiled
def takes_other_source(world: Arrays, row):
    """Let a transfer come from the best replica for the jobs that wait for it; False if there is none."""
    transfer = world.transfers[row]
    task_row = world.jobs[transfer["first_job"]]["task"]
    source, _ = best_source(world, task_row, transfer["dataset"], transfer["destination"])
    if source < 0:
        return False
    transfer["source"], transfer["link"] = source, source * len(world.sites) + transfer["destination"]
    set_activity(world, row, activity_of_input(world, task_row, transfer["dataset"], source))
    return True
