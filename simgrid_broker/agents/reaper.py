"""Rucio's reaper: lifetimes of replicas end, and expired data is deleted where less than the minimum is free.

Source: Rucio, daemons/reaper (free space below `minFreeSpace`, expired replicas, least recently used first); the period
is an assumption. A storage without `deletion_rate` deletes at once, when space is needed.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.world.replicas import expire_of
from simgrid_broker.world.space import free_space_of


def reaper(control: Control) -> Process:
    """Let replicas expire, and delete at storages with a rate of deletion, if there is anything of that kind."""
    if (len(control.world.catalogue.names) or control.books.staging.has_tape
            or np.isfinite(control.arrays.storages["deletion_rate"]).any()):
        yield from control.every(control.periods.reaper, lambda: reap(control), "reaper")


def reap(control: Control) -> None:
    """Look at every replica and every storage."""
    arrays, period = control.arrays, control.periods.reaper
    replicas, storages = arrays.replicas, arrays.storages
    over = (replicas["dataset"] >= 0) & (replicas["expired"] == 0) & (replicas["expires_s"] <= control.now)
    for row in np.flatnonzero(over & (replicas["secondary"] > 0)).tolist():
        expire_of(arrays, row)
    wanted = np.minimum(storages["min_free_bytes"] - storages["free_bytes"], storages["expired_bytes"])
    for number in np.flatnonzero((wanted > 0) & np.isfinite(storages["deletion_rate"])).tolist():
        free_space_of(arrays, number, min(float(wanted[number]), float(storages["deletion_rate"][number]) * period))
