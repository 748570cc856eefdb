"""Job numbers of shares at the PanDA queues as brokers see them; source: brokerage reference, section 0.3."""

import numpy as np

from simgrid_broker import views
from simgrid_broker.compiled import compiled
from simgrid_broker.names import JobStatus
from simgrid_broker.world.world import World

S = JobStatus
RUNNING, ASSIGNED, ACTIVATED, STARTING, DEFINED = map(int, (S.RUNNING, S.ASSIGNED, S.ACTIVATED, S.STARTING, S.DEFINED))


def load_row(world: World, snapshot, account: int, resource_type: int | None) -> int:
    """Row of the statistics' `load` for a share and a resource type, which is filled if it is not yet known."""
    row = snapshot.load_row(account, resource_type)
    if not snapshot.load_known[row]:
        _fill_load(world, snapshot, account, resource_type, snapshot.load[row])
        snapshot.load_known[row] = True
    return row


def _fill_load(world: World, snapshot, account: int, resource_type: int | None, load: np.ndarray) -> None:
    """Fill in the job numbers of a share at each PanDA queue, (n_queues,) of LOAD."""
    row = snapshot.load_row(account, resource_type)
    fill_load(load_of_all(world, snapshot), snapshot.by_share, snapshot.placed, account, snapshot.load, row)
    for queue, rows in world.slots.items():
        load["num_slots"][queue] = slots_of(world, rows, account, resource_type)
    if resource_type is not None:
        of_types = snapshot.by_queue[:, account]
        if account < len(world.arrays.hs06_milli):
            _fill_typed(load, of_types[:, resource_type], _known(snapshot, account, slice(None), resource_type))
        else:
            _fill_typed(load, of_types.sum(axis=1), True)


def load_of_all(world: World, snapshot) -> np.ndarray:
    """What is equal for all shares, (n_queues,) of LOAD."""
    if snapshot.load_of_all is None:
        queues = world.arrays.queues
        snapshot.load_of_all = views.records(views.LOAD, len(queues), n_batch_job=snapshot.workers,
                                             num_slots=queues["num_slots"], **snapshot.activity)
    return snapshot.load_of_all


@compiled
def fill_load(of_all, by_share, placed, account, load, row):
    """Fill in a row of `load`, (n_rows, n_queues) of LOAD: what is equal for all shares, and the numbers of one.

    by_share: (n_accounts, n_status, n_queues); placed: (n_accounts, n_queues).
    """
    for queue in range(load.shape[1]):
        load[row, queue] = of_all[queue]
        one = load[row, queue]
        one["running"], one["defined"] = by_share[account, RUNNING, queue], by_share[account, DEFINED, queue]
        one["assigned"], one["activated"] = by_share[account, ASSIGNED, queue], by_share[account, ACTIVATED, queue]
        one["starting"], one["placed"] = by_share[account, STARTING, queue], placed[account, queue]


def slots_of(world: World, rows, account: int, resource_type: int | None) -> int:
    """numslots that hold for a share and resource type, -1 = none; rows: of Harvester_Slots, of one PanDA queue.

    Rows of the share win over those of any, and of these the row of the type over that of any; without a type they add
    up. Source: brokerage reference, 0.3.
    """
    words = world.vocabularies
    share = words["shares"][account] if account < len(words["shares"]) else None
    mine = [row for row in rows if row.gshare == share] or [row for row in rows if row.gshare is None]
    if resource_type is None or resource_type < 0:
        return sum(row.slots for row in mine) if mine else -1
    kind = words["resource_types"][resource_type]
    of_type = [row for row in mine if row.resource_type == kind] or [row for row in mine if row.resource_type is None]
    return of_type[-1].slots if of_type else -1


def _fill_typed(load: np.ndarray, typed: np.ndarray, known) -> None:
    """Numbers of some resource types; typed: (n_queues, n_status) jobs, known: whether there are statistics of them."""
    load["running_of_type"] = np.where(known, typed[:, RUNNING], -1)
    load["assigned_of_type"] = typed[:, ASSIGNED]
    load["queued_of_type"] = typed[:, DEFINED] + typed[:, ACTIVATED] + typed[:, STARTING]


def _known(snapshot, account: int, queues: int | slice, types: int | list[int]) -> np.ndarray:
    """Whether there are statistics of a share's resource types at queues: once there are jobs."""
    if snapshot.known is not None:
        return snapshot.known[:, account][queues, types]
    return snapshot.by_queue[:, account][queues, types].any(axis=-1)


def of_types_at(world: World, snapshot, account: int, load: np.ndarray,
                types_at: tuple[tuple[int, tuple[int, ...]], ...]) -> np.ndarray:
    """`load` with the numbers of the resource types that a task has at a queue instead of those of its own."""
    load = load.copy()
    for queue, types in types_at:
        chosen = list(types)
        typed = snapshot.by_queue[queue, account, chosen].sum(axis=0, keepdims=True)
        row = load[queue:queue + 1]
        _fill_typed(row, typed, _known(snapshot, account, queue, chosen).any())
    return load
