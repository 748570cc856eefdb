"""Files of a dataset that the data carousel has read from tape, on their way to another site."""

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.fabric.network import enqueue
from simgrid_broker.fabric.transfer_rows import empty_transfer
from simgrid_broker.names import Activity, TransferKind
from simgrid_broker.world.arrays import Arrays

INPUT, STAGING = int(TransferKind.INPUT), int(Activity.STAGING)


@compiled
def send(world: Arrays, number, source, destination, jeditaskid, luck, size, files, now):
    """Transfer so many bytes of dataset `number` from the site of a tape; no job awaits them; the caller makes room.

    luck: key of the random draws of the transfer. Returns its row and identifier.
    """
    row = empty_transfer(world, INPUT, STAGING, source, destination, now)
    transfer = world.transfers[row]
    transfer["jeditaskid"], transfer["luck"], transfer["dataset"] = jeditaskid, luck, number
    transfer["bytes"], transfer["n_files"] = size, files
    enqueue(world, row, now)
    return row, transfer["transfer_id"]


send_staged = uncompiled(send)
"""As `send`, for Python, which asks so seldom that compiling takes longer."""
