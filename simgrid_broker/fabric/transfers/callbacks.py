"""Callbacks of transfers: what has arrived lets its jobs go on.

Source: lifecycle reference, sections 4.3 and 7.2.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.jobs.activated import put_activated
from simgrid_broker.fabric.transfers.dispatch_data import give_up_files, is_still_wanted
from simgrid_broker.fabric.transfers.network import arrives, await_subdataset
from simgrid_broker.fabric.transfers.output_data import delete_source
from simgrid_broker.fabric.transfers.rows import record_transfer
from simgrid_broker.fabric.transfers.secondary_data import ask_for_secondaries, awaits_secondaries
from simgrid_broker.names import JobStatus, TransferKind
from simgrid_broker.world.arrays import Arrays
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
