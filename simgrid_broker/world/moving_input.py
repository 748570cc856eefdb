"""Input that is on its way to jobs of users: the transfers of their dispatch datasets; lifecycle reference, 2.10."""

import numpy as np

from simgrid_broker.names import Activity, TransferKind
from simgrid_broker.world.world import World

NONE = np.zeros(0, np.int64), np.zeros((0, 2))
"""No task with input on its way."""


def input_under_way(world: World, least: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Analysis tasks with input on its way to their jobs, rows, (k,), and its bytes from tape and from disk, (k, 2).

    A task may be listed more than once. Whole transfers count until the jobs that wait for them go on. No task is
    listed if all of them together have no more than `least` bytes on their way.
    """
    transfers = world.arrays.transfers
    if world.free_rows("transfers") == len(transfers):
        return NONE
    moving = transfers[transfers["activity"] == Activity.ANALYSIS_INPUT]        # one pass: the table may be long
    moving = moving[(moving["transfer_id"] > 0) & (moving["kind"] == TransferKind.INPUT)]
    if moving["bytes"].sum() <= least:
        return NONE
    ways, place = np.unique(moving[["jeditaskid", "source"]], return_inverse=True)
    size = np.bincount(place.ravel(), moving["bytes"], len(ways))
    found = [(row, size[k], _is_from_tape(world, row, source)) for k, (task, source) in enumerate(ways.tolist())
             if (row := world.row_of.get(task)) is not None]
    rows, moved, tape = np.array(found, float).reshape(-1, 3).T
    return rows.astype(np.int64), np.stack([moved * tape, moved * (1 - tape)], axis=1)


def _is_from_tape(world: World, row: int, source: int) -> bool:
    """Whether a site has the input of the task in a row on tape only."""
    arrays, seen = world.arrays, []
    place = int(arrays.datasets["first_replica"][arrays.input_dataset[row]])
    while place >= 0:
        replica = arrays.replicas[place]
        place = int(replica["next"])
        if replica["site"] == source:
            seen.append(bool(replica["tape"]))
    return bool(seen) and all(seen)
